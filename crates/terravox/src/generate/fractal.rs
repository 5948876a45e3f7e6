//! Sums of noise, each octave finer and lower than the last (fractional Brownian motion; Musgrave
//! in Ebert et al., "Texturing and Modeling"), with guaranteed bounds.

use super::noise::{Noise2, Noise2Cursor, Noise3, Noise3Cursor, unit};

/// A sum of [`Noise2`] or [`Noise3`]: hills on hills, in the unit of the caller.
///
/// Plain data, `Copy`. [`Fractal::max_2d`] and [`Fractal::slope_2d`] (or `_3d`) are the bounds that
/// the fills of [`generate`](crate::generate) take.
///
/// ```
/// use terravox::generate::{Fractal, fill_height};
/// use terravox::voxel::{DenseBox, Region};
///
/// let hills = Fractal::new(7, 120.0, 20.0); // seed, period, amplitude
/// let (mut near, most) = (hills.cursor_2d(), hills.max_2d());
/// let mut cells = DenseBox::new(Region::new([0, -32, 0], [32, 32, 32]));
/// fill_height(&mut cells, 0, 8, -most..=most, |x, z| near.at(x, z));
/// assert_eq!(near.at(3.0, 4.0), hills.at_2d(3.0, 4.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fractal {
    /// Seed; each octave derives a noise of its own from it.
    pub seed: u64,
    /// Number of octaves, at most 32.
    pub octaves: u32,
    /// Approximate width of a hill and its valley in the first octave: the length of a noise unit.
    pub period: f64,
    /// Amplitude of the first octave.
    pub amplitude: f64,
    /// Amplitude of each octave relative to the last; ½ is usual.
    pub gain: f64,
    /// Frequency of each octave relative to the last; 2 is usual.
    pub lacunarity: f64,
}

/// A term of the sum.
#[derive(Clone, Copy)]
struct Octave {
    seed: u64,
    frequency: f64,
    amplitude: f64,
    /// Moves the lattice, so that lattice points of octaves, all 0, do not meet.
    shift: [f64; 3],
}

impl Octave {
    fn place(&self, axis: usize, v: f64) -> f64 {
        v * self.frequency + self.shift[axis]
    }
}

impl Fractal {
    /// Five octaves with a gain of ½, each twice as fine as the last.
    pub fn new(seed: u64, period: f64, amplitude: f64) -> Fractal {
        Fractal { seed, octaves: 5, period, amplitude, gain: 0.5, lacunarity: 2.0 }
    }

