//! Rays in world metres.

use super::{Placement, Terrain};
use crate::collide::{Collider, Filter, Hit, Ray};
use crate::voxel::VoxelPos;

/// Where a ray in world metres meets a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// Metres from the ray's origin.
    pub distance_m: f32,
    /// Where, world metres.
    pub point: [f32; 3],
    /// Unit, out of the ground or water.
    pub normal: [f32; 3],
    /// Whether it is water or another liquid.
    pub liquid: bool,
    /// Id of the material.
    pub material: u8,
    /// The voxel that was hit.
    pub voxel: VoxelPos,
}

impl RayHit {
    fn new(hit: &Hit, placement: Placement) -> RayHit {
        RayHit {
            distance_m: (hit.distance * f64::from(placement.voxel_size_m)) as f32,
            point: placement.world_from_voxel_f64(hit.point),
            normal: hit.normal,
            liquid: hit.liquid,
            material: hit.material,
            voxel: hit.voxel,
        }
    }
}

impl Terrain {
    /// The first ground that a ray meets within `max_distance_m`: from `origin_m` in world
    /// metres along `direction`, of any length. Sees every edit made so far. A ray that is
    /// none (not a number, infinite, without direction) meets nothing.
    pub fn ray(
        &mut self,
        origin_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        max_distance_m: f32,
    ) -> Option<RayHit> {
        self.ray_filtered(origin_m, direction, max_distance_m, &Filter::SOLID)
    }

    /// As [`Terrain::ray`], seeing what `filter` says: ground, liquids, some materials.
    pub fn ray_filtered(
        &mut self,
        origin_m: impl Into<[f32; 3]>,
        direction: impl Into<[f32; 3]>,
        max_distance_m: f32,
        filter: &Filter,
    ) -> Option<RayHit> {
        let placement = self.placement;
        let origin = placement.voxel_from_world_f64(origin_m);
        let max_distance = f64::from(max_distance_m) / f64::from(placement.voxel_size_m);
        let ray = Ray::new(origin, direction.into().map(f64::from), max_distance);
        let hit = self.collider().ray(&ray, filter).found?;
        Some(RayHit::new(&hit, placement))
    }

    /// The collider, brought up to date: for queries in voxels, from any number of threads.
    pub fn collider(&mut self) -> &Collider {
        self.collider.update(&self.grid);
        &self.collider
    }
}
