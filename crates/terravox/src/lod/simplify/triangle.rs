//! A triangle that is asked for distances, and how it is cut.

use glam::{Mat4, Vec3, Vec4};

/// A triangle, ready to be asked for distances.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    /// Four planes as rows: its own, and in its plane across each edge, out of it.
    planes: Mat4,
    pub corners: [Vec3; 3],
    /// Unit; 0 without area.
    pub normal: Vec3,
}

impl Triangle {
    /// Of these corners.
    pub fn new(corners: [Vec3; 3]) -> Triangle {
        let [a, b, c] = corners;
        let normal = normal_of(corners);
        let plane = |normal: Vec3, at: Vec3| normal.extend(-normal.dot(at));
        let out = |from: Vec3, to: Vec3| plane((to - from).cross(normal).normalize_or_zero(), from);
        let planes = [plane(normal, a), out(a, b), out(b, c), out(c, a)];
        let [x, y, z, w] = planes;
        Triangle { planes: Mat4::from_cols(x, y, z, w).transpose(), corners, normal }
    }

    /// How far a point is above the plane, and out of each edge.
    #[inline(always)]
    pub fn over(&self, p: Vec3) -> Vec4 {
        self.planes * p.extend(1.0)
    }

    /// Squared distance of a point; may be any larger number where it is more than `most`.
    #[inline(always)]
    pub fn distance_squared(&self, p: Vec3, most: f32) -> f32 {
        let over = self.over(p);
        let height = over.x * over.x;
        if height > most {
            return f32::INFINITY;
        }
        let beyond = beyond(over);
        if beyond <= 0.0 && self.normal != Vec3::ZERO {
            return height;
        }
        if height + beyond * beyond > most {
            return f32::INFINITY;
        }
        self.distance_from_edges(p, over)
    }

    /// Squared distance of a point that is not right above or below: that of the nearest of
    /// the edges that it is out of.
    fn distance_from_edges(&self, p: Vec3, over: Vec4) -> f32 {
        let mut least = f32::INFINITY;
        for k in 0..3 {
            if over[k + 1] >= 0.0 {
                let (a, b) = (self.corners[k], self.corners[(k + 1) % 3]);
                let (ab, ap) = (b - a, p - a);
                let length = ab.length_squared();
                let along = if length > 0.0 { (ab.dot(ap) / length).clamp(0.0, 1.0) } else { 0.0 };
                least = least.min((ap - ab * along).length_squared());
            }
        }
        least
    }

    /// Whether a point is right above or below it.
    #[inline(always)]
    pub fn is_over(&self, p: Vec3) -> bool {
        beyond(self.over(p)) <= 0.0
    }

    /// What each corner weighs at a point, or near there if it is not over the triangle.
    pub fn weights(&self, p: Vec3) -> [f32; 3] {
        let over = self.over(p);
        let weight = |k: usize| {
            let across = 1 + (k + 1) % 3;
            let height = self.over(self.corners[k])[across].min(-f32::MIN_POSITIVE);
            (over[across] / height).max(0.0)
        };
        let weights = [0, 1, 2].map(weight);
        let sum = (weights[0] + weights[1] + weights[2]).max(f32::MIN_POSITIVE);
        weights.map(|weight| weight / sum)
    }

    /// Whether a point may be no farther than `most`.
    pub fn may_be_near(&self, p: Vec3, most: f32) -> bool {
        let over = self.over(p);
        over.x.abs() <= most && beyond(over) <= most
    }

    /// Whether all corners of a piece are no farther than the root of `most`.
    pub fn is_near(&self, piece: &[Vec3; 3], most: f32) -> bool {
        piece.iter().all(|&p| self.distance_squared(p, most) <= most)
    }
}

/// How far a point is out of the edge that it is farthest out of.
#[inline(always)]
fn beyond(over: Vec4) -> f32 {
    over.y.max(over.z).max(over.w)
}

/// Unit normal of a triangle; 0 without area.
pub(super) fn normal_of([a, b, c]: [Vec3; 3]) -> Vec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

/// Square of the longest edge and the corner opposite to it.
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

/// The two halves of a piece.
pub(super) fn halves(piece: &[Vec3; 3], opposite: usize) -> [[Vec3; 3]; 2] {
    let [a, b, c] = [0, 1, 2].map(|i| piece[(opposite + i) % 3]);
    let middle = (b + c) * 0.5;
    [[a, b, middle], [a, middle, c]]
}
