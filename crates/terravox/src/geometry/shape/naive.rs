//! The slow, obviously right twins, in f64. The difference of two polytopes is the hull of
//! the differences of their corners, and every face of a hull is among the triangles of
//! its points; so trying all of these gives everything: distance, depth, first touch.

use glam::DVec3;

use super::Shape;

/// Nearest point to the origin of a segment.
fn on_side(a: DVec3, b: DVec3) -> DVec3 {
    let ab = b - a;
    let length = ab.length_squared();
    if length == 0.0 { a } else { a + ab * (-a.dot(ab) / length).clamp(0.0, 1.0) }
}

/// Distance of the origin to a triangle.
pub(super) fn triangle_distance([a, b, c]: [DVec3; 3]) -> f64 {
    let sides = [on_side(a, b), on_side(b, c), on_side(c, a)];
    let mut best = sides.iter().map(|p| p.length()).fold(f64::INFINITY, f64::min);
    let normal = (b - a).cross(c - a);
    if normal.length() > 1e-12 {
        let normal = normal.normalize();
        let inside = [(a, b), (b, c), (c, a)].iter().all(|(p, q)| p.cross(*q).dot(normal) >= 0.0);
        if inside {
            best = best.min(normal.dot(a).abs());
        }
    }
    best
}

/// The difference of a shape's core and a triangle, and the radius about it.
pub(super) struct Difference {
    points: Vec<DVec3>,
    /// Triangles that have all points on one side, all of them if the points lie in one
    /// plane, sides alone if they lie on one line.
    faces: Vec<[usize; 3]>,
    /// Unit normals across which a way out can lie.
    normals: Vec<DVec3>,
    radius: f64,
}

/// The corners of a shape's core, and its radius.
pub(super) fn core(shape: &Shape) -> (Vec<DVec3>, f64) {
    let wide = |p: [f32; 3]| DVec3::from(p.map(f64::from));
    match *shape {
        Shape::Sphere { radius } => (vec![DVec3::ZERO], radius.into()),
        Shape::Capsule { a, b, radius } => (vec![wide(a), wide(b)], radius.into()),
        Shape::Box { half, rotation } => {
            let turn = glam::DQuat::from_array(rotation.map(f64::from)).normalize();
            let sign = |i: usize, axis: usize| if i >> axis & 1 == 1 { 1.0 } else { -1.0 };
            let corner = |i| wide(half) * DVec3::new(sign(i, 0), sign(i, 1), sign(i, 2));
            ((0..8).map(|i| turn * corner(i)).collect(), 0.0)
        }
        Shape::Convex { points } => (points.iter().map(|&p| wide(p)).collect(), 0.0),
    }
}

impl Difference {
    pub fn new(shape: &Shape, at: [f32; 3], triangle: &[[f32; 3]; 3]) -> Difference {
        let wide = |p: [f32; 3]| DVec3::from(p.map(f64::from));
        let (core, radius) = core(shape);
        let at = wide(at);
        let points = core.iter().flat_map(|p| triangle.map(|q| at + *p - wide(q))).collect();
        let mut new = Difference { points, faces: Vec::new(), normals: Vec::new(), radius };
        new.find_faces();
        new
    }

    fn find_faces(&mut self) {
        let (p, n) = (&self.points, self.points.len());
        let mut lines = Vec::new();
        for i in 0..n {
            for j in i + 1..n {
                lines.push([i, i, j]);
                for k in j + 1..n {
                    let (one, other) = (p[j] - p[i], p[k] - p[i]);
                    let normal = one.cross(other);
                    if normal.length() <= 1e-9 * one.length() * other.length() {
                        continue;
                    }
                    let normal = normal.normalize();
                    let heights = p.iter().map(|q| normal.dot(q - p[i]));
                    let (low, high) = heights.fold((0.0_f64, 0.0_f64), |(low, high), height| {
                        (low.min(height), high.max(height))
                    });
                    if low > -1e-9 || high < 1e-9 {
                        self.faces.push([i, j, k]);
                        self.normals.push(normal);
                    }
                    if low > -1e-9 && high < 1e-9 {
                        let sides = [one, other, other - one];
                        self.normals.extend(sides.map(|side| normal.cross(side).normalize()));
                    }
                }
            }
        }
        if self.faces.is_empty() {
            self.faces = lines;
        }
    }

    /// Distance, or minus the depth, after a motion.
    pub fn distance(&self, moved: DVec3) -> f64 {
        let reach = |normal: DVec3| {
            self.points.iter().map(|p| normal.dot(p + moved)).fold(f64::NEG_INFINITY, f64::max)
        };
        let ways = self.normals.iter().flat_map(|&normal| [reach(normal), reach(-normal)]);
        let depth = ways.fold(f64::INFINITY, f64::min);
        if depth >= 0.0 && depth.is_finite() {
            return -depth - self.radius;
        }
        let at = |i: usize| self.points[i] + moved;
        let distances = self.faces.iter().map(|face| triangle_distance(face.map(at)));
        distances.fold(self.points.first().map_or(0.0, |p| (p + moved).length()), f64::min)
            - self.radius
    }

    /// First `t` in `0..=t_max` at which the distance is not above `at_most`, by the
    /// least of the convex function and then halving.
    pub fn first(&self, motion: DVec3, t_max: f64, at_most: f64) -> Option<f64> {
        let far = |t: f64| self.distance(motion * t);
        if far(0.0) <= at_most {
            return Some(0.0);
        }
        let (mut low, mut high) = (0.0, t_max);
        for _ in 0..60 {
            let (one, other) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if far(one) < far(other) { high = other } else { low = one }
        }
        let mut hit = (low + high) / 2.0;
        if far(hit) > at_most {
            return None;
        }
        let mut free = 0.0;
        for _ in 0..50 {
            let middle = (free + hit) / 2.0;
            if far(middle) <= at_most { hit = middle } else { free = middle }
        }
        Some(hit)
    }
}
