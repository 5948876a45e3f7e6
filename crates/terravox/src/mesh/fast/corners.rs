//! The vertices at corners on some features of the hull whose faces are left out: where
//! they would be if the padding were what is shown there.
//!
//! Those that go through the rules one by one in the mesh do so here too: they are only
//! marked.

use crate::mesh::PAD;
use crate::mesh::mixed::{Features, feature_of};
use crate::mesh::place::Placed;
use crate::mesh::surface::Surface;

use super::rows::{Bits, Grid, OnFeatures, Ranked, and, any, down, not, or, row};

/// Vertices by corner. Reusable.
#[derive(Debug, Default)]
pub(crate) struct PlacedCorners {
    /// Cells along the block's edge.
    edge: i32,
    /// Words of a row.
    words: usize,
    /// Where corners were looked at.
    pub(super) features: Features,
    /// Which have faces.
    pub(super) corners: Ranked,
    /// Those that the rules place, in rows as `corners`; empty if there is none.
    by_rules: Vec<u64>,
    /// Positions and normals of all others.
    pub(super) surface: Surface,
}

/// What stands at a corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    /// There are no faces.
    Nothing,
    /// One vertex, of the only sheet.
    One(Placed),
    /// What the rules say.
    ByRules,
}

impl PlacedCorners {
    /// Says nothing of any corner.
    pub(crate) fn forget(&mut self) {
        self.features = Features::NONE;
    }

    /// Of no corner in `features` of a padded box of edges `size` is anything there.
    pub(super) fn reset(&mut self, size: [usize; 3], features: Features) {
        self.edge = size[0] as i32 - 2 * PAD;
        self.words = if size[0] <= 64 { 1 } else { 2 };
        self.features = features;
        self.corners.rows.clear();
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.corners.rows.is_empty() || self.corners.count == 0
    }

    /// Lists the corners that the rules place: corner row and bit.
    pub(super) fn mark(&mut self, by_rules: &[[u32; 2]]) {
        let words = self.words;
        self.by_rules.clear();
        if !by_rules.is_empty() {
            self.by_rules.resize(self.corners.rows.len(), 0);
        }
        for &[c, bit] in by_rules {
            self.by_rules[words * c as usize + bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// What stands at a corner, in cells from the block's min corner.
    #[inline]
    pub(crate) fn at(&self, at: [i32; 3]) -> Standing {
        if !self.features.has(feature_of(at, self.edge)) {
            return Standing::ByRules;
        }
        if self.corners.rows.is_empty() {
            return Standing::Nothing;
        }
        let (c, bit) = ((at[1] * (self.edge + 1) + at[2]) as usize, at[0] as usize + 1);
        let (word, b) = (self.words * c + bit / 64, bit % 64);
        let row = self.corners.rows[word];
        if row >> b & 1 == 0 {
            return Standing::Nothing;
        }
        if !self.by_rules.is_empty() && self.by_rules[word] >> b & 1 == 1 {
            return Standing::ByRules;
        }
        let number = (self.corners.ranks[word] + (row & ((1 << b) - 1)).count_ones()) as usize;
        let p = self.surface.positions[number];
        let offset = [0, 1, 2].map(|a| 2.0 * (p[a] - at[a] as f32));
        Standing::One(Placed { offset, normal: self.surface.normals[number] })
    }
}

/// Finds the corners on some features of the hull that have faces.
#[inline(always)]
pub(super) fn find_corners<const W: usize>(
    grid: &Grid,
    inside: &[u64],
    outside: Option<&[u64]>,
    features: Features,
    corners: &mut Vec<u64>,
) {
    let [_, ny, nz] = grid.own;
    let on_features = OnFeatures::<W>::new(grid, features);
    corners.clear();
    corners.resize(grid.corner_rows() * W, 0);
    for y in 0..=ny {
        for z in 0..=nz {
            let wanted = on_features.corners(y, z);
            if !any(wanted) {
                continue;
            }
            let r = (y + 1) * grid.size[2] + z + 1;
            let (mut has_inside, mut has_outside) = ([0; W], [0; W]);
            for r in [r, r + 1, r + grid.size[2], r + grid.size[2] + 1] {
                let inside: Bits<W> = row(inside, r);
                has_inside = or(has_inside, inside);
                let outside = match outside {
                    Some(outside) => row(outside, r),
                    None => not(inside),
                };
                has_outside = or(has_outside, outside);
            }
            let has_inside = or(has_inside, down(has_inside));
            let has_outside = or(has_outside, down(has_outside));
            let found = and(wanted, and(has_inside, has_outside));
            let c = W * (y * (nz + 1) + z);
            corners[c..c + W].copy_from_slice(&found);
        }
    }
}
