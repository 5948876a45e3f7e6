//! Seeded random numbers, and random grids that are closed in their region.
//!
//! Sources of the numbers: Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators" (2014), the SplitMix64 finaliser over a counter; Knuth, "The Art of Computer
//! Programming", volume 2, §3.3.4, the linear congruences of MMIX.

use glam::{DQuat, DVec3};
use terravox::voxel::{Cell, DenseBox, Region, VoxelPos};

/// A seeded stream of numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u32
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point of the unit cube.
    pub fn point(&mut self) -> DVec3 {
        DVec3::new(self.unit(), self.unit(), self.unit())
    }

    /// A unit vector, every direction equally likely.
    pub fn direction(&mut self) -> DVec3 {
        loop {
            let p = self.point() * 2.0 - DVec3::ONE;
            let length = p.length();
            if length > 0.01 && length <= 1.0 {
                return p / length;
            }
        }
    }

    /// A rotation, every one equally likely.
    pub fn rotation(&mut self) -> DQuat {
        loop {
            let part = |rng: &mut Rng| rng.unit() * 2.0 - 1.0;
            let q = DQuat::from_xyzw(part(self), part(self), part(self), part(self));
            if q.length() > 0.01 && q.length() <= 1.0 {
                return q.normalize();
            }
        }
    }
}

/// A seeded stream of numbers by linear congruences.
#[derive(Clone, Debug)]
pub struct Lcg(pub u64);

impl Lcg {
    /// The next 24 bits.
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 40) as u32
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f32 {
        self.bits() as f32 / (1 << 24) as f32
    }

    /// A number in -1..1.
    pub fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f32) as usize).min(end - 1)
    }
}

/// Kinds of random grids: each provokes another weakness of a mesher.
const PATTERNS: u32 = 6;

/// A cube of `edge` random cells at the origin, its outermost cells air. `seed`
/// chooses the pattern, the density and whether water is among the materials.
pub fn closed_grid(seed: u64, edge: i32) -> DenseBox {
    let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let pattern = seed as u32 % PATTERNS;
    let density = 0.05 + 0.9 * rng.unit();
    let water = if rng.below(3) == 0 { 0.2 } else { 0.0 };
    let coarse: Vec<f64> = (0..64).map(|_| rng.unit()).collect();
    let mut cells = DenseBox::new(Region::new([0; 3], [edge; 3]));
    for p in Region::new([1; 3], [edge - 1; 3]).voxels() {
        if is_solid(pattern, density, &coarse, p, &mut rng) {
            let material = if rng.unit() < water { 1 } else { 2 + rng.below(21) as u8 };
            let occupancy = if rng.below(3) == 0 { 255 } else { rng.below(256) as u8 };
            cells.set(p, Cell::new(material, occupancy));
        }
    }
    cells
}

fn is_solid(pattern: u32, density: f64, coarse: &[f64], p: VoxelPos, rng: &mut Rng) -> bool {
    let noise = rng.unit() < density;
    match pattern {
        // White noise.
        0 => noise,
        // Lumps of 2³ cells with noise on their edges.
        1 => {
            let [x, y, z] = p.to_array().map(|v| (v / 2) & 3);
            let lump = x | (y << 2) | (z << 4);
            coarse[lump as usize] < density || rng.unit() < 0.02
        }
        // Checkerboards, every corner of which pairs its faces.
        2 => (p.x + p.y + p.z) % 2 == 0 && (noise || density > 0.5),
        // Sheets one cell thick, with holes.
        3 => (p.x + p.y) % 3 == 0 && (noise || density > 0.5),
        // Rods that touch along edges.
        4 => (p.x + p.y) % 2 == 0 && (p.z % 5 != 0 || noise),
        // Nearly full.
        _ => rng.unit() < 0.97,
    }
}

#[cfg(test)]
mod tests {
    use terravox::voxel::AIR;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_grid_and_its_boundary_is_air() {
        for seed in 0..12 {
            let cells = closed_grid(seed, 9);
            assert_eq!(cells, closed_grid(seed, 9));
            let inner = Region::new([1; 3], [8; 3]);
            let boundary = cells.region().voxels().filter(|&p| !inner.contains(p));
            assert!(boundary.into_iter().all(|p| cells.cell(p).is_air()));
            let filled = cells.materials().iter().filter(|&&m| m != AIR).count();
            assert!(filled > 0 && filled < 9 * 9 * 9, "seed {seed}: {filled}");
        }
        assert_ne!(closed_grid(0, 9), closed_grid(6, 9));
    }

    #[test]
    fn directions_and_rotations_are_of_unit_length_and_even() {
        let mut rng = Rng::new(5);
        let mut sum = DVec3::ZERO;
        for _ in 0..2000 {
            let d = rng.direction();
            assert!((d.length() - 1.0).abs() < 1e-12);
            sum += rng.rotation() * d;
        }
        assert!(sum.length() / 2000.0 < 0.05);
    }

    #[test]
    fn numbers_below_an_end_reach_all_of_them() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[rng.below(5) as usize] += 1);
        assert!(seen.iter().all(|&n| n > 120));
    }
}
