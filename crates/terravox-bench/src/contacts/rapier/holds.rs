//! Support by the ground: bodies set down on convex edges and block borders, fast balls, bodies
//! that start half inside, and sleeping bodies whose ground is dug away.

use rapier3d::prelude::*;
use terravox::collide::{CollisionBlock, Filter};
use terravox::geometry::Shape;
use terravox::voxel::{Cell, DenseBox, Region};

use super::scene::{
    EdgePoint, GroundKind, InsideTest, PhysicsScene, convex_edges, flat, rough, sine,
};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Lcg;

/// Bodies set down on edges, half of them on each kind of hills.
const BODIES_ON_EDGES: usize = 7200;

const FAST_BALLS: usize = 400;

/// How far a body that is held may be below its rest height, metres.
const SINK_TOLERANCE_M: f32 = 0.02;

/// The box that ground fills in all scenes but one, metres.
const MIN_M: [f32; 3] = [-64.0, -32.0, -64.0];
const MAX_M: [f32; 3] = [64.0, 32.0, 64.0];

/// Measures `support_lost`, `ccd_tunnelled`, `inside_recovered` and `edit_wake_steps`.
pub fn run(report: &mut AreaReport) {
    measure_support(report);
    measure_fast_balls(report);
    measure_recovery(report);
    measure_waking(report);
}

/// Returns the height at which a shape that is lowered from above rests, metres.
fn rest_height(scene: &mut PhysicsScene, at: [f32; 3], shape: &Shape<'_>) -> Option<f32> {
    let from = [at[0], at[1] + 4.0, at[2]].map(f64::from);
    let hit = scene.collider().cast(shape, from, [0.0, -8.0, 0.0], &Filter::SOLID).found?;
    Some((from[1] - hit.distance) as f32)
}

/// A body that was set down on an edge.
struct PlacedBody {
    body: RigidBodyHandle,
    /// Height at which it should rest.
    height_m: f32,
    is_at_border: bool,
}

/// How many bodies were not held, by the edge on which they were set down.
#[derive(Clone, Copy, Default)]
struct SunkBodies {
    within_blocks: usize,
    at_borders: usize,
}

/// Sets bodies down on convex edges, free to move up and down only, and counts those that sink.
fn measure_support(report: &mut AreaReport) {
    let hills: [InsideTest; 2] = [rough, sine];
    let sunk = hills.map(|inside_m| {
        let mut scene = PhysicsScene::ours(MIN_M, MAX_M, inside_m);
        let placed = place_on_edges(&mut scene);
        scene.steps(90);
        let mut sunk = SunkBodies::default();
        for PlacedBody { body, height_m, is_at_border } in placed {
            // NaN counts as sunk.
            let is_held = scene.body(body).translation().y >= height_m - SINK_TOLERANCE_M;
            let count = if is_at_border { &mut sunk.at_borders } else { &mut sunk.within_blocks };
            *count += usize::from(!is_held);
        }
        sunk
    });
    let all: usize = sunk.iter().map(|sunk| sunk.within_blocks + sunk.at_borders).sum();
    let [rough, sine] = sunk;
    let note = format!(
        "Rapier: rough {} + {} at borders, sine {} + {}",
        rough.within_blocks, rough.at_borders, sine.within_blocks, sine.at_borders
    );
    report.set("support_lost", all as f64, note);
}

/// Places balls and capsules just above edges, every second one above an edge at a border of blocks.
fn place_on_edges(scene: &mut PhysicsScene) -> Vec<PlacedBody> {
    let region = Region::new([-56, -24, -56], [56, 24, 56]);
    let blocks: Vec<CollisionBlock> = region.blocks::<3>().collect();
    let (at_borders, within_blocks): (Vec<_>, Vec<_>) =
        convex_edges(scene.collider(), &blocks).into_iter().partition(|point| point.is_at_border);
    assert!(!at_borders.is_empty() && !within_blocks.is_empty(), "the hills have no convex edges");
    let mut numbers = Lcg(11);
    let mut placed = Vec::new();
    // Above some edges is no room for a body.
    for _ in 0..20 * BODIES_ON_EDGES {
        if placed.len() == BODIES_ON_EDGES / 2 {
            break;
        }
        let edges = if placed.len() % 2 == 0 { &at_borders } else { &within_blocks };
        let EdgePoint { position_m: at, is_at_border } =
            edges[(numbers.unit() * edges.len() as f32) as usize];
        let is_capsule = placed.len() % 4 >= 2;
        let shape = match is_capsule {
            true => Shape::Capsule { a: [0.0, -0.4, 0.0], b: [0.0, 0.4, 0.0], radius: 0.3 },
            false => Shape::Sphere { radius: 0.5 },
        };
        let Some(height_m) = rest_height(scene, at, &shape) else { continue };
        let collider = match is_capsule {
            true => ColliderBuilder::capsule_y(0.4, 0.3),
            false => ColliderBuilder::ball(0.5),
        };
        let body = RigidBodyBuilder::dynamic()
            .translation(Vector::new(at[0], height_m + 0.02, at[2]))
            .enabled_translations(false, true, false)
            .lock_rotations();
        let body = scene.add(body, collider);
        placed.push(PlacedBody { body, height_m, is_at_border });
    }
    assert_eq!(placed.len(), BODIES_ON_EDGES / 2, "too few edges hold a body");
    placed
}

