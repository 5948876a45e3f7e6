//! The land: hills of three materials with caves below.

use terravox::generate::{Deep, Fractal, Fractal2Cursor, Noise3};
use terravox::terrain::{FillRequest, Placement};
use terravox_store::Generator;

const SEED: u64 = 11;

const GRASS: u8 = 2;
pub const ROCK: u8 = 8;
const SOIL: u8 = 14;
/// Metres of soil, grass included, on the rock.
const SOIL_M: f64 = 4.0;

/// Width of a cave, about, and the factor that makes the noise a distance.
const CAVE_M: f64 = 24.0;
const CAVE_SCALE: f64 = 8.0;
/// No cave is below: most of the ground is then decided by one value a block.
const CAVE_FLOOR_M: f64 = -40.0;

/// Metres of the map, which stay when the origin moves, from local ones, which the terrain and the
/// physics have.
pub fn map_from_local(placement: Placement, local: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| local[i] - placement.origin_m[i])
}

pub fn local_from_map(placement: Placement, map: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| map[i] + placement.origin_m[i])
}

/// Makes the land; each thread has one.
#[derive(Clone)]
pub struct Land {
    hills: Fractal,
    caves: Noise3,
}

impl Land {
    pub fn new() -> Land {
        Land { hills: Fractal::new(SEED, 160.0, 14.0), caves: Noise3::new(SEED + 1) }
    }

    /// What the world file says of it: edits fit no other land.
    pub fn generator() -> Generator {
        Generator { name: "land".into(), version: 1, seed: SEED, ..Generator::default() }
    }

    /// Height that no ground exceeds.
    pub fn highest(&self) -> f64 {
        self.hills.max_2d()
    }

    /// Fills a block. Its points are those of the map, wherever the origin moved.
    pub fn fill(&self, request: &mut FillRequest<'_>) {
        let (mut ground, mut surface) = (Column::new(&self.hills), Column::new(&self.hills));
        let mut caves = self.caves.cursor();
        let slope = self.hills.slope_2d().max(CAVE_SCALE / CAVE_M * Noise3::SLOPE);
        let distance = |[x, y, z]: [f64; 3]| {
            let wall = CAVE_SCALE * (0.5 - caves.at([x, y, z].map(|v| v / CAVE_M)));
            (ground.height(x, z) - y).min(wall.max(CAVE_FLOOR_M - y))
        };
        let material = |[x, y, z]: [f64; 3]| match surface.height(x, z) - y {
            depth if depth < 1.0 => GRASS,
            depth if depth < SOIL_M => SOIL,
            _ => ROCK,
        };
        let deep = Some(Deep { depth: SOIL_M, material: ROCK });
        request.fill_sdf_bounded_with([slope; 3], deep, distance, material);
    }
}

/// Heights, with the last one kept: points of one column come one after another.
struct Column {
    hills: Fractal2Cursor,
    last: ([f64; 2], f64),
}

impl Column {
    fn new(hills: &Fractal) -> Column {
        Column { hills: hills.cursor_2d(), last: ([f64::NAN; 2], 0.0) }
    }

    fn height(&mut self, x: f64, z: f64) -> f64 {
        if self.last.0 != [x, z] {
            self.last = ([x, z], self.hills.at(x, z));
        }
        self.last.1
    }
}
