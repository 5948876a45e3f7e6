//! The vertices at corners on some features of the boundary whose faces are left out, by the cells
//! of the padded box alone.
//!
//! Corners that the mesh places by the rules one by one are only marked here.

use crate::mesh::rules::block::PAD;
use crate::mesh::rules::boundary::{BoundaryFeatures, feature_of};
use crate::mesh::rules::place::PlacedVertex;
use crate::mesh::surface::Surface;

use super::bits::{
    Bits, ListedCorner, RankedRows, RowGrid, and, any, down, not, or, row, span, up,
};

/// Vertices by corner. Reusable.
#[derive(Debug, Default)]
pub(crate) struct BoundaryVertices {
    /// Cells along the block's edge.
    edge: i32,
    /// Words of a row.
    words: usize,
    /// On which features corners were searched.
    pub(super) features: BoundaryFeatures,
    /// Corners that have faces.
    pub(super) corners: RankedRows,
    /// Those that the rules place, in rows as `corners`; empty if no bit is set.
    by_rules: Vec<u64>,
    /// Positions and normals of all others.
    pub(super) surface: Surface,
}

/// What the cells give a corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CornerVertex {
    /// No face, so no vertex.
    None,
    /// One vertex, of the only sheet.
    One(PlacedVertex),
    /// Unknown here: ask the rules.
    ByRules,
}

impl BoundaryVertices {
    /// Forgets all corners.
    pub(crate) fn forget(&mut self) {
        self.features = BoundaryFeatures::NONE;
    }

    /// Prepares for the corners on `features` of a padded box of edges `size`, none of which has
    /// a vertex yet.
    pub(super) fn reset(&mut self, size: [usize; 3], features: BoundaryFeatures) {
        self.edge = size[0] as i32 - 2 * PAD;
        self.words = RowGrid::new(size).words();
        self.features = features;
        self.corners.rows.clear();
    }

    /// Whether no corner has a vertex.
    pub(super) fn is_empty(&self) -> bool {
        // Without features the corners are those of an earlier box.
        self.features.is_empty() || self.corners.rows.is_empty() || self.corners.count == 0
    }

    /// Marks the corners that the rules place.
    pub(super) fn mark(&mut self, by_rules: &[ListedCorner]) {
        let words = self.words;
        self.by_rules.clear();
        if !by_rules.is_empty() {
            self.by_rules.resize(self.corners.rows.len(), 0);
        }
        for &ListedCorner { row, bit } in by_rules {
            self.by_rules[words * row as usize + bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// Returns the vertex at a corner, in cells from the block's min corner.
    #[inline]
    pub(crate) fn at(&self, at: [i32; 3]) -> CornerVertex {
        if !self.features.has(feature_of(at, self.edge)) {
            return CornerVertex::ByRules;
        }
        if self.corners.rows.is_empty() {
            return CornerVertex::None;
        }
        let (c, bit) = ((at[1] * (self.edge + 1) + at[2]) as usize, at[0] as usize + 1);
        let (word, b) = (self.words * c + bit / 64, bit % 64);
        let row = self.corners.rows[word];
        if row >> b & 1 == 0 {
            return CornerVertex::None;
        }
        if !self.by_rules.is_empty() && self.by_rules[word] >> b & 1 == 1 {
            return CornerVertex::ByRules;
        }
        let number = (self.corners.ranks[word] + (row & ((1 << b) - 1)).count_ones()) as usize;
        let p = self.surface.positions[number];
        let offset = [0, 1, 2].map(|a| 2.0 * (p[a] - at[a] as f32));
        CornerVertex::One(PlacedVertex { offset, normal: self.surface.normals[number] })
    }
}

/// Corners on some features of the boundary, in rows by the feature that a row's inner corners
/// lie on: three of z for each of y.
pub(super) struct FeatureCorners<const W: usize> {
    rows: [Bits<W>; 9],
    own: [i32; 3],
}

impl<const W: usize> FeatureCorners<W> {
    pub(super) fn new(grid: &RowGrid, features: BoundaryFeatures) -> FeatureCorners<W> {
        let own = grid.own.map(|edge| edge as i32);
        let mut rows = [[0; W]; 9];
        for (number, row) in rows.iter_mut().enumerate() {
            for x in 0..3 {
                if features.has(x + 3 * number) {
                    let (from, to) =
                        [(1, 2), (2, grid.own[0] + 1), (grid.own[0] + 1, grid.own[0] + 2)][x];
                    *row = or(*row, span(from, to));
                }
            }
        }
        FeatureCorners { rows, own }
    }

    /// Returns the corners of row (y, z).
    pub(super) fn corners(&self, y: usize, z: usize) -> Bits<W> {
        let at = |at: usize, edge: i32| feature_of([at as i32, 0, 0], edge) % 3;
        self.rows[at(z, self.own[2]) + 3 * at(y, self.own[1])]
    }

    /// Returns the cells of row (y, z) with such a corner at their face, by direction.
    pub(super) fn cells(&self, y: usize, z: usize) -> [Bits<W>; 6] {
        let (low, high) = (self.corners(y, z), self.corners(y + 1, z));
        let (low2, high2) = (self.corners(y, z + 1), self.corners(y + 1, z + 1));
        cells_at(low, low2, high, high2)
    }
}

/// Returns the cells of a row with a marked corner at their face, by direction, from the four
/// rows of corners around: low y and z; high z; high y; both.
#[inline(always)]
pub(super) fn cells_at<const W: usize>(
    low: Bits<W>,
    low2: Bits<W>,
    high: Bits<W>,
    high2: Bits<W>,
) -> [Bits<W>; 6] {
    let all = or(or(low, low2), or(high, high2));
    let (yl, yh) = (or(low, low2), or(high, high2));
    let (zl, zh) = (or(low, high), or(low2, high2));
    [up(all), all, or(yl, up(yl)), or(yh, up(yh)), or(zl, up(zl)), or(zh, up(zh))]
}

/// Finds the corners on some features of the boundary that have faces.
#[inline(always)]
pub(super) fn find_boundary_corners<const W: usize>(
    grid: &RowGrid,
    inside: &[u64],
    outside: Option<&[u64]>,
    features: BoundaryFeatures,
    corners: &mut Vec<u64>,
) {
    let [_, ny, nz] = grid.own;
    let on_features = FeatureCorners::<W>::new(grid, features);
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
