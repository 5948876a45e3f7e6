//! Crates and balls that lie about.

use crate::world::{local_from_map, map_from_local};
use terravox::terrain::{Placement, Terrain};
use terravox_rapier::rapier3d::prelude::*;
use terravox_rapier::{SyncReport, TerrainColliders};

/// Half the edge of a crate, and the radius of a ball, metres.
const HALF: f32 = 0.4;

#[derive(Default)]
pub struct Bodies {
    physics: PhysicsWorld,
    ground: TerrainColliders,
    handles: Vec<RigidBodyHandle>,
}

impl Bodies {
    /// Drops one, by turns a ball and a crate. `at` is on the map, as are all points here.
    pub fn drop_at(&mut self, placement: Placement, at: [f64; 3]) {
        let at = Vector::from(local_from_map(placement, at).map(|v| v as f32));
        let collider = match self.handles.len() % 2 {
            0 => ColliderBuilder::ball(HALF),
            _ => ColliderBuilder::cuboid(HALF, HALF, HALF),
        };
        let body = RigidBodyBuilder::dynamic().translation(at).angular_damping(3.0);
        self.handles.push(self.physics.insert(body, collider.density(500.0)).0);
    }

    pub fn positions(&self, placement: Placement) -> Vec<[f64; 3]> {
        let local = |body: RigidBodyHandle| {
            self.physics.bodies[body].translation().to_array().map(f64::from)
        };
        self.handles.iter().map(|&body| map_from_local(placement, local(body))).collect()
    }

    /// A step of the physics on the ground as it is now.
    pub fn step(&mut self, terrain: &Terrain) -> SyncReport {
        let PhysicsWorld { bodies, colliders, islands, .. } = &mut self.physics;
        let report = self.ground.sync(terrain, bodies, colliders, islands);
        self.physics.step();
        report
    }

    /// Moves all along with the terrain's origin.
    pub fn move_by(&mut self, by: [f64; 3]) {
        let by = Vector::from(by.map(|v| v as f32));
        for (_, body) in self.physics.bodies.iter_mut() {
            let at = body.translation() + by;
            body.set_translation(at, false); // what rests goes on resting
        }
    }

    /// Whether any hangs over ground that has not come.
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
