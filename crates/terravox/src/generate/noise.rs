//! Gradient noise (Perlin, "Improving Noise", 2002) on a hashed integer lattice, in two
//! and three dimensions. Only + − × and integer hashing, so that every platform gets the
//! same bits.

/// What [`Noise2`] never leaves: each of its gradients has two components of at most 1, and
/// the four corners weigh the distances on an axis with at most ½ together, times 1.5.
pub(super) const MAX_NOISE: f64 = 1.5;

/// What [`Noise3`] never leaves, likewise.
pub(super) const MAX_NOISE_3D: f64 = 1.95;

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

/// Noise of the plane, about −1 to 1, 0 at lattice points. Remembers the last square of the
/// lattice: neighbours mostly lie in one.
#[derive(Clone, Debug)]
pub(super) struct Noise2 {
    seed: u64,
    square: Option<[i64; 2]>,
    /// At the corners: x first, then z.
    gradients: [[f64; 2]; 4],
}

impl Noise2 {
    pub fn new(seed: u64) -> Noise2 {
        Noise2 { seed, square: None, gradients: [[0.0; 2]; 4] }
    }

    #[cold]
    fn enter(&mut self, [x, z]: [i64; 2]) {
        self.square = Some([x, z]);
        self.gradients = [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[dx, dz]| {
            let h = hash(self.seed, x + dx, 0, z + dz);
            // 16 bits a component, so that no direction stands out.
            [h & 0xffff, h >> 16].map(|bits| f64::from(bits) / 32768.0 - 1.0)
        });
    }

    #[inline]
    pub fn at(&mut self, x: f64, z: f64) -> f64 {
        let ((xi, xf), (zi, zf)) = (split(x), split(z));
        if self.square != Some([xi, zi]) {
            self.enter([xi, zi]);
        }
        let g = &self.gradients;
        let corner = |i: usize, dx: f64, dz: f64| g[i][0] * (xf - dx) + g[i][1] * (zf - dz);
        let (u, w) = (fade(xf), fade(zf));
        let near = mix(corner(0, 0.0, 0.0), corner(1, 1.0, 0.0), u);
        1.5 * mix(near, mix(corner(2, 0.0, 1.0), corner(3, 1.0, 1.0), u), w)
    }
}

/// Noise of space, about −1 to 1, 0 at lattice points. Remembers the last cube of the
/// lattice.
#[derive(Clone, Debug)]
pub(super) struct Noise3 {
    seed: u64,
    cube: Option<[i64; 3]>,
    /// At the corners: x first, then z, then y.
    gradients: [[f64; 3]; 8],
}

impl Noise3 {
    pub fn new(seed: u64) -> Noise3 {
        Noise3 { seed, cube: None, gradients: [[0.0; 3]; 8] }
    }

    #[cold]
    fn enter(&mut self, [x, y, z]: [i64; 3]) {
        self.cube = Some([x, y, z]);
        for (i, gradient) in self.gradients.iter_mut().enumerate() {
            let [dx, dz, dy] = [i & 1, i >> 1 & 1, i >> 2].map(|bit| bit as i64);
            let h = hash(self.seed, x + dx, y + dy, z + dz);
            *gradient = [0, 10, 20].map(|shift| f64::from(h >> shift & 0x3ff) / 512.0 - 1.0);
        }
    }

    #[inline]
    pub fn at(&mut self, [x, y, z]: [f64; 3]) -> f64 {
        let ((xi, xf), (yi, yf), (zi, zf)) = (split(x), split(y), split(z));
        if self.cube != Some([xi, yi, zi]) {
            self.enter([xi, yi, zi]);
        }
        let corner = |i: usize| {
            let [dx, dz, dy] = [i & 1, i >> 1 & 1, i >> 2].map(|bit| bit as f64);
            let g = self.gradients[i];
            g[0] * (xf - dx) + g[1] * (yf - dy) + g[2] * (zf - dz)
        };
        let (u, v, w) = (fade(xf), fade(yf), fade(zf));
        let layer = |i: usize| {
            mix(mix(corner(i), corner(i + 1), u), mix(corner(i + 2), corner(i + 3), u), w)
        };
        1.3 * mix(layer(0), layer(4), v)
    }
}

/// Noise of space at one point: see [`Noise3`].
pub(crate) fn noise_3d(seed: u64, p: [f64; 3]) -> f64 {
    Noise3::new(seed).at(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise_2d(seed: u64, x: f64, z: f64) -> f64 {
        Noise2::new(seed).at(x, z)
    }

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
