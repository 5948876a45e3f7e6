//! The machine of plain arrays, for architectures without vector code of our own.

use std::ops::{Add, Div, Mul, Sub};

use super::machine::{Job, Lanes, Machine, Picked, run_alone, sobel_sums, split_plainly};

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
    fn turned_by(self, signs: Plain8) -> Plain8 {
        plain_lanes!(self, signs, |x, y| f32::from_bits(x.to_bits() ^ y.to_bits()))
    }
    #[inline(always)]
    fn magnitude(self) -> Plain8 {
        plain_lanes!(self, self, |x, _y| x.abs())
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
            let row = picked.table()[picked.list(list)[4 * half + lane % 4] as usize + lane / 4];
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
    fn stencil(self, material: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32] {
        let mut out = [0; 32];
        for i in 0..32 {
            let inside = least <= material[i] && material[i] <= most;
            out[i] = if inside { stored[i].saturating_add(1) } else { 0 };
        }
        out
    }
    #[inline(always)]
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
        split_plainly(quads, positions, out);
    }
}
