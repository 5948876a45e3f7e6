//! A smooth surface through samples: heights and slopes at any voxel column.
//!
//! Samples finer than voxels are averaged first. Coarsely quantized samples are moved toward the
//! mean of their neighbours, by at most half a quantization step, so that gentle slopes do not
//! become terraces. A Catmull–Rom spline in both directions interpolates them: it has no creases at
//! samples and preserves planes. It is clamped to the range of its four samples, so that a plateau
//! next to a cliff stays flat. (Monotone cubics do that, too, but leave bumps along diagonal
//! ridges.)
//!
//! Source: Catmull & Rom, "A class of local interpolating splines" (1974).

use super::error::HeightmapError;
use super::heights::Heights;
use super::limits::{GRID_LIMIT_VOXELS, MAX_EXTENT_VOXELS};
use super::options::HeightmapOptions;

/// Rounds of smoothing; enough for slopes down to one quantization step per this many samples.
const SMOOTHING_ROUNDS: usize = 24;

/// Quantization steps up to this many voxels are invisible and not smoothed.
const MAX_INVISIBLE_STEP_VOXELS: f64 = 1.0 / 32.0;

/// Share of the way to the mean of its neighbours that a sample moves in a round.
const SMOOTHING_RATE: f32 = 0.8;

/// A surface that can be sampled at any voxel column.
pub(super) struct HeightSurface {
    size: [usize; 2],
    /// Heights of samples in voxels, row by row.
    values: Vec<f32>,
    /// Voxels per sample, along x and z.
    scale: [f64; 2],
    columns: [u32; 2],
    /// The lowest and the highest of `values`.
    heights: [f64; 2],
}

/// The surface at a voxel column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SurfaceColumn {
    /// Height of the surface in voxels.
    pub height: f64,
    /// Rise over run.
    pub slope: f64,
    /// Lowest and highest height of this column and its eight neighbours.
    pub neighbour_range: [f64; 2],
}

impl HeightSurface {
    pub(super) fn new(
        heights: Heights,
        options: &HeightmapOptions,
    ) -> Result<HeightSurface, HeightmapError> {
        let mut columns = [0; 2];
        for (axis, columns) in columns.iter_mut().enumerate() {
            let extent = (heights.size[axis] as f64 * options.voxels_per_sample).round().max(1.0);
            if extent > MAX_EXTENT_VOXELS as f64 {
                return Err(HeightmapError::TooWide { voxels: extent as u64 });
            }
            *columns = extent as u32;
        }
        let max_size = columns.map(|columns| columns as usize);
        let (mut values, size) = downsample(heights.values, heights.size, max_size);
        if f64::from(heights.step) * options.height_voxels.abs() > MAX_INVISIBLE_STEP_VOXELS {
            smooth_within(&mut values, size, heights.step / 2.0);
        }
        for value in &mut values {
            *value = (options.base_voxels + f64::from(*value) * options.height_voxels) as f32;
        }
        if let Some(height) =
            values.iter().find(|height| f64::from(height.abs()) > GRID_LIMIT_VOXELS)
        {
            return Err(HeightmapError::TooHigh { height: f64::from(*height) });
        }
        let scale = [0, 1].map(|axis| f64::from(columns[axis]) / size[axis] as f64);
        let low = values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Ok(HeightSurface { size, values, scale, columns, heights: [low.into(), high.into()] })
    }

    /// Returns the number of voxel columns along x and z.
    pub(super) fn columns(&self) -> [u32; 2] {
        self.columns
    }

    /// Returns the lowest and the highest sample, in voxels.
    pub(super) fn heights(&self) -> [f64; 2] {
        self.heights
    }

    /// Returns the columns x0 ≤ x < x0 + `n`, z0 ≤ z < z0 + `n`, x fastest, counted from the
    /// surface's corner. Beyond its edge the surface is extended.
    pub(super) fn block(&self, x0: i64, z0: i64, n: usize) -> Vec<SurfaceColumn> {
        let padded = n + 2;
        let x: Vec<_> = (0..padded as i64).map(|i| self.taps(0, x0 - 1 + i)).collect();
        let z: Vec<_> = (0..padded as i64).map(|i| self.taps(1, z0 - 1 + i)).collect();
        let mut heights = Vec::with_capacity(padded * padded);
        for z in &z {
            heights.extend(x.iter().map(|x| self.height(x, z)));
        }
        let mut columns = Vec::with_capacity(n * n);
        for z in 1..=n {
            columns.extend((1..=n).map(|x| column(&heights, x + padded * z, padded)));
        }
        columns
    }

    /// Returns the lowest and the highest height that the surface may have in the columns x0 ≤ x <
    /// x0 + `n`, z0 ≤ z < z0 + `n`: those of all samples that its splines use, which clamp to them.
    pub(super) fn range_in(&self, x0: i64, z0: i64, n: i64) -> [f64; 2] {
        let [xs, zs] = [(0, x0), (1, z0)].map(|(axis, start)| {
            let [first, last] = [start - 1, start + n].map(|i| self.taps(axis, i).samples);
            first[0]..last[3] + 1
        });
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for z in zs {
            for &height in &self.values[z * self.size[0]..][xs.clone()] {
                (low, high) = (low.min(height), high.max(height));
            }
        }
        [low.into(), high.into()]
    }

