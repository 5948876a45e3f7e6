//! A small seeded world: hills, cliffs, lakes, and caves that open in the hillsides.
//!
//! The ground is a height field of gradient noise, its distance estimated from height and
//! slope; [`caves`] are true distances. Lakes fill what lies below the sea level and above the
//! ground; caves keep away from lake beds.

use super::caves::{self, Capsule, capsules, smooth_min};
use super::frame::occupancy_units;
use super::materials::{
    BASALT, GRASS, GROUND, LEAFY_GRASS, LIMESTONE, ROCK, SAND, SANDSTONE, SLATE, SNOW,
};
use super::noise::{Noise2, Noise2Cursor, Noise3, Noise3Cursor};
use crate::voxel::{Cell, DenseBox, Region, VoxelPos, WATER};

/// Height below which all rock is the same.
const LAST_LAYER: f64 = -34.0;

/// A small seeded world of hills, caves and lakes, in voxels; it ignores
/// [`Placement`](crate::Placement). Material ids are those of the default table.
///
/// ```
/// use terravox::generate::Hills;
/// use terravox::voxel::{DenseBox, Region};
///
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 0, 32]));
/// Hills::new(1).fill(&mut cells, 0);
/// assert!(cells.materials().iter().any(|&material| material != 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hills {
    seed: u64,
}

/// Half the diagonal of a cube of 4³ cells, in cells; such cubes share a search for caves.
const HALF_DIAGONAL: f64 = 3.47;

/// Height, slope and materials of the ground at one column.
#[derive(Clone, Copy, Default)]
struct Column {
    height: f64,
    /// The vertical component of the surface's unit normal, 0 to 1.
    normal_y: f64,
    /// Cells whose centre is higher are air.
    sky: f64,
    /// Displacement of the borders between surface materials.
    small: f64,
    /// Where snow begins.
    snow: f64,
    /// Share of leafy grass.
    leafy: f64,
    /// Two terms of the folding of the strata.
    folds: [f64; 2],
}

/// A box of one kind of cells.
enum UniformHills {
    Air,
    /// Full cells below all strata but the last, and below the caves.
    Deep,
}

/// Heights of [`Hills`] for many columns near one another: [`Hills::height`] to the bit, at a
/// third of its cost. Make one for each block.
///
/// ```
/// use terravox::generate::Hills;
///
/// let hills = Hills::new(7);
/// let mut relief = hills.relief();
/// assert_eq!(relief.height(10.5, -3.5), hills.height(10.5, -3.5));
/// ```
#[derive(Clone, Debug)]
pub struct Relief {
    /// Of salt 1 to 8, then of the two by which the land is pushed about.
    noises: [Noise2Cursor; 10],
}

impl Relief {
    fn new(seed: u64) -> Relief {
        let salts = [1, 2, 3, 4, 5, 6, 7, 8, 30, 31];
        Relief { noises: salts.map(|salt| Noise2::new(seed ^ salt).cursor()) }
    }

    /// Height of the ground at a column, in voxels, caves aside.
    pub fn height(&mut self, x: f64, z: f64) -> f64 {
        let [land, bumps, ridges, folds, waves, ripples, cliffs, steps, east, south] =
            &mut self.noises;
        let noise = |noise: &mut Noise2Cursor, period: f64, x: f64, z: f64| {
            noise.at(x / period, z / period)
        };
        // Displace the position so that no lattice shows.
        let (east, south) =
            (x + 18.0 * noise(east, 90.0, x, z), z + 18.0 * noise(south, 90.0, x, z));
        let land = 21.0 * noise(land, 230.0, east, south) + 9.0 * noise(bumps, 105.0, east, south);
        let rise = smooth_step(-3.0, 16.0, land);
        // Ridges where the land is high, folded once more further up.
        let ridge = (1.0 - 1.9 * rounded_abs(noise(ridges, 150.0, east, south))).max(0.0);
        let fold = (1.0 - 1.8 * rounded_abs(noise(folds, 61.0, east, south))).max(0.0);
        let mountains = rise * (44.0 * ridge * ridge + 13.0 * fold * fold * ridge);
        let rough = 0.25 + 0.75 * rise;
        let detail = rough * (3.0 * noise(waves, 37.0, x, z) + 1.1 * noise(ripples, 15.0, x, z));
        let height = 7.0 + land + mountains + detail;
        // In some places the ground steps up by a cliff.
        let cliff = smooth_step(0.05, 0.35, noise(cliffs, 170.0, x, z));
        height + cliff * 10.0 * smooth_step(16.0, 19.0, height + 1.5 * noise(steps, 21.0, x, z))
    }
}

