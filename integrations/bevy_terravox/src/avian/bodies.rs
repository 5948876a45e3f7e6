//! Bodies as terrain sees them: their bounds in voxels.

use avian3d::prelude::*;
use bevy::math::{DQuat, DVec3};
use bevy::prelude::*;
use terravox::math::Aabb;
use terravox::terrain::Placement;

/// Most distance ahead of a body for which ground is kept ready, along each axis. A body that is
/// faster has left the world for good and must not cause all of it to be built.
const MAX_AHEAD_VOXELS: f32 = 256.0;

/// Where a terrain is: its space and its voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerrainSpace {
    pub translation: DVec3,
    pub rotation: DQuat,
    pub placement: Placement,
}

impl TerrainSpace {
    pub fn new(transform: &GlobalTransform, placement: Placement) -> TerrainSpace {
        let (_, rotation, translation) = transform.to_scale_rotation_translation();
        TerrainSpace {
            translation: translation.as_dvec3(),
            rotation: rotation.as_dquat().normalize(),
            placement,
        }
    }

    /// A point of world space in voxels.
    pub fn voxel_from_world(&self, point: Vec3) -> [f64; 3] {
        let point = self.rotation.inverse() * (point.as_dvec3() - self.translation);
        self.placement.voxel_from_world(point.to_array())
    }

    /// A point of terrain space, metres, in world space.
    pub fn world_from_terrain(&self, point: [f64; 3]) -> Vec3 {
        (self.translation + self.rotation * DVec3::from(point)).as_vec3()
    }

    /// A direction of terrain space in world space.
    pub fn world_direction(&self, direction: [f32; 3]) -> Vec3 {
        self.rotation.as_quat() * Vec3::from(direction)
    }

    /// The box in voxels around one in world space.
    pub fn voxel_bounds(&self, min: Vec3, max: Vec3) -> Aabb {
        let centre = self.voxel_from_world((min + max) / 2.0);
        let half = ((max - min) / 2.0).as_dvec3() / self.placement.voxel_size_m;
        let turn = bevy::math::DMat3::from_quat(self.rotation.inverse());
        let half =
            turn.x_axis.abs() * half.x + turn.y_axis.abs() * half.y + turn.z_axis.abs() * half.z;
        let half = half.to_array();
        let corner = |sign: f64| [0, 1, 2].map(|i| centre[i] + sign * half[i]);
        Aabb { min: corner(-1.0), max: corner(1.0) }
    }
}

/// What of a body matters to terrain.
#[derive(bevy::ecs::query::QueryData)]
pub struct BodyQuery {
    pub entity: Entity,
    pub body: &'static RigidBody,
    pub position: &'static Position,
    pub rotation: &'static Rotation,
    pub linear: &'static LinearVelocity,
    pub angular: &'static AngularVelocity,
    pub locked: Option<&'static LockedAxes>,
    pub colliders: Option<&'static RigidBodyColliders>,
    pub is_sleeping: Has<Sleeping>,
    pub is_disabled: Has<RigidBodyDisabled>,
    pub is_waiting: Has<super::WaitingForGround>,
}

/// The colliders of bodies.
pub type ColliderQuery<'w, 's> = Query<
    'w,
    's,
    (&'static Collider, Option<&'static ColliderTransform>),
    (Without<Sensor>, Without<ColliderDisabled>),
>;

impl BodyQueryItem<'_, '_> {
    /// Its colliders, with their transforms in the body.
    pub fn each_collider(
        &self,
        colliders: &ColliderQuery,
        mut visit: impl FnMut(&Collider, Vec3, Quat),
    ) {
        for entity in self.colliders.into_iter().flatten() {
            let Ok((collider, local)) = colliders.get(entity) else { continue };
            let local = local.copied().unwrap_or_default();
            let at = self.position.0 + self.rotation.0 * local.translation;
            visit(collider, at, self.rotation.0 * local.rotation.0);
        }
    }

    /// Its bounds in world space; `None` if it has no collider.
    pub fn bounds(&self, colliders: &ColliderQuery) -> Option<(Vec3, Vec3)> {
        let mut bounds: Option<(Vec3, Vec3)> = None;
        self.each_collider(colliders, |collider, at, rotation| {
            let aabb = collider.aabb(at, rotation);
            let (min, max) = bounds.unwrap_or((aabb.min, aabb.max));
            bounds = Some((min.min(aabb.min), max.max(aabb.max)));
        });
        bounds.filter(|(min, max)| min.is_finite() && max.is_finite())
    }

    /// Metres a second. Of a kinematic body that a game moves by its position, that of its last step,
    /// which began at `last`; a step of more than `max_step_m` is a jump and not motion.
    pub fn velocity(&self, last: Option<Vec3>, step_s: f32, max_step_m: f32) -> Vec3 {
        let is_placed = self.body.is_kinematic() && self.linear.0 == Vec3::ZERO;
        let Some(last) = last.filter(|_| is_placed && step_s > 0.0) else { return self.linear.0 };
        let moved = self.position.0 - last;
        if moved.length() <= max_step_m { moved / step_s } else { Vec3::ZERO }
    }

    /// The bounds that it may reach within `ahead_s` at this velocity, in voxels.
    pub fn reachable(
        &self,
        colliders: &ColliderQuery,
        space: &TerrainSpace,
        velocity: Vec3,
        ahead_s: f32,
    ) -> Option<Aabb> {
        let (min, max) = self.bounds(colliders)?;
        let most = MAX_AHEAD_VOXELS * space.placement.voxel_size_m as f32;
        let ahead = (velocity * ahead_s).clamp(Vec3::splat(-most), Vec3::splat(most));
        // While it rotates it stays within the bounding sphere of its box.
        let half = (max - min) / 2.0;
        let swept = (half.length() - half.min_element()).max(0.0);
        let swept = Vec3::splat(swept * (self.angular.0.length() * ahead_s).min(1.0));
        let (min, max) = (min + ahead.min(Vec3::ZERO) - swept, max + ahead.max(Vec3::ZERO) + swept);
        Some(space.voxel_bounds(min, max)).filter(|bounds| bounds.is_valid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_a_turned_and_moved_terrain_hold_what_they_should() {
        let turn = Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
        let at = GlobalTransform::from(Transform::from_xyz(10.0, 0.0, 0.0).with_rotation(turn));
        let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
        let space = TerrainSpace::new(&at, placement);
        // World +y is terrain +x.
        let voxel = space.voxel_from_world(Vec3::new(10.0, 4.0, 0.0));
        assert!((0..3).all(|i| (voxel[i] - [8.0, 0.0, 0.0][i]).abs() < 1e-5), "{voxel:?}");
        let bounds = space.voxel_bounds(Vec3::new(10.0, 3.0, -1.0), Vec3::new(11.0, 5.0, 1.0));
        for (corner, expected) in [(bounds.min, [6.0, -2.0, -2.0]), (bounds.max, [10.0, 0.0, 2.0])]
        {
            assert!((0..3).all(|i| (corner[i] - expected[i]).abs() < 1e-5), "{corner:?}");
        }
        let back = space.world_from_terrain([4.0, 0.0, 0.0]);
        assert!(back.distance(Vec3::new(10.0, 4.0, 0.0)) < 1e-5);
    }
}
