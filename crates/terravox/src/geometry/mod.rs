//! Geometry without voxels: shapes against triangles, and trees of triangles.
//!
//! - [`Shape`] is a sphere, a capsule, a box or a convex hull. [`ShapeCore`] prepares one for
//!   queries against a triangle: [`overlaps`](ShapeCore::overlaps),
//!   [`separation`](ShapeCore::separation) and [`cast`](ShapeCore::cast).
//! - [`KdTree`] finds the triangles that rays and boxes hit in any triangle soup: build it once
//!   with [`KdTree::from_triangles`], then query it. [`crate::collide`] does not use it; it is for
//!   meshes of your own.
//! - [`EdgeAngle`] decodes the angles that the collider stores for the edges of its quads.
//!
//! Data flows one way: slices of f32 positions in, plain structs out. Everything is stateless,
//! except a [`KdTree`] itself.

mod edge_angle;
mod kd_tree;
mod shape;

pub use edge_angle::EdgeAngle;
#[cfg(test)]
pub(crate) use edge_angle::{FLAT, FOLD};
pub(crate) use edge_angle::{codes_of, codes_of_halves};
pub use kd_tree::{KdBuilder, KdError, KdHit, KdTree, KdTriangle, PositionGrid};
pub use shape::{CastHit, Separation, Shape, ShapeCore};
pub(crate) use shape::{FeaturePolygon, Slices, closest_on_triangle};
