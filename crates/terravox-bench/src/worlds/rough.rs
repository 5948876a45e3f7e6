//! A rougher world than the generated one: steep noise, many caves, strata and ore,
//! so that a third of its rows are not one material. It shows the cost of packing rows where they
//! pack badly.
//!
//! Source of the noise: Perlin, "An image synthesizer" (1985), the value noise of its
//! lattice, with cubic easing.

use terravox::generate::occupancy_units;
use terravox::voxel::{Cell, ChunkPos, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};

use super::World;

const SEED: u32 = 0x7e44;

// Default materials.
const WATER: u8 = 1;
const GRASS: u8 = 2;
const SNOW: u8 = 10;
const BASALT: u8 = 13;

/// Ground, rock, sandstone, limestone, slate and rock again.
const STRATA: [u8; 6] = [14, 8, 11, 21, 3, 8];

/// Chunks of the world, each axis, from the origin.
const CHUNKS: [i32; 3] = [16, 6, 16];

/// The rough world.
pub fn world() -> World {
    World::new("rough", grid(CHUNKS))
}

/// A part of it from the origin on, in chunks.
pub fn grid([x, y, z]: [i32; 3]) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for p in Region::new([0; 3], [x, y, z]).voxels() {
        fill_chunk(ChunkPos::new(p.x, p.y, p.z), &mut cells);
        let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    }
    grid
}

fn fill_chunk(chunk: ChunkPos, cells: &mut DenseBox) {
    cells.reset(chunk.region());
    let Region { min, max } = chunk.region();
    for z in min.z..max.z {
        for x in min.x..max.x {
            let ground = height(x as f32 + 0.5, z as f32 + 0.5);
            let slope = [
                height(x as f32 + 1.5, z as f32 + 0.5) - ground,
                height(x as f32 + 0.5, z as f32 + 1.5) - ground,
            ];
            let rise_length = (1.0 + slope[0] * slope[0] + slope[1] * slope[1]).sqrt();
            for y in min.y..max.y {
                let p = VoxelPos::new(x, y, z);
                cells.set(p, cell(p, ground, rise_length));
            }
        }
    }
}

fn cell(p: VoxelPos, ground: f32, rise_length: f32) -> Cell {
    let [x, y, z] = p.to_array().map(|v| v as f32 + 0.5);
    let above = (ground - y) / rise_length;
    if above < -0.5 {
        return if y < 60.0 { Cell::full(WATER) } else { Cell::AIR };
    }
    let tunnel = |seed| noise3(seed, [x / 23.0, y / 17.0, z / 23.0]) - 0.5;
    let (a, b) = (tunnel(7), tunnel(8));
    let inside = above.min(((a * a + b * b).sqrt() - 0.09) * 20.0);
    match occupancy_units(f64::from(inside)) {
        0 => Cell::AIR,
        units => Cell::new(material(x, y, z, above), (units - 1) as u8),
    }
}

fn material(x: f32, y: f32, z: f32, depth: f32) -> u8 {
    if depth < 2.0 {
        return if y > 130.0 { SNOW } else { GRASS };
    }
    let layer = y + 14.0 * noise3(11, [x / 50.0, y / 50.0, z / 50.0]);
    let ore = noise3(12, [x / 9.0, y / 9.0, z / 9.0]);
    if ore > 0.83 { BASALT } else { STRATA[(layer / 11.0) as usize % STRATA.len()] }
}

fn height(x: f32, z: f32) -> f32 {
    let octave = |n: u32, scale: f32| noise3(n, [x / scale, 0.5, z / scale]) - 0.5;
    85.0 + 130.0 * octave(1, 190.0)
        + 50.0 * octave(2, 71.0)
        + 18.0 * octave(3, 23.0)
        + 5.0 * octave(4, 7.0)
}

/// Value noise in 0..1.
fn noise3(seed: u32, at: [f32; 3]) -> f32 {
    let base = at.map(f32::floor);
    let t: [f32; 3] = std::array::from_fn(|a| {
        let f = at[a] - base[a];
        f * f * (3.0 - 2.0 * f)
    });
    let mut sum = 0.0;
    for corner in 0..8u32 {
        let mut weight = 1.0;
        let mut hash = SEED ^ seed.wrapping_mul(0x9e37_79b9);
        for axis in 0..3 {
            let far = corner >> axis & 1;
            weight *= if far == 1 { t[axis] } else { 1.0 - t[axis] };
            hash = (hash ^ (base[axis] as i32 as u32).wrapping_add(far)).wrapping_mul(0x85eb_ca6b);
            hash ^= hash >> 13;
        }
        hash = hash.wrapping_mul(0xc2b2_ae35);
        sum += weight * ((hash ^ hash >> 16) & 0xffff) as f32;
    }
    sum / 65_535.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_not_one_material() {
        let memory = grid([2, 6, 2]).memory();
        let mixed = memory.mip_0 as f64 / (memory.chunks as f64 * 65_536.0);
        assert!((0.15..0.7).contains(&mixed), "{mixed}");
    }

    #[test]
    fn noise_is_in_its_range_and_continuous() {
        for i in 0..2000 {
            let x = i as f32 * 0.037;
            let (a, b) = (noise3(3, [x, 0.4, 1.7]), noise3(3, [x + 0.001, 0.4, 1.7]));
            assert!((0.0..=1.0).contains(&a) && (a - b).abs() < 0.01);
        }
    }
}
