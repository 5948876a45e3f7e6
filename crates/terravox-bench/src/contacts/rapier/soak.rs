//! Bodies on terrain that is edited at random: none may end up inside the ground or sleep on where an
//! edit has changed it, and the built blocks stay within their budget.

use rapier3d::prelude::*;
use terravox::collide::{ColliderOptions, Filter, Ray as VoxelRay};
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::{Cell, DenseBox};

use super::scene::{PhysicsScene, rough};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Lcg;

const ROCK: u8 = 8;

const STEPS_PER_S: usize = 60;

const BODIES: usize = 200;

const STEPS_PER_EDIT: usize = 5;

/// Half the edge of the ground, metres.
const HALF_EDGE_M: f32 = 40.0;

/// Last steps, in which no fill buries a body, so that buried ones can come out.
const STEPS_WITHOUT_BURIALS: usize = 60;

/// Steps from one check of which bodies are in the ground to the next.
const STEPS_PER_CHECK: usize = 4;

/// Depth from which on the middle of a body counts as in the ground, metres.
const DEPTH_IN_GROUND_M: f64 = 0.25;

/// Budget of built blocks: far below the demand.
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
    /// Bodies whose middle is in the ground at the end, a quarter of a metre or more from its surface,
    /// or under all of it.
    pub in_ground: usize,
    /// Maximum number of consecutive steps in which a body's middle was that deep in the ground.
    pub longest_in_ground: usize,
    /// Bodies whose position at the end is NaN or infinite.
    pub non_finite: usize,
    /// Steps after which the built blocks took more bytes than the budget.
    pub over_budget: usize,
    /// Sleeping bodies that an edit reached and that did not wake in the next step.
    pub slept_on: usize,
}

impl SoakCounts {
    /// Bodies that are lost at the end.
    fn lost(&self) -> usize {
        self.in_ground + self.non_finite
    }

    /// Everything that should be 0.
    pub fn failures(&self) -> usize {
        self.lost() + self.over_budget + self.slept_on
    }
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
    limit_built_blocks(&mut scene);
    let mut random = Lcg(seed);
    let bodies: Vec<_> = (0..BODIES).map(|i| drop_body(&mut scene, i, &mut random)).collect();
    let mut counts = SoakCounts::default();
    let mut steps_in_ground = vec![0; BODIES];
    for step in 0..seconds * STEPS_PER_S {
        let may_bury = step + STEPS_WITHOUT_BURIALS < seconds * STEPS_PER_S;
        let edited: Option<EditedBox> = match step % STEPS_PER_EDIT {
            0 => edit_near_a_body(&mut scene, &bodies, &mut random, may_bury, &mut counts),
            _ => None,
        };
        let asleep = edited.map_or(Vec::new(), |edited| sleeping_in(&scene, &bodies, &edited));
        scene.step();
        counts.slept_on += asleep.iter().filter(|&&body| scene.body(body).is_sleeping()).count();
        let built_bytes = scene.terrain.collider().stats().built_bytes;
        counts.over_budget += usize::from(built_bytes > BUDGET_BYTES);
        counts.steps += 1;
        if step % STEPS_PER_CHECK == 0 {
            for (body, steps) in bodies.iter().zip(&mut steps_in_ground) {
                let at = scene.body(*body).translation();
                *steps = if is_in_ground(&scene, at) { *steps + STEPS_PER_CHECK } else { 0 };
                counts.longest_in_ground = counts.longest_in_ground.max(*steps);
            }
        }
    }
    for body in &bodies {
        let at = scene.body(*body).translation();
        counts.non_finite += usize::from(!at.is_finite());
        counts.in_ground += usize::from(at.is_finite() && is_in_ground(&scene, at));
    }
    counts
}

/// Replaces the terrain by one of the same cells whose collider has the budget.
fn limit_built_blocks(scene: &mut PhysicsScene) {
    let mut limited = Terrain::new(TerrainOptions {
        placement: scene.terrain.placement(),
        collider: ColliderOptions { budget_bytes: BUDGET_BYTES },
        ..TerrainOptions::default()
    });
    let grid = scene.terrain.grid().snapshot();
    let mut cells = DenseBox::default();
    for chunk in grid.chunks() {
        let read = grid.read(chunk.region(), 0, &mut cells);
        let written = limited.grid_mut().write(&cells);
        assert!(read.is_ok() && written.is_ok(), "the world is held");
    }
    scene.terrain = limited;
}

