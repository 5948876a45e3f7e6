//! Rays in world metres.

use super::{Placement, Terrain};
use crate::collide::{Filter, Hit, MissingData, QueryOutcome, Ray};
use crate::lod::ShownSurfaces;
use crate::voxel::VoxelPos;

/// Where a ray in world metres hits a surface. Hits of the collider itself, in voxels, are
/// [`collide::Hit`](crate::collide::Hit).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RayHit {
    /// Metres from the ray's origin.
    pub distance_m: f64,
    /// Position, world metres.
    pub point_m: [f64; 3],
    /// Unit normal, out of the ground or water.
    pub normal: [f32; 3],
    /// Whether it is the surface of water or another liquid.
    pub is_liquid: bool,
    /// Id of the material.
    pub material: u8,
    /// The voxel that was hit; at a coarser mip, that of the cell's min corner.
    pub voxel: VoxelPos,
    /// The mip of the surface: 0 but for hits of [`Terrain::ray_shown`].
    pub mip: u8,
}

/// The result of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
pub enum RayOutcome {
    /// The first surface within reach.
    Hit(RayHit),
    /// All ground within reach is known, and nothing is hit.
    Miss,
    /// The ray reaches ground that is not held at mip 0 before it hits anything. Load it by
    /// [`Terrain::update`] with a viewer nearby or by [`Terrain::hold`], or use
    /// [`Terrain::ray_shown`] meanwhile.
    Unknown(MissingData),
}

impl RayOutcome {
    /// Returns the hit, if there is one: `None` also where the ray meets ground that is not there yet,
    /// [`RayOutcome::Unknown`].
    pub fn hit(self) -> Option<RayHit> {
        match self {
            RayOutcome::Hit(hit) => Some(hit),
            _ => None,
        }
    }

    /// Returns whether ground that is not held decides what the ray hits.
    pub fn is_unknown(&self) -> bool {
        matches!(self, RayOutcome::Unknown(_))
    }
}

impl RayHit {
    fn new(hit: &Hit, placement: Placement) -> RayHit {
        RayHit {
            distance_m: hit.distance * placement.voxel_size_m,
            point_m: placement.world_from_voxel(hit.point),
            normal: hit.normal,
            is_liquid: hit.is_liquid,
            material: hit.material,
            voxel: hit.voxel,
            mip: 0,
        }
    }
}

impl Terrain {
    /// Returns the first ground that a ray hits within `max_distance_m`: from `origin_m` in
    /// world metres along `direction` (f32, of any length). Sees every edit made so far. Invalid
    /// rays (NaN, infinite, zero direction, an origin more than 2⁴⁰ voxels away) never hit.
    ///
    /// ```
    /// use terravox::terrain::{RayOutcome, Terrain};
    ///
    /// let mut terrain = Terrain::default();
    /// let down = |terrain: &Terrain| terrain.ray([3.0, 20.0, 4.0], [0.0, -1.0, 0.0], 100.0);
    /// assert!(down(&terrain).is_unknown(), "nothing is held yet");
    /// terrain.hold([-32.0; 3], [32.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let RayOutcome::Hit(hit) = down(&terrain) else { panic!("there is ground") };
    /// assert!((hit.distance_m - 20.0).abs() < 1e-3 && hit.material == 8);
    /// # Ok::<(), terravox::terrain::TerrainError>(())
    /// ```
    pub fn ray(
        &self,
        origin_m: impl Into<[f64; 3]>,
        direction: impl Into<[f32; 3]>,
        max_distance_m: f64,
    ) -> RayOutcome {
        self.ray_filtered(origin_m, direction, max_distance_m, &Filter::SOLID)
    }

