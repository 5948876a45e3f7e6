//! The bodies that a guest sees.

use super::body_size::BodySize;
use super::message::BodyMessage;
use super::pose_wire::WirePose;
use super::seen_bodies::MAX_SEEN;
use super::shared_body::SharedBody;
use crate::bodies::BodyPose;
use std::collections::BTreeMap;

/// A body moves to its newest pose in the time since the one before, within these bounds, in
/// microseconds.
const SHORTEST_MOVE_US: u64 = 20_000;
const LONGEST_MOVE_US: u64 = 500_000;

/// A body, and how it gets to its newest pose.
struct HeldBody {
    body: SharedBody,
    size: BodySize,
    /// Where it was shown when the newest pose came.
    from: BodyPose,
    since_us: u64,
    until_us: u64,
}

impl HeldBody {
    /// Where it is shown at a time.
    fn pose_at(&self, now_us: u64) -> BodyPose {
        let lasts = (self.until_us - self.since_us).max(1);
        let passed = now_us.saturating_sub(self.since_us).min(lasts);
        between(&self.from, &self.body.pose, passed as f64 / lasts as f64)
    }

    fn move_to(&mut self, pose: BodyPose, now_us: u64) {
        let lasts = now_us.saturating_sub(self.since_us);
        self.from = self.pose_at(now_us);
        self.since_us = now_us;
        self.until_us = now_us + lasts.clamp(SHORTEST_MOVE_US, LONGEST_MOVE_US);
        self.body.pose = pose;
    }
}

/// All bodies that are here, by number.
#[derive(Default)]
pub(super) struct HeldBodies {
    bodies: BTreeMap<u64, HeldBody>,
    size: BodySize,
}

impl HeldBodies {
    pub fn iter(&self) -> impl Iterator<Item = (u64, &SharedBody)> {
        self.bodies.iter().map(|(&number, held)| (number, &held.body))
    }

    pub fn get(&self, number: u64) -> Option<&SharedBody> {
        self.bodies.get(&number).map(|held| &held.body)
    }

    pub fn pose_at(&self, number: u64, now_us: u64) -> Option<BodyPose> {
        self.bodies.get(&number).map(|held| held.pose_at(now_us))
    }

    /// Takes a body; returns whether it is new. An error ends the connection.
    pub fn put(&mut self, message: BodyMessage, now_us: u64) -> Result<bool, String> {
        let BodyMessage { number, kind, pose, bytes, .. } = message;
        let pose = pose.pose();
        let body = SharedBody { kind, pose, bytes };
        let size = BodySize::of(&body);
        self.size = self.size.with(size);
        let known = self.bodies.get_mut(&number);
        let is_new = known.is_none();
        match known {
            Some(held) => {
                self.size = self.size.without(held.size);
                (held.body.kind, held.body.bytes, held.size) = (kind, body.bytes, size);
                held.move_to(pose, now_us);
            }
            None => {
                let (since_us, until_us) = (now_us, now_us);
                let held = HeldBody { body, size, from: pose, since_us, until_us };
                self.bodies.insert(number, held);
            }
        }
        if self.bodies.len() > MAX_SEEN {
            return Err(format!("the host sent more than {MAX_SEEN} bodies"));
        }
        self.size.check().map_err(|error| error.to_string())?;
        Ok(is_new)
    }

    /// Moves bodies; those that are not here are ignored.
    pub fn set_poses(&mut self, poses: &[(u64, WirePose)], now_us: u64) {
        for (number, pose) in poses {
            if let Some(held) = self.bodies.get_mut(number) {
                held.move_to(pose.pose(), now_us);
            }
        }
    }

    /// Drops a body; returns whether it was here.
    pub fn remove(&mut self, number: u64) -> bool {
        let removed = self.bodies.remove(&number);
        self.size =
            self.size.without(removed.as_ref().map_or(BodySize::default(), |held| held.size));
        removed.is_some()
    }

    /// Drops all bodies and returns their numbers.
    pub fn clear(&mut self) -> Vec<u64> {
        let numbers = self.bodies.keys().copied().collect();
        *self = HeldBodies::default();
        numbers
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.size.bytes() + self.bodies.len() * size_of::<(u64, HeldBody)>()
    }
}

/// A pose on the way from one to another: positions in a line, rotations by the shorter way.
fn between(from: &BodyPose, to: &BodyPose, share: f64) -> BodyPose {
    if share >= 1.0 {
        return *to;
    }
    let mix = |a: f64, b: f64| a + (b - a) * share;
    let position_voxels = [0, 1, 2].map(|i| mix(from.position_voxels[i], to.position_voxels[i]));
    let dot: f64 = from.rotation.iter().zip(to.rotation).map(|(a, b)| a * b).sum();
    let sign = 1.0_f64.copysign(dot);
    let rotation = [0, 1, 2, 3].map(|i| mix(from.rotation[i], sign * to.rotation[i]));
    let length = rotation.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-9);
    BodyPose { position_voxels, rotation: rotation.map(|v| v / length) }
}
