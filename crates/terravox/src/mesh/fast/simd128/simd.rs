//! The mesher's operations with the vectors of WebAssembly.
#![allow(unsafe_code)]

use std::arch::wasm32::*;

use crate::math::lanes::{Simd128, Simd128F32x8, transpose4};

use super::mesh_simd::{MeshSimd, RowPairs, sobel_sums, split_quads_one_by_one};

/// Reads a row of a table.
#[inline(always)]
fn load4(row: &[f32; 4]) -> v128 {
    // SAFETY: 16 bytes are read.
    unsafe { v128_load(row.as_ptr().cast()) }
}

/// Reads 16 bytes of 32, the low or the high half.
#[inline(always)]
fn load16(bytes: &[u8; 32], half: usize) -> v128 {
    // SAFETY: the last 16 bytes are read, or the first.
    unsafe { v128_load(bytes.as_ptr().add(16 * (half & 1)).cast()) }
}

/// Reads four numbers of eight, the low or the high half.
#[inline(always)]
fn load_u32(values: &[u32; 8], half: usize) -> v128 {
    // SAFETY: the last four are read, or the first.
    unsafe { v128_load(values.as_ptr().add(4 * (half & 1)).cast()) }
}

/// Returns a mask of the lanes that have any of `bits`.
#[inline(always)]
fn has_bits(values: v128, bits: u32) -> v128 {
    i32x4_ne(v128_and(values, u32x4_splat(bits)), u32x4_splat(0))
}

