//! The integer lattice of cells.

use glam::{DVec3, IVec3};
use terravox::voxel::LIMIT;

/// Whether a point lies within the limits of a grid; false for NaN.
pub(crate) fn is_within_limits(point: DVec3) -> bool {
    point.abs().cmplt(DVec3::splat(LIMIT.into())).all()
}

/// Returns the cell that holds a point within the limits of a grid: each axis rounded down. A
/// conversion and a compare, because without SSE 4.1 `f64::floor` is a function call.
pub(crate) fn cell_of(point: DVec3) -> IVec3 {
    let truncated = point.as_ivec3();
    truncated - IVec3::select(point.cmplt(truncated.as_dvec3()), IVec3::ONE, IVec3::ZERO)
}