impl Hills {
    /// Height of the lakes' surface, in voxels.
    pub const SEA_LEVEL: f64 = 4.0;

    /// Name of the generator, as saved with a world.
    pub const NAME: &str = "hills";

    /// Version of the generator: it changes when its cells of mip 0 do.
    pub const VERSION: u32 = 1;

    /// Bounds of the ground, in voxels: the bounds of all its noise add up to −45 and 126. Caves reach
    /// lower, see [`Seeded::heights`](super::Seeded::heights).
    pub const HEIGHTS: std::ops::Range<i32> = -64..128;

    /// The world of `seed`.
    pub fn new(seed: u64) -> Hills {
        Hills { seed }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Height of the ground at a column, in voxels, caves aside.
    pub fn height(&self, x: f64, z: f64) -> f64 {
        self.relief().height(x, z)
    }

    /// [`Hills::height`] for many columns.
    pub fn relief(&self) -> Relief {
        Relief::new(self.seed)
    }

    /// The columns of a region, x fastest, then z.
    fn columns(&self, region: Region, edge: f64) -> Vec<Column> {
        let [width, _, depth] = region.size();
        // One more column on every side, for the slopes.
        let mut heights = Vec::with_capacity((width + 2) * (depth + 2));
        let mut relief = self.relief();
        for z in region.min.z - 1..=region.max.z {
            for x in region.min.x - 1..=region.max.x {
                let [x, _, z] = cell_centre(VoxelPos::new(x, 0, z), edge);
                heights.push(relief.height(x, z));
            }
        }
        let column = |i: usize| {
            let at = (i % width + 1) + (width + 2) * (i / width + 1);
            let slope_x = (heights[at + 1] - heights[at - 1]) / (2.0 * edge);
            let slope_z = (heights[at + width + 2] - heights[at - width - 2]) / (2.0 * edge);
            let normal_y = 1.0 / (1.0 + slope_x * slope_x + slope_z * slope_z).sqrt();
            let (height, sky) =
                (heights[at], Hills::SEA_LEVEL.max(heights[at] + edge / normal_y) + edge);
            Column { height, normal_y, sky, ..Column::default() }
        };
        (0..width * depth).map(column).collect()
    }

    /// Adds what the columns of a region are made of.
    fn dress(&self, columns: &mut [Column], region: Region, edge: f64) {
        let Region { min, max } = region;
        let flat = Region::new([min.x, 0, min.z], [max.x, 1, max.z]);
        let mut noises =
            [40, 41, 42, 43, 44, 45].map(|salt| Noise2::new(self.seed ^ salt).cursor());
        for (column, pos) in columns.iter_mut().zip(flat.voxels()) {
            let [x, _, z] = cell_centre(pos, edge);
            let mut patch = |i: usize, period: f64| noises[i].at(x / period, z / period);
            column.small = patch(0, 11.0) + 0.6 * patch(1, 4.5);
            column.snow = 54.0 + 4.0 * patch(2, 40.0);
            column.leafy = patch(3, 46.0);
            column.folds = [7.0 * patch(4, 130.0), 1.2 * patch(5, 17.0)];
        }
    }

    /// Whether all of a region, in cells of `edge` voxels, is air or deep below the ground,
    /// if its columns have heights in `heights` and are no steeper than `normal_y`. `None` if
    /// that does not tell.
    fn whole(region: Region, edge: f64, heights: [f64; 2], normal_y: f64) -> Option<UniformHills> {
        let lowest = (f64::from(region.min.y) + 0.5) * edge;
        let highest = (f64::from(region.max.y) - 0.5) * edge;
        let above = (lowest - heights[1]) * normal_y;
        if above > 0.5 * edge && lowest > Hills::SEA_LEVEL + 0.5 * edge {
            return Some(UniformHills::Air);
        }
        // A full cell lies half an edge inside; where cave and ground are alike it may be one
        // voxel less. Below 4.5 voxels there is rock, whose last layer is folded.
        let below = (heights[0] - highest) * normal_y;
        let fold = (7.0 + 1.2) * Noise2::MAX;
        let deep = below > (0.5 * edge + 1.0).max(4.5)
            && highest < LAST_LAYER - fold
            && highest < caves::LOWEST - 0.5 * edge - 1.0;
        deep.then_some(UniformHills::Deep)
    }

    /// [`Hills::whole`] without any column.
    fn whole_by_bounds(region: Region, edge: f64) -> Option<UniformHills> {
        let heights = [Hills::HEIGHTS.start, Hills::HEIGHTS.end].map(f64::from);
        let slope = (heights[1] - heights[0]) / (2.0 * edge);
        Hills::whole(region, edge, heights, 1.0 / (1.0 + 2.0 * slope * slope).sqrt())
    }

    /// [`Hills::whole`] for the columns of the region.
    fn whole_by_columns(region: Region, edge: f64, columns: &[Column]) -> Option<UniformHills> {
        let fold = |start: f64, value: fn(&Column) -> f64, pick: fn(f64, f64) -> f64| {
            columns.iter().map(value).fold(start, pick)
        };
        let lowest = fold(f64::INFINITY, |column| column.height, f64::min);
        let highest = fold(f64::NEG_INFINITY, |column| column.height, f64::max);
        Hills::whole(region, edge, [lowest, highest], fold(1.0, |column| column.normal_y, f64::min))
    }

    /// Fills `cells` (in cells of mip `mip`): the same cells for any region and order.
    ///
    /// # Panics
    /// If `mip` is above 31.
    pub fn fill(&self, cells: &mut DenseBox, mip: u8) {
        let region = cells.region();
        let edge = f64::from(1u32 << mip);
        let mut columns = Vec::new();
        let whole = Hills::whole_by_bounds(region, edge).or_else(|| {
            columns = self.columns(region, edge);
            Hills::whole_by_columns(region, edge, &columns)
        });
        match whole {
            Some(UniformHills::Air) => cells.reset(region),
            Some(UniformHills::Deep) => cells.fill(BASALT),
            None => {
                self.dress(&mut columns, region, edge);
                self.fill_cells(cells, mip, &columns);
            }
        }
    }

    /// Fills `cells` cell by cell, a cube of them after the other.
    fn fill_cells(&self, cells: &mut DenseBox, mip: u8, columns: &[Column]) {
        let region = cells.region();
        let edge = f64::from(1u32 << mip);
        let caves = match mip {
            0..=caves::MAX_MIP => capsules(self.seed, region, caves::REACH + 2.0 * edge, edge),
            _ => Vec::new(),
        };
        cells.reset(region);
        let walls = Noise3::new(self.seed ^ 7).cursor();
        let mut fill = HillsFill { columns, edge, walls, water: Vec::new() };
        let mut near = Vec::new();
        for cube in region.blocks::<2>().map(|cube| cube.region().intersect(region)) {
            let [min, max] = [cube.min, cube.max].map(|p| p.to_array().map(f64::from));
            let middle = [0, 1, 2].map(|i| 0.5 * (min[i] + max[i]) * edge);
            near.clear();
            let deep = fill.depth(cells.region(), cube) > 0.5 * edge + 1.0;
            let matters = |cave: &&Capsule| cave.matters(middle, HALF_DIAGONAL, edge, deep);
            near.extend(caves.iter().filter(matters));
            caves::retain_nearest(&mut near, middle, HALF_DIAGONAL * edge);
            fill.cube(cells, cube, &near);
        }
        cells.set_all_water(fill.water);
    }
}

/// The inputs of a fill.
struct HillsFill<'a> {
    columns: &'a [Column],
    /// Edge of a cell, in voxels.
    edge: f64,
    /// The roughness of cave walls.
    walls: Noise3Cursor,
    water: Vec<(u32, u8)>,
}

