//! Gradient noise for lists of points, eight at a time, in f32.
//!
//! Points are relative to an anchor: the lattice is looked up in f64 once for all of them, so that
//! points far from the origin are as distinct as those beside it. A value depends on its point and
//! on the anchor only, never on the other points of the list.

use crate::generate::noise::hash;
use crate::math::lanes::{F32x8, InstructionSet, Simd, SimdJob};

/// Scales most values to ±1.
const SCALE: f32 = 1.5;

/// Adding and subtracting it rounds an f32 below 2²² to an integer.
const ROUNDING: f32 = 12_582_912.0;

/// Points of the plane, voxels from an anchor; as many as a multiple of eight.
pub(super) struct Points {
    /// The point that the others are relative to, voxels.
    pub anchor: [f64; 2],
    pub xs: Vec<f32>,
    pub zs: Vec<f32>,
    /// The least and the greatest coordinate along x and z. Every noise asks for it, so it is
    /// computed once.
    bounds: [[f32; 2]; 2],
}

impl Points {
    /// As many points as a multiple of eight; the last is repeated up to there.
    pub fn new(anchor: [f64; 2], mut xs: Vec<f32>, mut zs: Vec<f32>) -> Points {
        for values in [&mut xs, &mut zs] {
            let last = values.last().copied().unwrap_or_default();
            values.resize(values.len().next_multiple_of(8), last);
        }
        let bounds = [&xs, &zs].map(|values| range(values));
        Points { anchor, xs, zs, bounds }
    }

    pub fn len(&self) -> usize {
        self.xs.len()
    }

    /// The least and the greatest coordinate along x and z.
    pub fn bounds(&self) -> [[f32; 2]; 2] {
        self.bounds
    }
}

/// The least and the greatest of a multiple of eight numbers, lane by lane so that no number waits
/// for the last.
fn range(values: &[f32]) -> [f32; 2] {
    let (mut low, mut high) = ([f32::INFINITY; 8], [f32::NEG_INFINITY; 8]);
    for lanes in values.chunks_exact(8) {
        for i in 0..8 {
            low[i] = if lanes[i] < low[i] { lanes[i] } else { low[i] };
            high[i] = if lanes[i] > high[i] { lanes[i] } else { high[i] };
        }
    }
    [low.into_iter().fold(low[0], f32::min), high.into_iter().fold(high[0], f32::max)]
}

/// A noise: a seed, and the width of a hill and its valley in voxels.
#[derive(Clone, Copy)]
pub(super) struct NoiseLayer {
    pub seed: u64,
    pub period: f64,
}

/// The part of a lattice that a list of points touches.
struct Window<T> {
    /// Lattice point of index 0, relative to that at or below the anchor.
    low: [i32; 2],
    width: usize,
    points: Vec<T>,
    /// Lattice units per voxel, and those from a lattice point to the anchor.
    per_voxel: f32,
    start: [f32; 2],
}

impl<T> Window<T> {
    /// Looks up the lattice, with `margin` more points on each side.
    fn new(
        points: &Points,
        octave: NoiseLayer,
        margin: i32,
        at: impl Fn(i64, i64) -> T,
    ) -> Window<T> {
        let per_voxel = (1.0 / octave.period) as f32;
        let place = points.anchor.map(|v| v / octave.period);
        let floor = place.map(f64::floor);
        let start = [0, 1].map(|axis| (place[axis] - floor[axis]) as f32);
        let bounds = points.bounds();
        let ends =
            [0, 1].map(|axis| bounds[axis].map(|v| (v * per_voxel + start[axis]).floor() as i32));
        let low = ends.map(|[low, _]| low - margin);
        let [width, depth] =
            [0, 1].map(|axis| (ends[axis][1] + 1 + margin - low[axis]) as usize + 1);
        let mut table = Vec::with_capacity(width * depth);
        for z in 0..depth as i64 {
            for x in 0..width as i64 {
                let [x, z] = [
                    (floor[0] as i64).wrapping_add(i64::from(low[0]) + x),
                    (floor[1] as i64).wrapping_add(i64::from(low[1]) + z),
                ];
                table.push(at(x, z));
            }
        }
        Window { low, width, points: table, per_voxel, start }
    }