    /// Returns the four samples around the centre of column `i` of an axis, and its position
    /// between the second and the third.
    fn taps(&self, axis: usize, i: i64) -> SplineTaps {
        let last = self.size[axis] as i64 - 1;
        let i = i.clamp(0, i64::from(self.columns[axis]) - 1);
        let at = (i as f64 + 0.5) / self.scale[axis] - 0.5;
        let first = at.floor();
        let t = at - first;
        let sample = |k: i64| (first as i64 - 1 + k).clamp(0, last) as usize;
        SplineTaps { samples: [sample(0), sample(1), sample(2), sample(3)], t }
    }

    fn height(&self, x: &SplineTaps, z: &SplineTaps) -> f64 {
        let along = z.samples.map(|sample| {
            let row = &self.values[sample * self.size[0]..][..self.size[0]];
            cubic(x.samples.map(|sample| f64::from(row[sample])), x.t)
        });
        cubic(along, z.t)
    }
}

/// Evaluates the spline through four values, clamped to their range. `t` is 0 at the second and 1
/// at the third.
#[inline]
fn cubic([a, b, c, d]: [f64; 4], t: f64) -> f64 {
    let (start, end) = ((c - a) / 2.0, (d - b) / 2.0);
    let rise = c - b;
    let curve = 3.0 * rise - 2.0 * start - end + t * (start + end - 2.0 * rise);
    let (low, high) = (a.min(b).min(c.min(d)), a.max(b).max(c.max(d)));
    (b + t * (start + t * curve)).max(low).min(high)
}

/// The samples that a spline interpolates along an axis.
struct SplineTaps {
    /// Indices of the samples.
    samples: [usize; 4],
    /// Position between the second sample, 0, and the third, 1.
    t: f64,
}

/// Returns the column at index `i` of `heights`, whose rows are `stride` long.
fn column(heights: &[f64], i: usize, stride: usize) -> SurfaceColumn {
    let dx = (heights[i + 1] - heights[i - 1]) / 2.0;
    let dz = (heights[i + stride] - heights[i - stride]) / 2.0;
    let mut neighbour_range = [f64::INFINITY, f64::NEG_INFINITY];
    for row in [i - stride, i, i + stride] {
        for &height in &heights[row - 1..=row + 1] {
            neighbour_range = [neighbour_range[0].min(height), neighbour_range[1].max(height)];
        }
    }
    SurfaceColumn { height: heights[i], slope: (dx * dx + dz * dz).sqrt(), neighbour_range }
}

/// Averages samples if there are more than `max_size` along an axis; returns them and their size.
fn downsample(values: Vec<f32>, size: [usize; 2], max_size: [usize; 2]) -> (Vec<f32>, [usize; 2]) {
    let to = [size[0].min(max_size[0]), size[1].min(max_size[1])];
    if to == size {
        return (values, size);
    }
    let range = |axis: usize, i: usize| {
        let start = i * size[axis] / to[axis];
        let end = ((i + 1) * size[axis]).div_ceil(to[axis]);
        start..end
    };
    let mut out = Vec::with_capacity(to[0] * to[1]);
    for z in 0..to[1] {
        for x in 0..to[0] {
            let (mut sum, mut count) = (0.0, 0u32);
            for z in range(1, z) {
                for &value in &values[z * size[0]..][range(0, x)] {
                    sum += f64::from(value);
                    count += 1;
                }
            }
            out.push((sum / f64::from(count)) as f32);
        }
    }
    (out, to)
}

