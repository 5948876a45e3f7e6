//! From many contact points to manifolds: points whose normals are alike make one, and
//! of its points up to four stay, the deepest and those that span the largest area.
//! After Coumans' persistent manifold in Bullet (2006): deepest, farthest, largest
//! triangle, largest quadrilateral.

use glam::Vec3;

/// Cosine of the largest angle between normals of one manifold: 20°.
const SAME_MANIFOLD_COS: f32 = 0.94;

/// Points nearer than this, squared, count as one, voxels².
const SAME_POINT: f32 = 1e-6;

/// Points nearer than this to a line count as on it, voxels.
const SAME_LINE: f32 = 1e-4;

/// A point that adds less area than this adds nothing, voxels² (twice the area of a triangle).
const SAME_AREA: f32 = 1e-4;

/// Points that differ by less in depth count as equally deep, voxels.
const SAME_DEPTH: f32 = 1e-3;

/// A direction that is unlikely to be perpendicular to an edge, to break ties.
const TIE_BREAK: Vec3 = Vec3::new(0.73, 0.31, 0.61);

/// A point where a shape meets a triangle, about the body's position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// On the ground.
    pub point: Vec3,
    /// Unit, from the ground to the shape.
    pub normal: Vec3,
    /// Along the normal; negative where the two overlap.
    pub distance: f32,
    /// Number of the triangle among those that gave points.
    pub triangle: u32,
}

/// Calls `visit` with the points of each manifold made of `all`, which is emptied.
pub(super) fn manifolds(all: &mut Vec<Candidate>, mut visit: impl FnMut(&[Candidate])) {
    while let Some(deepest) = deepest(all) {
        let seed = all[deepest];
        let alike = |c: &Candidate| c.normal.dot(seed.normal) >= SAME_MANIFOLD_COS;
        // Points of this manifold move to the end, the seed whatever its normal is.
        let mut rest = all.len() - 1;
        all.swap(deepest, rest);
        let mut at = 0;
        while at < rest {
            if alike(&all[at]) {
                rest -= 1;
                all.swap(at, rest);
            } else {
                at += 1;
            }
        }
        let (points, count) = four(&all[rest..], seed);
        visit(&points[..count]);
        all.truncate(rest);
    }
}

