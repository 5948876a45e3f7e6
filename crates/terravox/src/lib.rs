//! Smooth, editable voxel terrain for games and simulations.
#![doc = include_str!("../doc/overview.html")]
//!
//! A world is a grid of cells; each cell has a material and an occupancy (how full it is).
//! [`Terrain`] owns that grid and everything derived from it: meshes at every level of detail, the
//! collider, the search for loose pieces, the planes that particles bounce off, and the undo
//! history. Its API is in world metres. The crate is a library for your engine, renderer or server:
//! it does no I/O, has no C dependency, and starts no threads unless the feature `parallel` is on.
//!
//! ```
//! use terravox::{Budget, EditOp, Terrain, TerrainOptions, Viewer};
//!
//! const ROCK: u8 = 8;
//!
//! let mut terrain = Terrain::new(TerrainOptions::default()); // voxels of 1 m
//! let hills = |x: f64, _z: f64| 8.0 * (x * 0.05).sin(); // height of the ground, metres
//! let (camera, forward) = ([0.0, 20.0, 0.0], [0.0, -1.0, 0.0]);
//!
//! // Each frame: generate and mesh what the viewer can see, near first, for 3 ms.
//! for _frame in 0..100 {
//!     terrain.update(&[Viewer::at(camera)], Budget::Millis(3.0), |request| {
//!         request.fill_height(ROCK, -8.0..=8.0, hills);
//!     });
//!     for swap in terrain.mesh_swaps() {
//!         // Upload swap.added and drop swap.removed: the surface stays closed.
//!         # let _ = swap;
//!     }
//! }
//!
//! let hit = terrain.ray(camera, forward, 100.0).hit().expect("the ground lies below");
//! let dug = terrain.edit(&EditOp::dig_ball(hit.point_m, 4.0)).expect("the ground is held");
//! assert!(dug.removed.voxels(ROCK) > 100.0); // cubic metres of rock
//! assert!(terrain.undo().expect("the ground is held").is_some());
//! ```
//!
//! # Where to start
//!
//! | to | look at |
//! |---|---|
//! | stream a world around a camera | [`Terrain`], [`TerrainOptions`], [`Viewer`], [`Budget`] |
//! | fill it | [`FillRequest`], [`generate`] |
//! | dig, build, paint, undo | [`EditOp`], [`edit`] |
//! | query rays and shapes | [`Terrain::ray`], [`collide`] |
//! | connect a physics engine | [`contacts`], [`boxes`], and the crate `terravox-rapier` |
//! | choose materials | [`MaterialTable`], [`Material`], [`mesh::shade`] |
//! | draw | [`Terrain::mesh_swaps`], [`mesh`] |
//! | place plants and rocks | [`scatter`] |
//! | save | [`Terrain::unsaved`], and the crate `terravox-store` |
//! | keep numbers of your own on voxels | [`Terrain::channels_mut`], [`voxel::ChannelGrid`] |
//! | let many players dig in one world | [`replicate`], and the crate `terravox-server` |
//! | use your own threads | [`Terrain::take_jobs`], [`Job`] |
//! | work on cells without a `Terrain` | [`VoxelGrid`], [`voxel`], [`edit::Editor`] |
//!
//! # Modules
//!
//! Data flows one way: edits write the grid, the grid logs the regions that changed, and views (all
//! data derived from the grid, such as meshes) follow that log. Every view can be dropped and
//! rebuilt from the grid. The modules, from high level to low level:
//!
//! | module | |
//! |---|---|
//! | [`replicate`] | multiplayer: a host, and guests (clients) that hold what they see |
//! | [`terrain`] | the entry point, in metres: connects all modules below |
//! | [`bodies`] | pieces of ground that an edit cuts loose |
//! | [`particles`] | sparks and debris that bounce off the ground |
//! | [`scatter`] | points on the ground for plants and rocks, at every level of detail |
//! | [`lod`] | level of detail: which blocks are shown at which mip, and their meshes |
//! | [`octree`] | dual contouring: an octree of the surface, contoured at any size or error |
//! | [`boxes`] | box colliders: solid cells merged into a small number of boxes |
//! | [`contacts`] | contacts of bodies with the ground, and their submerged volume |
//! | [`collide`] | queries of rays, boxes, points and moving shapes against the ground |
//! | [`geometry`] | shapes, distances, casts, and a k-d tree for your own triangles |
//! | [`simplify`] | mesh simplification within a verified error |
//! | [`mesh`] | cells to triangles, without cracks between blocks of any mip |
//! | [`edit`] | brushes, copies, undo |
//! | [`generate`] | heights, distances and noise to cells |
//! | [`codec`] | cells to bytes and back |
//! | [`voxel`] | cells, chunks, the grid, snapshots, the change log |
//! | [`math`] | boxes and debug lines |
//!
//! # Features
//!
//! All are off by default.
//!
//! | feature | adds |
//! |---|---|
//! | `parallel` | `Terrain::update`, `Terrain::hold` and batch queries run on rayon's thread pool |
//! | `serde` | `Serialize` and `Deserialize` for edits, options and plain data |
//! | `bytemuck` | `Pod` for packed vertices, so that they can be cast to bytes |
//!
//! # What holds everywhere
//!
//! - The same edits give the same cells, digests and meshes, bit for bit, on any number of
//!   threads, with or without SIMD. This is checked on x86-64 and wasm32; other targets were never
//!   built.
//! - Misuse panics, as documented under *Panics*. Malformed bytes, and operations on cells that are
//!   not in memory, return errors. Collision queries never panic: invalid rays and shapes never
//!   hit. Functions that take a mip or an index panic if it is out of range.
//! - Coordinates are right-handed, Y up. Voxel p fills [p, p + 1) in voxel units; positions reach
//!   ±2³⁰ voxels, and beyond that there is air. f32 positions are relative to something nearby: a
//!   block, a camera, a body, or [`Terrain::effect_origin`].

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
pub mod replicate;
pub mod scatter;
pub mod simplify;
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

/// And that of the page about links.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/online.md")]
struct OnlinePage;

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

/// And that in the page about the GPU.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gpu.md")]
struct GpuPage;

/// And that in the page about generated worlds.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/generate.md")]
struct GeneratePage;

/// And that in the page about plants and rocks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scatter.md")]
struct ScatterPage;

/// And that in the page about generators.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/generators.md")]
struct GeneratorsPage;
