//! The mesher's operations with AVX2.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::math::lanes::{Avx2, Avx2F32x8, transpose4x2};

use super::mesh_simd::{MeshSimd, RowPairs, sobel_sums, split_quads_one_by_one};

macro_rules! avx_columns {
    ($row:ident) => {{
        let [a, b, c, d] = transpose4x2(
            _mm256_loadu2_m128($row!(4), $row!(0)),
            _mm256_loadu2_m128($row!(5), $row!(1)),
            _mm256_loadu2_m128($row!(6), $row!(2)),
            _mm256_loadu2_m128($row!(7), $row!(3)),
        );
        [Avx2F32x8::new(a), Avx2F32x8::new(b), Avx2F32x8::new(c), Avx2F32x8::new(d)]
    }};
}

/// Returns a position and one number of the next.
#[inline(always)]
fn four_floats(positions: &[[f32; 3]], at: u32) -> &[f32] {
    &positions[at as usize..at as usize + 2].as_flattened()[..4]
}

/// Vertices of a quad's two triangles when the second or the first diagonal is shorter.
static ORDERS: [[u32; 8]; 2] = [[1, 2, 3, 1, 3, 0, 0, 0], [0, 1, 2, 0, 2, 3, 0, 0]];

impl MeshSimd for Avx2 {
    #[inline(always)]
    fn load_i16(self, from: &[i16; 8]) -> Avx2F32x8 {
        // SAFETY: an Avx2 exists only where its features were detected; 16 bytes are read.
        unsafe {
            let v = _mm_loadu_si128(from.as_ptr().cast());
            Avx2F32x8::new(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(v)))
        }
    }
    #[inline(always)]
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Avx2F32x8 {
        // SAFETY: as above; eight u32 are read.
        unsafe {
            let v = _mm256_loadu_si256(values.as_ptr().cast());
            let found = _mm256_and_si256(v, _mm256_set1_epi32(bits as i32));
            // Values and bits are below 2³¹, so "greater than 0" is "not 0".
            Avx2F32x8::new(_mm256_castsi256_ps(_mm256_cmpgt_epi32(found, _mm256_setzero_si256())))
        }
    }
    #[inline(always)]
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Avx2F32x8; 4] {
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
    fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Avx2F32x8; 4] {
        // SAFETY: as above; a byte is less than 256.
        unsafe {
            macro_rules! row {
                ($lane:expr) => {{
                    let at = at[4 * half + $lane] as usize & 255;
                    let row = table.as_ptr().add(at).cast();
                    _mm256_loadu2_m128(row, row)
                }};
            }
            let [a, b, c, d] = transpose4x2(row!(0), row!(1), row!(2), row!(3));
            [Avx2F32x8::new(a), Avx2F32x8::new(b), Avx2F32x8::new(c), Avx2F32x8::new(d)]
        }
    }
    #[inline(always)]
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Avx2F32x8 {
        // SAFETY: as above; four u32 are read.
        unsafe {
            let from = values[4 * half..4 * half + 4].as_ptr();
            let v = _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()));
            let low = _mm_set1_epi32(bits[0] as i32);
            let both = _mm256_set_m128i(_mm_set1_epi32(bits[1] as i32), low);
            let found = _mm256_and_si256(v, both);
            // Values and bits are below 2³¹, so "greater than 0" is "not 0".
            Avx2F32x8::new(_mm256_castsi256_ps(_mm256_cmpgt_epi32(found, _mm256_setzero_si256())))
        }
    }
    #[inline(always)]
    fn pairs(self, pairs: &RowPairs<'_>, list: usize, half: usize) -> [Avx2F32x8; 4] {
        let at = pairs.list(list);
        // SAFETY: as above; a RowPairs has checked its rows and the next.
        unsafe {
            macro_rules! pair {
                ($lane:expr) => {
                    _mm256_loadu_ps(
                        pairs.table().as_ptr().add(at[4 * half + $lane] as usize).cast(),
                    )
                };
            }
            let [a, b, c, d] = transpose4x2(pair!(0), pair!(1), pair!(2), pair!(3));
            [Avx2F32x8::new(a), Avx2F32x8::new(b), Avx2F32x8::new(c), Avx2F32x8::new(d)]
        }
    }
    #[inline(always)]
    fn add_halves(self, low: Avx2F32x8, high: Avx2F32x8) -> Avx2F32x8 {
        // SAFETY: as above.
        unsafe {
            let first = _mm256_permute2f128_ps::<0x20>(low.register(), high.register());
            let second = _mm256_permute2f128_ps::<0x31>(low.register(), high.register());
            Avx2F32x8::new(_mm256_add_ps(first, second))
        }
    }
    #[inline(always)]
    fn store_rows(self, c: [Avx2F32x8; 4], out: &mut [[f32; 4]; 8]) {
        // SAFETY: as above; eight rows of four f32 are written.
        unsafe {
            let rows =
                transpose4x2(c[0].register(), c[1].register(), c[2].register(), c[3].register());
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
    fn stencil(self, class: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: as above; 32 bytes are read and written.
        unsafe {
            let m = _mm256_loadu_si256(class.as_ptr().cast());
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
            // No closure: it would not have the features of its caller.
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
                let [x, y, z, _] = transpose4x2(squares!(p), squares!(q), squares!(r), squares!(s));
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
        split_quads_one_by_one(rest, positions, rest_out);
    }
}
