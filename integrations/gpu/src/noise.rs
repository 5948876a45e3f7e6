//! Value noise in integers, in WGSL and in Rust: the same bits on every device. Twin of
//! `shaders/noise.wgsl`, line by line.

use crate::density::{Density, DensityPoint, DensitySample};
/// `fixed_noise2`, `fixed_noise3`: put it before the WGSL of a density.
pub const FIXED_NOISE_WGSL: &str = include_str!("shaders/noise.wgsl");

fn hash(at: [i32; 3], seed: u32) -> i32 {
    let mut hash = seed ^ 0x9e37_79b9;
    for axis in 0..3 {
        hash = (hash ^ at[axis] as u32).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 15)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 13;
    }
    (hash >> 16) as i32 - 32768
}

fn share(at: i32, log_period: u32) -> i32 {
    let passed = at as u32 & ((1 << log_period) - 1);
    let part =
        if log_period > 12 { passed >> (log_period - 12) } else { passed << (12 - log_period) };
    let part = part as i32;
    (((part * part) >> 12) * (12288 - 2 * part)) >> 12
}

fn mix(low: i32, high: i32, share: i32) -> i32 {
    low + (((high - low) * share) >> 12)
}

/// Returns noise of the plane, −32,768 to 32,767, with a period of 2^`log_period` in the unit of `x`
/// and `z`.
///
/// # Panics
/// With overflow checks, if `log_period` is above 31.
pub fn fixed_noise2(x: i32, z: i32, log_period: u32, seed: u32) -> i32 {
    let [at_x, at_z] = [x >> log_period, z >> log_period];
    let share_x = share(x, log_period);
    let row = |z: i32| {
        let low = hash([at_x, 0, z], seed);
        mix(low, hash([at_x.wrapping_add(1), 0, z], seed), share_x)
    };
    mix(row(at_z), row(at_z.wrapping_add(1)), share(z, log_period))
}

/// Returns noise of space, as [`fixed_noise2`].
///
/// # Panics
/// As [`fixed_noise2`].
pub fn fixed_noise3(at: [i32; 3], log_period: u32, seed: u32) -> i32 {
    let cell = at.map(|v| v >> log_period);
    let share_x = share(at[0], log_period);
    let row = |number: i32| {
        let (y, z) = (cell[1].wrapping_add(number >> 1), cell[2].wrapping_add(number & 1));
        let low = hash([cell[0], y, z], seed);
        mix(low, hash([cell[0].wrapping_add(1), y, z], seed), share_x)
    };
    let share_z = share(at[2], log_period);
    let [low, high] = [mix(row(0), row(1), share_z), mix(row(2), row(3), share_z)];
    mix(low, high, share(at[1], log_period))
}

/// Returns hills with caves, 64 m high, as a density that is the same everywhere: grass (material
/// 2) on soil (14) on rock (8).
pub fn fixed_ground(seed: u32) -> Density {
    let wgsl = format!(
        "{FIXED_NOISE_WGSL}\nconst GROUND_SEED = {seed}u;\n{}",
        include_str!("shaders/ground.wgsl")
    );
    Density::new(wgsl, move |at| ground(at, seed))
}

/// Returns the height of [`fixed_ground`] without its caves, in 1/256 voxels, at a column given in
/// half voxels.
pub fn ground_height(x: i32, z: i32, seed: u32) -> i32 {
    let octave = |log_period, number| fixed_noise2(x, z, log_period, seed.wrapping_add(number));
    ((octave(10, 0) * 64) >> 7)
        + ((octave(8, 1) * 16) >> 7)
        + ((octave(6, 2) * 4) >> 7)
        + ((octave(5, 3) * 3) >> 8)
}

fn ground(at: DensityPoint, seed: u32) -> DensitySample {
    let [x, y, z] = at.doubled;
    let height = ground_height(x, z, seed);
    let depth = height - y.clamp(-65536, 65536) * 128;
    let mut distance = depth;
    if at.mip <= 3 && depth.abs() < 65536 {
        let cave = fixed_noise3(at.doubled, 6, seed.wrapping_add(4));
        distance = depth.min(((cave.abs() - 4096) * 21) >> 8);
    }
    let material = match depth {
        ..256 => 2,
        256..1024 => 14,
        _ => 8,
    };
    DensitySample { distance: distance as f32 * 0.003_906_25, material }
}
