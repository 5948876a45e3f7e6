//! The range of cells that a box reaches, portable: the twin of `simd`, and what other
//! architectures run.

use crate::collide::REACH;
use crate::math::Aabb;
use crate::voxel::LIMIT;

/// The lowest and highest cells whose faces may touch a box. The box grows by the reach and is
/// rounded outwards, so that a box that ends where a face lies touches it. `None` if the box is
/// invalid or lies outside of the limits of the world.
#[allow(dead_code)]
pub(super) fn reached(aabb: &Aabb) -> Option<([i32; 3], [i32; 3])> {
    const FAR: f64 = (LIMIT + 1) as f64;
    let (mut min, mut max) = ([0; 3], [0; 3]);
    for axis in 0..3 {
        let (low, high) = (aabb.min[axis], aabb.max[axis]);
        let finite = low > f64::NEG_INFINITY && high < f64::INFINITY;
        // No NaN gets through this.
        if !(low <= high && low < FAR && high > -FAR && finite) {
            return None;
        }
        // Rounding the sums cannot lose a cell: borders of cells are exact.
        min[axis] = -((f64::from(REACH) - low.max(-FAR)).floor() as i32) - 1;
        max[axis] = (high.min(FAR) + f64::from(REACH)).floor() as i32;
    }
    Some((min, max))
}
