//! Cells from columns: a cube of 4³ after the other, so that air and deep ground are found for many
//! at once, and caves and overhangs are asked only where they matter.

use super::caves::{self, Piece, Roughness};
use super::climate::Setting;
use super::columns::LandColumn;
use super::strata::{self, LOWEST_LAYER};
use crate::generate::frame::occupancy_units;
use crate::generate::materials::{
    COBBLESTONE, GRASS, GROUND, LEAFY_GRASS, MUD, ROCK, SAND, SANDSTONE,
};
use crate::generate::noise::{Noise3, Noise3Cursor};
use crate::voxel::{Cell, DenseBox, Region, VoxelPos, WATER};

/// Half the diagonals between the outermost centres of cubes of 4³ and of 16³ cells, in cells, and
/// room for rounding.
const HALF_DIAGONAL: f64 = 2.61;
const HALF_WIDE_DIAGONAL: f64 = 13.01;

/// Caves blend with the ground where their distances differ by less, voxels.
const BLEND: f32 = 4.0;

/// Farther from the wall of a cave than half a cell and this, cells are as without it, voxels: where
/// the ground is near, and where it alone fills cells and a voxel more.
const CAVE_MARGIN: f64 = BLEND as f64 + 1.0;
const DEEP_CAVE_MARGIN: f64 = 1.0;

/// How far from a region caves may matter in it, voxels, aside from two cells.
const CAVE_REACH: f64 = 13.0;

/// Widths of the noise of overhangs, voxels: flat, so that ledges are.
const OVERHANG_PERIODS: [f64; 3] = [21.0, 9.0, 21.0];

/// Cells of a region from its columns.
pub(super) fn fill(setting: &Setting<'_>, cells: &mut DenseBox, mip: u8, columns: &[LandColumn]) {
    let region = cells.region();
    let edge = setting.edge;
    let share = 2.0 * f64::from(setting.options.caves);
    let has_caves = mip <= caves::MAX_MIP && share > 0.0;
    let caves = if has_caves {
        caves::pieces(setting.seed, region, CAVE_REACH + 2.0 * edge, edge, share)
    } else {
        Vec::new()
    };
    cells.reset(region);
    let mut fill = Fill {
        columns,
        region,
        edge: edge as f32,
        walls: Roughness::new(setting.seed, edge),
        ledges: Noise3::new(setting.seed ^ 8).cursor(),
        has_ledges: OVERHANG_PERIODS[1] >= 2.0 * edge,
        water: Vec::new(),
    };
    let middle = |part: Region| {
        let [min, max] = [part.min, part.max].map(|p| p.to_array().map(f64::from));
        [0, 1, 2].map(|i| 0.5 * (min[i] + max[i]) * edge)
    };
    let (mut around, mut near) = (Vec::new(), Vec::new());
    for block in region.blocks::<4>().map(|block| block.region().intersect(region)) {
        let at = middle(block);
        around.clear();
        let may_matter = |cave: &&Piece| cave.matters(at, HALF_WIDE_DIAGONAL, edge, CAVE_MARGIN);
        around.extend(caves.iter().filter(may_matter));
        for cube in block.blocks::<2>().map(|cube| cube.region().intersect(region)) {
            let extent = fill.extent(cube);
            if extent.is_air {
                continue;
            }
            let at = middle(cube);
            let margin = if extent.is_full { DEEP_CAVE_MARGIN } else { CAVE_MARGIN };
            near.clear();
            let matters = |cave: &&Piece| cave.matters(at, HALF_DIAGONAL, edge, margin);
            near.extend(around.iter().copied().filter(matters));
            fill.cube(cells, cube, &near, extent.is_full && near.is_empty());
        }
    }
    cells.set_all_water(fill.water);
}

/// What the columns say of a cube.
struct Extent {
    is_air: bool,
    /// Ground fills all cells and a voxel more, caves aside.
    is_full: bool,
}

