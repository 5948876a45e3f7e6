//! Bodies over ground that is not there: they stay where they are until it is.
//!
//! All axes of such a body are locked and its velocities are taken from it, so that it is
//! still dynamic, has no velocity, and nothing can give it one: what hits it is turned back,
//! what hangs on it hangs still, and after a while it sleeps. Other ways cost more: a disabled
//! body is passed through and drops its contacts, one that is made fixed can no longer be told
//! from one that the game made fixed. A bit that no axis uses marks our lock, so that a lock by
//! the game in the meantime is noticed and kept.

use std::collections::BTreeMap;

use rapier3d::prelude::{LockedAxes, Pose, RigidBody, RigidBodyHandle, RigidBodySet, Vector};

/// All axes, and a bit that says who locked them.
const LOCKED: LockedAxes = LockedAxes::from_bits_retain(0b0111_1111);

/// What a waiting body goes on with.
#[derive(Clone, Debug)]
struct Held {
    linvel: Vector,
    angvel: Vector,
    axes: LockedAxes,
    /// Where it was when last looked at.
    pose: Pose,
}

/// The bodies that wait, in the order of their handles.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    held: BTreeMap<(u32, u32), Held>,
    /// Those that the game moved, or gave a velocity, since the last sync.
    pub changed: Vec<RigidBodyHandle>,
}

impl Waiting {
    /// Whether a body waits.
    pub fn contains(&self, handle: RigidBodyHandle) -> bool {
        !self.held.is_empty() && self.held.contains_key(&handle.into_raw_parts())
    }

    /// Handles of all, sorted.
    pub fn handles(&self) -> impl Iterator<Item = RigidBodyHandle> {
        self.held
            .keys()
            .map(|&(index, generation)| RigidBodyHandle::from_raw_parts(index, generation))
    }

    /// Velocities, linear and angular, with which a body goes on or would.
    pub fn velocities(&self, handle: RigidBodyHandle, body: &RigidBody) -> [Vector; 2] {
        match self.held.get(&handle.into_raw_parts()) {
            Some(held) => [held.linvel, held.angvel],
            None => [body.linvel(), body.angvel()],
        }
    }

    /// Follows what the game did with waiting bodies: those that are gone, disabled or no
    /// longer dynamic wait no more; new velocities and locked axes are theirs to go on with.
    /// One that was put elsewhere goes on with what velocity it was given, if any, unless all
    /// of the world was moved (`origin_moved`).
    pub fn follow(&mut self, bodies: &mut RigidBodySet, origin_moved: bool) {
        let changed = &mut self.changed;
        changed.clear();
        self.held.retain(|&(index, generation), held| {
            let handle = RigidBodyHandle::from_raw_parts(index, generation);
            let Some(body) = bodies.get(handle) else { return false };
            let moved = is_elsewhere(body.position(), &held.pose);
            let same = body.locked_axes() == LOCKED
                && body.linvel() == Vector::ZERO
                && body.angvel() == Vector::ZERO;
            let waits = body.is_dynamic() && body.is_enabled();
            if moved {
                held.pose = *body.position();
                if !origin_moved {
                    (held.linvel, held.angvel) = (Vector::ZERO, Vector::ZERO);
                }
            }
            if moved || !same {
                changed.push(handle);
            }
            if waits && same {
                return true;
            }
            let Some(body) = bodies.get_mut(handle) else { return false };
            held.adopt(body);
            if waits {
                lock(body);
            } else if body.is_dynamic() {
                held.release(body, false);
            } else {
                // Its velocities are what the game makes them.
                body.set_locked_axes(held.axes, false);
            }
            waits
        });
    }

    /// Makes a body wait, if it does not.
    pub fn hold(&mut self, handle: RigidBodyHandle, bodies: &mut RigidBodySet) {
        if self.contains(handle) {
            return;
        }
        let Some(body) = bodies.get_mut(handle) else { return };
        let held = Held {
            linvel: body.linvel(),
            angvel: body.angvel(),
            axes: body.locked_axes(),
            pose: *body.position(),
        };
        self.held.insert(handle.into_raw_parts(), held);
        lock(body);
    }

    /// Lets a body go on, if it waits.
    pub fn release(&mut self, handle: RigidBodyHandle, bodies: &mut RigidBodySet) {
        if self.held.is_empty() {
            return;
        }
        let held = self.held.remove(&handle.into_raw_parts());
        if let (Some(held), Some(body)) = (held, bodies.get_mut(handle)) {
            held.release(body, true);
        }
    }

    /// Lets all go on.
    pub fn release_all(&mut self, bodies: &mut RigidBodySet) {
        for handle in self.handles().collect::<Vec<_>>() {
            self.release(handle, bodies);
        }
    }
}

impl Held {
    /// Takes over what the game gave a body since it was locked.
    fn adopt(&mut self, body: &RigidBody) {
        let [linvel, angvel] = [body.linvel(), body.angvel()];
        if linvel != Vector::ZERO {
            self.linvel = linvel;
        }
        if angvel != Vector::ZERO {
            self.angvel = angvel;
        }
        let axes = body.locked_axes();
        if axes.bits() & !LockedAxes::all().bits() == 0 {
            // Set whole.
            self.axes = axes;
        } else {
            // Some were freed.
            self.axes &= axes;
        }
    }

    fn release(&self, body: &mut RigidBody, wake: bool) {
        body.set_locked_axes(self.axes, false);
        body.set_linvel(self.linvel, false);
        body.set_angvel(self.angvel, false);
        if wake {
            body.wake_up(true);
        }
    }
}

/// Whether two poses differ by more than steps at no velocity round.
fn is_elsewhere(a: &Pose, b: &Pose) -> bool {
    let rounding = 1e-4 + 1e-6 * b.translation.length();
    a.translation.distance(b.translation) > rounding || a.rotation.dot(b.rotation).abs() < 0.99999
}

fn lock(body: &mut RigidBody) {
    body.set_linvel(Vector::ZERO, false);
    body.set_angvel(Vector::ZERO, false);
    body.set_locked_axes(LOCKED, false);
}
