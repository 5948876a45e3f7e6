//! Bumps of bodies at inner edges: rolling and sliding over level blocks, and a
//! ball over soft hills.

use rapier3d::prelude::*;

use super::scene::{GroundKind, InsideTest, PhysicsScene, flat, sine};
use crate::report::{AreaReport, ReportRow, detail};

/// Blocks that a body crosses.
const BLOCKS: f32 = 100.0;

/// Directions of a body, radians from along the blocks.
const RUNS: usize = 8;

/// Steps that do not count: bodies are set down exactly, contacts need a few steps.
const SETTLE: usize = 30;

/// The bumps of a body.
#[derive(Clone, Copy, Debug, Default)]
struct BumpStats {
    /// Fastest up or down, m/s.
    vy: f32,
    /// Farthest off its line, metres: the integral of its velocity, since positions some hundred
    /// metres out are rounded at every step.
    lateral: f64,
}

/// The bodies that cross blocks.
#[derive(Clone, Copy)]
enum BodyKind {
    Ball,
    Box,
    Capsule,
    Puck,
}

impl BodyKind {
    const ALL: [BodyKind; 4] = [BodyKind::Ball, BodyKind::Box, BodyKind::Capsule, BodyKind::Puck];

    fn name(self) -> &'static str {
        ["ball", "box", "capsule", "puck"][self as usize]
    }

    /// Height of its centre above level ground, metres.
    fn rest_height_m(self) -> f32 {
        [0.5, 0.5, 0.5, 0.15][self as usize]
    }
}

/// Settings of a run over level blocks.
#[derive(Clone, Copy)]
struct LevelRun {
    speed_m_s: f32,
    /// Whether Rapier reuses contacts of bodies that hardly moved relative to each other.
    recycling: bool,
}

/// The run of which the figures are.
const FIGURE_RUN: LevelRun = LevelRun { speed_m_s: 20.0, recycling: true };

/// Other runs, for the details.
const OTHER_RUNS: [LevelRun; 3] = [
    LevelRun { speed_m_s: 1.0, recycling: true },
    LevelRun { speed_m_s: 20.0, recycling: false },
    LevelRun { speed_m_s: 50.0, recycling: true },
];

/// The worst bumps of each kind of body.
type BumpsByKind = [BumpStats; BodyKind::ALL.len()];

/// Measures `ghost_ball_vy`, `ghost_other_vy`, `ghost_lateral_m` and `sine_dv_vs_one_mesh`.
pub fn run(report: &mut AreaReport) {
    measure_level(report);
    measure_hills(report);
}

/// Runs over level blocks, each once.
fn measure_level(report: &mut AreaReport) {
    let cross = |run: LevelRun| (run, GroundKind::BOTH.map(|ground| cross_level(ground, run)));
    let figure_run = cross(FIGURE_RUN);
    let (_, [ours, mesh]) = &figure_run;
    let others = |bumps: &BumpsByKind| bumps[1..].iter().map(|b| b.vy).fold(0.0, f32::max);
    let lateral = |bumps: &BumpsByKind| bumps.iter().map(|b| b.lateral).fold(0.0, f64::max);
    let note = "20 m/s, 100 blocks, 8 directions, recycling on; beside one mesh";
    report.set_beside("ghost_ball_vy", ours[0].vy.into(), mesh[0].vy.into(), note);
    report.set_beside("ghost_other_vy", others(ours).into(), others(mesh).into(), note);
    report.set_beside("ghost_lateral_m", lateral(ours), lateral(mesh), note);
    let mut rows = Vec::new();
    for (run, [ours, mesh]) in [figure_run].into_iter().chain(OTHER_RUNS.map(cross)) {
        let LevelRun { speed_m_s, recycling } = run;
        let with = if recycling { "" } else { ", no recycling" };
        for kind in BodyKind::ALL {
            let [ours, mesh] = [ours[kind as usize], mesh[kind as usize]];
            let name = kind.name();
            let row = |what: &str, ours: f64, mesh: f64, unit| -> ReportRow {
                detail(format!("{name} {what} at {speed_m_s} m/s{with}"), ours, unit).beside(mesh)
            };
            rows.push(row("vy", ours.vy.into(), mesh.vy.into(), "m/s"));
            rows.push(row("off its line", ours.lateral, mesh.lateral, "m"));
        }
    }
    report.details("over level blocks", rows);
}

/// A ball over hills.
fn measure_hills(report: &mut AreaReport) {
    let mut rows = Vec::new();
    let (mut sum, mut mesh_sum) = (0.0, 0.0);
    for (name, hill) in HILLS {
        let [ours, mesh] = GroundKind::BOTH.map(|ground| f64::from(cross_hills(ground, hill)));
        rows.push(detail(format!("sine of {name}"), ours, "m/s").beside(mesh));
        sum += ours;
        mesh_sum += mesh;
    }
    report.details("a ball at 5 m/s over hills, largest step of velocity", rows);
    let note = "ball at 5 m/s, sum over four sines of the largest step of 8 lines";
    report.set_ratio("sine_dv_vs_one_mesh", sum / mesh_sum, mesh_sum, note);
}

