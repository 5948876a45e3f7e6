//! Shapes of space that several modules speak of, and what draws them.

mod aabb;
mod lines;

pub use aabb::Aabb;
pub use lines::{DebugLine, DebugLines};
