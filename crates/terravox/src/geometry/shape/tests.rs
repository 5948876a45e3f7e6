//! The fast queries against their twins, and the cases that go wrong.

use glam::{DVec3, Quat, Vec3};
use proptest::prelude::*;

use super::naive::{Difference, triangle_distance};
use super::slice::DIRECTIONS;
use super::*;

const FLOOR: [[f32; 3]; 3] = [[-4.0, 0.0, -4.0], [0.0, 0.0, 8.0], [4.0, 0.0, -4.0]];

fn wide(p: [f32; 3]) -> DVec3 {
    DVec3::from(p.map(f64::from))
}

fn core_of<'a>(shape: &Shape<'a>) -> ShapeCore<'a> {
    ShapeCore::new(shape).expect("the shape is valid")
}

/// A point within `reach` of the origin on each axis; often on a coarse grid, where
/// things touch, align and degenerate.
fn point(reach: f32) -> impl Strategy<Value = [f32; 3]> {
    let free = [-reach..=reach, -reach..=reach, -reach..=reach];
    let steps = (reach * 2.0) as i32;
    let step = (-steps..=steps).prop_map(|i| i as f32 * 0.5);
    prop_oneof![2 => free, 1 => [step.clone(), step.clone(), step]]
}

fn triangle() -> impl Strategy<Value = [[f32; 3]; 3]> {
    let any = || [point(2.0), point(2.0), point(2.0)];
    let small =
        (any(), point(2.0)).prop_map(|(t, at)| t.map(|p| [0, 1, 2].map(|i| p[i] * 0.1 + at[i])));
    let sliver = (point(2.0), point(2.0), 0.0_f32..1.0, point(0.01))
        .prop_map(|(a, b, s, off)| [a, b, [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * s + off[i])]);
    let line = (point(2.0), point(2.0)).prop_map(|(a, b)| [a, b, a]);
    let spot = point(2.0).prop_map(|a| [a; 3]);
    prop_oneof![6 => any(), 2 => small, 2 => sliver, 1 => line, 1 => spot]
}

fn rotation() -> impl Strategy<Value = [f32; 4]> {
    let any = (point(1.0), -3.0_f32..3.0).prop_map(|(axis, angle)| {
        let axis = Vec3::from(axis).normalize_or(Vec3::Y);
        Quat::from_axis_angle(axis, angle).to_array()
    });
    prop_oneof![1 => Just([0.0, 0.0, 0.0, 1.0]), 3 => any]
}

/// A shape that owns its points.
#[derive(Clone, Debug)]
enum Owned {
    Plain(Shape<'static>),
    Hull(Vec<[f32; 3]>),
}

impl Owned {
    fn shape(&self) -> Shape<'_> {
        match self {
            Owned::Plain(shape) => *shape,
            Owned::Hull(points) => Shape::Convex { points },
        }
    }
}

fn shape() -> impl Strategy<Value = Owned> {
    let size = || prop_oneof![0.05_f32..1.5, Just(0.5)];
    prop_oneof![
        size().prop_map(|radius| Owned::Plain(Shape::Sphere { radius })),
        (point(1.0), point(1.0), size()).prop_map(|(a, b, radius)| Owned::Plain(Shape::Capsule {
            a,
            b,
            radius
        })),
        ([size(), size(), size()], rotation())
            .prop_map(|(half, rotation)| Owned::Plain(Shape::Box { half, rotation })),
        prop::collection::vec(point(1.0), 2..8)
            .prop_filter("all points are one", |points| points.iter().any(|p| *p != points[0]))
            .prop_map(Owned::Hull),
    ]
}