/// Height and length of hills, and their inside test.
const HILLS: [(&str, InsideTest); 4] = [
    ("1 m and 20 m", |p| (p[0] * 0.31416).sin() - p[1]),
    ("1 m and 24 m", sine),
    ("0.5 m and 24 m", |p| 0.5 * (p[0] * 0.2618).sin() - p[1]),
    ("1.5 m and 48 m", |p| 1.5 * (p[0] * 0.1309).sin() - p[1]),
];

fn body(kind: BodyKind, at: Vector, velocity: Vector) -> (RigidBodyBuilder, ColliderBuilder) {
    let body = RigidBodyBuilder::dynamic().translation(at).linvel(velocity).can_sleep(false);
    let slides = |collider: ColliderBuilder| {
        collider.friction(0.0).friction_combine_rule(CoefficientCombineRule::Min)
    };
    match kind {
        // Rolling without slip.
        BodyKind::Ball => (
            body.angvel(Vector::new(velocity.z, 0.0, -velocity.x) / 0.5),
            ColliderBuilder::ball(0.5),
        ),
        BodyKind::Box => (body, slides(ColliderBuilder::cuboid(0.5, 0.5, 0.5))),
        BodyKind::Capsule => {
            (body.lock_rotations(), slides(ColliderBuilder::capsule_y(0.25, 0.25)))
        }
        BodyKind::Puck => (body, slides(ColliderBuilder::cylinder(0.15, 0.5))),
    }
}

/// Returns the worst bumps of each kind of body over all directions.
fn cross_level(ground: GroundKind, run: LevelRun) -> BumpsByKind {
    let LevelRun { speed_m_s, recycling } = run;
    // Slow bodies cross a tenth of the blocks.
    let way = if speed_m_s < 10.0 { BLOCKS / 10.0 } else { BLOCKS } * 8.0;
    let width = 4.0 * RUNS as f32 * 4.0 + way * 0.1;
    let (min, max) = ([-16.0, -8.0, -16.0], [way + 32.0, 8.0, width + 16.0]);
    let mut scene = PhysicsScene::new(ground, min, max, flat);
    scene.world.integration_parameters.contact_recycling = recycling;
    let mut crossings = Vec::new();
    for kind in BodyKind::ALL {
        for run in 0..RUNS {
            let angle = run as f32 * 0.01;
            let line = Vector::new(angle.cos(), 0.0, angle.sin());
            let z = (kind as usize * RUNS + run) as f32 * 4.0 + 0.37 * run as f32;
            let at = Vector::new(0.3, kind.rest_height_m(), z);
            let (body, collider) = body(kind, at, line * speed_m_s);
            crossings.push(Crossing { kind, line, off_m: 0.0, body: scene.add(body, collider) });
        }
    }
    let mut bumps = [BumpStats::default(); 4];
    let steps = (way / speed_m_s * 60.0) as usize;
    for step in 0..steps {
        scene.step();
        if step < SETTLE {
            continue;
        }
        for Crossing { kind, line, off_m, body } in &mut crossings {
            let velocity = scene.body(*body).linvel();
            assert!(velocity.is_finite(), "{} has no velocity", kind.name());
            *off_m += f64::from(velocity.cross(*line).y) / 60.0;
            let bumps = &mut bumps[*kind as usize];
            bumps.vy = bumps.vy.max(velocity.y.abs());
            bumps.lateral = bumps.lateral.max(off_m.abs());
        }
    }
    bumps
}

/// A body on its way over level blocks.
struct Crossing {
    kind: BodyKind,
    /// Unit vector of its line.
    line: Vector,
    /// How far it is off that line, metres.
    off_m: f64,
    body: RigidBodyHandle,
}

/// The largest change of velocity in a step of balls that roll over hills, m/s.
fn cross_hills(ground: GroundKind, hill: InsideTest) -> f32 {
    let mut scene = PhysicsScene::new(ground, [-16.0, -8.0, -16.0], [96.0, 8.0, 48.0], hill);
    let mut balls = Vec::new();
    for run in 0..RUNS {
        let angle = run as f32 * 0.05;
        let velocity = Vector::new(angle.cos(), 0.0, angle.sin()) * 5.0;
        let [x, z] = [6.0 + 0.13 * run as f32, run as f32 * 4.0 + 0.21];
        let at = Vector::new(x, hill([x, 0.0, z]) + 0.5, z);
        let (body, collider) = body(BodyKind::Ball, at, velocity);
        balls.push(scene.add(body, collider));
    }
    let mut largest = 0.0f32;
    let mut before: Vec<Vector> = Vec::new();
    for step in 0..480 {
        scene.step();
        let now: Vec<Vector> = balls.iter().map(|&ball| scene.body(ball).linvel()).collect();
        assert!(now.iter().all(|velocity| velocity.is_finite()), "a ball has no velocity");
        if step > SETTLE {
            for (now, before) in now.iter().zip(&before) {
                largest = largest.max((*now - *before).length());
            }
        }
        before = now;
    }
    largest
}
