//! Holds bodies in place while the ground near them is not held: all axes locked, no velocity.
//! Other bodies bounce off them, bodies on joints hang still, and after a while they sleep.

use avian3d::dynamics::solver::islands::WakeBody;
use avian3d::prelude::*;
use bevy::prelude::*;

use super::{TerrainColliderSettings, TerrainColliders, TerrainPhysicsStats};

/// On a dynamic body that waits until the ground near it is held; removed when it goes on. Has the
/// motion that it resumes.
#[derive(Component, Clone, Copy, Debug)]
pub struct WaitingForGround {
    /// The velocity that it resumes.
    pub linear: Vec3,
    /// The angular velocity that it resumes.
    pub angular: Vec3,
    /// The axes that were locked; `None` if it had no `LockedAxes`.
    axes: Option<LockedAxes>,
}

impl WaitingForGround {
    /// Takes over what the game set since the last step: the body resumes with it, and stays in place
    /// until then. Velocities are written only if they have to be: that wakes bodies.
    fn take_over(
        &mut self,
        linear: &mut Mut<LinearVelocity>,
        angular: &mut Mut<AngularVelocity>,
        axes: Option<&LockedAxes>,
    ) {
        if linear.0 != Vec3::ZERO {
            self.linear = std::mem::take(&mut linear.0);
        }
        if angular.0 != Vec3::ZERO {
            self.angular = std::mem::take(&mut angular.0);
        }
        if !is_locked(axes) {
            self.axes = axes.copied();
        }
    }
}

/// Whether axes are locked as this module locks them.
fn is_locked(axes: Option<&LockedAxes>) -> bool {
    axes.is_some_and(|axes| axes.to_bits() == LockedAxes::ALL_LOCKED.to_bits())
}

/// A body, and its velocities and locks.
type Motion = (
    Entity,
    &'static RigidBody,
    &'static mut LinearVelocity,
    &'static mut AngularVelocity,
    Option<&'static LockedAxes>,
    Option<&'static mut WaitingForGround>,
);

/// Holds bodies whose ground is missing, releases those whose ground is there.
pub fn hold_or_release(
    terrains: Query<(&TerrainColliders, &TerrainColliderSettings)>,
    mut bodies: Query<Motion, (Without<RigidBodyDisabled>, Without<super::GroundCollider>)>,
    mut stats: ResMut<TerrainPhysicsStats>,
    mut commands: Commands,
) {
    for (entity, body, mut linear, mut angular, axes, waiting) in &mut bodies {
        if !body.is_dynamic() {
            continue;
        }
        let waits = terrains
            .iter()
            .any(|(ground, settings)| settings.wait_for_ground && ground.is_incomplete(entity));
        stats.waiting += usize::from(waits);
        match (waits, waiting) {
            (true, None) => {
                let held =
                    WaitingForGround { linear: linear.0, angular: angular.0, axes: axes.copied() };
                (linear.0, angular.0) = (Vec3::ZERO, Vec3::ZERO);
                commands.entity(entity).insert((held, LockedAxes::ALL_LOCKED));
            }
            (true, Some(mut held)) => {
                held.take_over(&mut linear, &mut angular, axes);
                if !is_locked(axes) {
                    commands.entity(entity).insert(LockedAxes::ALL_LOCKED);
                }
            }
            (false, Some(mut held)) => {
                held.take_over(&mut linear, &mut angular, axes);
                (linear.0, angular.0) = (held.linear, held.angular);
                let mut body = commands.entity(entity);
                body.remove::<WaitingForGround>();
                match held.axes {
                    Some(axes) => body.insert(axes),
                    None => body.remove::<LockedAxes>(),
                };
                commands.queue_silenced(WakeBody(entity));
            }
            (false, None) => {}
        }
    }
}
