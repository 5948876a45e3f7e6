//! Dual contouring: the surface as an octree of vertices, contoured at any size or error.
//!
//! A leaf is a cube between eight samples, some solid and some not. Samples are cells (the vertex
//! is then the mesher's at the corner between them) or points of a density function
//! ([`OctreeBuilder::densities`]). Parents are built bottom-up; the vertex of a node minimises the
//! sum of the squared distances to the planes of the leaves below it. [`Octree::contour`] contours
//! nodes of one size, or the largest nodes that an error allows.
//!
//! An octree is an immutable view; [`Octrees`] rebuilds the octrees that edits reach. It consists
//! of arrays of nodes, level by level in Morton order.
//!
//! Sources: "Dual Contouring of Hermite Data" (Ju et al. 2002); bottom-up construction and
//! clustering regardless of error from the published account of a chunked engine (2015).
//!
//! ```
//! use terravox::octree::{Detail, OctreeBuilder};
//! use terravox::mesh::Surface;
//!
//! // A ball of radius 20 around the centre of 64³ cells.
//! let ball = |p: [f32; 3]| 20.0 - p.map(|v| (v - 32.0) * (v - 32.0)).iter().sum::<f32>().sqrt();
//! let octree = OctreeBuilder::new().densities([0, 0, 0], 6, |p| {
//!     (ball(p.to_array().map(|v| v as f32)), 8)
//! });
//! let (mut fine, mut coarse) = (Surface::default(), Surface::default());
//! octree.contour(&Detail::size(1), &mut fine);
//! octree.contour(&Detail::size(4), &mut coarse);
//! assert!(coarse.triangle_count() < fine.triangle_count() / 12);
//! ```

mod build;
mod builder;
mod cells;
mod contour;
mod densities;
mod emit;
mod join;
mod links;
#[cfg(test)]
mod naive;
mod node;
mod polygon;
mod qef;
mod sheets;
#[cfg(test)]
mod tests;
mod tree;
mod uniform;
mod view;

pub use builder::OctreeBuilder;
pub use contour::Contourer;
pub use densities::EdgeSamples;
pub use polygon::{ContourStats, Detail};
pub use qef::Qef;
pub use tree::{Leaf, Octree};
pub use view::{OctreePos, Octrees};
