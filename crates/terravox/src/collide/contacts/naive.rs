//! The slow twin of contacts: the distance of a shape to every triangle of a world, in
//! f64, and the direction to the nearest.

use crate::collide::Shape;
use crate::collide::naive::WorldTriangle;
use crate::collide::shape::naive::Difference;
use glam::DVec3;

/// Least distance of a shape at `at` to the triangles, or minus how deep it is in the one
/// that it is deepest in; infinite if all are more than `within` apart.
pub(super) fn distance(all: &[WorldTriangle], shape: &Shape<'_>, at: [f64; 3], within: f64) -> f64 {
    let (min, max) = shape.bounds().expect("the shape is valid");
    let mut least = f64::INFINITY;
    for triangle in all {
        let aabb = triangle.aabb();
        let near = (0..3).all(|i| {
            aabb.min[i] <= at[i] + f64::from(max[i]) + within
                && aabb.max[i] >= at[i] + f64::from(min[i]) - within
        });
        if near {
            let corners = triangle.corners.map(|p| (p - DVec3::from(at)).as_vec3().to_array());
            least = least.min(Difference::new(shape, [0.0; 3], &corners).distance(DVec3::ZERO));
        }
    }
    least
}

/// The nearest point of the triangles to a point, and the normal of the triangle.
pub(super) fn nearest(all: &[WorldTriangle], point: DVec3) -> (DVec3, f64) {
    let mut best = (DVec3::Y, f64::INFINITY);
    for triangle in all {
        let distance = triangle.distance_to(point);
        if distance < best.1 {
            let [a, b, c] = triangle.corners;
            best = ((b - a).cross(c - a).normalize(), distance);
        }
    }
    best
}
