//! Contacts: which blocks a body is near, where exactly it touches the ground, and how much of
//! it is under water.
//!
//! - [`ContactTracker`] keeps the blocks that moving objects may touch, from the bit masks
//!   alone, and reports which contacts began and ended: at most one solid and one liquid contact
//!   per object and block.
//! - [`Contacts::find`] finds where a [`Body`] touches the ground, as [`Manifold`]s: up to four
//!   points with a common direction.
//! - [`WayOut::find`] finds the shortest way out for a point inside the ground.
//! - [`WaterScratch::submersion`] computes the volume under water, for buoyancy and drag.
//!
//! How data flows. The parts of a body become shapes in the world (`body`). The surfaces near
//! a part come from the [`Collider`](crate::collide::Collider); each triangle is tested for a
//! direction and points (`probe`, `cone`, `clip`), and the points of all triangles are reduced
//! to manifolds (`reduce`).
//!
//! **No contact at inner edges, and none missing at convex ones.** Each triangle has a
//! direction along which it touches the shape. That is its normal if the deepest part of the
//! shape lies over the triangle; otherwise it is the shortest way out, clamped to the cone that
//! the angles at the triangle's sides allow. The face, edge or point of the shape that faces this
//! direction is clipped to the part over the triangle, and the rest gives the points. A part over
//! another triangle gives points of that triangle.
//!
//! **The ground is one-sided.** A shape whose middle is in the ground is pushed out along the
//! normals of the triangles above it. A shape that is too deep to meet any triangle is pushed
//! towards the nearest surface.

mod body;
mod clip;
mod cone;
mod manifold;
#[cfg(test)]
mod naive;
mod probe;
mod reduce;
#[cfg(test)]
mod tests;
mod tracker;
mod water;
mod way_out;

pub use body::{Body, BodyPart};
pub use manifold::{ContactOptions, ContactPoint, Contacts, Manifold};
pub use tracker::{BlockContact, ContactChanges, ContactTracker};
pub use water::{Submersion, WaterScratch};
pub use way_out::WayOut;
