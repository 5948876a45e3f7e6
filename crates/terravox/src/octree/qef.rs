//! Quadratic error functions: sums of squared distances to planes, and the minimising point.
//!
//! Source: "Dual Contouring of Hermite Data" (Ju et al. 2002); regularised like the mesher's
//! vertices, so that a flat patch keeps its mean point. Positions are relative to the centre of the
//! node that the planes belong to, in cells, so that f32 is precise enough.

use crate::math::dot;
use crate::mesh::solved;

/// Regularisation: weight of the mean point.
const SOFTNESS: f32 = 0.05;

/// A sum over planes with unit normals and a point on each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct Qef {
    /// Products of normals AᵀA (xx, xy, xz, yy, yz, zz; its trace is the number of planes), then
    /// from [`B`] normals times distances, at [`C`] squared distances, from [`POINTS`] points, and
    /// from [`NORMALS`] normals.
    sums: [f32; 16],
}

/// Index in [`Qef::sums`] of Aᵀb, three numbers: the sum of the normals times their distances.
const B: usize = 6;
/// Index of bᵀb: the sum of the squared distances of the planes from the centre.
const C: usize = 9;
/// Index of the sum of the points.
const POINTS: usize = 10;
/// Index of the sum of the normals.
const NORMALS: usize = 13;

impl Qef {
    /// Returns the QEF of a plane through `point`, in cells from the node's centre, with a unit
    /// normal.
    #[inline]
    pub fn plane(point: [f32; 3], normal: [f32; 3]) -> Qef {
        let ([x, y, z], [px, py, pz]) = (normal, point);
        let d = dot(normal, point);
        let a = [x * x, x * y, x * z, y * y, y * z, z * z];
        let [xx, xy, xz, yy, yz, zz] = a;
        let sums = [xx, xy, xz, yy, yz, zz, x * d, y * d, z * d, d * d, px, py, pz, x, y, z];
        Qef { sums }
    }

    /// Returns the number of planes.
    #[inline]
    pub fn weight(&self) -> f32 {
        (self.sums[0] + self.sums[3]) + self.sums[5]
    }

    /// Adds the planes of another QEF.
    #[inline]
    pub fn add(&mut self, other: &Qef) {
        for i in 0..16 {
            self.sums[i] += other.sums[i];
        }
    }

    /// Returns the same planes relative to another centre, from which this one's lies at `step`.
    #[inline]
    pub fn seen_from(&self, step: [f32; 3]) -> Qef {
        let product = self.times_ata(step);
        let weight = self.weight();
        let mut moved = *self;
        for i in 0..3 {
            moved.sums[B + i] += product[i];
            moved.sums[POINTS + i] += weight * step[i];
        }
        moved.sums[C] += 2.0 * dot(self.three(B), step) + dot(product, step);
        moved
    }

    #[inline]
    fn three(&self, from: usize) -> [f32; 3] {
        [self.sums[from], self.sums[from + 1], self.sums[from + 2]]
    }

    /// Returns AᵀA · v.
    #[inline]
    fn times_ata(&self, v: [f32; 3]) -> [f32; 3] {
        let [xx, xy, xz, yy, yz, zz, ..] = self.sums;
        [dot([xx, xy, xz], v), dot([xy, yy, yz], v), dot([xz, yz, zz], v)]
    }

    /// Returns the point within `reach` of the centre on each axis that minimises the squared
    /// distances; the centre if there is no plane.
    #[inline]
    pub(crate) fn least(&self, reach: f32) -> [f32; 3] {
        let weight = self.weight();
        let inverse = 1.0 / if weight > 0.0 { weight } else { 1.0 };
        let (mean, b) = (self.three(POINTS).map(|p| p * inverse), self.three(B));
        let product = self.times_ata(mean);
        let r: [f32; 3] = std::array::from_fn(|i| b[i] - product[i]);
        let [xx, xy, xz, yy, yz, zz, ..] = self.sums;
        let soft = weight * (SOFTNESS / 3.0);
        let step = solved([xx, xy, xz, yy, yz, zz], soft, r);
        std::array::from_fn(|i| {
            let x = mean[i] + step[i];
            if x > reach {
                reach
            } else if x >= -reach {
                x
            } else {
                -reach
            }
        })
    }

    /// Returns the sum of the normals.
    pub(crate) fn normal(&self) -> [f32; 3] {
        self.three(NORMALS)
    }

    /// Returns the root mean square distance of a point from the planes, in cells; NaN without
    /// planes.
    pub(super) fn error(&self, point: [f32; 3]) -> f32 {
        (self.squares(point) / self.weight()).sqrt()
    }

    /// Returns the sum of the squared distances of a point from the planes.
    pub fn squares(&self, point: [f32; 3]) -> f32 {
        let sum = dot(self.times_ata(point), point) - 2.0 * dot(self.three(B), point);
        let sum = sum + self.sums[C];
        if sum > 0.0 { sum } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(planes: &[([f32; 3], [f32; 3])]) -> Qef {
        let mut all = Qef::default();
        planes.iter().for_each(|&(point, normal)| all.add(&Qef::plane(point, normal)));
        all
    }

    #[test]
    fn three_planes_meet_in_a_corner() {
        let (x, y, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        let corner = sum(&[([0.3, 0.0, 0.1], x), ([0.0, -0.2, 0.1], y), ([0.1, 0.0, 0.4], z)]);
        let found = corner.least(1.0);
        for (offset, at) in found.into_iter().zip([0.3, -0.2, 0.4]) {
            assert!((offset - at).abs() < 0.03, "{found:?}");
        }
        assert!(corner.error(found) < 0.03 && corner.least(0.25)[2] == 0.25);
    }

    #[test]
    fn a_flat_patch_keeps_its_mean_point_and_costs_nothing() {
        let up = [0.0, 1.0, 0.0];
        let flat = sum(&[([-1.0, 0.5, 0.0], up), ([2.0, 0.5, 1.0], up)]);
        let found = flat.least(4.0);
        assert_eq!(found, [0.5, 0.5, 0.5]);
        assert_eq!((flat.error(found), flat.normal()), (0.0, [0.0, 2.0, 0.0]));
        assert!(flat.squares([0.0, 1.5, 0.0]) == 2.0);
    }

    #[test]
    fn planes_seen_from_elsewhere_are_the_same_planes() {
        let n = [0.48, 0.6, 0.64];
        let here = sum(&[([0.2, -0.1, 0.3], n), ([-0.4, 0.5, 0.0], [1.0, 0.0, 0.0])]);
        let step = [1.0, -2.0, 0.5];
        let there = here.seen_from(step);
        let moved = |p: [f32; 3]| [p[0] + step[0], p[1] + step[1], p[2] + step[2]];
        for point in [[0.0; 3], [0.7, 0.1, -0.6]] {
            assert!((here.squares(point) - there.squares(moved(point))).abs() < 1e-4);
        }
        assert!((there.least(9.0)[0] - moved(here.least(9.0))[0]).abs() < 1e-5);
    }

    #[test]
    fn no_plane_and_no_number_give_a_point_within_reach() {
        assert_eq!(Qef::default().least(1.0), [0.0; 3]);
        let broken = Qef::plane([f32::NAN; 3], [0.0, 1.0, 0.0]).least(2.0);
        assert!(broken.iter().all(|x| x.abs() <= 2.0));
    }
}
