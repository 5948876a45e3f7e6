//! Classifies bodies at the end: resting, floating, sunk, moving, lost, or in the ground.

use super::site::probe;
use super::{Drop, DroppedBody};
use crate::report::{Report, grouped};
use glam::DVec3;
use rapier3d::prelude::ColliderHandle;
use serde_json::json;
use terravox::collide::{Collider, Filter, Ray};

/// Slower bodies are calm: metres and radians per second.
const CALM_SPEEDS: [f32; 2] = [0.1, 0.2];

/// Bodies count as in the ground if they are deeper than this.
const MIN_GROUND_DEPTH_VOXELS: f64 = 0.25;

/// The state of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyState {
    /// Calm on ground or on other bodies.
    Resting,
    /// Partly under water, not supported by ground.
    Floating,
    /// Wholly under water.
    Sunk,
    /// None of these.
    Moving,
    /// Off the edge of the world.
    Lost,
    /// Its centre is in the ground.
    InGround,
    /// Its position is not finite.
    NonFinite,
}

/// Numbers of bodies by their state at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyCounts {
    /// All.
    pub bodies: usize,
    /// Calm, anywhere.
    pub calm: usize,
    /// Calm on ground or on other bodies.
    pub resting: usize,
    /// Partly under water, not supported by ground.
    pub floating: usize,
    /// Wholly under water.
    pub sunk: usize,
    /// Moving over land or through the air.
    pub moving: usize,
    /// Off the edge of the world.
    pub lost: usize,
    /// With their centre in the ground.
    pub below: usize,
    /// With a non-finite position.
    pub not_a_number: usize,
    /// A metre or more lower than before the dig.
    pub fell: usize,
}

impl Drop {
    /// Counts all bodies; `fell` tells which fell after the dig.
    pub fn count(&mut self, fell: &[bool]) -> BodyCounts {
        let mut counts = BodyCounts {
            bodies: self.bodies.len(),
            calm: self.bodies.iter().filter(|body| self.is_calm(body)).count(),
            fell: fell.iter().filter(|&&fell| fell).count(),
            ..BodyCounts::default()
        };
        for state in self.states() {
            *match state {
                BodyState::Resting => &mut counts.resting,
                BodyState::Floating => &mut counts.floating,
                BodyState::Sunk => &mut counts.sunk,
                BodyState::Moving => &mut counts.moving,
                BodyState::Lost => &mut counts.lost,
                BodyState::InGround => &mut counts.below,
                BodyState::NonFinite => &mut counts.not_a_number,
            } += 1;
        }
        counts
    }

    /// Returns the states of all bodies.
    pub fn states(&mut self) -> Vec<BodyState> {
        let bodies = self.bodies.clone();
        bodies.iter().map(|body| self.state(body)).collect()
    }

    /// Returns whether a body sleeps, hardly moves or is disabled.
    pub fn is_calm(&self, body: &DroppedBody) -> bool {
        let body = &self.world.bodies[body.handle];
        let slow =
            body.linvel().length() < CALM_SPEEDS[0] && body.angvel().length() < CALM_SPEEDS[1];
        slow || body.is_sleeping() || !body.is_enabled()
    }

    fn state(&mut self, body: &DroppedBody) -> BodyState {
        let at = self.position(body);
        if !at.is_finite() {
            return BodyState::NonFinite;
        }
        if !self.world.bodies[body.handle].is_enabled() {
            return BodyState::Lost;
        }
        let box_m = self.world.colliders[body.collider].compute_aabb();
        let placement = self.terrain.placement();
        let [low, high] = [box_m.mins, box_m.maxs]
            .map(|v| placement.voxel_from_world(v.to_array().map(f64::from))[1]);
        let ground = self.terrain.collider();
        if is_in_ground(ground, at) {
            return BodyState::InGround;
        }
        let probe = probe(ground, self.bounds, [at.x, at.z]);
        let water = probe.filter(|probe| probe.depth > 0.0).map(|probe| probe.point.y);
        match water {
            Some(level) if high < level => BodyState::Sunk,
            Some(level) if low < level && !self.touches_ground(body.collider) => {
                BodyState::Floating
            }
            _ if self.is_calm(body) => BodyState::Resting,
            _ => BodyState::Moving,
        }
    }

    /// Returns whether a collider touches the ground, whose colliders have no body.
    fn touches_ground(&self, collider: ColliderHandle) -> bool {
        self.world.contact_pairs_with(collider).any(|pair| {
            let other = if pair.collider1 == collider { pair.collider2 } else { pair.collider1 };
            let of_ground = self.world.colliders.get(other).is_some_and(|c| c.parent().is_none());
            of_ground && pair.has_any_active_contact()
        })
    }
}

/// Returns whether a point is in the ground: the surface is closed, so rays from inside cross it
/// an odd number of times. Three rays vote, as one may hit an edge.
fn is_in_ground(ground: &Collider, at: DVec3) -> bool {
    let mut hits = Vec::new();
    let directions = [[0.0, 1.0, 0.0], [0.31, 1.0, 0.17], [-0.23, 1.0, 0.29]];
    let odd = directions.iter().all(|&direction| {
        ground.ray_all(&Ray::new(at, direction, 1e4), &Filter::SOLID, &mut hits);
        hits.len() % 2 == 1
    });
    odd && ground.closest_point(at, MIN_GROUND_DEPTH_VOXELS, &Filter::SOLID).found.is_none()
}

impl BodyCounts {
    /// Adds the counts to a report.
    pub fn add_to(&self, steps: usize, report: &mut Report) {
        let BodyCounts { bodies, calm, resting, floating, sunk, moving, fell, .. } = *self;
        let [bodies, calm, resting, floating, sunk, moving, fell] =
            [bodies, calm, resting, floating, sunk, moving, fell].map(|n| grouped(n as u64));
        let mut text = format!(
            "{bodies}: {resting} at rest, {floating} floating, {sunk} sunk, {moving} moving; \
             {calm} of them calm; {fell} fell after the dig; {} in the ground, {} at no finite position",
            self.below, self.not_a_number
        );
        if self.lost > 0 {
            text += &format!("; {} off the edge of the world", self.lost);
        }
        let value = json!({
            "bodies": self.bodies, "calm": self.calm, "resting": self.resting,
            "floating": self.floating, "sunk": self.sunk, "moving": self.moving,
            "lost": self.lost, "below": self.below, "not_a_number": self.not_a_number,
            "fell": self.fell, "steps": steps,
        });
        report.line("bodies", "bodies", text, value);
        report.line("steps", "steps", format!("{} of 1/60 s", grouped(steps as u64)), json!(steps));
    }
}