/// A separation is what it says: points on the things, apart by the distance along the
/// normal, and moving out that far parts the two.
fn check_separation(
    shape: &Shape,
    at: [f32; 3],
    triangle: &[[f32; 3]; 3],
) -> Result<(), TestCaseError> {
    let twin = Difference::new(shape, at, triangle);
    let expected = twin.distance(DVec3::ZERO);
    let core = core_of(shape);
    let found = core.separation(at, triangle, f32::INFINITY).expect("the numbers are plain");
    prop_assert!((f64::from(found.distance) - expected).abs() < 1e-4, "{found:?} {expected}");
    let normal = wide(found.normal);
    prop_assert!((normal.length() - 1.0).abs() < 1e-5, "{found:?}");
    let between = wide(found.on_shape) - wide(found.on_triangle);
    prop_assert!(between.distance(normal * f64::from(found.distance)) < 1e-4, "{found:?}");
    let off = triangle_distance(triangle.map(|p| wide(p) - wide(found.on_triangle)));
    prop_assert!(off < 1e-3, "{found:?} is {off} off the triangle");
    let off = Difference::new(shape, at, &[found.on_shape; 3]).distance(DVec3::ZERO);
    prop_assert!(off < 1e-3, "{found:?} is {off} off the shape");
    let out = normal * (1e-3 - f64::from(found.distance));
    let parted = twin.distance(out);
    prop_assert!((parted - 1e-3).abs() < 2e-4, "{found:?} parts by {parted}");
    if expected.abs() > 1e-4 {
        prop_assert_eq!(core.overlaps(at, triangle), expected < 0.0);
        let within = found.distance.abs() * 0.9;
        let near = core.separation(at, triangle, within);
        prop_assert_eq!(near.is_some(), expected < 0.0);
        let near = core.separation(at, triangle, found.distance.max(0.0) * 1.01);
        prop_assert!(near.is_some());
    }
    Ok(())
}

