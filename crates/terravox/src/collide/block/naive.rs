//! The slow twin: every triangle of the mesher's surface, in f64.

use glam::DVec3;

use crate::mesh::Surface;

/// A triangle of the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    pub corners: [DVec3; 3],
    pub vertices: [u16; 3],
}

/// All triangles with area.
pub(super) fn triangles(surface: &Surface) -> Vec<Plain> {
    let plain = |v: [u32; 3]| Plain {
        corners: v.map(|v| DVec3::from(surface.positions[v as usize].map(f64::from))),
        vertices: v.map(|v| v as u16),
    };
    surface.triangles().map(plain).filter(|plain| plain.normal() != DVec3::ZERO).collect()
}

impl Plain {
    /// Not of unit length.
    pub fn normal(&self) -> DVec3 {
        let [a, b, c] = self.corners;
        (b - a).cross(c - a)
    }

    /// Where the line from `origin` along `direction` meets the triangle, which is
    /// `grown` by that share of its height; less than none for negative ones.
    pub fn meet(&self, origin: DVec3, direction: DVec3, grown: f64) -> Option<f64> {
        let [a, b, c] = self.corners.map(|corner| corner - origin);
        let weights = [b.cross(c), c.cross(a), a.cross(b)].map(|n| n.dot(direction));
        let whole: f64 = weights.iter().sum();
        if whole == 0.0 || weights.iter().any(|w| w / whole < -grown) {
            return None;
        }
        let middle = (a * weights[0] + b * weights[1] + c * weights[2]) / whole;
        Some(middle.dot(direction) / direction.length_squared())
    }

    /// Whether the triangle's box meets a box.
    pub fn is_in(&self, min: DVec3, max: DVec3) -> bool {
        let [a, b, c] = self.corners;
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        low.cmple(max).all() && high.cmpge(min).all()
    }

    /// How far a point is from the triangle.
    pub fn distance(&self, point: DVec3) -> f64 {
        let normal = self.normal().normalize();
        let [a, b, c] = self.corners;
        let inside = [(a, b), (b, c), (c, a)]
            .iter()
            .all(|&(from, to)| (to - from).cross(point - from).dot(normal) >= 0.0);
        if inside {
            return (point - a).dot(normal).abs();
        }
        let edges = [(a, b), (b, c), (c, a)].map(|(from, to)| {
            let along = (to - from) / (to - from).length_squared();
            let share = (point - from).dot(along).clamp(0.0, 1.0);
            (from + (to - from) * share).distance(point)
        });
        edges.into_iter().fold(f64::INFINITY, f64::min)
    }
}
