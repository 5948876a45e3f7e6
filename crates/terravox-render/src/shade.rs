//! Computes the light that arrives along a ray: ground in sun, shadow and sky light, water, haze
//! and the sky itself.

use crate::grain;
use crate::ray::{RAY_REACH_CELLS, SceneRay};
use crate::scene::Scene;
use crate::sky::Sky;
use crate::stats::RayCounts;
use crate::surface::{SurfaceHit, SurfacePoint, SurfaceSampler, SurfaceScratch};
use crate::water;
use glam::{DVec3, Vec3};
use terravox::collide::Filter;

/// Surfaces whose normal rises above this are level: lakes and seas, not waterfalls.
const LEVEL_WATER_NORMAL_Y: f32 = 0.7;

/// Half the width of the sun, radians: a third more than the real one.
const SUN_RADIUS: f64 = 0.006;

/// A scene under a sky, with lamp and exposure.
pub(crate) struct Shader<'a> {
    pub scene: &'a Scene,
    pub sky: Sky,
    /// Edge of a pixel at a distance of one cell, cells.
    pub pixel_edge: f64,
    /// Brightness of a lamp at the camera; 0 for none.
    pub lamp: f32,
    /// Factor of all light before tone mapping.
    pub exposure: f32,
}

/// Scratch memory of one thread.
#[derive(Default)]
pub(crate) struct ShadeScratch {
    pub surface: SurfaceScratch,
    /// From the middle of the sun to the point of it that lights this sample.
    pub sun_shift: DVec3,
    /// Cached within a tile.
    pub last_sky: Option<SkySample>,
    /// Rays cast so far.
    pub rays: RayCounts,
    /// Records rays, if set.
    pub recorded: Option<RecordedRays>,
}

/// The rays of a picture.
#[derive(Clone, Debug, Default)]
pub struct RecordedRays {
    /// From the eye, for the closest ground or liquid.
    pub primary: Vec<SceneRay>,
    /// Towards the sun, for any ground.
    pub shadow: Vec<SceneRay>,
}

/// The sky visibility of a surface point.
pub(crate) struct SkySample {
    point: DVec3,
    normal: Vec3,
    visibility: f32,
}

