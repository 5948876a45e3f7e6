//! Box colliders: the solid cells of a world as few boxes, for engines that want those
//! rather than triangles, and for blocky worlds.
//!
//! [`SolidOctree`] finds the solid volumes of a cube of the world, [`SolidBoxes`] puts
//! them together to larger boxes, [`BoxSet`] turns any such sequence of boxes into
//! colliders of a [`BoxSink`] and keeps those that are still right, and [`BoxColliders`]
//! follows the change log of a grid with all of that, block by block.
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
