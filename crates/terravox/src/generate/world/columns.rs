//! Columns of cells: the relief of a region, and what each column's surface is made of.
//!
//! Columns are evaluated in tiles, relative to the corner of their tile, so that a column is the
//! same whatever region it is part of.

use std::sync::Arc;

use super::climate::{Setting, smooth_step};
use super::islands::{self, Island};
use super::landscape::{Landscape, NO_WATER};
use super::lattice::Points;
use super::options::WorldOptions;
use super::relief::Biomes;
use super::slots::{SlotCache, slot_of};
use super::strata::{self, Strata};
use crate::generate::materials::{
    BASALT, COBBLESTONE, CRACKED_LAVA, GLACIER, GRASS, GROUND, ICE, LEAFY_GRASS, MUD, ROCK, SALT,
    SAND, SANDSTONE, SNOW,
};
use crate::voxel::Region;

/// Columns along the edge of a tile.
pub(super) const TILE: i32 = 32;

/// Ground, water and materials of one column.
#[derive(Clone, Copy)]
pub(super) struct LandColumn {
    /// Height of the ground, voxels.
    pub height: f32,
    /// Lowest and highest ground of this column and the four beside it, voxels.
    pub around: [f32; 2],
    /// The vertical component of the surface's unit normal, 0 to 1.
    pub normal_y: f32,
    /// Level of the water that stands or flows over the ground, voxels.
    pub water: f32,
    /// How far the ground hangs over where it is steep, voxels.
    pub overhang: f32,
    /// How much farther caves keep away, voxels: from waters, and from loose sand.
    pub sealed: f32,
    /// Depths above which there are no passages and no shafts of caves, voxels: passages open in
    /// steep ground only, and shafts on slopes.
    pub roofs: [f32; 2],
    /// Material of the surface; 0 where the stone is bare.
    pub top: u8,
    /// Material below it; 0 for stone.
    pub soil: u8,
    /// Depth of both, voxels.
    pub top_depth: f32,
    pub soil_depth: f32,
    pub strata: Strata,
    pub island: Option<Island>,
}

/// All columns of a tile.
pub(super) struct Tile {
    /// x fastest, then z.
    pub columns: Vec<LandColumn>,
    /// All cells are air whose centres are above this height, voxels.
    pub highest: f32,
}

/// What columns depend on.
#[derive(PartialEq)]
struct TileKey {
    seed: u64,
    options: WorldOptions,
    edge: f64,
    tile: [i32; 2],
}

/// Tiles along the edge of the square of neighbours that are kept: 5 MB.
const KEPT: usize = 8;

static TILES: SlotCache<TileKey, Tile, { KEPT * KEPT }> = SlotCache::new();

impl Tile {
    /// The tile that a region covers from edge to edge, if it does.
    pub fn covered_by(region: Region) -> Option<[i32; 2]> {
        let tile = [region.min.x, region.min.z].map(|v| v.div_euclid(TILE));
        let low = tile.map(|v| v * TILE);
        let is_whole = [region.min.x, region.min.z] == low
            && [region.max.x, region.max.z] == low.map(|v| v.saturating_add(TILE));
        is_whole.then_some(tile)
    }

    /// A tile if it is kept.
    pub fn kept(setting: &Setting<'_>, tile: [i32; 2]) -> Option<Arc<Tile>> {
        let key = TileKey::new(setting, tile);
        TILES.get(key.slot(), &key)
    }

    /// A tile, evaluated if it is not kept.
    pub fn at(setting: &Setting<'_>, tile: [i32; 2]) -> Arc<Tile> {
        let key = TileKey::new(setting, tile);
        TILES.get_or_make(key.slot(), key, || {
            let ends = tile.map(|v| [v * TILE, v * TILE + TILE]);
            let columns = of_tile(setting, tile, ends[0], ends[1]);
            let highest = |column: &LandColumn| column.highest(setting.edge as f32);
            let highest = columns.iter().map(highest).fold(f32::NEG_INFINITY, f32::max);
            Tile { columns, highest }
        })
    }
}