/// Shoots balls at the ground, and counts those that pass through it.
fn measure_fast_balls(report: &mut AreaReport) {
    let [ours, mesh] = GroundKind::BOTH.map(|ground| {
        let mut scene = PhysicsScene::new(ground, MIN_M, MAX_M, rough);
        let mut numbers = Lcg(5);
        let mut balls = Vec::new();
        for _ in 0..FAST_BALLS {
            let [x, z] = [0, 0].map(|_: i32| numbers.unit() * 70.0 - 35.0);
            let lean = [0, 0].map(|_: i32| numbers.unit() * 0.5 - 0.25);
            let direction = Vector::new(lean[0], -1.0, lean[1]).normalize();
            let body = RigidBodyBuilder::dynamic()
                .translation(Vector::new(x, 14.0 + 12.0 * numbers.unit(), z))
                .linvel(direction * 300.0);
            balls.push(scene.add(body, ColliderBuilder::ball(0.25)));
        }
        scene.steps(20);
        let is_above = |ball: &RigidBodyHandle| {
            let at = scene.body(*ball).translation();
            rough(at.to_array()) <= 0.25 + 0.2
        };
        balls.iter().filter(|&ball| !is_above(ball)).count() as f64
    });
    let note = "radius 0.25 m at 300 m/s onto rough hills; beside one mesh";
    report.set_beside("ccd_tunnelled", ours, mesh, note);
}

/// Starts bodies inside the ground, and measures which share comes out.
fn measure_recovery(report: &mut AreaReport) {
    let mut rows = Vec::new();
    for depth_m in [0.1, 0.3, 0.6, 1.0] {
        let shares = GroundKind::BOTH.map(|ground| recovered_shares(ground, depth_m));
        let [ours, mesh] = shares.map(|by_shape| by_shape.iter().sum::<f64>() / 3.0);
        if depth_m == 0.3 {
            let note = "middle 0.3 m below level ground and soft hills; beside one mesh";
            report.set_beside("inside_recovered", ours, mesh, note);
        }
        for (name, share, by_shape) in [("ours", ours, shares[0]), ("one mesh", mesh, shares[1])] {
            let [ball, cuboid, capsule] = by_shape.map(|share| 100.0 * share);
            let note = format!("balls {ball:.0} %, boxes {cuboid:.0} %, capsules {capsule:.0} %");
            let name = format!("{name}, middle {depth_m} m deep");
            rows.push(detail(name, share, "share").note(note));
        }
    }
    report.details("bodies in the ground that come out", rows);
}

/// Returns the shares of balls, boxes and capsules that come out of level ground and soft hills.
fn recovered_shares(ground: GroundKind, depth_m: f32) -> [f64; 3] {
    const BODIES_PER_SHAPE: usize = 100;
    let hills: [InsideTest; 2] = [flat, sine];
    let mut recovered = [0; 3];
    for inside_m in hills {
        let mut scene = PhysicsScene::new(ground, MIN_M, MAX_M, inside_m);
        let mut numbers = Lcg(3);
        let mut bodies = Vec::new();
        for i in 0..3 * BODIES_PER_SHAPE {
            let [x, z] = [0, 0].map(|_: i32| numbers.unit() * 100.0 - 50.0);
            let at = Vector::new(x, inside_m([x, 0.0, z]) - depth_m, z);
            let collider = match i % 3 {
                0 => ColliderBuilder::ball(0.5),
                1 => ColliderBuilder::cuboid(0.5, 0.5, 0.5),
                _ => ColliderBuilder::capsule_y(0.4, 0.3),
            };
            bodies.push(scene.add(RigidBodyBuilder::dynamic().translation(at), collider));
        }
        scene.steps(180);
        for (i, body) in bodies.into_iter().enumerate() {
            let at = scene.body(body).translation();
            recovered[i % 3] += usize::from(inside_m(at.to_array()) < -0.1);
        }
    }
    recovered.map(|count| count as f64 / (hills.len() * BODIES_PER_SHAPE) as f64)
}

/// Digs under sleeping boxes, and counts the steps until each moves.
fn measure_waking(report: &mut AreaReport) {
    let mut scene = PhysicsScene::ours([-64.0, -16.0, -64.0], [64.0, 16.0, 64.0], sine);
    let mut numbers = Lcg(17);
    let mut bodies = Vec::new();
    for i in 0..64 {
        let [x, z] = [(i % 8) as f32 * 12.0 - 44.0, (i / 8) as f32 * 12.0 - 44.0];
        let [x, z] = [x, z].map(|v| v + 3.0 * numbers.unit());
        let body =
            RigidBodyBuilder::dynamic().translation(Vector::new(x, sine([x, 0.0, z]) + 0.8, z));
        let collider = ColliderBuilder::cuboid(0.5, 0.3, 0.5).friction(1.0);
        bodies.push(scene.add(body, collider));
    }
    scene.steps(400);
    let (mut max_steps, mut sleeping) = (0, 0);
    for body in bodies {
        if !scene.body(body).is_sleeping() {
            continue;
        }
        sleeping += 1;
        let at = scene.body(body).translation();
        let [x, y, z] = at.to_array().map(|v| v.floor() as i32);
        let mut hole = DenseBox::new(Region::new([x - 2, y - 4, z - 2], [x + 3, y + 1, z + 3]));
        for voxel in hole.region().voxels() {
            hole.set(voxel, Cell::AIR);
        }
        let Ok(()) = scene.terrain.grid_mut().write(&hole) else { unreachable!("it is held") };
        let mut steps = 0;
        while scene.body(body).translation() == at && steps < 100 {
            scene.step();
            steps += 1;
        }
        max_steps = max_steps.max(steps);
    }
    if sleeping == 0 {
        return report.not_measured("edit_wake_steps", "no box fell asleep in 400 steps");
    }
    let note = format!("most of {sleeping} sleeping boxes that are dug under");
    report.set("edit_wake_steps", max_steps as f64, note);
}
