//! The core of a capsule, a segment, against a triangle: the closest points, by trying all
//! features that can contain them (ends, sides, corners, face), and the penetration where the
//! segment pierces the triangle, by separating axes. Ericson, "Real-Time Collision Detection"
//! (2005) §5.1.9–5.1.10; but the segment against a side by the cross product, which is accurate in
//! f32 unless the two are nearly parallel.

use glam::Vec3;

use super::closest::{closest_on_segment, closest_on_sides, foot, is_over, normal_of};
use super::separation::{LocalSeparation, any_normal, noise_distance};

/// Squared sine below which two segments count as parallel: the closest points are then at the ends
/// of one of them, which are tried anyway.
const PARALLEL: f32 = 1e-10;

/// The nearest points found so far.
struct ClosestPair {
    on_segment: Vec3,
    on_triangle: Vec3,
    squared: f32,
}

impl ClosestPair {
    fn offer(&mut self, on_segment: Vec3, on_triangle: Vec3) {
        let squared = on_segment.distance_squared(on_triangle);
        if squared < self.squared {
            *self = ClosestPair { on_segment, on_triangle, squared };
        }
    }
}

/// The closest points of the segments `ab` and `cd`, if both lie strictly between the ends.
fn inner_points(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> Option<(Vec3, Vec3)> {
    let (ab, cd, ac) = (b - a, d - c, c - a);
    let across = ab.cross(cd);
    let squared = across.length_squared();
    if squared <= PARALLEL * ab.length_squared() * cd.length_squared() {
        return None;
    }
    let s = ac.cross(cd).dot(across) / squared;
    let t = ac.cross(ab).dot(across) / squared;
    let inside = (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0);
    inside.then_some((a + ab * s, c + cd * t))
}

/// Whether the segment meets the inside of the triangle.
fn pierces(ends: &[Vec3; 2], triangle: &[Vec3; 3], normal: Vec3) -> bool {
    let height = ends.map(|end| normal.dot(end - triangle[0]));
    if height[0] * height[1] > 0.0 || height[0] == height[1] {
        return false;
    }
    let at = height[0] / (height[0] - height[1]);
    is_over(ends[0] + (ends[1] - ends[0]) * at, triangle, normal)
}

/// The closest points of the segment between `ends` and the triangle; `None` if the segment pierces
/// the triangle.
fn nearest(ends: &[Vec3; 2], triangle: &[Vec3; 3], normal: Option<Vec3>) -> Option<ClosestPair> {
    let mut best =
        ClosestPair { on_segment: ends[0], on_triangle: triangle[0], squared: f32::INFINITY };
    if let Some(normal) = normal {
        if pierces(ends, triangle, normal) {
            return None;
        }
        for &end in ends {
            if let Some(foot) = foot(end, triangle, normal) {
                best.offer(end, foot);
            }
        }
    }
    for &end in ends {
        best.offer(end, closest_on_sides(end, triangle));
    }
    for side in 0..3 {
        let (a, b) = (triangle[side], triangle[(side + 1) % 3]);
        best.offer(closest_on_segment(a, ends[0], ends[1]), a);
        if let Some((p, q)) = inner_points(ends[0], ends[1], a, b) {
            best.offer(p, q);
        }
    }
    Some(best)
}

/// Squared distance of a segment and a triangle; 0 where they cross.
pub(super) fn squared_distance(ends: &[Vec3; 2], triangle: &[Vec3; 3]) -> f32 {
    nearest(ends, triangle, normal_of(triangle)).map_or(0.0, |best| best.squared)
}

/// Separates the segment between `ends` and the triangle.
pub(super) fn separation(ends: &[Vec3; 2], triangle: &[Vec3; 3]) -> LocalSeparation {
    let normal = normal_of(triangle);
    if let Some(best) = nearest(ends, triangle, normal) {
        let distance = best.squared.sqrt();
        if distance > noise_distance(triangle) {
            let normal = (best.on_segment - best.on_triangle) / distance;
            let (on_shape, on_triangle) = (best.on_segment, best.on_triangle);
            return LocalSeparation { distance, on_shape, on_triangle, normal };
        }
    }
    penetration(ends, triangle, normal)
}

/// The shortest way to move a segment out of a triangle that it crosses or touches: along
/// the normal, or perpendicular to the segment and a side.
fn penetration(ends: &[Vec3; 2], triangle: &[Vec3; 3], normal: Option<Vec3>) -> LocalSeparation {
    let along = ends[1] - ends[0];
    let mut best: Option<(f32, Vec3)> = None;
    let mut offer = |axis: Vec3| {
        let axis = axis.normalize();
        let segment = ends.map(|end| axis.dot(end));
        let face = triangle.map(|corner| axis.dot(corner));
        let (low, high) = (segment[0].min(segment[1]), segment[0].max(segment[1]));
        let up = face[0].max(face[1]).max(face[2]) - low;
        let down = high - face[0].min(face[1]).min(face[2]);
        let (depth, axis) = if up <= down { (up, axis) } else { (down, -axis) };
        if best.is_none_or(|(least, _)| depth < least) {
            best = Some((depth, axis));
        }
    };
    if let Some(normal) = normal {
        offer(normal);
    }
    for side in 0..3 {
        let side = triangle[(side + 1) % 3] - triangle[side];
        let across = along.cross(side);
        if across.length_squared() > PARALLEL * along.length_squared() * side.length_squared() {
            offer(across);
        }
    }
    let flat = || (0.0, any_normal(along, triangle[1] - triangle[0]));
    let (depth, axis) = best.unwrap_or_else(flat);
    // Closest points are only defined for shapes that are apart: move the segment out, then back.
    let apart = depth + 0.5 * along.length() + 1.0;
    let moved = ends.map(|end| end + axis * apart);
    let near = nearest(&moved, triangle, normal);
    let on_triangle = near.map_or(triangle[0], |best| best.on_triangle);
    let on_shape = on_triangle - axis * depth;
    LocalSeparation { distance: -depth, on_shape, on_triangle, normal: axis }
}
