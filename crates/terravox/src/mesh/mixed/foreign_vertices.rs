//! Places foreign vertices, those that touch another mip: on the surface of the coarsest one.
//!
//! With m the coarsest mip at a corner: if the corner lies on the lattice of mip m, its vertex is
//! the one that cells of mip m alone would have there; else the mean, weighted by distance, of
//! those of the lattice's corners around that have one. So the finer side of a border ends on the
//! coarser one's surface, and faces between the two have next to no area. Where the cells of
//! mip m have no surface nearby the vertex stays at the corner.

use rustc_hash::FxHashMap;

use crate::mesh::fast::{BoundaryVertices, CornerVertex, FastMesher, MeshInput, SurfaceKind};
use crate::mesh::morph::MorphTargets;
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::CornerSheets;
use crate::mesh::rules::place::{PlacedVertex, unit_normal};
use crate::mesh::rules::plane::CellPlane;
use crate::mesh::rules::vertex::{BlockCells, SheetVertex};
use crate::mesh::surface::BlockMesh;
use crate::voxel::{MaterialTable, VoxelPos};

use super::cells::{BorderCells, CoarseBox, MAX_COARSER_STEPS};
use super::lattice::{LocalLattice, MipSpan, QUANTA, pack_corner, round};

/// A vertex: quanta from the block's min corner, and its unit normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LatticePoint {
    pub position: [i32; 3],
    pub normal: [f32; 3],
}

impl LatticePoint {
    /// Appends it as the target of a vertex whose mip is `step` coarser than the block's.
    #[inline]
    pub(super) fn push_to(&self, lattice: &LocalLattice<'_>, step: u8, targets: &mut MorphTargets) {
        let scale = 1.0 / lattice.cell_quanta() as f32;
        targets.push(self.position.map(|p| p as f32 * scale), self.normal, step);
    }
}

/// What vertices are placed by.
pub(super) struct MipSources<'a, C> {
    pub cells: &'a BorderCells<'a, C>,
    /// Has meshed the block's own cells.
    pub fast: &'a FastMesher,
    pub table: &'a MaterialTable,
    /// The block's min corner, in its cells.
    pub origin: VoxelPos,
}

impl<C> Clone for MipSources<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for MipSources<'_, C> {}

impl<'a, C: SurfaceCells> MipSources<'a, C> {
    /// Returns the padded cells of a mip no finer than the block's.
    pub(super) fn block_cells(&self, mip: u8) -> BlockCells<'a, C> {
        let step = mip - self.cells.lattice.mip;
        let origin = self.origin.coarser(step.into());
        BlockCells { cells: self.cells.padded(step), table: self.table, origin }
    }
}

/// A corner of a mip's lattice and the vertices that its own cells give it.
#[derive(Clone, Copy, Debug)]
struct MipCorner {
    corner: CornerSheets,
    /// By sheet.
    placed: [Option<PlacedVertex>; 4],
}

/// The planes of a cell in [`ForeignVertices::planes`].
#[derive(Clone, Copy, Debug)]
struct PlaneEntry {
    /// Number of the first.
    first: u32,
    /// Whether there are eight, one for each corner.
    is_thin: bool,
}

/// Vertices and planes of the surfaces of all mips at a block's boundary, as far as they were looked
/// up.
#[derive(Debug, Default)]
pub(super) struct ForeignVertices {
    /// By mips coarser than the block's less 1: vertices that were placed beforehand.
    placed: [BoundaryVertices; MAX_COARSER_STEPS],
    /// By mips coarser than the block's and corner, packed: number in `corners`.
    numbers: FxHashMap<u64, u32>,
    corners: Vec<MipCorner>,
    /// By mips coarser and cell, packed.
    entries: FxHashMap<u64, PlaneEntry>,
    planes: Vec<CellPlane>,
}

