//! What the other modules share: boxes ([`Aabb`]), lines for debug drawing ([`DebugLines`]) and a
//! hash of 64 bits ([`mixed`]).

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
pub(crate) const MAX_QUERY_VOXELS: f64 = (1_u64 << 40) as f64;
