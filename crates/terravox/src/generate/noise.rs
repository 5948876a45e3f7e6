//! Gradient noise (Perlin, "Improving Noise", 2002) on a hashed integer lattice, in two
//! and three dimensions. Only + − × and integer hashing, so that every platform gets the
//! same bits.
//!
//! [`Noise2`] and [`Noise3`] are seeds; their cursors cache the last square or cube of the lattice
//! and give the same bits, at a third of the cost for neighbouring points.

use crate::math::mixed;

/// Scales most values to ±1.
pub(super) const SCALE_2D: f64 = 1.5;
pub(super) const SCALE_3D: f64 = 1.3;

/// A hash of a lattice point: 32 well mixed bits.
#[inline]
pub(super) fn hash(seed: u64, x: i64, y: i64, z: i64) -> u32 {
    // Odd multipliers spread the axes.
    let h = seed
        ^ (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
        ^ (z as u64).wrapping_mul(0x1656_67b1_9e37_79f9);
    (mixed(h) >> 16) as u32
}

/// A number in 0..1 from a lattice point.
pub(super) fn unit(seed: u64, x: i64, y: i64, z: i64) -> f64 {
    f64::from(hash(seed, x, y, z)) / 4_294_967_296.0
}

#[inline]
pub(super) fn fade(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[inline]
pub(super) fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// Whole and fractional part, floored.
#[inline]
pub(super) fn split(v: f64) -> (i64, f64) {
    // Without SSE 4.1 `floor` is a call. Larger floats are all integers.
    if v.abs() < 4_503_599_627_370_496.0 {
        let toward_zero = v as i64;
        let floor = toward_zero - i64::from(toward_zero as f64 > v);
        // Lattice points are never −0.
        (floor, v - floor as f64 + 0.0)
    } else {
        let floor = v.floor();
        (floor as i64, v - floor)
    }
}

/// Gradient noise of the plane: a smooth function without a pattern, 0 at lattice points (whole
/// numbers), with hills and valleys about one unit wide.
///
/// Plain data, `Copy`; the same bits on every machine and thread.
///
/// ```
/// use terravox::generate::Noise2;
///
/// let noise = Noise2::new(7);
/// let height = 20.0 * noise.at(31.4 / 90.0, 27.1 / 90.0); // hills of 90 m, within ±30 m
/// assert!(height.abs() <= 20.0 * Noise2::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Noise2 {
    seed: u64,
}

impl Noise2 {
    /// An upper bound of the absolute value; most values are within half of it. Each gradient
    /// has two components of at most 1, and the four corners weigh the distances on an axis with
    /// at most ½ together, times 1.5.
    pub const MAX: f64 = 1.5;

    /// The steepest slope: between two points the value changes by at most this many times
    /// their distance. The worst is midway between four lattice points, along an axis, where
    /// gradients of any length that they may have give 1.5 × 2.75.
    pub const SLOPE: f64 = 4.125;

    /// The noise of a seed. Seeds that differ in any bit give unrelated noises.
    pub fn new(seed: u64) -> Noise2 {
        Noise2 { seed }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The value at a point, ±[`Noise2::MAX`].
    pub fn at(&self, x: f64, z: f64) -> f64 {
        self.cursor().at(x, z)
    }

    /// The same noise for many points near one another.
    pub fn cursor(&self) -> Noise2Cursor {
        Noise2Cursor { seed: self.seed, square: None, gradients: [[0.0; 2]; 4] }
    }
}

/// [`Noise2`] that caches the last square of the lattice. Cheap to make; use one per block.
///
/// ```
/// use terravox::generate::{Noise2, fill_height};
/// use terravox::voxel::{DenseBox, Region};
///
/// let noise = Noise2::new(7);
/// let mut cells = DenseBox::new(Region::new([0, -16, 0], [32, 16, 32]));
/// let mut near = noise.cursor();
/// fill_height(&mut cells, 0, 8, -12.0..=12.0, |x, z| 8.0 * near.at(x / 50.0, z / 50.0));
/// assert_eq!(near.at(0.3, 0.2), noise.at(0.3, 0.2));
/// ```
#[derive(Clone, Debug)]
pub struct Noise2Cursor {
    seed: u64,
    square: Option<[i64; 2]>,
    /// At the corners: x first, then z.
    gradients: [[f64; 2]; 4],
}

impl Noise2Cursor {
    #[cold]
    fn enter(&mut self, [x, z]: [i64; 2]) {
        self.square = Some([x, z]);
        self.gradients = gradients_2d(self.seed, [x, z]);
    }

    /// The value at a point, ±[`Noise2::MAX`].
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
        SCALE_2D * mix(near, mix(corner(2, 0.0, 1.0), corner(3, 1.0, 1.0), u), w)
    }
}

/// Gradients at the corners of a square: x first, then z.
#[inline]
pub(super) fn gradients_2d(seed: u64, [x, z]: [i64; 2]) -> [[f64; 2]; 4] {
    [[0, 0], [1, 0], [0, 1], [1, 1]].map(|[dx, dz]| {
        let h = hash(seed, x.wrapping_add(dx), 0, z.wrapping_add(dz));
        // 16 bits a component, so that no direction stands out.
        [h & 0xffff, h >> 16].map(|bits| f64::from(bits) / 32768.0 - 1.0)
    })
}

/// Gradient noise of space, as [`Noise2`].
///
/// ```
/// use terravox::generate::Noise3;
///
/// let noise = Noise3::new(7);
/// let [low, high] = noise.bounds([0.0; 3], [0.25; 3]);
/// let value = noise.at([0.1, 0.2, 0.0]);
/// assert!(low <= value && value <= high && high < Noise3::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Noise3 {
    seed: u64,
}

