//! The sky, the sun and the haze between.

use glam::{DVec3, Vec3};

/// Light of the sky and the sun, linear, before exposure.
#[derive(Clone, Copy, Debug)]
pub struct Sky {
    /// Towards the sun, unit length.
    pub sun: Vec3,
    /// Light of the sun on a surface that faces it.
    pub sunlight: Vec3,
    /// Distance at which haze has taken two thirds of the light, cells.
    pub haze_distance: f64,
}

/// Straight up.
const ZENITH: Vec3 = Vec3::new(0.13, 0.33, 0.80);
/// Just above the horizon.
const HORIZON: Vec3 = Vec3::new(0.62, 0.78, 0.95);
/// What is below the horizon where no ground is.
const BELOW: Vec3 = Vec3::new(0.40, 0.57, 0.82);
/// Light that the ground throws back up.
const GROUND: Vec3 = Vec3::new(0.21, 0.18, 0.15);

impl Sky {
    /// A clear day with the sun in direction `sun`.
    pub fn new(sun: DVec3, haze_distance: f64) -> Sky {
        let sun = sun.as_vec3().normalize_or(Vec3::Y);
        // Low sun is warmer and weaker: it shines through more air.
        let height = sun.y.clamp(0.0, 1.0);
        let air = Vec3::new(0.06, 0.13, 0.26) / (height + 0.15);
        let sunlight = 2.9 * Vec3::new((-air.x).exp(), (-air.y).exp(), (-air.z).exp());
        Sky { sun, sunlight, haze_distance }
    }

    /// The sky in a direction (unit length), without the sun's disc.
    pub fn colour(&self, direction: Vec3) -> Vec3 {
        let up = direction.y;
        let above = HORIZON.lerp(ZENITH, 1.0 - (-3.2 * up.max(0.0)).exp());
        let base = above.lerp(BELOW, smooth(0.0, -0.35, up));
        let near_sun = direction.dot(self.sun).max(0.0);
        let glow = 0.10 * near_sun.powi(6) + 0.22 * near_sun.powi(48);
        base + self.sunlight * glow * smooth(-0.3, 0.1, up)
    }

    /// The sky as an eye sees it, with the sun in it.
    pub fn seen(&self, direction: Vec3) -> Vec3 {
        let disc = smooth(0.99985, 0.99995, direction.dot(self.sun));
        self.colour(direction) + self.sunlight * (disc * 12.0)
    }

    /// Light from all around on a surface with normal `normal`, of which the share
    /// `open` sees the sky.
    pub fn ambient(&self, normal: Vec3, open: f32) -> Vec3 {
        let up = 0.5 + 0.5 * normal.y;
        let dome = HORIZON.lerp(ZENITH, 0.45) * 0.88;
        let free = (GROUND * 0.9).lerp(dome, up);
        // Closed places still get what bounces off the walls.
        GROUND * 0.3 + free * open
    }

    /// `colour` after `t` cells of air, looking along `direction`.
    pub fn haze(&self, colour: Vec3, direction: Vec3, t: f64) -> Vec3 {
        let depth = (t / self.haze_distance) as f32;
        let share = 1.0 - (-depth * depth).exp();
        let flat = Vec3::new(direction.x, direction.y.max(0.02), direction.z).normalize();
        colour.lerp(self.colour(flat), share * 0.85)
    }
}

/// 0 at `from`, 1 at `to`, smooth between; `from` may be the larger.
pub fn smooth(from: f32, to: f32, at: f32) -> f32 {
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
        assert!(sky.seen(sky.sun).length() > 5.0 * sky.seen(Vec3::Y).length());
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