/// The inputs of a fill.
struct Fill<'a> {
    columns: &'a [LandColumn],
    region: Region,
    /// Edge of a cell, voxels.
    edge: f32,
    walls: Roughness,
    ledges: Noise3Cursor,
    has_ledges: bool,
    water: Vec<(u32, u8)>,
}

impl Fill<'_> {
    fn rows(&self, cube: Region) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let [width, ..] = self.region.size();
        let (from, to) = (cube.min - self.region.min, cube.max - self.region.min);
        (from.z..to.z).map(move |z| {
            let row = z as usize * width;
            row + from.x as usize..row + to.x as usize
        })
    }

    fn extent(&self, cube: Region) -> Extent {
        let (edge, half) = (self.edge, 0.5 * self.edge);
        let bottom = (cube.min.y as f32 + 0.5) * edge;
        let top = (cube.max.y as f32 - 0.5) * edge;
        let (mut is_air, mut is_full) = (true, true);
        for column in self.rows(cube).flat_map(|row| &self.columns[row]) {
            let over = column.overhang * Noise3::MAX as f32;
            let is_above_ground = bottom - column.around[1] > half
                || (bottom - column.height) * column.normal_y > half + over;
            let is_above_water = bottom > column.water + half;
            let is_island = column.island.is_some_and(|island| {
                bottom - island.top < edge / island.normal_y[0]
                    && island.bottom - top < edge / island.normal_y[1]
            });
            is_air &= is_above_ground && is_above_water && !is_island;
            is_full &= (column.height - top) * column.normal_y > half + 1.0 + over
                && column.around[0] - top > half;
        }
        Extent { is_air, is_full }
    }

    /// Fills a cube of cells that are air; `caves` are all those that reach it.
    fn cube(&mut self, cells: &mut DenseBox, cube: Region, caves: &[&Piece], is_full: bool) {
        let Region { min, .. } = self.region;
        let [width, _, depth] = self.region.size();
        for y in cube.min.y..cube.max.y {
            let centre_y = (y as f32 + 0.5) * self.edge;
            for z in cube.min.z..cube.max.z {
                let row = (z - min.z) as usize * width;
                let slice = (y - min.y) as usize * depth * width;
                for x in cube.min.x..cube.max.x {
                    let i = row + (x - min.x) as usize;
                    let at = slice + i;
                    let column = &self.columns[i];
                    let (materials, occupancies) = cells.arrays_mut();
                    if is_full {
                        let depth = column.depth(centre_y, self.edge);
                        (materials[at], occupancies[at]) =
                            (material(centre_y, depth, self.edge, column), u8::MAX);
                        continue;
                    }
                    let (cell, held) = self.cell(VoxelPos::new(x, y, z), column, caves);
                    (materials[at], occupancies[at]) = (cell.material, cell.occupancy);
                    self.water.extend(held.map(|held| (at as u32, held)));
                }
            }
        }
    }

    /// A cell, and the water that it holds beside ground.
    fn cell(&mut self, pos: VoxelPos, column: &LandColumn, caves: &[&Piece]) -> (Cell, Option<u8>) {
        let edge = self.edge;
        let y = (pos.y as f32 + 0.5) * edge;
        let mut depth = column.depth(y, edge);
        let over = column.overhang;
        // No deeper than where a cube of cells is known to be full: what those are made of must not
        // depend on how large it is.
        let reach = edge.min(0.5 * edge + 1.0) + over * Noise3::MAX as f32;
        if over > 0.0 && self.has_ledges && depth.abs() < reach {
            let p = centre(pos, edge);
            let at = [0, 1, 2].map(|axis| p[axis] / OVERHANG_PERIODS[axis]);
            depth = column.limited(depth + over * self.ledges.at(at) as f32, y, edge);
        }
        let (mut inside, mut is_floor) = (depth, false);
        if depth > -edge && !caves.is_empty() {
            let hollow = caves::hollow(centre(pos, edge), caves, &mut self.walls);
            inside = smooth_min(depth, hollow.distance(depth, column.roofs) + column.sealed);
            is_floor = (-0.7..0.8 + 0.5 * edge).contains(&hollow.below_floor);
        }
        let mut solid = occupancy_units(f64::from(inside / edge));
        let mut made_of = None;
        if let Some(island) = column.island {
            let [up, down] = island.normal_y;
            let (below_top, above_bottom) = ((island.top - y) * up, (y - island.bottom) * down);
            let units = occupancy_units(f64::from(below_top.min(above_bottom) / edge));
            if units > solid {
                solid = units;
                let cover = if island.is_forest { LEAFY_GRASS } else { GRASS };
                made_of = Some(match below_top {
                    d if d < 1.8 => cover,
                    d if d < 4.5 => GROUND,
                    _ => ROCK,
                });
            }
        }
        // Water is above the ground only: caves are dry.
        let is_wet = depth < edge && column.height < column.water + edge;
        let wet = if is_wet { occupancy_units(f64::from((column.water - y) / edge)) } else { 0 };
        let stored = |units: u32| (units - 1) as u8;
        if solid > 0 {
            let material = made_of.unwrap_or_else(|| match is_floor {
                true if depth >= column.soil_depth.max(edge) => debris(column),
                _ => material(y, depth, edge, column),
            });
            let cell = Cell { material, occupancy: stored(solid) };
            return (cell, (solid < 256 && wet > 0).then(|| stored(wet)));
        }
        match wet {
            0 => (Cell::AIR, None),
            units => (Cell { material: WATER, occupancy: stored(units) }, None),
        }
    }
}