impl MeshSimd for Simd128 {
    #[inline(always)]
    fn load_i16(self, from: &[i16; 8]) -> Simd128F32x8 {
        // SAFETY: 16 bytes are read.
        let v = unsafe { v128_load(from.as_ptr().cast()) };
        let (low, high) = (i32x4_extend_low_i16x8(v), i32x4_extend_high_i16x8(v));
        Simd128F32x8(f32x4_convert_i32x4(low), f32x4_convert_i32x4(high))
    }
    #[inline(always)]
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Simd128F32x8 {
        Simd128F32x8(has_bits(load_u32(values, 0), bits), has_bits(load_u32(values, 1), bits))
    }
    #[inline(always)]
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Simd128F32x8; 4] {
        macro_rules! row {
            ($lane:expr) => {
                load4(&table[at[$lane] as usize & 255])
            };
        }
        let low = transpose4(row!(0), row!(1), row!(2), row!(3));
        let high = transpose4(row!(4), row!(5), row!(6), row!(7));
        [
            Simd128F32x8(low[0], high[0]),
            Simd128F32x8(low[1], high[1]),
            Simd128F32x8(low[2], high[2]),
            Simd128F32x8(low[3], high[3]),
        ]
    }
    #[inline(always)]
    fn rows256_twice(
        self,
        table: &[[f32; 4]; 256],
        at: &[u32; 8],
        half: usize,
    ) -> [Simd128F32x8; 4] {
        macro_rules! row {
            ($lane:expr) => {
                load4(&table[at[4 * half + $lane] as usize & 255])
            };
        }
        let [a, b, c, d] = transpose4(row!(0), row!(1), row!(2), row!(3));
        [Simd128F32x8(a, a), Simd128F32x8(b, b), Simd128F32x8(c, c), Simd128F32x8(d, d)]
    }
    #[inline(always)]
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Simd128F32x8 {
        let v = load_u32(values, half);
        Simd128F32x8(has_bits(v, bits[0]), has_bits(v, bits[1]))
    }
    #[inline(always)]
    fn pairs(self, pairs: &RowPairs<'_>, list: usize, half: usize) -> [Simd128F32x8; 4] {
        let at = pairs.list(list);
        macro_rules! row {
            ($lane:expr, $next:expr) => {{
                let row = at[4 * half + $lane] as usize + $next;
                // SAFETY: a RowPairs has checked its rows and the next.
                load4(unsafe { pairs.table().get_unchecked(row) })
            }};
        }
        let low = transpose4(row!(0, 0), row!(1, 0), row!(2, 0), row!(3, 0));
        let high = transpose4(row!(0, 1), row!(1, 1), row!(2, 1), row!(3, 1));
        [
            Simd128F32x8(low[0], high[0]),
            Simd128F32x8(low[1], high[1]),
            Simd128F32x8(low[2], high[2]),
            Simd128F32x8(low[3], high[3]),
        ]
    }
    #[inline(always)]
    fn add_halves(self, low: Simd128F32x8, high: Simd128F32x8) -> Simd128F32x8 {
        Simd128F32x8(f32x4_add(low.0, low.1), f32x4_add(high.0, high.1))
    }
    #[inline(always)]
    fn store_rows(self, c: [Simd128F32x8; 4], out: &mut [[f32; 4]; 8]) {
        let low = transpose4(c[0].0, c[1].0, c[2].0, c[3].0);
        let high = transpose4(c[0].1, c[1].1, c[2].1, c[3].1);
        for lane in 0..4 {
            // SAFETY: rows of four f32 are written.
            unsafe {
                v128_store(out[lane].as_mut_ptr().cast(), low[lane]);
                v128_store(out[lane + 4].as_mut_ptr().cast(), high[lane]);
            }
        }
    }
    #[inline(always)]
    fn at_least(self, bytes: &[u8; 32], least: u8) -> u32 {
        let least = u8x16_splat(least);
        let [a, b] = [0, 1].map(|half| u8x16_bitmask(u8x16_ge(load16(bytes, half), least)));
        u32::from(a) | u32::from(b) << 16
    }
    #[inline(always)]
    fn equal(self, bytes: &[u8; 32], value: u8) -> u32 {
        let value = u8x16_splat(value);
        let [a, b] = [0, 1].map(|half| u8x16_bitmask(u8x16_eq(load16(bytes, half), value)));
        u32::from(a) | u32::from(b) << 16
    }
    #[inline(always)]
    fn sobel(self, values: &[u8], [z, y]: [usize; 2]) -> [[i16; 16]; 3] {
        assert!(values.len() >= 2 * y + 2 * z + 18);
        let mut out = [[0; 16]; 3];
        for half in [0, 8] {
            macro_rules! add {
                ($a:expr, $b:expr) => {
                    i16x8_add($a, $b)
                };
            }
            macro_rules! sub {
                ($a:expr, $b:expr) => {
                    i16x8_sub($a, $b)
                };
            }
            macro_rules! twice {
                ($a:expr) => {
                    i16x8_shl($a, 1)
                };
            }
            macro_rules! row {
                ($dy:expr, $dz:expr) => {{
                    // SAFETY: 18 bytes of each row are read, which are there.
                    let [a, b, c] = unsafe {
                        let from = values.as_ptr().add($dy * y + $dz * z + half);
                        [
                            i16x8_load_extend_u8x8(from),
                            i16x8_load_extend_u8x8(from.add(1)),
                            i16x8_load_extend_u8x8(from.add(2)),
                        ]
                    };
                    (sub!(a, c), add!(add!(a, c), twice!(b)))
                }};
            }
            let sums = sobel_sums!(row, add, sub, twice);
            for axis in 0..3 {
                // SAFETY: eight of sixteen i16 are written, the first or the last.
                unsafe { v128_store(out[axis].as_mut_ptr().add(half).cast(), sums[axis]) };
            }
        }
        out
    }
    #[inline(always)]
    fn stencil(self, class: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        let (least, most, one) = (u8x16_splat(least), u8x16_splat(most), u8x16_splat(1));
        for half in 0..2 {
            let m = load16(class, half);
            let inside = u8x16_eq(u8x16_min(u8x16_max(m, least), most), m);
            let v = v128_and(u8x16_add_sat(load16(stored, half), one), inside);
            // SAFETY: 16 of 32 bytes are written, the first or the last.
            unsafe { v128_store(out.as_mut_ptr().add(16 * half).cast(), v) };
        }
        out
    }
    #[inline(always)]
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
        split_quads_one_by_one(quads, positions, out);
    }
}
