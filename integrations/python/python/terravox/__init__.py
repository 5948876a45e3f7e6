"""Smooth, editable voxel terrain, as NumPy arrays.

A world is a grid of cells, each a material and how full it is. `World` reads and writes them as
arrays, generates terrain from heightmaps and signed distances, digs and builds, meshes, casts rays,
and saves.

>>> import numpy as np, terravox as tv
>>> world = tv.World.memory()
>>> z, x = np.mgrid[0:64, 0:64].astype(np.float32)
>>> world.fill_heights(8 + 3 * np.sin(x / 9), bottom_m=0, material="grass")
>>> cells = world.read((0, 0, 0), (64, 16, 64))
>>> cells.material.shape  # [y, z, x]
(16, 64, 64)
"""

from ._native import (
    HAS_POSTGRES,
    LIMIT,
    Brush,
    Cells,
    DamagedWorldError,
    EditSummary,
    InternalError,
    Mask,
    Material,
    Mesh,
    NotAWorldError,
    RayHits,
    ReadOnlyError,
    UnsureError,
    World,
    WorldError,
    WorldInUseError,
    __version__,
)

__all__ = [
    "HAS_POSTGRES",
    "LIMIT",
    "Brush",
    "Cells",
    "DamagedWorldError",
    "EditSummary",
    "InternalError",
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
