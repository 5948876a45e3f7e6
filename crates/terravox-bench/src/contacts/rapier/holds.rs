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

/// Bodies set down on edges.
const SUPPORTED: usize = 7200;

/// Fast balls.
const BALLS: usize = 400;

/// Tolerance of a body below its rest height, metres.
const SINK_TOLERANCE_M: f32 = 0.02;

/// Measures `support_lost`, `ccd_tunnelled`, `inside_recovered` and `edit_wake_steps`.
pub fn run(report: &mut AreaReport) {
    support(report);
    fast(report);
    inside(report);
    wake(report);
}

/// Returns the height at which a shape that is lowered from above rests, metres.
fn rest_height(scene: &mut PhysicsScene, at: [f32; 3], shape: &Shape<'_>) -> Option<f32> {
    let from = [at[0], at[1] + 4.0, at[2]].map(f64::from);
    let hit = scene.collider().cast(shape, from, [0.0, -8.0, 0.0], &Filter::SOLID).found?;
    Some((from[1] - hit.distance) as f32)
}

/// A body that was set down.
struct PlacedBody {
    body: RigidBodyHandle,
    height_m: f32,
    is_at_border: bool,
}

fn support(report: &mut AreaReport) {
    let hills: [InsideTest; 2] = [rough, sine];
    let mut lost = [[0, 0]; 2];
    for (which, inside) in hills.into_iter().enumerate() {
        let (min, max) = ([-64.0, -32.0, -64.0], [64.0, 32.0, 64.0]);
        let mut scene = PhysicsScene::ours(min, max, inside);
        let region = Region::new([-56, -24, -56], [56, 24, 56]);
        let blocks: Vec<CollisionBlock> = region.blocks::<3>().collect();
        let points = convex_edges(scene.collider(), &blocks);
        let (border, within): (Vec<_>, Vec<_>) =
            points.into_iter().partition(|point| point.is_at_border);
        assert!(!border.is_empty() && !within.is_empty(), "the hills have no convex edges");
        let mut numbers = Lcg(11);
        let mut placed = Vec::new();
        for _ in 0..20 * SUPPORTED {
            if placed.len() == SUPPORTED / 2 {
                break;
            }
            let from = if placed.len() % 2 == 0 { &border } else { &within };
            let EdgePoint { position_m: at, is_at_border } =
                from[(numbers.unit() * from.len() as f32) as usize];
            let is_capsule = placed.len() % 4 >= 2;
            let shape = match is_capsule {
                true => Shape::Capsule { a: [0.0, -0.4, 0.0], b: [0.0, 0.4, 0.0], radius: 0.3 },
                false => Shape::Sphere { radius: 0.5 },
            };
            let Some(height) = rest_height(&mut scene, at, &shape) else { continue };
            let collider = match is_capsule {
                true => ColliderBuilder::capsule_y(0.4, 0.3),
                false => ColliderBuilder::ball(0.5),
            };
            // Free to go up and down only.
            let body = RigidBodyBuilder::dynamic()
                .translation(Vector::new(at[0], height + 0.02, at[2]))
                .enabled_translations(false, true, false)
                .lock_rotations();
            let body = scene.add(body, collider);
            placed.push(PlacedBody { body, height_m: height, is_at_border });
        }
        assert_eq!(placed.len(), SUPPORTED / 2, "too few edges hold a body");
        scene.steps(90);
        for PlacedBody { body, height_m, is_at_border } in placed {
            // NaN is not held either.
            let is_held = scene.body(body).translation().y >= height_m - SINK_TOLERANCE_M;
            lost[which][usize::from(is_at_border)] += usize::from(!is_held);
        }
    }
    let all: usize = lost.iter().flatten().sum();
    let [rough, sine] = lost;
    let note = format!(
        "Rapier: rough {} + {} at borders, sine {} + {}",
        rough[0], rough[1], sine[0], sine[1]
    );
    report.set("support_lost", all as f64, note);
}

fn fast(report: &mut AreaReport) {
    let (min, max) = ([-64.0, -32.0, -64.0], [64.0, 32.0, 64.0]);
    let mut lost = [0, 0];
    for (which, ground) in GroundKind::BOTH.into_iter().enumerate() {
        let mut scene = PhysicsScene::new(ground, min, max, rough);
        let mut numbers = Lcg(5);
        let mut balls = Vec::new();
        for _ in 0..BALLS {
            let [x, z] = [0, 0].map(|_: i32| numbers.unit() * 70.0 - 35.0);
            let lean = [0, 0].map(|_: i32| numbers.unit() * 0.5 - 0.25);
            let direction = Vector::new(lean[0], -1.0, lean[1]).normalize();
            let body = RigidBodyBuilder::dynamic()
                .translation(Vector::new(x, 14.0 + 12.0 * numbers.unit(), z))
                .linvel(direction * 300.0);
            balls.push(scene.add(body, ColliderBuilder::ball(0.25)));
        }
        scene.steps(20);
        for ball in balls {
            let at = scene.body(ball).translation();
            let is_above = rough(at.to_array()) <= 0.25 + 0.2;
            lost[which] += usize::from(!is_above);
        }
    }
    let note = "radius 0.25 m at 300 m/s onto rough hills; beside one mesh";
    report.set_beside("ccd_tunnelled", lost[0] as f64, lost[1] as f64, note);
}

fn inside(report: &mut AreaReport) {
    let (min, max) = ([-64.0, -32.0, -64.0], [64.0, 32.0, 64.0]);
    let mut rows = Vec::new();
    let mut figure = [0.0, 0.0];
    for depth in [0.1, 0.3, 0.6, 1.0] {
        for (which, kind) in GroundKind::BOTH.into_iter().enumerate() {
            let (mut out, mut all) = ([0.0; 3], 0.0);
            for ground in [flat, sine] {
                let mut scene = PhysicsScene::new(kind, min, max, ground);
                let mut numbers = Lcg(3);
                let mut bodies = Vec::new();
                for i in 0..300 {
                    let [x, z] = [0, 0].map(|_: i32| numbers.unit() * 100.0 - 50.0);
                    let at = Vector::new(x, ground([x, 0.0, z]) - depth, z);
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
                    out[i % 3] += if ground(at.to_array()) < -0.1 { 1.0 } else { 0.0 };
                }
                all += 100.0;
            }
            let share = out.iter().sum::<f64>() / (3.0 * all);
            if depth == 0.3 {
                figure[which] = share;
            }
            let name = ["ours", "one mesh"][which];
            let [ball, cuboid, capsule] = out.map(|out| 100.0 * out / all);
            let note = format!("balls {ball:.0} %, boxes {cuboid:.0} %, capsules {capsule:.0} %");
            rows.push(detail(format!("{name}, middle {depth} m deep"), share, "share").note(note));
        }
    }
    let note = "middle 0.3 m below level ground and soft hills; beside one mesh";
    report.set_beside("inside_recovered", figure[0], figure[1], note);
    report.details("bodies in the ground that come out", rows);
}

fn wake(report: &mut AreaReport) {
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
    let (mut max_steps, mut asleep) = (0, 0);
    for body in bodies {
        if !scene.body(body).is_sleeping() {
            continue;
        }
        asleep += 1;
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
    if asleep == 0 {
        return report.not_measured("edit_wake_steps", "no box fell asleep in 400 steps");
    }
    let note = format!("most of {asleep} sleeping boxes that are dug under");
    report.set("edit_wake_steps", max_steps as f64, note);
}
