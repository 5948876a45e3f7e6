//! Fills cells from a surface of heights, one chunk column at a time.
//!
//! The occupancy of a cell is `clamp(½ + d)`, as the mesher expects, with d its signed distance to
//! the surface: the difference in height times the y component of the normal. Next to a cliff that
//! plane would extend far beyond the edge, so d is clamped: no cell above the highest surface
//! height of its neighbourhood is filled, and none below the lowest is empty. Chunks far from the
//! surface are uniform.
//!
//! Source: real terrain has `clamp(½ + d)`, see `terravox::generate`.

use super::chunk_cells::{CHUNK_EDGE, CHUNK_LOG2, ChunkCells};
use super::options::HeightmapOptions;
use super::patches::Patches;
use super::surface::{HeightSurface, SurfaceColumn};
use terravox::generate::occupancy_units;
use terravox::voxel::{AIR, Cell, ChunkPos, DenseBox, Region};

/// Generates the chunks of single chunk columns.
pub(super) struct ColumnFiller<'a> {
    surface: &'a HeightSurface,
    options: &'a HeightmapOptions,
    /// Lowest y of the ground.
    bottom: i32,
    /// Bounds of the voxels that are not air.
    region: Region,
}

/// The ground of a column of voxels.
#[derive(Clone, Copy)]
struct ColumnGround {
    column: SurfaceColumn,
    /// The y component of the surface's unit normal.
    normal_y: f64,
    /// Material of the surface, and how far down across the ground; earth is below it, voxels.
    material: u8,
    turf_depth: f64,
    /// Whether the column is on the map.
    is_on_map: bool,
    /// All cells below this y are full and of the material below the surface.
    full_below: i32,
    /// No cell from this y on is solid.
    open_from: i32,
}

