//! The surface of one block: its quads on a 16-bit grid under a 4-wide tree with 8-bit boxes.
//!
//! One [`QuadBvh`] holds one surface of one block. Everything is in cells from the block's
//! min corner, f32; triangles are exactly the mesher's, since its positions are multiples
//! of 1/4096 of a cell and that is the grid here, in every block. Leaves hold four quads, 64
//! bytes with their words; nodes hold four boxes in 32 bytes (compare Wald, Benthin and Boulos,
//! "Getting Rid of Packets", 2008, for four-wide trees; Mahovsky and Wyvill,
//! "Memory-Conserving Bounding Volume Hierarchies", 2006, for boxes of bytes).
//!
//! Data formats are in `leaf`, `mesh`, `node` and `vertex`. `build` makes a tree; `ray`, `boxes`
//! and `closest` search it with the order of visits in `walk` and the tests in `machine`, which
//! is `simd` or its twin `plain`. `tree` puts these together.

mod box_query;
mod boxes;
mod build;
mod closest;
mod leaf;
mod local_ray;
mod machine;
mod mesh;
#[cfg(test)]
mod naive;
mod node;
mod ray;
#[cfg_attr(all(target_arch = "x86_64", not(terravox_plain)), allow(dead_code))]
mod scalar;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
#[cfg(test)]
mod surfaces;
#[cfg(test)]
mod tests;
mod tree;
mod vertex;
mod walk;

pub use build::BuildScratch;
pub use closest::LocalPoint;
pub use local_ray::{LocalHit, LocalRay};
pub use mesh::{BlockTriangle, QuadInfo};
pub use tree::QuadBvh;
