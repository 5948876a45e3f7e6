//! The slow twin of contacts: a shape against every triangle of a world, one after the
//! other.

use crate::collide::naive::WorldTriangle;
use crate::geometry::Shape;
use crate::geometry::ShapeCore;
use glam::DVec3;

/// Least distance of a shape at `at` to the triangles, or minus how deep it is in the one
/// that it is deepest in; infinite if all are more than `within` apart.
pub(super) fn distance(all: &[WorldTriangle], shape: &Shape<'_>, at: [f64; 3], within: f32) -> f64 {
    let core = ShapeCore::new(shape).expect("the shape is valid");
    let mut least = within;
    let mut found = f64::INFINITY;
    for triangle in all {
        let corners = triangle.corners.map(|p| (p - DVec3::from(at)).as_vec3().to_array());
        if let Some(near) = core.separation([0.0; 3], &corners, least) {
            least = near.distance;
            found = near.distance.into();
        }
    }
    found
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