    /// Index of a lattice point.
    #[inline(always)]
    fn index(&self, u: f32, w: f32) -> usize {
        (u as i32 - self.low[0]) as usize + (w as i32 - self.low[1]) as usize * self.width
    }
}

/// Largest integers that are not above the lanes.
#[inline(always)]
fn floor<S: Simd>(simd: S, v: S::F) -> S::F {
    let nearest = (v + simd.splat(ROUNDING)) - simd.splat(ROUNDING);
    nearest - simd.splat(1.0).and(nearest.gt(v))
}

/// Whether all lanes are the same number.
#[inline(always)]
fn is_uniform<S: Simd>(simd: S, v: S::F, first: f32) -> bool {
    let first = simd.splat(first);
    v.gt(first).bitmask() | v.lt(first).bitmask() == 0
}

#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f32], at: usize) -> S::F {
    let mut lanes = [0.0; 8];
    lanes.copy_from_slice(&from[at..at + 8]);
    simd.load(&lanes)
}

#[inline(always)]
fn store<F: F32x8>(value: F, to: &mut [f32], at: usize) {
    let mut lanes = [0.0; 8];
    value.store(&mut lanes);
    to[at..at + 8].copy_from_slice(&lanes);
}

/// Noise, and its slope along x and z per voxel.
#[derive(Default)]
pub(super) struct Slopes {
    pub value: Vec<f32>,
    pub slope_x: Vec<f32>,
    pub slope_z: Vec<f32>,
}

/// Returns the noise at all points.
pub(super) fn values(points: &Points, octave: NoiseLayer) -> Vec<f32> {
    let mut out = vec![0.0; points.len()];
    let window = gradients(points, octave);
    InstructionSet::widest().run(ValueJob { points, window: &window, added: None, out: &mut out });
    out
}

/// Adds `amplitude` times the noise at all points.
pub(super) fn add(points: &Points, octave: NoiseLayer, amplitude: f32, out: &mut [f32]) {
    let (window, added) = (gradients(points, octave), Some(amplitude));
    InstructionSet::widest().run(ValueJob { points, window: &window, added, out });
}

/// Returns the noise and its slope at all points.
pub(super) fn slopes(points: &Points, octave: NoiseLayer) -> Slopes {
    let [value, slope_x, slope_z] = [0; 3].map(|_| vec![0.0; points.len()]);
    let mut out = Slopes { value, slope_x, slope_z };
    let window = gradients(points, octave);
    InstructionSet::widest().run(SlopeJob { points, window: &window, out: &mut out });
    out
}

fn gradients(points: &Points, octave: NoiseLayer) -> Window<[f32; 2]> {
    Window::new(points, octave, 0, |x, z| {
        let h = hash(octave.seed, x, 0, z);
        [h & 0xffff, h >> 16].map(|bits| SCALE * (bits as f32 / 32768.0 - 1.0))
    })
}

/// Eight points on the lattice.
struct NoiseLanes<F> {
    /// Gradients at the corners: x first, then z.
    gradients: [[F; 2]; 4],
    u: F,
    w: F,
}

impl<F: F32x8> NoiseLanes<F> {
    #[inline(always)]
    fn at<S: Simd<F = F>>(simd: S, points: &Points, window: &Window<[f32; 2]>, i: usize) -> Self {
        let scale = simd.splat(window.per_voxel);
        let u = load(simd, &points.xs, i) * scale + simd.splat(window.start[0]);
        let w = load(simd, &points.zs, i) * scale + simd.splat(window.start[1]);
        let (floor_u, floor_w) = (floor(simd, u), floor(simd, w));
        let [mut us, mut ws] = [[0.0; 8]; 2];
        floor_u.store(&mut us);
        floor_w.store(&mut ws);
        let corners = [0, 1, window.width, window.width + 1];
        let mut gradients = [[simd.splat(0.0); 2]; 4];
        if is_uniform(simd, floor_u, us[0]) && is_uniform(simd, floor_w, ws[0]) {
            let at = window.index(us[0], ws[0]);
            for corner in 0..4 {
                let [x, z] = window.points[at + corners[corner]];
                gradients[corner] = [simd.splat(x), simd.splat(z)];
            }
        } else {
            let mut gathered = [[[0.0; 8]; 2]; 4];
            for lane in 0..8 {
                let at = window.index(us[lane], ws[lane]);
                for corner in 0..4 {
                    let [x, z] = window.points[at + corners[corner]];
                    gathered[corner][0][lane] = x;
                    gathered[corner][1][lane] = z;
                }
            }
            for corner in 0..4 {
                gradients[corner] =
                    [simd.load(&gathered[corner][0]), simd.load(&gathered[corner][1])];
            }
        }
        NoiseLanes { gradients, u: u - floor_u, w: w - floor_w }
    }

