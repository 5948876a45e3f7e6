//! Liquid surfaces: a mirror at a flat angle, a tinted view of the bottom at a steep one.
//!
//! Source: Schlick, "An Inexpensive BRDF Model for Physically-based Rendering" (1994)
//! for the share that is mirrored; Beer's law for the tint of the depth.

use crate::camera::Ray;
use crate::grain;
use crate::shade::{FAR, Look, Met, Scratch, Spot};
use glam::Vec3;
use terravox::collide::Filter;

/// Light lost per cell of water, red first.
const ABSORPTION: Vec3 = Vec3::new(0.46, 0.21, 0.16);

/// Refractive index of air over that of water.
const AIR_BY_WATER: f32 = 0.75;

/// Share that water mirrors looking straight down.
const MIRROR: f32 = 0.02;

impl Look<'_> {
    /// Light from a liquid surface towards the viewer.
    pub fn water(&self, ray: &Ray, met: &Met, scratch: &mut Scratch) -> Vec3 {
        let spot = &met.spot;
        let direction = ray.direction.as_vec3();
        if spot.from_behind {
            let beyond = Ray { origin: ray.at(met.distance + 0.02), direction: ray.direction };
            let above = self.seen_in_water(&beyond, scratch);
            return self.through_water(above, spot, met.distance, 1.0);
        }
        let level = spot.normal.y > 0.7;
        let footprint = met.distance * self.pixel_edge / f64::from(-direction.y.min(-0.05));
        let normal = match level {
            true => grain::ripples(spot.point, spot.normal, footprint),
            false => spot.normal,
        };
        let facing = (-direction.dot(normal)).clamp(0.02, 1.0);
        let mirrored = MIRROR + (1.0 - MIRROR) * (1.0 - facing).powi(5);
        let below = self.below_water(direction, spot, normal, scratch);
        let above = self.mirrored(direction, spot, normal, scratch);
        below.lerp(above, mirrored)
    }

    /// What the surface mirrors.
    fn mirrored(&self, direction: Vec3, spot: &Spot, normal: Vec3, scratch: &mut Scratch) -> Vec3 {
        let mut away = direction.reflect(normal);
        if spot.face.y > 0.7 {
            // Ripples must not mirror what lies under the water.
            away.y = away.y.abs().max(0.01);
        }
        let ray = Ray { origin: spot.shadow_origin, direction: away.as_dvec3().normalize() };
        self.seen_in_water(&ray, scratch)
    }

    /// The bottom, or the colour of deep water, through the surface.
    fn below_water(
        &self,
        direction: Vec3,
        spot: &Spot,
        normal: Vec3,
        scratch: &mut Scratch,
    ) -> Vec3 {
        let bent = direction.refract(normal, AIR_BY_WATER);
        let down = bent.try_normalize().unwrap_or(direction);
        // From a little above, so that at the water's edge the ground is not started in.
        let origin = spot.point - (direction * 0.02).as_dvec3();
        let ray = Ray { origin, direction: down.as_dvec3().normalize() };
        let lit = if self.in_shadow(spot, scratch) { 0.25 } else { 1.0 };
        scratch.rays.water += 1;
        let Some(Met { distance, spot: bottom, .. }) = self.met(&ray, &Filter::SOLID, scratch)
        else {
            return self.through_water(Vec3::ZERO, spot, FAR, lit);
        };
        let depth = (spot.point.y - bottom.point.y).max(0.0);
        let light = self.ground(&bottom, distance, self.left_after(depth), scratch);
        self.through_water(light, spot, distance, lit)
    }

    /// `light` after `t` cells of water, with what the water itself scatters back.
    fn through_water(&self, light: Vec3, spot: &Spot, t: f64, lit: f32) -> Vec3 {
        let left = self.left_after(t);
        let day = self.sky.sunlight * (0.45 * self.sky.sun.y.max(0.0) * lit);
        let scattered = spot.colour * (day + self.sky.ambient(Vec3::Y, 0.8));
        light * left + scattered * (Vec3::ONE - left)
    }

    /// Share of light that `t` cells of water let through, by colour.
    fn left_after(&self, t: f64) -> Vec3 {
        let voxels = (t * f64::from(1_u32 << self.scene.mip())) as f32;
        let depth = ABSORPTION * voxels;
        Vec3::new((-depth.x).exp(), (-depth.y).exp(), (-depth.z).exp())
    }
}
