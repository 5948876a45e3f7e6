//! Cost of a step with a thousand balls, compared with one mesh; memory; and the time from an
//! edit to the contact.

use cpu_time::ThreadTime;
use rapier3d::prelude::*;
use std::time::Instant;
use terravox::voxel::{Cell, DenseBox, Region};
use terravox_rapier::TerrainColliderStats;

use super::scene::{GroundKind, InsideTest, PhysicsScene, flat, rough, sine};
use crate::harness::median_of_sorted;
use crate::report::{AreaReport, detail};
use crate::worlds::random::Lcg;

/// Balls in a scene.
const BALLS: usize = 1000;

/// Rounds, in each of which both grounds take a turn.
const ROUNDS: usize = 7;

/// Steps of a turn that count.
const STEPS: usize = 60;

/// Measures `rest_1000_vs_trimesh`, `roll_1000_vs_trimesh`, `rapier_bytes_per_triangle` and
/// `rapier_edit_to_contact_us`.
pub fn run(report: &mut AreaReport) {
    steps(report);
    edits(report);
}

/// The motion of the balls.
#[derive(Clone, Copy, PartialEq)]
enum Motion {
    Rest,
    Roll,
}

/// A scene with its balls, once they have settled.
fn scene(ground: GroundKind, motion: Motion, inside: InsideTest) -> PhysicsScene {
    let (min, max) = ([-16.0, -32.0, -16.0], [208.0, 32.0, 112.0]);
    let mut scene = PhysicsScene::new(ground, min, max, inside);
    let mut numbers = Lcg(23);
    for i in 0..BALLS {
        let [x, z] = [(i % 40) as f32 * 2.4, (i / 40) as f32 * 3.9];
        let [x, z] = [x + numbers.unit() * 0.5, z + numbers.unit() * 0.5];
        let at = Vector::new(x, inside([x, 0.0, z]) + 0.5, z);
        let mut body = RigidBodyBuilder::dynamic().translation(at).can_sleep(false);
        if motion == Motion::Roll {
            let velocity = Vector::new(20.0, 0.0, 0.0);
            body = body.linvel(velocity).angvel(Vector::new(0.0, 0.0, -40.0));
        } else {
            body = body.angular_damping(4.0);
        }
        scene.add(body, ColliderBuilder::ball(0.5).friction(1.0));
    }
    scene.steps(if motion == Motion::Roll { 30 } else { 120 });
    scene
}

/// Milliseconds of a step, the minimum over all rounds.
struct StepTimes {
    ours_ms: f64,
    mesh_ms: f64,
    /// Statistics of our colliders.
    stats: TerrainColliderStats,
}

impl StepTimes {
    fn ratio(&self) -> f64 {
        self.ours_ms / self.mesh_ms
    }
}

fn time_steps(motion: Motion, inside: InsideTest) -> StepTimes {
    let (mut best, mut stats) = ([f64::INFINITY; 2], TerrainColliderStats::default());
    for _ in 0..ROUNDS {
        for (best, ground) in best.iter_mut().zip(GroundKind::BOTH) {
            let mut scene = scene(ground, motion, inside);
            let start = ThreadTime::now();
            scene.steps(STEPS);
            let ms = start.elapsed().as_secs_f64() * 1e3 / STEPS as f64;
            *best = best.min(ms);
            if let Some(ground) = &scene.ground {
                stats = ground.stats(&scene.world.colliders);
            }
        }
    }
    let [ours_ms, mesh_ms] = best;
    StepTimes { ours_ms, mesh_ms, stats }
}

