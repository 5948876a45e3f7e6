//! Bounds of noise over a box: interval arithmetic over the few squares or cubes of the lattice
//! that the box touches, intersected with the value at the centre plus or minus the maximum slope.
//!
//! The value is a mean of planes with weights that are monotone on each axis, so that of each
//! interpolation the extremes lie at the ends of its weight.

use super::noise::{Noise2, Noise3, SCALE_2D, SCALE_3D, fade, gradients_2d, gradients_3d, mix};

/// Boxes that touch more squares or cubes of the lattice get the bounds of all noise.
const MAX_PARTS: f64 = 32.0;

/// A margin for rounding.
const ROUNDING: f64 = 1e-9;

/// [lowest, highest].
type Interval = [f64; 2];

impl Noise2 {
    /// Lowest and highest bound of the value in all points from `min` to `max`, [x, z] each.
    ///
    /// They hold for every point, and are near the true ones for boxes up to an eighth of the
    /// lattice. Boxes that touch more than 32 squares of the lattice, and NaN, give
    /// ±[`Noise2::MAX`].
    pub fn bounds(&self, min: [f64; 2], max: [f64; 2]) -> [f64; 2] {
        let all = [-Noise2::MAX, Noise2::MAX];
        let Some(parts) = LatticeCells::new(min, max) else { return all };
        let [min, max] = [min, max];
        let by_parts = parts.fold(|[x, z]| {
            let gradients = gradients_2d(self.seed(), [x as i64, z as i64]);
            let [xs, zs] = [within(x, min[0], max[0]), within(z, min[1], max[1])];
            let corner = |i: usize| {
                let [dx, dz] = [i & 1, i >> 1].map(|bit| bit as f64);
                add(times(gradients[i][0], xs, dx), times(gradients[i][1], zs, dz))
            };
            let (u, w) = (xs.map(fade), zs.map(fade));
            between(between(corner(0), corner(1), u), between(corner(2), corner(3), u), w)
        });
        let by_slope = around(self.at(0.5 * (min[0] + max[0]), 0.5 * (min[1] + max[1])), {
            Noise2::SLOPE * half_diagonal(min, max)
        });
        narrower(by_parts.map(|v| v * SCALE_2D), by_slope, all)
    }
}

impl Noise3 {
    /// Lowest and highest bound of the value in all points from `min` to `max`, as
    /// [`Noise2::bounds`].
    pub fn bounds(&self, min: [f64; 3], max: [f64; 3]) -> [f64; 2] {
        let all = [-Noise3::MAX, Noise3::MAX];
        let Some(parts) = LatticeCells::new(min, max) else { return all };
        let by_parts = parts.fold(|cube| {
            let gradients = gradients_3d(self.seed(), cube.map(|v| v as i64));
            let [xs, ys, zs] = [0, 1, 2].map(|axis| within(cube[axis], min[axis], max[axis]));
            let corner = |i: usize| {
                let [dx, dz, dy] = [i & 1, i >> 1 & 1, i >> 2].map(|bit| bit as f64);
                let [gx, gy, gz] = gradients[i];
                add(add(times(gx, xs, dx), times(gy, ys, dy)), times(gz, zs, dz))
            };
            let [u, v, w] = [xs, ys, zs].map(|axis| axis.map(fade));
            let layer = |i: usize| {
                let [near, far] = [i, i + 2].map(|i| between(corner(i), corner(i + 1), u));
                between(near, far, w)
            };
            between(layer(0), layer(4), v)
        });
        let middle = [0, 1, 2].map(|axis| 0.5 * (min[axis] + max[axis]));
        let by_slope = around(self.at(middle), Noise3::SLOPE * half_diagonal(min, max));
        narrower(by_parts.map(|v| v * SCALE_3D), by_slope, all)
    }
}

/// The squares or cubes of the lattice that a box touches.
struct LatticeCells<const N: usize> {
    first: [f64; N],
    counts: [usize; N],
}

impl<const N: usize> LatticeCells<N> {
    /// `None` if there are too many, or the box is inverted or NaN.
    fn new(min: [f64; N], max: [f64; N]) -> Option<LatticeCells<N>> {
        let first = min.map(f64::floor);
        let counts = std::array::from_fn(|i| max[i].floor() - first[i] + 1.0);
        let few =
            counts.iter().all(|&count| count >= 1.0) && counts.iter().product::<f64>() <= MAX_PARTS;
        few.then(|| LatticeCells { first, counts: counts.map(|count| count as usize) })
    }

