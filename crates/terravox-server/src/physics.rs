//! Bodies that move on the ground and in the water of a world.

use rapier3d::prelude::{PhysicsWorld, RigidBodyHandle};
use terravox::collide::Collider;
use terravox::replicate::{Host, HostWorld};
use terravox::terrain::Placement;
use terravox::voxel::{ChunkPos, ChunkState, UnlistedChunks, VoxelGrid};
use terravox_rapier::{Buoyancy, RapierSets, TerrainColliders, WaterOptions};

/// Seconds of a step, and most steps of a tick.
const STEP_S: f32 = 1.0 / 60.0;
const MAX_STEPS: u32 = 3;

/// Chunks that are made in a tick so that bodies fall on them.
const MAX_LOADS: u32 = 16;

/// Seconds without bodies after which the ground is dropped: it shares cells with the world as that
/// was when something last moved, and keeps what was edited since from being freed.
const REST_S: f32 = 60.0;

/// All bodies of a world, in metres.
pub(crate) struct Physics {
    pub world: PhysicsWorld,
    collider: Collider,
    ground: TerrainColliders,
    buoyancy: Buoyancy,
    /// Seconds that were not stepped yet.
    left_s: f32,
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
            loads_left: MAX_LOADS,
            rests_s: 0.0,
        }
    }

    /// Lets time pass without bodies.
    pub fn rest(&mut self, seconds: f32) {
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
                self.loads_left -= 1;
                // One that is not available now is asked for again.
                let _ = match pays {
                    Some(guest) => host.load_for(world, guest, chunk.region()).is_ok(),
                    None => host.load(world, chunk.region()).is_ok(),
                };
            }
            is_there &= is_held(world.grid);
        }
        self.world.bodies[body].set_enabled(is_there);
    }

    /// Moves all bodies by `seconds`, in steps; returns the seconds that were stepped.
    pub fn step(&mut self, grid: &VoxelGrid, placement: Placement, seconds: f32) -> f32 {
        self.loads_left = MAX_LOADS;
        self.rests_s = 0.0;
        self.collider.update(grid);
        self.left_s = (self.left_s + seconds).min(MAX_STEPS as f32 * STEP_S);
        let mut stepped = 0.0;
        while self.left_s >= STEP_S {
            self.left_s -= STEP_S;
            stepped += STEP_S;
            let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.world;
            let sets = RapierSets { bodies, colliders, islands };
            self.ground.sync_with(&self.collider, placement, sets);
            let water = WaterOptions::default();
            self.buoyancy.apply(&self.collider, placement, bodies, colliders, STEP_S, &water);
            self.world.step();
        }
        stepped
    }
}