/// The sleeping bodies in a box.
fn sleeping_in(
    scene: &PhysicsScene,
    bodies: &[RigidBodyHandle],
    EditedBox { min, max }: &EditedBox,
) -> Vec<RigidBodyHandle> {
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

/// Digs or fills a ball near a body; returns where, unless it left that out. Half of the fills are left
/// out if a body is near, as careful games do; the others may bury bodies, if `may_bury`.
fn edit_near_a_body(
    scene: &mut PhysicsScene,
    bodies: &[RigidBodyHandle],
    random: &mut Lcg,
    may_bury: bool,
    counts: &mut SoakCounts,
) -> Option<EditedBox> {
    let body = bodies[(random.unit() * bodies.len() as f32) as usize % bodies.len()];
    let offset = Vector::new(random.unit() - 0.5, -random.unit(), random.unit() - 0.5) * 6.0;
    let (centre, radius) = (scene.body(body).translation() + offset, 1.5 + 2.0 * random.unit());
    let (is_dig, is_careless) = (random.unit() < 0.6, random.unit() < 0.5);
    // Away from the walls and the bottom of the world.
    let most = HALF_EDGE_M - 6.0;
    let is_within = centre.x.abs() < most && centre.z.abs() < most && centre.y > -24.0;
    let is_near =
        |body: &RigidBodyHandle| scene.body(*body).translation().distance(centre) <= radius + 2.0;
    let is_burial = !is_dig && bodies.iter().any(is_near);
    if !is_within || is_burial && !(is_careless && may_bury) {
        return None;
    }
    counts.edits += 1;
    counts.burials += usize::from(is_burial);
    let reach = Vector::splat(radius + 1.0);
    let edited = EditedBox { min: centre - reach, max: centre + reach };
    let [min, max] = [edited.min, edited.max].map(|v| v.to_array().map(f64::from));
    let written = scene.terrain.edit_cells(min, max, |at, old| {
        let at = at.map(|v| v as f32);
        let ball = (0.5 + radius - Vector::from(at).distance(centre)).clamp(0.0, 1.0);
        let fill = if is_dig { old.fraction().min(1.0 - ball) } else { old.fraction().max(ball) };
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

/// Whether a point is in the ground, [`DEPTH_IN_GROUND_M`] or more from its surface, or under all of it.
///
/// A ray from inside leaves the ground once more often than it enters it. (Counted by the side of each
/// surface that it hits; whether the number of hits is odd does not say it, as thin remains of ground
/// may fold over themselves.) All of three rays have to, since one may run through an edge.
fn is_in_ground(scene: &PhysicsScene, at: Vector) -> bool {
    let collider = scene.terrain.collider();
    let origin = at.to_array().map(f64::from);
    let mut hits = Vec::new();
    let directions = [[0.0, 1.0, 0.0], [0.31, 1.0, 0.17], [-0.23, 1.0, 0.29]];
    let is_inside = directions.iter().all(|&direction| {
        collider.ray_all(&VoxelRay::new(origin, direction, 200.0), &Filter::SOLID, &mut hits);
        let along = |normal: [f32; 3]| (0..3).map(|i| f64::from(normal[i]) * direction[i]).sum();
        let exits_less_entries: f64 = hits.iter().map(|hit| f64::signum(along(hit.normal))).sum();
        exits_less_entries > 0.0
    });
    let is_deep =
        || collider.closest_point(origin, DEPTH_IN_GROUND_M, &Filter::SOLID).found.is_none();
    is_inside && is_deep() || at.y < -40.0
}

/// Measures `soak_lost`.
pub fn run(report: &mut AreaReport, seconds: usize) {
    let counts = soak(seconds, SEED);
    let note = format!(
        "{BODIES} bodies, {} edits in {seconds} s of their time, of which {} bury bodies",
        counts.edits, counts.burials
    );
    report.set("soak_lost", counts.lost() as f64, note);
    let line = |what: &str, count: usize| detail(what, count as f64, "");
    report.details(
        format!("soak, {seconds} s"),
        vec![
            line("bodies in the ground at the end", counts.in_ground),
            line("longest that a body was in the ground, steps", counts.longest_in_ground),
            line("bodies with a non-finite position", counts.non_finite),
            line("steps after which built blocks took more than their budget", counts.over_budget),
            line("sleeping bodies that an edit reached and did not wake", counts.slept_on),
        ],
    );
}
