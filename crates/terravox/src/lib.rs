//! Smooth, editable voxel terrain for games and simulations.
//!
//! The [`voxel`] grid is the data; everything else is a view that can be thrown
//! away and rebuilt from it. [`terrain::Terrain`] is the front door: it owns a grid
//! and its views and speaks world metres.
//!
//! What a game uses daily is at the root: [`Terrain`], its options, viewers, jobs and rays, edits
//! and materials.
//!
//! The crate does no I/O, starts no thread (unless the feature `parallel` is on) and calls no C.
//!
//! # Features
//!
//! None is on by default.
//!
//! - `parallel`: runs planned jobs on rayon's thread pool.
//! - `serde`: `Serialize` and `Deserialize` for edits.
//! - `bytemuck`: `bytemuck::Pod` for the vertices of the graphics card.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bits;
pub mod bodies;
pub mod boxes;
pub mod codec;
pub mod collide;
pub mod contacts;
pub mod edit;
pub mod generate;
pub mod geometry;
pub mod lod;
pub mod math;
pub mod mesh;
pub mod octree;
pub mod particles;
pub mod terrain;
pub mod voxel;

pub use edit::{EditError, EditOp};
pub use terrain::{
    Budget, FillRequest, Job, JobScratch, LodOptions, Placement, RayHit, RayOutcome, Terrain,
    TerrainError, TerrainOptions, Viewer,
};
pub use voxel::{Cell, Material, MaterialTable, VoxelGrid};

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And that of the crate's own README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// And that of the guide to editing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/editing.md")]
struct EditingGuide;

/// And that of the guide to bodies.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/bodies.md")]
struct BodiesGuide;

/// The code in the page about particles compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/particles.md")]
struct ParticlesPage;

/// And that in the page about materials.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/materials.md")]
struct MaterialsPage;

/// And that in the page about the graphics card.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gpu.md")]
struct GpuPage;

/// And that in the page about generators.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/generators.md")]
struct GeneratorsPage;
