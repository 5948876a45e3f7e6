//! What the other modules share: boxes ([`Aabb`]) and lines for debug drawing ([`DebugLines`]).

mod aabb;
pub(crate) mod lanes;
mod lines;
mod mesh_distance;
mod vector;

pub use aabb::Aabb;
pub use lines::{DebugLine, DebugLines};
pub(crate) use mesh_distance::{MAX_MESH_EDGE, MeshDistance};
pub(crate) use vector::{cross, dot, sub};