impl Noise3 {
    /// An upper bound of the absolute value: as [`Noise2::MAX`], three components, times 1.3.
    pub const MAX: f64 = 1.95;

    /// The steepest slope, as [`Noise2::SLOPE`]: 1.3 × 4.625 in the middle of a cube of the
    /// lattice.
    pub const SLOPE: f64 = 6.0125;

    /// The noise of a seed. Seeds that differ in any bit give unrelated noises.
    pub fn new(seed: u64) -> Noise3 {
        Noise3 { seed }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The value at a point, ±[`Noise3::MAX`].
    pub fn at(&self, point: [f64; 3]) -> f64 {
        self.cursor().at(point)
    }

    /// The same noise for many points near one another.
    pub fn cursor(&self) -> Noise3Cursor {
        Noise3Cursor { seed: self.seed, cube: None, gradients: [[0.0; 3]; 8] }
    }
}

/// [`Noise3`] that caches the last cube of the lattice.
#[derive(Clone, Debug)]
pub struct Noise3Cursor {
    seed: u64,
    cube: Option<[i64; 3]>,
    /// At the corners: x first, then z, then y.
    gradients: [[f64; 3]; 8],
}

impl Noise3Cursor {
    #[cold]
    fn enter(&mut self, cube: [i64; 3]) {
        self.cube = Some(cube);
        self.gradients = gradients_3d(self.seed, cube);
    }

    /// The value at a point, ±[`Noise3::MAX`].
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
        SCALE_3D * mix(layer(0), layer(4), v)
    }
}

