//! Where two things are nearest, or deepest in each other, in the frame of a shape.

use glam::{Mat3, Vec3};

/// [`Separation`](super::Separation) in the shape's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalSeparation {
    pub distance: f32,
    pub on_shape: Vec3,
    pub on_triangle: Vec3,
    pub normal: Vec3,
}

impl LocalSeparation {
    /// Adds a radius to the shape.
    pub fn rounded(self, radius: f32) -> LocalSeparation {
        let on_shape = self.on_shape - self.normal * radius;
        LocalSeparation { distance: self.distance - radius, on_shape, ..self }
    }

    /// Rotates everything.
    pub fn rotated(self, axes: Mat3) -> LocalSeparation {
        LocalSeparation {
            distance: self.distance,
            on_shape: axes * self.on_shape,
            on_triangle: axes * self.on_triangle,
            normal: axes * self.normal,
        }
    }
}

/// Distance of two points below which their direction is rounding noise.
pub(super) fn noise_distance(triangle: &[Vec3; 3]) -> f32 {
    let [a, b, c] = triangle.map(Vec3::abs);
    1e-6 * a.max(b).max(c).max_element() + f32::MIN_POSITIVE
}

/// A unit vector perpendicular to `a` and `b`; to the longer one if they are parallel to f32
/// precision.
pub(super) fn any_normal(a: Vec3, b: Vec3) -> Vec3 {
    let longer = if a.length_squared() >= b.length_squared() { a } else { b };
    let across = a.cross(b);
    let is_clear = across.length_squared() > 1e-8 * a.length_squared() * b.length_squared();
    let across = if is_clear { across } else { longer.normalize_or_zero().any_orthogonal_vector() };
    across.normalize_or(Vec3::Y)
}
