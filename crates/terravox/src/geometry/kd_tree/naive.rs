//! The slow twin: every triangle, in f64, with what is known about how far to trust it.

use super::KdTriangle;

/// Where a ray meets a triangle's plane, and how far inside the triangle that is.
pub(super) struct Meeting {
    /// Lengths of the direction.
    pub t: f64,
    /// Distance from the nearest edge, negative outside; in units of the positions.
    pub inside: f64,
    /// Cosine of the angle between ray and normal, not negative.
    pub slant: f64,
}

type Vector = [f64; 3];

fn minus(a: Vector, b: Vector) -> Vector {
    [0, 1, 2].map(|i| a[i] - b[i])
}

fn dot(a: Vector, b: Vector) -> f64 {
    (0..3).map(|i| a[i] * b[i]).sum()
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

/// Where the ray meets the plane of `triangle`; none if it is parallel to it.
pub(super) fn meet(
    origin: [f32; 3],
    direction: [f32; 3],
    triangle: &KdTriangle,
) -> Option<Meeting> {
    let (origin, direction) = (origin.map(f64::from), direction.map(f64::from));
    let corners = triangle.corners.map(|corner| corner.map(f64::from));
    let normal = cross(minus(corners[1], corners[0]), minus(corners[2], corners[0]));
    let normal = normal.map(|v| v / length(normal));
    let along = dot(direction, normal);
    if along == 0.0 {
        return None;
    }
    let t = dot(minus(corners[0], origin), normal) / along;
    let point = [0, 1, 2].map(|i| origin[i] + direction[i] * t);
    let inside = (0..3).map(|i| {
        let edge = minus(corners[(i + 1) % 3], corners[i]);
        dot(cross(edge, minus(point, corners[i])), normal) / length(edge)
    });
    let inside = inside.fold(f64::INFINITY, f64::min);
    Some(Meeting { t, inside, slant: along.abs() / length(direction) })
}

/// Whether the triangle's box meets a closed box.
pub(super) fn in_box(min: [f32; 3], max: [f32; 3], triangle: &KdTriangle) -> bool {
    (0..3).all(|i| {
        let along = triangle.corners.map(|corner| corner[i]);
        along.iter().any(|v| *v <= max[i]) && along.iter().any(|v| *v >= min[i]) && min[i] <= max[i]
    })
}
