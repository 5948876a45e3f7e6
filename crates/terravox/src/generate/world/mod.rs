//! A large seeded world of many biomes: climate fields become weights of biomes, the weights become
//! one height per column and the materials of its cells, and caves, ledges and floating islands are
//! cut and added in three dimensions.
//!
//! The flow: [`climate`] (where) → [`relief`] (heights, with [`rivers`], [`volcanoes`],
//! [`sinkholes`]) → [`columns`] (materials) → [`cells`]. All work on a column is done once per column
//! and tile, eight at a time ([`lattice`]); [`bounds`] tells air and deep ground without a column.

mod bounds;
mod cells;
mod climate;
mod columns;
mod islands;
mod lattice;
mod options;
mod relief;
mod rivers;
mod sinkholes;
mod strata;
mod volcanoes;

pub use options::{Preset, WorldOptions, WorldOptionsError};
pub use relief::Biomes;

use crate::voxel::{DenseBox, Region};
use bounds::Uniform;
use climate::Setting;
use lattice::Points;
use relief::Landscape;

/// A large seeded world of many biomes, in voxels; it ignores [`Placement`](crate::Placement).
/// Material ids are those of the default table, and a voxel is meant to be about a metre wide.
///
/// A cell is a function of the seed, the options and its position, at every mip, with the same bits on
/// every machine.
///
/// ```
/// use terravox::generate::{Preset, World};
/// use terravox::voxel::{DenseBox, Region};
///
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 0, 32]));
/// World::new(7, Preset::Fjords).fill(&mut cells, 0);
/// assert!(cells.materials().iter().any(|&material| material != 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct World {
    seed: u64,
    options: WorldOptions,
}

impl World {
    /// Name of the generator. What is saved with a world has its options, too: that of
    /// [`Seeded`](crate::generate::Seeded).
    pub const NAME: &str = "world";

    /// Version of the generator: it changes when its cells do.
    pub const VERSION: u32 = 1;

    /// Height of the sea's surface, voxels.
    pub const SEA_LEVEL: f64 = 0.0;

    /// The world of a seed and a preset.
    pub fn new(seed: u64, preset: Preset) -> World {
        World { seed, options: preset.options() }
    }

    /// The world of a seed and options.
    ///
    /// # Errors
    /// If an option is not finite or out of its range, by name.
    pub fn with_options(seed: u64, options: WorldOptions) -> Result<World, WorldOptionsError> {
        options.check()?;
        Ok(World { seed, options })
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The options.
    pub fn options(&self) -> &WorldOptions {
        &self.options
    }

    /// Heights between which all changes: above is air, below deep stone.
    pub fn heights(&self) -> std::ops::Range<i32> {
        bounds::heights(&self.options)
    }

    /// Height of the ground at a column, and what lies there; caves, ledges and floating islands
    /// aside. The rivers around the column are computed anew in each call.
    ///
    /// # Panics
    /// If the column is not finite or beyond ±2³¹.
    pub fn ground(&self, x: f64, z: f64) -> (f64, Biomes) {
        let is_valid = x.abs().max(z.abs()) <= f64::from(1u32 << 31) && !(x + z).is_nan();
        assert!(is_valid, "column {x}, {z} is invalid: finite and within 2^31");
        let setting = self.setting(0);
        let tile = f64::from(columns::TILE);
        let anchor = [x, z].map(|v| (v / tile).floor() * tile);
        let [x, z] = [(x - anchor[0]) as f32, (z - anchor[1]) as f32];
        let points = Points::new(anchor, vec![x], vec![z]);
        let relief = Landscape::at(&setting, &points);
        (f64::from(relief.height[0]), relief.biomes[0])
    }

    /// Fills `cells` (in cells of mip `mip`): the same cells for any region and order.
    ///
    /// # Panics
    /// If `mip` is above 31.
    pub fn fill(&self, cells: &mut DenseBox, mip: u8) {
        assert!(mip <= 31, "mip {mip} is invalid: at most 31");
        let region = cells.region();
        let setting = self.setting(mip);
        match bounds::uniform(&setting, region) {
            Some(Uniform::Air) => cells.reset(region),
            Some(Uniform::Deep(material)) => cells.fill(material),
            None => self.fill_all(cells, mip, region),
        }
    }

    fn setting(&self, mip: u8) -> Setting<'_> {
        Setting { seed: self.seed, options: &self.options, edge: f64::from(1u32 << mip) }
    }

    fn fill_all(&self, cells: &mut DenseBox, mip: u8, region: Region) {
        if region.is_empty() {
            return cells.reset(region);
        }
        let setting = self.setting(mip);
        let columns = columns::columns(&setting, region);
        cells::fill(&setting, cells, mip, &columns);
    }
}

#[cfg(test)]
mod tests;
