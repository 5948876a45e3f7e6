//! The separation of a core and a triangle, by the method that fits the core.

use glam::{Mat3, Vec3};

use super::core::{Core, farthest_of};
use super::gjk::{Gjk, gjk};
use super::separation::LocalSeparation;
use super::{boxes, depth, segment, sphere};

/// Separates a core with a radius and a triangle, in the shape's frame; `None` if surely more
/// than `within` apart. A guess of the normal makes it faster, if they are apart.
pub(super) fn separation(
    core: &Core<'_>,
    radius: f32,
    triangle: &[Vec3; 3],
    within: f32,
    guess: Option<Vec3>,
) -> Option<LocalSeparation> {
    let separation = match *core {
        Core::Point => sphere::separation(triangle),
        Core::Segment(ends) => segment::separation(&ends, triangle),
        Core::Box { half, axes } => {
            let guess = guess.map(|guess| axes.transpose() * guess);
            let local = box_separation(half, &into_box(axes, triangle), within, guess);
            return local.map(|local| local.rotated(axes));
        }
        Core::Points(points) => return hull_separation(points, triangle, within, guess),
    };
    Some(separation.rounded(radius))
}

/// The triangle along a box's own axes.
pub(super) fn into_box(axes: Mat3, triangle: &[Vec3; 3]) -> [Vec3; 3] {
    let back = axes.transpose();
    triangle.map(|corner| back * corner)
}

/// Separates an axis-aligned box about the origin and a triangle.
fn box_separation(
    half: Vec3,
    triangle: &[Vec3; 3],
    within: f32,
    guess: Option<Vec3>,
) -> Option<LocalSeparation> {
    let support = |d: Vec3| half.copysign(d);
    if let Some(guess) = guess
        && let Gjk::Apart { distance, normal, points } = gjk(support, triangle, guess, within)
    {
        return Some(LocalSeparation {
            distance,
            on_shape: points.0,
            on_triangle: points.1,
            normal,
        });
    }
    let (apart, towards) = match boxes::separating_axis(half, triangle) {
        Ok((depth, normal)) => return Some(penetration(support, triangle, depth, normal, half)),
        Err((distance, _)) if distance > within => return None,
        Err(apart) => apart,
    };
    match gjk(support, triangle, towards, within) {
        Gjk::Apart { distance, normal, points } => {
            Some(LocalSeparation { distance, on_shape: points.0, on_triangle: points.1, normal })
        }
        Gjk::Beyond => None,
        // They touch; the axis gives the remaining distance.
        Gjk::Overlapping(_) => Some(penetration(support, triangle, -apart, towards, half)),
    }
}

/// Separates the hull of points and a triangle.
fn hull_separation(
    points: &[[f32; 3]],
    triangle: &[Vec3; 3],
    within: f32,
    guess: Option<Vec3>,
) -> Option<LocalSeparation> {
    let support = |d| farthest_of(points, d);
    let towards = guess.unwrap_or(-(triangle[0] + triangle[1] + triangle[2]));
    match gjk(support, triangle, towards, within) {
        Gjk::Apart { distance, normal, points } => {
            Some(LocalSeparation { distance, on_shape: points.0, on_triangle: points.1, normal })
        }
        Gjk::Beyond => None,
        Gjk::Overlapping(simplex) => {
            let (depth, normal) = depth::penetration(support, triangle, &simplex);
            Some(penetration(support, triangle, depth, normal, Vec3::ONE))
        }
    }
}

/// The separation of two that overlap and come apart by `depth` along `normal`. The points where
/// they touch last are found once they are apart.
fn penetration(
    support: impl Fn(Vec3) -> Vec3,
    triangle: &[Vec3; 3],
    depth: f32,
    normal: Vec3,
    size: Vec3,
) -> LocalSeparation {
    let by = depth + 0.25 * size.max_element();
    let away = triangle.map(|corner| corner - normal * by);
    let found = gjk(&support, &away, normal, f32::INFINITY);
    let on_triangle = match found {
        Gjk::Apart { points, .. } => points.1 + normal * by,
        Gjk::Beyond | Gjk::Overlapping(_) => support(-normal) + normal * depth,
    };
    LocalSeparation {
        distance: -depth,
        on_shape: on_triangle - normal * depth,
        on_triangle,
        normal,
    }
}
