//! Quadrics: weighted sums of squared distances from planes (Garland and Heckbert, "Surface
//! Simplification Using Quadric Error Metrics", 1997).

use glam::{DVec3, Vec3};

/// The symmetric form `xᵀAx + 2bᵀx + c`.
#[derive(Clone, Copy, Default)]
pub(super) struct Quadric {
    /// The diagonal of A.
    squares: DVec3,
    /// Its xy, yz and zx.
    mixed: DVec3,
    linear: DVec3,
    constant: f64,
    pub weight: f64,
}

impl Quadric {
    /// Returns the quadric of the plane through a point with a unit normal.
    pub fn of_plane(point: Vec3, normal: Vec3, weight: f32) -> Quadric {
        let (n, w) = (normal.as_dvec3(), f64::from(weight));
        let d = -n.dot(point.as_dvec3());
        Quadric {
            squares: n * n * w,
            mixed: n * DVec3::new(n.y, n.z, n.x) * w,
            linear: n * (d * w),
            constant: d * d * w,
            weight: w,
        }
    }

    /// Adds the planes of another quadric.
    pub fn add(&mut self, other: &Quadric) {
        self.squares += other.squares;
        self.mixed += other.mixed;
        self.linear += other.linear;
        self.constant += other.constant;
        self.weight += other.weight;
    }

    /// Returns the weighted sum at a point.
    pub fn at(&self, point: Vec3) -> f64 {
        let p = point.as_dvec3();
        let mixed = self.mixed.dot(p * DVec3::new(p.y, p.z, p.x));
        self.squares.dot(p * p) + 2.0 * (mixed + self.linear.dot(p)) + self.constant
    }
}