impl TileKey {
    fn new(setting: &Setting<'_>, tile: [i32; 2]) -> TileKey {
        let Setting { seed, options, edge } = *setting;
        TileKey { seed, options: *options, edge, tile }
    }

    fn slot(&self) -> usize {
        // Mips of one place are next to one another.
        let aside = self.edge as i64;
        slot_of(KEPT, self.tile.map(|v| i64::from(v) + aside / 2))
    }
}

impl LandColumn {
    /// All cells are air whose centres are above this height, voxels.
    fn highest(&self, edge: f32) -> f32 {
        let ground = self.around[1].max(self.water) + 0.5 * edge;
        match self.island {
            Some(island) => ground.max(island.top + edge / island.normal_y[0]),
            None => ground,
        }
    }
}

/// Evaluates the columns of a region, x fastest, then z.
pub(super) fn columns(setting: &Setting<'_>, region: Region) -> Vec<LandColumn> {
    let [width, _, depth] = region.size();
    let mut columns = vec![None; width * depth];
    let tile_of = |v: i32| v.div_euclid(TILE);
    for tile_z in tile_of(region.min.z)..=tile_of(region.max.z - 1) {
        for tile_x in tile_of(region.min.x)..=tile_of(region.max.x - 1) {
            let x = [region.min.x.max(tile_x * TILE), region.max.x.min((tile_x + 1) * TILE)];
            let z = [region.min.z.max(tile_z * TILE), region.max.z.min((tile_z + 1) * TILE)];
            let part = of_tile(setting, [tile_x, tile_z], x, z);
            let wide = (x[1] - x[0]) as usize;
            for (row, part) in part.chunks_exact(wide).enumerate() {
                let start = (z[0] - region.min.z) as usize + row;
                let start = start * width + (x[0] - region.min.x) as usize;
                columns[start..start + wide].iter_mut().zip(part).for_each(|(to, from)| {
                    *to = Some(*from);
                });
            }
        }
    }
    columns.into_iter().flatten().collect()
}

/// The columns from `x[0]` to `x[1]` and `z[0]` to `z[1]`, exclusive, of a tile.
fn of_tile(setting: &Setting<'_>, tile: [i32; 2], x: [i32; 2], z: [i32; 2]) -> Vec<LandColumn> {
    let edge = setting.edge;
    let corner = tile.map(|v| i64::from(v) * i64::from(TILE));
    let anchor = corner.map(|v| v as f64 * edge);
    let (mut xs, mut zs) = (Vec::new(), Vec::new());
    let wide = (x[1] - x[0]) as usize + 2;
    let deep = (z[1] - z[0]) as usize + 2;
    // One more column on every side, for the slopes.
    for z in z[0] - 1..=z[1] {
        for x in x[0] - 1..=x[1] {
            xs.push(((i64::from(x) - corner[0]) as f32 + 0.5) * edge as f32);
            zs.push(((i64::from(z) - corner[1]) as f32 + 0.5) * edge as f32);
        }
    }
    let points = Points::new(anchor, xs, zs);
    let relief = Landscape::at(setting, &points);
    let patches = Patches::at(setting, &points);
    let islands = islands::at(setting, &points);
    let mut columns = Vec::with_capacity((wide - 2) * (deep - 2));
    for row in 1..deep - 1 {
        for i in row * wide + 1..row * wide + wide - 1 {
            let height = |i: usize| relief.height[i];
            let double = 2.0 * edge as f32;
            let slopes = [
                (height(i + 1) - height(i - 1)) / double,
                (height(i + wide) - height(i - wide)) / double,
            ];
            let square = slopes[0] * slopes[0] + slopes[1] * slopes[1];
            let normal_y = 1.0 / (1.0 + square).sqrt();
            let island = islands.as_ref().and_then(|islands| islands.column(i, wide, double));
            let site = Site {
                height: relief.height[i],
                normal_y,
                water: relief.water[i],
                biomes: &relief.biomes[i],
                patches: patches.of(i),
            };
            let beside = [i - 1, i + 1, i - wide, i + wide].map(height);
            let around = beside
                .into_iter()
                .fold([relief.height[i]; 2], |[low, high], v| [low.min(v), high.max(v)]);
            columns.push(LandColumn { island, around, ..site.column() });
        }
    }
    columns
}

