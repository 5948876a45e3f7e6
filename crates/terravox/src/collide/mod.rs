//! Collision queries: what rays, boxes, points and moving shapes hit in the ground and in
//! water.
//!
//! - [`Collider`] is the entry: [`Collider::update`] follows a grid, then
//!   [`Collider::ray`], [`Collider::cast`], [`Collider::overlaps`],
//!   [`Collider::closest_point`] and [`Collider::triangles_in`] query it from any thread.
//! - [`Filter`] says which surfaces a query sees, and [`QueryOutcome`] is what it returns: the
//!   result, and whether data was missing.
//! - [`Broadphase`] finds the blocks that a box may touch, from bit masks alone.
//! - [`QuadBvh`] holds one surface of one block, for callers that cache blocks
//!   ([`Collider::block`]).
//!
//! How data flows. An update turns the changes of the grid into masks, a bit for every cell
//! that owns a face. A query finds candidate blocks by these masks, along a ray (`walk`) or in
//! a box ([`Broadphase::blocks_in`]). The first query that needs a block meshes it and builds
//! its [`QuadBvh`]s (`block_cache`, `builder`); later queries find them in their slots. Hits in a
//! block, f32 from its min corner, become a [`Hit`] in the world.
//!
//! Everything is in voxels. Positions in the world are f64; inside a block they are f32 from
//! the block's min corner. Contact points of bodies and buoyancy are in
//! [`contacts`](crate::contacts), shapes in [`geometry`](crate::geometry).

mod batch;
mod block;
mod block_cache;
mod broadphase;
mod builder;
mod closest;
mod collider;
mod counters;
mod draw;
mod edges;
#[cfg(test)]
pub(crate) mod naive;
mod overlap;
mod query;
mod rays;
#[cfg(test)]
pub(crate) mod schedule;
mod slots;
mod sweep;
#[cfg(test)]
mod tests;
mod walk;
mod world;

pub use crate::bits::{BLOCK_LOG2, BlockMask, CollisionBlock};
pub use block::{BlockTriangle, BuildScratch, LocalHit, LocalPoint, LocalRay, QuadBvh, QuadInfo};
pub use broadphase::{BlockMasks, BlockOverlap, Broadphase, BroadphaseStats};
pub use collider::{BlockSurfaces, Collider, ColliderOptions};
pub use counters::ColliderStats;
#[doc(hidden)]
pub use edges::naive as naive_edges;
pub use edges::{EdgeScratch, edge_angles};
pub use query::{
    BuildPolicy, Filter, Hit, MaterialSet, MissingData, QueryOutcome, REACH, Ray, SurfaceTriangle,
    Surfaces, TriangleId,
};
pub(crate) use world::{BlockSurface, CollisionWorld, min_corner};
