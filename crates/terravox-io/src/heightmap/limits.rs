//! Limits of heightmap worlds.

use terravox::voxel::LIMIT;

/// Maximum number of samples of a heightmap.
pub(super) const MAX_HEIGHT_SAMPLES: u64 = 1 << 26;

/// Maximum number of voxels of a heightmap world along x or z.
pub(super) const MAX_EXTENT_VOXELS: u64 = 1 << 16;

/// Maximum number of voxels from the lowest to the highest sample: a cliff as high takes 70 MB.
pub(super) const MAX_RELIEF_VOXELS: u64 = 1 << 15;

/// Maximum number of chunks that an import writes into a grid.
pub(super) const MAX_IMPORT_CHUNKS: u64 = 1 << 20;

/// Largest distance of a grid's voxels from the origin on each axis.
pub(super) const GRID_LIMIT_VOXELS: f64 = LIMIT as f64;
