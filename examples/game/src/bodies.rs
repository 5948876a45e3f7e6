//! Crates and balls that lie about.

use crate::world::{local_from_map, map_from_local};
use terravox::terrain::{Placement, Terrain};
use terravox_rapier::rapier3d::prelude::*;
use terravox_rapier::{SyncReport, TerrainColliders};

/// Half the edge of a crate, and the radius of a ball.
const HALF_EDGE_M: f32 = 0.4;

#[derive(Default)]
pub struct Bodies {
    physics: PhysicsWorld,
    ground: TerrainColliders,
    handles: Vec<RigidBodyHandle>,
    /// Where each body is on the map. The physics have f32: far from the origin they round the
    /// places of bodies left behind, so what sleeps keeps the one from before.
    places: Vec<[f64; 3]>,
}

impl Bodies {
    /// Drops a ball or a crate, in turns. `at` is on the map, as are all points here.
    pub fn drop_at(&mut self, placement: Placement, at: [f64; 3]) {
        self.places.push(at);
        let at = Vector::from(local_from_map(placement, at).map(|v| v as f32));
        let collider = match self.handles.len() % 2 {
            0 => ColliderBuilder::ball(HALF_EDGE_M),
            _ => ColliderBuilder::cuboid(HALF_EDGE_M, HALF_EDGE_M, HALF_EDGE_M),
        };
        let body = RigidBodyBuilder::dynamic().translation(at).angular_damping(3.0);
        self.handles.push(self.physics.insert(body, collider.density(500.0)).0);
    }

    pub fn places(&self) -> &[[f64; 3]] {
        &self.places
    }

    /// A step of the physics on the ground as it is now.
    pub fn step(&mut self, terrain: &Terrain) -> SyncReport {
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.physics;
        let report = self.ground.sync(terrain, bodies, colliders, islands);
        self.physics.step();
        for (&handle, place) in self.handles.iter().zip(&mut self.places) {
            let body = &self.physics.bodies[handle];
            if !body.is_sleeping() {
                let local = body.translation().to_array().map(f64::from);
                *place = map_from_local(terrain.placement(), local);
            }
        }
        report
    }

    /// Moves all along with the terrain's origin.
    pub fn follow_origin(&mut self, placement: Placement) {
        for (&handle, &place) in self.handles.iter().zip(&self.places) {
            let at = Vector::from(local_from_map(placement, place).map(|v| v as f32));
            self.physics.bodies[handle].set_translation(at, false); // what rests goes on resting
        }
    }

    /// Whether a body waits for ground that is not held yet.
    pub fn are_waiting(&self) -> bool {
        self.handles.iter().any(|&body| self.ground.is_waiting(body))
    }

    /// The number of a body that lies on ground. One that waits sleeps, too.
    pub fn resting(&self) -> Option<usize> {
        let rests = |body: RigidBodyHandle| {
            self.physics.bodies[body].is_sleeping() && !self.ground.is_waiting(body)
        };
        self.handles.iter().position(|&body| rests(body))
    }
}
