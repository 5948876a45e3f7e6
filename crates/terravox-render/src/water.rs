//! Optics of water: reflection, refraction, absorption.
//!
//! Source: Schlick, "An Inexpensive BRDF Model for Physically-based Rendering" (1994)
//! for the reflectance; Beer's law for the absorption.

use glam::Vec3;

/// Light absorbed per voxel of water, by channel.
const ABSORPTION: Vec3 = Vec3::new(0.46, 0.21, 0.16);

/// Refractive index of air over that of water.
const AIR_BY_WATER: f32 = 0.75;

/// Reflectance of water seen straight from above.
const NORMAL_REFLECTANCE: f32 = 0.02;

/// Returns the share of light that water reflects; `cosine` is that of the angle of incidence.
pub(crate) fn reflectance(cosine: f32) -> f32 {
    NORMAL_REFLECTANCE + (1.0 - NORMAL_REFLECTANCE) * (1.0 - cosine).powi(5)
}

/// Returns the direction below the surface; unchanged at total reflection.
pub(crate) fn refracted(direction: Vec3, normal: Vec3) -> Vec3 {
    direction.refract(normal, AIR_BY_WATER).try_normalize().unwrap_or(direction)
}

/// Returns the share of light, by channel, that `depth` voxels of water let through.
pub(crate) fn transmittance(depth: f64) -> Vec3 {
    let depth = ABSORPTION * depth as f32;
    Vec3::new((-depth.x).exp(), (-depth.y).exp(), (-depth.z).exp())
}
