//! Cells from a surface of heights, a column of chunks at a time.
//!
//! A cell is filled by its distance to the surface, `clamp(½ + d)`, as meshing wants it;
//! the distance is the difference in height times the upward part of the normal. Beside a
//! cliff that plane would reach far over the edge, so a cell is never filled above the
//! highest nor emptied below the lowest surface of its surroundings. Chunks far from the
//! surface are one material and written as such.
//!
//! Source: `clamp(½ + d)` is what real terrain holds, see `terravox::generate`.

use super::HeightmapOptions;
use super::relief::ChunkCells;
use super::surface::{Column, Surface};
use terravox::generate::occupancy_units;
use terravox::voxel::{AIR, Cell, ChunkPos, DenseBox, Region};

const EDGE: usize = 32;

pub(super) struct ColumnFiller<'a> {
    surface: &'a Surface,
    options: &'a HeightmapOptions,
    /// Lowest voxel of the ground.
    bottom: i32,
    region: Region,
}

/// What a column of voxels is made of.
#[derive(Clone, Copy)]
struct Ground {
    column: Column,
    /// Upward part of the surface's normal.
    upright: f64,
    material: u8,
    /// Whether the column lies within the map.
    inside: bool,
    /// Cells below this are surely full, and deep enough for the material below.
    full_below: i32,
    /// Cells from here on surely hold nothing solid.
    open_from: i32,
}

