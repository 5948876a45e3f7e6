//! The corners of a border, each looked up once.
//!
//! Most lie inside sides that touch one mip only, on a regular lattice: those are in a table by
//! position, in the order in which faces are written; the others are in a hash map.

use rustc_hash::FxHashMap;

use crate::mesh::rules::boundary::{BoundaryFeatures, side_direction};
use crate::mesh::rules::corner::CornerSheets;

use super::lattice::{LocalLattice, MipSpan, pack_corner};
use super::neighbours::{BoundaryMips, SIDE_AXES};

/// Vertex number of a sheet that has no vertex yet.
pub(super) const NO_VERTEX: u32 = u32::MAX;

/// No sheet has a vertex yet.
pub(super) const NO_VERTICES: [u32; 4] = [NO_VERTEX; 4];

/// Index of a corner that is not listed yet.
pub(super) const NO_CORNER: u32 = u32::MAX;

/// A corner of the border.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderCorner {
    /// In units.
    pub at: [i32; 3],
    /// How the cells around it connect.
    pub sheets: CornerSheets,
    /// Around it. Meaningful only where it touches another mip.
    pub mips: MipSpan,
    /// The materials of the inside octants, a byte each. Likewise.
    pub materials: u64,
    /// By sheet: its vertex.
    pub vertices: [u32; 4],
}

/// The part of the table for the corners on a side.
#[derive(Clone, Copy, Debug, Default)]
struct SideTable {
    /// Index of the first of them in the table.
    first: u32,
    /// Units between corners, as a shift.
    shift: u32,
    /// Corners in a row; 0 if the side has no table.
    width: u32,
}

/// All corners of a border. Reusable.
#[derive(Debug, Default)]
pub(super) struct BorderCorners {
    /// By index.
    pub all: Vec<BorderCorner>,
    /// Indices of those inside sides, by position, or [`NO_CORNER`].
    table: Vec<u32>,
    /// By feature.
    sides: [SideTable; 27],
    /// Indices of the others by position, packed by [`pack_corner`].
    others: FxHashMap<u32, u32>,
}

impl BorderCorners {
    /// Removes all corners, and makes tables for the sides that touch one mip only.
    /// `finest_steps` is that of [`BoundaryMips`].
    pub(super) fn clear(
        &mut self,
        lattice: &LocalLattice<'_>,
        foreign: BoundaryFeatures,
        finest_steps: &[u8; 27],
    ) {
        let BorderCorners { all, table, sides, others } = self;
        all.clear();
        others.clear();
        let mut count = 0;
        for (feature, side) in sides.iter_mut().enumerate() {
            *side = SideTable::default();
            let finest = finest_steps[feature];
            let is_uniform = finest != BoundaryMips::VARIES;
            if side_direction(feature).is_some() && foreign.has(feature) && is_uniform {
                let shift = lattice.cell_log2(lattice.mip - finest);
                let width = lattice.edge() as u32 >> shift;
                *side = SideTable { first: count, shift, width };
                count += width * width;
            }
        }
        table.clear();
        table.resize(count as usize, NO_CORNER);
    }

    /// Returns the entry for the index of the corner at `at`, which lies on a feature;
    /// [`NO_CORNER`] if it has none yet.
    #[inline]
    pub(super) fn index(&mut self, at: [i32; 3], feature: usize) -> &mut u32 {
        let SideTable { first, shift, width } = self.sides[feature];
        if let (Some(direction), true) = (side_direction(feature), width > 0) {
            let [u, v] = SIDE_AXES[direction.axis].map(|axis| at[axis] as u32 >> shift);
            &mut self.table[(first + v * width + u) as usize]
        } else {
            self.others.entry(pack_corner(at)).or_insert(NO_CORNER)
        }
    }
}
