//! Boxes, debug lines, distances to meshes, and vectors of eight lanes.

mod aabb;
pub(crate) mod lanes;
mod lines;
mod mesh_distance;

pub use aabb::Aabb;
pub use lines::{DebugLine, DebugLines};
pub(crate) use mesh_distance::{MAX_MESH_EDGE, MeshDistance};
