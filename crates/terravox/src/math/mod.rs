//! Code that the other modules share: boxes ([`Aabb`]), lines for debug drawing ([`DebugLines`])
//! and a 64-bit hash ([`mixed`]).

use glam::DVec3;

mod aabb;
pub(crate) mod lanes;
mod lines;
mod mesh_distance;
mod mixed;
mod vector;

pub use aabb::Aabb;
pub use lines::{DebugLine, DebugLines};
#[cfg(test)]
pub(crate) use mesh_distance::tests::cuboid;
pub(crate) use mesh_distance::{MAX_MESH_EDGE, MeshDistance};
pub use mixed::{MIXED_STEP, mixed};
pub(crate) use vector::{cross, dot, sub};

/// Farthest coordinate from which rays are cast, voxels: f64 tells 1/4096 of a voxel apart there.
const MAX_QUERY_VOXELS: f64 = (1_u64 << 40) as f64;

/// Returns the origin of a ray and its direction, of any length, as a unit vector; `None` if the
/// ray is invalid: NaN, infinite, too far away, without direction.
#[inline]
pub(crate) fn normalized_ray(origin: [f64; 3], direction: [f64; 3]) -> Option<[DVec3; 2]> {
    let (origin, direction) = (DVec3::from(origin), DVec3::from(direction));
    let is_near = origin.abs().cmple(DVec3::splat(MAX_QUERY_VOXELS)).all(); // NaN is not
    // A direction may be very short or long; its largest part is brought to 1 first.
    let largest = direction.abs().max_element();
    let valid = is_near && direction.is_finite() && largest > 0.0;
    valid.then(|| [origin, (direction / largest).normalize()])
}