/// Gradients at the corners of a cube: x first, then z, then y.
#[inline]
pub(super) fn gradients_3d(seed: u64, [x, y, z]: [i64; 3]) -> [[f64; 3]; 8] {
    let mut gradients = [[0.0; 3]; 8];
    for (i, gradient) in gradients.iter_mut().enumerate() {
        let [dx, dz, dy] = [i & 1, i >> 1 & 1, i >> 2].map(|bit| bit as i64);
        let [x, y, z] = [x.wrapping_add(dx), y.wrapping_add(dy), z.wrapping_add(dz)];
        let h = hash(seed, x, y, z);
        *gradient = [0, 10, 20].map(|shift| f64::from(h >> shift & 0x3ff) / 512.0 - 1.0);
    }
    gradients
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

    /// The slope along `e` at a point of a square or cube, where the gradients at the corners
    /// are the worst for it: the sum over the corners of how much each gradient counts.
    fn worst_slope<const N: usize>(p: [f64; N], e: [f64; N]) -> f64 {
        let slope_of_fade = |t: f64| 30.0 * t * t * (t - 1.0) * (t - 1.0);
        let corner = |corner: usize| {
            let side = |axis: usize| corner >> axis & 1 == 1;
            let part = |axis: usize| match side(axis) {
                true => fade(p[axis]),
                false => 1.0 - fade(p[axis]),
            };
            let weight: f64 = (0..N).map(part).product();
            let change: f64 = (0..N)
                .map(|axis| {
                    let others: f64 = (0..N).filter(|&other| other != axis).map(part).product();
                    let sign = if side(axis) { 1.0 } else { -1.0 };
                    e[axis] * sign * slope_of_fade(p[axis]) * others
                })
                .sum();
            let off = |axis: usize| p[axis] - f64::from(u8::from(side(axis)));
            (0..N).map(|axis| (weight * e[axis] + change * off(axis)).abs()).sum::<f64>()
        };
        (0..1 << N).map(corner).sum()
    }

    #[test]
    fn no_gradients_are_steeper_than_the_stated_slope() {
        let steps = |i: u32, count: u32| f64::from(i) / f64::from(count);
        let mut steepest = [0.0f64; 2];
        for (x, y) in (0..=24).flat_map(|x| (0..=24).map(move |y| (steps(x, 24), steps(y, 24)))) {
            for turn in 0..32 {
                // Half a circle, and as much of a sphere, by rational points of them.
                let t = steps(turn, 16) - 1.0;
                let [c, s] = [(1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t)];
                steepest[0] = steepest[0].max(SCALE_2D * worst_slope([x, y], [c, s]));
                for (z, tilt) in (0..=8).flat_map(|z| (0..6).map(move |tilt| (z, tilt))) {
                    let t = steps(tilt, 3) - 1.0;
                    let [up, flat] = [(1.0 - t * t) / (1.0 + t * t), 2.0 * t / (1.0 + t * t)];
                    let slope = worst_slope([x, y, steps(z, 8)], [flat * c, flat * s, up]);
                    steepest[1] = steepest[1].max(SCALE_3D * slope);
                }
            }
        }
        assert!((steepest[0] - Noise2::SLOPE).abs() < 1e-9, "{steepest:?}");
        assert!((steepest[1] - Noise3::SLOPE).abs() < 1e-9, "{steepest:?}");
    }

    #[test]
    fn cursors_give_the_bits_of_the_noise() {
        let (flat, deep) = (Noise2::new(3), Noise3::new(3));
        let (mut near, mut inside) = (flat.cursor(), deep.cursor());
        for i in 0..2000 {
            let [x, y] = [f64::from(i) * 0.173 - 100.0, f64::from(i % 37) * 0.31 - 4.0];
            assert_eq!(near.at(x, y).to_bits(), flat.at(x, y).to_bits());
            assert_eq!(inside.at([y, x, y]).to_bits(), deep.at([y, x, y]).to_bits());
        }
    }

    #[test]
    fn the_bits_are_those_that_worlds_were_made_with() {
        let bits = [
            Noise2::new(1).at(0.3, -7.9).to_bits(),
            Noise2::new(u64::MAX).at(-1e7 - 0.25, 5.5e6 + 0.125).to_bits(),
            Noise3::new(1).at([0.3, 2.5, -7.9]).to_bits(),
            Noise3::new(9).at([1e7 + 0.5, -1e7 + 0.25, 1e3]).to_bits(),
        ];
        assert_eq!(bits, BITS, "{bits:#x?}");
    }

    const BITS: [u64; 4] = [
        0xbfc7_4a05_853f_be32,
        0xbfd9_6553_4643_b000,
        0xbfce_02fb_931f_d3f4,
        0xbfb5_0c6b_3333_3333,
    ];

    #[test]
    fn seeds_and_lattice_points_differ() {
        let all: std::collections::BTreeSet<u32> =
            (0..1000).map(|i| hash(i % 10, i as i64 % 7 - 3, i as i64 / 70, 0)).collect();
        assert!(all.len() > 600, "{}", all.len());
    }
}
