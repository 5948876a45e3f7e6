//! Contacts: who is near the ground, and where exactly they touch.
//!
//! A [`ContactTracker`] keeps for each object the blocks that it may touch, from the bit
//! masks alone: at most one solid and one liquid contact per object and block. For those
//! [`Collider::contacts`](crate::collide::Collider::contacts) answers [`Manifold`]s: up to four
//! points with a direction each.
//!
//! **Nothing is felt at inner edges, and no hold is lost at convex ones.** Each triangle
//! is asked along which direction it meets the shape. Its normal is the answer if the
//! shape's deepest part lies over it. Else the shortest way out is, moved into the cone
//! that the angles at the triangle's sides allow. The shape's face, edge or point that
//! looks that way is then cut to what lies over the triangle, and what is left gives the
//! points: what is over another triangle is that one's.
//!
//! **The ground has one side.** A shape whose middle is in the ground is pushed out along
//! the normals of the triangles above it; one so deep that it meets none, towards
//! the nearest surface.

mod body;
mod clip;
mod cone;
mod inside;
mod manifold;
#[cfg(test)]
mod naive;
mod probe;
mod reduce;
#[cfg(test)]
mod tests;
mod tracker;
mod water;

pub use body::{Body, BodyPart};
pub use inside::WayOut;
pub use manifold::{ContactOptions, ContactPoint, Contacts, Manifold};
pub use tracker::{BlockContact, ContactChanges, ContactTracker};
pub use water::{Submersion, WaterScratch};