    fn octaves(&self) -> impl Iterator<Item = Octave> + use<> {
        let Fractal { seed, gain, lacunarity, .. } = *self;
        let (mut frequency, mut amplitude) = (1.0 / self.period, self.amplitude);
        (0..self.octaves.min(32)).map(move |i| {
            let shift = [0, 1, 2].map(|axis| unit(seed, i64::from(i), axis, 77));
            let seed = seed.wrapping_add(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let octave = Octave { seed, frequency, amplitude, shift };
            (frequency, amplitude) = (frequency * lacunarity, amplitude * gain);
            octave
        })
    }

    /// The sum at a point of the plane.
    pub fn at_2d(&self, x: f64, z: f64) -> f64 {
        let term = |o: Octave| o.amplitude * Noise2::new(o.seed).at(o.place(0, x), o.place(2, z));
        self.octaves().fold(0.0, |sum, octave| sum + term(octave))
    }

    /// The sum at a point of space.
    pub fn at_3d(&self, [x, y, z]: [f64; 3]) -> f64 {
        let term = |o: Octave| {
            o.amplitude * Noise3::new(o.seed).at([o.place(0, x), o.place(1, y), o.place(2, z)])
        };
        self.octaves().fold(0.0, |sum, octave| sum + term(octave))
    }

    /// An upper bound of the absolute value in the plane. Most values are within a third of it.
    pub fn max_2d(&self) -> f64 {
        self.sum(|octave| octave.amplitude) * Noise2::MAX
    }

    /// An upper bound of the absolute value in space.
    pub fn max_3d(&self) -> f64 {
        self.sum(|octave| octave.amplitude) * Noise3::MAX
    }

    /// An upper bound of the slope in the plane; several times the slopes that occur.
    pub fn slope_2d(&self) -> f64 {
        self.sum(|octave| octave.amplitude * octave.frequency) * Noise2::SLOPE
    }

    /// An upper bound of the slope in space.
    pub fn slope_3d(&self) -> f64 {
        self.sum(|octave| octave.amplitude * octave.frequency) * Noise3::SLOPE
    }

    /// A sum of absolute values, with room for rounding.
    fn sum(&self, value: impl Fn(Octave) -> f64) -> f64 {
        self.octaves().map(|octave| value(octave).abs()).sum::<f64>() * (1.0 + 1e-9)
    }

    /// Lowest and highest bound of the sum in all points from `min` to `max`, [x, z] each.
    pub fn bounds_2d(&self, min: [f64; 2], max: [f64; 2]) -> [f64; 2] {
        self.bounds(|octave| {
            let place = |p: [f64; 2]| [octave.place(0, p[0]), octave.place(2, p[1])];
            Noise2::new(octave.seed).bounds(place(min), place(max))
        })
    }

    /// Lowest and highest bound of the sum in all points from `min` to `max`.
    pub fn bounds_3d(&self, min: [f64; 3], max: [f64; 3]) -> [f64; 2] {
        self.bounds(|octave| {
            let place = |p: [f64; 3]| [0, 1, 2].map(|axis| octave.place(axis, p[axis]));
            Noise3::new(octave.seed).bounds(place(min), place(max))
        })
    }

    fn bounds(&self, of_noise: impl Fn(Octave) -> [f64; 2]) -> [f64; 2] {
        let room = 1e-9 * self.sum(|octave| octave.amplitude);
        self.octaves().fold([-room, room], |sum, octave| {
            let [a, b] = of_noise(octave).map(|v| v * octave.amplitude);
            [sum[0] + a.min(b), sum[1] + a.max(b)]
        })
    }

    /// The same sum for many points of the plane near one another.
    pub fn cursor_2d(&self) -> Fractal2Cursor {
        let octaves = self.octaves().map(|octave| (octave, Noise2::new(octave.seed).cursor()));
        Fractal2Cursor { octaves: octaves.collect() }
    }

    /// The same sum for many points of space near one another.
    pub fn cursor_3d(&self) -> Fractal3Cursor {
        let octaves = self.octaves().map(|octave| (octave, Noise3::new(octave.seed).cursor()));
        Fractal3Cursor { octaves: octaves.collect() }
    }
}

/// [`Fractal`] in the plane, with the last square of each octave's lattice. Make one for each
/// part that is filled.
#[derive(Clone)]
pub struct Fractal2Cursor {
    octaves: Vec<(Octave, Noise2Cursor)>,
}

impl Fractal2Cursor {
    /// The sum at a point: [`Fractal::at_2d`] to the bit.
    #[inline]
    pub fn at(&mut self, x: f64, z: f64) -> f64 {
        self.octaves.iter_mut().fold(0.0, |sum, (octave, noise)| {
            sum + octave.amplitude * noise.at(octave.place(0, x), octave.place(2, z))
        })
    }
}

/// [`Fractal`] in space, with the last cube of each octave's lattice. Make one for each part that
/// is filled.
#[derive(Clone)]
pub struct Fractal3Cursor {
    octaves: Vec<(Octave, Noise3Cursor)>,
}

impl Fractal3Cursor {
    /// The sum at a point: [`Fractal::at_3d`] to the bit.
    #[inline]
    pub fn at(&mut self, p: [f64; 3]) -> f64 {
        self.octaves.iter_mut().fold(0.0, |sum, (octave, noise)| {
            sum + octave.amplitude * noise.at([0, 1, 2].map(|axis| octave.place(axis, p[axis])))
        })
    }
}

impl std::fmt::Debug for Fractal2Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fractal2Cursor").field("octaves", &self.octaves.len()).finish()
    }
}

impl std::fmt::Debug for Fractal3Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fractal3Cursor").field("octaves", &self.octaves.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn bounds_slopes_and_cursors_hold(
            seed: u64,
            octaves in 0u32..9,
            gain in -0.9..0.9f64,
            min in (-1e7..1e7f64, -99.0..99.0f64, -1e7..1e7f64),
            size in 0.0..60.0f64,
            at in prop::collection::vec((0.0..=1.0f64, 0.0..=1.0f64, 0.0..=1.0f64), 12),
        ) {
            let sum = Fractal { octaves, gain, ..Fractal::new(seed, 90.0, -20.0) };
            let min = [min.0, min.1, min.2];
            let max = min.map(|v| v + size);
            let [flat, deep] =
                [sum.bounds_2d([min[0], min[2]], [max[0], max[2]]), sum.bounds_3d(min, max)];
            let (mut near, mut inside) = (sum.cursor_2d(), sum.cursor_3d());
            let mut last: Option<[f64; 5]> = None;
            for t in at {
                let p = [min[0] + t.0 * size, min[1] + t.1 * size, min[2] + t.2 * size];
                let [a, b] = [sum.at_2d(p[0], p[2]), sum.at_3d(p)];
                prop_assert_eq!([near.at(p[0], p[2]), inside.at(p)], [a, b]);
                prop_assert!(flat[0] <= a && a <= flat[1] && a.abs() <= sum.max_2d());
                prop_assert!(deep[0] <= b && b <= deep[1] && b.abs() <= sum.max_3d());
                if let Some([x, y, z, before_a, before_b]) = last {
                    let off = [p[0] - x, p[1] - y, p[2] - z];
                    let plane = (off[0] * off[0] + off[2] * off[2]).sqrt();
                    let space = (plane * plane + off[1] * off[1]).sqrt();
                    prop_assert!((a - before_a).abs() <= sum.slope_2d() * plane + 1e-6);
                    prop_assert!((b - before_b).abs() <= sum.slope_3d() * space + 1e-6);
                }
                last = Some([p[0], p[1], p[2], a, b]);
            }
        }
    }
}