    /// As [`Terrain::ray`], for the surfaces and materials that `filter` selects.
    ///
    /// ```
    /// use terravox::{Terrain, collide::Filter, voxel::WATER};
    ///
    /// let mut terrain = Terrain::default();
    /// terrain.hold([-16.0; 3], [16.0; 3], |request| {
    ///     request.fill_height(8, -8.0..=-8.0, |_, _| -8.0);
    ///     request.fill_air_below(WATER, -2.0);
    /// })?;
    /// let (eye, down) = ([0.5, 9.0, 0.5], [0.0, -1.0, 0.0]);
    /// let hit = terrain.ray_filtered(eye, down, 20.0, &Filter::BOTH).hit().expect("water");
    /// assert!(hit.is_liquid && hit.material == WATER);
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    pub fn ray_filtered(
        &self,
        origin_m: impl Into<[f64; 3]>,
        direction: impl Into<[f32; 3]>,
        max_distance_m: f64,
        filter: &Filter,
    ) -> RayOutcome {
        let ray = self.voxel_ray(origin_m.into(), direction.into(), max_distance_m);
        let QueryOutcome { found, missing } = self.collider.ray(&ray, filter);
        match (found, missing) {
            // Missing ground is nearer than the hit.
            (_, Some(missing)) => RayOutcome::Unknown(missing),
            (Some(hit), None) => RayOutcome::Hit(RayHit::new(&hit, self.placement)),
            (None, None) => RayOutcome::Miss,
        }
    }

    /// As [`Terrain::ray_filtered`], but where ground is not held at mip 0 the meshes that are
    /// shown are hit instead; [`RayHit::mip`] says how coarse. `None` means that nothing that is
    /// shown was hit. Meshes coarser than mip 0 are hit whatever materials `filter` selects. There
    /// every triangle of the blocks that the ray crosses is tested.
    ///
    /// ```
    /// use terravox::{Budget, Terrain, Viewer, collide::Filter};
    ///
    /// let mut terrain = Terrain::default();
    /// let (eye, direction) = ([0.5, 45.0, 0.5], [1.0, -0.1, 0.0]);
    /// let viewer = Viewer { position_m: eye, distance_m: 600.0 };
    /// terrain.update(&[viewer], Budget::Unlimited, |request| {
    ///     request.fill_height(8, 5.0..=5.0, |_, _| 5.0);
    /// });
    /// assert!(terrain.ray(eye, direction, 500.0).is_unknown()); // not held at mip 0 there
    /// let hit = terrain.ray_shown(eye, direction, 500.0, &Filter::SOLID);
    /// assert!(hit.is_some_and(|hit| hit.mip > 0));
    /// ```
    pub fn ray_shown(
        &self,
        origin_m: impl Into<[f64; 3]>,
        direction: impl Into<[f32; 3]>,
        max_distance_m: f64,
        filter: &Filter,
    ) -> Option<RayHit> {
        let (origin_m, direction) = (origin_m.into(), direction.into());
        match self.ray_filtered(origin_m, direction, max_distance_m, filter) {
            RayOutcome::Hit(hit) => Some(hit),
            RayOutcome::Miss => None,
            RayOutcome::Unknown(_) => {
                let ray = self.voxel_ray(origin_m, direction, max_distance_m);
                let surfaces = ShownSurfaces {
                    solid: filter.surfaces.solid(),
                    liquid: filter.surfaces.liquid(),
                };
                let Ray { origin, direction, max_distance } = ray;
                let hit = self.lod.ray(origin, direction, max_distance, surfaces)?;
                let placement = self.placement;
                Some(RayHit {
                    distance_m: hit.distance * placement.voxel_size_m,
                    point_m: placement.world_from_voxel(hit.point),
                    normal: hit.normal,
                    is_liquid: hit.is_liquid,
                    material: hit.material,
                    voxel: hit.voxel,
                    mip: hit.mip,
                })
            }
        }
    }

    fn voxel_ray(&self, origin_m: [f64; 3], direction: [f32; 3], max_distance_m: f64) -> Ray {
        let origin = self.placement.voxel_from_world(origin_m);
        let max_distance = max_distance_m / self.placement.voxel_size_m;
        Ray::new(origin, direction.map(f64::from), max_distance)
    }
}
