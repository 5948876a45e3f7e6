//! The complete worlds of this crate by name: what programs, files and hosts call a generator.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::caves;
use super::hills::Hills;
use super::world::{World, WorldOptions};
use crate::voxel::DenseBox;

/// A complete world that a seed and a few numbers describe: [`Hills`] or [`World`].
///
/// Its text names it on the command line: `hills:7`, `world:7`, `world:7:fjords`,
/// `world:7:fjords,relief=1.5`.
///
/// ```
/// use terravox::generate::Seeded;
///
/// let fjords: Seeded = "world:7:fjords".parse()?;
/// assert_eq!(fjords.to_string(), "world:7:fjords");
/// assert_eq!(Seeded::of_stored(&fjords.stored_name(), fjords.version(), 7), Some(fjords));
/// # Ok::<(), terravox::generate::SeededError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seeded {
    /// Hills, caves and lakes.
    Hills(Hills),
    /// Many biomes.
    World(World),
}

/// A text that names no generator of ours; it says what to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededError(String);

impl fmt::Display for SeededError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SeededError {}

impl Seeded {
    /// Whether a text begins with the name of a generator, `hills:` or `world:`; it may be invalid.
    pub fn is_named_by(text: &str) -> bool {
        let prefix = text.split_once(':').map(|(prefix, _)| prefix);
        prefix.is_some_and(|prefix| [Hills::NAME, World::NAME].contains(&prefix))
    }

    /// Fills `cells` (in cells of mip `mip`): the same cells for any region and order.
    ///
    /// # Panics
    /// If `mip` is above 31.
    pub fn fill(&self, cells: &mut DenseBox, mip: u8) {
        match self {
            Seeded::Hills(hills) => hills.fill(cells, mip),
            Seeded::World(world) => world.fill(cells, mip),
        }
    }

    /// Heights between which cells vary, voxels: above is air, below deep stone.
    pub fn heights(&self) -> Range<i32> {
        match self {
            // Caves reach below the lowest ground.
            Seeded::Hills(_) => caves::LOWEST as i32..Hills::HEIGHTS.end,
            Seeded::World(world) => world.heights(),
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        match self {
            Seeded::Hills(hills) => hills.seed(),
            Seeded::World(world) => world.seed(),
        }
    }

    /// Version of the generator: it changes when its cells do.
    pub fn version(&self) -> u32 {
        match self {
            Seeded::Hills(_) => Hills::VERSION,
            Seeded::World(_) => World::VERSION,
        }
    }

    /// Name of the generator as saved with a world: for [`World`] with its options, as
    /// `world:fjords,relief=1.5`.
    pub fn stored_name(&self) -> String {
        match self {
            Seeded::Hills(_) => Hills::NAME.to_owned(),
            Seeded::World(world) => format!("{}:{}", World::NAME, world.options()),
        }
    }

    /// The generator of a saved name, version and seed; `None` if it is not one of this crate's.
    pub fn of_stored(name: &str, version: u32, seed: u64) -> Option<Seeded> {
        if (name, version) == (Hills::NAME, Hills::VERSION) {
            return Some(Seeded::Hills(Hills::new(seed)));
        }
        let options = name.strip_prefix(World::NAME)?.strip_prefix(':')?.parse().ok()?;
        let world = World::with_options(seed, options).ok()?;
        (version == World::VERSION).then_some(Seeded::World(world))
    }
}

impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seeded::Hills(hills) => write!(f, "{}:{}", Hills::NAME, hills.seed()),
            Seeded::World(world) => {
                write!(f, "{}:{}:{}", World::NAME, world.seed(), world.options())
            }
        }
    }
}

impl FromStr for Seeded {
    type Err = SeededError;

    fn from_str(text: &str) -> Result<Seeded, SeededError> {
        let mut parts = text.splitn(3, ':');
        let name = parts.next().unwrap_or_default();
        let seed = |seed: Option<&str>| {
            seed.and_then(|seed| seed.parse().ok()).ok_or_else(|| {
                SeededError(format!("the seed is not an integer; give for example {name}:7"))
            })
        };
        match name {
            Hills::NAME => {
                let seed = seed(text.split_once(':').map(|(_, seed)| seed))?;
                Ok(Seeded::Hills(Hills::new(seed)))
            }
            World::NAME => {
                let seed = seed(parts.next())?;
                let options = match parts.next() {
                    None => Ok(WorldOptions::default()),
                    Some(options) => options.parse(),
                };
                let world = options.and_then(|options| World::with_options(seed, options));
                Ok(Seeded::World(world.map_err(|error| SeededError(error.to_string()))?))
            }
            _ => {
                let what = format!(
                    "unknown generator {name:?}; give for example hills:7 or world:7:fjords"
                );
                Err(SeededError(what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Preset;
    use crate::voxel::{Cell, Region};

    #[test]
    fn below_the_heights_of_hills_all_is_stone_and_caves_are_within() {
        let hills: Seeded = "hills:7".parse().unwrap();
        let heights = hills.heights();
        let layer = |from: i32, to: i32| {
            let mut cells = DenseBox::new(Region::new([-128, from, -128], [128, to, 128]));
            hills.fill(&mut cells, 0);
            cells
        };
        let below = layer(heights.start - 8, heights.start);
        let stone = below.cell(below.region().min);
        assert_eq!(stone, Cell::full(stone.material));
        assert!(below.region().voxels().all(|pos| below.cell(pos) == stone));
        // Caves are cut off where a world ends above them.
        let caves = layer(heights.start, Hills::HEIGHTS.start);
        let air = caves.region().voxels().filter(|&pos| caves.cell(pos).is_air()).count();
        assert!(air > 100, "{air} cells of caves");
        let above = layer(heights.end, heights.end + 8);
        assert!(above.region().voxels().all(|pos| above.cell(pos).is_air()));
    }

    #[test]
    fn texts_and_stored_names_read_back() {
        let options = WorldOptions { caves: 0.25, ..Preset::Alps.options() };
        let all = [
            Seeded::Hills(Hills::new(7)),
            Seeded::World(World::new(u64::MAX, Preset::Continents)),
            Seeded::World(World::with_options(3, options).unwrap()),
        ];
        for seeded in all {
            assert_eq!(seeded.to_string().parse(), Ok(seeded));
            let name = seeded.stored_name();
            let version = seeded.version();
            assert_eq!(Seeded::of_stored(&name, version, seeded.seed()), Some(seeded));
            assert_eq!(Seeded::of_stored(&name, version + 1, seeded.seed()), None);
        }
        assert_eq!("world:7".parse(), Ok(Seeded::World(World::new(7, Preset::Continents))));
        for wrong in
            ["world", "world:", "world:-1", "world:7:", "world:7:alp", "hills:", "dem:1", ""]
        {
            assert!(wrong.parse::<Seeded>().is_err(), "{wrong}");
        }
        for wrong in ["world", "world:", "world:alp", "hills:", ""] {
            assert_eq!(Seeded::of_stored(wrong, 1, 1), None, "{wrong}");
        }
    }
}
