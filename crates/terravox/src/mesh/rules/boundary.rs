//! The boundary of a block: its 6 sides, 12 edges and 8 corners, called features.
//!
//! A feature's number is its place in 3³: x + 3 z + 9 y, each 0 on the low side, 2 on the high
//! side, 1 between. So [`INSIDE`] is the inside of the block.

use super::face::Direction;

/// Number of the inside of a block among its features.
pub(crate) const INSIDE: usize = 13;

/// Returns the sides on which a feature lies, per axis: −1 low, 1 high, 0 neither.
pub(crate) const fn sides(feature: usize) -> [i32; 3] {
    let f = feature as i32;
    [f % 3 - 1, f / 9 - 1, f / 3 % 3 - 1]
}

/// Returns the direction that a feature faces if it is a side.
#[inline]
pub(crate) const fn side_direction(feature: usize) -> Option<Direction> {
    match feature {
        12 => Some(Direction { axis: 0, is_high: false }),
        14 => Some(Direction { axis: 0, is_high: true }),
        4 => Some(Direction { axis: 1, is_high: false }),
        22 => Some(Direction { axis: 1, is_high: true }),
        10 => Some(Direction { axis: 2, is_high: false }),
        16 => Some(Direction { axis: 2, is_high: true }),
        _ => None,
    }
}

/// Returns the number of the side that faces `direction`.
#[inline]
pub(crate) const fn side_feature(Direction { axis, is_high }: Direction) -> usize {
    let step = [1, 9, 3][axis];
    if is_high { INSIDE + step } else { INSIDE - step }
}

/// Returns the number of the feature on which a corner of a block of edge `edge` lies.
#[inline]
pub(crate) fn feature_of(corner: [i32; 3], edge: i32) -> usize {
    let side = |at: i32| if at == 0 { 0 } else { 1 + usize::from(at == edge) };
    side(corner[0]) + 3 * side(corner[2]) + 9 * side(corner[1])
}

/// A set of features of a block's boundary, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BoundaryFeatures(pub u32);

impl BoundaryFeatures {
    /// No feature.
    pub(crate) const NONE: BoundaryFeatures = BoundaryFeatures(0);
    /// All features, and the inside of the block.
    pub(crate) const ALL: BoundaryFeatures = BoundaryFeatures((1 << 27) - 1);

    /// Whether the set is empty.
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a feature is in the set.
    #[inline]
    pub(crate) fn has(self, feature: usize) -> bool {
        self.0 >> feature & 1 == 1
    }
}

/// By feature: itself and those that bound it, a bit for each.
pub(crate) const BOUNDING: [u32; 27] = {
    let mut bounding = [0; 27];
    let mut of = 0;
    while of < 27 {
        let mut by = 0;
        while by < 27 {
            let (a, b) = (sides(of), sides(by));
            let mut bounds = true;
            let mut axis = 0;
            while axis < 3 {
                bounds = bounds && (a[axis] == 0 || a[axis] == b[axis]);
                axis += 1;
            }
            if bounds {
                bounding[of] |= 1 << by;
            }
            by += 1;
        }
        of += 1;
    }
    bounding
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_numbered_as_corners_lie_on_them() {
        for feature in 0..27 {
            let corner = sides(feature).map(|side| [0, 5, 32][(side + 1) as usize]);
            assert_eq!(feature_of(corner, 32), feature);
            let axes: Vec<usize> = (0..3).filter(|&axis| sides(feature)[axis] != 0).collect();
            let direction = (axes.len() == 1)
                .then(|| Direction { axis: axes[0], is_high: sides(feature)[axes[0]] == 1 });
            assert_eq!(side_direction(feature), direction);
            assert!(direction.is_none_or(|direction| side_feature(direction) == feature));
        }
        assert_eq!(feature_of([1, 31, 7], 32), INSIDE);
    }
}