impl<'a> ColumnFiller<'a> {
    pub(super) fn new(
        surface: &'a HeightSurface,
        options: &'a HeightmapOptions,
    ) -> ColumnFiller<'a> {
        let [low, high] = surface.heights();
        let bottom = (low - options.depth_voxels).floor();
        // No column is higher than its samples; occupancy extends half a voxel above the surface.
        let top = (high + 2.0).max(options.sea_level.unwrap_or(high) + 2.0).ceil();
        let [x, z] = options.origin;
        let [width, depth] = surface.columns();
        let min = [x, bottom as i32, z];
        let max = [x.saturating_add(width as i32), top as i32, z.saturating_add(depth as i32)];
        ColumnFiller { surface, options, bottom: bottom as i32, region: Region::new(min, max) }
    }

    /// Returns the bounds of the voxels that are not air.
    pub(super) fn region(&self) -> Region {
        self.region
    }

    /// Generates the chunks of the chunk column (x, z), upward, without those of air only.
    pub(super) fn chunk_column(&self, x: i32, z: i32) -> Vec<ChunkCells> {
        let ground = self.column_grounds(x, z);
        let layers = self.region.coarser(CHUNK_LOG2);
        (layers.min.y..layers.max.y)
            .filter_map(|y| self.chunk(ChunkPos::new(x, y, z), &ground))
            .collect()
    }

    /// Returns an upper bound of the chunks of the chunk column (x, z) that are not uniform.
    pub(super) fn max_mixed_chunks(&self, x: i32, z: i32) -> u32 {
        let edge = CHUNK_EDGE as i64;
        let [ox, oz] = self.options.origin.map(i64::from);
        let (x0, z0) = (i64::from(x) * edge - ox, i64::from(z) * edge - oz);
        let [low, high] = self.surface.range_in(x0, z0, edge);
        let [width, length] = self.surface.columns().map(i64::from);
        let is_inside = x0 >= 0 && z0 >= 0 && x0 + edge <= width && z0 + edge <= length;
        let layers = self.region.coarser(CHUNK_LOG2);
        if !is_inside {
            // Chunks across the edge of the map hold air as well.
            return (layers.max.y - layers.min.y) as u32;
        }
        let chunk = |height: f64| (height / edge as f64).floor() as i64;
        let span = |low: f64, high: f64| {
            let lowest = chunk(low).max(layers.min.y.into());
            let highest = chunk(high).min(i64::from(layers.max.y) - 1);
            (highest - lowest + 1).max(0) as u32
        };
        let ground = span(low - self.options.surface_voxels - 2.0, high + 2.0);
        let water = self.options.sea_level.map_or(0, |sea| span(sea - 2.0, sea + 2.0));
        let bottom = span(f64::from(self.bottom), f64::from(self.bottom));
        ground + water + bottom
    }

    /// Returns the ground of the 32 × 32 voxel columns of a chunk column, x fastest.
    fn column_grounds(&self, x: i32, z: i32) -> Vec<ColumnGround> {
        let [ox, oz] = self.options.origin.map(i64::from);
        let (x0, z0) =
            (i64::from(x) * CHUNK_EDGE as i64 - ox, i64::from(z) * CHUNK_EDGE as i64 - oz);
        let [width, length] = self.surface.columns().map(i64::from);
        let columns = self.surface.block(x0, z0, CHUNK_EDGE);
        let mut patches = Patches::new(self.options.patches, self.surface.heights());
        let ground = columns.into_iter().enumerate().map(|(i, column)| {
            let (x, z) = (x0 + (i % CHUNK_EDGE) as i64, z0 + (i / CHUNK_EDGE) as i64);
            let slope = column.slope;
            let [lowest, highest] = column.neighbour_range;
            let depth = self.options.surface_voxels.max(0.5);
            let [height, steepness] = patches.moved([x, z], column.height, slope);
            let material = self.surface_material(height, steepness);
            let turf = &self.options.turf;
            let is_turf = turf.materials.contains(&material);
            ColumnGround {
                column,
                normal_y: 1.0 / (1.0 + slope * slope).sqrt(),
                material,
                turf_depth: if is_turf { turf.depth_voxels } else { f64::INFINITY },
                is_on_map: (0..width).contains(&x) && (0..length).contains(&z),
                full_below: (lowest - depth - 0.5).floor() as i32,
                open_from: highest.ceil() as i32 + 1,
            }
        });
        ground.collect()
    }

    /// Returns the material of the surface.
    fn surface_material(&self, height: f64, slope: f64) -> u8 {
        let within = |value: f64, [low, high]: [f64; 2]| low <= value && value <= high;
        let rules = self.options.rules.iter();
        rules
            .filter(|rule| within(height, rule.height_voxels) && within(slope, rule.slope))
            .map(|rule| rule.material)
            .next()
            .unwrap_or(self.options.material)
    }

    /// Generates a chunk; `None` if all its cells are air.
    fn chunk(&self, chunk: ChunkPos, ground: &[ColumnGround]) -> Option<ChunkCells> {
        if let Some(material) = self.uniform_material(chunk, ground) {
            return (material != AIR).then_some(ChunkCells::Uniform { chunk, material });
        }
        let mut cells = DenseBox::new(chunk.region());
        let mut water = Vec::new();
        let (materials, occupancies) = cells.arrays_mut();
        let y0 = chunk.min_voxel().y;
        for (layer, y) in (y0..y0 + CHUNK_EDGE as i32).enumerate() {
            if y < self.bottom {
                continue;
            }
            let deep = Cell::full(self.options.material_below);
            let open = self.open_cell(y);
            for (i, ground) in ground.iter().enumerate().filter(|(_, ground)| ground.is_on_map) {
                let i = i + layer * CHUNK_EDGE * CHUNK_EDGE;
                let cell = if y < ground.full_below {
                    deep
                } else if y >= ground.open_from {
                    open
                } else {
                    let (cell, cell_water) = self.cell(y, ground);
                    water.extend(cell_water.map(|cell_water| (i as u32, cell_water)));
                    cell
                };
                (materials[i], occupancies[i]) = (cell.material, cell.occupancy);
            }
        }
        cells.set_all_water(water);
        let is_air = cells.materials().iter().all(|&material| material == AIR);
        (!is_air).then_some(ChunkCells::Mixed(cells))
    }

    /// Returns the material of a chunk far enough from all surfaces to be uniform; `None` if it may
    /// be mixed.
    fn uniform_material(&self, chunk: ChunkPos, ground: &[ColumnGround]) -> Option<u8> {
        let Region { min, max } = chunk.region();
        let (low, high) = (f64::from(min.y), f64::from(max.y));
        let lowest =
            ground.iter().map(|g| g.column.neighbour_range[0]).fold(f64::INFINITY, f64::min);
        let highest =
            ground.iter().map(|g| g.column.neighbour_range[1]).fold(f64::NEG_INFINITY, f64::max);
        let columns_on_map = ground.iter().filter(|g| g.is_on_map).count();
        if max.y <= self.bottom || columns_on_map == 0 {
            return Some(AIR);
        }
        if low > highest + 1.0 {
            let sea = self.options.sea_level.unwrap_or(f64::NEG_INFINITY);
            if low > sea + 1.0 {
                return Some(AIR);
            }
            return (high < sea - 1.0 && columns_on_map == ground.len())
                .then_some(self.options.water);
        }
        let is_deep = lowest - high > self.options.surface_voxels + 1.0;
        (is_deep && min.y >= self.bottom && columns_on_map == ground.len())
            .then_some(self.options.material_below)
    }

    /// Returns the water in a cell at height `y` without ground, in 256ths.
    fn water_units(&self, y: i32) -> u32 {
        self.options.sea_level.map_or(0, |sea| occupancy_units(sea - (f64::from(y) + 0.5)))
    }

    /// Returns a cell at height `y` without ground: water or air.
    fn open_cell(&self, y: i32) -> Cell {
        match self.water_units(y) {
            0 => Cell::AIR,
            water_units => {
                Cell { material: self.options.water, occupancy: (water_units - 1) as u8 }
            }
        }
    }

    /// Returns the cell at height `y` of a column, and the stored water if the cell is solid.
    fn cell(&self, y: i32, ground: &ColumnGround) -> (Cell, Option<u8>) {
        let centre = f64::from(y) + 0.5;
        let depth = ground.column.height - centre;
        let [lowest, highest] = ground.column.neighbour_range;
        let distance = (depth * ground.normal_y).min(highest - centre).max(lowest - centre);
        let solid_units = occupancy_units(distance);
        if solid_units == 0 {
            return (self.open_cell(y), None);
        }
        let is_surface = depth < self.options.surface_voxels;
        let material = match is_surface {
            true if depth * ground.normal_y < ground.turf_depth => ground.material,
            true => self.options.turf.earth,
            false => self.options.material_below,
        };
        let water_units = if solid_units < 256 { self.water_units(y) } else { 0 };
        let water = (water_units > 0).then(|| (water_units - 1) as u8);
        (Cell { material, occupancy: (solid_units - 1) as u8 }, water)
    }
}