impl Shader<'_> {
    pub fn sampler(&self) -> SurfaceSampler<'_> {
        SurfaceSampler { scene: self.scene, sun: self.sky.sun, pixel_edge: self.pixel_edge }
    }

    /// Returns the linear light that arrives along a ray from the camera.
    pub fn light_along(&self, ray: &SceneRay, scratch: &mut ShadeScratch) -> Vec3 {
        let direction = ray.direction.as_vec3();
        scratch.rays.primary += 1;
        if let Some(recorded) = &mut scratch.recorded {
            recorded.primary.push(*ray);
        }
        let Some(hit) = self.sampler().closest(ray, &Filter::BOTH, &mut scratch.surface) else {
            return self.sky.colour_with_sun(direction);
        };
        let colour = if hit.is_liquid {
            self.liquid_light(ray, &hit, scratch)
        } else {
            let lamp = self.lamp_light(&hit.surface, direction, hit.distance);
            self.ground_light(&hit.surface, hit.distance, Vec3::ONE, scratch) + lamp
        };
        self.sky.haze(colour, direction, hit.distance)
    }

    /// Returns the light of ground in sun and sky light; `transmittance` is that of water above
    /// it, `distance` that to the viewer, cells.
    fn ground_light(
        &self,
        surface: &SurfacePoint,
        distance: f64,
        transmittance: Vec3,
        scratch: &mut ShadeScratch,
    ) -> Vec3 {
        let footprint = distance * self.pixel_edge;
        let (normal, tint) = match surface.is_smooth {
            true => (surface.normal, Vec3::ONE),
            false => (
                grain::rough_normal(surface.point, surface.normal, footprint),
                grain::ground_tint(surface.point, footprint),
            ),
        };
        let sun = self.sunlight(surface, normal, scratch);
        let past_solids = self.scene.sky_past_solids(surface.point, surface.normal);
        let sky_visibility = self.sky_visibility(surface, distance, scratch) * past_solids;
        surface.colour * tint * transmittance * (sun + self.sky.ambient(normal, sky_visibility))
    }

    /// Returns the sky visibility of a surface point: interpolated from the corners where a
    /// pixel covers at most one cell; else shared by rays of a tile that hit the same spot in
    /// succession.
    fn sky_visibility(
        &self,
        surface: &SurfacePoint,
        distance: f64,
        scratch: &mut ShadeScratch,
    ) -> f32 {
        let &SurfacePoint { point, normal, .. } = surface;
        if let Some(visibility) = surface.sky_visibility {
            return visibility;
        }
        if let Some(last) = &scratch.last_sky
            && last.point.distance(point) < (2.0 * distance * self.pixel_edge).min(0.5)
            && last.normal.dot(normal) > 0.97
        {
            return last.visibility;
        }
        let visibility = self.scene.sky_visibility(point, normal, &mut scratch.surface.blocks);
        scratch.last_sky = Some(SkySample { point, normal, visibility });
        visibility
    }

    /// Returns the light of the sun on a surface point with the perturbed normal `normal`.
    fn sunlight(&self, surface: &SurfacePoint, normal: Vec3, scratch: &mut ShadeScratch) -> Vec3 {
        let smooth = surface.normal.dot(self.sky.sun);
        if smooth <= 0.0 || self.is_in_shadow(surface, scratch) {
            return Vec3::ZERO;
        }
        // Grain must not light surfaces that face away, nor end the light in a hard line.
        self.sky.sunlight * normal.dot(self.sky.sun).max(0.0).min(4.0 * smooth)
    }

    /// Returns whether ground or a solid hides the sun.
    pub fn is_in_shadow(&self, surface: &SurfacePoint, scratch: &mut ShadeScratch) -> bool {
        let direction = (self.sky.sun.as_dvec3() + scratch.sun_shift).normalize();
        let ray = SceneRay { origin: surface.shadow_origin, direction };
        scratch.rays.shadow += 1;
        if let Some(recorded) = &mut scratch.recorded {
            recorded.shadow.push(ray);
        }
        self.scene.is_blocked(&ray, RAY_REACH_CELLS)
    }

    /// Returns the shift to the point of the sun at a place of it, -1 to 1 across: samples of a pixel
    /// that see different points give shadows soft edges, wider behind what is farther away.
    pub fn sun_shift(&self, [across, along]: [f64; 2]) -> DVec3 {
        let sun = self.sky.sun.as_dvec3();
        let (right, up) = sun.any_orthonormal_pair();
        (right * across + up * along) * SUN_RADIUS
    }

    /// Returns the light of the lamp at the camera, `distance` cells away.
    fn lamp_light(&self, surface: &SurfacePoint, direction: Vec3, distance: f64) -> Vec3 {
        let facing = surface.normal.dot(-direction).max(0.0);
        let falloff = 1.0 + (distance as f32 / 14.0).powi(2);
        surface.colour * Vec3::new(1.0, 0.86, 0.66) * (self.lamp * facing / falloff)
    }

    /// Returns the light from a liquid surface towards the viewer.
    fn liquid_light(&self, ray: &SceneRay, hit: &SurfaceHit, scratch: &mut ShadeScratch) -> Vec3 {
        let surface = &hit.surface;
        let direction = ray.direction.as_vec3();
        if surface.is_back_face {
            let beyond = SceneRay { origin: ray.at(hit.distance + 0.02), direction: ray.direction };
            let above = self.secondary_light(&beyond, scratch);
            return self.through_water(above, surface, hit.distance, 1.0);
        }
        let footprint = hit.distance * self.pixel_edge / f64::from(-direction.y.min(-0.05));
        let normal = match surface.normal.y > LEVEL_WATER_NORMAL_Y {
            true => grain::ripple_normal(surface.point, surface.normal, footprint),
            false => surface.normal,
        };
        let cosine = (-direction.dot(normal)).clamp(0.02, 1.0);
        let below = self.refracted_light(direction, hit, normal, scratch);
        let above = self.reflected_light(direction, surface, normal, scratch);
        below.lerp(above, water::reflectance(cosine))
    }

    fn reflected_light(
        &self,
        direction: Vec3,
        surface: &SurfacePoint,
        normal: Vec3,
        scratch: &mut ShadeScratch,
    ) -> Vec3 {
        let mut away = direction.reflect(normal);
        if surface.face_normal.y > LEVEL_WATER_NORMAL_Y {
            // Ripples must not reflect the ground below the water.
            away.y = away.y.abs().max(0.01);
        }
        let direction = away.as_dvec3().normalize();
        self.secondary_light(&SceneRay { origin: surface.shadow_origin, direction }, scratch)
    }

    /// Returns the light of the bottom, or of deep water, through the surface that was hit.
    fn refracted_light(
        &self,
        direction: Vec3,
        hit: &SurfaceHit,
        normal: Vec3,
        scratch: &mut ShadeScratch,
    ) -> Vec3 {
        let surface = &hit.surface;
        let down = water::refracted(direction, normal);
        // From slightly above, so that at the water's edge the ray does not start in the ground.
        let origin = surface.point - (direction * 0.02).as_dvec3();
        let ray = SceneRay { origin, direction: down.as_dvec3().normalize() };
        let sun = if self.is_in_shadow(surface, scratch) { 0.25 } else { 1.0 };
        scratch.rays.water += 1;
        let below = self.sampler().closest(&ray, &Filter::SOLID, &mut scratch.surface);
        let Some(SurfaceHit { distance, surface: bottom, .. }) = below else {
            return self.through_water(Vec3::ZERO, surface, RAY_REACH_CELLS, sun);
        };
        let depth = (surface.point.y - bottom.point.y).max(0.0);
        let transmittance = water::transmittance(self.voxels(depth));
        let to_viewer = hit.distance + distance;
        let light = self.ground_light(&bottom, to_viewer, transmittance, scratch);
        self.through_water(light, surface, distance, sun)
    }

    /// Returns `light` behind `distance` cells of water, with the light that the water scatters;
    /// `sun` is the share of sunlight on the surface.
    fn through_water(&self, light: Vec3, surface: &SurfacePoint, distance: f64, sun: f32) -> Vec3 {
        let left = water::transmittance(self.voxels(distance));
        let day = self.sky.sunlight * (0.45 * self.sky.sun.y.max(0.0) * sun);
        let scattered = surface.colour * (day + self.sky.ambient(Vec3::Y, 0.8));
        light * left + scattered * (Vec3::ONE - left)
    }

    /// Returns the light along a ray that water reflects or lets through, without shadows and
    /// water.
    fn secondary_light(&self, ray: &SceneRay, scratch: &mut ShadeScratch) -> Vec3 {
        let direction = ray.direction.as_vec3();
        scratch.rays.water += 1;
        let hit = self.sampler().closest(ray, &Filter::SOLID, &mut scratch.surface);
        let Some(SurfaceHit { distance, surface, .. }) = hit else {
            return self.sky.colour_with_sun(direction);
        };
        let facing = surface.normal.dot(self.sky.sun).max(0.0);
        let light = self.sky.sunlight * facing + self.sky.ambient(surface.normal, 0.8);
        self.sky.haze(surface.colour * light, direction, distance)
    }

    /// Converts cells of the scene to voxels.
    fn voxels(&self, cells: f64) -> f64 {
        cells * f64::from(1_u32 << self.scene.mip())
    }
}