    /// What the corners say: the first, and what the others add along u, w and both.
    #[inline(always)]
    fn planes<S: Simd<F = F>>(&self, simd: S) -> [F; 4] {
        let one = simd.splat(1.0);
        let NoiseLanes { gradients: g, u, w } = self;
        let (u, w) = (*u, *w);
        let a = g[0][0] * u + g[0][1] * w;
        let b = g[1][0] * (u - one) + g[1][1] * w;
        let c = g[2][0] * u + g[2][1] * (w - one);
        let d = g[3][0] * (u - one) + g[3][1] * (w - one);
        [a, b - a, c - a, (a - b) + (d - c)]
    }
}

/// t³ (t (6 t − 15) + 10).
#[inline(always)]
fn fade<S: Simd>(simd: S, t: S::F) -> S::F {
    let inner = t * (t * simd.splat(6.0) - simd.splat(15.0)) + simd.splat(10.0);
    t * t * t * inner
}

/// The slope of [`fade`].
#[inline(always)]
fn fade_slope<S: Simd>(simd: S, t: S::F) -> S::F {
    let rest = t - simd.splat(1.0);
    simd.splat(30.0) * (t * t) * (rest * rest)
}

struct ValueJob<'a> {
    points: &'a Points,
    window: &'a Window<[f32; 2]>,
    /// The factor of what is added to `out`; `None` to replace it.
    added: Option<f32>,
    out: &'a mut [f32],
}

impl<S: Simd> SimdJob<S> for ValueJob<'_> {
    #[inline(always)]
    fn run(self, simd: S) {
        let mut i = 0;
        while i < self.out.len() {
            let lanes = NoiseLanes::at(simd, self.points, self.window, i);
            let [a, along_u, along_w, both] = lanes.planes(simd);
            let (u, w) = (fade(simd, lanes.u), fade(simd, lanes.w));
            let value = a + u * along_u + w * (along_w + u * both);
            let value = match self.added {
                Some(factor) => load(simd, self.out, i) + simd.splat(factor) * value,
                None => value,
            };
            store(value, self.out, i);
            i += 8;
        }
    }
}

struct SlopeJob<'a> {
    points: &'a Points,
    window: &'a Window<[f32; 2]>,
    out: &'a mut Slopes,
}

impl<S: Simd> SimdJob<S> for SlopeJob<'_> {
    #[inline(always)]
    fn run(self, simd: S) {
        let scale = simd.splat(self.window.per_voxel);
        let mut i = 0;
        while i < self.out.value.len() {
            let lanes = NoiseLanes::at(simd, self.points, self.window, i);
            let [a, along_u, along_w, both] = lanes.planes(simd);
            let (u, w) = (fade(simd, lanes.u), fade(simd, lanes.w));
            let (steep_u, steep_w) = (fade_slope(simd, lanes.u), fade_slope(simd, lanes.w));
            let g = &lanes.gradients;
            let mut slopes = [simd.splat(0.0); 2];
            for axis in 0..2 {
                let (p, q, r, s) = (g[0][axis], g[1][axis], g[2][axis], g[3][axis]);
                slopes[axis] = p + u * (q - p) + w * ((r - p) + u * ((p - q) + (s - r)));
            }
            store(a + u * along_u + w * (along_w + u * both), &mut self.out.value, i);
            let x = slopes[0] + steep_u * (along_u + w * both);
            let z = slopes[1] + steep_w * (along_w + u * both);
            store(x * scale, &mut self.out.slope_x, i);
            store(z * scale, &mut self.out.slope_z, i);
            i += 8;
        }
    }
}

/// Half the width of what a pivot reaches, in lattice units: any point has a pivot nearer than
/// that, and none of those within it is in a cell that does not touch the point's.
const PIVOT_REACH: f32 = 1.2;

