//! Bodies that move on the ground and in the water of a world.

use std::time::Instant;

use rapier3d::prelude::{PhysicsWorld, RigidBodyHandle};
use terravox::collide::Collider;
use terravox::replicate::{Host, HostWorld, RefusalCode};
use terravox::terrain::Placement;
use terravox::voxel::{ChunkPos, ChunkState, UnlistedChunks, VoxelGrid};
use terravox_rapier::{Buoyancy, RapierSets, TerrainColliders, WaterOptions};

/// Bodies farther from the origin on an axis, in metres, are neither thrown nor cut loose: their
/// positions are f32, of which the steps are 8 mm there.
pub(crate) const FARTHEST_M: f64 = 1e5;

/// Seconds of a step, and maximum number of steps of a tick.
const STEP_S: f32 = 1.0 / 60.0;
const MAX_STEPS: u32 = 3;

/// Chunks that are made in a tick so that bodies fall on them.
const MAX_LOADS: u32 = 16;

/// Share of the time of a core that steps may take. Beyond it bodies move in slow motion.
const TIME_SHARE: f32 = 0.5;

/// Maximum debt of steps, in seconds.
const MAX_DEBT_S: f32 = 1.0;

/// Seconds that a step may take before no more bodies are cut loose or thrown, and before loose pieces
/// have to go.
const BUSY_STEP_S: f32 = 0.02;
const LONG_STEP_S: f32 = 0.04;

/// Bodies that need not go, however long a step takes.
const KEPT_BODIES: usize = 8;

/// Seconds without bodies after which the ground is dropped: it shares cells with the world as that
/// was when something last moved, and keeps what was edited since from being freed.
const REST_S: f32 = 60.0;

/// All bodies of a world, in metres.
pub(crate) struct Physics {
    pub world: PhysicsWorld,
    collider: Collider,
    ground: TerrainColliders,
    buoyancy: Buoyancy,
    /// Seconds that were not stepped yet, and those that were stepped last.
    left_s: f32,
    stepped_s: f32,
    /// Time that steps may still take.
    budget: StepBudget,
    /// What the last step took, in seconds, and the one before; and whether that is news.
    step_took_s: [f32; 2],
    has_stepped: bool,
    /// Chunks that may still be made in this tick.
    loads_left: u32,
    /// Seconds since there was a body.
    rests_s: f32,
}

impl Physics {
    pub fn new() -> Physics {
        let mut world = PhysicsWorld::new();
        world.integration_parameters.dt = STEP_S;
        Physics {
            world,
            collider: Collider::default(),
            ground: TerrainColliders::default(),
            buoyancy: Buoyancy::default(),
            left_s: 0.0,
            stepped_s: 0.0,
            budget: StepBudget::default(),
            step_took_s: [0.0; 2],
            has_stepped: false,
            loads_left: MAX_LOADS,
            rests_s: 0.0,
        }
    }

    /// Lets time pass without bodies.
    pub fn rest(&mut self, seconds: f32) {
        self.step_took_s = [0.0; 2];
        if self.rests_s < REST_S {
            self.rests_s += seconds;
            if self.rests_s >= REST_S {
                *self = Physics { rests_s: REST_S, ..Physics::new() };
            }
        }
    }

    /// Makes sure that the ground around a body is held; the body waits until it is. A guest that
    /// `pays` does so for chunks that have to be made.
    pub fn hold_ground(
        &mut self,
        host: &mut Host,
        world: &mut HostWorld<'_>,
        body: RigidBodyHandle,
        pays: Option<u64>,
        chunks: impl IntoIterator<Item = ChunkPos>,
    ) {
        if world.grid.unlisted() == UnlistedChunks::Air {
            return;
        }
        let mut is_there = true;
        for chunk in chunks {
            let is_held =
                |grid: &VoxelGrid| matches!(grid.held(chunk), ChunkState::Mip(0) | ChunkState::Air);
            if !is_held(world.grid) && self.loads_left > 0 {
                // One that is not available now is asked for again.
                // What no guest pays for is not tried, and leaves others their loads.
                let is_unpaid = match pays {
                    Some(guest) => {
                        let loaded = host.load_for(world, guest, chunk.region());
                        loaded.is_err_and(|why| why.code == RefusalCode::TooMuchWork)
                    }
                    None => {
                        let _ = host.load(world, chunk.region());
                        false
                    }
                };
                self.loads_left -= u32::from(!is_unpaid);
            }
            is_there &= is_held(world.grid);
        }
        self.world.bodies[body].set_enabled(is_there);
    }

