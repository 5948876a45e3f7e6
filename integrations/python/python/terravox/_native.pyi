import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Union, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Brush",
    "Cells",
    "DamagedWorldError",
    "EditSummary",
    "HAS_POSTGRES",
    "InternalError",
    "LIMIT",
    "Mask",
    "Material",
    "Mesh",
    "NotAWorldError",
    "RayHits",
    "ReadOnlyError",
    "UnsureError",
    "World",
    "WorldError",
    "WorldInUseError",
    "__version__",
]

__version__: str
HAS_POSTGRES: bool
LIMIT: int

_Path = Union[str, "os.PathLike[str]"]
_Voxel = Sequence[int]
_Point = Sequence[float]
_MaterialRef = Union[int, str]
_Corners = tuple[list[int], list[int]]

class WorldError(Exception): ...
class UnsureError(WorldError): ...
class NotAWorldError(WorldError): ...
class WorldInUseError(WorldError): ...
class DamagedWorldError(WorldError): ...
class ReadOnlyError(WorldError): ...
class InternalError(WorldError): ...

@final
class Material:
    def __new__(
        cls,
        name: str,
        *,
        kind: str = "solid",
        shape: str = "default",
        colour: Sequence[int] = ...,
        friction: float = 0.6,
        restitution: float = 0.1,
        density: float = 2000.0,
        hardness: float = 1.0,
    ) -> Material: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def shape(self) -> str: ...
    @property
    def colour(self) -> tuple[int, int, int]: ...
    @property
    def friction(self) -> float: ...
    @property
    def restitution(self) -> float: ...
    @property
    def density(self) -> float: ...
    @property
    def hardness(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Brush:
    @staticmethod
    def ball(centre: _Point, radius: float) -> Brush: ...
    @staticmethod
    def box(centre: _Point, half: _Point, rotation: _Point = ...) -> Brush: ...
    @staticmethod
    def cylinder(
        centre: _Point, radius: float, half_height: float, rotation: _Point = ...
    ) -> Brush: ...
    @staticmethod
    def wedge(centre: _Point, half: _Point, rotation: _Point = ...) -> Brush: ...
    @staticmethod
    def capsule(start: _Point, end: _Point, radius: float) -> Brush: ...
    @staticmethod
    def path(points: ArrayLike, radius: float) -> Brush: ...
    @staticmethod
    def mesh(vertices: ArrayLike, triangles: ArrayLike) -> Brush: ...
    @staticmethod
    def heights(corner: _Point, spacing: float, heights: ArrayLike) -> Brush: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Mask:
    def __new__(
        cls,
        *,
        materials: Sequence[_MaterialRef] | None = None,
        heights_m: tuple[float, float] | None = None,
        slope: tuple[float, float] | None = None,
    ) -> Mask: ...

@final
class Cells:
    @property
    def material(self) -> NDArray[np.uint8]: ...
    @property
    def occupancy(self) -> NDArray[np.uint8]: ...
    @property
    def water_index(self) -> NDArray[np.int64]: ...
    @property
    def water(self) -> NDArray[np.uint8]: ...
    @property
    def min(self) -> tuple[int, int, int]: ...
    @property
    def mip(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int, int]: ...
    def fraction(self) -> NDArray[np.float32]: ...

@final
class EditSummary:
    @property
    def region(self) -> _Corners | None: ...
    @property
    def removed(self) -> dict[int, float]: ...
    @property
    def added(self) -> dict[int, float]: ...

@final
class Mesh:
    @property
    def vertices(self) -> NDArray[np.float32]: ...
    @property
    def normals(self) -> NDArray[np.float32]: ...
    @property
    def triangles(self) -> NDArray[np.uint32]: ...
    @property
    def triangle_materials(self) -> NDArray[np.uint8]: ...
    @property
    def materials(self) -> NDArray[np.uint8]: ...
    @property
    def weights(self) -> NDArray[np.uint8]: ...
    @property
    def origin_m(self) -> tuple[float, float, float]: ...

@final
class RayHits:
    @property
    def hit(self) -> NDArray[np.bool_]: ...
    @property
    def distance_m(self) -> NDArray[np.float64]: ...
    @property
    def point_m(self) -> NDArray[np.float64]: ...
    @property
    def normal(self) -> NDArray[np.float32]: ...
    @property
    def material(self) -> NDArray[np.uint8]: ...
    @property
    def voxel(self) -> NDArray[np.int32]: ...
    def __len__(self) -> int: ...

@final
class World:
    @staticmethod
    def memory(
        *,
        voxel_size_m: float = 1.0,
        origin_m: _Point = ...,
        materials: Sequence[Material] | None = None,
    ) -> World: ...
    @staticmethod
    def create(
        path: _Path,
        *,
        voxel_size_m: float = 1.0,
        origin_m: _Point = ...,
        materials: Sequence[Material] | None = None,
        overwrite: bool = False,
        load: bool = True,
    ) -> World: ...
    @staticmethod
    def open(
        path: _Path, *, read_only: bool = False, load: bool = True, skip_damaged: bool = False
    ) -> World: ...
    def close(self) -> None: ...
    def __enter__(self) -> World: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def path(self) -> str | None: ...
    @property
    def voxel_size_m(self) -> float: ...
    @property
    def origin_m(self) -> tuple[float, float, float]: ...
    @property
    def materials(self) -> list[Material]: ...
    def material(self, name: str) -> int: ...
    @property
    def bounds(self) -> _Corners | None: ...
    @property
    def chunks(self) -> int: ...
    @property
    def saved(self) -> bool: ...
    @property
    def damaged(self) -> list[str]: ...
    def info(self) -> dict[str, Any]: ...
    def digest(self) -> str: ...
    def save(self) -> int: ...
    def save_as(self, path: _Path, *, overwrite: bool = False) -> None: ...
    def verify(self) -> list[str]: ...
    def data(self, name: str) -> bytes | None: ...
    def set_data(self, name: str, bytes: bytes | None) -> None: ...
    def read(
        self, min: _Voxel, max: _Voxel, mip: int = 0, *, out: Cells | None = None
    ) -> Cells: ...
    def write(
        self,
        min: _Voxel,
        material: NDArray[np.uint8],
        occupancy: NDArray[np.uint8] | None = None,
        *,
        water_index: NDArray[np.int64] | None = None,
        water: NDArray[np.uint8] | None = None,
    ) -> None: ...
    def fill_box(self, min: _Voxel, max: _Voxel, material: _MaterialRef) -> None: ...
    def fill_heights(
        self,
        heights: NDArray[np.float32],
        *,
        bottom_m: float,
        at: tuple[int, int] = (0, 0),
        material: _MaterialRef | NDArray[np.uint8],
        below: Sequence[tuple[float, _MaterialRef]] = (),
        apron: int = 0,
        sea_level_m: float | None = None,
        top_m: float | None = None,
    ) -> None: ...
    def fill_distances(
        self,
        distances: NDArray[np.float32],
        *,
        min: _Voxel,
        material: _MaterialRef | NDArray[np.uint8],
    ) -> None: ...
    def dig(
        self,
        brush: Brush,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def fill(
        self,
        brush: Brush,
        material: _MaterialRef,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def paint(
        self,
        brush: Brush,
        material: _MaterialRef,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def replace(
        self,
        brush: Brush,
        old: _MaterialRef,
        new: _MaterialRef,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def smooth(
        self,
        brush: Brush,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def flatten(
        self,
        brush: Brush,
        point: _Point,
        normal: _Point = ...,
        *,
        material: _MaterialRef | None = None,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def grow(
        self,
        brush: Brush,
        amount_m: float,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def erode(
        self,
        brush: Brush,
        amount_m: float,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def roughen(
        self,
        brush: Brush,
        amount_m: float,
        size_m: float,
        *,
        seed: int = 0,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def flood(
        self,
        brush: Brush,
        material: _MaterialRef,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def drain(
        self,
        brush: Brush,
        *,
        falloff_m: float = 0.0,
        strength: float = 1.0,
        mask: Mask | None = None,
    ) -> EditSummary: ...
    def copy(self, min: _Voxel, max: _Voxel, to: _Voxel) -> EditSummary: ...
    def paste(
        self,
        min: _Voxel,
        material: NDArray[np.uint8],
        occupancy: NDArray[np.uint8] | None = None,
        *,
        water_index: NDArray[np.int64] | None = None,
        water: NDArray[np.uint8] | None = None,
    ) -> EditSummary: ...
    def undo(self) -> _Corners | None: ...
    def redo(self) -> _Corners | None: ...
    def begin_stroke(self) -> None: ...
    def end_stroke(self) -> None: ...
    def mesh(
        self, min: _Voxel, max: _Voxel, mip: int = 0, *, surface: str = "solid"
    ) -> Mesh: ...
    def rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        max_distance_m: float = 10000.0,
        *,
        surface: str = "solid",
    ) -> RayHits: ...
    def merge(self, path: _Path) -> int: ...
