//! Balls and crates that guests throw: they roll, float, and vanish after some minutes.

use crate::physics::{FARTHEST_M, Physics};
use rapier3d::prelude::{ColliderBuilder, RigidBodyBuilder, RigidBodyHandle};
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use terravox::bodies::BodyPose;
use terravox::replicate::{Host, HostWorld, SharedBody, SharedBodyKind};
use terravox::terrain::Placement;
use terravox::voxel::{LIMIT, Region, VoxelPos};

/// Maximum number of things at one time, in all and of one account: the oldest ones vanish.
const MAX_THINGS: usize = 96;
const MAX_OF_ONE: usize = 16;

/// Maximum number of throws of one account within a second, and that wait for the end of a step.
const MAX_OF_ONE_A_SECOND: usize = 5;

/// Maximum number of throws that wait for the end of a step.
const MAX_WAITING: usize = 256;

/// Messages to a guest whose throw is refused.
const TOO_MANY: &[u8] = br#"{"refused":"throw","reason":"at most five throws a second"}"#;
const TOO_MANY_WAIT: &[u8] = br#"{"refused":"throw","reason":"too many throws wait; try again"}"#;
const TOO_BUSY: &[u8] = br#"{"refused":"throw","reason":"too much moves here; try again later"}"#;

/// If a crate has more voxels along an edge, nothing can be thrown: the ground that it may touch
/// would be too much to read.
const MAX_VOXELS: f64 = 32.0;

/// Seconds until a thing vanishes.
const LIFETIME_S: f32 = 300.0;

/// The fastest throw, metres per second.
const FASTEST_M_S: f64 = 40.0;

/// Radius of a ball and half an edge of a crate, metres.
const BALL_M: f32 = 0.35;
const CRATE_M: f32 = 0.4;

/// Kilograms per cubic metre: less than water, so both float.
const DENSITY: f32 = 400.0;

/// Kinds of the game.
const BALL: u16 = 1;
const CRATE: u16 = 2;

/// What a guest asks for: `{"throw":"ball","from_m":[x,y,z],"velocity_m_s":[x,y,z]}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Throw {
    throw: Thing,
    from_m: [f64; 3],
    velocity_m_s: [f64; 3],
}

impl Throw {
    /// Reads a request; `None` if it is invalid where voxels lie as `placement` says.
    fn parse(request: &[u8], placement: Placement) -> Option<Throw> {
        let throw = serde_json::from_slice::<Throw>(request).ok()?;
        let from = placement.voxel_from_world(throw.from_m);
        let is_within = from.iter().all(|v| v.abs() < f64::from(LIMIT))
            && throw.from_m.iter().all(|v| v.abs() <= FARTHEST_M);
        let crate_voxels = f64::from(2.0 * CRATE_M) / placement.voxel_size_m;
        (is_within && throw.speed_m_s().is_finite() && crate_voxels <= MAX_VOXELS).then_some(throw)
    }