/// A cast stops where the shape touches, and not after it went in.
fn check_cast(
    shape: &Shape,
    at: [f32; 3],
    motion: [f32; 3],
    triangle: &[[f32; 3]; 3],
) -> Result<(), TestCaseError> {
    let twin = Difference::new(shape, at, triangle);
    let step = wide(motion);
    match core_of(shape).cast(at, motion, triangle, 1.0) {
        None => {
            let deep = twin.first(step, 1.0, -2e-4);
            prop_assert!(deep.is_none(), "it gets in at {deep:?}");
        }
        Some(hit) => {
            prop_assert!((0.0..=1.0).contains(&hit.t), "{hit:?}");
            let t = f64::from(hit.t);
            let distance = twin.distance(step * t);
            let rounding = 1e-6 * step.length();
            prop_assert!(distance < 2e-4 + rounding, "{hit:?} is {distance} away");
            let deep = twin.first(step, t, -2e-4 - rounding);
            prop_assert!(deep.is_none() || t == 0.0, "{hit:?} got in at {deep:?}");
            prop_assert!((wide(hit.normal).length() - 1.0).abs() < 1e-4, "{hit:?}");
            let off = triangle_distance(triangle.map(|p| wide(p) - wide(hit.point)));
            prop_assert!(off < 1e-3 + rounding, "{hit:?} is {off} off the triangle");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn separations_are_those_of_the_twin(
        shape in shape(), at in point(2.0), triangle in triangle(),
    ) {
        check_separation(&shape.shape(), at, &triangle)?;
    }

    #[test]
    fn points_of_triangles_are_those_of_the_twin(p in point(3.0), triangle in triangle()) {
        let near = closest_on_triangle(p.into(), &triangle.map(Vec3::from)).to_array();
        let expected = triangle_distance(triangle.map(|q| wide(q) - wide(p)));
        prop_assert!((wide(near).distance(wide(p)) - expected).abs() < 1e-4);
        prop_assert!(triangle_distance(triangle.map(|q| wide(q) - wide(near))) < 1e-4);
    }

    #[test]
    fn queries_of_any_numbers_terminate(
        bits in prop::collection::vec(any::<u32>(), 24), kind in 0..4_usize,
    ) {
        let number = |i: usize| f32::from_bits(bits[i]);
        let three = |i: usize| [number(i), number(i + 1), number(i + 2)];
        let points = [three(0), three(3)];
        let shape = [
            Shape::Sphere { radius: number(0) },
            Shape::Capsule { a: three(0), b: three(3), radius: number(6) },
            Shape::Box { half: three(0), rotation: [0.0, 0.6, 0.8, 0.0] },
            Shape::Convex { points: &points },
        ][kind];
        let triangle = [three(7), three(10), three(13)];
        ask_all(&shape, three(16), three(19), &triangle, number(22));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn casts_stop_where_the_twin_stops(
        shape in shape(), at in point(4.0), motion in point(8.0), triangle in triangle(),
    ) {
        check_cast(&shape.shape(), at, motion, &triangle)?;
    }
}

/// Asks everything; what comes is a number or nothing.
fn ask_all(shape: &Shape, at: [f32; 3], motion: [f32; 3], triangle: &[[f32; 3]; 3], t_max: f32) {
    let Some(core) = ShapeCore::new(shape) else { return };
    core.overlaps(at, triangle);
    if let Some(found) = core.separation(at, triangle, f32::INFINITY) {
        assert!(!found.distance.is_nan(), "{found:?}");
    }
    core.separation(at, triangle, t_max);
    for t_max in [t_max, 1.0, f32::INFINITY] {
        if let Some(hit) = core.cast(at, motion, triangle, t_max) {
            assert!((0.0..=t_max).contains(&hit.t), "{hit:?}");
        }
    }
}

const UPRIGHT: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
const CUBE: Shape = Shape::Box { half: [0.5; 3], rotation: UPRIGHT };
const BALL: Shape = Shape::Sphere { radius: 0.5 };
const PILL: Shape = Shape::Capsule { a: [0.0, -0.25, 0.0], b: [0.0, 0.25, 0.0], radius: 0.25 };
const POINTS: [[f32; 3]; 6] = [
    [0.5, 0.0, 0.0],
    [-0.5, 0.0, 0.0],
    [0.0, 0.5, 0.0],
    [0.0, -0.5, 0.0],
    [0.0, 0.0, 0.5],
    [0.0, 0.0, -0.5],
];
const HULL: Shape = Shape::Convex { points: &POINTS };

/// One of each kind, all reaching 0.5 below their origin.
const KINDS: [Shape; 4] = [BALL, PILL, CUBE, HULL];

#[test]
fn invalid_shapes_are_rejected() {
    let nan = f32::NAN;
    let none = [
        Shape::Sphere { radius: 0.0 },
        Shape::Sphere { radius: -1.0 },
        Shape::Sphere { radius: nan },
        Shape::Sphere { radius: f32::INFINITY },
        Shape::Capsule { a: [nan; 3], b: [0.0; 3], radius: 1.0 },
        Shape::Capsule { a: [1.0; 3], b: [0.0; 3], radius: 0.0 },
        Shape::Box { half: [1.0, 0.0, 1.0], rotation: UPRIGHT },
        Shape::Box { half: [1.0; 3], rotation: [0.0; 4] },
        Shape::Box { half: [1.0; 3], rotation: [nan; 4] },
        Shape::Convex { points: &[] },
        Shape::Convex { points: &[[1.0; 3], [1.0; 3]] },
        Shape::Convex { points: &[[1.0; 3], [nan, 0.0, 0.0]] },
    ];
    for shape in none {
        assert!(!shape.is_valid() && shape.bounds().is_none(), "{shape:?}");
    }
    for shape in KINDS {
        assert!(shape.is_valid(), "{shape:?}");
    }
}

#[test]
fn bounds_hold_the_shape_and_no_more() {
    let turned = Quat::from_rotation_z(std::f32::consts::FRAC_PI_4).to_array();
    let (min, max) = Shape::Box { half: [1.0, 1.0, 3.0], rotation: turned }.bounds().unwrap();
    let root = 2.0_f32.sqrt();
    assert!(Vec3::from(max).abs_diff_eq(Vec3::new(root, root, 3.0), 1e-6));
    assert_eq!(Vec3::from(min), -Vec3::from(max));
    let pill = Shape::Capsule { a: [0.0, 1.0, 0.0], b: [0.0, 3.0, 1.0], radius: 0.5 };
    assert_eq!(pill.bounds(), Some(([-0.5, 0.5, -0.5], [0.5, 3.5, 1.5])));
    assert_eq!(HULL.bounds(), Some(([-0.5; 3], [0.5; 3])));
}

#[test]
fn a_fall_stops_on_the_floor() {
    for shape in KINDS {
        let hit = core_of(&shape).cast([0.0, 3.0, 0.0], [0.0, -10.0, 0.0], &FLOOR, 1.0);
        let hit = hit.unwrap_or_else(|| panic!("{shape:?} falls through"));
        assert!((hit.t - 0.25).abs() < 1e-5, "{shape:?} {hit:?}");
        assert!(hit.normal[1] > 0.9999, "{shape:?} {hit:?}");
    }
}

#[test]
fn falls_of_any_length_stop_on_the_floor() {
    for shape in KINDS {
        for far in [1e3, 1e6, 1e20, 3e38_f32] {
            let hit = core_of(&shape).cast([0.0, 3.0, 0.0], [0.0, -far, 0.0], &FLOOR, 1.0);
            let hit = hit.unwrap_or_else(|| panic!("{shape:?} falls through {far}"));
            assert!((hit.t * far - 2.5).abs() < 1e-3, "{shape:?} {far} {hit:?}");
        }
        let slow = core_of(&shape).cast([0.0, 3.0, 0.0], [0.0, -1e-20, 0.0], &FLOOR, f32::INFINITY);
        assert!(slow.is_some_and(|hit| (hit.t * 1e-20 - 2.5).abs() < 1e-3), "{shape:?}");
    }
}

#[test]
fn a_fall_beside_or_short_of_the_floor_meets_nothing() {
    for shape in KINDS {
        let core = core_of(&shape);
        let down = [0.0, -10.0, 0.0];
        assert_eq!(core.cast([9.0, 3.0, 0.0], down, &FLOOR, 1.0), None, "{shape:?}");
        assert_eq!(core.cast([0.0, 3.0, 0.0], down, &FLOOR, 0.2), None, "{shape:?}");
        assert_eq!(core.cast([0.0, 3.0, 0.0], [0.0, 10.0, 0.0], &FLOOR, 1.0), None);
        assert_eq!(core.cast([0.0, 3.0, 0.0], [4.0, 0.0, 0.0], &FLOOR, 1.0), None, "{shape:?}");
    }
}

#[test]
fn without_motion_only_what_touches_is_hit() {
    for shape in KINDS {
        let core = core_of(&shape);
        for t_max in [0.0, 1.0, f32::INFINITY] {
            assert_eq!(core.cast([0.0, 0.6, 0.0], [0.0; 3], &FLOOR, t_max), None, "{shape:?}");
            let hit = core.cast([0.0, 0.4, 0.0], [0.0; 3], &FLOOR, t_max);
            assert!(hit.is_some_and(|hit| hit.t == 0.0), "{shape:?} {hit:?}");
        }
    }
}

#[test]
fn one_that_overlaps_hits_at_once_with_the_way_out() {
    for shape in KINDS {
        for motion in [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]] {
            let hit = core_of(&shape).cast([0.0, 0.4, 0.0], motion, &FLOOR, 1.0);
            let hit = hit.unwrap_or_else(|| panic!("{shape:?}"));
            assert!(hit.t == 0.0 && hit.normal[1] > 0.999, "{shape:?} {hit:?}");
        }
    }
}

#[test]
fn one_that_touches_and_leaves_hits_nothing() {
    for shape in KINDS {
        let core = core_of(&shape);
        for off in [4e-6, 0.0, -4e-6] {
            let above = [0.0, 0.5 + off, 0.0];
            assert_eq!(core.cast(above, [0.0, 1.0, 0.0], &FLOOR, 1.0), None, "{shape:?}");
            let hit = core.cast(above, [0.0, -1.0, 0.0], &FLOOR, 1.0);
            assert!(hit.is_some_and(|hit| hit.t < 1e-4), "{shape:?} {hit:?}");
        }
    }
}

#[test]
fn one_that_grazes_a_side_is_let_by_or_stopped() {
    // The floor's side along z = -4: a thing that flies along it, just clear or just not.
    for shape in KINDS {
        let core = core_of(&shape);
        let along = [20.0, 0.0, 0.0];
        let (clear, not) = ([-9.0, 0.0, -4.51], [-9.0, 0.0, -4.49]);
        let reach = -core.bounds().0[2];
        let shift = |p: [f32; 3]| [p[0], p[1], p[2] + 0.5 - reach];
        assert_eq!(core.cast(shift(clear), along, &FLOOR, 1.0), None, "{shape:?}");
        let hit = core.cast(shift(not), along, &FLOOR, 1.0);
        assert!(hit.is_some_and(|hit| hit.t > 0.2 && hit.t < 0.3), "{shape:?} {hit:?}");
    }
}

#[test]
fn depths_on_a_floor_are_read_off() {
    for shape in KINDS {
        for sink in [0.0, 1e-5, 0.01, 0.2] {
            let at = [0.0, 0.5 - sink, 0.0];
            let found = core_of(&shape).separation(at, &FLOOR, 0.1).expect("it is near");
            assert!((found.distance + sink).abs() < 1e-5, "{shape:?} {sink} {found:?}");
            assert!(found.normal[1] > 0.999, "{shape:?} {sink} {found:?}");
        }
    }
}

#[test]
fn a_core_on_the_triangle_is_parted_all_the_same() {
    let spot = [[0.0; 3]; 3];
    let line = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]];
    for shape in KINDS {
        for triangle in [FLOOR, spot, line] {
            let found = core_of(&shape).separation([0.0; 3], &triangle, 0.0).expect("it is in");
            let normal = Vec3::from(found.normal);
            assert!(found.distance < 0.0 && normal.is_normalized(), "{shape:?} {found:?}");
            let out = normal * (1e-3 - found.distance);
            assert!(!core_of(&shape).overlaps(out.to_array(), &triangle), "{shape:?} {found:?}");
        }
    }
}