impl HillsFill<'_> {
    /// How deep below the ground, or how little, the middles of a cube's cells lie at least.
    fn depth(&self, region: Region, cube: Region) -> f64 {
        let [width, ..] = region.size();
        let top = (f64::from(cube.max.y) - 0.5) * self.edge;
        let (from, to) = (cube.min - region.min, cube.max - region.min);
        let rows = (from.z..to.z).map(|z| z as usize * width);
        let columns =
            rows.flat_map(|row| &self.columns[row + from.x as usize..row + to.x as usize]);
        columns.map(|column| (column.height - top) * column.normal_y).fold(f64::INFINITY, f64::min)
    }

    /// Fills a cube of cells that are air; `caves` are all those that reach it.
    fn cube(&mut self, cells: &mut DenseBox, cube: Region, caves: &[&Capsule]) {
        let Region { min, .. } = cells.region();
        let [width, _, depth] = cells.region().size();
        let (from, to) = (cube.min.x - min.x, cube.max.x - min.x);
        for y in cube.min.y..cube.max.y {
            for z in cube.min.z..cube.max.z {
                let row = (z - min.z) as usize * width;
                let slice = (y - min.y) as usize * depth * width;
                for x in from as usize..to as usize {
                    let p = cell_centre(VoxelPos::new(min.x + x as i32, y, z), self.edge);
                    let column = &self.columns[row + x];
                    if p[1] > column.sky {
                        continue;
                    }
                    let at = slice + row + x;
                    let (cell, held) = self.cell(p, column, caves);
                    let (materials, occupancies) = cells.arrays_mut();
                    (materials[at], occupancies[at]) = (cell.material, cell.occupancy);
                    self.water.extend(held.map(|held| (at as u32, held)));
                }
            }
        }
    }

    fn cell(&mut self, p: [f64; 3], column: &Column, caves: &[&Capsule]) -> (Cell, Option<u8>) {
        let edge = self.edge;
        let depth = (column.height - p[1]) * column.normal_y;
        let mut inside = depth;
        if depth > -edge && !caves.is_empty() {
            // Lake beds and shores stay intact.
            let keep = 2.0 * (Hills::SEA_LEVEL + 5.0 - column.height).max(0.0);
            inside = smooth_min(depth, caves::distance(p, caves, &mut self.walls) + keep);
        }
        let solid = occupancy_units(inside / edge);
        // Water is above the ground only: caves are dry.
        let wet = match depth < edge && column.height < Hills::SEA_LEVEL + edge {
            true => occupancy_units((Hills::SEA_LEVEL - p[1]) / edge),
            false => 0,
        };
        let stored = |units: u32| (units - 1) as u8;
        if solid > 0 {
            let cell = Cell { material: material(p, depth, column), occupancy: stored(solid) };
            return (cell, (solid < 256 && wet > 0).then(|| stored(wet)));
        }
        match wet {
            0 => (Cell::AIR, None),
            units => (Cell { material: WATER, occupancy: stored(units) }, None),
        }
    }
}

