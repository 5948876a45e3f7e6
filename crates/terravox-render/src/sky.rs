//! Light of the sky and the sun, and haze.

use glam::{DVec3, Vec3};

/// Light of the sky and the sun, linear, before exposure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sky {
    /// Towards the sun, unit length.
    pub sun: Vec3,
    /// Light of the sun on a surface square to it.
    pub sunlight: Vec3,
    /// Distance at which about half of the colour is that of the haze, cells.
    pub haze_distance: f64,
}

/// Sky straight up.
const ZENITH: Vec3 = Vec3::new(0.13, 0.33, 0.80);
/// Sky just above the horizon.
const HORIZON: Vec3 = Vec3::new(0.62, 0.78, 0.95);
/// Below the horizon, where there is no ground.
const BELOW_HORIZON: Vec3 = Vec3::new(0.40, 0.57, 0.82);
/// Light that the ground reflects upwards.
const GROUND_BOUNCE: Vec3 = Vec3::new(0.21, 0.18, 0.15);

impl Sky {
    /// Returns the sky of a clear day with the sun in direction `sun`.
    pub fn new(sun: DVec3, haze_distance: f64) -> Sky {
        let sun = sun.as_vec3().normalize_or(Vec3::Y);
        // A low sun is warmer and weaker: its light crosses more air.
        let height = sun.y.clamp(0.0, 1.0);
        let air = Vec3::new(0.06, 0.13, 0.26) / (height + 0.15);
        let sunlight = 2.9 * Vec3::new((-air.x).exp(), (-air.y).exp(), (-air.z).exp());
        Sky { sun, sunlight, haze_distance }
    }

    /// Returns the sky in a direction (unit length), without the sun's disc.
    pub fn colour(&self, direction: Vec3) -> Vec3 {
        let up = direction.y;
        let above = HORIZON.lerp(ZENITH, 1.0 - (-3.2 * up.max(0.0)).exp());
        let base = above.lerp(BELOW_HORIZON, smoothstep(0.0, -0.35, up));
        let near_sun = direction.dot(self.sun).max(0.0);
        let glow = 0.10 * near_sun.powi(6) + 0.22 * near_sun.powi(48);
        base + self.sunlight * glow * smoothstep(-0.3, 0.1, up)
    }

    /// Returns the sky in a direction (unit length), with the sun's disc.
    pub fn colour_with_sun(&self, direction: Vec3) -> Vec3 {
        let disc = smoothstep(0.99985, 0.99995, direction.dot(self.sun));
        self.colour(direction) + self.sunlight * (disc * 12.0)
    }

    /// Returns the ambient light on a surface with normal `normal` that sees the share
    /// `sky_visibility` of the sky.
    pub fn ambient(&self, normal: Vec3, sky_visibility: f32) -> Vec3 {
        let up = 0.5 + 0.5 * normal.y;
        let dome = HORIZON.lerp(ZENITH, 0.45) * 0.88;
        let dome_and_bounce = (GROUND_BOUNCE * 0.9).lerp(dome, up);
        // Enclosed places still receive light reflected by the walls.
        GROUND_BOUNCE * 0.3 + dome_and_bounce * sky_visibility
    }

    /// Returns `colour` behind `distance` cells of air, looking along `direction`.
    pub fn haze(&self, colour: Vec3, direction: Vec3, distance: f64) -> Vec3 {
        let depth = (distance / self.haze_distance) as f32;
        let share = 1.0 - (-depth * depth).exp();
        let flat = Vec3::new(direction.x, direction.y.max(0.02), direction.z).normalize();
        colour.lerp(self.colour(flat), share * 0.85)
    }
}

/// Returns 0 at `from`, 1 at `to`, smooth between; `from` may exceed `to`.
fn smoothstep(from: f32, to: f32, at: f32) -> f32 {
    let x = ((at - from) / (to - from)).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sky_is_bluer_above_and_brighter_by_the_sun() {
        let sky = Sky::new(DVec3::new(0.0, 1.0, 1.0), 100.0);
        let [up, flat] = [Vec3::Y, Vec3::NEG_Z].map(|d| sky.colour(d));
        assert!(up.z - up.x > flat.z - flat.x);
        assert!(
            sky.colour_with_sun(sky.sun).length() > 5.0 * sky.colour_with_sun(Vec3::Y).length()
        );
    }

    #[test]
    fn haze_grows_with_distance() {
        let sky = Sky::new(DVec3::Y, 50.0);
        let shade = |t| sky.haze(Vec3::ZERO, Vec3::X, t).length();
        assert_eq!(shade(0.0), 0.0);
        assert!(shade(20.0) < shade(60.0));
        assert!(shade(1e9) < sky.colour(Vec3::X).length());
    }

    #[test]
    fn a_low_sun_is_warm() {
        let ratio = |y| {
            let light = Sky::new(DVec3::new(1.0, y, 0.0), 1.0).sunlight;
            light.z / light.x
        };
        assert!(ratio(0.1) < ratio(2.0));
    }
}
