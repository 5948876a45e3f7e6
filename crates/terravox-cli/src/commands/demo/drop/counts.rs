//! How the bodies are: resting, floating, sunk, or where none should be.

use super::site::feel;
use super::{Body, Drop};
use crate::report::{Report, grouped};
use glam::DVec3;
use rapier3d::prelude::ColliderHandle;
use serde_json::json;
use terravox::collide::{Collider, Filter, Ray};

/// What moves slower counts as calm, metres and radians a second.
const CALM: [f32; 2] = [0.1, 0.2];

/// Nearer to the surface than this nothing counts as below ground, voxels.
const BELOW: f64 = 0.25;

/// How a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Calm on ground, or on others.
    Resting,
    /// Partly under water, and not held up by ground.
    Floating,
    /// Wholly under water.
    Sunk,
    /// None of these.
    Moving,
    /// Off the edge of the world.
    Lost,
    /// Its middle is in the ground.
    Below,
    /// Its position is not finite.
    NotANumber,
}

/// How many bodies are how in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub bodies: usize,
    /// Calm, wherever they are.
    pub calm: usize,
    /// Calm on ground, or on others.
    pub resting: usize,
    /// Partly under water, and not held up by ground.
    pub floating: usize,
    /// Wholly under water.
    pub sunk: usize,
    /// On their way over land, or through the air.
    pub moving: usize,
    /// Off the edge of the world.
    pub lost: usize,
    /// With their middle in the ground.
    pub below: usize,
    /// Those with a non-finite position.
    pub not_a_number: usize,
    /// A metre or more lower than before the dig.
    pub fell: usize,
}

impl Drop {
    /// How all bodies are in the end; `fell` says which fell after the dig.
    pub fn count(&mut self, fell: &[bool]) -> Counts {
        let mut counts = Counts {
            bodies: self.bodies.len(),
            calm: self.bodies.iter().filter(|body| self.is_calm(body)).count(),
            fell: fell.iter().filter(|&&fell| fell).count(),
            ..Counts::default()
        };
        for state in self.states() {
            *match state {
                State::Resting => &mut counts.resting,
                State::Floating => &mut counts.floating,
                State::Sunk => &mut counts.sunk,
                State::Moving => &mut counts.moving,
                State::Lost => &mut counts.lost,
                State::Below => &mut counts.below,
                State::NotANumber => &mut counts.not_a_number,
            } += 1;
        }
        counts
    }

    /// How every body is, by number.
    pub fn states(&mut self) -> Vec<State> {
        let bodies = self.bodies.clone();
        bodies.iter().map(|body| self.state(body)).collect()
    }

    /// Whether a body sleeps, hardly moves or is given up.
    pub fn is_calm(&self, body: &Body) -> bool {
        let body = &self.world.bodies[body.handle];
        let slow = body.linvel().length() < CALM[0] && body.angvel().length() < CALM[1];
        slow || body.is_sleeping() || !body.is_enabled()
    }

    fn state(&mut self, body: &Body) -> State {
        let at = self.place(body);
        if !at.is_finite() {
            return State::NotANumber;
        }
        if !self.world.bodies[body.handle].is_enabled() {
            return State::Lost;
        }
        let box_m = self.world.colliders[body.collider].compute_aabb();
        let placement = self.terrain.placement();
        let [low, high] = [box_m.mins, box_m.maxs]
            .map(|v| placement.voxel_from_world(v.to_array().map(f64::from))[1]);
        let ground = self.terrain.collider();
        if is_below(ground, at) {
            return State::Below;
        }
        let felt = feel(ground, self.bounds, [at.x, at.z]);
        let water = felt.filter(|felt| felt.depth > 0.0).map(|felt| felt.point.y);
        match water {
            Some(level) if high < level => State::Sunk,
            Some(level) if low < level && !self.touches_ground(body.collider) => State::Floating,
            _ if self.is_calm(body) => State::Resting,
            _ => State::Moving,
        }
    }

    /// Whether ground, which belongs to no body, holds a body's collider.
    fn touches_ground(&self, collider: ColliderHandle) -> bool {
        self.world.contact_pairs_with(collider).any(|pair| {
            let other = if pair.collider1 == collider { pair.collider2 } else { pair.collider1 };
            let of_ground = self.world.colliders.get(other).is_some_and(|c| c.parent().is_none());
            of_ground && pair.has_any_active_contact()
        })
    }
}

/// Whether a point is in the ground: the surface is closed, so rays out of it cross it an
/// odd number of times. Three of them, as one may run through an edge.
fn is_below(ground: &Collider, at: DVec3) -> bool {
    let mut hits = Vec::new();
    let directions = [[0.0, 1.0, 0.0], [0.31, 1.0, 0.17], [-0.23, 1.0, 0.29]];
    let odd = directions.iter().all(|&direction| {
        ground.ray_all(&Ray::new(at, direction, 1e4), &Filter::SOLID, &mut hits);
        hits.len() % 2 == 1
    });
    odd && ground.closest_point(at, BELOW, &Filter::SOLID).found.is_none()
}

impl Counts {
    /// Adds a line for people, and all for machines.
    pub fn add_to(&self, steps: usize, report: &mut Report) {
        let Counts { bodies, calm, resting, floating, sunk, moving, fell, .. } = *self;
        let [bodies, calm, resting, floating, sunk, moving, fell] =
            [bodies, calm, resting, floating, sunk, moving, fell].map(|n| grouped(n as u64));
        let mut text = format!(
            "{bodies}: {resting} at rest, {floating} floating, {sunk} sunk, {moving} moving; \
             {calm} of them calm; {fell} fell after the dig; {} below ground, {} not a number",
            self.below, self.not_a_number
        );
        if self.lost > 0 {
            text += &format!("; {} over the edge of the world", self.lost);
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