fn material(p: [f64; 3], depth: f64, column: &Column) -> u8 {
    let small = column.small;
    let steep = column.normal_y < 0.72 + 0.06 * small;
    if depth < 2.2 && !steep {
        let height = column.height + 2.0 * small;
        return match height {
            h if h < Hills::SEA_LEVEL - 11.0 => GROUND,
            h if h < Hills::SEA_LEVEL + 2.4 => SAND,
            h if h > column.snow => SNOW,
            _ if column.leafy + 0.5 * small > 0.55 => LEAFY_GRASS,
            _ => GRASS,
        };
    }
    if depth < 4.5 && !steep {
        return GROUND;
    }
    // Strata, gently folded.
    let layer = p[1] + column.folds[0] + column.folds[1];
    match layer {
        l if l < LAST_LAYER => BASALT,
        l if l < -12.0 => SLATE,
        l if l < 9.0 => ROCK,
        l if l < 14.0 => LIMESTONE,
        l if l < 24.0 => SANDSTONE,
        l if l < 29.0 => LIMESTONE,
        _ => ROCK,
    }
}

/// Centre of a cell in voxels, where a cell is `edge` voxels wide.
fn cell_centre(pos: VoxelPos, edge: f64) -> [f64; 3] {
    pos.to_array().map(|v| (f64::from(v) + 0.5) * edge)
}

