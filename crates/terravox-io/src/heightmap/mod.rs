//! Worlds from heightmaps: smooth ground through a grid of heights, with water up to a sea level and
//! materials by height and slope.
//!
//! [`read_png`] and [`read_raw_u16`] decode [`Heights`]; [`import`] writes them into a grid, and
//! [`HeightmapRelief`] makes single chunk columns, for worlds larger than memory. Sample (column i,
//! row j) is an area, like a pixel: it covers `voxels_per_sample` voxels from x = i ×
//! `voxels_per_sample` and z = j × `voxels_per_sample`; its height is that of its centre.
//!
//! ```
//! use terravox::voxel::{GridOptions, VoxelGrid, VoxelPos};
//! use terravox_io::heightmap::{self, Heights, HeightmapOptions};
//!
//! let heights = Heights::new([2, 2], vec![0.0, 0.0, 1.0, 1.0]).unwrap();
//! let options = HeightmapOptions {
//!     voxels_per_sample: 16.0,
//!     base_voxels: 2.0,
//!     height_voxels: 20.0,
//!     ..HeightmapOptions::default()
//! };
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let made = heightmap::import(&heights, &options, &mut grid, |_, _| {}).unwrap();
//! assert_eq!(made.columns, [32, 32]);
//! assert!(grid.cell(VoxelPos::new(5, 1, 2)).unwrap().material != 0);
//! assert!(grid.cell(VoxelPos::new(5, 9, 2)).unwrap().is_air());
//! ```

mod fill;
#[cfg(test)]
mod naive;
mod read;
mod relief;
mod surface;

pub use read::{ColourPolicy, Heights, read_png, read_raw_u16};
pub use relief::{ChunkCells, HeightmapRelief};

use rayon::prelude::*;
use terravox::voxel::{DenseBox, Kind, VoxelGrid};

/// Most samples of a heightmap.
pub const MAX_SAMPLES: u64 = 1 << 26;

/// Most voxels along x and z.
pub const MAX_EXTENT: u64 = 1 << 16;

/// Most chunks that [`import`] writes into a grid. [`HeightmapRelief`] has no such limit.
pub const MAX_CHUNKS: u64 = 1 << 20;

/// Largest distance of a grid's voxels from the origin.
const GRID_REACH: f64 = terravox::voxel::LIMIT as f64;

/// Chunk columns made before they are written; bounds the memory.
const BATCH_CHUNK_COLUMNS: usize = 16;

/// Options of a heightmap world. All lengths are in voxels.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightmapOptions {
    /// Voxels that a sample covers, along x and z; below 1, samples are averaged. The size of the map
    /// is rounded to whole voxels.
    pub voxels_per_sample: f64,
    /// Height (y) of samples of value 0.
    pub base_voxels: f64,
    /// Height of samples of value 1 above those of value 0.
    pub height_voxels: f64,
    /// Lowest x and z of the world.
    pub origin: [i32; 2],
    /// Height of the water surface; `None` for no water.
    pub sea_level: Option<f64>,
    /// Depth of the ground below the lowest sample.
    pub depth_voxels: f64,
    /// Material of the surface: the first rule that matches.
    pub rules: Vec<MaterialRule>,
    /// Material of the surface where no rule matches.
    pub material: u8,
    /// Depth of the surface material.
    pub surface_voxels: f64,
    /// Material below it.
    pub material_below: u8,
    /// The liquid.
    pub water: u8,
}

impl Default for HeightmapOptions {
    /// One voxel per sample, 64 voxels high, no water, grass over rock. For natural-looking materials
    /// use [`default_rules`].
    fn default() -> HeightmapOptions {
        HeightmapOptions {
            voxels_per_sample: 1.0,
            base_voxels: 0.0,
            height_voxels: 64.0,
            origin: [0, 0],
            sea_level: None,
            depth_voxels: 8.0,
            rules: Vec::new(),
            material: 2,
            surface_voxels: 3.0,
            material_below: 8,
            water: 1,
        }
    }
}

