//! The mesher's operations on plain arrays, for architectures without vector code of our own.

use crate::math::lanes::{Scalar, ScalarF32x8, TRUE_LANE};

use super::mesh_simd::{MeshSimd, RowPairs, sobel_sums, split_quads_one_by_one};

impl MeshSimd for Scalar {
    #[inline(always)]
    fn load_i16(self, from: &[i16; 8]) -> ScalarF32x8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            out[lane] = f32::from(from[lane]);
        }
        ScalarF32x8(out)
    }
    #[inline(always)]
    fn any_bits(self, values: &[u32; 8], bits: u32) -> ScalarF32x8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            out[lane] = if values[lane] & bits != 0 { TRUE_LANE } else { 0.0 };
        }
        ScalarF32x8(out)
    }
    #[inline(always)]
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [ScalarF32x8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = table[at[lane] as usize & 255];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [ScalarF32x8(out[0]), ScalarF32x8(out[1]), ScalarF32x8(out[2]), ScalarF32x8(out[3])]
    }
    #[inline(always)]
    fn rows256_twice(
        self,
        table: &[[f32; 4]; 256],
        at: &[u32; 8],
        half: usize,
    ) -> [ScalarF32x8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = table[at[4 * half + lane % 4] as usize & 255];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [ScalarF32x8(out[0]), ScalarF32x8(out[1]), ScalarF32x8(out[2]), ScalarF32x8(out[3])]
    }
    #[inline(always)]
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> ScalarF32x8 {
        let mut out = [0.0; 8];
        for lane in 0..8 {
            let found = values[4 * half + lane % 4] & bits[lane / 4];
            out[lane] = if found != 0 { TRUE_LANE } else { 0.0 };
        }
        ScalarF32x8(out)
    }
    #[inline(always)]
    fn pairs(self, pairs: &RowPairs<'_>, list: usize, half: usize) -> [ScalarF32x8; 4] {
        let mut out = [[0.0; 8]; 4];
        for lane in 0..8 {
            let row = pairs.table()[pairs.list(list)[4 * half + lane % 4] as usize + lane / 4];
            for column in 0..4 {
                out[column][lane] = row[column];
            }
        }
        [ScalarF32x8(out[0]), ScalarF32x8(out[1]), ScalarF32x8(out[2]), ScalarF32x8(out[3])]
    }
    #[inline(always)]
    fn add_halves(self, low: ScalarF32x8, high: ScalarF32x8) -> ScalarF32x8 {
        let mut out = [0.0; 8];
        for lane in 0..4 {
            out[lane] = low.0[lane] + low.0[lane + 4];
            out[lane + 4] = high.0[lane] + high.0[lane + 4];
        }
        ScalarF32x8(out)
    }
    #[inline(always)]
    fn store_rows(self, columns: [ScalarF32x8; 4], out: &mut [[f32; 4]; 8]) {
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
            ($dy:expr, $dz:expr) => {{
                let from = $dy * y + $dz * z;
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
    fn stencil(self, class: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        for i in 0..32 {
            let inside = least <= class[i] && class[i] <= most;
            out[i] = if inside { stored[i].saturating_add(1) } else { 0 };
        }
        out
    }
    #[inline(always)]
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
        split_quads_one_by_one(quads, positions, out);
    }
}
