//! Distance of a convex core and a triangle: Gilbert, Johnson & Keerthi, "A fast
//! procedure for computing the distance between complex objects in three-dimensional
//! space" (1988), with the bounds and the ways to end of van den Bergen, "A fast and
//! robust GJK implementation for collision detection of convex objects" (1999). Every
//! turn must come nearer, and the turns are capped, so that it always ends.

use glam::Vec3;

use super::simplex::{Corner, Simplex};

/// Most turns; five are usual.
const MOST_TURNS: usize = 40;

/// Share of the distance that the answer may be off by.
const RELATIVE: f32 = 1e-5;

/// Share of the size of things that rounding may cost.
const ROUNDING: f32 = 3e-7;

/// Share of the size of things below which two things touch.
const TOUCHING: f32 = 5e-7;

/// What is known of a core and a triangle.
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
    /// Their distance is more than what was asked for.
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
/// `towards` is a guess of the vector from the triangle to the core. Cores farther than
/// `within` are told as soon as that is known.
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
    for _ in 0..MOST_TURNS {
        let (on_shape, on_triangle) = (support(-v), farthest(triangle, v));
        let corner = Corner { on_shape, on_triangle, between: on_shape - on_triangle };
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
