//! Where things meet the ground: which blocks a box can touch, and what a ray, a box or
//! a moving shape meets there.
//!
//! Everything is in voxels. Points of the world are f64; inside a block, positions are
//! f32 from the block's lowest corner.

mod batch;
mod block;
mod broadphase;
mod collider;
mod counters;
mod draw;
mod edges;
#[cfg(test)]
pub(crate) mod naive;
mod near;
mod query;
mod ray;
mod slots;
#[cfg(test)]
mod tests;
mod walk;

pub use crate::bits::{BLOCK_LOG2, Block, BlockMask};
pub use block::{BuildScratch, LocalHit, LocalPoint, LocalRay, QuadInfo, QuadTree, Triangle};
pub use broadphase::{BlockMasks, Broadphase, BroadphaseStats, Touch};
pub(crate) use collider::Side;
pub use collider::{BlockSurfaces, Collider, ColliderOptions, ColliderStats};
#[doc(hidden)]
pub use edges::naive as naive_edges;
pub use edges::{EdgeScratch, edge_angles};
pub(crate) use near::corner_of;
pub use query::{Answer, Filter, Found, Hit, MaterialSet, Missing, Ray, TriangleId, Unbuilt};

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
