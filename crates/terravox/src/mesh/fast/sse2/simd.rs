//! The mesher's operations with SSE2.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::math::lanes::{Sse2, Sse2F32x8, transpose4};

use super::mesh_simd::{MeshSimd, RowPairs, sobel_sums, split_quads_one_by_one};

macro_rules! sse_columns {
    ($row:ident) => {{
        let low = transpose4($row!(0), $row!(1), $row!(2), $row!(3));
        let high = transpose4($row!(4), $row!(5), $row!(6), $row!(7));
        [
            Sse2F32x8(low[0], high[0]),
            Sse2F32x8(low[1], high[1]),
            Sse2F32x8(low[2], high[2]),
            Sse2F32x8(low[3], high[3]),
        ]
    }};
}

impl MeshSimd for Sse2 {
    #[inline(always)]
    fn load_i16(self, from: &[i16; 8]) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64; 16 bytes are read.
        unsafe {
            let v = _mm_loadu_si128(from.as_ptr().cast());
            let low = _mm_srai_epi32::<16>(_mm_unpacklo_epi16(v, v));
            let high = _mm_srai_epi32::<16>(_mm_unpackhi_epi16(v, v));
            Sse2F32x8(_mm_cvtepi32_ps(low), _mm_cvtepi32_ps(high))
        }
    }
    #[inline(always)]
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64; eight u32 are read.
        unsafe {
            let bits = _mm_set1_epi32(bits as i32);
            let zero = _mm_setzero_si128();
            let ones = _mm_cmpeq_epi32(zero, zero);
            let low = _mm_and_si128(_mm_loadu_si128(values.as_ptr().cast()), bits);
            let high = _mm_and_si128(_mm_loadu_si128(values.as_ptr().add(4).cast()), bits);
            Sse2F32x8(
                _mm_castsi128_ps(_mm_xor_si128(_mm_cmpeq_epi32(low, zero), ones)),
                _mm_castsi128_ps(_mm_xor_si128(_mm_cmpeq_epi32(high, zero), ones)),
            )
        }
    }
    #[inline(always)]
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Sse2F32x8; 4] {
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
    fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Sse2F32x8; 4] {
        // SAFETY: SSE2 is part of x86-64; a byte is less than 256.
        unsafe {
            macro_rules! row {
                ($lane:expr) => {
                    _mm_loadu_ps(table.as_ptr().add(at[4 * half + $lane] as usize & 255).cast())
                };
            }
            let [a, b, c, d] = transpose4(row!(0), row!(1), row!(2), row!(3));
            [Sse2F32x8(a, a), Sse2F32x8(b, b), Sse2F32x8(c, c), Sse2F32x8(d, d)]
        }
    }
    #[inline(always)]
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64; four u32 are read.
        unsafe {
            let from = values[4 * half..4 * half + 4].as_ptr();
            let v = _mm_loadu_si128(from.cast());
            let low = _mm_and_si128(v, _mm_set1_epi32(bits[0] as i32));
            let high = _mm_and_si128(v, _mm_set1_epi32(bits[1] as i32));
            let zero = _mm_setzero_si128();
            // Values and bits are below 2³¹, so "greater than 0" is "not 0".
            Sse2F32x8(
                _mm_castsi128_ps(_mm_cmpgt_epi32(low, zero)),
                _mm_castsi128_ps(_mm_cmpgt_epi32(high, zero)),
            )
        }
    }
    #[inline(always)]
    fn pairs(self, pairs: &RowPairs<'_>, list: usize, half: usize) -> [Sse2F32x8; 4] {
        let at = pairs.list(list);
        // SAFETY: SSE2 is part of x86-64; a RowPairs has checked its rows and the next.
        unsafe {
            macro_rules! row {
                ($lane:expr, $next:expr) => {
                    _mm_loadu_ps(
                        pairs.table().as_ptr().add(at[4 * half + $lane] as usize + $next).cast(),
                    )
                };
            }
            let low = transpose4(row!(0, 0), row!(1, 0), row!(2, 0), row!(3, 0));
            let high = transpose4(row!(0, 1), row!(1, 1), row!(2, 1), row!(3, 1));
            [
                Sse2F32x8(low[0], high[0]),
                Sse2F32x8(low[1], high[1]),
                Sse2F32x8(low[2], high[2]),
                Sse2F32x8(low[3], high[3]),
            ]
        }
    }
    #[inline(always)]
    fn add_halves(self, low: Sse2F32x8, high: Sse2F32x8) -> Sse2F32x8 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { Sse2F32x8(_mm_add_ps(low.0, low.1), _mm_add_ps(high.0, high.1)) }
    }
    #[inline(always)]
    fn store_rows(self, c: [Sse2F32x8; 4], out: &mut [[f32; 4]; 8]) {
        // SAFETY: SSE2 is part of x86-64; eight rows of four f32 are written.
        unsafe {
            let low = transpose4(c[0].0, c[1].0, c[2].0, c[3].0);
            let high = transpose4(c[0].1, c[1].1, c[2].1, c[3].1);
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
                    ($dy:expr, $dz:expr) => {{
                        let from = values.as_ptr().add($dy * y + $dz * z + half);
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
    fn stencil(self, class: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        // SAFETY: SSE2 is part of x86-64; 32 bytes are read and written.
        unsafe {
            let least = _mm_set1_epi8(least as i8);
            let most = _mm_set1_epi8(most as i8);
            let one = _mm_set1_epi8(1);
            for half in [0, 16] {
                let m = _mm_loadu_si128(class.as_ptr().add(half).cast());
                let v = _mm_loadu_si128(stored.as_ptr().add(half).cast());
                let bounded = _mm_min_epu8(_mm_max_epu8(m, least), most);
                let v = _mm_and_si128(_mm_adds_epu8(v, one), _mm_cmpeq_epi8(bounded, m));
                _mm_storeu_si128(out.as_mut_ptr().add(half).cast(), v);
            }
        }
        out
    }
    #[inline(always)]
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
        split_quads_one_by_one(quads, positions, out);
    }
}
