//! Rays and other queries in world space.

use bevy::ecs::system::SystemParam;
use bevy::math::DVec3;
use bevy::prelude::*;
use terravox::collide::Filter;
use terravox::math::Aabb;
use terravox::terrain::{RayHit, RayOutcome};

use crate::terrain::Terrain;

/// Queries over all terrains, in world space. Edits are seen from
/// [`TerravoxSystems::Edit`](crate::TerravoxSystems::Edit) of their frame on.
///
/// ```
/// use bevy::prelude::*;
/// use bevy_terravox::prelude::*;
///
/// fn print_ground(terrains: Terrains, player: Single<&GlobalTransform, With<TerrainViewer>>) {
///     let down = Ray3d::new(player.translation(), Dir3::NEG_Y);
///     if let Some(hit) = terrains.ray(down, 100.0) {
///         println!("{} m above material {}", hit.distance, hit.in_terrain.material);
///     }
/// }
/// # bevy::ecs::system::assert_is_system(print_ground);
/// ```
#[derive(SystemParam)]
pub struct Terrains<'w, 's> {
    terrains: Query<'w, 's, (Entity, &'static Terrain, &'static GlobalTransform)>,
}

/// Where a ray hit ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerrainHit {
    /// The terrain.
    pub terrain: Entity,
    /// Metres from the origin of the ray.
    pub distance: f32,
    /// Position, world space.
    pub point: Vec3,
    /// Unit normal out of the ground, world space.
    pub normal: Vec3,
    /// The same in terrain space, with material and voxel.
    pub in_terrain: RayHit,
}

impl Terrains<'_, '_> {
    /// Returns the first ground that a ray hits within `max_distance` metres. Ground that is not
    /// held at full detail is not hit: what is hit can be edited.
    pub fn ray(&self, ray: Ray3d, max_distance: f32) -> Option<TerrainHit> {
        self.ray_filtered(ray, max_distance, &Filter::SOLID)
    }

    /// As [`Terrains::ray`], for the surfaces and materials that `filter` selects:
    /// `Filter::BOTH` for ground and water.
    pub fn ray_filtered(
        &self,
        ray: Ray3d,
        max_distance: f32,
        filter: &Filter,
    ) -> Option<TerrainHit> {
        self.nearest(ray, |terrain, origin, direction| {
            match terrain.ray_filtered(origin, direction, max_distance.into(), filter) {
                RayOutcome::Hit(hit) => Some(hit),
                RayOutcome::Miss | RayOutcome::Unknown(_) => None,
            }
        })
    }

    /// As [`Terrains::ray`], but far away what is drawn is hit, however coarse
    /// ([`RayHit::mip`]).
    pub fn ray_shown(&self, ray: Ray3d, max_distance: f32) -> Option<TerrainHit> {
        self.nearest(ray, |terrain, origin, direction| {
            terrain.ray_shown(origin, direction, max_distance.into(), &Filter::SOLID)
        })
    }

    /// Whether the ground within `radius` metres of a point is held, in all terrains, and there is
    /// one: rays hit it, edits change it, bodies may stand on it.
    /// [`WaitForGround`](crate::WaitForGround) waits for that.
    pub fn is_ready(&self, point: Vec3, radius: f32) -> bool {
        // With no terrain at all there is nothing to stand on yet.
        !self.terrains.is_empty()
            && self.terrains.iter().all(|(_, terrain, at)| is_ready(terrain, at, point, radius))
    }

    /// A terrain with ground or water at a point, and the material there.
    pub fn material_at(&self, point: Vec3) -> Option<(Entity, u8)> {
        self.terrains.iter().find_map(|(entity, terrain, at)| {
            let point = in_terrain(at, point);
            let cell = terrain.grid().cell(terrain.placement().voxel_at(point)).ok()?;
            (!cell.is_air()).then_some((entity, cell.material))
        })
    }

    fn nearest(
        &self,
        ray: Ray3d,
        cast: impl Fn(&Terrain, [f64; 3], [f32; 3]) -> Option<RayHit>,
    ) -> Option<TerrainHit> {
        let hits = self.terrains.iter().filter_map(|(entity, terrain, at)| {
            let (_, rotation, _) = at.to_scale_rotation_translation();
            let direction = (rotation.inverse() * *ray.direction).to_array();
            let hit = cast(terrain, in_terrain(at, ray.origin), direction)?;
            let local = DVec3::from(hit.point_m);
            let point = at.affine().as_daffine3().transform_point3(local).as_vec3();
            let normal = rotation * Vec3::from(hit.normal);
            let distance = hit.distance_m as f32;
            Some(TerrainHit { terrain: entity, distance, point, normal, in_terrain: hit })
        });
        hits.min_by(|a, b| a.distance.total_cmp(&b.distance))
    }
}

/// A point of world space in metres of terrain space.
pub(crate) fn in_terrain(transform: &GlobalTransform, point: Vec3) -> [f64; 3] {
    transform.affine().as_daffine3().inverse().transform_point3(point.as_dvec3()).to_array()
}

/// Whether the ground around a point is held.
pub(crate) fn is_ready(terrain: &Terrain, at: &GlobalTransform, point: Vec3, radius: f32) -> bool {
    let (point, radius) = (in_terrain(at, point), f64::from(radius));
    let [min, max] =
        [-radius, radius].map(|by| terrain.placement().voxel_from_world(point.map(|v| v + by)));
    terrain.collider().unknown_in(&Aabb::new(min, max)).is_none()
}