impl LandColumn {
    /// Depth of a point below the surface, voxels. Where the ground has a kink, all that lies half
    /// a cell above (below) the columns beside it is air (full) at any slope.
    #[inline]
    fn depth(&self, y: f32, edge: f32) -> f32 {
        self.limited((self.height - y) * self.normal_y, y, edge)
    }

    #[inline]
    fn limited(&self, depth: f32, y: f32, edge: f32) -> f32 {
        let half = 0.5 * edge;
        if y >= self.around[1] + half {
            depth.min(-half)
        } else if y <= self.around[0] - half {
            depth.max(half)
        } else {
            depth
        }
    }
}

/// Centre of a cell, voxels.
fn centre(pos: VoxelPos, edge: f32) -> [f64; 3] {
    pos.to_array().map(|v| (f64::from(v) + 0.5) * f64::from(edge))
}

/// How far below the lowest ground beside a column there is stone only, however steep it is,
/// voxels.
pub(super) const fn cover_reach(edge: f32) -> f32 {
    16.0 + 1.5 * edge
}

/// What the ground is made of at a height and a depth below the surface, voxels.
#[inline]
fn material(y: f32, depth: f32, edge: f32, column: &LandColumn) -> u8 {
    if y < column.around[0] - cover_reach(edge) {
        return strata::stone(y, column.strata);
    }
    // However wide cells are, those at the surface are of its material.
    if depth < column.top_depth.max(edge) && column.top != 0 {
        return column.top;
    }
    if depth < column.soil_depth.max(edge) && column.soil != 0 {
        return column.soil;
    }
    strata::stone(y, column.strata)
}

/// What covers the floors of caves: what the ground above washes in, or stones.
fn debris(column: &LandColumn) -> u8 {
    match column.soil {
        GROUND | MUD => column.soil,
        SAND | SANDSTONE => SAND,
        _ => COBBLESTONE,
    }
}

/// Smooth minimum of two distances, so that no thin shells are left between a cave and the open.
/// Source: I. Quilez, "Smooth minimum" (the quadratic one).
#[inline]
fn smooth_min(a: f32, b: f32) -> f32 {
    let alike = (BLEND - (a - b).abs()).max(0.0) / BLEND;
    a.min(b) - alike * alike * BLEND / 4.0
}

/// All that lies below is one kind of stone, without caves, voxels.
pub(super) const DEEP_BELOW: f32 = {
    let caves = caves::LOWEST as f32 - 3.0;
    if caves < LOWEST_LAYER { caves } else { LOWEST_LAYER }
};
