//! Where things meet the ground: which blocks a box can touch, and what a ray, a box or
//! a moving shape meets there.
//!
//! Everything is in voxels. Points of the world are f64; inside a block, positions are
//! f32 from the block's lowest corner.

mod batch;
mod block;
mod boxes;
mod broadphase;
mod collider;
mod contacts;
mod counters;
mod draw;
mod edges;
mod kd_tree;
#[cfg(test)]
mod naive;
mod near;
mod query;
mod ray;
mod shape;
mod slots;
#[cfg(test)]
mod tests;
mod walk;
mod water;

pub use block::{BuildScratch, LocalHit, LocalPoint, LocalRay, QuadInfo, QuadTree, Triangle};
pub(crate) use boxes::solid_rows;
pub use boxes::{BoxColliders, BoxList, BoxSet, BoxSink, BoxUpdate, SolidBoxes, SolidOctree};
pub use broadphase::{BlockMasks, Broadphase, BroadphaseStats, Mask, Touch};
pub use collider::{BlockSurfaces, Collider, ColliderOptions, ColliderStats};
pub use contacts::{
    BlockContact, Body, BodyPart, ContactChanges, ContactOptions, ContactPoint, ContactTracker,
    Contacts, Manifold, WayOut,
};
#[doc(hidden)]
pub use edges::naive as naive_edges;
pub use edges::{EdgeAngle, EdgeScratch, edge_angle, edge_angles};
pub use kd_tree::{KdBuilder, KdError, KdHit, KdTree, KdTriangle, PositionGrid};
pub use query::{Answer, Filter, Found, Hit, MaterialSet, Missing, Ray, TriangleId, Unbuilt};
pub use shape::{CastHit, Separation, Shape, ShapeCore, closest_on_triangle};
pub use water::{Submersion, WaterScratch};

use crate::voxel::BlockPos;

/// Edge of a collision block is `1 << BLOCK_LOG2` voxels.
pub const BLOCK_LOG2: u32 = 3;

/// Position of a collision block, 8³ voxels.
pub type Block = BlockPos<BLOCK_LOG2>;

/// How far the surface of a cell may reach beyond the cell, on each axis, voxels: what
/// the mesher keeps to.
pub const REACH: f32 = 0.75;

/// Which surfaces a query sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Surfaces {
    /// The ground.
    #[default]
    Solid,
    /// Water and other liquids.
    Liquid,
    /// Both.
    Both,
}

impl Surfaces {
    /// Whether the ground is seen.
    pub fn solid(self) -> bool {
        self != Surfaces::Liquid
    }

    /// Whether liquids are seen.
    pub fn liquid(self) -> bool {
        self != Surfaces::Solid
    }
}
