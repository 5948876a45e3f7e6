//! A triangle that is asked for distances, and how it is cut.

use glam::Vec3;

/// A triangle, ready to be asked for distances.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    pub corners: [Vec3; 3],
    /// Unit; 0 without area.
    pub normal: Vec3,
    /// In its plane, out of it across the edge from each corner; unit, 0 without area.
    outward: [Vec3; 3],
    /// How far the plane, and those of the edges, are from the origin.
    plane: f32,
    edges: [f32; 3],
}

impl Triangle {
    /// Of these corners.
    pub fn new(corners: [Vec3; 3]) -> Triangle {
        let [a, b, c] = corners;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let out = |from: Vec3, to: Vec3| (to - from).cross(normal).normalize_or_zero();
        let outward = [out(a, b), out(b, c), out(c, a)];
        let edges = [outward[0].dot(a), outward[1].dot(b), outward[2].dot(c)];
        Triangle { corners, normal, outward, plane: normal.dot(a), edges }
    }

    /// The squared distance of a point from the plane, and how far it is out of each edge.
    #[inline(always)]
    pub fn over(&self, p: Vec3) -> (f32, [f32; 3]) {
        let height = self.normal.dot(p) - self.plane;
        let [a, b, c] = self.outward;
        let [d, e, f] = self.edges;
        (height * height, [a.dot(p) - d, b.dot(p) - e, c.dot(p) - f])
    }

    /// Squared distance of a point; may be any larger number where it is more than `most`.
    #[inline(always)]
    pub fn distance_squared(&self, p: Vec3, most: f32) -> f32 {
        let (height, over) = self.over(p);
        let beyond = over[0].max(over[1]).max(over[2]);
        if height > most {
            return f32::INFINITY;
        }
        if beyond <= 0.0 && self.normal != Vec3::ZERO {
            return height;
        }
        if height + beyond * beyond > most {
            return f32::INFINITY;
        }
        self.distance_from_edges(p)
    }

    /// Squared distance of a point that is not right above or below.
    fn distance_from_edges(&self, p: Vec3) -> f32 {
        let side = |a: Vec3, b: Vec3| {
            let (ab, ap) = (b - a, p - a);
            let length = ab.length_squared();
            let along = if length > 0.0 { (ab.dot(ap) / length).clamp(0.0, 1.0) } else { 0.0 };
            (ap - ab * along).length_squared()
        };
        let [a, b, c] = self.corners;
        side(a, b).min(side(b, c)).min(side(c, a))
    }

    /// Whether a point is right above or below it.
    #[inline(always)]
    pub fn is_over(&self, p: Vec3) -> bool {
        let over = self.over(p).1;
        over[0].max(over[1]).max(over[2]) <= 0.0
    }

    /// What each corner weighs at a point, or near there if it is not over the triangle.
    pub fn weights(&self, p: Vec3) -> [f32; 3] {
        let weight = |k: usize| {
            let (from, outward) = (self.corners[(k + 1) % 3], self.outward[(k + 1) % 3]);
            let height = outward.dot(from - self.corners[k]).max(f32::MIN_POSITIVE);
            (outward.dot(from - p) / height).max(0.0)
        };
        let weights = [0, 1, 2].map(weight);
        let sum = (weights[0] + weights[1] + weights[2]).max(f32::MIN_POSITIVE);
        weights.map(|weight| weight / sum)
    }

    /// Whether a point may be no farther than `most`.
    pub fn may_be_near(&self, p: Vec3, most: f32) -> bool {
        let (height, over) = self.over(p);
        height <= most * most && over[0].max(over[1]).max(over[2]) <= most
    }

    /// Whether all corners of a piece are no farther than the root of `most`.
    pub fn is_near(&self, piece: &[Vec3; 3], most: f32) -> bool {
        piece.iter().all(|&p| self.distance_squared(p, most) <= most)
    }
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
