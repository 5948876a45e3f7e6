//! Eight lanes of f32 and masks of bytes: AVX2 where it is, SSE2 on every other x86-64,
//! plain arrays elsewhere. All give the same bits.
//!
//! Code that is generic over [`Machine`] must be `#[inline(always)]` down from
//! [`Machine::run`], and free of closures that would stay calls: only then is it
//! compiled with the features of the machine.
#![allow(unsafe_code)]

use std::ops::{Add, Div, Mul, Sub};

/// Eight f32. Comparisons give masks: all bits of a lane set, or none.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Square roots.
    fn sqrt(self) -> Self;
    /// The larger of each lane; `other` where they are equal.
    fn larger(self, other: Self) -> Self;
    /// The smaller of each lane; `other` where they are equal.
    fn smaller(self, other: Self) -> Self;
    /// Mask of the lanes in which `self` is greater.
    fn above(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, mask: Self) -> Self;
    /// `self` where `mask` is set, else `other`; every lane of the mask is all or none.
    fn or_else(self, mask: Self, other: Self) -> Self;
    /// Magnitudes.
    fn magnitude(self) -> Self;
    /// With the signs turned of the lanes where `signs` is −0; the others are +0.
    fn turned_by(self, signs: Self) -> Self;
}

/// What the mesher needs from the processor. A value of such a type proves that its
/// instructions are there.
pub(crate) trait Machine: Copy {
    /// Eight f32.
    type F: Lanes;
    /// Runs a job compiled for this machine.
    fn run<J: Job>(self, job: J);
    /// All lanes the same.
    fn splat(self, value: f32) -> Self::F;
    /// From memory.
    fn load(self, from: &[f32; 8]) -> Self::F;
    /// From small integers.
    fn load_i16(self, from: &[i16; 8]) -> Self::F;
    /// Mask of the lanes in which `values` has any of `bits`.
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Self::F;
    /// Rows of a table by the low byte of each lane, turned into columns.
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Self::F; 4];
    /// Rows of a table by the low byte of each of four lanes (those of one half of
    /// `at`), turned into columns that hold them twice.
    fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Self::F; 4];
    /// Mask: the four values of one half of `values` have any of the first bits; once
    /// more, of the second bits.
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Self::F;
    /// For four lanes (one half) of list `list` the picked rows, and once more those
    /// behind them, turned into columns.
    fn pairs(self, picked: &Picked<'_>, list: usize, half: usize) -> [Self::F; 4];
    /// The sums of the low and high lanes of `low`, then of `high`.
    fn add_halves(self, low: Self::F, high: Self::F) -> Self::F;
    /// Columns, turned into eight rows.
    fn put_rows(self, columns: [Self::F; 4], out: &mut [[f32; 4]; 8]);
    /// Bit per byte: it is at least `least`, which is not 0.
    fn at_least(self, bytes: &[u8; 32], least: u8) -> u32;
    /// Bit per byte: it equals `value`.
    fn equal(self, bytes: &[u8; 32], value: u8) -> u32;
    /// Stencil values: `stored` + 1, at most 255, where `least <= material <= most`,
    /// else 0. `least` is not 0.
    fn stencil(self, material: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32];
    /// Falling gradients x, y, z of 16 cells, Sobel sums. `values` are stencil values
    /// from the row before in z and y on, from the cell before in x on; `steps` lead to
    /// the next row in z and in y.
    ///
    /// # Panics
    /// If the last of the nine rows has fewer than 18 values.
    fn sobel(self, values: &[u8], steps: [usize; 2]) -> [[i16; 16]; 3];
    /// Writes six indices a quad, split along the shorter diagonal.
    ///
    /// # Panics
    /// If a quad names a vertex without position, or `out` has not 6 entries a quad.
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]);
}

/// Pairs of rows of a table for eight lanes of four lists, all known to be in the table.
pub(crate) struct Picked<'a> {
    table: &'a [[f32; 4]],
    at: &'a [[u32; 8]; 4],
}

impl<'a> Picked<'a> {
    /// The rows `at[list][lane]` of `table` and those behind them.
    ///
    /// # Panics
    /// If one is not there.
    #[inline(always)]
    pub(crate) fn new(table: &'a [[f32; 4]], at: &'a [[u32; 8]; 4]) -> Picked<'a> {
        let mut most = [0; 8];
        for rows in at {
            for lane in 0..8 {
                most[lane] = if rows[lane] > most[lane] { rows[lane] } else { most[lane] };
            }
        }
        let mut last = 0;
        for lane in 0..8 {
            last = if most[lane] > last { most[lane] } else { last };
        }
        assert!((last as usize) + 1 < table.len(), "rows {last} of {}", table.len());
        Picked { table, at }
    }
}

/// Work that is generic over the machine.
pub(crate) trait Job {
    /// Does it. Must be `#[inline(always)]`.
    fn run<M: Machine>(self, machine: M);
}

