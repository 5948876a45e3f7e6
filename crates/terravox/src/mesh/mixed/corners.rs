//! The corners of a border, each looked up once.
//!
//! Most lie within sides that touch one mip only, on a lattice: those are found in a table by
//! place, row by row as the faces are written; the others by a hash of it.

use rustc_hash::FxHashMap;

use crate::mesh::corner::Corner;

use super::around::{Features, Neighbours, ROWS, side_of};
use super::frame::Frame;
use super::levels::packed;

/// No sheet has a vertex.
pub(super) const NONE_YET: [u32; 4] = [u32::MAX; 4];

/// A corner of the border.
#[derive(Clone, Copy, Debug)]
pub(super) struct BorderCorner {
    pub at: [i32; 3],
    pub corner: Corner,
    /// If it touches another mip: the finest and the coarsest around it.
    pub mips: [u8; 2],
    /// And the materials of the inside octants, a byte each.
    pub materials: u64,
    /// Vertices of its sheets.
    pub numbers: [u32; 4],
}

/// Where the numbers of the corners on a side are.
#[derive(Clone, Copy, Debug, Default)]
struct SideTable {
    /// The first of them in the table of all; the table ends here if the side has none.
    first: u32,
    /// Units between corners, as a shift, and corners in a row.
    shift: u32,
    width: u32,
}

/// All corners of a border. Reusable.
#[derive(Debug, Default)]
pub(super) struct Corners {
    /// By number.
    pub all: Vec<BorderCorner>,
    /// Numbers of those within sides, by place; [`u32::MAX`] where none was asked for.
    table: Vec<u32>,
    /// By feature.
    sides: [SideTable; 27],
    /// Numbers of the others by place, packed.
    others: FxHashMap<u32, u32>,
}

impl Corners {
    /// Forgets all, and makes room for the numbers of those on sides that touch one mip only;
    /// `finest` is in steps, by feature.
    pub(super) fn clear(&mut self, frame: &Frame<'_>, foreign: Features, finest: &[u8; 27]) {
        let Corners { all, table, sides, others } = self;
        all.clear();
        others.clear();
        let mut count = 0;
        for (feature, side) in sides.iter_mut().enumerate() {
            *side = SideTable::default();
            let finest = finest[feature];
            if side_of(feature).is_some() && foreign.has(feature) && finest != Neighbours::MANY {
                let shift = frame.shift(frame.mip - finest);
                let width = frame.edge() as u32 >> shift;
                *side = SideTable { first: count, shift, width };
                count += width * width;
            }
        }
        table.clear();
        table.resize(count as usize, u32::MAX);
    }

    /// Where the number of the corner at a place is, which lies on a feature; [`u32::MAX`] if
    /// it was not asked for before.
    #[inline]
    pub(super) fn number(&mut self, at: [i32; 3], feature: usize) -> &mut u32 {
        let SideTable { first, shift, width } = self.sides[feature];
        if let (Some((axis, _)), true) = (side_of(feature), width > 0) {
            let [u, v] = ROWS[axis].map(|axis| at[axis] as u32 >> shift);
            &mut self.table[(first + v * width + u) as usize]
        } else {
            self.others.entry(packed(at)).or_insert(u32::MAX)
        }
    }
}
