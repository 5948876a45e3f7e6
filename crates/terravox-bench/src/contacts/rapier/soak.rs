//! Bodies on terrain that is being edited at random: none may get lost or wake late, and the built
//! blocks stay within their budget.

use rapier3d::prelude::*;
use terravox::collide::{ColliderOptions, Filter, Ray as VoxelRay};
use terravox::terrain::TerrainOptions;
use terravox::voxel::Cell;

use super::scene::{PhysicsScene, rough};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Lcg;

const ROCK: u8 = 8;

/// Steps per second.
const STEPS: usize = 60;

const BODIES: usize = 200;

const STEPS_PER_EDIT: usize = 5;

/// Half the edge of the ground, metres.
const HALF_EDGE_M: f32 = 40.0;

/// In this many last steps no fill buries a body, so that buried ones can come out.
const LAST_STEPS: usize = 60;

/// Steps between checks of where the bodies are.
const STEPS_PER_CHECK: usize = 4;

/// Budget of built blocks after an update: far below the demand.
const BUDGET_BYTES: usize = 256 << 10;

/// Counts of edits and of failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoakCounts {
    /// Steps made.
    pub steps: usize,
    /// Edits made.
    pub edits: usize,
    /// Those of them that filled where a body was.
    pub burials: usize,
    /// Bodies whose middle is in the ground, a quarter of a metre or more from its surface,
    /// or under all of it.
    pub below: usize,
    /// Maximum number of consecutive steps in which a body's middle was that deep in the ground.
    pub longest: usize,
    /// Bodies with a non-finite position.
    pub nan: usize,
    /// Updates that left more bytes than the budget.
    pub over_budget: usize,
    /// Sleeping bodies that an edit reached and that did not wake in the next step.
    pub late: usize,
}

/// Seed of the benchmark.
const SEED: u64 = 9;

/// Runs for some seconds of simulated time. The same seed repeats a run.
pub fn soak(seconds: usize, seed: u64) -> SoakCounts {
    // A wall around, so that nothing rolls off the world.
    let walled = |p: [f32; 3]| rough(p).max(p[0].abs().max(p[2].abs()) - HALF_EDGE_M - 8.0);
    let mut scene = PhysicsScene::ours(
        [-HALF_EDGE_M, -40.0, -HALF_EDGE_M],
        [HALF_EDGE_M, 16.0, HALF_EDGE_M],
        walled,
    );
    let collider = ColliderOptions { budget_bytes: BUDGET_BYTES };
    let (grid, placement) = (scene.terrain.grid().snapshot(), scene.terrain.placement());
    let mut terrain = terravox::terrain::Terrain::new(TerrainOptions {
        placement,
        collider,
        ..TerrainOptions::default()
    });
    let mut cells = terravox::voxel::DenseBox::default();
    for chunk in grid.chunks() {
        let copied = grid.read(chunk.region(), 0, &mut cells);
        let written = terrain.grid_mut().write(&cells);
        assert!(copied.is_ok() && written.is_ok(), "the world is held");
    }
    scene.terrain = terrain;
    let mut random = Lcg(seed);
    let bodies: Vec<_> = (0..BODIES).map(|i| drop_body(&mut scene, i, &mut random)).collect();
    let mut counts = SoakCounts::default();
    let mut in_ground = vec![0; BODIES];
    for step in 0..seconds * STEPS {
        let may_bury = step + LAST_STEPS < seconds * STEPS;
        let edited: Option<EditedBox> = match step % STEPS_PER_EDIT {
            0 => edit(&mut scene, &bodies, &mut random, may_bury, &mut counts),
            _ => None,
        };
        let asleep = edited.map_or(Vec::new(), |edited| sleeping_in(&scene, &bodies, &edited));
        scene.step();
        counts.late += asleep.iter().filter(|&&body| scene.body(body).is_sleeping()).count();
        // The next update is the one that must have kept the budget.
        counts.over_budget +=
            usize::from(scene.terrain.collider().stats().built_bytes > BUDGET_BYTES);
        counts.steps += 1;
        if step % STEPS_PER_CHECK == 0 {
            for (body, steps) in bodies.iter().zip(&mut in_ground) {
                let at = scene.body(*body).translation();
                *steps = if is_below(&mut scene, at) { *steps + STEPS_PER_CHECK } else { 0 };
                counts.longest = counts.longest.max(*steps);
            }
        }
    }
    for body in &bodies {
        let at = scene.body(*body).translation();
        let is_finite = at.x.is_finite() && at.y.is_finite() && at.z.is_finite();
        counts.nan += usize::from(!is_finite);
        counts.below += usize::from(is_finite && is_below(&mut scene, at));
    }
    counts
}

/// The sleeping bodies in a box.
fn sleeping_in(
    scene: &PhysicsScene,
    bodies: &[RigidBodyHandle],
    edited: &EditedBox,
) -> Vec<RigidBodyHandle> {
    let EditedBox { min, max } = edited;
    let is_inside = |at: Vector| (0..3).all(|i| at[i] > min[i] && at[i] < max[i]);
    let is_reached = |body: &&RigidBodyHandle| {
        let body = scene.body(**body);
        body.is_sleeping() && is_inside(body.translation())
    };
    bodies.iter().filter(is_reached).copied().collect()
}

