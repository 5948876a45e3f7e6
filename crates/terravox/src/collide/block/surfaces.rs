//! Surfaces and rays for tests of the tree.

use glam::Vec3;

use super::{BuildScratch, QuadBvh};
use crate::mesh::{BlockMesh, Mesher, Numbers, PAD, Surface};
use crate::voxel::{Cell, DenseBox, MaterialTable, Region, VoxelPos};

const BLOCK: [i32; 3] = [-8, 16, -24];

impl Numbers {
    /// In `low..high`.
    pub(super) fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.next() as f64 / (1u64 << 53) as f64) as f32
    }

    pub(super) fn point(&mut self, low: f32, high: f32) -> Vec3 {
        Vec3::from([0; 3].map(|_| self.within(low, high)))
    }

    pub(super) fn direction(&mut self) -> Vec3 {
        loop {
            let v = self.point(-1.0, 1.0);
            if (0.1..1.0).contains(&v.length()) {
                return v;
            }
        }
    }
}

pub(super) fn meshed(cell: impl Fn([i32; 3]) -> Cell) -> Surface {
    let region = Region::new(BLOCK, BLOCK.map(|c| c + 8));
    let mut cells = DenseBox::new(region.grow(PAD));
    for p in cells.region().voxels() {
        let [x, y, z] = (p - VoxelPos::from(BLOCK)).to_array();
        cells.set(p, cell([x, y, z]));
    }
    let mut mesh = BlockMesh::new();
    Mesher::new().mesh(&cells, &MaterialTable::default(), &mut mesh);
    mesh.solid
}

/// Rock up to `depth` cells below a point.
pub(super) fn filled(depth: f32) -> Cell {
    let units = ((0.5 + depth).clamp(0.0, 1.0) * 256.0).round() as i32;
    if units < 1 { Cell::AIR } else { Cell::new(5, (units - 1) as u8) }
}

/// Rolling ground with an overhang: what terrain looks like.
pub(super) fn ground(seed: u64) -> Surface {
    let mut numbers = Numbers::new(seed);
    let tilt = numbers.point(-0.5, 0.5);
    let at = numbers.point(2.0, 6.0);
    let level = numbers.within(1.0, 7.0);
    meshed(|cell| {
        let p = Vec3::from(cell.map(|c| c as f32 + 0.5));
        let hill =
            level + (p.x - 4.0) * tilt.x + (p.z - 4.0) * tilt.z + (p.x * 0.9).sin() * tilt.y - p.y;
        filled(hill.min(p.distance(at) - 2.0))
    })
}

/// Cells at random, `solid` of 8 solid.
pub(super) fn noise(seed: u64, solid: u64) -> Surface {
    let mut numbers = Numbers::new(seed);
    let random: Vec<u64> = (0..12 * 12 * 12).map(|_| numbers.next()).collect();
    meshed(|[x, y, z]| {
        let bits = random[((x + 2) + 12 * (z + 2) + 144 * (y + 2)) as usize];
        if bits % 8 < solid { Cell::new(5, (bits >> 8) as u8) } else { Cell::AIR }
    })
}

pub(super) fn flat_floor() -> Surface {
    meshed(|[_, y, _]| if y < 4 { Cell::new(5, 255) } else { Cell::AIR })
}

pub(super) fn checkerboard() -> Surface {
    meshed(|[x, y, z]| if (x + y + z) & 1 == 0 { Cell::new(5, 255) } else { Cell::AIR })
}

/// A surface of given quads. Normals are up.
pub(super) fn surface_of(positions: Vec<[f32; 3]>, quads: &[[u32; 4]]) -> Surface {
    Surface {
        normals: vec![[0.0, 1.0, 0.0]; positions.len()],
        positions,
        indices: quads.iter().flat_map(|&[a, b, c, d]| [a, b, c, a, c, d]).collect(),
        quad_materials: vec![0; quads.len()],
        ..Surface::default()
    }
}

pub(super) fn faces(surface: &Surface) -> Vec<[u8; 4]> {
    (0..surface.quad_count())
        .map(|q| [q as u8 % 8, q as u8 / 8 % 8, q as u8 % 7, q as u8 % 6])
        .collect()
}

pub(super) fn tree_of(surface: &Surface) -> Option<QuadBvh> {
    QuadBvh::build(surface, &faces(surface), &[], &mut BuildScratch::default())
}

pub(super) fn tree(surface: &Surface) -> QuadBvh {
    tree_of(surface).expect("the surface has area")
}

/// Every surface that the properties are tried on.
pub(super) fn surface_from(kind: usize, seed: u64) -> Surface {
    match kind {
        0 => noise(seed, 4),
        1 => noise(seed, 1),
        2 => flat_floor(),
        _ => ground(seed),
    }
}

/// Rays from outside and inside, along axes, along edges and through vertices.
pub(super) fn ray_through(surface: &Surface, numbers: &mut Numbers) -> (Vec3, Vec3) {
    let vertex = |numbers: &mut Numbers| {
        Vec3::from(surface.positions[numbers.next() as usize % surface.positions.len()])
    };
    let origin = match numbers.next() % 3 {
        0 => numbers.point(0.0, 8.0),
        1 => numbers.point(-8.0, 16.0),
        _ => vertex(numbers) + numbers.direction() * numbers.within(0.01, 9.0),
    };
    let direction = match numbers.next() % 6 {
        0 => numbers.direction(),
        1 => numbers.point(0.0, 8.0) - origin,
        2 => vertex(numbers) - origin,
        3 => {
            let mut axis = Vec3::ZERO;
            axis[numbers.next() as usize % 3] = if numbers.next() & 1 == 0 { 1.0 } else { -1.0 };
            axis
        }
        4 => vertex(numbers) - vertex(numbers),
        _ => {
            let mut slanted = numbers.direction();
            slanted[numbers.next() as usize % 3] = 0.0;
            slanted
        }
    };
    (origin, direction)
}