impl ForeignVertices {
    /// Forgets all but the vertices that were placed beforehand.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.corners.clear();
        self.entries.clear();
        self.planes.clear();
    }

    /// Places vertices of one of the two surfaces by cells 1, 2, 3, 4 mips coarser than the
    /// block's; `unused` is meshed into.
    pub(super) fn place_coarse<'a>(
        &mut self,
        fast: &mut FastMesher,
        boxes: impl Iterator<Item = CoarseBox<'a>>,
        kind: SurfaceKind,
        table: &MaterialTable,
        unused: &mut BlockMesh,
    ) {
        for (CoarseBox { features, origin, cells }, placed) in boxes.zip(&mut self.placed) {
            placed.forget();
            if !features.is_empty() {
                unused.block.min = origin;
                let input = MeshInput { cells, table, is_keyed: false };
                fast.place_boundary(features, kind, input, unused, placed);
            }
        }
    }

    /// Returns the vertex of a sheet that faces `direction` at the corner `at`, around which
    /// `mips` are shown: the corner itself where there is no surface around.
    pub(super) fn place<C: SurfaceCells>(
        &mut self,
        sources: &MipSources<'_, C>,
        at: [i32; 3],
        mips: MipSpan,
        direction: [f32; 3],
    ) -> LatticePoint {
        self.place_on_coarsest_mip(sources, at, mips, || direction).unwrap_or_else(|| {
            let normal = unit_normal([0.0; 3], direction);
            LatticePoint { position: at.map(|a| a * QUANTA), normal }
        })
    }

    /// Returns the vertex at the corner `at` on the surface of the mip `mips.coarsest`, rounded to
    /// 1/4096 of a cell of the mip `mips.finest`; `None` if there is no surface around. `direction`
    /// returns where the vertex faces.
    pub(super) fn place_on_coarsest_mip<C: SurfaceCells>(
        &mut self,
        sources: &MipSources<'_, C>,
        at: [i32; 3],
        mips: MipSpan,
        direction: impl Fn() -> [f32; 3],
    ) -> Option<LatticePoint> {
        let lattice = sources.cells.lattice;
        let size = lattice.cell_units(mips.coarsest);
        let base = at.map(|a| a & !(size - 1));
        let from_base = [0, 1, 2].map(|axis| at[axis] - base[axis]);
        let (mut sum, mut weight_sum, mut normal) = ([0i64; 3], 0, [0.0f32; 3]);
        let between = (0..3).map(|axis| u8::from(from_base[axis] != 0) << axis).sum::<u8>();
        for number in (0..8u8).filter(|number| number & !between == 0) {
            let is_high = [0, 1, 2].map(|axis| number >> axis & 1 == 1);
            let corner = [0, 1, 2].map(|axis| base[axis] + if is_high[axis] { size } else { 0 });
            let part =
                |axis: usize| if is_high[axis] { from_base[axis] } else { size - from_base[axis] };
            let weight = part(0) * part(1) * part(2);
            let vertex = self.lattice_vertex(sources, corner, mips.coarsest, &direction);
            let Some(PlacedVertex { offset, normal: n }) = vertex else { continue };
            weight_sum += i64::from(weight);
            for axis in 0..3 {
                // Doubled offsets are multiples of 1/2048 of a cell.
                let offset = (offset[axis] * 2048.0) as i32 * size;
                sum[axis] += i64::from(weight) * i64::from(corner[axis] * QUANTA + offset);
                normal[axis] += weight as f32 * n[axis];
            }
        }
        if weight_sum == 0 {
            return None;
        }
        let unit = i64::from(lattice.cell_units(mips.finest));
        let square = (normal[0] * normal[0] + normal[1] * normal[1]) + normal[2] * normal[2];
        let normal = match between == 0 {
            true => normal.map(|n| n / weight_sum as f32),
            false if square > 0.0 => unit_normal(normal, [0.0; 3]),
            false => unit_normal([0.0; 3], direction()),
        };
        Some(LatticePoint { position: sum.map(|sum| round(sum, weight_sum, unit)), normal })
    }

    /// Returns the vertex that the cells of a mip give a corner of their lattice; of several, that
    /// of the sheet that faces `direction` most, the first on a tie.
    fn lattice_vertex<C: SurfaceCells>(
        &mut self,
        sources: &MipSources<'_, C>,
        at: [i32; 3],
        mip: u8,
        direction: impl Fn() -> [f32; 3],
    ) -> Option<PlacedVertex> {
        let lattice = sources.cells.lattice;
        let step = mip - lattice.mip;
        let corner_at = at.map(|a| a >> lattice.cell_log2(mip));
        let vertex = match step {
            0 => sources.fast.boundary_vertex(corner_at),
            _ => self.placed[usize::from(step) - 1].at(corner_at),
        };
        match vertex {
            CornerVertex::None => return None,
            CornerVertex::One(placed) => return Some(placed),
            CornerVertex::ByRules => {}
        }
        let block = sources.block_cells(mip);
        let number = *self
            .numbers
            .entry(u64::from(step) << 32 | u64::from(pack_corner(at)))
            .or_insert_with(|| {
                let corner = block.corner(corner_at);
                self.corners.push(MipCorner { corner, placed: [None; 4] });
                self.corners.len() as u32 - 1
            }) as usize;
        let MipCorner { corner, placed } = &self.corners[number];
        if corner.count == 0 {
            return None;
        }
        let sheet = facing_sheet(corner, direction())?;
        if let Some(placed) = placed[usize::from(sheet)] {
            return Some(placed);
        }
        let corner = *corner;
        let SheetVertex { placed, .. } = self.vertex(&block, step, corner_at, &corner, sheet);
        self.corners[number].placed[usize::from(sheet)] = Some(placed);
        Some(placed)
    }

    /// [`BlockCells::vertex`] with kept planes of cells `step` mips coarser than the block's.
    pub(super) fn vertex<C: SurfaceCells>(
        &mut self,
        block: &BlockCells<'_, C>,
        step: u8,
        at: [i32; 3],
        corner: &CornerSheets,
        sheet: u8,
    ) -> SheetVertex {
        block.vertex_by(at, corner, sheet, |i, octant, plane| {
            let planes = &mut self.planes;
            let PlaneEntry { first, is_thin } =
                *self.entries.entry(u64::from(step) << 32 | i as u64).or_insert_with(|| {
                    let first = planes.len() as u32;
                    PlaneEntry { first, is_thin: block.push_planes(i, planes) }
                });
            *plane = planes[first as usize + if is_thin { 7 ^ octant } else { 0 }];
            is_thin
        })
    }
}

/// Returns the sheet of a corner that faces a direction most, the first on a tie.
fn facing_sheet(corner: &CornerSheets, direction: [f32; 3]) -> Option<u8> {
    if corner.count < 2 {
        return (corner.count == 1).then_some(0);
    }
    let facing = |sheet: u8| {
        let d = corner.sheet(sheet).direction;
        (d[0] * direction[0] + d[1] * direction[1]) + d[2] * direction[2]
    };
    (0..corner.count).reduce(|best, sheet| if facing(sheet) > facing(best) { sheet } else { best })
}
