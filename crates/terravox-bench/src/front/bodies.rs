//! Bodies over a world that streams in.

use rapier3d::prelude::*;
use terravox::terrain::{Budget, Terrain, TerrainOptions, Viewer};
use terravox_rapier::{TerrainColliderOptions, TerrainColliders};

use crate::report::{AreaReport, detail};

const BALLS: usize = 60;

/// Radius of a ball, metres.
const RADIUS_M: f32 = 0.4;

/// 15 seconds.
const FRAMES: usize = 900;

/// Blocks filled or meshed in a frame: so few that the ground below most balls is built long after
/// they could have fallen to it.
const BUDGET: Budget = Budget::Blocks(4);

const ROCK: u8 = 8;

fn hills(p: [f32; 3]) -> f32 {
    6.0 * (p[0] * 0.07).sin() * (p[2] * 0.05).cos() - p[1]
}

/// Fates of the balls.
#[derive(Default)]
struct FallOutcome {
    /// Balls whose middle was in the ground, or below it.
    fallen: usize,
    /// Balls on the ground at the end.
    landed: usize,
    /// Balls still waiting at the end.
    waiting: usize,
    /// Largest number that waited in a frame.
    max_waiting: usize,
}

/// Drops balls around a viewer in the first frame of a world that has no ground yet.
fn drop_balls(wait_for_ground: bool) -> FallOutcome {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let mut ground = TerrainColliders::new(TerrainColliderOptions {
        wait_for_ground,
        ..TerrainColliderOptions::default()
    });
    let mut world = PhysicsWorld::new();
    world.gravity = Vector::new(0.0, -9.81, 0.0);
    let balls: Vec<RigidBodyHandle> = (0..BALLS)
        .map(|i| {
            let at = [(i % 10) as f32 * 9.0 - 40.0, 14.0, (i / 10) as f32 * 14.0 - 35.0];
            let body = RigidBodyBuilder::dynamic().translation(at.into()).angular_damping(3.0);
            world.insert(body, ColliderBuilder::ball(RADIUS_M)).0
        })
        .collect();
    let viewers = [Viewer { position_m: [0.0, 20.0, 0.0], distance_m: 300.0 }];
    let mut fallen = [false; BALLS];
    let mut outcome = FallOutcome::default();
    for _ in 0..FRAMES {
        terrain.update(&viewers, BUDGET, |request| {
            request.fill_sdf(ROCK, |p| hills(p.map(|v| v as f32)).into());
        });
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut world;
        let report = ground.sync(&terrain, bodies, colliders, islands);
        outcome.waiting = report.waiting.len();
        outcome.max_waiting = outcome.max_waiting.max(outcome.waiting);
        world.step();
        for (fallen, &ball) in fallen.iter_mut().zip(&balls) {
            *fallen |= hills(world.bodies[ball].translation().to_array()) > 0.0;
        }
    }
    outcome.fallen = fallen.iter().filter(|&&fallen| fallen).count();
    let is_on_ground = |&&ball: &&RigidBodyHandle| {
        let depth = hills(world.bodies[ball].translation().to_array());
        (-2.0 * RADIUS_M..=0.0).contains(&depth)
    };
    outcome.landed = balls.iter().filter(is_on_ground).count();
    outcome
}

/// Measures `bodies_fallen`.
pub fn run(report: &mut AreaReport) {
    let [waiting, falling] = [true, false].map(drop_balls);
    let note = format!(
        "of {BALLS} in {FRAMES} frames: {} landed, {} wait at the end, {} at most; {} fall without \
         waiting",
        waiting.landed, waiting.waiting, waiting.max_waiting, falling.fallen
    );
    report.set("bodies_fallen", waiting.fallen as f64, note);
    report.details(
        "bodies over a world that is still loading",
        vec![
            detail("fallen, waiting for ground", waiting.fallen as f64, "bodies"),
            detail("fallen, not waiting", falling.fallen as f64, "bodies"),
            detail("landed, waiting for ground", waiting.landed as f64, "bodies"),
        ],
    );
}
