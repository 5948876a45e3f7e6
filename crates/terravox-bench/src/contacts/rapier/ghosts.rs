//! Bumps of bodies at inner edges: rolling and sliding over level blocks, and a
//! ball over soft hills.

use rapier3d::prelude::*;

use super::scene::{InsideTest, PhysicsScene, flat, sine};
use crate::report::{AreaReport, ReportRow, detail};

/// Blocks that a body crosses.
const BLOCKS: f32 = 100.0;

/// Directions of a body, radians from along the blocks.
const RUNS: usize = 8;

/// Steps before anything counts: bodies are set down exactly, contacts are not.
const SETTLE: usize = 30;

/// The bumps of a body.
#[derive(Clone, Copy, Debug, Default)]
struct BumpStats {
    /// Fastest up or down, m/s.
    vy: f32,
    /// Farthest off its line, metres: the sum of what its velocity says, since positions
    /// some hundred metres out are rounded at every step.
    lateral: f64,
}

/// Measures this part.
pub fn run(report: &mut AreaReport) {
    let ours = level(true, 20.0, true);
    let mesh = level(false, 20.0, true);
    let others = |felt: &[BumpStats; 4]| felt[1..].iter().map(|felt| felt.vy).fold(0.0, f32::max);
    let lateral = |felt: &[BumpStats; 4]| felt.iter().map(|felt| felt.lateral).fold(0.0, f64::max);
    let note = "20 m/s, 100 blocks, 8 directions, recycling on; beside one mesh";
    report.set_beside("ghost_ball_vy", ours[0].vy.into(), mesh[0].vy.into(), note);
    report.set_beside("ghost_other_vy", others(&ours).into(), others(&mesh).into(), note);
    report.set_beside("ghost_lateral_m", lateral(&ours), lateral(&mesh), note);
    let mut rows = Vec::new();
    for (speed, recycling) in [(1.0, true), (20.0, true), (20.0, false), (50.0, true)] {
        let (ours, mesh) = (level(true, speed, recycling), level(false, speed, recycling));
        let with = if recycling { "" } else { ", no recycling" };
        for (kind, name) in ["ball", "box", "capsule", "puck"].into_iter().enumerate() {
            let row = |what: &str, ours: f64, mesh: f64, unit| -> ReportRow {
                detail(format!("{name} {what} at {speed} m/s{with}"), ours, unit).beside(mesh)
            };
            rows.push(row("vy", ours[kind].vy.into(), mesh[kind].vy.into(), "m/s"));
            rows.push(row("off its line", ours[kind].lateral, mesh[kind].lateral, "m"));
        }
    }
    report.details("over level blocks", rows);
    let mut rows = Vec::new();
    let mut sums = [0.0; 2];
    for (name, hill) in HILLS {
        let [ours, mesh] = [true, false].map(|ours| f64::from(over_hills(ours, hill)));
        rows.push(detail(format!("sine of {name}"), ours, "m/s").beside(mesh));
        (sums[0], sums[1]) = (sums[0] + ours, sums[1] + mesh);
    }
    report.details("a ball at 5 m/s over hills, largest step of velocity", rows);
    let note = "ball at 5 m/s, sum over four sines of the largest step of 8 lines";
    report.set_ratio("sine_dv_vs_one_mesh", sums[0] / sums[1], sums[1], note);
}

/// Height and length of hills, and their inside test.
const HILLS: [(&str, InsideTest); 4] = [
    ("1 m and 20 m", |p| (p[0] * 0.31416).sin() - p[1]),
    ("1 m and 24 m", sine),
    ("0.5 m and 24 m", |p| 0.5 * (p[0] * 0.2618).sin() - p[1]),
    ("1.5 m and 48 m", |p| 1.5 * (p[0] * 0.1309).sin() - p[1]),
];

fn scene(ours: bool, min: [f32; 3], max: [f32; 3], inside: InsideTest) -> PhysicsScene {
    if ours {
        PhysicsScene::ours(min, max, inside)
    } else {
        PhysicsScene::one_mesh(min, max, inside)
    }
}