#[test]
fn non_finite_numbers_find_nothing() {
    for shape in KINDS {
        let core = core_of(&shape);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            let at = [0.0, bad, 0.0];
            assert!(!core.overlaps(at, &FLOOR));
            assert_eq!(core.separation(at, &FLOOR, f32::INFINITY), None);
            assert_eq!(core.cast(at, [0.0, 1.0, 0.0], &FLOOR, 1.0), None);
            let bent = [FLOOR[0], at, FLOOR[2]];
            assert!(!core.overlaps([0.0; 3], &bent));
            assert_eq!(core.separation([0.0; 3], &bent, f32::INFINITY), None);
        }
        let at = [0.0, 0.4, 0.0];
        assert_eq!(core.separation(at, &FLOOR, f32::NAN), None, "{shape:?}");
        assert_eq!(core.cast(at, [f32::NAN; 3], &FLOOR, 1.0), None);
        assert_eq!(core.cast(at, [1.0; 3], &FLOOR, f32::NAN), None);
        assert_eq!(core.cast(at, [1.0; 3], &FLOOR, -1.0), None);
    }
}

/// A hull of points on a ball of 0.6, as round as hulls get.
fn round_hull() -> Vec<[f32; 3]> {
    (0..40)
        .map(|i| {
            let (height, turn) = (1.0 - (i as f32 + 0.5) / 20.0, i as f32 * 2.4);
            let round = (1.0 - height * height).sqrt();
            [round * turn.cos(), height, round * turn.sin()].map(|v| v * 0.6)
        })
        .collect()
}