/// A surface material for a range of heights and slopes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialRule {
    /// The material, a solid.
    pub material: u8,
    /// Lowest and highest height of the surface, in voxels.
    pub height_voxels: [f64; 2],
    /// Gentlest and steepest slope, rise over run: 0 is flat, 1 is 45°.
    pub slope: [f64; 2],
}

/// Natural-looking rules for land between the heights `low` and `high`, with the ids of the default
/// materials: sand at the shore, mud under water, rock on steep slopes, slate and then snow at the
/// top. No rule matches elsewhere, where grass is the default.
pub fn default_rules(low: f64, high: f64, sea_level: Option<f64>) -> Vec<MaterialRule> {
    let [slate, sand, rock, snow, mud, ground] = [3, 6, 8, 10, 12, 14];
    let all = [0.0, f64::INFINITY];
    let rule = |material, height_voxels, slope| MaterialRule { material, height_voxels, slope };
    let land = sea_level.map_or(low, |sea| sea.max(low).min(high));
    let at = |share: f64| land + share * (high - land);
    let mut rules = Vec::new();
    if let Some(sea) = sea_level {
        rules.push(rule(mud, [f64::NEG_INFINITY, sea - 6.0], [0.0, 0.6]));
        rules.push(rule(sand, [f64::NEG_INFINITY, sea + 1.5], [0.0, 0.6]));
    }
    let steep = [0.9, f64::INFINITY];
    rules.push(rule(rock, [f64::NEG_INFINITY, f64::INFINITY], steep));
    rules.push(rule(snow, [at(0.85), f64::INFINITY], [0.0, 0.7]));
    rules.push(rule(slate, [at(0.7), f64::INFINITY], all));
    rules.push(rule(ground, [f64::NEG_INFINITY, f64::INFINITY], [0.6, 0.9]));
    rules
}

/// The result of [`import`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeightmapImport {
    /// Voxels along x and z.
    pub columns: [u32; 2],
    /// Lowest and highest point of the surface, in voxels.
    pub heights: [f64; 2],
    /// Chunks written.
    pub chunks: u64,
}

/// Why a heightmap cannot be read or imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HeightmapError {
    /// The bytes are not a valid PNG.
    #[error("PNG: {0}; the file is damaged or not a PNG, get another copy")]
    Png(String),
    /// A pixel is not grey.
    #[error(
        "pixel ({}, {}) is {}, {}, {}: this is a colour picture; the pixels of a heightmap are grey",
        .pixel[0], .pixel[1], .rgb[0], .rgb[1], .rgb[2]
    )]
    Colours {
        /// The first such pixel: column and row.
        pixel: [usize; 2],
        /// Its red, green and blue, of 8 or 16 bits as in the file.
        rgb: [u16; 3],
    },
    /// A PNG or raw file is too large.
    #[error("{what}: {found}, at most {limit}; scale the heightmap down")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        found: u64,
        /// How large it may be.
        limit: u64,
    },
    /// Raw samples do not fill the given size.
    #[error(
        "{bytes} bytes, but {width} × {depth} samples of 16 bits are {wanted}; give the right width and height"
    )]
    RawSize {
        /// Bytes of the file.
        bytes: usize,
        /// Samples in a row.
        width: usize,
        /// Rows.
        depth: usize,
        /// Bytes that these take.
        wanted: u64,
    },
    /// The size of raw samples is not given and they are not a square.
    #[error("{samples} raw samples of 16 bits are not a square; give width and height{hint}")]
    RawNotSquare {
        /// Samples in the file.
        samples: usize,
        /// A size that would fit.
        hint: String,
    },
    /// No samples at all.
    #[error("the heightmap is empty")]
    Empty,
    /// The world would be wider than [`MAX_EXTENT`].
    #[error(
        "the world would be {voxels} voxels wide, at most {MAX_EXTENT}; lower voxels_per_sample"
    )]
    TooWide {
        /// Voxels along the longer side.
        voxels: u64,
    },
    /// More than [`MAX_CHUNKS`] chunks.
    #[error(
        "the world would have {chunks} chunks, at most {MAX_CHUNKS} in memory; \
         make it column by column (HeightmapRelief), or of fewer voxels"
    )]
    TooManyChunks {
        /// Chunks of the whole world, from its lowest ground to its highest.
        chunks: u64,
    },
    /// An option of [`HeightmapOptions`] is out of range.
    #[error("{option} is {value}; give {low} to {high}")]
    OutOfRange {
        /// The field.
        option: &'static str,
        /// Its value.
        value: f64,
        /// Its lowest value.
        low: f64,
        /// Its highest value.
        high: f64,
    },
    /// Ground or water would be beyond the limits of a grid.
    #[error("the world would reach height {height}, at most ±2^30; change base or height")]
    TooHigh {
        /// The height, in voxels.
        height: f64,
    },
    /// An option is invalid.
    #[error("{0}")]
    Options(String),
}