fn body(kind: usize, at: Vector, velocity: Vector) -> (RigidBodyBuilder, ColliderBuilder) {
    let body = RigidBodyBuilder::dynamic().translation(at).linvel(velocity).can_sleep(false);
    let slides = |collider: ColliderBuilder| {
        collider.friction(0.0).friction_combine_rule(CoefficientCombineRule::Min)
    };
    match kind {
        // Rolling without slip.
        0 => (
            body.angvel(Vector::new(velocity.z, 0.0, -velocity.x) / 0.5),
            ColliderBuilder::ball(0.5),
        ),
        1 => (body, slides(ColliderBuilder::cuboid(0.5, 0.5, 0.5))),
        2 => (body.lock_rotations(), slides(ColliderBuilder::capsule_y(0.25, 0.25))),
        _ => (body, slides(ColliderBuilder::cylinder(0.15, 0.5))),
    }
}

/// Returns the worst bumps of each kind of body over all directions.
fn level(ours: bool, speed: f32, recycling: bool) -> [BumpStats; 4] {
    // The slow ones go as long as they need for ten blocks.
    let way = if speed < 10.0 { BLOCKS / 10.0 } else { BLOCKS } * 8.0;
    let width = 4.0 * RUNS as f32 * 4.0 + way * 0.1;
    let min = [-16.0, -8.0, -16.0];
    let mut scene = scene(ours, min, [way + 32.0, 8.0, width + 16.0], flat);
    scene.world.integration_parameters.contact_recycling = recycling;
    let heights = [0.5, 0.5, 0.5, 0.15];
    let mut bodies = Vec::new();
    for (kind, height) in heights.into_iter().enumerate() {
        for run in 0..RUNS {
            let angle = run as f32 * 0.01;
            let line = Vector::new(angle.cos(), 0.0, angle.sin());
            let at = Vector::new(0.3, height, (kind * RUNS + run) as f32 * 4.0 + 0.37 * run as f32);
            let (body, collider) = body(kind, at, line * speed);
            bodies.push((kind, 0.0f64, line, scene.add(body, collider)));
        }
    }
    let mut felt = [BumpStats::default(); 4];
    let steps = (way / speed * 60.0) as usize;
    for step in 0..steps {
        scene.step();
        if step < SETTLE {
            continue;
        }
        for (kind, off, line, handle) in &mut bodies {
            let velocity = scene.body(*handle).linvel();
            *off += f64::from(velocity.cross(*line).y) / 60.0;
            let felt = &mut felt[*kind];
            felt.vy = felt.vy.max(velocity.y.abs());
            felt.lateral = felt.lateral.max(off.abs());
        }
    }
    felt
}

/// The largest change of velocity in a step of balls that roll over hills, m/s.
fn over_hills(ours: bool, hill: InsideTest) -> f32 {
    let mut scene = scene(ours, [-16.0, -8.0, -16.0], [96.0, 8.0, 48.0], hill);
    let mut balls = Vec::new();
    for run in 0..RUNS {
        let angle = run as f32 * 0.05;
        let velocity = Vector::new(angle.cos(), 0.0, angle.sin()) * 5.0;
        let [x, z] = [6.0 + 0.13 * run as f32, run as f32 * 4.0 + 0.21];
        let at = Vector::new(x, hill([x, 0.0, z]) + 0.5, z);
        let (body, collider) = body(0, at, velocity);
        balls.push(scene.add(body, collider));
    }
    let mut most = 0.0f32;
    let mut before: Vec<Vector> = Vec::new();
    for step in 0..480 {
        scene.step();
        let now: Vec<Vector> = balls.iter().map(|&ball| scene.body(ball).linvel()).collect();
        if step > SETTLE {
            for (now, before) in now.iter().zip(&before) {
                most = most.max((*now - *before).length());
            }
        }
        before = now;
    }
    most
}