impl<'a> ColumnFiller<'a> {
    pub(super) fn new(surface: &'a Surface, options: &'a HeightmapOptions) -> ColumnFiller<'a> {
        let [low, high] = surface.heights();
        let bottom = (low - options.depth_voxels).floor();
        // No column is above its samples; a cell of the surface reaches half a voxel higher.
        let top = (high + 2.0).max(options.sea_level.unwrap_or(high) + 2.0).ceil();
        let [x, z] = options.origin;
        let [width, depth] = surface.columns();
        let min = [x, bottom as i32, z];
        let max = [x.saturating_add(width as i32), top as i32, z.saturating_add(depth as i32)];
        ColumnFiller { surface, options, bottom: bottom as i32, region: Region::new(min, max) }
    }

    /// The voxels that may be other than air.
    pub(super) fn region(&self) -> Region {
        self.region
    }

    /// All chunks of the chunk column (x, z) that are not air, from below.
    pub(super) fn column(&self, x: i32, z: i32) -> Vec<ChunkCells> {
        let ground = self.ground(x, z);
        let layers = self.region.coarser(5);
        (layers.min.y..layers.max.y)
            .filter_map(|y| self.chunk(ChunkPos::new(x, y, z), &ground))
            .collect()
    }

    /// The 32 × 32 columns of a chunk, x fastest.
    fn ground(&self, x: i32, z: i32) -> Vec<Ground> {
        let [ox, oz] = self.options.origin.map(i64::from);
        let (x0, z0) = (i64::from(x) * 32 - ox, i64::from(z) * 32 - oz);
        let [width, length] = self.surface.columns().map(i64::from);
        let columns = self.surface.block(x0, z0, EDGE);
        let ground = columns.into_iter().enumerate().map(|(i, column)| {
            let (x, z) = (x0 + (i % EDGE) as i64, z0 + (i / EDGE) as i64);
            let slope = column.slope;
            let [lowest, highest] = column.around;
            let depth = self.options.surface_voxels.max(0.5);
            Ground {
                column,
                upright: 1.0 / (1.0 + slope * slope).sqrt(),
                material: self.material_at(column.height, slope),
                inside: (0..width).contains(&x) && (0..length).contains(&z),
                full_below: (lowest - depth - 0.5).floor() as i32,
                open_from: highest.ceil() as i32 + 1,
            }
        });
        ground.collect()
    }

    fn material_at(&self, height: f64, slope: f64) -> u8 {
        let within = |value: f64, [low, high]: [f64; 2]| low <= value && value <= high;
        let rules = self.options.rules.iter();
        rules
            .filter(|rule| within(height, rule.height_voxels) && within(slope, rule.slope))
            .map(|rule| rule.material)
            .next()
            .unwrap_or(self.options.material)
    }

    /// The cells of a chunk; `None` if all are air.
    fn chunk(&self, chunk: ChunkPos, ground: &[Ground]) -> Option<ChunkCells> {
        if let Some(material) = self.uniform(chunk, ground) {
            return (material != AIR).then_some(ChunkCells::Uniform { chunk, material });
        }
        let mut cells = DenseBox::new(chunk.region());
        let mut water = Vec::new();
        let (materials, occupancies) = cells.arrays_mut();
        let y0 = chunk.min_voxel().y;
        for (layer, y) in (y0..y0 + 32).enumerate() {
            if y < self.bottom {
                continue;
            }
            let (deep, sky) = (Cell::full(self.options.material_below), self.sky(y));
            for (i, ground) in ground.iter().enumerate().filter(|(_, ground)| ground.inside) {
                let i = i + layer * EDGE * EDGE;
                let cell = if y < ground.full_below {
                    deep
                } else if y >= ground.open_from {
                    sky
                } else {
                    let (cell, held) = self.cell(y, ground);
                    water.extend(held.map(|held| (i as u32, held)));
                    cell
                };
                (materials[i], occupancies[i]) = (cell.material, cell.occupancy);
            }
        }
        cells.set_all_water(water);
        let is_air = cells.materials().iter().all(|&material| material == AIR);
        (!is_air).then_some(ChunkCells::Mixed(cells))
    }

    /// The material of a chunk that is surely full cells of one, or air.
    fn uniform(&self, chunk: ChunkPos, ground: &[Ground]) -> Option<u8> {
        let Region { min, max } = chunk.region();
        let (low, high) = (f64::from(min.y), f64::from(max.y));
        let lowest = ground.iter().map(|g| g.column.around[0]).fold(f64::INFINITY, f64::min);
        let highest = ground.iter().map(|g| g.column.around[1]).fold(f64::NEG_INFINITY, f64::max);
        let inside = ground.iter().filter(|g| g.inside).count();
        if max.y <= self.bottom || inside == 0 {
            return Some(AIR);
        }
        if low > highest + 1.0 {
            let sea = self.options.sea_level.unwrap_or(f64::NEG_INFINITY);
            if low > sea + 1.0 {
                return Some(AIR);
            }
            return (high < sea - 1.0 && inside == ground.len()).then_some(self.options.water);
        }
        let deep = lowest - high > self.options.surface_voxels + 1.0;
        (deep && min.y >= self.bottom && inside == ground.len())
            .then_some(self.options.material_below)
    }

    /// Fill with water, in 256ths, of what is open at height `y`.
    fn wet(&self, y: i32) -> u32 {
        self.options.sea_level.map_or(0, |sea| occupancy_units(sea - (f64::from(y) + 0.5)))
    }

    /// A cell at height `y` without ground.
    fn sky(&self, y: i32) -> Cell {
        match self.wet(y) {
            0 => Cell::AIR,
            wet => Cell { material: self.options.water, occupancy: (wet - 1) as u8 },
        }
    }

    /// The cell at height `y` of a column, and the water that it holds if it is solid.
    fn cell(&self, y: i32, ground: &Ground) -> (Cell, Option<u8>) {
        let middle = f64::from(y) + 0.5;
        let depth = ground.column.height - middle;
        let [lowest, highest] = ground.column.around;
        let distance = (depth * ground.upright).min(highest - middle).max(lowest - middle);
        let solid = occupancy_units(distance);
        if solid == 0 {
            return (self.sky(y), None);
        }
        let surface = depth < self.options.surface_voxels;
        let material = if surface { ground.material } else { self.options.material_below };
        let wet = if solid < 256 { self.wet(y) } else { 0 };
        let held = (wet > 0).then(|| (wet - 1) as u8);
        (Cell { material, occupancy: (solid - 1) as u8 }, held)
    }
}
