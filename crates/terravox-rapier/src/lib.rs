//! Terravox terrain as colliders of Rapier: built around moving bodies, updated by the first sync
//! after an edit, without bumps at the edges of triangles or the borders of blocks.
//!
//! ```
//! use rapier3d::prelude::*;
//! use terravox::terrain::{Terrain, TerrainOptions};
//! use terravox_rapier::TerrainColliders;
//!
//! let mut terrain = Terrain::new(TerrainOptions::default());
//! let hills = |p: [f64; 3]| 2.0 * (p[0] * 0.2).sin() - p[1];
//! terrain.fill([-16.0; 3], [16.0; 3], |request| request.fill_sdf(8, hills)).unwrap();
//! let mut world = PhysicsWorld::new();
//! let ball = RigidBodyBuilder::dynamic().translation(Vector::new(0.0, 4.0, 0.0));
//! let (ball, _) = world.insert(ball, ColliderBuilder::ball(0.5));
//!
//! let mut ground = TerrainColliders::default();
//! for _ in 0..60 {
//!     ground.sync(&terrain, &mut world.bodies, &mut world.colliders, &mut world.islands);
//!     world.step();
//! }
//!
//! let down = Ray::new(Vector::new(0.0, 8.0, 3.0), Vector::new(0.0, -1.0, 0.0));
//! let filter = QueryFilter::default().exclude_rigid_body(ball);
//! let (collider, hit) = world.cast_ray_and_get_normal(&down, 20.0, true, filter).unwrap();
//! let surface = ground.surface(terrain.collider(), &world.colliders, collider, hit.subshape);
//! assert_eq!(surface.unwrap().material, 8);
//! ```
//!
//! `docs/rapier.md` explains what a sync does. For engines that depend on another version of parry
//! (bevy_rapier3d, avian3d), use [`grounds`], and the `GroundShape` of the module for that version.
//!
//! # Features
//!
//! They are additive: all may be on at once.
//!
//! - `rapier` (default): `TerrainColliders` and `Buoyancy` for Rapier 0.36; shapes for parry 0.31
//!   in `parry_0_31`.
//! - `parry_0_30`: shapes for parry 0.30, which bevy_rapier3d 0.36 uses.
//! - `parry_0_27`: shapes for parry 0.27, which avian3d 0.7 uses.

#![cfg_attr(docsrs, feature(doc_cfg))]
// The shapes are compiled once per version of parry.
#![allow(clippy::duplicate_mod)]

#[cfg(all(doctest, feature = "rapier"))]
#[doc = include_str!("../../../docs/rapier.md")]
mod page {}

#[cfg(all(doctest, feature = "rapier"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(feature = "rapier")]
mod blocks;
#[cfg(feature = "rapier")]
mod colliders;
#[cfg(feature = "rapier")]
mod freeing;
mod ground;
#[cfg(feature = "rapier")]
mod interest;
#[cfg(feature = "rapier")]
mod loose;
#[cfg(feature = "rapier")]
mod options;
#[cfg(feature = "parry_0_27")]
pub mod parry_0_27;
#[cfg(feature = "parry_0_30")]
pub mod parry_0_30;
#[cfg(feature = "rapier")]
pub mod parry_0_31;
#[cfg(all(test, feature = "rapier"))]
mod tests;
#[cfg(feature = "rapier")]
mod waiting;
#[cfg(feature = "rapier")]
mod water;

/// The Rapier that this crate is built for, for the types of its sets.
#[cfg(feature = "rapier")]
pub use rapier3d;

#[cfg(feature = "rapier")]
pub use colliders::TerrainColliders;
pub use ground::{BlockGround, Bounds, Coefficients, GroundScratch, PlainFacet, grounds};
#[cfg(feature = "rapier")]
pub use loose::{loose_builders, loose_pose, loose_shape};
#[cfg(feature = "rapier")]
pub use options::{
    GroundHit, LooseShapeOptions, RapierSets, SyncReport, TerrainColliderOptions,
    TerrainColliderStats,
};
#[cfg(feature = "rapier")]
pub use water::{Buoyancy, WaterOptions};