/// Noise by which materials meet in patches, not in lines.
struct Patches {
    small: Vec<f32>,
    wide: Vec<f32>,
}

impl Patches {
    fn at(setting: &Setting<'_>, points: &Points) -> Patches {
        Patches {
            small: setting.sum(points, 200, &[(13.0, 0.8), (5.0, 0.5)], false),
            wide: setting.sum(points, 210, &[(90.0, 0.8), (37.0, 0.5)], false),
        }
    }

    fn of(&self, i: usize) -> [f32; 2] {
        [self.small[i], self.wide[i]]
    }
}

/// What decides the materials of a column.
struct Site<'a> {
    height: f32,
    normal_y: f32,
    water: f32,
    biomes: &'a Biomes,
    /// Small patches and wide ones, about ±1.
    patches: [f32; 2],
}

/// Materials from the surface down to the stone.
struct Cover {
    top: u8,
    soil: u8,
    top_depth: f32,
    soil_depth: f32,
}

impl Cover {
    fn new(top: u8, soil: u8) -> Cover {
        Cover { top, soil, top_depth: 1.8, soil_depth: 4.0 }
    }

    /// Bare stone.
    const STONE: Cover = Cover { top: 0, soil: 0, top_depth: 0.0, soil_depth: 0.0 };

    fn deep(top: u8, depth: f32) -> Cover {
        Cover { top, soil: top, top_depth: depth, soil_depth: depth }
    }
}