/// Moves each value toward the mean of its four neighbours, staying within `tolerance` of where it
/// was.
fn smooth_within(values: &mut [f32], size: [usize; 2], tolerance: f32) {
    let original = values.to_vec();
    let [w, d] = size;
    // The current row and the previous one, as they were before the round.
    let (mut current, mut previous) = (vec![0.0; w], vec![0.0; w]);
    for _ in 0..SMOOTHING_ROUNDS {
        previous.copy_from_slice(&values[..w]);
        for z in 0..d {
            current.copy_from_slice(&values[z * w..][..w]);
            let next = (z + 1).min(d - 1) * w;
            for x in 0..w {
                let below = if z + 1 < d { values[next + x] } else { current[x] };
                let sum = current[x.saturating_sub(1)]
                    + current[(x + 1).min(w - 1)]
                    + previous[x]
                    + below;
                let i = z * w + x;
                let smooth = current[x] + (sum / 4.0 - current[x]) * SMOOTHING_RATE;
                values[i] = smooth.clamp(original[i] - tolerance, original[i] + tolerance);
            }
            std::mem::swap(&mut current, &mut previous);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(voxels_per_sample: f64, height_voxels: f64) -> HeightmapOptions {
        HeightmapOptions { voxels_per_sample, height_voxels, ..HeightmapOptions::default() }
    }

    fn surface(size: [usize; 2], values: Vec<f32>, options: &HeightmapOptions) -> HeightSurface {
        HeightSurface::new(Heights::new(size, values).unwrap(), options).unwrap()
    }

    #[test]
    fn a_slope_stays_a_plane_at_any_scale() {
        let values = (0..16 * 8).map(|i| (i % 16) as f32 / 16.0).collect();
        let surface = surface([16, 8], values, &options(4.0, 64.0));
        assert_eq!(surface.columns(), [64, 32]);
        let block = surface.block(0, 0, 32);
        for x in 9..32 {
            let column = block[x + 32 * 16];
            // One voxel of height a voxel, exact at the middle of samples.
            assert!((column.height - (x as f64 + 0.5 - 2.0)).abs() < 1e-5, "{x} {column:?}");
            assert!((column.slope - 1.0).abs() < 1e-5);
            assert!((column.neighbour_range[1] - column.height - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_surface_passes_through_its_samples_without_creases() {
        let values: Vec<f32> = (0..81).map(|i| ((i * 37) % 17) as f32 / 17.0).collect();
        let surface = surface([9, 9], values.clone(), &options(5.0, 10.0));
        let block = surface.block(0, 0, 45);
        for z in 0..9 {
            for x in 0..9 {
                let column = block[x * 5 + 2 + 45 * (z * 5 + 2)];
                assert!((column.height - f64::from(values[x + 9 * z]) * 10.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_plateau_beside_a_cliff_stays_flat_and_nothing_overshoots() {
        let values = [0.2, 0.2, 0.2, 1.0, 1.0, 0.9, 0.0, 0.0].repeat(3);
        let surface = surface([8, 3], values, &options(6.0, 100.0));
        let block = surface.block(0, 0, 48);
        for column in block.iter().take(48 * 18) {
            assert!((0.0..=100.0).contains(&column.height), "{column:?}");
        }
        assert!((0..14).all(|x| (block[x].height - 20.0).abs() < 1e-5));
    }

    #[test]
    fn blocks_agree_where_they_overlap_and_beyond_the_edge() {
        let values: Vec<f32> = (0..64).map(|i| ((i * 29) % 13) as f32 / 13.0).collect();
        let surface = surface([8, 8], values, &options(3.0, 20.0));
        let (a, b) = (surface.block(-4, -4, 32), surface.block(0, 2, 32));
        for z in 0..10 {
            for x in 0..20 {
                assert_eq!(a[x + 4 + 32 * (z + 6)], b[x + 32 * z]);
            }
        }
        assert_eq!(a[0].slope, 0.0);
        assert_eq!(a[0].height, a[4 + 32 * 4].height);
    }

    #[test]
    fn fine_samples_are_averaged() {
        let values = (0..100).map(|i| if (i + i / 10) % 2 == 0 { 0.0 } else { 1.0 }).collect();
        let surface = surface([10, 10], values, &options(0.2, 8.0));
        assert_eq!(surface.columns(), [2, 2]);
        assert!(surface.block(0, 0, 2).iter().all(|column| (column.height - 4.0).abs() < 0.17));
    }

    #[test]
    fn eight_bit_steps_become_a_slope_and_stay_within_half_a_step() {
        let step = 1.0 / 255.0;
        let truth = |x: usize| x as f32 * step / 6.0 + 0.2;
        let quantized = |x: usize| (truth(x) * 255.0).round() / 255.0;
        let values: Vec<f32> = (0..80 * 4).map(|i| quantized(i % 80)).collect();
        let heights = Heights { size: [80, 4], values: values.clone(), step };
        let surface = HeightSurface::new(heights, &options(1.0, 255.0)).unwrap();
        let mut worst = [0f32; 2];
        for x in 10..70 {
            let slope = |at: &dyn Fn(usize) -> f32| (at(x + 1) - at(x)) * 6.0;
            worst[0] = worst[0].max((slope(&|x| values[x] * 255.0) - 1.0).abs());
            worst[1] = worst[1].max((slope(&|x| surface.values[x]) - 1.0).abs());
            assert!((surface.values[x] - values[x] * 255.0).abs() <= 0.5001);
        }
        assert!(worst[0] > 4.9 && worst[1] < 0.4, "{worst:?}");
    }

    #[test]
    fn heights_beyond_a_grid_are_refused() {
        for value in [f32::MAX, f32::MIN] {
            let heights = Heights::new([2, 1], vec![0.0, value]).unwrap();
            let error = HeightSurface::new(heights, &options(1.0, 64.0)).err().unwrap();
            assert!(matches!(error, HeightmapError::TooHigh { .. }), "{error}");
        }
    }

    #[test]
    fn worlds_too_wide_are_refused() {
        let heights = Heights::new([100, 1], vec![0.0; 100]).unwrap();
        let error = HeightSurface::new(heights, &options(1000.0, 1.0)).err().unwrap();
        assert_eq!(error, HeightmapError::TooWide { voxels: 100_000 });
    }
}
