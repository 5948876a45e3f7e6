//! Fills and searches blocks of [terravox](terravox) worlds on the graphics card, with wgpu.
//!
//! | to | use |
//! |---|---|
//! | compute the cells of many blocks from a density in WGSL | [`GpuFiller`] |
//! | stream a [`Terrain`](terravox::Terrain) from one | [`TerrainFiller`] |
//! | find the surface in cells or in a density: active voxels, crossed edges, an octree | [`GpuSearcher`] |
//!
//! Work goes in as batches of blocks ([`GpuFiller::submit`]) and comes back some frames later
//! ([`GpuFiller::poll`]); nothing waits for the device. Without a device, or when it is lost or has
//! too little memory, the same calls leave the same work to the CPU, and an error says why.
//!
//! What comes back are integers. A search of cells, and of densities that compute with integers
//! ([`noise`]), gives the same bits on every device and on the CPU; so do the octree and the meshes
//! made of them. A density in f32 may differ between devices in the last bit of its distance, and so
//! by 1/256 in the fill of some cells: there the cells that came back are the world, to be saved and
//! sent like any others.
//!
//! ```
//! use terravox::voxel::{DenseBox, MipBlock};
//! use terravox_gpu::{BatchOptions, Density, DensitySample, GpuFiller};
//!
//! let ball = Density::new(
//!     "fn density(at: DensityPoint) -> DensitySample {
//!          return DensitySample(20.0 - length(at.position), 8u);
//!      }",
//!     |at| {
//!         let [x, y, z] = at.position;
//!         DensitySample { distance: 20.0 - (x * x + y * y + z * z).sqrt(), material: 8 }
//!     },
//! );
//! let mut filler = GpuFiller::open(&ball, BatchOptions::default());
//! let blocks = vec![MipBlock::new(0, [0, 0, 0]), MipBlock::new(0, [5, 0, 0])];
//! filler.submit(blocks).expect("a batch is free");
//! let mut cells = DenseBox::default();
//! for batch in filler.wait() { // in a game: `poll`, each frame
//!     batch.blocks[0].fill_cells(&mut cells);
//!     assert_eq!(cells.materials()[0], 8);
//!     batch.blocks[1].fill_cells(&mut cells);
//!     assert!(cells.materials().iter().all(|&material| material == 0));
//! }
//! ```

// Inside, names point down only:
//
//  terrain         a Terrain's jobs
//    |
//  fill, search    batches on the device
//    |      |
//    |    search_input: what is searched
//    |      |
//  kernel   |      pipelines, buffers, results on their way
//    |      |
//  device,  twin: the search on the CPU            noise: densities in integers
//  error      |                                      |
//           surface: what a search returns         density: a function in WGSL and in Rust

mod batch;
#[doc(hidden)]
pub mod check;
mod density;
mod device;
mod error;
mod fill;
mod kernel;
pub mod noise;
mod search;
mod search_input;
mod surface;
mod terrain;
mod twin;

pub use batch::{BatchId, BatchOptions};
pub use density::{
    BlockFrame, DENSITY_WGSL, Density, DensityFn, DensityPoint, DensitySample, MAX_GPU_MIP,
    MAX_SAMPLE_UNITS, generated_units, sample_units,
};
pub use device::GpuDevice;
pub use error::GpuError;
pub use fill::{FilledBatch, FilledBlock, FillerStats, GpuFiller};
pub use search::{CpuSearch, GpuSearcher, SearchedBatch, SearchedBlock};
pub use search_input::{SearchInput, SearchKind};
pub use surface::{ActiveVoxel, CrossedEdge, SurfaceSearch};
pub use terrain::{FilledJob, TerrainFiller};
pub use twin::SearchedSurface;
