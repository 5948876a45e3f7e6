//! Geometry that knows nothing of voxels: shapes against triangles, and trees of triangles.
//!
//! - [`Shape`] is a sphere, a capsule, a box or a convex hull. [`ShapeCore`] prepares one for
//!   queries against a triangle: [`overlaps`](ShapeCore::overlaps),
//!   [`separation`](ShapeCore::separation) and [`cast`](ShapeCore::cast).
//!   [`closest_on_triangle`] is the query for a single point.
//! - [`KdTree`] finds what rays and boxes meet in any triangle soup: build it once with
//!   [`KdTree::from_triangles`], then query it. [`crate::collide`] does not use it; it is for
//!   meshes of your own.
//! - [`edge_angle`] decodes the angles that the collider stores for the edges of its quads.
//!
//! Data flows one way: slices of f32 positions in, plain structs out. All of it is stateless,
//! except for a [`KdTree`] itself.

mod edge_angle;
mod kd_tree;
mod shape;

pub use edge_angle::{EdgeAngle, edge_angle};
#[cfg(test)]
pub(crate) use edge_angle::{FLAT, FOLD};
pub(crate) use edge_angle::{codes_of, codes_of_halves};
pub use kd_tree::{KdBuilder, KdError, KdHit, KdTree, KdTriangle, PositionGrid};
pub use shape::{CastHit, Separation, Shape, ShapeCore, closest_on_triangle};
pub(crate) use shape::{FeaturePolygon, Slice, on_triangle};
