//! What the mesher needs from the processor: eight lanes of f32, masks of bytes,
//! stencils. AVX2 where it is, SSE2 on every other x86-64, plain arrays elsewhere; all
//! give the same bits.
//!
//! Code that is generic over [`Machine`] must be `#[inline(always)]` down from
//! [`Machine::run`], and free of closures that would stay calls: only then is it
//! compiled with the features of the machine.

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
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]);
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

    /// The table.
    #[inline(always)]
    pub(crate) fn table(&self) -> &'a [[f32; 4]] {
        self.table
    }

    /// The rows of a list; they and the next ones are in the table.
    #[inline(always)]
    pub(crate) fn list(&self, list: usize) -> &'a [u32; 8] {
        &self.at[list]
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
pub(crate) fn run_alone<M: Machine, J: Job>(machine: M, job: J) {
    job.run(machine);
}

/// The sums of [`Machine::sobel`], from `row!(y, z)`, the differences and smoothed values
/// along x of a row, and operations on 16 numbers.
macro_rules! sobel_sums {
    ($row:ident, $add:ident, $sub:ident, $twice:ident) => {{
        macro_rules! slice {
            ($n: expr) => {{
                let (a, b, c) = ($row!($n, 0), $row!($n, 1), $row!($n, 2));
                (
                    $add!($add!(a.0, c.0), $twice!(b.0)),
                    $add!($add!(a.1, c.1), $twice!(b.1)),
                    $sub!(a.1, c.1),
                )
            }};
        }
        let (a, b, c) = (slice!(0), slice!(1), slice!(2));
        [
            $add!($add!(a.0, c.0), $twice!(b.0)),
            $sub!(a.1, c.1),
            $add!($add!(a.2, c.2), $twice!(b.2)),
        ]
    }};
}

pub(crate) use sobel_sums;

/// Whether the first diagonal of a quad is not longer than the second.
#[inline(always)]
fn first_is_shorter(p: [[f32; 3]; 4]) -> bool {
    let mut square = [0.0; 2];
    for k in 0..2 {
        let d = [p[k][0] - p[k + 2][0], p[k][1] - p[k + 2][1], p[k][2] - p[k + 2][2]];
        square[k] = (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
    }
    square[0] <= square[1]
}

#[inline(always)]
pub(crate) fn split_plainly(quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
    assert_eq!(out.len(), 6 * quads.len());
    for (v, six) in quads.iter().zip(out.chunks_exact_mut(6)) {
        let mut p = [[0.0; 3]; 4];
        for k in 0..4 {
            p[k] = positions[v[k] as usize];
        }
        let [a, b, c, d] = if first_is_shorter(p) { *v } else { [v[1], v[2], v[3], v[0]] };
        six.copy_from_slice(&[a, b, c, a, c, d]);
    }
}
