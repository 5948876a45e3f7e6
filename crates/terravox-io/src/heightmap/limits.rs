//! Limits of heightmap worlds.

use terravox::voxel::LIMIT;

/// Most samples of a heightmap.
pub(super) const MAX_HEIGHT_SAMPLES: u64 = 1 << 26;

/// Most voxels of a heightmap world along x or z.
pub(super) const MAX_EXTENT_VOXELS: u64 = 1 << 16;

/// Most chunks that an import writes into a grid.
pub(super) const MAX_IMPORT_CHUNKS: u64 = 1 << 20;

/// Largest distance of a grid's voxels from the origin on each axis.
pub(super) const GRID_LIMIT_VOXELS: f64 = LIMIT as f64;
