//! Procedural variation of the ground's colour and normals and of the water's ripples, so
//! that flat surfaces do not look like plastic.
//!
//! Source: value noise on the integer lattice; the hash is that of Widynski's "Squares"
//! construction cut down to one round of multiply and xor-shift.

use crate::lattice::cell_of;
use glam::{DVec3, Vec3};

/// Factors of the coordinates of a lattice point.
const LATTICE_PRIMES: [u64; 3] =
    [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9];

/// Returns a number in -1..1 for a lattice point, from its coordinates times
/// [`LATTICE_PRIMES`], summed.
fn hash(sum: u64) -> f32 {
    let mut h = (sum ^ (sum >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h ^= h >> 32;
    (h & 0xFFFF) as i32 as f32 * (1.0 / 32_767.5) - 1.0
}

/// Returns smooth noise in -1..1 that varies over about one unit.
fn noise(point: DVec3) -> f32 {
    noise_and_gradient(point).0
}

/// Returns the noise at a point and its gradient.
fn noise_and_gradient(point: DVec3) -> (f32, Vec3) {
    let cell = cell_of(point);
    let part = (point - cell.as_dvec3()).as_vec3();
    let s = part * part * (Vec3::splat(3.0) - 2.0 * part);
    let rise = 6.0 * part * (Vec3::ONE - part);
    let product = |axis: usize| (i64::from(cell[axis]) as u64).wrapping_mul(LATTICE_PRIMES[axis]);
    let low = product(0).wrapping_add(product(1)).wrapping_add(product(2));
    // Along x: the value, and its difference from end to end.
    let edge = |dy: u64, dz: u64| {
        let from = low.wrapping_add(dy * LATTICE_PRIMES[1]).wrapping_add(dz * LATTICE_PRIMES[2]);
        let (a, b) = (hash(from), hash(from.wrapping_add(LATTICE_PRIMES[0])));
        (a + (b - a) * s.x, b - a)
    };
    let mix = |a: f32, b: f32, by: f32| a + (b - a) * by;
    let ((v00, x00), (v01, x01)) = (edge(0, 0), edge(0, 1));
    let ((v10, x10), (v11, x11)) = (edge(1, 0), edge(1, 1));
    let (v0, v1) = (mix(v00, v01, s.z), mix(v10, v11, s.z));
    let slope = Vec3::new(
        mix(mix(x00, x01, s.z), mix(x10, x11, s.z), s.y),
        v1 - v0,
        mix(v01 - v00, v11 - v10, s.y),
    );
    (mix(v0, v1, s.y), slope * rise)
}

/// One octave of the ground's variation.
struct Octave {
    wavelength_cells: f64,
    brightness: f32,
    warmth: f32,
    steepness: f32,
}

const OCTAVES: [Octave; 5] = [
    Octave { wavelength_cells: 67.0, brightness: 0.10, warmth: 0.10, steepness: 0.0 },
    Octave { wavelength_cells: 17.0, brightness: 0.08, warmth: 0.07, steepness: 0.0 },
    Octave { wavelength_cells: 4.7, brightness: 0.06, warmth: 0.04, steepness: 0.06 },
    Octave { wavelength_cells: 1.1, brightness: 0.05, warmth: 0.03, steepness: 0.05 },
    Octave { wavelength_cells: 0.33, brightness: 0.05, warmth: 0.0, steepness: 0.04 },
];

/// Returns the factor of the ground's colour at a point in cells: about 1, varying in
/// brightness and warmth. `footprint` is the width of a pixel there, cells: octaves finer than
/// a pixel are left out.
pub(crate) fn ground_tint(point: DVec3, footprint: f64) -> Vec3 {
    let (mut bright, mut warm) = (1.0, 0.0);
    for (i, &Octave { wavelength_cells: cells, brightness, warmth, .. }) in
        OCTAVES.iter().enumerate()
    {
        let fade = octave_weight(cells, footprint);
        if fade > 0.0 {
            let value = fade * noise(point / cells + DVec3::splat(i as f64 * 17.3));
            bright += brightness * value;
            warm += warmth * value;
        }
    }
    bright * Vec3::new(1.0 + warm, 1.0 + 0.1 * warm, 1.0 - warm)
}

/// Returns the perturbed normal of ground at a point in cells with smooth normal `normal`.
pub(crate) fn rough_normal(point: DVec3, normal: Vec3, footprint: f64) -> Vec3 {
    let mut slope = Vec3::ZERO;
    for &Octave { wavelength_cells: cells, steepness, .. } in &OCTAVES {
        let fade = octave_weight(cells, 2.0 * footprint) * steepness;
        if fade > 0.0 {
            slope += fade * noise_and_gradient(point / cells).1;
        }
    }
    let along = slope - normal * slope.dot(normal);
    (normal - along).normalize_or(normal)
}

/// Returns the weight of an octave in pixels of a width: 0 where it would alias.
fn octave_weight(cells: f64, footprint: f64) -> f32 {
    (1.0 - 1.5 * footprint / cells).clamp(0.0, 1.0) as f32
}

/// Returns the normal of rippled water at a point in cells with smooth normal `normal`.
pub(crate) fn ripple_normal(point: DVec3, normal: Vec3, footprint: f64) -> Vec3 {
    let wave = |cells: f64, steepness: f32| {
        let fade = octave_weight(cells, footprint) * steepness;
        if fade > 0.0 {
            fade * noise_and_gradient(point / cells).1 * Vec3::new(1.0, 0.0, 1.0)
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
    fn the_gradient_is_the_derivative_of_the_noise() {
        for i in 0..200 {
            let p = DVec3::new(f64::from(i) * 0.73 - 70.0, f64::from(i) * 0.31, -0.4);
            let (_, slope) = noise_and_gradient(p);
            for (axis, along) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
                let change = (noise(p + along * 1e-3) - noise(p - along * 1e-3)) / 2e-3;
                assert!((change - slope[axis]).abs() < 0.02, "{change} {slope} at {p}");
            }
        }
    }

    #[test]
    fn octaves_finer_than_a_pixel_are_left_out() {
        let p = DVec3::new(3.2, 1.1, 9.7);
        assert_eq!(ground_tint(p, 100.0), Vec3::ONE);
        assert_eq!(rough_normal(p, Vec3::Y, 100.0), Vec3::Y);
        assert!(rough_normal(p, Vec3::Y, 0.0).is_normalized() && ground_tint(p, 0.0) != Vec3::ONE);
        assert_eq!(ripple_normal(p, Vec3::Y, 100.0), Vec3::Y);
        assert!(ripple_normal(p, Vec3::Y, 0.0).is_normalized());
    }
}
