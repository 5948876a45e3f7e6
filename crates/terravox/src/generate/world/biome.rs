//! What lies at a column, for games: height, water, weights of biomes, and the one that counts
//! most.

use std::collections::BTreeMap;
use std::fmt;

use super::climate::Setting;
use super::columns::TILE;
use super::landscape::Landscape;
use super::lattice::Points;
use super::relief::Biomes;

/// The ground at a column of a [`World`](crate::generate::World); caves, ledges, floating islands
/// and edits aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Height of the ground, voxels.
    pub height: f64,
    /// Level of the sea, river or lake over it, voxels; `None` where it is dry.
    pub water: Option<f64>,
    /// Climate and the weights of biomes.
    pub biomes: Biomes,
}

/// The kind of land or water with the largest weight at a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Biome {
    /// Below the sea.
    Sea,
    /// River or lake, and their banks.
    River,
    /// Low land by the sea.
    Beach,
    /// Mountains below the snow.
    Mountains,
    /// Land under snow all year.
    Snow,
    /// A volcano's slope or crater.
    Volcano,
    /// Hot dry land.
    Desert,
    /// Sand dunes.
    Dunes,
    /// Plateaus of layered stone.
    Mesa,
    /// Hills of layered clay.
    Badlands,
    /// Flats of salt.
    Salt,
    /// Swamp.
    Wetland,
    /// Cold open land.
    Tundra,
    /// Woods.
    Forest,
    /// Open land with grass.
    Grassland,
}

impl Biome {
    /// All biomes.
    pub const ALL: [Biome; 15] = [
        Biome::Sea,
        Biome::River,
        Biome::Beach,
        Biome::Mountains,
        Biome::Snow,
        Biome::Volcano,
        Biome::Desert,
        Biome::Dunes,
        Biome::Mesa,
        Biome::Badlands,
        Biome::Salt,
        Biome::Wetland,
        Biome::Tundra,
        Biome::Forest,
        Biome::Grassland,
    ];

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Biome::Sea => "sea",
            Biome::River => "river",
            Biome::Beach => "beach",
            Biome::Mountains => "mountains",
            Biome::Snow => "snow",
            Biome::Volcano => "volcano",
            Biome::Desert => "desert",
            Biome::Dunes => "dunes",
            Biome::Mesa => "mesa",
            Biome::Badlands => "badlands",
            Biome::Salt => "salt",
            Biome::Wetland => "wetland",
            Biome::Tundra => "tundra",
            Biome::Forest => "forest",
            Biome::Grassland => "grassland",
        }
    }

    /// The biome of a name; `None` if there is none.
    pub fn find(name: &str) -> Option<Biome> {
        Biome::ALL.into_iter().find(|biome| biome.name() == name)
    }
}

impl fmt::Display for Biome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Ground {
    /// The biome with the largest weight here, by the same limits as the materials of the ground,
    /// without their patches.
    pub fn biome(&self) -> Biome {
        let Biomes { temperature, humidity, .. } = self.biomes;
        let land = &self.biomes;
        let snow_line = land.snow_line();
        match () {
            () if self.height < 0.0 => Biome::Sea,
            () if land.crater > 0.3 || land.volcano > 0.42 => Biome::Volcano,
            () if self.water.is_some() || land.river > 0.5 => Biome::River,
            () if self.height as f32 > snow_line => Biome::Snow,
            () if land.mountains > 0.5 => Biome::Mountains,
            () if land.wetland > 0.45 => Biome::Wetland,
            () if self.height < 2.4 && land.continent < 0.3 => Biome::Beach,
            () if land.salt > 0.5 => Biome::Salt,
            () if land.dunes > 0.42 => Biome::Dunes,
            () if land.badlands > 0.45 => Biome::Badlands,
            () if land.mesa > 0.45 => Biome::Mesa,
            () if land.desert > 0.5 => Biome::Desert,
            () if temperature < -0.42 => Biome::Tundra,
            () if humidity > 0.12 => Biome::Forest,
            () => Biome::Grassland,
        }
    }
}

/// The ground at columns, a tile at a time.
pub(super) fn grounds(setting: &Setting<'_>, columns: &[[f64; 2]]) -> Vec<Ground> {
    let mut tiles: BTreeMap<[i64; 2], Vec<usize>> = BTreeMap::new();
    for (i, &[x, z]) in columns.iter().enumerate() {
        let is_valid = x.abs().max(z.abs()) <= f64::from(1u32 << 31) && !(x + z).is_nan();
        assert!(is_valid, "column {x}, {z} is invalid: finite and within 2^31");
        let tile = [x, z].map(|v| (v / f64::from(TILE)).floor() as i64);
        tiles.entry(tile).or_default().push(i);
    }
    let nowhere = Ground { height: 0.0, water: None, biomes: Biomes::default() };
    let mut grounds = vec![nowhere; columns.len()];
    for (tile, which) in tiles {
        let anchor = tile.map(|v| v as f64 * f64::from(TILE));
        let along = |axis: usize| -> Vec<f32> {
            which.iter().map(|&i| (columns[i][axis] - anchor[axis]) as f32).collect()
        };
        let points = Points::new(anchor, along(0), along(1));
        let relief = Landscape::at(setting, &points);
        for (at, i) in which.into_iter().enumerate() {
            let (height, water) = (relief.height[at], relief.water[at].max(0.0));
            grounds[i] = Ground {
                height: f64::from(height),
                water: (height < water).then_some(f64::from(water)),
                biomes: relief.biomes[at],
            };
        }
    }
    grounds
}