/// Writes the world of `heights` into `grid`. Calls `progress(done, all)` after every batch of chunk
/// columns. The result does not depend on the number of threads.
///
/// # Errors
/// If an option is non-finite or out of range, a material is of the wrong kind, or the world would be
/// too large. Then nothing is written.
pub fn import(
    heights: &Heights,
    options: &HeightmapOptions,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<HeightmapImport, HeightmapError> {
    let relief = HeightmapRelief::new(heights.clone(), options.clone(), grid.materials().kinds())?;
    let chunks = relief.region().coarser(5).volume();
    if chunks > MAX_CHUNKS {
        return Err(HeightmapError::TooManyChunks { chunks });
    }
    let columns = relief.chunk_columns();
    let mut written = 0;
    let mut uniform = DenseBox::default();
    for (i, batch) in columns.chunks(BATCH_CHUNK_COLUMNS).enumerate() {
        let made: Vec<_> = batch.par_iter().map(|&column| relief.column(column)).collect();
        for chunk in made.iter().flatten() {
            let done = grid.write(chunk.cells(&mut uniform));
            assert!(done.is_ok(), "a whole chunk can always be written");
            written += 1;
        }
        progress(i * BATCH_CHUNK_COLUMNS + batch.len(), columns.len());
    }
    Ok(HeightmapImport { columns: relief.columns(), heights: relief.heights(), chunks: written })
}

fn check(options: &HeightmapOptions, kinds: &[Kind; 256]) -> Result<(), HeightmapError> {
    let [x, z] = options.origin.map(f64::from);
    let refuse = |what: String| Err(HeightmapError::Options(what));
    let range = |option: &'static str, value: f64, low: f64, high: f64| {
        if (low..=high).contains(&value) {
            Ok(())
        } else {
            Err(HeightmapError::OutOfRange { option, value, low, high })
        }
    };
    let extent = MAX_EXTENT as f64;
    range("voxels_per_sample", options.voxels_per_sample, 1.0 / 1024.0, 1024.0)?;
    range("origin x", x, -GRID_REACH, GRID_REACH)?;
    range("origin z", z, -GRID_REACH, GRID_REACH)?;
    range("base_voxels", options.base_voxels, -GRID_REACH, GRID_REACH)?;
    range("height_voxels", options.height_voxels, -extent, extent)?;
    range("depth_voxels", options.depth_voxels, 0.0, extent)?;
    range("surface_voxels", options.surface_voxels, 0.0, extent)?;
    if let Some(sea) = options.sea_level {
        // Bounded, so that the world does not become an ocean above the land.
        let high = options.base_voxels + options.height_voxels.max(0.0) + extent;
        range("sea_level", sea, -GRID_REACH, high.min(GRID_REACH))?;
    }
    if kinds[usize::from(options.water)] != Kind::Liquid {
        return refuse(format!("the water material {} is not liquid", options.water));
    }
    let solids = options.rules.iter().map(|rule| rule.material);
    for material in solids.chain([options.material, options.material_below]) {
        if kinds[usize::from(material)] != Kind::Solid {
            return refuse(format!("the ground material {material} is not solid"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
