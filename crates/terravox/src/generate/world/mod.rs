//! A large seeded world of many biomes: climate fields become weights of biomes, the weights become
//! one height per column and the materials of its cells, and caves, ledges and floating islands are
//! cut and added in three dimensions.
//!
//! The flow: [`climate`] (where) → [`relief`] (heights, with [`volcanoes`]) → [`landscape`] (water,
//! by [`rivers`], and [`sinkholes`]) → [`columns`] (materials) → [`cells`],
//! with [`caves`]. All work on a column is done once per
//! column and tile, eight at a time ([`lattice`]); [`bounds`] tells air and deep ground without a
//! column.

mod biome;
mod bounds;
mod caves;
mod cells;
mod climate;
mod columns;
mod drainage;
mod highest;
mod islands;
mod landscape;
mod lattice;
mod options;
mod relief;
mod river_levels;
mod rivers;
mod samples;
mod sinkholes;
mod slots;
mod strata;
mod volcanoes;

pub use biome::{Biome, Ground};
pub use options::{Preset, WorldOptions, WorldOptionsError};
pub use relief::Biomes;

use crate::voxel::{DenseBox, Region};
use bounds::Uniform;
use climate::Setting;
use columns::Tile;

/// A large seeded world of many biomes, in voxels; it ignores [`Placement`](crate::Placement).
/// Material ids are those of the default table, and a voxel is meant to be about a metre wide.
///
/// A cell is a function of the seed, the options and its position, at every mip, with the same bits
/// on every machine.
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
    /// Name of the generator, without options. Saved worlds have that of
    /// [`Seeded`](crate::generate::Seeded), with options.
    pub const NAME: &str = "world";

    /// Version of the generator: it changes when its cells do.
    pub const VERSION: u32 = 3;

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

    /// Heights between which cells vary: above is air, below deep stone.
    pub fn heights(&self) -> std::ops::Range<i32> {
        bounds::heights(&self.options)
    }

    /// Height of the ground at a column, and what lies there; caves, ledges, edits and floating
    /// islands aside. Some 0.05 ms; [`World::grounds`] costs less for many columns.
    ///
    /// # Panics
    /// If the column is not finite or beyond ±2³¹.
    pub fn ground(&self, x: f64, z: f64) -> (f64, Biomes) {
        let ground = self.grounds(&[[x, z]])[0];
        (ground.height, ground.biomes)
    }

    /// The ground at columns, x and z each, in their order: the same as one by one. What
    /// neighbouring columns share is computed once.
    ///
    /// ```
    /// use terravox::generate::{Biome, Preset, World};
    ///
    /// let world = World::new(7, Preset::Dunes);
    /// let line: Vec<[f64; 2]> = (0..64).map(|i| [f64::from(i), 0.0]).collect();
    /// let grounds = world.grounds(&line);
    /// assert!(grounds.iter().all(|ground| ground.height.is_finite()));
    /// assert_eq!(grounds[9].biome(), world.biome(9.0, 0.0));
    /// assert!(Biome::ALL.contains(&world.biome(9.0, 0.0)));
    /// ```
    ///
    /// # Panics
    /// If a column is not finite or beyond ±2³¹.
    pub fn grounds(&self, columns: &[[f64; 2]]) -> Vec<Ground> {
        biome::grounds(&self.setting(0), columns)
    }

    /// The biome that counts most at a column: [`Ground::biome`].
    ///
    /// # Panics
    /// If the column is not finite or beyond ±2³¹.
    pub fn biome(&self, x: f64, z: f64) -> Biome {
        self.grounds(&[[x, z]])[0].biome()
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
        let covered = Tile::covered_by(region);
        let kept = covered.and_then(|tile| Tile::kept(&setting, tile));
        if kept.is_none() && bounds::is_air(&setting, region) {
            return cells.reset(region);
        }
        let Some(tile) = covered else {
            let columns = columns::columns(&setting, region);
            return cells::fill(&setting, cells, mip, &columns);
        };
        let tile = kept.unwrap_or_else(|| Tile::at(&setting, tile));
        let bottom = (region.min.y as f32 + 0.5) * setting.edge as f32;
        if bottom > tile.highest {
            return cells.reset(region);
        }
        cells::fill(&setting, cells, mip, &tile.columns);
    }
}

#[cfg(test)]
mod tests;
