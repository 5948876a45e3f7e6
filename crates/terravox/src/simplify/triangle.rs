//! Distances from a triangle, and how pieces are halved.

use glam::{Mat4, Vec3, Vec4};

/// A triangle with its planes precomputed.
#[derive(Clone, Copy)]
pub(super) struct PreparedTriangle {
    /// Rows are planes: its own, then one through each edge, facing outward.
    planes: Mat4,
    pub corners: [Vec3; 3],
    /// Unit; 0 without area.
    pub normal: Vec3,
}

impl PreparedTriangle {
    pub fn new(corners: [Vec3; 3]) -> PreparedTriangle {
        let [a, b, c] = corners;
        let normal = normal_of(corners);
        let plane = |normal: Vec3, at: Vec3| normal.extend(-normal.dot(at));
        let out = |from: Vec3, to: Vec3| plane((to - from).cross(normal).normalize_or_zero(), from);
        let planes = [plane(normal, a), out(a, b), out(b, c), out(c, a)];
        let [x, y, z, w] = planes;
        PreparedTriangle { planes: Mat4::from_cols(x, y, z, w).transpose(), corners, normal }
    }

    /// Returns the height of a point over the plane, then its distance beyond each edge.
    #[inline(always)]
    pub fn plane_distances(&self, p: Vec3) -> Vec4 {
        self.planes * p.extend(1.0)
    }

    /// Returns the squared distance of a point; infinity if it is more than `limit`.
    #[inline(always)]
    pub fn distance_squared(&self, p: Vec3, limit: f32) -> f32 {
        let distances = self.plane_distances(p);
        let height = distances.x * distances.x;
        if height > limit {
            return f32::INFINITY;
        }
        let outside = max_outside(distances);
        if outside <= 0.0 && self.normal != Vec3::ZERO {
            return height;
        }
        if height + outside * outside > limit {
            return f32::INFINITY;
        }
        self.distance_from_edges(p, distances)
    }

    /// Returns the squared distance of a point that is not over the triangle: that from the nearest
    /// of the edges that it is beyond.
    fn distance_from_edges(&self, p: Vec3, distances: Vec4) -> f32 {
        let mut least = f32::INFINITY;
        for k in 0..3 {
            if distances[k + 1] >= 0.0 {
                let (a, b) = (self.corners[k], self.corners[(k + 1) % 3]);
                let (ab, ap) = (b - a, p - a);
                let length = ab.length_squared();
                let along = if length > 0.0 { (ab.dot(ap) / length).clamp(0.0, 1.0) } else { 0.0 };
                least = least.min((ap - ab * along).length_squared());
            }
        }
        least
    }

    /// Whether a point projects onto the triangle.
    #[inline(always)]
    pub fn is_over(&self, p: Vec3) -> bool {
        max_outside(self.plane_distances(p)) <= 0.0
    }

    /// Returns the barycentric weights of a point, clamped if it is not over the triangle.
    pub fn weights(&self, p: Vec3) -> [f32; 3] {
        let distances = self.plane_distances(p);
        let weight = |k: usize| {
            let across = 1 + (k + 1) % 3;
            let height = self.plane_distances(self.corners[k])[across].min(-f32::MIN_POSITIVE);
            (distances[across] / height).max(0.0)
        };
        let weights = [0, 1, 2].map(weight);
        let sum = (weights[0] + weights[1] + weights[2]).max(f32::MIN_POSITIVE);
        weights.map(|weight| weight / sum)
    }

    /// Whether a point may be within `limit`; false is certain.
    pub fn may_be_near(&self, p: Vec3, limit: f32) -> bool {
        let distances = self.plane_distances(p);
        distances.x.abs() <= limit && max_outside(distances) <= limit
    }

    /// Whether the squared distance of each corner of a piece is at most `limit`.
    pub fn is_near(&self, piece: &[Vec3; 3], limit: f32) -> bool {
        piece.iter().all(|&p| self.distance_squared(p, limit) <= limit)
    }
}

/// Returns the distance beyond the farthest edge.
#[inline(always)]
fn max_outside(distances: Vec4) -> f32 {
    distances.y.max(distances.z).max(distances.w)
}

/// Returns the unit normal of a triangle; 0 without area.
pub(super) fn normal_of([a, b, c]: [Vec3; 3]) -> Vec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

/// Returns the squared length of the longest edge, and the corner opposite to it.
pub(super) fn longest_edge(&[a, b, c]: &[Vec3; 3]) -> (f32, usize) {
    let squared = [b.distance_squared(c), c.distance_squared(a), a.distance_squared(b)];
    let at = if squared[0] >= squared[1] && squared[0] >= squared[2] {
        0
    } else if squared[1] >= squared[2] {
        1
    } else {
        2
    };
    (squared[at], at)
}

/// Returns a piece cut in two through a corner and the middle of the edge opposite to it.
pub(super) fn halves(piece: &[Vec3; 3], opposite: usize) -> [[Vec3; 3]; 2] {
    let [a, b, c] = [0, 1, 2].map(|i| piece[(opposite + i) % 3]);
    let middle = (b + c) * 0.5;
    [[a, b, middle], [a, middle, c]]
}