fn drop_body(scene: &mut PhysicsScene, number: usize, random: &mut Lcg) -> RigidBodyHandle {
    let mut side = || (random.unit() - 0.5) * 1.6 * HALF_EDGE_M;
    let at = Vector::new(side(), 12.0 + (number % 7) as f32, side());
    let shape = match number % 5 {
        0 => ColliderBuilder::ball(0.5),
        1 => ColliderBuilder::cuboid(0.5, 0.4, 0.6),
        2 => ColliderBuilder::capsule_y(0.5, 0.35),
        3 => ColliderBuilder::cylinder(0.3, 0.5),
        _ => ColliderBuilder::compound(vec![
            (Pose::from_translation(Vector::X * 0.5), SharedShape::cuboid(0.5, 0.2, 0.2)),
            (Pose::from_translation(Vector::X * -0.4), SharedShape::ball(0.4)),
        ]),
    };
    scene.add(RigidBodyBuilder::dynamic().translation(at).angular_damping(0.5), shape)
}

/// The box that an edit reached, metres.
struct EditedBox {
    min: Vector,
    max: Vector,
}

/// Digs or fills a ball near a body. Half of the fills leave all bodies alone, as careful games do;
/// the others may bury bodies, if `may_bury`.
fn edit(
    scene: &mut PhysicsScene,
    bodies: &[RigidBodyHandle],
    random: &mut Lcg,
    may_bury: bool,
    counts: &mut SoakCounts,
) -> Option<EditedBox> {
    let near = bodies[(random.unit() * bodies.len() as f32) as usize % bodies.len()];
    let off = Vector::new(random.unit() - 0.5, -random.unit(), random.unit() - 0.5) * 6.0;
    let (centre, radius) = (scene.body(near).translation() + off, 1.5 + 2.0 * random.unit());
    let (dig, buries) = (random.unit() < 0.6, random.unit() < 0.5 && may_bury);
    let inside = |at: Vector| {
        at.x.abs() < HALF_EDGE_M - 6.0 && at.z.abs() < HALF_EDGE_M - 6.0 && at.y > -24.0
    };
    let free =
        |body: &RigidBodyHandle| scene.body(*body).translation().distance(centre) > radius + 2.0;
    let all_free = dig || bodies.iter().all(free);
    if !inside(centre) || !(all_free || buries) {
        return None;
    }
    counts.edits += 1;
    counts.burials += usize::from(!all_free);
    let reach = Vector::splat(radius + 1.0);
    let edited = EditedBox { min: centre - reach, max: centre + reach };
    let [min, max] = [edited.min, edited.max].map(|v| v.to_array().map(f64::from));
    let written = scene.terrain.edit_cells(min, max, |at, old| {
        let at = at.map(|v| v as f32);
        let ball = (0.5 + radius - Vector::from(at).distance(centre)).clamp(0.0, 1.0);
        let fill = if dig { old.fraction().min(1.0 - ball) } else { old.fraction().max(ball) };
        match (fill * 256.0).round() as i32 {
            0 => Cell::AIR,
            units => Cell::new(if old.is_air() { ROCK } else { old.material }, (units - 1) as u8),
        }
    });
    if let Err(error) = written {
        panic!("an edit of held ground failed: {error:?}");
    }
    Some(edited)
}

/// Returns whether a point is in the ground, a quarter of a metre or more from its surface: rays
/// out of it leave the ground more often than they enter it. Three rays, since one may run through
/// an edge. (By sides, not by parity: thin remains of ground may fold over themselves.)
fn is_below(scene: &mut PhysicsScene, at: Vector) -> bool {
    let collider = scene.terrain.collider();
    let origin = at.to_array().map(f64::from);
    let mut hits = Vec::new();
    let directions = [[0.0, 1.0, 0.0], [0.31, 1.0, 0.17], [-0.23, 1.0, 0.29]];
    let leaves = directions.iter().all(|&direction| {
        collider.ray_all(&VoxelRay::new(origin, direction, 200.0), &Filter::SOLID, &mut hits);
        let out = |normal: [f32; 3]| (0..3).map(|i| f64::from(normal[i]) * direction[i]).sum();
        let sides: f64 = hits.iter().map(|hit| f64::signum(out(hit.normal))).sum();
        sides > 0.0
    });
    leaves && collider.closest_point(origin, 0.25, &Filter::SOLID).found.is_none() || at.y < -40.0
}

/// Measures `soak_lost`.
pub fn run(report: &mut AreaReport, seconds: usize) {
    let counts = soak(seconds, SEED);
    let note = format!(
        "{BODIES} bodies, {} edits in {seconds} s of their time, of which {} bury bodies",
        counts.edits, counts.burials
    );
    report.set("soak_lost", (counts.below + counts.nan) as f64, note);
    let line = |what: &str, count: usize| detail(what, count as f64, "");
    report.details(
        format!("soak, {seconds} s"),
        vec![
            line("bodies below ground", counts.below),
            line("longest that a body was below ground, steps", counts.longest),
            line("bodies with a non-finite position", counts.nan),
            line("updates over the budget of bytes", counts.over_budget),
            line("sleeping bodies that an edit reached and did not wake", counts.late),
        ],
    );
}
