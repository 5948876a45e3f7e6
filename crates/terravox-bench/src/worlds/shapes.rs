//! Cells filled from a signed distance: shapes whose true surface is known.
//!
//! A cell's fill is `clamp(½ + d)`, `d` the signed distance in voxels from the
//! cell's centre to the surface, inside positive, stored as the nearest 256th, by the
//! rule that the library's own generators use.

use glam::{DQuat, DVec3};
use terravox::generate::occupancy_units;
use terravox::voxel::{Cell, DenseBox, Region};

/// Signed distance in voxels, inside positive.
pub trait Distance: Fn(DVec3) -> f64 {}
impl<F: Fn(DVec3) -> f64> Distance for F {}

/// The cell of `material` whose centre lies `distance` voxels inside the surface.
pub fn cell_at_distance(material: u8, distance: f64) -> Cell {
    match occupancy_units(distance) {
        0 => Cell::AIR,
        units => Cell::new(material, (units - 1) as u8),
    }
}

/// A box over `region` filled by `distance` with `material`.
pub fn filled(region: Region, material: u8, distance: impl Distance) -> DenseBox {
    let mut cells = DenseBox::new(region);
    for p in region.voxels() {
        let centre = DVec3::new(f64::from(p.x), f64::from(p.y), f64::from(p.z)) + 0.5;
        cells.set(p, cell_at_distance(material, distance(centre)));
    }
    cells
}

/// A ball.
pub fn ball(centre: DVec3, radius: f64) -> impl Distance {
    move |p| radius - p.distance(centre)
}

/// The half-space below the plane through `point` with the outward `normal`.
pub fn half_space(point: DVec3, normal: DVec3) -> impl Distance {
    move |p| (point - p).dot(normal)
}

/// A rotated box.
#[derive(Clone, Copy, Debug)]
pub struct TiltedBox {
    /// Its centre.
    pub centre: DVec3,
    /// Half its edges, before the rotation.
    pub half: DVec3,
    /// Turns it about its centre.
    pub rotation: DQuat,
}

impl TiltedBox {
    /// Its signed distance.
    pub fn distance(self) -> impl Distance {
        move |p| {
            let out = (self.rotation.inverse() * (p - self.centre)).abs() - self.half;
            let outside = out.max(DVec3::ZERO).length();
            -(outside + out.max_element().min(0.0))
        }
    }

    /// `n` points evenly along each of the twelve edges, in the middle of their steps.
    pub fn edge_points(self, n: usize) -> Vec<DVec3> {
        let mut points = Vec::with_capacity(12 * n);
        for axis in 0..3 {
            for signs in 0..4 {
                let sign = |bit: usize| if signs >> bit & 1 == 0 { -1.0 } else { 1.0 };
                for i in 0..n {
                    let mut p = DVec3::ZERO;
                    p[axis] = (i as f64 + 0.5) / n as f64 * 2.0 - 1.0;
                    p[(axis + 1) % 3] = sign(0);
                    p[(axis + 2) % 3] = sign(1);
                    points.push(self.centre + self.rotation * (p * self.half));
                }
            }
        }
        points
    }
}

/// A closed plate of `edge`² cells, one cell thick across `axis`, every cell with
/// the fill `units` / 256, lying in the middle of a box of `region`.
pub fn plate(region: Region, axis: usize, edge: i32, units: u32) -> DenseBox {
    let mut cells = DenseBox::new(region);
    let [sx, sy, sz] = region.size().map(|n| n as i32);
    let middle = [region.min.x + sx / 2, region.min.y + sy / 2, region.min.z + sz / 2];
    let (mut min, mut max) = (middle.map(|m| m - edge / 2), middle.map(|m| m - edge / 2 + edge));
    (min[axis], max[axis]) = (middle[axis], middle[axis] + 1);
    let cell = Cell::new(2, (units - 1) as u8);
    for p in Region::new(min, max).voxels() {
        cells.set(p, cell);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_whose_centre_is_on_the_surface_is_half_full() {
        assert_eq!(cell_at_distance(2, 0.0).units(), 128);
        assert_eq!(cell_at_distance(2, 0.5).units(), 256);
        assert_eq!(cell_at_distance(2, 9.0).units(), 256);
        assert_eq!(cell_at_distance(2, -0.5), Cell::AIR);
        assert_eq!(cell_at_distance(2, -0.4999), Cell::AIR);
        assert_eq!(cell_at_distance(2, -0.496).units(), 1);
    }

    #[test]
    fn a_ball_has_its_volume_in_occupancy() {
        let region = Region::new([0; 3], [32; 3]);
        let cells = filled(region, 2, ball(DVec3::splat(16.2), 12.0));
        let units: u64 = region.voxels().map(|p| u64::from(cells.cell(p).units())).sum();
        let volume = 4.0 / 3.0 * std::f64::consts::PI * 12f64.powi(3);
        assert!((units as f64 / 256.0 / volume - 1.0).abs() < 0.004);
    }

    #[test]
    fn a_tilted_box_is_as_far_as_its_faces_edges_and_corners() {
        let turned = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
        let shape = TiltedBox {
            centre: DVec3::new(1.0, 2.0, 3.0),
            half: DVec3::new(4.0, 5.0, 6.0),
            rotation: turned,
        };
        let distance = shape.distance();
        // Turned by 90°, the half edges along x and z change places.
        assert!((distance(DVec3::new(8.0, 2.0, 3.0)) + 1.0).abs() < 1e-9);
        assert!((distance(shape.centre) - 4.0).abs() < 1e-9);
        assert!((distance(DVec3::new(10.0, 11.0, 3.0)) + 5.0).abs() < 1e-9);
        let edges = shape.edge_points(7);
        assert_eq!(edges.len(), 84);
        assert!(edges.iter().all(|&p| distance(p).abs() < 1e-9));
    }

    #[test]
    fn a_plate_has_its_cells_across_each_axis() {
        for axis in 0..3 {
            let cells = plate(Region::new([0; 3], [16; 3]), axis, 8, 77);
            let filled: Vec<_> =
                cells.region().voxels().filter(|&p| !cells.cell(p).is_air()).collect();
            assert_eq!(filled.len(), 64);
            assert!(filled.iter().all(|p| p.to_array()[axis] == 8));
            assert!(filled.iter().all(|&p| cells.cell(p).units() == 77));
        }
    }
}
