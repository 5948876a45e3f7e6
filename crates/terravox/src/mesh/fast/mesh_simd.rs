//! What the mesher needs of an instruction set besides eight lanes of f32: table look-ups, masks
//! of bytes, stencils, indices. The same bits on all.

use crate::math::lanes::Simd;

/// An instruction set that meshes.
pub(crate) trait MeshSimd: Simd {
    /// Converts small integers.
    fn load_i16(self, from: &[i16; 8]) -> Self::F;
    /// Returns a mask of the lanes in which `values` has any of `bits`.
    fn any_bits(self, values: &[u32; 8], bits: u32) -> Self::F;
    /// Looks up rows of a table by the low byte of each lane, and transposes them to columns.
    fn rows256(self, table: &[[f32; 4]; 256], at: &[u32; 8]) -> [Self::F; 4];
    /// Looks up rows of a table by the low byte of each of four lanes (one half of `at`), and
    /// transposes them to columns that hold them twice.
    fn rows256_twice(self, table: &[[f32; 4]; 256], at: &[u32; 8], half: usize) -> [Self::F; 4];
    /// Returns a mask: in the low lanes, where the four values of one half of `values` have any
    /// of the first bits; in the high lanes, of the second bits.
    fn any_bits_twice(self, values: &[u32; 8], half: usize, bits: [u32; 2]) -> Self::F;
    /// Looks up the rows of four lanes (one half) of list `list`, and in the high lanes the rows
    /// after them, and transposes them to columns.
    fn pairs(self, pairs: &RowPairs<'_>, list: usize, half: usize) -> [Self::F; 4];
    /// Adds the low and high lanes of `low`, then those of `high`.
    fn add_halves(self, low: Self::F, high: Self::F) -> Self::F;
    /// Transposes columns to eight rows.
    fn store_rows(self, columns: [Self::F; 4], out: &mut [[f32; 4]; 8]);
    /// Returns a bit per byte: it is at least `least`, which is not 0.
    fn at_least(self, bytes: &[u8; 32], least: u8) -> u32;
    /// Returns a bit per byte: it equals `value`.
    fn equal(self, bytes: &[u8; 32], value: u8) -> u32;
    /// Returns stencil values: `stored` + 1, at most 255, where `least <= class <= most`,
    /// else 0. `least` is not 0.
    fn stencil(self, class: &[u8; 32], stored: &[u8; 32], least: u8, most: u8) -> [u8; 32];
    /// Returns the negative gradients x, y, z of 16 cells, Sobel sums. `values` starts at the
    /// stencil value one cell before the first in x, z and y; `steps` are to the next row in z
    /// and in y.
    ///
    /// # Panics
    /// If the last of the nine rows has fewer than 18 values.
    fn sobel(self, values: &[u8], steps: [usize; 2]) -> [[i16; 16]; 3];
    /// Writes six indices a quad, split along the shorter diagonal.
    ///
    /// # Panics
    /// If a vertex has no position, or `out` does not have 6 entries a quad.
    fn split_quads(self, quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]);
}

/// Pairs of neighbouring rows of a table, for eight lanes of four lists, checked to be in the
/// table.
pub(crate) struct RowPairs<'a> {
    table: &'a [[f32; 4]],
    at: &'a [[u32; 8]; 4],
}

impl<'a> RowPairs<'a> {
    /// Picks the rows `at[list][lane]` of `table` and those after them.
    ///
    /// # Panics
    /// If one is not in the table.
    #[inline(always)]
    pub(crate) fn new(table: &'a [[f32; 4]], at: &'a [[u32; 8]; 4]) -> RowPairs<'a> {
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
        RowPairs { table, at }
    }

    /// Returns the table.
    #[inline(always)]
    pub(crate) fn table(&self) -> &'a [[f32; 4]] {
        self.table
    }

    /// Returns the rows of a list; they and the next ones are in the table.
    #[inline(always)]
    pub(crate) fn list(&self, list: usize) -> &'a [u32; 8] {
        &self.at[list]
    }
}

/// The sums of [`MeshSimd::sobel`], from `row!(y, z)`, the differences and smoothed values
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

/// [`MeshSimd::split_quads`], one by one.
#[inline(always)]
pub(crate) fn split_quads_one_by_one(quads: &[[u32; 4]], positions: &[[f32; 3]], out: &mut [u32]) {
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
