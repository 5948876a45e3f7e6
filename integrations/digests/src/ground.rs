//! Ground by each generator of `terravox::generate` in turn.

use terravox::generate::{
    Deep, Fractal, Hills, Noise2, Noise3, Preset, World, fill_height, fill_height_with, fill_sdf,
    fill_sdf_bounded, fill_sdf_bounded_with,
};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{Cell, DenseBox, MipBlock, VoxelPos, WATER};

use crate::numbers::Numbers;

/// Kinds of ground.
pub const GROUNDS: u64 = 10;

/// The kind of [`Hills`].
pub const HILLS: u64 = 0;

/// The kind of [`World`], each with a preset by its seed.
pub const WORLD: u64 = 8;

const GRASS: u8 = 2;
const SAND: u8 = 6;
const ROCK: u8 = 8;
const SOIL: u8 = 14;

/// A generator with a seed.
pub struct Ground {
    /// Which, below [`GROUNDS`].
    pub kind: u64,
    pub seed: u64,
    /// The surface lies about here, unless it is of hills or of a `World`; voxels.
    pub middle: VoxelPos,
}

fn length([x, y, z]: [f64; 3]) -> f64 {
    (x * x + y * y + z * z).sqrt()
}

impl Ground {
    /// Fills `cells` with a block of any mip.
    pub fn fill(&self, block: MipBlock, cells: &mut DenseBox) {
        let mip = block.mip;
        cells.reset(block.cells());
        match self.kind {
            HILLS => Hills::new(self.seed).fill(cells, mip),
            WORLD => {
                let preset = Preset::ALL[(self.seed % Preset::ALL.len() as u64) as usize];
                World::new(self.seed, preset).fill(cells, mip);
            }
            1 => self.rough_ball(cells, mip),
            2 => self.floating_rocks(cells, mip),
            3 => self.slope_with_a_cave(cells, mip),
            4 => self.heights(cells, mip),
            5 => self.layered_heights(cells, mip),
            6 => self.rows_of_small_voxels(cells, block),
            7 => self.sea(cells, block),
            _ => self.crumbs(cells, mip),
        }
    }

    /// A point relative to the middle.
    fn off(&self, p: [f64; 3]) -> [f64; 3] {
        let middle = self.middle.to_array();
        [0, 1, 2].map(|axis| p[axis] - f64::from(middle[axis]))
    }

    fn level(&self) -> f64 {
        f64::from(self.middle.y)
    }

    fn rough_ball(&self, cells: &mut DenseBox, mip: u8) {
        let (mut rough, mut patches) =
            (Noise3::new(self.seed).cursor(), Noise3::new(self.seed ^ 1).cursor());
        fill_sdf(
            cells,
            mip,
            |p| 24.0 - length(self.off(p)) + 7.0 * rough.at(p.map(|v| v / 9.0)),
            |p| if patches.at(p.map(|v| v / 14.0)) > 0.0 { GRASS } else { ROCK },
        );
    }

    fn floating_rocks(&self, cells: &mut DenseBox, mip: u8) {
        let rocks = Fractal::new(self.seed, 24.0, 9.0);
        let slope = rocks.slope_3d() + 0.25;
        let rock = |p: [f64; 3]| rocks.at_3d(p) - 0.25 * self.off(p)[1];
        fill_sdf_bounded(cells, mip, ROCK, slope, rock);
    }

    fn slope_with_a_cave(&self, cells: &mut DenseBox, mip: u8) {
        let ground = |p: [f64; 3]| {
            let [x, y, z] = self.off(p);
            (0.36 * x - 0.8 * y + 0.48 * z).min(length([x, y + 4.0, 0.5 * z]) - 9.0)
        };
        let deep = Some(Deep { depth: 2.0, material: ROCK });
        let material = |p: [f64; 3]| if ground(p) < 2.0 { GRASS } else { ROCK };
        fill_sdf_bounded_with(cells, mip, 1.0, deep, ground, material);
    }