    /// The union of the intervals of all of them.
    fn fold(&self, part: impl Fn([f64; N]) -> Interval) -> Interval {
        let mut bounds = [f64::INFINITY, f64::NEG_INFINITY];
        for mut i in 0..self.counts.iter().product() {
            let at = std::array::from_fn(|axis| {
                let step = i % self.counts[axis];
                i /= self.counts[axis];
                self.first[axis] + step as f64
            });
            let [low, high] = part(at);
            bounds = [bounds[0].min(low), bounds[1].max(high)];
        }
        bounds
    }
}

/// The part of min..max within the unit from `lattice` on, from there.
fn within(lattice: f64, min: f64, max: f64) -> Interval {
    [(min - lattice).clamp(0.0, 1.0), (max - lattice).clamp(0.0, 1.0)]
}

/// g · (t − corner).
fn times(g: f64, t: Interval, corner: f64) -> Interval {
    let [a, b] = t.map(|t| g * (t - corner));
    [a.min(b), a.max(b)]
}

fn add(a: Interval, b: Interval) -> Interval {
    [a[0] + b[0], a[1] + b[1]]
}

/// All interpolations of `a` and `b` with weights in `t`.
fn between(a: Interval, b: Interval, t: Interval) -> Interval {
    let [low, high] = [0, 1].map(|end| t.map(|t| mix(a[end], b[end], t)));
    [low[0].min(low[1]), high[0].max(high[1])]
}

fn around(value: f64, reach: f64) -> Interval {
    [value - reach, value + reach]
}

fn half_diagonal<const N: usize>(min: [f64; N], max: [f64; N]) -> f64 {
    let squares = (0..N).map(|i| (max[i] - min[i]) * (max[i] - min[i]));
    0.5 * squares.sum::<f64>().sqrt()
}

/// The intersection of all three, with a margin for rounding.
fn narrower(a: Interval, b: Interval, all: Interval) -> Interval {
    let low = (a[0].max(b[0]) - ROUNDING).max(all[0]);
    [low, (a[1].min(b[1]) + ROUNDING).min(all[1])]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_value_leaves_the_bounds_of_its_box(
            seed: u64,
            corner in (-1e6..1e6f64, -9.0..9.0f64, -1e9..1e9f64),
            size in (0.0..3.0f64, 0.0..3.0f64, 0.0..3.0f64),
            small: bool,
            at in prop::collection::vec((0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64), 24),
        ) {
            let scale = if small { 0.04 } else { 1.0 };
            let min = [corner.0, corner.1, corner.2];
            let size = [size.0, size.1, size.2].map(|v| v * scale);
            let max = [0, 1, 2].map(|i| min[i] + size[i]);
            let (flat, deep) = (Noise2::new(seed), Noise3::new(seed));
            let bounds_2d = flat.bounds([min[0], min[2]], [max[0], max[2]]);
            let bounds_3d = deep.bounds(min, max);
            let holds = |[low, high]: [f64; 2], value: f64| low <= value && value <= high;
            for t in at {
                let t = [t.0, t.1, t.2];
                let p = [0, 1, 2].map(|i| (min[i] + t[i] * size[i]).min(max[i]));
                prop_assert!(holds(bounds_2d, flat.at(p[0], p[2])), "{p:?} {bounds_2d:?}");
                prop_assert!(holds(bounds_3d, deep.at(p)), "{p:?} {bounds_3d:?}");
            }
        }
    }

    #[test]
    fn bounds_of_small_boxes_are_near_and_of_large_ones_known() {
        let (flat, deep) = (Noise2::new(5), Noise3::new(5));
        for i in 0..100 {
            let at = f64::from(i) * 0.37;
            let [low, high] = flat.bounds([at, -at], [at + 0.05, 0.05 - at]);
            assert!(high - low < 0.4, "{low} to {high}");
            let [low, high] = deep.bounds([at, -at, at], [at + 0.05, 0.05 - at, at + 0.05]);
            assert!(high - low < 0.6, "{low} to {high}");
        }
        assert_eq!(flat.bounds([0.0; 2], [900.0; 2]), [-Noise2::MAX, Noise2::MAX]);
        assert_eq!(deep.bounds([f64::NAN; 3], [1.0; 3]), [-Noise3::MAX, Noise3::MAX]);
        assert_eq!(deep.bounds([2.0; 3], [1.0; 3]), [-Noise3::MAX, Noise3::MAX]);
        let [low, high] = flat.bounds([3.0, 4.0], [3.0, 4.0]);
        assert!(low <= 0.0 && high >= 0.0 && high - low < 1e-8);
    }
}
