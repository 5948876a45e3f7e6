//! Distance of a convex core and a triangle: Gilbert, Johnson & Keerthi, "A fast
//! procedure for computing the distance between complex objects in three-dimensional
//! space" (1988), with the bounds and the ways to end of van den Bergen, "A fast and
//! robust GJK implementation for collision detection of convex objects" (1999). Every
//! iteration must come nearer, and their number is capped, so that it always ends.

use glam::Vec3;

use super::simplex::{Simplex, SupportPoint};

/// Maximum number of iterations; five are usual.
const MAX_ITERATIONS: usize = 40;

/// Relative error of the distance.
const RELATIVE: f32 = 1e-5;

/// Rounding error, as a share of the size of things.
const ROUNDING: f32 = 3e-7;

/// Share of the size of things below which two things touch.
const TOUCHING: f32 = 5e-7;

/// The result for a core and a triangle.
pub(super) enum Gjk {
    /// They are apart.
    Apart {
        /// Distance, voxels.
        distance: f32,
        /// Unit vector from the triangle to the core.
        normal: Vec3,
        /// Nearest points of the core and of the triangle.
        points: (Vec3, Vec3),
    },
    /// They are farther apart than the limit.
    Beyond,
    /// They touch or overlap; the corners found last.
    Overlapping(Simplex),
}

/// The corner of the triangle that is farthest along `direction`.
pub(super) fn farthest(triangle: &[Vec3; 3], direction: Vec3) -> Vec3 {
    let along = triangle.map(|corner| corner.dot(direction));
    let first = if along[1] > along[0] { 1 } else { 0 };
    triangle[if along[2] > along[first] { 2 } else { first }]
}

/// Distance of the core with this support mapping and a triangle, in the core's frame.
/// `towards` is a guess of the vector from the triangle to the core. Returns [`Gjk::Beyond`] as
/// soon as the distance is known to exceed `within`.
pub(super) fn gjk(
    support: impl Fn(Vec3) -> Vec3,
    triangle: &[Vec3; 3],
    towards: Vec3,
    within: f32,
) -> Gjk {
    let mut simplex = Simplex::default();
    let (mut v, mut squared) = (towards, f32::INFINITY);
    if v.length_squared() <= f32::MIN_POSITIVE {
        v = Vec3::Y;
    }
    let mut size = 0.0_f32;
    for _ in 0..MAX_ITERATIONS {
        let (on_shape, on_triangle) = (support(-v), farthest(triangle, v));
        let corner = SupportPoint { on_shape, on_triangle, between: on_shape - on_triangle };
        size = size.max(corner.between.abs().max_element());
        let (length, along) = (v.length(), v.dot(corner.between));
        if along / length - ROUNDING * size > within {
            return Gjk::Beyond;
        }
        let near_enough = squared - along <= RELATIVE * squared + ROUNDING * size * length;
        if simplex.count > 0 && (near_enough || simplex.has(&corner)) {
            break;
        }
        let before = simplex;
        simplex.push(corner);
        let Some(nearest) = simplex.reduce() else { return Gjk::Overlapping(simplex) };
        let nearer = nearest.length_squared();
        if nearer <= TOUCHING * TOUCHING * size * size {
            return Gjk::Overlapping(simplex);
        }
        if nearer >= squared {
            simplex = before;
            break;
        }
        (v, squared) = (nearest, nearer);
    }
    let length = v.length();
    Gjk::Apart { distance: length, normal: v / length, points: simplex.witnesses() }
}
