//! How far the surface is off where a block meets one twice as coarse: on rough ground,
//! along the vertical, from the surface that all fine blocks would show.
//!
//! Source of the ground: Perlin, "An image synthesizer" (1985), sums of octaves.

use glam::{DVec2, DVec3};
use rustc_hash::FxHashMap;
use terravox::generate::occupancy_units;
use terravox::voxel::{Cell, DenseBox, GridOptions, MipBlock, Region, VoxelGrid, VoxelPos};

use super::ours::Shown;
use crate::mesh::surface::Surface;
use crate::report::Report;

/// Seams that are measured.
const SEAMS: u64 = 8;

/// Measures `seam_height_p99`.
pub fn run(report: &mut Report) {
    let (mut seam, mut coarse) = (Vec::new(), Vec::new());
    for seed in 0..SEAMS {
        let grid = ground(Region::new([0; 3], [192, 128, 128]), 100 + seed);
        measure(&grid, &mut seam, &mut coarse);
    }
    let note = format!(
        "median {:.3}, mean {:.3}; coarse blocks alone p99 {:.3}; {} points",
        quantile(&mut seam, 0.5),
        seam.iter().sum::<f64>() / seam.len() as f64,
        quantile(&mut coarse, 0.99),
        seam.len()
    );
    report.set("seam_height_p99", quantile(&mut seam, 0.99), note);
}

/// Rough ground that fills `region` up to some height, with air around.
pub fn ground(region: Region, seed: u64) -> VoxelGrid {
    let mut cells = DenseBox::new(region);
    let Region { min, max } = region.grow(-8);
    let middle = f64::from(min.y + max.y) * 0.5;
    for (x, z) in (min.z..max.z).flat_map(|z| (min.x..max.x).map(move |x| (x, z))) {
        let at = |dx: f64, dz: f64| {
            middle + height(seed, f64::from(x) + 0.5 + dx, f64::from(z) + 0.5 + dz)
        };
        let ground = at(0.0, 0.0);
        let steep = 1f64.hypot(at(0.5, 0.0) - at(-0.5, 0.0)).hypot(at(0.0, 0.5) - at(0.0, -0.5));
        for y in min.y..max.y {
            let inside = (ground - f64::from(y) - 0.5) / steep;
            let units = occupancy_units(inside);
            if units > 0 {
                cells.set(VoxelPos::new(x, y, z), Cell::new(3, (units - 1) as u8));
            }
        }
    }
    let mut grid = VoxelGrid::new(GridOptions::default());
    let Ok(()) = grid.write(&cells) else { unreachable!("unlisted chunks are air") };
    grid
}

/// Five octaves, each half as wide and nearly half as high as the one before.
fn height(seed: u64, x: f64, z: f64) -> f64 {
    let octave = |n: u64, scale: f64, high: f64| {
        high * (noise(seed * 8 + n, DVec2::new(x, z) / scale) - 0.5)
    };
    octave(0, 64.0, 36.0)
        + octave(1, 32.0, 19.0)
        + octave(2, 16.0, 10.0)
        + octave(3, 8.0, 4.0)
        + octave(4, 4.0, 1.2)
}