fn smooth_step(from: f64, to: f64, v: f64) -> f64 {
    let t = ((v - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// |v| with its kink rounded, so that ridges are not sharp.
fn rounded_abs(v: f64) -> f64 {
    (v * v + 0.01).sqrt() - 0.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(region: Region, mip: u8) -> DenseBox {
        let mut cells = DenseBox::new(region);
        Hills::new(5).fill(&mut cells, mip);
        cells
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_cell_is_the_same_in_any_region(
            at in (-90..90i32, -40..40i32, -90..90i32),
            size in (1..9i32, 1..20i32, 1..9i32),
            mip in 0u8..5,
        ) {
            let min = VoxelPos::new(at.0, at.1, at.2);
            let region = Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) };
            let part = cells(region, mip);
            let whole = cells(region.grow(7), mip);
            for pos in region.voxels() {
                prop_assert_eq!(part.cell(pos), whole.cell(pos));
                prop_assert_eq!(part.water_at(pos), whole.water_at(pos));
            }
        }
    }

    /// Cell by cell, with every cave of the neighbourhood.
    fn naive(hills: Hills, region: Region, mip: u8) -> DenseBox {
        let edge = f64::from(1u32 << mip);
        let mut cells = DenseBox::new(region);
        let caves = capsules(hills.seed, region, 4.0 * (caves::REACH + edge), edge);
        let caves: Vec<&Capsule> =
            if mip > caves::MAX_MIP { vec![] } else { caves.iter().collect() };
        for pos in region.voxels() {
            let mut column = hills.columns(Region::one(pos), edge);
            hills.dress(&mut column, Region::one(pos), edge);
            let walls = Noise3::new(hills.seed ^ 7).cursor();
            let mut fill = HillsFill { columns: &column, edge, walls, water: Vec::new() };
            let (cell, water) = fill.cell(cell_centre(pos, edge), &column[0], &caves);
            cells.set(pos, cell);
            cells.set_water(pos, water);
        }
        cells
    }

    proptest! {
        #[test]
        fn whole_boxes_and_near_caves_are_those_of_every_cell(
            at in (-3000..3000i32, -160..200i32, -3000..3000i32),
            size in (1..9i32, 1..60i32, 1..5i32),
            mip in 0u8..9,
        ) {
            let min = VoxelPos::new(at.0, at.1 * 2, at.2).coarser(mip.into());
            let region = Region { min, max: min + VoxelPos::new(size.0, size.1, size.2) };
            prop_assert!(cells(region, mip) == naive(Hills::new(5), region, mip));
        }
    }

    #[test]
    fn boxes_far_above_and_below_the_ground_are_known_by_their_bounds() {
        for mip in 3..13u8 {
            let edge = f64::from(1u32 << mip);
            let air = Region::new([0, (320 >> mip) + 1, 0], [32, 99, 32]);
            assert!(matches!(Hills::whole_by_bounds(air, edge), Some(UniformHills::Air)));
            let deep = Region::new([0, -99, 0], [32, (-200 >> mip) - 1, 32]);
            assert!(matches!(Hills::whole_by_bounds(deep, edge), Some(UniformHills::Deep)));
            let ground = Region::new([0, -1, 0], [32, 1, 32]);
            assert!(Hills::whole_by_bounds(ground, edge).is_none());
        }
    }

    #[test]
    fn the_world_has_hills_lakes_shores_and_caves() {
        let hills = Hills::new(5);
        let (mut air_below_ground, mut shore) = (0, 0);
        let mut seen = [0u64; 256];
        for x in 0..8 {
            for z in 0..8 {
                let (x, z) = (x * 61 - 240, z * 61 - 240);
                let cells = cells(Region::new([x, -50, z], [x + 8, 90, z + 8]), 0);
                shore += cells.water().len();
                for pos in cells.region().voxels() {
                    let cell = cells.cell(pos);
                    seen[usize::from(cell.material)] += 1;
                    let ground = hills.height(f64::from(pos.x) + 0.5, f64::from(pos.z) + 0.5);
                    let below = f64::from(pos.y) + 4.0 < ground;
                    air_below_ground += u64::from(below && cell.is_air());
                    assert!(pos.y < Hills::HEIGHTS.end - 20 || cell.is_air());
                }
            }
        }
        for material in [WATER, GRASS, SAND, ROCK, GROUND, SLATE] {
            assert!(seen[usize::from(material)] > 100, "material {material}");
        }
        assert!(air_below_ground > 1000, "caves: {air_below_ground}");
        assert!(shore > 100, "shores: {shore}");
    }

    #[test]
    fn coarse_cells_agree_with_the_mean_of_the_fine_ones() {
        let mean = |cells: &DenseBox| {
            let units: u64 =
                cells.region().voxels().map(|p| u64::from(cells.cell(p).units())).sum();
            units as f64 / 256.0 / cells.len() as f64
        };
        let region = Region::new([0, -64, 0], [128, 128, 128]);
        let fine = mean(&cells(region, 0));
        for mip in 1..7 {
            let coarse = mean(&cells(region.coarser(mip), mip as u8));
            assert!((fine - coarse).abs() < 0.02, "mip {mip}: {coarse} of {fine}");
        }
    }
}