impl Site<'_> {
    fn column(&self) -> LandColumn {
        let Cover { top, soil, top_depth, soil_depth } = self.cover();
        let biomes = self.biomes;
        let layered = biomes.mesa.max(biomes.cliffs).max(0.6 * biomes.mountains);
        let is_open = self.water == NO_WATER && biomes.river < 0.02;
        let steep = smooth_step(0.86, 0.66, self.normal_y);
        LandColumn {
            height: self.height,
            around: [self.height; 2],
            normal_y: self.normal_y,
            water: self.water.max(0.0),
            sealed: 2.0 * (self.water.max(0.0) + 5.0 - self.height).max(0.0) + 14.0 * biomes.dunes,
            roofs: [
                8.0 * smooth_step(0.84, 0.95, self.normal_y),
                8.0 * smooth_step(0.96, 0.99, self.normal_y),
            ],
            overhang: if is_open { 3.4 * layered * steep } else { 0.0 },
            top,
            soil,
            top_depth,
            soil_depth,
            strata: strata::of(biomes, self.patches),
            island: None,
        }
    }

    fn cover(&self) -> Cover {
        let Site { height, normal_y, biomes, patches: [small, wide], .. } = *self;
        if biomes.crater > 0.3 + 0.15 * small {
            let is_lava = biomes.crater > 0.85 + 0.2 * small;
            return Cover::deep(if is_lava { CRACKED_LAVA } else { BASALT }, 6.0);
        }
        let is_steep = normal_y < 0.74 + 0.07 * small + 0.03 * wide;
        if height < -1.5 {
            return self.sea_floor(is_steep);
        }
        if biomes.river > 0.35 && self.water > NO_WATER {
            return self.river_bed();
        }
        if let Some(cover) = self.snow() {
            return cover;
        }
        if is_steep {
            return Cover::STONE;
        }
        if biomes.volcano > 0.42 + 0.2 * wide + 0.1 * small {
            return Cover::deep(BASALT, 6.0);
        }
        if biomes.wetland > 0.45 + 0.15 * small {
            let top = if height < 0.7 + 0.3 * small { MUD } else { LEAFY_GRASS };
            return Cover::new(top, MUD);
        }
        let beach = 2.4 + 1.2 * small + 0.8 * wide;
        if height < beach && biomes.continent < 0.3 {
            let is_cold = biomes.temperature < -0.4 + 0.2 * wide || biomes.mountains > 0.5;
            return Cover::deep(if is_cold { COBBLESTONE } else { SAND }, 4.5);
        }
        self.dry_land()
    }

    fn sea_floor(&self, is_steep: bool) -> Cover {
        let Site { height, patches: [small, wide], .. } = *self;
        if is_steep {
            return Cover::STONE;
        }
        let deep = height + 6.0 * wide + 3.0 * small;
        Cover::deep(
            if deep < -26.0 {
                MUD
            } else if deep < -15.0 {
                GROUND
            } else {
                SAND
            },
            4.0,
        )
    }

    fn river_bed(&self) -> Cover {
        let Site { biomes, patches: [small, _], .. } = *self;
        let bed = match () {
            () if biomes.humidity > 0.3 && biomes.mountains < 0.3 => MUD,
            () if biomes.mountains > 0.25 + 0.2 * small => COBBLESTONE,
            () if biomes.temperature < -0.3 + 0.2 * small => COBBLESTONE,
            () => SAND,
        };
        Cover::deep(bed, 3.0)
    }

    /// Snow lies high and where it is cold, less where it is steep, and stays longest in gullies.
    fn snow(&self) -> Option<Cover> {
        let Site { height, normal_y, biomes, patches: [small, wide], .. } = *self;
        let above =
            (height - biomes.snow_line()) / 45.0 + 0.35 * small + 0.3 * wide + 0.8 * biomes.gully;
        let steepest = 0.88 - 0.18 * smooth_step(0.0, 3.0, above);
        if above < 0.0 || normal_y < steepest + 0.07 * small + 0.04 * wide {
            return None;
        }
        let is_glacier = biomes.gully + 0.25 * wide > 0.25 && biomes.mountains > 0.4;
        if above > 2.4 && normal_y > 0.9 && is_glacier {
            let is_ice = small + wide > 0.7;
            return Some(Cover::deep(if is_ice { ICE } else { GLACIER }, 9.0));
        }
        Some(Cover { top: SNOW, soil: SNOW, top_depth: 2.2, soil_depth: 2.2 })
    }

    fn dry_land(&self) -> Cover {
        let Site { normal_y, biomes, patches: [small, wide], .. } = *self;
        let patch = 0.12 * small + 0.18 * wide;
        if biomes.salt > 0.5 + patch {
            return Cover::deep(SALT, 3.0);
        }
        if biomes.dunes > 0.42 + patch {
            return Cover::deep(SAND, 14.0);
        }
        if biomes.badlands > 0.45 + patch {
            return Cover::STONE;
        }
        if biomes.mesa > 0.45 + patch {
            let top = match wide + 0.5 * small {
                v if v > 0.75 => SAND,
                v if v < -0.6 => GROUND,
                v if v < -0.3 && biomes.humidity > -0.6 => GRASS,
                _ => SANDSTONE,
            };
            return Cover { top, soil: SANDSTONE, top_depth: 1.5, soil_depth: 3.0 };
        }
        if biomes.desert > 0.5 + patch {
            let top = if wide + 0.3 * small > 0.1 { SANDSTONE } else { SAND };
            return Cover::new(top, SANDSTONE);
        }
        if normal_y < 0.8 + 0.04 * small && biomes.mountains > 0.3 {
            // Scree below cliffs.
            return Cover { top: ROCK, soil: 0, top_depth: 1.5, soil_depth: 0.0 };
        }
        let cold = -biomes.temperature + 0.1 * patch;
        if cold > 0.42 {
            // The colder, the less grows.
            let bare = wide + 0.4 * small + 3.0 * (cold - 0.5).clamp(-0.2, 0.6);
            let top = match bare {
                v if v > 1.0 => COBBLESTONE,
                v if v > 0.5 => GROUND,
                _ => GRASS,
            };
            return Cover::new(top, GROUND);
        }
        let dry = biomes.desert.max(smooth_step(0.05, 0.45, biomes.temperature - biomes.humidity));
        if dry > 0.55 && wide + 0.5 * small > 1.35 - dry {
            return Cover::new(GROUND, GROUND);
        }
        let is_forest = biomes.humidity + 0.35 * wide + 0.1 * small > 0.12;
        Cover::new(if is_forest { LEAFY_GRASS } else { GRASS }, GROUND)
    }
}