/// Value noise in 0..1.
fn noise(seed: u64, at: DVec2) -> f64 {
    let base = at.floor();
    let t = at - base;
    let t = t * t * (DVec2::splat(3.0) - 2.0 * t);
    let value = |dx: i64, dz: i64| {
        let at = [base.x as i64 + dx, base.y as i64 + dz];
        let mut hash = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for c in at {
            hash = (hash ^ c as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^= hash >> 29;
        }
        (hash >> 40) as f64 / (1u64 << 24) as f64
    };
    let row = |dz: i64| value(0, dz) * (1.0 - t.x) + value(1, dz) * t.x;
    row(0) * (1.0 - t.y) + row(1) * t.y
}

/// Errors over the faces at the seam between blocks of mip 0 at low x and of mip 1, and
/// over those of the coarse blocks.
fn measure(grid: &VoxelGrid, seam: &mut Vec<f64>, coarse: &mut Vec<f64>) {
    let bounds = grid.bounds();
    let middle = 64;
    let shown = |voxel: VoxelPos| u8::from(voxel.x >= middle);
    let mut meshes = Shown::new();
    let (mut fine, mut mixed) = (Surface::default(), Surface::default());
    for pos in bounds.coarser(5).voxels() {
        let block = MipBlock { mip: 0, pos };
        fine.append(&meshes.solid(grid, block, |_| 0));
        if block.voxels().min.x < middle {
            mixed.append(&meshes.solid(grid, block, shown));
        }
    }
    for pos in bounds.coarser(6).voxels() {
        let block = MipBlock { mip: 1, pos };
        if block.voxels().min.x >= middle {
            mixed.append(&meshes.solid(grid, block, shown));
        }
    }
    let columns = Columns::new(&fine);
    for &triangle in &mixed.triangles {
        let corners = triangle.map(|v| mixed.keys[v as usize][0]);
        let of = if corners.contains(&(2 * middle)) {
            &mut *seam
        } else if corners.iter().all(|&x| x > 2 * middle) {
            &mut *coarse
        } else {
            continue;
        };
        let one = Surface { triangles: vec![[0, 1, 2]], ..of_triangle(&mixed, triangle) };
        one.sample(|point, area| {
            let inner = |a: f64, edge: i32| (16.0..f64::from(edge) - 16.0).contains(&a);
            let within = inner(point.x, bounds.max.x) && inner(point.z, bounds.max.z);
            if within
                && area > 1e-6
                && let Some(error) = columns.error(point)
            {
                of.push(error);
            }
        });
    }
}

fn of_triangle(of: &Surface, triangle: [u32; 3]) -> Surface {
    Surface { positions: of.corners(triangle).to_vec(), ..Surface::default() }
}

/// The triangles of a surface by unit column.
struct Columns {
    triangles: Vec<[DVec3; 3]>,
    columns: FxHashMap<[i32; 2], Vec<u32>>,
}

impl Columns {
    fn new(surface: &Surface) -> Columns {
        let triangles: Vec<_> = surface.triangles.iter().map(|&t| surface.corners(t)).collect();
        let mut columns: FxHashMap<[i32; 2], Vec<u32>> = FxHashMap::default();
        for (at, [a, b, c]) in triangles.iter().enumerate() {
            let min = a.min(*b).min(*c).floor().as_ivec3();
            let max = a.max(*b).max(*c).floor().as_ivec3();
            for (x, z) in (min.x..=max.x).flat_map(|x| (min.z..=max.z).map(move |z| (x, z))) {
                columns.entry([x, z]).or_default().push(at as u32);
            }
        }
        Columns { triangles, columns }
    }

    /// Vertical distance from a point to the surface; none if that is not above or below.
    fn error(&self, point: DVec3) -> Option<f64> {
        let home = point.floor().as_ivec3();
        let list = self.columns.get(&[home.x, home.z])?;
        let heights = list.iter().filter_map(|&at| height_at(self.triangles[at as usize], point));
        heights.map(|height| (height - point.y).abs()).reduce(f64::min)
    }
}

/// Height of a triangle above or below a point.
fn height_at([a, b, c]: [DVec3; 3], point: DVec3) -> Option<f64> {
    let normal = (b - a).cross(c - a);
    if normal.y.abs() < 1e-9 {
        return None;
    }
    let side = |p: DVec3, q: DVec3| {
        ((q.z - p.z) * (point.x - p.x) - (q.x - p.x) * (point.z - p.z)) * normal.y.signum()
    };
    let inside = [(a, b), (b, c), (c, a)].into_iter().all(|(p, q)| side(p, q) >= -1e-9);
    let offset = normal.x * (point.x - a.x) + normal.z * (point.z - a.z);
    inside.then(|| a.y - offset / normal.y)
}

/// The value that a share of all do not exceed. Sorts them.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let at = (share * (values.len() as f64 - 1.0)).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_those_of_the_triangle_below() {
        let triangle = [DVec3::ZERO, DVec3::new(0.0, 2.0, 2.0), DVec3::new(2.0, 2.0, 0.0)];
        let height = height_at(triangle, DVec3::new(0.5, 9.0, 0.5));
        assert_eq!(height, Some(1.0));
        assert_eq!(height_at(triangle, DVec3::new(1.5, 0.0, 1.5)), None);
    }

    #[test]
    fn quantiles_are_values() {
        let mut values = [3.0, 1.0, 2.0];
        assert_eq!((quantile(&mut values, 0.5), quantile(&mut values, 1.0)), (2.0, 3.0));
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
