//! Shapes of space that several modules speak of, and what draws them.

mod aabb;
mod lines;
mod mesh_distance;

pub use aabb::Aabb;
pub use lines::{DebugLine, DebugLines};
pub(crate) use mesh_distance::{MAX_MESH_EDGE, MeshDistance};