    fn speed_m_s(&self) -> f64 {
        self.velocity_m_s.iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Thing {
    Ball,
    Crate,
}

/// Who throws.
#[derive(Clone)]
pub(crate) struct Thrower {
    /// Pays for the ground that has to be made.
    pub guest: u64,
    /// Whose budget that is.
    pub account: Arc<str>,
}

struct ThrownThing {
    handle: RigidBodyHandle,
    /// Its number among the bodies of the host.
    number: u64,
    by: Thrower,
    age_s: f32,
}

/// All of them, the oldest first.
#[derive(Default)]
pub(crate) struct ThrownThings {
    things: VecDeque<ThrownThing>,
    /// Requests that came while a step ran.
    waiting: Vec<(Thrower, Throw)>,
}

impl ThrownThings {
    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// Takes what a guest requests, to be thrown after the step that runs, or tells it that too many wait.
    /// Invalid requests are ignored.
    pub fn take(&mut self, host: &mut Host, placement: Placement, by: &Thrower, request: &[u8]) {
        let Some(throw) = Throw::parse(request, placement) else { return };
        let own = self.waiting.iter().filter(|(other, _)| other.account == by.account);
        if own.count() < MAX_OF_ONE_A_SECOND && self.waiting.len() < MAX_WAITING {
            self.waiting.push((by.clone(), throw));
        } else {
            host.send_message(by.guest, TOO_MANY_WAIT);
        }
    }

    /// Throws all that waits.
    pub fn throw_all(&mut self, physics: &mut Physics, host: &mut Host, placement: Placement) {
        for (by, throw) in std::mem::take(&mut self.waiting) {
            self.throw(physics, host, placement, &by, &throw);
        }
    }

    fn throw(
        &mut self,
        physics: &mut Physics,
        host: &mut Host,
        placement: Placement,
        by: &Thrower,
        throw: &Throw,
    ) {
        let slower = (FASTEST_M_S / throw.speed_m_s().max(1e-9)).min(1.0);
        let (kind, collider) = match throw.throw {
            Thing::Ball => (BALL, ColliderBuilder::ball(BALL_M).restitution(0.5)),
            Thing::Crate => (CRATE, ColliderBuilder::cuboid(CRATE_M, CRATE_M, CRATE_M)),
        };
        if physics.is_busy() {
            host.send_message(by.guest, TOO_BUSY);
            return;
        }
        let places = 0..self.things.len();
        let own: Vec<_> = places.filter(|&at| self.things[at].by.account == by.account).collect();
        let recent = own.iter().filter(|&&at| self.things[at].age_s < 1.0);
        if recent.count() >= MAX_OF_ONE_A_SECOND {
            host.send_message(by.guest, TOO_MANY);
            return;
        }
        if own.len() >= MAX_OF_ONE {
            self.remove(physics, host, own[0]);
        } else if self.things.len() >= MAX_THINGS {
            self.remove(physics, host, self.oldest_of_most());
        }
        let body = RigidBodyBuilder::dynamic()
            .translation(throw.from_m.map(|v| v as f32).into())
            .linvel(throw.velocity_m_s.map(|v| (v * slower) as f32).into())
            .ccd_enabled(true);
        let (handle, _) = physics.world.insert(body, collider.density(DENSITY));
        let from = placement.voxel_from_world(throw.from_m);
        let pose = BodyPose { position_voxels: from, rotation: [0.0, 0.0, 0.0, 1.0] };
        let bytes = [].into();
        let number = host.add_body(SharedBody { kind: SharedBodyKind::Game(kind), pose, bytes });
        self.things.push_back(ThrownThing { handle, number, by: by.clone(), age_s: 0.0 });
    }

    /// The oldest thing of the account that has most.
    fn oldest_of_most(&self) -> usize {
        let of = |account: &str| self.things.iter().filter(|t| *t.by.account == *account).count();
        let counts = self.things.iter().map(|thing| of(&thing.by.account));
        counts.enumerate().max_by_key(|&(at, count)| (count, Reverse(at))).map_or(0, |most| most.0)
    }

    /// Makes sure that the ground that they may touch soon is held.
    pub fn hold_ground(&self, physics: &mut Physics, host: &mut Host, world: &mut HostWorld<'_>) {
        let voxels = |metres: f64| metres / world.placement.voxel_size_m;
        let reach = voxels(f64::from(2.0 * CRATE_M)).ceil() as i32 + 3;
        for thing in &self.things {
            let rigid = &physics.world.bodies[thing.handle];
            let (here, velocity) = (rigid.translation().to_array(), rigid.linvel().to_array());
            let mut near = Region::default();
            let fastest = velocity.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
            // A tenth of a second ahead, and no farther than two chunks.
            let ahead = 0.1_f32.min(64.0 * world.placement.voxel_size_m as f32 / fastest.max(1e-3));
            for seconds in [0.0, ahead] {
                let at = [0, 1, 2].map(|i| f64::from(here[i] + velocity[i] * seconds));
                let at = world.placement.voxel_from_world(at).map(|v| v.floor() as i32);
                near = near.union(Region::one(VoxelPos::from(at)));
            }
            let chunks = near.grow(reach).blocks::<5>();
            physics.hold_ground(host, world, thing.handle, Some(thing.by.guest), chunks);
        }
    }

    /// Sends where they are; those that are old, or below a height in voxels, vanish.
    pub fn follow(
        &mut self,
        physics: &mut Physics,
        host: &mut Host,
        placement: Placement,
        seconds: f32,
        lowest_voxel: f64,
    ) {
        for at in (0..self.things.len()).rev() {
            let thing = &mut self.things[at];
            thing.age_s += seconds;
            let rigid = &physics.world.bodies[thing.handle];
            let position = rigid.translation().to_array().map(f64::from);
            let position_voxels = placement.voxel_from_world(position);
            let pose =
                BodyPose { position_voxels, rotation: rigid.rotation().to_array().map(f64::from) };
            let is_gone = thing.age_s > LIFETIME_S || position_voxels[1] < lowest_voxel;
            if !host.move_body(thing.number, &pose) || is_gone {
                self.remove(physics, host, at);
            }
        }
    }

    fn remove(&mut self, physics: &mut Physics, host: &mut Host, at: usize) {
        if let Some(thing) = self.things.remove(at) {
            host.remove_body(thing.number);
            physics.world.remove_body(thing.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::replicate::HostOptions;

    #[test]
    fn throws_from_too_far_away_or_with_non_finite_numbers_are_refused() {
        let parse = |from: &str, velocity: &str| {
            let text = format!(
                r#"{{"throw":"ball","from_m":[0,{from},0],"velocity_m_s":[{velocity},0,0]}}"#
            );
            Throw::parse(text.as_bytes(), Placement::default()).is_some()
        };
        for from in ["0", "-99999.9", "100000"] {
            assert!(parse(from, "5"), "{from}");
        }
        for from in ["100001", "-1e6", "1e9", "1e300", "1e999", "NaN", "null"] {
            assert!(!parse(from, "5"), "{from}");
        }
        // The fastest are slowed down.
        assert!(parse("0", "900"));
        assert!(!parse("0", "1e200") && !parse("0", "1e999") && !parse("0", "-Infinity"));
    }

    #[test]
    fn throws_of_one_account_leave_those_of_others_room_to_wait() {
        let (mut host, mut thrown) = (Host::new(HostOptions::default()), ThrownThings::default());
        let throw = br#"{"throw":"ball","from_m":[0,9,0],"velocity_m_s":[1,0,0]}"#;
        for (account, times) in [("ada", 400), ("bob", 2)] {
            for guest in 0..times {
                let by = Thrower { guest, account: account.into() };
                thrown.take(&mut host, Placement::default(), &by, b"{}");
                thrown.take(&mut host, Placement::default(), &by, throw);
            }
        }
        let mut physics = Physics::new();
        thrown.throw_all(&mut physics, &mut host, Placement::default());
        assert_eq!((host.bodies().count(), physics.world.bodies.len()), (5 + 2, 5 + 2));
        thrown.throw_all(&mut physics, &mut host, Placement::default());
        assert_eq!(host.bodies().count(), 7, "each is thrown once");
    }
}
