//! The part of a shape's feature that lies over a triangle, seen along the contact's
//! direction: the polygon cut by the planes through the triangle's sides. Sutherland and
//! Hodgman, "Reentrant polygon clipping" (1974). Points and segments are polygons too.

use glam::Vec3;

use crate::geometry::FeaturePolygon;

/// How far outside of a side still counts as over the triangle, as a share of its length, so
/// that a point between two triangles is over both rather than none.
const SLACK: f32 = 1e-4;

/// Returns the part of `polygon` over the triangle, seen along `direction`, which points out of
/// the triangle's front.
pub(super) fn over(
    polygon: &FeaturePolygon,
    triangle: &[Vec3; 3],
    direction: Vec3,
) -> FeaturePolygon {
    let mut part = *polygon;
    for side in 0..3 {
        let (from, to) = (triangle[side], triangle[(side + 1) % 3]);
        let edge = to - from;
        let inward = direction.cross(edge);
        let least = -SLACK * edge.length_squared();
        let heights = |p: &Vec3| inward.dot(*p - from) - least;
        let outside = part.points().iter().filter(|p| heights(p) < 0.0).count();
        if outside == part.points().len() {
            return FeaturePolygon::EMPTY;
        }
        if outside > 0 {
            part = cut(&part, heights);
        }
    }
    part
}

/// The part of a polygon where `height`, which is linear, is not negative.
fn cut(polygon: &FeaturePolygon, height: impl Fn(&Vec3) -> f32) -> FeaturePolygon {
    let mut part = FeaturePolygon::EMPTY;
    let points = polygon.points();
    let Some(mut previous) = points.last().copied() else { return part };
    let mut was = height(&previous);
    for &point in points {
        let now = height(&point);
        if (was < 0.0) != (now < 0.0) {
            part.push(previous + (point - previous) * (was / (was - now)));
        }
        if now >= 0.0 {
            part.push(point);
        }
        (previous, was) = (point, now);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn polygon(points: &[Vec3]) -> FeaturePolygon {
        let mut polygon = FeaturePolygon::EMPTY;
        points.iter().for_each(|&point| polygon.push(point));
        polygon
    }

    const TRIANGLE: [Vec3; 3] = [Vec3::ZERO, Vec3::new(0.0, 0.0, 4.0), Vec3::new(4.0, 0.0, 0.0)];

    #[test]
    fn points_and_segments_are_cut_as_polygons_are() {
        let up = Vec3::Y;
        assert_eq!(over(&polygon(&[Vec3::new(1.0, 9.0, 1.0)]), &TRIANGLE, up).points().len(), 1);
        assert_eq!(over(&polygon(&[Vec3::new(3.0, 9.0, 3.0)]), &TRIANGLE, up).points().len(), 0);
        let segment = polygon(&[Vec3::new(-1.0, 1.0, 1.0), Vec3::new(1.0, 1.0, 1.0)]);
        let part = over(&segment, &TRIANGLE, up);
        let xs: Vec<f32> = part.points().iter().map(|p| p.x).collect();
        assert!(xs.iter().all(|&x| x.abs() < 1e-3 || x == 1.0), "{xs:?}");
        assert!(xs.contains(&1.0));
    }

    #[test]
    fn what_is_on_a_side_is_over_it() {
        for p in TRIANGLE.into_iter().chain([Vec3::new(2.0, 0.0, 2.0), Vec3::new(2.0, 0.0, 0.0)]) {
            assert_eq!(over(&polygon(&[p]), &TRIANGLE, Vec3::Y).points().len(), 1, "{p}");
        }
    }

    proptest! {
        #[test]
        fn cut_parts_have_the_area_that_sampling_finds(
            x in -3.0..4.0f32, z in -3.0..4.0f32, w in 0.5..3.0f32, h in 0.5..3.0f32,
        ) {
            let corner = |i: f32, k: f32| Vec3::new(x + i * w, 2.0, z + k * h);
            let square = [corner(0.0, 0.0), corner(0.0, 1.0), corner(1.0, 1.0), corner(1.0, 0.0)];
            let part = over(&polygon(&square), &TRIANGLE, Vec3::Y);
            let points = part.points();
            let sum = (0..points.len()).map(|i| points[i].cross(points[(i + 1) % points.len()]).y);
            let area = 0.5 * sum.sum::<f32>().abs();
            let steps = 60;
            let inside = (0..steps * steps).filter(|n| {
                let p = corner((n % steps) as f32 / 60.0 + 1.0 / 120.0, (n / steps) as f32 / 60.0 + 1.0 / 120.0);
                p.x >= 0.0 && p.z >= 0.0 && p.x + p.z <= 4.0
            });
            let sampled = inside.count() as f32 / 3600.0 * w * h;
            prop_assert!((area - sampled).abs() < 0.03 * w * h + 0.01, "{area} {sampled}");
        }
    }
}
