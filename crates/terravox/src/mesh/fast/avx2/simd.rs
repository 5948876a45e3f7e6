//! The machine of x86-64 with AVX2, BMI and POPCNT.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::machine::{Job, Lanes, Machine, Picked, sobel_sums, split_plainly};

/// Exists only where AVX2, BMI1, BMI2 and POPCNT were detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

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
    ($trait:ident, $name:ident, $intrinsic:ident) => {
        impl $trait for Avx8 {
            type Output = Avx8;
            #[inline(always)]
            fn $name(self, o: Avx8) -> Avx8 {
                // SAFETY: an Avx8 exists only where AVX2 was detected.
                unsafe { Avx8($intrinsic(self.0, o.0)) }
            }
        }
    };
}
operator!(Add, add, _mm256_add_ps);
operator!(Sub, sub, _mm256_sub_ps);
operator!(Mul, mul, _mm256_mul_ps);
operator!(Div, div, _mm256_div_ps);

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

/// A position and one number of the next.
#[inline(always)]
fn four_floats(positions: &[[f32; 3]], at: u32) -> &[f32] {
    &positions[at as usize..at as usize + 2].as_flattened()[..4]
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
        let at = picked.list(list);
        // SAFETY: as above; a Picked has checked its rows and the next.
        unsafe {
            macro_rules! pair {
                ($lane:expr) => {
                    _mm256_loadu_ps(
                        picked.table().as_ptr().add(at[4 * half + $lane] as usize).cast(),
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
            ($dy:expr, $dz:expr) => {{
                let from = values.as_ptr().add($dy * y + $dz * z);
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
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
        assert_eq!(out.len(), 6 * quads.len());
        let (fours, rest) = quads.as_chunks::<4>();
        let (sixes, rest_out) = out.split_at_mut(24 * fours.len());
        for (four, out) in fours.iter().zip(sixes.as_chunks_mut::<24>().0) {
            // No closure here: it would not have the features of its caller.
            macro_rules! corners {
                ($v:expr) => {
                    [
                        four_floats(positions, $v[0]),
                        four_floats(positions, $v[1]),
                        four_floats(positions, $v[2]),
                        four_floats(positions, $v[3]),
                    ]
                };
            }
            let (p, q) = (corners!(four[0]), corners!(four[1]));
            let (r, s) = (corners!(four[2]), corners!(four[3]));
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
