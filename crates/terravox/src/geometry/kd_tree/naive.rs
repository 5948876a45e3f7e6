//! The slow twin: every triangle, in f64, with what is known about how far to trust it.

use glam::DVec3;

use super::view::KdTriangle;

/// Where a ray meets a triangle's plane, and how far inside the triangle that is.
pub(super) struct Meeting {
    /// Lengths of the direction.
    pub t: f64,
    /// Distance from the nearest edge, negative outside; in units of the positions.
    pub inside: f64,
    /// Cosine of the angle between ray and normal, not negative.
    pub slant: f64,
}

/// Where the ray meets the plane of `triangle`; `None` if it is parallel to it.
pub(super) fn meet(
    origin: [f32; 3],
    direction: [f32; 3],
    triangle: &KdTriangle,
) -> Option<Meeting> {
    let [origin, direction] = [origin, direction].map(|v| DVec3::from(v.map(f64::from)));
    let corners = triangle.corners.map(|corner| DVec3::from(corner.map(f64::from)));
    let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    let normal = normal / normal.length();
    let along = direction.dot(normal);
    if along == 0.0 {
        return None;
    }
    let t = (corners[0] - origin).dot(normal) / along;
    let point = origin + direction * t;
    let inside = (0..3).map(|i| {
        let edge = corners[(i + 1) % 3] - corners[i];
        edge.cross(point - corners[i]).dot(normal) / edge.length()
    });
    let inside = inside.fold(f64::INFINITY, f64::min);
    Some(Meeting { t, inside, slant: along.abs() / direction.length() })
}

/// Whether the triangle's box meets a closed box.
pub(super) fn in_box(min: [f32; 3], max: [f32; 3], triangle: &KdTriangle) -> bool {
    (0..3).all(|i| {
        let along = triangle.corners.map(|corner| corner[i]);
        along.iter().any(|v| *v <= max[i]) && along.iter().any(|v| *v >= min[i]) && min[i] <= max[i]
    })
}
