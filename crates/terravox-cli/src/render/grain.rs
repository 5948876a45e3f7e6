//! Fine and coarse variation of the ground's colour and of the water's ripples, so that
//! even surfaces do not look like plastic.
//!
//! Source: value noise on the integer lattice; the hash is that of Widynski's "Squares"
//! construction cut down to one round of multiply and xor-shift.

use super::walk::floor;
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

/// Brightness of the ground at a point in cells, about 1. `footprint` is the width of a
/// pixel there, cells: what is finer than a pixel is left out.
pub fn brightness(point: DVec3, footprint: f64) -> f32 {
    let wave = |cells: f64| {
        let fade = (1.0 - footprint / cells).clamp(0.0, 1.0) as f32;
        if fade > 0.0 { fade * noise(point / cells) } else { 0.0 }
    };
    1.0 + 0.07 * wave(19.0) + 0.055 * wave(4.3) + 0.05 * wave(0.9) + 0.04 * wave(0.31)
}

/// Normal of rippled water at a point in cells whose smooth normal is `normal`.
pub fn ripples(point: DVec3, normal: Vec3, footprint: f64) -> Vec3 {
    let slope = |cells: f64, strength: f32| {
        let fade = (1.0 - footprint / cells).clamp(0.0, 1.0) as f32;
        let p = point / cells;
        let value = |dx: f64, dz: f64| noise(p + DVec3::new(dx, 0.0, dz));
        let here = value(0.0, 0.0);
        let step = 0.1;
        strength * fade * Vec3::new(value(step, 0.0) - here, 0.0, value(0.0, step) - here)
    };
    (normal - slope(3.1, 0.11) - slope(1.2, 0.07)).normalize_or(normal)
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
        assert_eq!(brightness(p, 100.0), 1.0);
        assert_eq!(ripples(p, Vec3::Y, 100.0), Vec3::Y);
        assert!(ripples(p, Vec3::Y, 0.0).is_normalized());
    }
}
