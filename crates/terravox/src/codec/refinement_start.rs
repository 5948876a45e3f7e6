//! Synthetic ground, on which the models of a refinement are trained before the first box.
//!
//! Without it, each box would take a tenth more bytes, to learn what all ground has in common.
//! Hills and caves of value noise in integers, so that all machines begin alike.

use crate::voxel::{AIR, Cell, DenseBox, Region, VoxelPos};

/// Boxes to learn from.
pub(super) const BOXES: u32 = 12;

/// A number of −512 to 511 for a point of a lattice.
fn lattice(x: i32, y: i32, z: i32, seed: u32) -> i32 {
    let mut v = (x as u32).wrapping_mul(0x9E37_79B1)
        ^ (y as u32).wrapping_mul(0x85EB_CA77)
        ^ (z as u32).wrapping_mul(0xC2B2_AE3D)
        ^ seed.wrapping_mul(0x27D4_EB2F);
    v = (v ^ v >> 15).wrapping_mul(0x2C1B_3C6D);
    v = (v ^ v >> 12).wrapping_mul(0x297A_2D39);
    ((v ^ v >> 15) & 1023) as i32 - 512
}

/// Smooth noise over a lattice with an edge of 2^`edge_log2`.
fn noise(at: [i32; 3], edge_log2: i32, seed: u32) -> i32 {
    let edge = 1 << edge_log2;
    let low = at.map(|v| v >> edge_log2);
    let part = at.map(|v| {
        let t = (v & (edge - 1)) * 256 / edge;
        t * t * (768 - 2 * t) / 65_536
    });
    let between = |a: i32, b: i32, t: i32| a + (b - a) * t / 256;
    let along_x = |y: i32, z: i32| {
        let corner = |x: i32| lattice(low[0] + x, low[1] + y, low[2] + z, seed);
        between(corner(0), corner(1), part[0])
    };
    let along_z = |y: i32| between(along_x(y, 0), along_x(y, 1), part[2]);
    between(along_z(0), along_z(1), part[1])
}

/// A box of ground, and the cells over it.
pub(super) fn ground(number: u32) -> [DenseBox; 2] {
    let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]));
    let (rough, has_caves) = (1 << (number % 3), number % 2 == 1);
    for pos in cells.region().voxels() {
        let at = pos.to_array();
        let flat = [pos.x, 0, pos.z];
        let mut depth = (16 - pos.y) * 256
            + noise(flat, 5, number) * 3 * rough / 2
            + noise(flat, 4, number + 7) * 3 * rough / 4
            + noise(flat, 3, number + 9) * rough / 4;
        if has_caves {
            depth += noise(at, 4, number + 3) * 6 + noise(at, 3, number + 4) * 2;
        }
        let units = (depth / if has_caves { 3 } else { 1 } + 128).clamp(0, 256);
        let material = match depth {
            _ if noise(at, 4, number + 20) > 140 => 12,
            701.. => 8,
            _ => 6,
        };
        if units > 0 {
            cells.set(pos, Cell { material, occupancy: (units - 1) as u8 });
        }
    }
    let mut coarser = DenseBox::new(cells.region().coarser(1));
    for pos in coarser.region().voxels() {
        coarser.set(pos, over(&cells, pos));
    }
    [cells, coarser]
}

/// The mean of eight cells: the material that has most, the lowest of these.
fn over(cells: &DenseBox, pos: VoxelPos) -> Cell {
    let (mut sum, mut most) = (0, (0, AIR));
    for material in [6, 8, 12] {
        let below = Region::one(pos).finer(1).voxels().map(|pos| cells.cell(pos));
        let own = below.filter(|cell| cell.material == material).map(Cell::units).sum::<u32>();
        sum += own;
        if own > most.0 {
            most = (own, material);
        }
    }
    match sum {
        0 => Cell::AIR,
        _ => Cell { material: most.1, occupancy: (sum.div_ceil(8) - 1) as u8 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::Xxh3;

    #[test]
    fn the_ground_is_always_the_same() {
        let mut hash = Xxh3::new();
        for cells in (0..BOXES).flat_map(ground) {
            hash.update(cells.materials());
            hash.update(cells.occupancies());
        }
        assert_eq!(format!("{:016x}", hash.digest()), "083297cf7c3e4de6");
    }
}