#[test]
fn a_hull_of_many_points_is_parted_by_about_the_shortest_way() {
    let points = round_hull();
    let shape = Shape::Convex { points: &points };
    for at in [[0.0, 0.5, 0.0], [0.1, 0.2, 0.3], [3.9, 0.1, -3.9], [0.0, 0.0, 0.0]] {
        let twin = Difference::new(&shape, at, &FLOOR);
        let expected = twin.distance(DVec3::ZERO);
        let found = core_of(&shape).separation(at, &FLOOR, 0.0).expect("it is in");
        let off = expected - f64::from(found.distance);
        assert!(off > -1e-4 && off < 1e-2, "{at:?} {found:?} {expected}");
        let out = wide(found.normal) * (1e-3 - f64::from(found.distance));
        assert!(twin.distance(out) > 5e-4, "{at:?} {found:?} does not part them");
    }
}

#[test]
fn things_of_very_different_sizes_stop_each_other() {
    let huge = FLOOR.map(|p| p.map(|v| v * 5000.0));
    let tiny = FLOOR.map(|p| p.map(|v| v * 1e-3));
    for shape in KINDS {
        for (triangle, within) in [(huge, 0.3), (tiny, 1e-3)] {
            let hit = core_of(&shape).cast([0.0, 3.0, 0.0], [0.0, -10.0, 0.0], &triangle, 1.0);
            let hit = hit.unwrap_or_else(|| panic!("{shape:?} falls through {triangle:?}"));
            assert!((hit.t * 10.0 - 2.5).abs() < within, "{shape:?} {hit:?}");
        }
    }
    let long = Shape::Capsule { a: [-30.0, 0.0, 0.0], b: [30.0, 0.0, 0.0], radius: 0.01 };
    let plate = Shape::Box { half: [30.0, 0.01, 30.0], rotation: UPRIGHT };
    for shape in [long, plate] {
        let hit = core_of(&shape).cast([0.0, 3.0, 0.0], [0.0, -10.0, 0.0], &FLOOR, 1.0);
        assert!(hit.is_some_and(|hit| (hit.t - 0.299).abs() < 1e-4), "{shape:?} {hit:?}");
    }
}

