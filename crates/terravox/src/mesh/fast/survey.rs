//! Which kinds of material a table lists and a block has.

use crate::voxel::{AIR, Kind, MaterialTable, SurfaceShape, WATER};

use super::mesh_simd::MeshSimd;

/// What the mesher needs of a material table, looked up once.
#[derive(Debug)]
pub(super) struct TableSummary {
    kinds: [Kind; 256],
    shapes: [SurfaceShape; 256],
    /// By material: whether it is solid.
    pub is_solid: [bool; 256],
    /// By material: whether it is liquid.
    pub is_liquid: [bool; 256],
    /// Whether id 0 is air, 1 liquid, and all others are solid.
    pub is_usual: bool,
    /// The shape of all solids, if they have the same.
    pub solid_shape: Option<SurfaceShape>,
    /// The shape of all liquids, if they have the same.
    pub liquid_shape: Option<SurfaceShape>,
}

impl Default for TableSummary {
    fn default() -> TableSummary {
        TableSummary::new(&MaterialTable::default())
    }
}

impl TableSummary {
    fn new(table: &MaterialTable) -> TableSummary {
        let others = &table.kinds()[2..];
        let all_solid = others.iter().all(|&kind| kind == Kind::Solid);
        TableSummary {
            kinds: *table.kinds(),
            shapes: *table.shapes(),
            is_solid: table.kinds().map(|kind| kind == Kind::Solid),
            is_liquid: table.kinds().map(|kind| kind == Kind::Liquid),
            is_usual: table.kind(WATER) == Kind::Liquid && all_solid,
            solid_shape: common_shape(table, Kind::Solid),
            liquid_shape: common_shape(table, Kind::Liquid),
        }
    }

    /// Makes this the summary of `table` if it is another table's.
    pub(super) fn update(&mut self, table: &MaterialTable) {
        let mut differs = false;
        for id in 0..256 {
            differs |= (self.kinds[id] as u8 != table.kinds()[id] as u8)
                | (self.shapes[id] as u8 != table.shapes()[id] as u8);
        }
        if differs {
            *self = TableSummary::new(table);
        }
    }
}

/// Returns the shape of all materials of a kind, if they have the same.
fn common_shape(table: &MaterialTable, kind: Kind) -> Option<SurfaceShape> {
    let mut shapes = (0..=255).filter(|&id| table.kind(id) == kind).map(|id| table.shape(id));
    let first = shapes.next()?;
    shapes.all(|shape| shape == first).then_some(first)
}

/// Which kinds of cell a box has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellKinds {
    pub has_air: bool,
    pub has_liquid: bool,
    pub has_solid: bool,
}

impl CellKinds {
    /// Surveys cells of a usual table ([`TableSummary::is_usual`]).
    #[inline(always)]
    pub(super) fn of_usual<M: MeshSimd>(m: M, materials: &[u8]) -> CellKinds {
        let (mut air, mut liquid, mut neither) = (0, 0, 0);
        let (chunks, rest) = materials.as_chunks::<32>();
        for many in chunks.chunks(64) {
            for chunk in many {
                let (a, b) = (m.equal(chunk, AIR), m.equal(chunk, WATER));
                air |= a;
                liquid |= b;
                neither |= !(a | b);
            }
            if air != 0 && liquid != 0 && neither != 0 {
                break;
            }
        }
        CellKinds {
            has_air: air != 0 || rest.contains(&AIR),
            has_liquid: liquid != 0 || rest.contains(&WATER),
            has_solid: neither != 0 || rest.iter().any(|&material| material > WATER),
        }
    }

    /// Surveys cells of any table.
    pub(super) fn of_any(table: &MaterialTable, materials: &[u8]) -> CellKinds {
        let mut occurs = [false; 256];
        for &material in materials {
            occurs[usize::from(material)] = true;
        }
        let has = |kind| (0..256).any(|id| occurs[id] && table.kinds()[id] == kind);
        CellKinds {
            has_air: has(Kind::Air),
            has_liquid: has(Kind::Liquid),
            has_solid: has(Kind::Solid),
        }
    }
}