fn steps(report: &mut AreaReport) {
    let rest = time_steps(Motion::Rest, flat);
    let roll = time_steps(Motion::Roll, flat);
    let hills = time_steps(Motion::Rest, rough);
    let note = "1000 balls, level ground, sync included; ms of the mesh's step beside";
    report.set_ratio("rest_1000_vs_trimesh", rest.ratio(), rest.mesh_ms, note);
    let note = format!("{note}; at 20 m/s");
    report.set_ratio("roll_1000_vs_trimesh", roll.ratio(), roll.mesh_ms, note);
    let per_triangle =
        |bytes: usize, stats: &TerrainColliderStats| bytes as f64 / stats.touched_triangles as f64;
    let bytes = |stats: &TerrainColliderStats| {
        per_triangle(stats.touched_bytes.ground + stats.touched_bytes.bvh, stats)
    };
    let note = format!(
        "compact tree and parry's, {} blocks touched on rough hills; level ground {:.0}",
        hills.stats.touched,
        bytes(&rest.stats)
    );
    report.set("rapier_bytes_per_triangle", bytes(&hills.stats), note);
    let step =
        |name: &str, times: &StepTimes| detail(name, times.ours_ms, "ms").beside(times.mesh_ms);
    let memory = |name: &str, bytes: usize, stats: &TerrainColliderStats| {
        detail(name, per_triangle(bytes, stats), "B/triangle")
    };
    let plain_mesh = roll.stats.touched_bytes.mesh;
    let rows = vec![
        step("step, balls at rest on rough hills", &hills),
        step("step, balls at rest", &rest),
        step("step, balls rolling", &roll),
        memory("compact tree", hills.stats.touched_bytes.ground, &hills.stats),
        memory("parry's tree", hills.stats.touched_bytes.bvh, &hills.stats),
        memory("plain mesh, where fast bodies are", plain_mesh, &roll.stats),
    ];
    report.details("a step with 1000 balls, and memory", rows);
}

/// From a dig of radius 4 under a body to the end of the step that finds the new ground.
fn edits(report: &mut AreaReport) {
    let mut scene = PhysicsScene::ours([-64.0, -32.0, -64.0], [64.0, 16.0, 64.0], sine);
    let mut numbers = Lcg(29);
    let mut times = [const { Vec::new() }; 4];
    let body = RigidBodyBuilder::dynamic().translation(Vector::new(0.0, 3.0, 0.0));
    let body = scene.add(body, ColliderBuilder::cuboid(0.5, 0.5, 0.5).friction(1.0));
    let mut cells = DenseBox::default();
    for _ in 0..100 {
        let [x, z] = [0, 0].map(|_: i32| numbers.unit() * 90.0 - 45.0);
        let at = Vector::new(x, sine([x, 0.0, z]) + 0.6, z);
        scene.world.bodies[body].set_position(Pose::from_translation(at), true);
        scene.world.bodies[body].set_linvel(Vector::ZERO, true);
        scene.steps(20);
        let centre = scene.body(body).translation() - Vector::new(0.0, 3.5, 0.0);
        let [cx, cy, cz] = centre.to_array().map(|v| v.floor() as i32);
        let region = Region::new([cx - 5, cy - 5, cz - 5], [cx + 6, cy + 6, cz + 6]);
        let Ok(()) = scene.terrain.grid().read(region, 0, &mut cells) else { unreachable!() };
        dig(&mut cells, centre);
        let start = Instant::now();
        let Ok(()) = scene.terrain.grid_mut().write(&cells) else { unreachable!("it is held") };
        let written = start.elapsed();
        scene.collider();
        let updated = start.elapsed();
        scene.sync();
        let synced = start.elapsed();
        scene.world.step();
        let done = start.elapsed();
        let parts = [written, updated - written, synced - updated, done - synced];
        for (times, part) in times.iter_mut().zip(parts) {
            times.push(part.as_secs_f64() * 1e6);
        }
    }
    let mut total: Vec<f64> =
        (0..times[0].len()).map(|i| times.iter().map(|part| part[i]).sum()).collect();
    total.sort_by(f64::total_cmp);
    let [write, update, sync, step] = times.map(|mut part| {
        part.sort_by(f64::total_cmp);
        median_of_sorted(&part)
    });
    let note = format!(
        "dig of radius 4 under a box, median of 100: write {write:.0}, update {update:.0}, \
         sync {sync:.0}, step {step:.0}"
    );
    report.set("rapier_edit_to_contact_us", median_of_sorted(&total), note);
}

fn dig(cells: &mut DenseBox, centre: Vector) {
    for voxel in cells.region().voxels() {
        let middle = Vector::from(voxel.to_array().map(|v| v as f32 + 0.5));
        let inside = 4.5 - (middle - centre).length();
        let cell = cells.cell(voxel);
        let left = 255.0 * (1.0 - inside.clamp(0.0, 1.0));
        if f32::from(cell.occupancy) > left {
            let new = if left < 1.0 { Cell::AIR } else { Cell { occupancy: left as u8, ..cell } };
            cells.set(voxel, new);
        }
    }
}
