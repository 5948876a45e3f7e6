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
    /// To memory.
    fn to_array(self) -> [f32; 8];
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
    /// Rows of a table by lane, turned into columns.
    ///
    /// # Panics
    /// If a row is not in the table.
    fn rows(self, table: &[[f32; 4]], at: &[u32; 8]) -> [Self::F; 4];
    /// Columns, turned into eight rows.
    fn put_rows(self, columns: [Self::F; 4], out: &mut [[f32; 4]; 8]);
    /// Bit per byte: it is at least `least`, which is not 0.
    fn at_least(self, bytes: &[u8; 32], least: u8) -> u32;
    /// Bit per byte: it equals `value`.
    fn equal(self, bytes: &[u8; 32], value: u8) -> u32;
    /// Writes six indices a quad, split along the shorter diagonal.
    ///
    /// # Panics
    /// If a quad names a vertex without position, or `out` has not 6 entries a quad.
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]);
}

/// Work that is generic over the machine.
pub(crate) trait Job {
    /// Does it. Must be `#[inline(always)]`.
    fn run<M: Machine>(self, machine: M);
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
    fn magnitude(self) -> Plain8 {
        plain_lanes!(self, self, |x, _y| x.abs())
    }
    #[inline(always)]
    fn to_array(self) -> [f32; 8] {
        self.0
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
        job.run(self);
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
    fn rows(self, table: &[[f32; 4]], at: &[u32; 8]) -> [Plain8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = table[at[lane] as usize];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [Plain8(out[0]), Plain8(out[1]), Plain8(out[2]), Plain8(out[3])]
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
        fn magnitude(self) -> Sse8 {
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let sign = _mm_set1_ps(-0.0);
                Sse8(_mm_andnot_ps(sign, self.0), _mm_andnot_ps(sign, self.1))
            }
        }
        #[inline(always)]
        fn to_array(self) -> [f32; 8] {
            let mut out = [0.0; 8];
            // SAFETY: SSE2 is part of x86-64; eight f32 are written.
            unsafe {
                _mm_storeu_ps(out.as_mut_ptr(), self.0);
                _mm_storeu_ps(out.as_mut_ptr().add(4), self.1);
            }
            out
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
        fn magnitude(self) -> Avx8 {
            // SAFETY: an Avx8 exists only where AVX2 was detected.
            unsafe { Avx8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
        }
        #[inline(always)]
        fn to_array(self) -> [f32; 8] {
            let mut out = [0.0; 8];
            // SAFETY: an Avx8 exists only where AVX2 was detected; eight f32 are written.
            unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) };
            out
        }
    }

    /// Panics unless every lane is below `len`.
    #[inline(always)]
    fn check_rows(at: &[u32; 8], len: usize) {
        let mut most = 0;
        for &row in at {
            most = if row > most { row } else { most };
        }
        assert!((most as usize) < len, "row {most} of {len}");
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

    impl Machine for Sse2 {
        type F = Sse8;
        #[inline(always)]
        fn run<J: Job>(self, job: J) {
            job.run(self);
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
        fn rows(self, table: &[[f32; 4]], at: &[u32; 8]) -> [Sse8; 4] {
            check_rows(at, table.len());
            // SAFETY: SSE2 is part of x86-64; all rows were checked to be in the table.
            unsafe {
                macro_rules! row {
                    ($lane:expr) => {
                        _mm_loadu_ps(table.as_ptr().add(at[$lane] as usize).cast())
                    };
                }
                let low = turn4(row!(0), row!(1), row!(2), row!(3));
                let high = turn4(row!(4), row!(5), row!(6), row!(7));
                [
                    Sse8(low[0], high[0]),
                    Sse8(low[1], high[1]),
                    Sse8(low[2], high[2]),
                    Sse8(low[3], high[3]),
                ]
            }
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
        fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
            split_plainly(quads, positions, out);
        }
    }

    /// Runs a job with the features that [`Avx2`] proves.
    ///
    /// # Safety
    /// They must be there.
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
        fn rows(self, table: &[[f32; 4]], at: &[u32; 8]) -> [Avx8; 4] {
            check_rows(at, table.len());
            // SAFETY: as above; all rows were checked to be in the table.
            unsafe {
                macro_rules! pair {
                    ($lane:expr) => {{
                        let low = table.as_ptr().add(at[$lane] as usize).cast();
                        let high = table.as_ptr().add(at[$lane + 4] as usize).cast();
                        _mm256_loadu2_m128(high, low)
                    }};
                }
                let [a, b, c, d] = turn8(pair!(0), pair!(1), pair!(2), pair!(3));
                [Avx8(a), Avx8(b), Avx8(c), Avx8(d)]
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
        fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 4]], out: &mut [u32]) {
            split_plainly(quads, positions, out);
        }
    }
}
