//! The directions in which a triangle may push: along its normal, and at each of its sides as
//! far towards the neighbour's normal as the side's angle allows. So a body that slides over an
//! inner edge gets no bump, and one that lies on a ridge is held.
//!
//! After the contact rule of Jolt's active edges, with the angles of
//! [`edge_angles`](crate::collide::edge_angles) as measured for this project.

use glam::{Mat3, Vec3};

use crate::collide::QuadBvh;
use crate::geometry::EdgeAngle;

/// Sines below this are rounding: the direction is the normal.
const STRAIGHT: f32 = 1e-5;

/// Cosine above which the two triangles of a quad are flat: 0.35°.
const FLAT: f32 = 0.999_981_3;

/// Cosine below which the quad is folded, not convex: 150°.
const FOLD: f32 = -0.866_025_4;

/// The directions in which a triangle may push, by the angles of its sides.
pub(super) struct PushCone<'a> {
    pub tree: &'a QuadBvh,
    pub quad: u16,
    /// Whether it is the quad's second triangle.
    pub second: bool,
    /// Four bits a side of the quad.
    pub angles: u16,
    /// Corners relative to any origin, along `axes`.
    pub triangle: [Vec3; 3],
    /// Unit.
    pub normal: Vec3,
    /// Rotation from these axes to the world's.
    pub axes: Mat3,
}

impl PushCone<'_> {
    /// Whether no side is convex: the triangle may push along its normal only.
    pub fn is_flat(&self) -> bool {
        let (own, diagonal) = if self.second { (0xff00, 0) } else { (0x00ff, 2) };
        self.angles & own == 0 && self.diagonal(diagonal)[1] == 0.0
    }

    /// The direction nearest to `direction`, a unit vector that points out of the front,
    /// along which the triangle may push.
    pub fn clamp(&self, direction: Vec3) -> Vec3 {
        let along = direction.dot(self.normal);
        let aside = direction - self.normal * along;
        if aside.length_squared() < STRAIGHT * STRAIGHT {
            return self.normal;
        }
        // The side that it leans over most; squares, so that no root is needed.
        let (mut side, mut most) = (0, f32::NEG_INFINITY);
        for i in 0..3 {
            let edge = self.triangle[(i + 1) % 3] - self.triangle[i];
            let outward = edge.cross(self.normal).dot(aside);
            let outward = outward * outward.abs() / edge.length_squared();
            if outward > most {
                (most, side) = (outward, i);
            }
        }
        let [cos, sin] = self.angle(side);
        match along >= cos {
            true => direction,
            false => self.normal * cos + aside.normalize() * sin,
        }
    }

    /// Cosine and sine of the angle at a side of the triangle.
    fn angle(&self, side: usize) -> [f32; 2] {
        // The first triangle is corners 0, 1, 2, the second 0, 2, 3: its first side, the
        // other's last, is the diagonal.
        let of_quad = match (self.second, side) {
            (false, 0) => 0,
            (false, 1) => 1,
            (true, 1) => 2,
            (true, 2) => 3,
            _ => return self.diagonal(side),
        };
        let angle = EdgeAngle::of_side(self.angles, of_quad);
        [angle.cos, angle.sin]
    }

    /// As [`PushCone::angle`], exactly, from the quad's other triangle.
    fn diagonal(&self, side: usize) -> [f32; 2] {
        let other = self.tree.triangle(self.quad, !self.second);
        let [a, b, c] = other.corners.map(Vec3::from);
        let normal = self.axes.transpose() * (b - a).cross(c - a).normalize_or_zero();
        let edge = self.triangle[(side + 1) % 3] - self.triangle[side];
        let outward = edge.cross(self.normal).normalize_or_zero();
        let (cos, sin) = (normal.dot(self.normal), normal.dot(outward));
        let convex = sin > 0.0 && cos < FLAT && cos > FOLD;
        if convex { [cos, sin] } else { [1.0, 0.0] }
    }
}
