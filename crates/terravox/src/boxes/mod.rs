//! Box colliders: the solid cells of a world merged into a small number of boxes, for engines that
//! need boxes rather than triangles, and for blocky worlds.
//!
//! - [`BoxColliders`] is the entry: [`BoxColliders::update`] follows the change log of a grid and
//!   adds and removes the colliders of a [`BoxSink`], which you implement for your engine
//!   ([`BoxList`] is a sink that only keeps a list).
//! - [`SolidOctree`] and [`SolidBoxes`] are its steps for a single cube of the world, and
//!   [`BoxSet`] updates the colliders of any sequence of boxes of your own.
//!
//! How data flows. The solid cells of a block are read as bits and covered greedily by boxes
//! (`greedy`); a [`SolidOctree`] does that for a cube of blocks. Boxes of neighbouring blocks are
//! merged (`merge`), and the difference from the previous boxes goes to the sink (`sink`).
//!
//! A cell counts as solid by the kind of its material, whatever its occupancy.
//!
//! Source: Hadden, "Voxels, Octrees, and Collision" (2012).

mod generator;
mod greedy;
mod merge;
#[cfg(test)]
mod naive;
mod octree;
mod sink;
mod solid;
#[cfg(test)]
mod tests;

pub use generator::{BoxColliders, BoxUpdate};
pub use octree::SolidOctree;
pub use sink::{BoxList, BoxSet, BoxSink};
pub use solid::SolidBoxes;