/// Runs a job with the features that are always there. A function of its own, so that
/// every job has all registers.
#[inline(never)]
fn run_alone<M: Machine, J: Job>(machine: M, job: J) {
    job.run(machine);
}

/// Plain arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

/// See [`Plain`].
#[derive(Clone, Copy)]
pub(crate) struct Plain8([f32; 8]);

macro_rules! plain_operator {
    ($trait:ident, $name:ident, $op:tt) => {
        impl $trait for Plain8 {
            type Output = Plain8;
            #[inline(always)]
            fn $name(self, other: Plain8) -> Plain8 {
                let mut out = self.0;
                for lane in 0..8 {
                    out[lane] = self.0[lane] $op other.0[lane];
                }
                Plain8(out)
            }
        }
    };
}
plain_operator!(Add, add, +);
plain_operator!(Sub, sub, -);
plain_operator!(Mul, mul, *);
plain_operator!(Div, div, /);

/// The sums of [`Machine::sobel`], from `row!(n)`, the differences and smoothed values
/// along x of row `n`, and operations on 16 numbers.
macro_rules! sobel_sums {
    ($row:ident, $add:ident, $sub:ident, $twice:ident) => {{
        macro_rules! slice {
            ($n: expr) => {{
                let (a, b, c) = ($row!($n), $row!($n + 1), $row!($n + 2));
                (
                    $add!($add!(a.0, c.0), $twice!(b.0)),
                    $add!($add!(a.1, c.1), $twice!(b.1)),
                    $sub!(a.1, c.1),
                )
            }};
        }
        let (a, b, c) = (slice!(0), slice!(3), slice!(6));
        [
            $add!($add!(a.0, c.0), $twice!(b.0)),
            $sub!(a.1, c.1),
            $add!($add!(a.2, c.2), $twice!(b.2)),
        ]
    }};
}

macro_rules! plain_lanes {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $value:expr) => {{
        let (a, b) = ($a.0, $b.0);
        let mut out = a;
        for lane in 0..8 {
            let ($x, $y) = (a[lane], b[lane]);
            out[lane] = $value;
        }
        Plain8(out)
    }};
}

const ALL: f32 = f32::from_bits(u32::MAX);

impl Lanes for Plain8 {
    #[inline(always)]
    fn sqrt(self) -> Plain8 {
        plain_lanes!(self, self, |x, _y| x.sqrt())
    }
    #[inline(always)]
    fn larger(self, other: Plain8) -> Plain8 {
        plain_lanes!(self, other, |x, y| if x > y { x } else { y })
    }
    #[inline(always)]
    fn smaller(self, other: Plain8) -> Plain8 {
        plain_lanes!(self, other, |x, y| if x < y { x } else { y })
    }
    #[inline(always)]
    fn above(self, other: Plain8) -> Plain8 {
        plain_lanes!(self, other, |x, y| if x > y { ALL } else { 0.0 })
    }
    #[inline(always)]
    fn and(self, mask: Plain8) -> Plain8 {
        plain_lanes!(self, mask, |x, y| f32::from_bits(x.to_bits() & y.to_bits()))
    }
    #[inline(always)]
    fn or_else(self, mask: Plain8, other: Plain8) -> Plain8 {
        let mut out = self.0;
        for lane in 0..8 {
            let mask = mask.0[lane].to_bits();
            let (yes, no) = (self.0[lane].to_bits(), other.0[lane].to_bits());
            out[lane] = f32::from_bits((yes & mask) | (no & !mask));
        }
        Plain8(out)
    }
    #[inline(always)]
    fn turned_by(self, signs: Plain8) -> Plain8 {
        plain_lanes!(self, signs, |x, y| f32::from_bits(x.to_bits() ^ y.to_bits()))
    }
    #[inline(always)]
    fn magnitude(self) -> Plain8 {
        plain_lanes!(self, self, |x, _y| x.abs())
    }
}