/// Stripes across the contour lines of a slope: gullies and the ridges between them.
///
/// Each cell of a lattice has a pivot with a wave through it that varies along the contour line, so
/// that its crests run downhill; a point blends the waves of the pivots around it (directional
/// noise: Clay John's eroded terrain noise, and R. S. Johansen's account of it, 2025). Values lie
/// between −2/3 and 4/3.
///
/// `steep_x` and `steep_z` are the direction uphill, of a length of at most 1: flat ground gets no
/// stripes. Returns the waves and their slope.
pub(super) fn gullies(
    points: &Points,
    octave: NoiseLayer,
    steep_x: &[f32],
    steep_z: &[f32],
) -> Slopes {
    let [value, slope_x, slope_z] = [0; 3].map(|_| vec![0.0; points.len()]);
    let mut out = Slopes { value, slope_x, slope_z };
    let window = Window::new(points, octave, 1, |x, z| {
        let h = hash(octave.seed, x, 1, z);
        [h & 0xffff, h >> 16].map(|bits| 0.2 + 0.6 * (bits as f32 / 65536.0))
    });
    InstructionSet::widest().run(GullyJob {
        points,
        window: &window,
        steep_x,
        steep_z,
        out: &mut out,
    });
    out
}

struct GullyJob<'a> {
    points: &'a Points,
    /// The pivots in their cells.
    window: &'a Window<[f32; 2]>,
    steep_x: &'a [f32],
    steep_z: &'a [f32],
    out: &'a mut Slopes,
}

impl<S: Simd> SimdJob<S> for GullyJob<'_> {
    #[inline(always)]
    fn run(self, simd: S) {
        let scale = simd.splat(self.window.per_voxel);
        let [zero, half, one] = [0.0, 0.5, 1.0].map(|v| simd.splat(v));
        let reach = simd.splat(1.0 / (PIVOT_REACH * PIVOT_REACH));
        let mut i = 0;
        while i < self.out.value.len() {
            let u = load(simd, &self.points.xs, i) * scale + simd.splat(self.window.start[0]);
            let w = load(simd, &self.points.zs, i) * scale + simd.splat(self.window.start[1]);
            let (floor_u, floor_w) = (floor(simd, u), floor(simd, w));
            let [mut us, mut ws] = [[0.0; 8]; 2];
            floor_u.store(&mut us);
            floor_w.store(&mut ws);
            let mut at = [0; 8];
            for lane in 0..8 {
                at[lane] = self.window.index(us[lane], ws[lane]);
            }
            let (u, w) = (u - floor_u, w - floor_w);
            // Along the contour line.
            let side_x = zero - load(simd, self.steep_z, i);
            let side_z = load(simd, self.steep_x, i);
            let [mut weights, mut waves, mut turns] = [zero; 3];
            for cell in 0..9 {
                let (dx, dz) = (cell % 3, cell / 3);
                let [mut pivot_x, mut pivot_z] = [[0.0; 8]; 2];
                let offset = dz * self.window.width + dx;
                for lane in 0..8 {
                    let pivot = self.window.points[at[lane] + offset - self.window.width - 1];
                    pivot_x[lane] = pivot[0];
                    pivot_z[lane] = pivot[1];
                }
                let x = u - (simd.load(&pivot_x) + simd.splat(dx as f32 - 1.0));
                let z = w - (simd.load(&pivot_z) + simd.splat(dz as f32 - 1.0));
                let near = (one - (x * x + z * z) * reach).max(zero);
                let weight = near * near * near;
                let phase = x * side_x + z * side_z;
                // Parabolas: sharp crests at whole phases, round beds halfway; 0 on average.
                let t = phase - floor(simd, phase) - half;
                let wave = t * t * simd.splat(8.0) - simd.splat(2.0 / 3.0);
                // The slope of a wave without the crest: what follows it must not jump there.
                let turn = t * (half - t.abs()) * simd.splat(64.0);
                weights = weights + weight;
                waves = waves + weight * wave;
                turns = turns + weight * turn;
            }
            let turns = turns / weights * scale;
            store(waves / weights, &mut self.out.value, i);
            store(turns * side_x, &mut self.out.slope_x, i);
            store(turns * side_z, &mut self.out.slope_z, i);
            i += 8;
        }
    }
}
