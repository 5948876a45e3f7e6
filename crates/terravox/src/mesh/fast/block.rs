//! The two surfaces of a block.

use crate::math::lanes::SimdJob;
use crate::mesh::rules::boundary::BoundaryFeatures;
use crate::mesh::rules::cells::{SoakedCells, SolidCells};
use crate::mesh::rules::vertex::BlockCells;
use crate::mesh::surface::BlockMesh;
use crate::voxel::{AIR, DenseBox, Kind, MaterialTable, WATER};

use super::class_rows::ClassSet;
use super::input::{MeshInput, SurfaceInput};
use super::mesh_simd::MeshSimd;
use super::scratch::{FastScratch, SoakedArrays};
use super::surface::mesh_surface;
use super::survey::CellKinds;
use super::writer::SurfaceWriter;

/// One of a block's two surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfaceKind {
    Solid,
    Liquid,
}

/// Which surfaces are meshed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MeshScope {
    Both,
    One(SurfaceKind),
    /// The vertices of the solid one, without faces.
    SolidVertices,
}

/// Meshes a block.
pub(super) struct BlockJob<'a> {
    pub input: MeshInput<'a>,
    pub scope: MeshScope,
    /// Features of the boundary whose faces are left out.
    pub left_out: BoundaryFeatures,
    pub scratch: &'a mut FastScratch,
    pub out: &'a mut BlockMesh,
}

impl<M: MeshSimd> SimdJob<M> for BlockJob<'_> {
    #[inline(always)]
    fn run(self, m: M) {
        if self.input.cells.region().size()[0] <= 64 {
            self.run_rows::<M, 1>(m);
        } else {
            self.run_rows::<M, 2>(m);
        }
    }
}

impl BlockJob<'_> {
    #[inline(always)]
    fn run_rows<M: MeshSimd, const W: usize>(mut self, m: M) {
        let MeshInput { cells, table, .. } = self.input;
        self.scratch.table.update(table);
        let kinds = match self.scratch.table.is_usual {
            true => CellKinds::of_usual(m, cells.materials()),
            false => CellKinds::of_any(table, cells.materials()),
        };
        self.scratch.cell_kinds = kinds;
        if self.scope != MeshScope::One(SurfaceKind::Liquid) {
            if kinds.has_solid && (kinds.has_air || kinds.has_liquid) {
                self.solid::<M, W>(m);
            } else {
                self.out.solid.clear();
            }
        }
        if matches!(self.scope, MeshScope::Both | MeshScope::One(SurfaceKind::Liquid)) {
            let is_wet = kinds.has_liquid || !cells.water().is_empty();
            if is_wet && kinds.has_air {
                self.liquid::<M, W>(m);
            } else {
                self.out.liquid.clear();
            }
        }
    }

    #[inline(always)]
    fn solid<M: MeshSimd, const W: usize>(&mut self, m: M) {
        let MeshInput { cells, table, is_keyed } = self.input;
        let summary = &self.scratch.table;
        let is_solid = if summary.is_usual { [false; 256] } else { summary.is_solid };
        let inside = match summary.is_usual {
            true => ClassSet::AtLeast(WATER + 1),
            false => ClassSet::Listed(&is_solid),
        };
        let rules = SolidCells::new(cells, table);
        let input = SurfaceInput {
            cells: &rules,
            classes: cells.materials(),
            materials: cells.materials(),
            occupancies: cells.occupancies(),
            inside,
            outside: None,
            shape: summary.solid_shape,
            left_out: self.left_out,
            has_faces: self.scope != MeshScope::SolidVertices,
        };
        let block = BlockCells { cells: &rules, table, origin: self.out.block.min };
        let writer = SurfaceWriter { block, is_keyed, out: &mut self.out.solid };
        mesh_surface::<M, _, W>(m, self.scratch, &input, writer);
    }

    #[inline(always)]
    fn liquid<M: MeshSimd, const W: usize>(&mut self, m: M) {
        let MeshInput { cells, table, is_keyed } = self.input;
        let mut soaked = std::mem::take(&mut self.scratch.soaked);
        let is_soaked = !cells.water().is_empty();
        let is_water_liquid = table.kind(WATER) == Kind::Liquid;
        if is_soaked {
            soaked.fill(cells, table);
        }
        let (materials, occupancies) = match is_soaked {
            true => (soaked.materials.as_slice(), soaked.occupancies.as_slice()),
            false => (cells.materials(), cells.occupancies()),
        };
        let summary = &self.scratch.table;
        let is_liquid = if summary.is_usual { [false; 256] } else { summary.is_liquid };
        let (classes, class_kinds, inside, shape) = if is_soaked && !is_water_liquid {
            let classes = soaked.classes.as_slice();
            (classes, &SOAKED_CLASS_KINDS, ClassSet::Only(WATER), None)
        } else if summary.is_usual {
            (materials, table.kinds(), ClassSet::Only(WATER), summary.liquid_shape)
        } else {
            (materials, table.kinds(), ClassSet::Listed(&is_liquid), summary.liquid_shape)
        };
        let size = cells.region().size();
        let kinds = table.kinds();
        let rules =
            SoakedCells { classes, class_kinds, materials, occupancies, kinds, size, cells };
        let input = SurfaceInput {
            cells: &rules,
            classes,
            materials,
            occupancies,
            inside,
            outside: Some(ClassSet::Only(AIR)),
            shape,
            left_out: self.left_out,
            has_faces: true,
        };
        let block = BlockCells { cells: &rules, table, origin: self.out.block.min };
        let writer = SurfaceWriter { block, is_keyed, out: &mut self.out.liquid };
        mesh_surface::<M, _, W>(m, self.scratch, &input, writer);
        self.scratch.soaked = soaked;
    }
}

/// A class that is neither inside nor outside.
const NEITHER: u8 = WATER + 1;

/// The kinds of [`SoakedArrays::classes`].
static SOAKED_CLASS_KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Solid; 256];
    kinds[AIR as usize] = Kind::Air;
    kinds[WATER as usize] = Kind::Liquid;
    kinds
};

impl SoakedArrays {
    /// Copies the cells, with those solid ones that hold water turned into water.
    fn fill(&mut self, cells: &DenseBox, table: &MaterialTable) {
        let SoakedArrays { classes, materials, occupancies } = self;
        let is_water_liquid = table.kind(WATER) == Kind::Liquid;
        classes.clear();
        if !is_water_liquid {
            // A material of its own for each class: cells of solid water are not inside, but
            // what soaked cells hold is.
            classes.extend(cells.materials().iter().map(|&id| match table.kind(id) {
                Kind::Air => AIR,
                Kind::Liquid => WATER,
                Kind::Solid => NEITHER,
            }));
        }
        materials.clear();
        materials.extend_from_slice(cells.materials());
        occupancies.clear();
        occupancies.extend_from_slice(cells.occupancies());
        for &(i, level) in cells.water() {
            let i = i as usize;
            if table.kind(materials[i]) == Kind::Solid {
                (materials[i], occupancies[i]) = (WATER, level);
                if !is_water_liquid {
                    classes[i] = WATER;
                }
            }
        }
    }
}
