//! Gradient noise (Perlin, "Improving Noise", 2002) on a hashed integer lattice, in two
//! and three dimensions. Only + − × and integer hashing, so that every platform gets the
//! same bits.

/// A hash of a lattice point: 32 well mixed bits.
#[inline]
pub(super) fn hash(seed: u64, x: i64, y: i64, z: i64) -> u32 {
    // Odd multipliers spread the axes; the finaliser is that of SplitMix64.
    let mut h = seed
        ^ (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
        ^ (z as u64).wrapping_mul(0x1656_67b1_9e37_79f9);
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((h ^ (h >> 31)) >> 16) as u32
}

/// A number in 0..1 from a lattice point.
pub(super) fn unit(seed: u64, x: i64, y: i64, z: i64) -> f64 {
    f64::from(hash(seed, x, y, z)) / 4_294_967_296.0
}

#[inline]
fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[inline]
fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// Whole and fractional part, floored.
#[inline]
fn split(v: f64) -> (i64, f64) {
    let floor = v.floor();
    (floor as i64, v - floor)
}

/// Noise of the plane, about −1 to 1, 0 at lattice points.
pub(super) fn noise_2d(seed: u64, x: f64, z: f64) -> f64 {
    let ((xi, xf), (zi, zf)) = (split(x), split(z));
    let corner = |dx: i64, dz: i64| {
        let h = hash(seed, xi + dx, 0, zi + dz);
        // 16 bits a component, so that no direction stands out.
        let gx = f64::from(h & 0xffff) / 32768.0 - 1.0;
        let gz = f64::from(h >> 16) / 32768.0 - 1.0;
        gx * (xf - dx as f64) + gz * (zf - dz as f64)
    };
    let (u, w) = (fade(xf), fade(zf));
    1.5 * mix(mix(corner(0, 0), corner(1, 0), u), mix(corner(0, 1), corner(1, 1), u), w)
}

/// Noise of space, about −1 to 1, 0 at lattice points.
pub(crate) fn noise_3d(seed: u64, [x, y, z]: [f64; 3]) -> f64 {
    let ((xi, xf), (yi, yf), (zi, zf)) = (split(x), split(y), split(z));
    let corner = |dx: i64, dy: i64, dz: i64| {
        let h = hash(seed, xi + dx, yi + dy, zi + dz);
        let g = |shift: u32| f64::from(h >> shift & 0x3ff) / 512.0 - 1.0;
        g(0) * (xf - dx as f64) + g(10) * (yf - dy as f64) + g(20) * (zf - dz as f64)
    };
    let (u, v, w) = (fade(xf), fade(yf), fade(zf));
    let layer = |dy: i64| {
        mix(
            mix(corner(0, dy, 0), corner(1, dy, 0), u),
            mix(corner(0, dy, 1), corner(1, dy, 1), u),
            w,
        )
    };
    1.3 * mix(layer(0), layer(1), v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_bounded_smooth_and_nearly_balanced() {
        let (mut sum, mut most) = (0.0, 0.0f64);
        let step = 1.0 / 16.0;
        for i in 0..40_000 {
            let (x, z) = (f64::from(i % 200) * 0.37 - 40.0, f64::from(i / 200) * 0.41 - 40.0);
            let n = noise_2d(7, x, z);
            assert!((noise_2d(7, x + step, z) - n).abs() < 4.0 * step);
            let m = noise_3d(7, [x, 0.3 * z, z]);
            assert!((noise_3d(7, [x, 0.3 * z + step, z]) - m).abs() < 4.0 * step);
            most = most.max(n.abs()).max(m.abs());
            sum += n;
        }
        assert!((0.5..1.6).contains(&most), "{most}");
        assert!((sum / 40_000.0).abs() < 0.02);
    }

    #[test]
    fn seeds_and_lattice_points_differ() {
        let all: std::collections::BTreeSet<u32> =
            (0..1000).map(|i| hash(i % 10, i as i64 % 7 - 3, i as i64 / 70, 0)).collect();
        assert!(all.len() > 600, "{}", all.len());
    }
}