/// Of the points that are about as deep as the deepest, the one that lies farthest out: a
/// corner of the area that they span.
fn deepest(all: &[Candidate]) -> Option<usize> {
    let least = all.iter().fold(f32::INFINITY, |least, c| least.min(c.distance));
    let mut best: Option<(f32, usize)> = None;
    for (at, candidate) in all.iter().enumerate() {
        let along = candidate.point.dot(TIE_BREAK);
        if candidate.distance <= least + SAME_DEPTH && best.is_none_or(|(most, _)| along > most) {
            best = Some((along, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Up to four of the points; the first is `seed`, the deepest.
pub(super) fn four(points: &[Candidate], seed: Candidate) -> ([Candidate; 4], usize) {
    let mut kept = [seed; 4];
    // The candidate with the greatest measure, if that is above `least`.
    let most = |least: f32, measure: &dyn Fn(Vec3) -> f32| {
        let mut best: Option<(f32, &Candidate)> = None;
        for candidate in points {
            let value = measure(candidate.point);
            if value > best.map_or(least, |(most, _)| most) {
                best = Some((value, candidate));
            }
        }
        best.map(|(_, candidate)| *candidate)
    };
    let a = seed.point;
    let Some(second) = most(SAME_POINT, &|p| p.distance_squared(a)) else { return (kept, 1) };
    kept[1] = second;
    let b = second.point;
    let across = (b - a).cross(seed.normal);
    let length = across.length();
    let from_line = |p: Vec3| across.dot(p - a).abs() / length;
    let Some(third) = most(SAME_LINE, &from_line) else { return (kept, 2) };
    kept[2] = third;
    let c = third.point;
    // A fourth point adds area beyond one of the triangle's sides.
    let turn = (b - a).cross(c - a).dot(seed.normal).signum();
    let beyond =
        |from: Vec3, to: Vec3, p: Vec3| turn * (p - from).cross(to - from).dot(seed.normal);
    let added = |p: Vec3| beyond(a, b, p).max(beyond(b, c, p)).max(beyond(c, a, p));
    let Some(fourth) = most(SAME_AREA, &added) else { return (kept, 3) };
    kept[3] = fourth;
    (kept, 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(x: f32, z: f32, distance: f32) -> Candidate {
        let point = Vec3::new(x, 0.0, z);
        Candidate { point, normal: Vec3::Y, distance, triangle: 0 }
    }

    /// Area of the hull of points in the plane y = 0, by gift wrapping all triangles: the
    /// largest quadrilateral of four is what matters, so brute force over its orders.
    fn area(points: &[Candidate]) -> f32 {
        let cross = |a: Vec3, b: Vec3, c: Vec3| (b - a).cross(c - a).y.abs() * 0.5;
        let p: Vec<Vec3> = points.iter().map(|c| c.point).collect();
        match p.len() {
            3 => cross(p[0], p[1], p[2]),
            4 => {
                let split = |a: usize, b: usize, c: usize, d: usize| {
                    let same =
                        (p[b] - p[a]).cross(p[c] - p[a]).y * (p[b] - p[a]).cross(p[d] - p[a]).y;
                    if same < 0.0 { cross(p[a], p[b], p[c]) + cross(p[a], p[b], p[d]) } else { 0.0 }
                };
                let mut best = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
                    .map(|[a, b, c]| cross(p[a], p[b], p[c]))
                    .into_iter()
                    .fold(0.0, f32::max);
                for (a, b, c, d) in [
                    (0, 1, 2, 3),
                    (0, 2, 1, 3),
                    (0, 3, 1, 2),
                    (1, 2, 0, 3),
                    (1, 3, 0, 2),
                    (2, 3, 0, 1),
                ] {
                    best = best.max(split(a, b, c, d));
                }
                best
            }
            _ => 0.0,
        }
    }

    proptest! {
        #[test]
        fn four_points_span_most_of_the_area_that_any_four_with_the_deepest_span(
            points in proptest::collection::vec((-1.0..1.0f32, -1.0..1.0f32, -0.1..0.0f32), 4..12),
        ) {
            let all: Vec<_> = points.iter().map(|&(x, z, d)| at(x, z, d)).collect();
            let seed = all[deepest(&all).unwrap()];
            let (kept, count) = four(&all, seed);
            let mut best = 0.0_f32;
            // The deepest must stay, wherever it lies.
            for b in 0..all.len() {
                for c in b + 1..all.len() {
                    for d in c + 1..all.len() {
                        best = best.max(area(&[seed, all[b], all[c], all[d]]));
                    }
                }
            }
            let least = all.iter().map(|c| c.distance).fold(0.0, f32::min);
            prop_assert!(kept[0].distance <= least + SAME_DEPTH);
            prop_assert!(area(&kept[..count]) >= 0.5 * best, "{} of {best}", area(&kept[..count]));
        }
    }

    #[test]
    fn the_corners_of_a_floor_stay_whatever_lies_between() {
        let mut all = Vec::new();
        for i in 0..=4 {
            for k in 0..=4 {
                all.push(at(i as f32, k as f32, -0.01));
            }
        }
        let mut seen = Vec::new();
        manifolds(&mut all, |points| seen.push(points.to_vec()));
        assert_eq!(seen.len(), 1);
        let mut corners: Vec<_> = seen[0].iter().map(|c| (c.point.x, c.point.z)).collect();
        corners.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(corners, [(0.0, 0.0), (0.0, 4.0), (4.0, 0.0), (4.0, 4.0)]);
    }

    #[test]
    fn one_point_two_points_and_points_on_a_line_stay_what_they_are() {
        let count = |points: &[(f32, f32)]| {
            let all: Vec<_> = points.iter().map(|&(x, z)| at(x, z, 0.0)).collect();
            four(&all, all[0]).1
        };
        assert_eq!(count(&[(0.0, 0.0)]), 1);
        assert_eq!(count(&[(0.0, 0.0), (0.0, 0.0)]), 1);
        assert_eq!(count(&[(0.0, 0.0), (1.0, 0.0)]), 2);
        assert_eq!(count(&[(0.0, 0.0), (1.0, 0.0), (0.5, 0.0)]), 2);
        assert_eq!(count(&[(0.0, 0.0), (1.0, 0.0), (0.5, 1.0)]), 3);
    }

    #[test]
    fn walls_that_face_apart_make_manifolds_of_their_own() {
        let mut wall = at(0.0, 0.0, -0.1);
        wall.normal = Vec3::X;
        let mut all = vec![at(0.0, 0.0, 0.0), wall, at(1.0, 0.0, 0.0)];
        let mut sizes = Vec::new();
        manifolds(&mut all, |points| sizes.push((points[0].normal, points.len())));
        assert_eq!(sizes, [(Vec3::X, 1), (Vec3::Y, 2)]);
        assert!(all.is_empty());
    }
}
