//! The point of a triangle that is nearest to a point: the foot on the plane if it lies
//! inside, else the nearest point of the three sides. After Ericson, "Real-Time
//! Collision Detection" (2005) §5.1.2 and §5.1.5, but testing sides, not Voronoi regions:
//! rounding in a sliver then moves the point by at most the sliver's height.

use glam::Vec3;

/// A triangle whose (height / longest side)² is less than this counts as its sides alone: f32 no
/// longer resolves its normal.
const FLAT: f32 = 1e-9;

/// The normal of a triangle, not of unit length; `None` if it has no area, or almost none.
pub(super) fn normal_of([a, b, c]: &[Vec3; 3]) -> Option<Vec3> {
    let (ab, ac, bc) = (b - a, c - a, c - b);
    let normal = ab.cross(ac);
    let longest = ab.length_squared().max(ac.length_squared()).max(bc.length_squared());
    (normal.length_squared() > FLAT * longest * longest).then_some(normal)
}

/// Whether the line along `normal` through `p` meets the triangle.
pub(super) fn is_over(p: Vec3, [a, b, c]: &[Vec3; 3], normal: Vec3) -> bool {
    let (pa, pb, pc) = (a - p, b - p, c - p);
    let sides = [pa.cross(pb), pb.cross(pc), pc.cross(pa)].map(|side| side.dot(normal));
    (sides[0] >= 0.0) & (sides[1] >= 0.0) & (sides[2] >= 0.0)
}

/// The foot of `p` on the triangle's plane, if it lies inside the triangle. `normal` is
/// the triangle's, of any length.
pub(super) fn foot(p: Vec3, triangle: &[Vec3; 3], normal: Vec3) -> Option<Vec3> {
    let height = normal.dot(p - triangle[0]) / normal.length_squared();
    is_over(p, triangle, normal).then_some(p - normal * height)
}

/// The point of the segment from `a` to `b` nearest to `p`.
pub(super) fn closest_on_segment(p: Vec3, a: Vec3, b: Vec3) -> Vec3 {
    let ab = b - a;
    let along = ab.dot(p - a);
    let length = ab.length_squared();
    if along <= 0.0 || length <= 0.0 {
        return a;
    }
    if along >= length { b } else { a + ab * (along / length) }
}

/// The point of the triangle's sides nearest to `p`.
pub(super) fn closest_on_sides(p: Vec3, &[a, b, c]: &[Vec3; 3]) -> Vec3 {
    let near =
        [closest_on_segment(p, a, b), closest_on_segment(p, b, c), closest_on_segment(p, c, a)];
    let far = near.map(|q| q.distance_squared(p));
    let first = if far[1] < far[0] { 1 } else { 0 };
    near[if far[2] < far[first] { 2 } else { first }]
}

/// The point of the triangle nearest to `p`; of one without an area, the nearest point
/// of its sides.
pub(crate) fn closest_on_triangle(p: Vec3, triangle: &[Vec3; 3]) -> Vec3 {
    let over = normal_of(triangle).and_then(|normal| foot(p, triangle, normal));
    over.unwrap_or_else(|| closest_on_sides(p, triangle))
}
