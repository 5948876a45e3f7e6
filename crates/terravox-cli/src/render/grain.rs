//! Fine and coarse variation of the ground's colour and of the water's ripples, so that
//! even surfaces do not look like plastic.
//!
//! Source: value noise on the integer lattice; the hash is that of Widynski's "Squares"
//! construction cut down to one round of multiply and xor-shift.

use super::scene::floor;
use glam::{DVec3, Vec3};

/// A number in -1..1 for a lattice point.
fn hash(x: i64, y: i64, z: i64) -> f32 {
    let mut h = (x as u64)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add((y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F))
        .wrapping_add((z as u64).wrapping_mul(0x1656_67B1_9E37_79F9));
    h = (h ^ (h >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h ^= h >> 32;
    (h & 0xFFFF) as f32 / 32_767.5 - 1.0
}

/// Smooth noise in -1..1 that varies over about one unit.
pub fn noise(point: DVec3) -> f32 {
    let cell = floor(point);
    let part = (point - cell.as_dvec3()).as_vec3();
    let s = part * part * (Vec3::splat(3.0) - 2.0 * part);
    let [x, y, z] = cell.to_array().map(i64::from);
    let edge = |dy: i64, dz: i64| {
        let a = hash(x, y + dy, z + dz);
        a + (hash(x + 1, y + dy, z + dz) - a) * s.x
    };
    let face = |dy: i64| {
        let a = edge(dy, 0);
        a + (edge(dy, 1) - a) * s.z
    };
    let low = face(0);
    low + (face(1) - low) * s.y
}

/// Waves of the ground's colour and form: cells across, brightness, warmth, slope.
const WAVES: [(f64, f32, f32, f32); 5] = [
    (67.0, 0.10, 0.10, 0.0),
    (17.0, 0.08, 0.07, 0.0),
    (4.7, 0.06, 0.04, 0.06),
    (1.1, 0.05, 0.03, 0.05),
    (0.33, 0.05, 0.0, 0.04),
];

/// What the ground's colour is multiplied with at a point in cells: about 1, here a
/// little brighter, there a little warmer. `footprint` is the width of a pixel there,
/// cells: what is finer than a pixel is left out.
pub fn tint(point: DVec3, footprint: f64) -> Vec3 {
    let (mut bright, mut warm) = (1.0, 0.0);
    for (i, &(cells, brightness, warmth, _)) in WAVES.iter().enumerate() {
        let fade = fade(cells, footprint);
        if fade > 0.0 {
            let value = fade * noise(point / cells + DVec3::splat(i as f64 * 17.3));
            bright += brightness * value;
            warm += warmth * value;
        }
    }
    bright * Vec3::new(1.0 + warm, 1.0 + 0.1 * warm, 1.0 - warm)
}

/// Normal of uneven ground at a point in cells whose smooth normal is `normal`.
pub fn rough(point: DVec3, normal: Vec3, footprint: f64) -> Vec3 {
    let mut slope = Vec3::ZERO;
    for &(cells, _, _, steepness) in &WAVES {
        let fade = fade(cells, 2.0 * footprint) * steepness;
        if fade > 0.0 {
            slope += fade * gradient(point / cells);
        }
    }
    let along = slope - normal * slope.dot(normal);
    (normal - along).normalize_or(normal)
}

/// How much of a wave shows in pixels of a width.
fn fade(cells: f64, footprint: f64) -> f32 {
    (1.0 - 1.5 * footprint / cells).clamp(0.0, 1.0) as f32
}

/// Change of the noise over a tenth of its unit along each axis, per unit.
fn gradient(point: DVec3) -> Vec3 {
    const STEP: f64 = 0.1;
    let here = noise(point);
    let along = |axis: DVec3| (noise(point + axis * STEP) - here) / STEP as f32;
    Vec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z))
}

/// Normal of rippled water at a point in cells whose smooth normal is `normal`.
pub fn ripples(point: DVec3, normal: Vec3, footprint: f64) -> Vec3 {
    let wave = |cells: f64, steepness: f32| {
        let fade = fade(cells, footprint) * steepness;
        if fade > 0.0 {
            fade * gradient(point / cells) * Vec3::new(1.0, 0.0, 1.0)
        } else {
            Vec3::ZERO
        }
    };
    (normal - wave(3.1, 0.011) - wave(1.2, 0.007)).normalize_or(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_bounded_continuous_and_not_constant() {
        let mut low = 1.0_f32;
        let mut high = -1.0_f32;
        for i in 0..500 {
            let p = DVec3::new(f64::from(i) * 0.37 - 90.0, 0.5, 7.1);
            let [a, b] = [noise(p), noise(p + DVec3::splat(1e-6))];
            assert!((a - b).abs() < 1e-4 && a.abs() <= 1.0);
            low = low.min(a);
            high = high.max(a);
        }
        assert!(high - low > 0.8);
    }

    #[test]
    fn what_a_pixel_cannot_show_is_left_out() {
        let p = DVec3::new(3.2, 1.1, 9.7);
        assert_eq!(tint(p, 100.0), Vec3::ONE);
        assert_eq!(rough(p, Vec3::Y, 100.0), Vec3::Y);
        assert!(rough(p, Vec3::Y, 0.0).is_normalized() && tint(p, 0.0) != Vec3::ONE);
        assert_eq!(ripples(p, Vec3::Y, 100.0), Vec3::Y);
        assert!(ripples(p, Vec3::Y, 0.0).is_normalized());
    }
}