    fn heights(&self, cells: &mut DenseBox, mip: u8) {
        let (mut noise, level) = (Noise2::new(self.seed).cursor(), self.level());
        let high = 14.0 * Noise2::MAX;
        let height = |x: f64, z: f64| level + 14.0 * noise.at(x / 23.0, z / 23.0);
        fill_height(cells, mip, ROCK, level - high..=level + high, height);
    }

    fn layered_heights(&self, cells: &mut DenseBox, mip: u8) {
        let (noise, level) = (Fractal::new(self.seed, 48.0, 16.0), self.level());
        let high = noise.max_2d();
        let deep = Some(Deep { depth: 4.0, material: ROCK });
        let height = |x: f64, z: f64| level + noise.at_2d(x, z);
        fill_height_with(cells, mip, level - high..=level + high, deep, height, |column| {
            let top = if column.normal_y < 0.8 { SAND } else { GRASS };
            move |_y, depth| match depth {
                d if d < 1.0 => top,
                d if d < 4.0 => SOIL,
                _ => ROCK,
            }
        });
    }

    /// In f32 and in voxels of a quarter of a metre.
    fn rows_of_small_voxels(&self, cells: &mut DenseBox, block: MipBlock) {
        let placement = Placement { voxel_size_m: 0.25, origin_m: [1000.0, -3.0, 7.5] };
        let middle_m = placement.world_from_voxel(self.middle.to_array().map(f64::from));
        let phase = (self.seed % 97) as f32 * 0.25;
        FillRequest::fill_block(cells, block, placement, |request| {
            request.fill_rows(
                |row, to| {
                    for (i, to) in to.iter_mut().enumerate() {
                        let p = row.point_m(i);
                        let [x, y, z] = [0, 1, 2].map(|axis| (p[axis] - middle_m[axis]) as f32);
                        // Ridges: a parabola repeated along x.
                        let x = (0.5 * x + phase).rem_euclid(4.0) - 2.0;
                        *to = 0.7 * (x * x - 1.5) + 0.2 * z - y;
                    }
                },
                |row, to| *to = [if row.first_m[1] > middle_m[1] { GRASS } else { SOIL }; 32],
            );
        });
    }

    fn sea(&self, cells: &mut DenseBox, block: MipBlock) {
        let mut noise = Noise2::new(self.seed).cursor();
        FillRequest::fill_block(cells, block, Placement::default(), |request| {
            let floor = |p: [f64; 3]| 11.0 * noise.at(p[0] / 19.0, p[2] / 19.0) - self.off(p)[1];
            request.fill_sdf_with(floor, |_| SAND);
            request.fill_air_below(WATER, self.level() + 1.3);
        });
    }

    /// Random cells in a ball, above flat ground.
    fn crumbs(&self, cells: &mut DenseBox, mip: u8) {
        let (min, edge) = (cells.region().min, f64::from(1u32 << mip));
        for pos in cells.region().voxels() {
            let off = self.off(pos.to_array().map(|v| (f64::from(v) + 0.5) * edge));
            let [x, y, z] = (pos - min).to_array().map(|v| v as u64);
            let mut numbers = Numbers(self.seed ^ (x | y << 20 | z << 40));
            if length(off) > 12.0 {
                let cell = if off[1] < 0.0 { Cell::full(ROCK) } else { Cell::AIR };
                cells.set(pos, cell);
                continue;
            }
            let occupancy = numbers.next() as u8;
            match [0, 0, 0, WATER, GRASS, SAND, ROCK, 13][numbers.below(8) as usize] {
                0 => cells.set(pos, Cell::AIR),
                material => cells.set(pos, Cell { material, occupancy }),
            }
            if cells.cell(pos).material > WATER && numbers.below(4) == 0 {
                cells.set_water(pos, Some(numbers.next() as u8));
            }
        }
    }
}
