//! The entry of the fast mesher, and queries about the block that it meshed last.

use crate::math::lanes::InstructionSet;
use crate::mesh::rules::boundary::BoundaryFeatures;
use crate::mesh::surface::BlockMesh;

use super::active::{self, ActiveCorner};
use super::bits::RowGrid;
use super::block::{BlockJob, MeshScope, SurfaceKind};
use super::boundary::{BoundaryVertices, CornerVertex};
use super::faces::LeftOutFace;
use super::input::MeshInput;
use super::numbers::vertex_number;
use super::scratch::FastScratch;

/// A choice of instructions, and memory.
#[derive(Debug)]
pub(crate) struct FastMesher {
    instructions: InstructionSet,
    scratch: FastScratch,
}

/// Which corners of the boundary are treated apart.
#[derive(Clone, Copy)]
pub(crate) struct BoundaryRequest {
    /// Features whose faces are left out.
    pub left_out: BoundaryFeatures,
    /// Features at whose corners vertices are placed nevertheless
    /// ([`FastMesher::boundary_vertex`]).
    pub placed: BoundaryFeatures,
}

impl FastMesher {
    /// Runs on the widest instruction set of this machine.
    pub(crate) fn widest() -> FastMesher {
        FastMesher::with(InstructionSet::widest())
    }

    /// Runs on what all machines of this architecture have.
    pub(crate) fn portable() -> FastMesher {
        FastMesher::with(InstructionSet::baseline())
    }

    /// Runs without vector instructions of our own.
    pub(crate) fn scalar() -> FastMesher {
        FastMesher::with(InstructionSet::Plain)
    }

    fn with(instructions: InstructionSet) -> FastMesher {
        FastMesher { instructions, scratch: FastScratch::default() }
    }

    /// Meshes a padded box. `out` may hold an older mesh: buffers are overwritten rather than
    /// cleared, which would fill them twice.
    pub(crate) fn mesh(&mut self, input: MeshInput<'_>, out: &mut BlockMesh) {
        self.scratch.boundary.features = BoundaryFeatures::NONE;
        self.run(input, MeshScope::Both, BoundaryFeatures::NONE, out);
    }

    /// Meshes one of the two surfaces without the faces that touch a corner on some features of
    /// the boundary. Returns whether the box has cells inside that surface.
    pub(crate) fn mesh_without(
        &mut self,
        request: BoundaryRequest,
        kind: SurfaceKind,
        input: MeshInput<'_>,
        out: &mut BlockMesh,
    ) -> bool {
        self.scratch.boundary.reset(input.cells.region().size(), request.placed);
        self.scratch.corners.rows.clear();
        self.scratch.special_corners.clear();
        self.scratch.special.clear();
        self.scratch.faces.left_out.clear();
        self.run(input, MeshScope::One(kind), request.left_out, out);
        let kinds = self.scratch.cell_kinds;
        match kind {
            SurfaceKind::Solid => kinds.has_solid,
            SurfaceKind::Liquid => kinds.has_liquid || !input.cells.water().is_empty(),
        }
    }

    /// Places the vertices that one of the two surfaces has at the corners on `features` of a
    /// padded box, without any face. `unused` is meshed into.
    pub(crate) fn place_boundary(
        &mut self,
        features: BoundaryFeatures,
        kind: SurfaceKind,
        input: MeshInput<'_>,
        unused: &mut BlockMesh,
        out: &mut BoundaryVertices,
    ) {
        let request = BoundaryRequest { left_out: BoundaryFeatures::ALL, placed: features };
        self.mesh_without(request, kind, input, unused);
        std::mem::swap(&mut self.scratch.boundary, out);
    }

    /// Returns the vertex, by the cells of the padded box alone, at a corner on the features that
    /// [`FastMesher::mesh_without`] was asked to place.
    #[inline]
    pub(crate) fn boundary_vertex(&self, at: [i32; 3]) -> CornerVertex {
        self.scratch.boundary.at(at)
    }

    /// Places the vertices of the solid surface, makes no face, and calls `each` for every
    /// corner that has a vertex, in the order of the vertices.
    pub(crate) fn corners(
        &mut self,
        input: MeshInput<'_>,
        out: &mut BlockMesh,
        each: impl FnMut(ActiveCorner),
    ) {
        self.scratch.corners.rows.clear();
        self.run(input, MeshScope::SolidVertices, BoundaryFeatures::NONE, out);
        active::each(&self.scratch, input.cells, each);
    }

    /// Returns the faces, by the cells of the padded box alone, that
    /// [`FastMesher::mesh_without`] left out.
    pub(crate) fn left_out(&self) -> &[LeftOutFace] {
        &self.scratch.faces.left_out
    }

    /// Returns the vertex that [`FastMesher::mesh_without`] made at a corner, unless it made none
    /// or the corner is special. `size` is that of the padded box.
    #[inline]
    pub(crate) fn plain_vertex(&self, size: [usize; 3], at: [i32; 3]) -> Option<u32> {
        let s = &self.scratch;
        if s.corners.rows.is_empty() {
            return None;
        }
        let grid = RowGrid::new(size);
        let (row, bit) = grid.corner_bit(at);
        let word = if grid.words() == 1 { row } else { 2 * row + bit / 64 };
        let (corners, mask) = (s.corners.rows[word], 1 << (bit % 64));
        let is_special = s.special.get(word).is_some_and(|special| special & mask != 0);
        if corners & mask == 0 || is_special {
            return None;
        }
        Some(s.corners.ranks[word] + (corners & (mask - 1)).count_ones())
    }

    /// Returns the vertex that [`FastMesher::mesh_without`] made for a sheet at a corner, if it
    /// made one. `size` is that of the padded box.
    #[inline]
    pub(crate) fn vertex(&self, size: [usize; 3], at: [i32; 3], sheet: u8) -> Option<u32> {
        let s = &self.scratch;
        if s.corners.rows.is_empty() {
            return None;
        }
        let grid = RowGrid::new(size);
        let words = grid.words();
        let (row, bit) = grid.corner_bit(at);
        if s.corners.rows[words * row + bit / 64] >> (bit % 64) & 1 == 0 {
            return None;
        }
        let number = match words {
            1 => vertex_number::<1>(&s.corners, &s.special_corners, &grid, at, sheet),
            _ => vertex_number::<2>(&s.corners, &s.special_corners, &grid, at, sheet),
        };
        (number != u32::MAX).then_some(number)
    }

    fn run(
        &mut self,
        input: MeshInput<'_>,
        scope: MeshScope,
        left_out: BoundaryFeatures,
        out: &mut BlockMesh,
    ) {
        let scratch = &mut self.scratch;
        self.instructions.run(BlockJob { input, scope, left_out, scratch, out });
    }
}