    /// Takes over what was edited since the last step.
    pub fn follow_ground(&mut self, grid: &VoxelGrid) {
        self.collider.update(grid);
    }

    /// The seconds by which [`Physics::step`] moved everything the last time: fewer than asked for if
    /// steps take more than their share of the time.
    pub fn stepped_s(&self) -> f32 {
        self.stepped_s
    }

    /// Moves all bodies by `seconds`, in steps.
    pub fn step(&mut self, placement: Placement, seconds: f32) {
        self.loads_left = MAX_LOADS;
        self.rests_s = 0.0;
        self.left_s = (self.left_s + seconds).min(MAX_STEPS as f32 * STEP_S);
        self.budget.pass(seconds);
        self.stepped_s = 0.0;
        while self.left_s >= STEP_S && self.budget.is_left() {
            let start = Instant::now();
            self.left_s -= STEP_S;
            self.stepped_s += STEP_S;
            let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.world;
            let sets = RapierSets { bodies, colliders, islands };
            self.ground.sync_with(&self.collider, placement, sets);
            let water = WaterOptions::default();
            self.buoyancy.apply(&self.collider, placement, bodies, colliders, STEP_S, &water);
            self.world.step();
            let took_s = start.elapsed().as_secs_f32();
            self.step_took_s = [took_s, self.step_took_s[0]];
            self.has_stepped = true;
            self.budget.take(took_s);
        }
    }

    /// Whether steps take so long that no more bodies may come.
    pub fn is_busy(&self) -> bool {
        self.usual_step_s() > BUSY_STEP_S
    }

    /// How many of so many bodies should go since the last step took too long: they would hardly move.
    /// Told once for each step.
    pub fn excess(&mut self, bodies: usize) -> usize {
        match std::mem::take(&mut self.has_stepped) {
            true => excess(bodies, self.usual_step_s()),
            false => 0,
        }
    }

    /// The shorter one of the last two steps: one alone may have waited for a core.
    fn usual_step_s(&self) -> f32 {
        self.step_took_s.into_iter().fold(f32::INFINITY, f32::min)
    }
}

/// How many of so many bodies are too many for a step that took so long. Half of them at most: what a step
/// takes grows faster than their number.
fn excess(bodies: usize, took_s: f32) -> usize {
    let share = (1.0 - LONG_STEP_S / took_s.max(LONG_STEP_S)).min(0.5);
    ((bodies as f32 * share).ceil() as usize).min(bodies.saturating_sub(KEPT_BODIES))
}

/// The time that steps may still take; below zero after a step that took longer.
#[derive(Debug, Default)]
struct StepBudget {
    left_s: f32,
}

impl StepBudget {
    /// Adds the share of `seconds` that passed. No more is kept than the share of the most steps.
    fn pass(&mut self, seconds: f32) {
        let most = MAX_STEPS as f32 * STEP_S * TIME_SHARE;
        self.left_s = (self.left_s + seconds * TIME_SHARE).min(most);
    }

    /// Spends what a step took. What it took beyond a second is forgiven: bodies go on after a stall.
    fn take(&mut self, seconds: f32) {
        self.left_s = (self.left_s - seconds).max(-MAX_DEBT_S);
    }

    fn is_left(&self) -> bool {
        self.left_s > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_take_long_are_made_for_a_share_of_the_time() {
        let (mut budget, mut steps) = (StepBudget::default(), 0);
        let tick_s = 0.02;
        for _ in 0..1000 {
            budget.pass(tick_s);
            if budget.is_left() {
                budget.take(0.1);
                steps += 1;
            }
        }
        assert!((99..=101).contains(&steps), "{steps} steps of 0.1 s in 20 s");
    }

    #[test]
    fn bodies_go_until_a_step_is_short() {
        assert_eq!((excess(128, 0.0), excess(128, LONG_STEP_S), excess(8, 9.0)), (0, 0, 0));
        let (mut bodies, mut steps) = (128, 0);
        // Each costs as much as the square of their number.
        while excess(bodies, 1e-4 * (bodies * bodies) as f32) > 0 {
            bodies -= excess(bodies, 1e-4 * (bodies * bodies) as f32);
            steps += 1;
        }
        assert!((15..=20).contains(&bodies) && steps < 8, "{bodies} after {steps} steps");
    }

    #[test]
    fn idle_time_is_not_saved_up() {
        let mut budget = StepBudget::default();
        budget.pass(1e6);
        budget.take(0.1);
        assert!(!budget.is_left());
    }
}
