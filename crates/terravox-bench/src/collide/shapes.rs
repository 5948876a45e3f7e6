//! Shapes against single triangles of the mesher's size whose boxes overlap: the cost of a
//! contact once the index has found the candidates. Compared with parry.

use parry3d::glamx::{Pose3, Quat, Vec3};
use parry3d::query::{self, ShapeCastOptions};
use parry3d::shape as parry;
use terravox::geometry::{Shape, ShapeCore};

use crate::harness::{Entrant, RoundBudget, contest};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Lcg;

/// Triangles that each kind of shape is tested against.
const PAIRS: usize = 2000;

/// Largest separation that queries report, voxels: as for contacts.
const NEAR: f32 = 0.1;

/// A triangle where the origin's shape might meet it.
struct Pair {
    at: [f32; 3],
    motion: [f32; 3],
    triangle: [[f32; 3]; 3],
    face: parry::Triangle,
}

/// Returns whether a pair overlaps, is near or is hit.
type PairTest<'a> = &'a dyn Fn(&Pair) -> bool;

/// Three numbers from `-reach` to `reach`.
fn three(numbers: &mut Lcg, reach: f32) -> [f32; 3] {
    [0; 3].map(|_| numbers.signed() * reach)
}

/// Halves of quads about a voxel wide, in any direction, whose box meets the shape's.
fn pairs(shape: &ShapeCore) -> Vec<Pair> {
    let mut numbers = Lcg(7);
    let (min, max) = shape.bounds();
    let mut pairs = Vec::new();
    while pairs.len() < PAIRS {
        let turn = Quat::from_axis_angle(
            Vec3::from(three(&mut numbers, 1.0)).normalize_or(Vec3::Y),
            numbers.signed() * 3.0,
        );
        let middle = Vec3::from(three(&mut numbers, 1.5));
        let corners = [[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5], [0.5, 0.0, 0.5]];
        let triangle = corners.map(|p| {
            (middle + turn * (Vec3::from(p) + Vec3::from(three(&mut numbers, 0.2)))).to_array()
        });
        let meets = (0..3).all(|i| {
            let corners = triangle.map(|p| p[i]);
            let low = corners.into_iter().fold(f32::INFINITY, f32::min);
            let high = corners.into_iter().fold(f32::NEG_INFINITY, f32::max);
            low - NEAR <= max[i] && high + NEAR >= min[i]
        });
        if meets {
            let at = three(&mut numbers, 4.0);
            let triangle = triangle.map(|p| [0, 1, 2].map(|i| p[i] + at[i]));
            let [a, b, c] = triangle.map(Vec3::from);
            let face = parry::Triangle::new(a, b, c);
            pairs.push(Pair { at, motion: three(&mut numbers, 2.0), triangle, face });
        }
    }
    pairs
}

fn pose(at: [f32; 3], turn: Quat) -> Pose3 {
    Pose3::from_parts(Vec3::from(at), turn)
}

/// Runs all three queries for one kind of shape; also returns how often it overlaps.
fn compare_shapes(
    report: &mut AreaReport,
    name: &str,
    ours: &Shape,
    peer: &dyn parry::Shape,
    turn: Quat,
) {
    let core = ShapeCore::new(ours).expect("the shape is valid");
    let pairs = pairs(&core);
    let none = Pose3::IDENTITY;
    let all = |run: &dyn Fn(&Pair) -> bool| pairs.iter().filter(|pair| run(pair)).count() as u64;
    let overlaps = |p: &Pair| core.overlaps(p.at, &p.triangle);
    let near = |p: &Pair| core.separation(p.at, &p.triangle, NEAR).is_some();
    let cast = |p: &Pair| {
        let back = [0, 1, 2].map(|i| p.at[i] - p.motion[i]);
        core.cast(back, p.motion, &p.triangle, 1.0).is_some()
    };
    let peer_overlaps = |p: &Pair| {
        query::intersection_test(&pose(p.at, turn), peer, &none, &p.face)
            .is_ok_and(|found| found.intersecting)
    };
    let peer_near = |p: &Pair| {
        let found = query::contact(&pose(p.at, turn), peer, &none, &p.face, NEAR);
        found.is_ok_and(|contact| contact.is_some())
    };
    let peer_cast = |p: &Pair| {
        let back = [0, 1, 2].map(|i| p.at[i] - p.motion[i]);
        let options = ShapeCastOptions::with_max_time_of_impact(1.0);
        let (from, motion) = (pose(back, turn), Vec3::from(p.motion));
        let found = query::cast_shapes(&from, motion, peer, &none, Vec3::ZERO, &p.face, options);
        found.is_ok_and(|hit| hit.is_some())
    };
    let tests: [(&str, PairTest, PairTest); 3] = [
        ("overlap", &overlaps, &peer_overlaps),
        ("separation", &near, &peer_near),
        ("cast", &cast, &peer_cast),
    ];
    let mut lines = Vec::new();
    for (name, ours, peer) in tests {
        let (hits, peer_hits) = (all(ours), all(peer));
        let budget = RoundBudget { warm: true, ..RoundBudget::seconds(0.3) };
        let timings = contest(
            1,
            budget,
            [Entrant::new("ours", |_| all(ours)), Entrant::new("parry", |_| all(peer))],
        );
        let [ours, peer] = timings.map(|timing| timing.min / PAIRS as f64 * 1e9);
        let note = format!("true for {hits} of {PAIRS}, {peer_hits} of parry's");
        lines.push(detail(name, ours, "ns").beside(peer).note(note));
    }
    report.details(format!("a {name} against a triangle; beside parry3d"), lines);
}

/// Measures three queries for each kind of shape, as details.
pub fn run(report: &mut AreaReport) {
    let turn = Quat::from_axis_angle(Vec3::new(1.0, 2.0, 3.0).normalize(), 0.7);
    let none = Quat::IDENTITY;
    compare_shapes(report, "sphere", &Shape::Sphere { radius: 0.5 }, &parry::Ball::new(0.5), none);
    let (low, high) = ([0.0, -0.5, 0.0], [0.0, 0.5, 0.0]);
    let ours = Shape::Capsule { a: low, b: high, radius: 0.3 };
    let peer = parry::Capsule::new(Vec3::from(low), Vec3::from(high), 0.3);
    compare_shapes(report, "capsule", &ours, &peer, none);
    let half = [0.5, 0.4, 0.6];
    let ours = Shape::Box { half, rotation: turn.to_array() };
    compare_shapes(report, "box", &ours, &parry::Cuboid::new(Vec3::from(half)), turn);
    let mut numbers = Lcg(3);
    let points = [0; 16]
        .map(|_| (Vec3::from(three(&mut numbers, 1.0)).normalize_or(Vec3::Y) * 0.6).to_array());
    let corners = points.map(Vec3::from);
    let peer = parry::ConvexPolyhedron::from_convex_hull(&corners).expect("the points have a hull");
    compare_shapes(report, "hull of 16 points", &Shape::Convex { points: &points }, &peer, none);
}