/// Whether the first diagonal of a quad is not longer than the second.
#[inline(always)]
fn first_is_shorter(p: [[f32; 4]; 4]) -> bool {
    let mut square = [0.0; 2];
    for k in 0..2 {
        let d = [p[k][0] - p[k + 2][0], p[k][1] - p[k + 2][1], p[k][2] - p[k + 2][2]];
        square[k] = (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
    }
    square[0] <= square[1]
}

#[inline(always)]
fn split_plainly(quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
    assert_eq!(out.len(), 6 * quads.len());
    for (v, six) in quads.iter().zip(out.chunks_exact_mut(6)) {
        let mut p = [[0.0; 4]; 4];
        for k in 0..4 {
            p[k] = positions[v[k] as usize];
        }
        let [a, b, c, d] = if first_is_shorter(p) { *v } else { [v[1], v[2], v[3], v[0]] };
        six.copy_from_slice(&[a, b, c, a, c, d]);
    }
}

impl Machine for Plain {
    type F = Plain8;
    #[inline(always)]
    fn run<J: Job>(self, job: J) {
        run_alone(self, job);
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Plain8 {
        Plain8([value; 8])
    }
    #[inline(always)]
    fn load(self, from: &[f32; 8]) -> Plain8 {
        Plain8(*from)
    }
    #[inline(always)]
    fn load_i16(self, from: &[i16; 8]) -> Plain8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            out[lane] = f32::from(from[lane]);
        }
        Plain8(out)
    }
    #[inline(always)]
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Plain8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            out[lane] = if values[lane] & bits != 0 { ALL } else { 0.0 };
        }
        Plain8(out)
    }
    #[inline(always)]
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Plain8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = table[at[lane] as usize & 255];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [Plain8(out[0]), Plain8(out[1]), Plain8(out[2]), Plain8(out[3])]
    }
    #[inline(always)]
    fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Plain8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = table[at[4 * half + lane % 4] as usize & 255];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [Plain8(out[0]), Plain8(out[1]), Plain8(out[2]), Plain8(out[3])]
    }
    #[inline(always)]
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Plain8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            let found = values[4 * half + lane % 4] & bits[lane / 4];
            out[lane] = if found != 0 { ALL } else { 0.0 };
        }
        Plain8(out)
    }
    #[inline(always)]
    fn pairs(self, picked: &Picked<'_>, list: usize, half: usize) -> [Plain8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = picked.table[picked.at[list][4 * half + lane % 4] as usize + lane / 4];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [Plain8(out[0]), Plain8(out[1]), Plain8(out[2]), Plain8(out[3])]
    }
    #[inline(always)]
    fn add_halves(self, low: Plain8, high: Plain8) -> Plain8 {
        let mut out = [0.0; 8];
        for lane in 0..4 {
            out[lane] = low.0[lane] + low.0[lane + 4];
            out[lane + 4] = high.0[lane] + high.0[lane + 4];
        }
        Plain8(out)
    }
    #[inline(always)]
    fn put_rows(self, columns: [Plain8; 4], out: &mut [[f32; 4]; 8]) {
        for lane in 0..8 {
            for column in 0..4 {
                out[lane][column] = columns[column].0[lane];
            }
        }
    }
    #[inline(always)]
    fn at_least(self, bytes: &[u8; 32], least: u8) -> u32 {
        let mut mask = 0;
        for (i, &byte) in bytes.iter().enumerate() {
            mask |= u32::from(byte >= least) << i;
        }
        mask
    }
    #[inline(always)]
    fn equal(self, bytes: &[u8; 32], value: u8) -> u32 {
        let mut mask = 0;
        for (i, &byte) in bytes.iter().enumerate() {
            mask |= u32::from(byte == value) << i;
        }
        mask
    }
    #[inline(always)]
    fn sobel(self, values: &[u8], [z, y]: [usize; 2]) -> [[i16; 16]; 3] {
        assert!(values.len() >= 2 * y + 2 * z + 18);
        macro_rules! lanes {
            (|$i:ident| $value:expr) => {{
                let mut out = [0i16; 16];
                for $i in 0..16 {
                    out[$i] = $value;
                }
                out
            }};
        }
        macro_rules! add {
            ($a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                lanes!(|i| a[i] + b[i])
            }};
        }
        macro_rules! sub {
            ($a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                lanes!(|i| a[i] - b[i])
            }};
        }
        macro_rules! twice {
            ($a:expr) => {{
                let a = $a;
                lanes!(|i| 2 * a[i])
            }};
        }
        macro_rules! row {
            ($n:expr) => {{
                let from = $n / 3 * y + $n % 3 * z;
                let v = &values[from..from + 18];
                (
                    lanes!(|i| i16::from(v[i]) - i16::from(v[i + 2])),
                    lanes!(|i| i16::from(v[i]) + i16::from(v[i + 2]) + 2 * i16::from(v[i + 1])),
                )
            }};
        }
        sobel_sums!(row, add, sub, twice)
    }
    #[inline(always)]
    fn stencil(self, material: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        for i in 0..32 {
            let inside = least <= material[i] && material[i] <= most;
            out[i] = if inside { stored[i].saturating_add(1) } else { 0 };
        }
        out
    }
    #[inline(always)]
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
        split_plainly(quads, positions, out);
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Sse2};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;

    /// The baseline of x86-64.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Sse2;

    /// Exists only where AVX2, BMI1, BMI2 and POPCNT were detected.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Avx2(());

    /// Two halves.
    #[derive(Clone, Copy)]
    pub(crate) struct Sse8(__m128, __m128);

    /// Exists only where an [`Avx2`] does.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx8(__m256);

    impl Avx2 {
        /// The proof, if this machine has the instructions.
        pub(crate) fn detect() -> Option<Avx2> {
            let has = std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("bmi1")
                && std::arch::is_x86_feature_detected!("bmi2")
                && std::arch::is_x86_feature_detected!("popcnt");
            has.then_some(Avx2(()))
        }
    }

    macro_rules! operator {
        ($trait:ident, $name:ident, $sse:ident, $avx:ident) => {
            impl $trait for Sse8 {
                type Output = Sse8;
                #[inline(always)]
                fn $name(self, o: Sse8) -> Sse8 {
                    // SAFETY: SSE2 is part of x86-64.
                    unsafe { Sse8($sse(self.0, o.0), $sse(self.1, o.1)) }
                }
            }
            impl $trait for Avx8 {
                type Output = Avx8;
                #[inline(always)]
                fn $name(self, o: Avx8) -> Avx8 {
                    // SAFETY: an Avx8 exists only where AVX2 was detected.
                    unsafe { Avx8($avx(self.0, o.0)) }
                }
            }
        };
    }
    operator!(Add, add, _mm_add_ps, _mm256_add_ps);
    operator!(Sub, sub, _mm_sub_ps, _mm256_sub_ps);
    operator!(Mul, mul, _mm_mul_ps, _mm256_mul_ps);
    operator!(Div, div, _mm_div_ps, _mm256_div_ps);

    impl Lanes for Sse8 {
        #[inline(always)]
        fn sqrt(self) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_sqrt_ps(self.0), _mm_sqrt_ps(self.1)) }
        }
        #[inline(always)]
        fn larger(self, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_max_ps(self.0, o.0), _mm_max_ps(self.1, o.1)) }
        }
        #[inline(always)]
        fn smaller(self, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_min_ps(self.0, o.0), _mm_min_ps(self.1, o.1)) }
        }
        #[inline(always)]
        fn above(self, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_cmpgt_ps(self.0, o.0), _mm_cmpgt_ps(self.1, o.1)) }
        }
        #[inline(always)]
        fn and(self, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_and_ps(self.0, o.0), _mm_and_ps(self.1, o.1)) }
        }
        #[inline(always)]
        fn or_else(self, mask: Sse8, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                Sse8(
                    _mm_or_ps(_mm_and_ps(mask.0, self.0), _mm_andnot_ps(mask.0, o.0)),
                    _mm_or_ps(_mm_and_ps(mask.1, self.1), _mm_andnot_ps(mask.1, o.1)),
                )
            }
        }
        #[inline(always)]
        fn turned_by(self, o: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_xor_ps(self.0, o.0), _mm_xor_ps(self.1, o.1)) }
        }
        #[inline(always)]
        fn magnitude(self) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let sign = _mm_set1_ps(-0.0);
                Sse8(_mm_andnot_ps(sign, self.0), _mm_andnot_ps(sign, self.1))
            }
        }
    }

    impl Lanes for Avx8 {
        #[inline(always)]
        fn sqrt(self) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_sqrt_ps(self.0)) }
        }
        #[inline(always)]
        fn larger(self, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_max_ps(self.0, o.0)) }
        }
        #[inline(always)]
        fn smaller(self, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_min_ps(self.0, o.0)) }
        }
        #[inline(always)]
        fn above(self, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, o.0)) }
        }
        #[inline(always)]
        fn and(self, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_and_ps(self.0, o.0)) }
        }
        #[inline(always)]
        fn or_else(self, mask: Avx8, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_blendv_ps(o.0, self.0, mask.0)) }
        }
        #[inline(always)]
        fn turned_by(self, o: Avx8) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_xor_ps(self.0, o.0)) }
        }
        #[inline(always)]
        fn magnitude(self) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
        }
    }

    /// Four rows to four columns.
    ///
    /// # Safety
    /// None beyond SSE2.
    #[inline(always)]
    unsafe fn turn4(a: __m128, b: __m128, c: __m128, d: __m128) -> [__m128; 4] {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            let (ab2, cd2) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            [
                _mm_movelh_ps(ab, cd),
                _mm_movehl_ps(cd, ab),
                _mm_movelh_ps(ab2, cd2),
                _mm_movehl_ps(cd2, ab2),
            ]
        }
    }

    /// Four rows to four columns in each half.
    ///
    /// # Safety
    /// AVX2 must be there.
    #[inline(always)]
    unsafe fn turn8(a: __m256, b: __m256, c: __m256, d: __m256) -> [__m256; 4] {
        // SAFETY: the caller promises AVX2.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab2, cd2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            [
                _mm256_shuffle_ps::<0x44>(ab, cd),
                _mm256_shuffle_ps::<0xee>(ab, cd),
                _mm256_shuffle_ps::<0x44>(ab2, cd2),
                _mm256_shuffle_ps::<0xee>(ab2, cd2),
            ]
        }
    }

    macro_rules! sse_columns {
        ($row:ident) => {{
            let low = turn4($row!(0), $row!(1), $row!(2), $row!(3));
            let high = turn4($row!(4), $row!(5), $row!(6), $row!(7));
            [
                Sse8(low[0], high[0]),
                Sse8(low[1], high[1]),
                Sse8(low[2], high[2]),
                Sse8(low[3], high[3]),
            ]
        }};
    }

    macro_rules! avx_columns {
        ($row:ident) => {{
            let [a, b, c, d] = turn8(
                _mm256_loadu2_m128($row!(4), $row!(0)),
                _mm256_loadu2_m128($row!(5), $row!(1)),
                _mm256_loadu2_m128($row!(6), $row!(2)),
                _mm256_loadu2_m128($row!(7), $row!(3)),
            );
            [Avx8(a), Avx8(b), Avx8(c), Avx8(d)]
        }};
    }

    impl Machine for Sse2 {
        type F = Sse8;
        #[inline(always)]
        fn run<J: Job>(self, job: J) {
            run_alone(self, job);
        }
        #[inline(always)]
        fn splat(self, value: f32) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_set1_ps(value), _mm_set1_ps(value)) }
        }
        #[inline(always)]
        fn load(self, from: &[f32; 8]) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64; eight f32 are read.
            unsafe { Sse8(_mm_loadu_ps(from.as_ptr()), _mm_loadu_ps(from.as_ptr().add(4))) }
        }
        #[inline(always)]
        fn load_i16(self, from: &[i16; 8]) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64; 16 bytes are read.
            unsafe {
                let v = _mm_loadu_si128(from.as_ptr().cast());
                let low = _mm_srai_epi32::<16>(_mm_unpacklo_epi16(v, v));
                let high = _mm_srai_epi32::<16>(_mm_unpackhi_epi16(v, v));
                Sse8(_mm_cvtepi32_ps(low), _mm_cvtepi32_ps(high))
            }
        }
        #[inline(always)]
        fn any_bits(self, values: &[u32; 8], bits: u32) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64; eight u32 are read.
            unsafe {
                let bits = _mm_set1_epi32(bits as i32);
                let zero = _mm_setzero_si128();
                let ones = _mm_cmpeq_epi32(zero, zero);
                let low = _mm_and_si128(_mm_loadu_si128(values.as_ptr().cast()), bits);
                let high = _mm_and_si128(_mm_loadu_si128(values.as_ptr().add(4).cast()), bits);
                Sse8(
                    _mm_castsi128_ps(_mm_xor_si128(_mm_cmpeq_epi32(low, zero), ones)),
                    _mm_castsi128_ps(_mm_xor_si128(_mm_cmpeq_epi32(high, zero), ones)),
                )
            }
        }
        #[inline(always)]
        fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Sse8; 4] {
            // SAFETY: SSE2 is part of x86-64; a byte is less than 256.
            unsafe {
                macro_rules! row {
                    ($lane:expr) => {
                        _mm_loadu_ps(table.as_ptr().add(at[$lane] as usize & 255).cast())
                    };
                }
                sse_columns!(row)
            }
        }
        #[inline(always)]
        fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Sse8; 4] {
            // SAFETY: SSE2 is part of x86-64; a byte is less than 256.
            unsafe {
                macro_rules! row {
                    ($lane:expr) => {
                        _mm_loadu_ps(table.as_ptr().add(at[4 * half + $lane] as usize & 255).cast())
                    };
                }
                let [a, b, c, d] = turn4(row!(0), row!(1), row!(2), row!(3));
                [Sse8(a, a), Sse8(b, b), Sse8(c, c), Sse8(d, d)]
            }
        }
        #[inline(always)]
        fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64; four u32 are read.
            unsafe {
                let from = values[4 * half..4 * half + 4].as_ptr();
                let v = _mm_loadu_si128(from.cast());
                let low = _mm_and_si128(v, _mm_set1_epi32(bits[0] as i32));
                let high = _mm_and_si128(v, _mm_set1_epi32(bits[1] as i32));
                let zero = _mm_setzero_si128();
                // Values and bits are below 2³¹, so "greater than 0" is "not 0".
                Sse8(
                    _mm_castsi128_ps(_mm_cmpgt_epi32(low, zero)),
                    _mm_castsi128_ps(_mm_cmpgt_epi32(high, zero)),
                )
            }
        }
        #[inline(always)]
        fn pairs(self, picked: &Picked<'_>, list: usize, half: usize) -> [Sse8; 4] {
            let at = &picked.at[list];
            // SAFETY: SSE2 is part of x86-64; a Picked has checked its rows and the next.
            unsafe {
                macro_rules! row {
                    ($lane:expr, $next:expr) => {
                        _mm_loadu_ps(
                            picked.table.as_ptr().add(at[4 * half + $lane] as usize + $next).cast(),
                        )
                    };
                }
                let low = turn4(row!(0, 0), row!(1, 0), row!(2, 0), row!(3, 0));
                let high = turn4(row!(0, 1), row!(1, 1), row!(2, 1), row!(3, 1));
                [
                    Sse8(low[0], high[0]),
                    Sse8(low[1], high[1]),
                    Sse8(low[2], high[2]),
                    Sse8(low[3], high[3]),
                ]
            }
        }
        #[inline(always)]
        fn add_halves(self, low: Sse8, high: Sse8) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { Sse8(_mm_add_ps(low.0, low.1), _mm_add_ps(high.0, high.1)) }
        }
        #[inline(always)]
        fn put_rows(self, c: [Sse8; 4], out: &mut [[f32; 4]; 8]) {
            // SAFETY: SSE2 is part of x86-64; eight rows of four f32 are written.
            unsafe {
                let low = turn4(c[0].0, c[1].0, c[2].0, c[3].0);
                let high = turn4(c[0].1, c[1].1, c[2].1, c[3].1);
                let to: *mut f32 = out.as_mut_ptr().cast();
                for lane in 0..4 {
                    _mm_storeu_ps(to.add(4 * lane), low[lane]);
                    _mm_storeu_ps(to.add(16 + 4 * lane), high[lane]);
                }
            }
        }
        #[inline(always)]
        fn at_least(self, bytes: &[u8; 32], least: u8) -> u32 {
            // SAFETY: SSE2 is part of x86-64; 32 bytes are read.
            unsafe {
                let least = _mm_set1_epi8(least as i8);
                let a = _mm_loadu_si128(bytes.as_ptr().cast());
                let b = _mm_loadu_si128(bytes.as_ptr().add(16).cast());
                let a = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(a, least), a)) as u32;
                let b = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(b, least), b)) as u32;
                a | b << 16
            }
        }
        #[inline(always)]
        fn equal(self, bytes: &[u8; 32], value: u8) -> u32 {
            // SAFETY: SSE2 is part of x86-64; 32 bytes are read.
            unsafe {
                let value = _mm_set1_epi8(value as i8);
                let a = _mm_loadu_si128(bytes.as_ptr().cast());
                let b = _mm_loadu_si128(bytes.as_ptr().add(16).cast());
                let a = _mm_movemask_epi8(_mm_cmpeq_epi8(a, value)) as u32;
                let b = _mm_movemask_epi8(_mm_cmpeq_epi8(b, value)) as u32;
                a | b << 16
            }
        }
        #[inline(always)]
        fn sobel(self, values: &[u8], [z, y]: [usize; 2]) -> [[i16; 16]; 3] {
            assert!(values.len() >= 2 * y + 2 * z + 18);
            let mut out = [[0; 16]; 3];
            // SAFETY: SSE2 is part of x86-64; 18 bytes of each row are read, which are there.
            unsafe {
                let zero = _mm_setzero_si128();
                for half in [0, 8] {
                    macro_rules! add {
                        ($a:expr, $b:expr) => {
                            _mm_add_epi16($a, $b)
                        };
                    }
                    macro_rules! sub {
                        ($a:expr, $b:expr) => {
                            _mm_sub_epi16($a, $b)
                        };
                    }
                    macro_rules! twice {
                        ($a:expr) => {
                            _mm_slli_epi16::<1>($a)
                        };
                    }
                    macro_rules! row {
                        ($n:expr) => {{
                            let from = values.as_ptr().add($n / 3 * y + $n % 3 * z + half);
                            let a = _mm_unpacklo_epi8(_mm_loadl_epi64(from.cast()), zero);
                            let b = _mm_unpacklo_epi8(_mm_loadl_epi64(from.add(1).cast()), zero);
                            let c = _mm_unpacklo_epi8(_mm_loadl_epi64(from.add(2).cast()), zero);
                            (sub!(a, c), add!(add!(a, c), twice!(b)))
                        }};
                    }
                    let sums = sobel_sums!(row, add, sub, twice);
                    for axis in 0..3 {
                        _mm_storeu_si128(out[axis].as_mut_ptr().add(half).cast(), sums[axis]);
                    }
                }
            }
            out
        }
        #[inline(always)]
        fn stencil(self, material: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
            let mut out = [0; 32];
            // SAFETY: SSE2 is part of x86-64; 32 bytes are read and written.
            unsafe {
                let least = _mm_set1_epi8(least as i8);
                let most = _mm_set1_epi8(most as i8);
                let one = _mm_set1_epi8(1);
                for half in [0, 16] {
                    let m = _mm_loadu_si128(material.as_ptr().add(half).cast());
                    let v = _mm_loadu_si128(stored.as_ptr().add(half).cast());
                    let bounded = _mm_min_epu8(_mm_max_epu8(m, least), most);
                    let v = _mm_and_si128(_mm_adds_epu8(v, one), _mm_cmpeq_epi8(bounded, m));
                    _mm_storeu_si128(out.as_mut_ptr().add(half).cast(), v);
                }
            }
            out
        }
        #[inline(always)]
        fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
            split_plainly(quads, positions, out);
        }
    }

    /// How a quad's vertices are listed when the second or the first diagonal is shorter.
    static ORDERS: [[u32; 8]; 2] = [[1, 2, 3, 1, 3, 0, 0, 0], [0, 1, 2, 0, 2, 3, 0, 0]];

    /// Runs a job with the features that [`Avx2`] proves.
    ///
    /// # Safety
    /// They must be there.
    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn run_avx2<J: Job>(machine: Avx2, job: J) {
        job.run(machine);
    }

    impl Machine for Avx2 {
        type F = Avx8;
        #[inline(always)]
        fn run<J: Job>(self, job: J) {
            // SAFETY: an Avx2 exists only where its features were detected.
            unsafe { run_avx2(self, job) }
        }
        #[inline(always)]
        fn splat(self, value: f32) -> Avx8 {
            // SAFETY: an Avx2 exists only where its features were detected.
            unsafe { Avx8(_mm256_set1_ps(value)) }
        }
        #[inline(always)]
        fn load(self, from: &[f32; 8]) -> Avx8 {
            // SAFETY: as above; eight f32 are read.
            unsafe { Avx8(_mm256_loadu_ps(from.as_ptr())) }
        }
        #[inline(always)]
        fn load_i16(self, from: &[i16; 8]) -> Avx8 {
            // SAFETY: as above; 16 bytes are read.
            unsafe {
                let v = _mm_loadu_si128(from.as_ptr().cast());
                Avx8(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(v)))
            }
        }
        #[inline(always)]
        fn any_bits(self, values: &[u32; 8], bits: u32) -> Avx8 {
            // SAFETY: as above; eight u32 are read.
            unsafe {
                let v = _mm256_loadu_si256(values.as_ptr().cast());
                let found = _mm256_and_si256(v, _mm256_set1_epi32(bits as i32));
                // Values and bits are below 2³¹, so "greater than 0" is "not 0".
                Avx8(_mm256_castsi256_ps(_mm256_cmpgt_epi32(found, _mm256_setzero_si256())))
            }
        }
        #[inline(always)]
        fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Avx8; 4] {
            // SAFETY: as above; a byte is less than 256.
            unsafe {
                macro_rules! row {
                    ($lane:expr) => {
                        table.as_ptr().add(at[$lane] as usize & 255).cast()
                    };
                }
                avx_columns!(row)
            }
        }
        #[inline(always)]
        fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Avx8; 4] {
            // SAFETY: as above; a byte is less than 256.
            unsafe {
                macro_rules! row {
                    ($lane:expr) => {{
                        let at = at[4 * half + $lane] as usize & 255;
                        let row = table.as_ptr().add(at).cast();
                        _mm256_loadu2_m128(row, row)
                    }};
                }
                let [a, b, c, d] = turn8(row!(0), row!(1), row!(2), row!(3));
                [Avx8(a), Avx8(b), Avx8(c), Avx8(d)]
            }
        }
        #[inline(always)]
        fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Avx8 {
            // SAFETY: as above; four u32 are read.
            unsafe {
                let from = values[4 * half..4 * half + 4].as_ptr();
                let v = _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()));
                let low = _mm_set1_epi32(bits[0] as i32);
                let both = _mm256_set_m128i(_mm_set1_epi32(bits[1] as i32), low);
                let found = _mm256_and_si256(v, both);
                // Values and bits are below 2³¹, so "greater than 0" is "not 0".
                Avx8(_mm256_castsi256_ps(_mm256_cmpgt_epi32(found, _mm256_setzero_si256())))
            }
        }
        #[inline(always)]
        fn pairs(self, picked: &Picked<'_>, list: usize, half: usize) -> [Avx8; 4] {
            let at = &picked.at[list];
            // SAFETY: as above; a Picked has checked its rows and the next.
            unsafe {
                macro_rules! pair {
                    ($lane:expr) => {
                        _mm256_loadu_ps(
                            picked.table.as_ptr().add(at[4 * half + $lane] as usize).cast(),
                        )
                    };
                }
                let [a, b, c, d] = turn8(pair!(0), pair!(1), pair!(2), pair!(3));
                [Avx8(a), Avx8(b), Avx8(c), Avx8(d)]
            }
        }
        #[inline(always)]
        fn add_halves(self, low: Avx8, high: Avx8) -> Avx8 {
            // SAFETY: as above.
            unsafe {
                let first = _mm256_permute2f128_ps::<0x20>(low.0, high.0);
                let second = _mm256_permute2f128_ps::<0x31>(low.0, high.0);
                Avx8(_mm256_add_ps(first, second))
            }
        }
        #[inline(always)]
        fn put_rows(self, c: [Avx8; 4], out: &mut [[f32; 4]; 8]) {
            // SAFETY: as above; eight rows of four f32 are written.
            unsafe {
                let rows = turn8(c[0].0, c[1].0, c[2].0, c[3].0);
                let to: *mut f32 = out.as_mut_ptr().cast();
                for lane in 0..4 {
                    _mm_storeu_ps(to.add(4 * lane), _mm256_castps256_ps128(rows[lane]));
                    let high = _mm256_extractf128_ps::<1>(rows[lane]);
                    _mm_storeu_ps(to.add(16 + 4 * lane), high);
                }
            }
        }
        #[inline(always)]
        fn at_least(self, bytes: &[u8; 32], least: u8) -> u32 {
            // SAFETY: as above; 32 bytes are read.
            unsafe {
                let v = _mm256_loadu_si256(bytes.as_ptr().cast());
                let most = _mm256_max_epu8(v, _mm256_set1_epi8(least as i8));
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(most, v)) as u32
            }
        }
        #[inline(always)]
        fn equal(self, bytes: &[u8; 32], value: u8) -> u32 {
            // SAFETY: as above; 32 bytes are read.
            unsafe {
                let v = _mm256_loadu_si256(bytes.as_ptr().cast());
                let value = _mm256_set1_epi8(value as i8);
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(v, value)) as u32
            }
        }
        #[inline(always)]
        fn sobel(self, values: &[u8], [z, y]: [usize; 2]) -> [[i16; 16]; 3] {
            assert!(values.len() >= 2 * y + 2 * z + 18);
            macro_rules! add {
                ($a:expr, $b:expr) => {
                    _mm256_add_epi16($a, $b)
                };
            }
            macro_rules! sub {
                ($a:expr, $b:expr) => {
                    _mm256_sub_epi16($a, $b)
                };
            }
            macro_rules! twice {
                ($a:expr) => {
                    _mm256_slli_epi16::<1>($a)
                };
            }
            macro_rules! row {
                ($n:expr) => {{
                    let from = values.as_ptr().add($n / 3 * y + $n % 3 * z);
                    let a = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.cast()));
                    let b = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.add(1).cast()));
                    let c = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.add(2).cast()));
                    (sub!(a, c), add!(add!(a, c), twice!(b)))
                }};
            }
            let mut out = [[0; 16]; 3];
            // SAFETY: as above; 18 bytes of each row are read, which are there.
            unsafe {
                let sums = sobel_sums!(row, add, sub, twice);
                for axis in 0..3 {
                    _mm256_storeu_si256(out[axis].as_mut_ptr().cast(), sums[axis]);
                }
            }
            out
        }
        #[inline(always)]
        fn stencil(self, material: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
            let mut out = [0; 32];
            // SAFETY: as above; 32 bytes are read and written.
            unsafe {
                let m = _mm256_loadu_si256(material.as_ptr().cast());
                let v = _mm256_loadu_si256(stored.as_ptr().cast());
                let above = _mm256_max_epu8(m, _mm256_set1_epi8(least as i8));
                let bounded = _mm256_min_epu8(above, _mm256_set1_epi8(most as i8));
                let v = _mm256_adds_epu8(v, _mm256_set1_epi8(1));
                let v = _mm256_and_si256(v, _mm256_cmpeq_epi8(bounded, m));
                _mm256_storeu_si256(out.as_mut_ptr().cast(), v);
            }
            out
        }
        #[inline(always)]
        fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
            assert_eq!(out.len(), 6 * quads.len());
            let (fours, rest) = quads.as_chunks::<4>();
            let (sixes, rest_out) = out.split_at_mut(24 * fours.len());
            for (four, out) in fours.iter().zip(sixes.as_chunks_mut::<24>().0) {
                let [p, q, r, s] = four.map(|v| v.map(|v| &positions[v as usize]));
                // SAFETY: as above; four f32 are read of each position, eight u32 are
                // written six apart, the last eight ending with the array.
                unsafe {
                    macro_rules! squares {
                        ($p:ident) => {{
                            let near = _mm256_loadu2_m128($p[1].as_ptr(), $p[0].as_ptr());
                            let far = _mm256_loadu2_m128($p[3].as_ptr(), $p[2].as_ptr());
                            let d = _mm256_sub_ps(near, far);
                            _mm256_mul_ps(d, d)
                        }};
                    }
                    let [x, y, z, _] = turn8(squares!(p), squares!(q), squares!(r), squares!(s));
                    let sum = _mm256_add_ps(_mm256_add_ps(x, y), z);
                    let first = _mm256_castps256_ps128(sum);
                    let second = _mm256_extractf128_ps::<1>(sum);
                    let shorter = _mm_movemask_ps(_mm_cmple_ps(first, second)) as usize;
                    for k in 0..4 {
                        let order = &ORDERS[shorter >> k & 1];
                        let order = _mm256_loadu_si256(order.as_ptr().cast());
                        let v = _mm256_castsi128_si256(_mm_loadu_si128(four[k].as_ptr().cast()));
                        let v = _mm256_permutevar8x32_epi32(v, order);
                        if k < 3 {
                            _mm256_storeu_si256(out.as_mut_ptr().add(6 * k).cast(), v);
                        } else {
                            let high = _mm256_extracti128_si256::<1>(v);
                            let to = out.as_mut_ptr().add(18);
                            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(v));
                            _mm_storel_epi64(to.add(4).cast(), high);
                        }
                    }
                }
            }
            split_plainly(rest, positions, rest_out);
        }
    }
}
