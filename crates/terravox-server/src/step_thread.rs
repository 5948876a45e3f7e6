//! Steps of bodies on a thread of their own: no tick waits for one.

use crate::physics::Physics;
use std::ops::{Deref, DerefMut};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use terravox::terrain::Placement;

const PANICKED: &str = "a step of the bodies panicked";
const AWAY: &str = "bodies are used only while no step runs";

/// Bodies that are stepped: here, or on the thread while it makes a step.
///
/// # Panics
/// When it is used as [`Physics`] during a step: see [`SteppedPhysics::is_here`].
pub(crate) struct SteppedPhysics {
    here: Option<Box<Physics>>,
    thread: Option<StepThread>,
}

struct StepThread {
    send: Sender<StepJob>,
    receive: Receiver<Box<Physics>>,
}

/// All steps of a tick.
struct StepJob {
    physics: Box<Physics>,
    placement: Placement,
    seconds: f32,
}

impl StepJob {
    fn run(mut self) -> Box<Physics> {
        self.physics.step(self.placement, self.seconds);
        self.physics
    }
}

impl StepThread {
    /// `None` if there is no thread to be had.
    fn start() -> Option<StepThread> {
        let (send, jobs) = channel::<StepJob>();
        let (done, receive) = channel();
        let work = move || {
            for job in jobs {
                if done.send(job.run()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("terravox-steps".into()).spawn(work).ok()?;
        Some(StepThread { send, receive })
    }
}

impl SteppedPhysics {
    pub fn new() -> SteppedPhysics {
        SteppedPhysics { here: Some(Box::new(Physics::new())), thread: None }
    }

    /// Whether no step runs now.
    pub fn is_here(&mut self) -> bool {
        if let (None, Some(thread)) = (&self.here, &self.thread) {
            match thread.receive.try_recv() {
                Ok(physics) => self.here = Some(physics),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => panic!("{PANICKED}"),
            }
        }
        self.here.is_some()
    }

    /// Begins to move all bodies by `seconds`, in steps.
    pub fn begin(&mut self, placement: Placement, seconds: f32) {
        self.thread = self.thread.take().or_else(StepThread::start);
        let Some(physics) = self.here.take() else { return };
        let job = StepJob { physics, placement, seconds };
        match &self.thread {
            Some(thread) => thread.send.send(job).expect(PANICKED),
            None => self.here = Some(job.run()),
        }
    }
}

impl Deref for SteppedPhysics {
    type Target = Physics;

    fn deref(&self) -> &Physics {
        self.here.as_ref().expect(AWAY)
    }
}

impl DerefMut for SteppedPhysics {
    fn deref_mut(&mut self) -> &mut Physics {
        self.here.as_mut().expect(AWAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rapier3d::prelude::{ColliderBuilder, RigidBodyBuilder, RigidBodyHandle, RigidBodySet};

    fn with_a_ball() -> (SteppedPhysics, RigidBodyHandle) {
        let mut physics = SteppedPhysics::new();
        let body = RigidBodyBuilder::dynamic().translation([0.0, 9.0, 0.0].into());
        let (handle, _) = physics.world.insert(body, ColliderBuilder::ball(0.5));
        (physics, handle)
    }

    fn step(physics: &mut SteppedPhysics) {
        physics.begin(Placement::default(), 0.05);
        while !physics.is_here() {
            thread::yield_now();
        }
    }

    #[test]
    fn bodies_fall_on_the_thread_and_are_here_after_the_step() {
        let (mut physics, handle) = with_a_ball();
        (0..20).for_each(|_| step(&mut physics));
        let height = physics.world.bodies[handle].translation().y;
        assert!(height < 8.5 && physics.stepped_s() > 0.0, "{height}");
    }

    #[test]
    #[should_panic(expected = "a step of the bodies panicked")]
    fn a_step_that_panics_ends_the_world() {
        let (mut physics, _) = with_a_ball();
        // The collider of the ball has no body any more, of which a step is sure.
        physics.world.bodies = RigidBodySet::new();
        step(&mut physics);
    }
}