#[test]
fn a_box_shows_the_face_that_faces_most() {
    let shape = Shape::Box { half: [1.0, 2.0, 3.0], rotation: [0.0, 0.0, 0.0, 1.0] };
    let core = ShapeCore::new(&shape).unwrap();
    let face = core.feature(Vec3::new(0.2, -0.9, 0.1));
    assert_eq!(face.points().len(), 4);
    assert!(face.points().iter().all(|p| p.y == -2.0 && p.x.abs() == 1.0 && p.z.abs() == 3.0));
    let around: Vec<_> =
        (0..4).map(|i| face.points()[i].distance(face.points()[(i + 1) % 4])).collect();
    assert!(around.iter().all(|&d| d == 2.0 || d == 6.0), "in order: {around:?}");
}

#[test]
fn a_hull_shows_its_lowest_points_in_order() {
    let mut points = Vec::new();
    for i in 0..6 {
        let (sin, cos) = (i as f32 * 3.0).sin_cos();
        points.push([cos, -1.0, sin]);
        points.push([0.8 * cos, 1.0, 0.8 * sin]);
    }
    let core = ShapeCore::new(&Shape::Convex { points: &points }).unwrap();
    let face = core.feature(-Vec3::Y);
    assert_eq!(face.points().len(), 6);
    let turns = (0..6).map(|i| {
        let [a, b, c] = [i, i + 1, i + 2].map(|k| face.points()[k % 6]);
        (b - a).cross(c - b).y.signum()
    });
    let turns: Vec<_> = turns.collect();
    assert!(turns.iter().all(|&turn| turn == turns[0]), "{turns:?}");
}

#[test]
fn reach_is_that_of_the_farthest_point() {
    let capsule = Shape::Capsule { a: [0.0, -1.0, 0.0], b: [0.0, 1.0, 0.0], radius: 0.25 };
    let core = ShapeCore::new(&capsule).unwrap();
    assert_eq!(core.reach(-Vec3::Y), 1.25);
    assert_eq!(core.reach(Vec3::X), 0.25);
    assert_eq!(core.middle(), Vec3::ZERO);
}

