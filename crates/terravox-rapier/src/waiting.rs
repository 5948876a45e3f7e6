//! Holds bodies in place while the ground near them is not held.
//!
//! All axes of such a body are locked and its velocities are zeroed, so that it stays dynamic but
//! cannot move: other bodies bounce off it, bodies on joints hang still, and after a while it
//! sleeps. The alternatives are worse: other bodies pass through a disabled body, which loses its
//! contacts, and a body that we make fixed cannot be distinguished from one that the game made
//! fixed. A bit that no axis uses marks our lock, so that a lock by the game in the meantime is
//! detected and kept.

use std::collections::BTreeMap;

use rapier3d::prelude::{
    LockedAxes, Pose, RigidBody, RigidBodyHandle, RigidBodySet, RigidBodyVelocity, Vector,
};

/// All axes, and a bit that marks the lock as ours.
const LOCKED_AXES: LockedAxes = LockedAxes::from_bits_retain(0b0111_1111);

/// The motion that a waiting body resumes.
#[derive(Clone, Debug)]
struct LockedMotion {
    velocity: RigidBodyVelocity<f32>,
    axes: LockedAxes,
    /// Pose at the last sync.
    pose: Pose,
}

/// The waiting bodies, in the order of their handles.
#[derive(Clone, Debug, Default)]
pub struct WaitingBodies {
    held: BTreeMap<(u32, u32), LockedMotion>,
    /// Bodies that the game moved, or whose velocity it set, since the last sync.
    pub changed: Vec<RigidBodyHandle>,
}

impl WaitingBodies {
    /// Whether a body waits.
    pub fn contains(&self, handle: RigidBodyHandle) -> bool {
        !self.held.is_empty() && self.held.contains_key(&handle.into_raw_parts())
    }

    /// Handles of all waiting bodies, sorted.
    pub fn handles(&self) -> impl Iterator<Item = RigidBodyHandle> {
        self.held
            .keys()
            .map(|&(index, generation)| RigidBodyHandle::from_raw_parts(index, generation))
    }

    /// The velocity of a body, or that which it resumes if it waits.
    pub fn velocity(&self, handle: RigidBodyHandle, body: &RigidBody) -> RigidBodyVelocity<f32> {
        self.held.get(&handle.into_raw_parts()).map_or(*body.vels(), |held| held.velocity)
    }

    /// Follows the game's changes to waiting bodies. Bodies that are removed, disabled or no longer
    /// dynamic stop waiting; new velocities and locked axes replace the saved ones. A body that the
    /// game moved loses its saved velocity, unless the whole world was moved (`origin_moved`).
    pub fn follow(&mut self, bodies: &mut RigidBodySet, origin_moved: bool) {
        let changed = &mut self.changed;
        changed.clear();
        self.held.retain(|&(index, generation), held| {
            let handle = RigidBodyHandle::from_raw_parts(index, generation);
            let Some(body) = bodies.get(handle) else { return false };
            let moved = is_elsewhere(body.position(), &held.pose);
            let is_locked =
                body.locked_axes() == LOCKED_AXES && *body.vels() == RigidBodyVelocity::zero();
            let waits = body.is_dynamic() && body.is_enabled();
            if moved {
                held.pose = *body.position();
                if !origin_moved {
                    held.velocity = RigidBodyVelocity::zero();
                }
            }
            if moved || !is_locked {
                changed.push(handle);
            }
            if waits && is_locked {
                return true;
            }
            let Some(body) = bodies.get_mut(handle) else { return false };
            held.adopt(body);
            if waits {
                lock(body);
            } else if body.is_dynamic() {
                held.resume(body);
            } else {
                // The game controls its velocities.
                body.set_locked_axes(held.axes, false);
            }
            waits
        });
    }

    /// Makes a body wait, if it does not yet.
    pub fn hold(&mut self, handle: RigidBodyHandle, bodies: &mut RigidBodySet) {
        if self.contains(handle) {
            return;
        }
        let Some(body) = bodies.get_mut(handle) else { return };
        let held = LockedMotion {
            velocity: *body.vels(),
            axes: body.locked_axes(),
            pose: *body.position(),
        };
        self.held.insert(handle.into_raw_parts(), held);
        lock(body);
    }

    /// Resumes a body, if it waits.
    pub fn release(&mut self, handle: RigidBodyHandle, bodies: &mut RigidBodySet) {
        if self.held.is_empty() {
            return;
        }
        let held = self.held.remove(&handle.into_raw_parts());
        if let (Some(held), Some(body)) = (held, bodies.get_mut(handle)) {
            held.resume(body);
            body.wake_up(true);
        }
    }

    /// Resumes all waiting bodies.
    pub fn release_all(&mut self, bodies: &mut RigidBodySet) {
        for handle in self.handles().collect::<Vec<_>>() {
            self.release(handle, bodies);
        }
    }
}

impl LockedMotion {
    /// Takes over velocities and locked axes that the game set since the body was locked.
    fn adopt(&mut self, body: &RigidBody) {
        let RigidBodyVelocity { linvel, angvel } = *body.vels();
        if linvel != Vector::ZERO {
            self.velocity.linvel = linvel;
        }
        if angvel != Vector::ZERO {
            self.velocity.angvel = angvel;
        }
        let axes = body.locked_axes();
        if axes.bits() & !LockedAxes::all().bits() == 0 {
            // The game replaced them all.
            self.axes = axes;
        } else {
            // The game freed some.
            self.axes &= axes;
        }
    }

    /// Gives a body its motion back, without waking it.
    fn resume(&self, body: &mut RigidBody) {
        body.set_locked_axes(self.axes, false);
        body.set_vels(self.velocity, false);
    }
}

/// Whether two poses differ by more than the rounding of steps at zero velocity.
fn is_elsewhere(a: &Pose, b: &Pose) -> bool {
    let rounding = 1e-4 + 1e-6 * b.translation.length();
    a.translation.distance(b.translation) > rounding || a.rotation.dot(b.rotation).abs() < 0.99999
}

fn lock(body: &mut RigidBody) {
    body.set_vels(RigidBodyVelocity::zero(), false);
    body.set_locked_axes(LOCKED_AXES, false);
}