/// Returns the lowest and the highest point, each less `margin`, of a vertical line in the slice of a hull at
/// `z`, as slices are defined: by its extreme points in evenly spaced directions.
fn naive_slice_span(points: &[[f32; 3]], x: f32, z: f32, margin: f64) -> Option<[f64; 2]> {
    let points = Vec::from_iter(points.iter().copied().map(wide));
    let (x, z) = (f64::from(x), f64::from(z));
    let cut = |a: &DVec3, b: &DVec3| a.lerp(*b, (z - a.z) / (b.z - a.z));
    let (below, above): (Vec<DVec3>, Vec<DVec3>) = points.iter().partition(|point| point.z <= z);
    let slice = Vec::from_iter(below.iter().flat_map(|a| above.iter().map(move |b| cut(a, b))));
    let min = points.iter().copied().reduce(DVec3::min)?;
    let size = points.iter().copied().reduce(DVec3::max)? - min;
    let corners = Vec::from_iter((0..DIRECTIONS).filter_map(|direction| {
        let (sin, cos) = (std::f64::consts::TAU * direction as f64 / DIRECTIONS as f64).sin_cos();
        let along = DVec3::new(cos / size.x, sin / size.y, 0.0);
        slice.iter().copied().max_by(|a, b| along.dot(*a).total_cmp(&along.dot(*b)))
    }));
    let crossings = corners.iter().flat_map(|a| {
        let right = corners.iter().filter(move |b| a.x <= x && x < b.x);
        right.map(move |b| a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x))
    });
    let [low, high] = crossings
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], y| [low.min(y), high.max(y)]);
    (low < high).then_some([low + margin, high - margin])
}

proptest! {
    #[test]
    fn lines_are_inside_where_sampling_says(
        turn in [-1.0..1.0f32, -1.0..1.0f32, -1.0..1.0f32, 0.2..1.0f32],
        x in -1.5..1.5f32, z in -1.5..1.5f32, kind in 0..5u8,
        points in prop::collection::vec(prop::array::uniform3(-1.2..1.2f32), 4..24),
    ) {
        let turn = glam::Quat::from_array(turn).normalize();
        let corners: Vec<[f32; 3]> = (0..8)
            .map(|i| {
                let sign = |bit: u32| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
                (turn * Vec3::new(sign(0), 0.5 * sign(1), 0.7 * sign(2))).to_array()
            })
            .collect();
        let end = (turn * Vec3::X).to_array();
        let shape = match kind {
            0 => Shape::Sphere { radius: 1.1 },
            1 => Shape::Capsule { a: end, b: end.map(|v| -0.5 * v), radius: 0.4 },
            2 => Shape::Box { half: [1.0, 0.5, 0.7], rotation: turn.to_array() },
            3 => Shape::Convex { points: &corners },
            _ => Shape::Convex { points: &points },
        };
        let core = ShapeCore::new(&shape).unwrap();
        let mut slices = Slices::default();
        core.cut(&[z], &mut slices);
        core.select(0, &mut slices);
        let span = core.vertical_span(x, z, &slices);
        let slice = match shape {
            Shape::Convex { points } => naive_slice_span(points, x, z, 2e-3),
            _ => None,
        };
        for step in -40..40 {
            let y = step as f32 * 0.05;
            let point = [[x, y, z]; 3];
            let near = core.separation([0.0; 3], &point, f32::INFINITY).unwrap().distance;
            // The only points that a line may miss are those near a corner that slices do not have.
            let is_in_slice = |[low, high]: [f64; 2]| (low..high).contains(&f64::from(y));
            let is_cut_off = kind > 2 && near < 0.0 && !slice.is_some_and(is_in_slice);
            if near.abs() > 2e-3 && !is_cut_off {
                let inside = span.is_some_and(|[low, high]| low < y && y < high);
                prop_assert_eq!(inside, near < 0.0, "{} at {} of {:?}", near, y, span);
            }
        }
    }
}
