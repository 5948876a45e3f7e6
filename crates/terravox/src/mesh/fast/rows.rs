//! Rows of bits: which cells of a padded box are inside, which faces the block owns,
//! which corners those touch and which cells stand around these.
//!
//! A row holds a bit per padded cell along x in `W` words (one up to 64 cells, else
//! two). Corners use the bit of the cell on their low side. A bit's rank, the number of
//! bits before it in all rows, is the number of its vertex or plane.

use crate::mesh::mixed::{Features, feature_of};

use super::corners::{PlacedCorners, find_corners};
use super::machine::{Job, Machine};
use super::quads::SpecialFace;

/// Sizes of a padded box in cells and how its rows lie.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    /// Padded edges x, y, z.
    pub size: [usize; 3],
    /// The block's own edges.
    pub own: [usize; 3],
}

impl Grid {
    pub(super) fn new(size: [usize; 3]) -> Grid {
        Grid { size, own: size.map(|edge| edge - 4) }
    }

    /// Number of cell rows.
    pub(super) fn rows(&self) -> usize {
        self.size[1] * self.size[2]
    }

    /// Number of corner rows.
    pub(super) fn corner_rows(&self) -> usize {
        (self.own[1] + 1) * (self.own[2] + 1)
    }
}

/// Which material ids count.
#[derive(Clone, Copy)]
pub(super) enum Class<'a> {
    /// Ids from this one on.
    AtLeast(u8),
    /// This id.
    Is(u8),
    /// Those that are set.
    Table(&'a [bool; 256]),
}

/// A row of `W` words.
pub(super) type Bits<const W: usize> = [u64; W];

/// Row `r` of some rows.
#[inline(always)]
pub(super) fn row<const W: usize>(rows: &[u64], r: usize) -> Bits<W> {
    let mut out = [0; W];
    out.copy_from_slice(&rows[W * r..W * r + W]);
    out
}

macro_rules! each_word {
    (|$k:ident| $value:expr) => {{
        let mut out = [0; W];
        for $k in 0..W {
            out[$k] = $value;
        }
        out
    }};
}

#[inline(always)]
pub(super) fn and<const W: usize>(a: Bits<W>, b: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] & b[k])
}

#[inline(always)]
pub(super) fn or<const W: usize>(a: Bits<W>, b: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] | b[k])
}

#[inline(always)]
pub(super) fn not<const W: usize>(a: Bits<W>) -> Bits<W> {
    each_word!(|k| !a[k])
}

/// Every bit to the next higher x.
#[inline(always)]
pub(super) fn up<const W: usize>(a: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] << 1 | if k > 0 { a[k - 1] >> 63 } else { 0 })
}

/// Every bit to the next lower x.
#[inline(always)]
pub(super) fn down<const W: usize>(a: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] >> 1 | if k + 1 < W { a[k + 1] << 63 } else { 0 })
}

#[inline(always)]
pub(super) fn any<const W: usize>(a: Bits<W>) -> bool {
    let mut all = 0;
    for k in 0..W {
        all |= a[k];
    }
    all != 0
}

/// Sets the bits of `a` in row `r`.
#[inline(always)]
pub(super) fn add<const W: usize>(rows: &mut [u64], r: usize, a: Bits<W>) {
    let row = &mut rows[W * r..W * r + W];
    for k in 0..W {
        row[k] |= a[k];
    }
}

/// Bits `from..to`.
pub(super) fn span<const W: usize>(from: usize, to: usize) -> Bits<W> {
    let below = |bit: usize| if bit == 0 { 0 } else { u128::MAX >> (128 - bit) };
    let bits = below(to) & !below(from);
    each_word!(|k| (bits >> (64 * k)) as u64)
}

/// Calls for every set bit of a row with its index, word and bit in the word.
macro_rules! for_bits {
    ($bits:expr, |$bit:ident, $k:ident, $b:ident| $body:block) => {
        for $k in 0..W {
            let mut left = $bits[$k];
            while left != 0 {
                let $b = left.trailing_zeros() as usize;
                let $bit = 64 * $k + $b;
                left &= left - 1;
                $body
            }
        }
    };
}
pub(super) use for_bits;

#[inline(always)]
fn mask32<M: Machine>(m: M, class: Class<'_>, bytes: &[u8; 32]) -> u64 {
    u64::from(match class {
        Class::AtLeast(least) => m.at_least(bytes, least),
        Class::Is(value) => m.equal(bytes, value),
        Class::Table(set) => {
            let mut mask = 0;
            for (i, &byte) in bytes.iter().enumerate() {
                mask |= u32::from(set[usize::from(byte)]) << i;
            }
            mask
        }
    })
}

/// The 32 bytes at `at`, zeros behind the end.
#[inline(always)]
pub(super) fn bytes32(bytes: &[u8], at: usize) -> [u8; 32] {
    let mut out = [0; 32];
    match bytes.get(at..at + 32) {
        Some(all) => out.copy_from_slice(all),
        None => out[..bytes.len() - at].copy_from_slice(&bytes[at..]),
    }
    out
}

/// Makes rows of the cells whose material is in a class.
pub(super) struct ClassRows<'a, const W: usize> {
    pub grid: &'a Grid,
    pub materials: &'a [u8],
    pub class: Class<'a>,
    pub rows: &'a mut Vec<u64>,
}

impl<const W: usize> Job for ClassRows<'_, W> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        let ClassRows { grid, materials, class, rows } = self;
        let sx = grid.size[0];
        rows.clear();
        rows.resize(grid.rows() * W, 0);
        for (r, row) in rows.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            let at = r * sx;
            let low = mask32(m, class, &bytes32(materials, at));
            if W == 2 {
                let middle = mask32(m, class, &bytes32(materials, at + 32));
                let high = mask32(m, class, &bytes32(materials, at + sx - 32));
                row[0] = low | middle << 32;
                row[W - 1] = high >> (96 - sx);
            } else if sx >= 32 {
                row[0] = low | mask32(m, class, &bytes32(materials, at + sx - 32)) << (sx - 32);
            } else {
                row[0] = low & ((1 << sx) - 1);
            }
        }
    }
}

/// Rows with faces of the block, in the order in which quads are written.
#[derive(Debug, Default)]
pub(super) struct Faces {
    /// Padded cell row, corner row at its low side, and y and z in the block as the
    /// second and third byte.
    pub rows: Vec<[u32; 3]>,
    /// Six directions times `W` words for each.
    pub masks: Vec<u64>,
    /// Faces that were left out.
    pub left_out: Vec<SpecialFace>,
}

/// Corners on some features of the hull, in rows by the feature that a row's inner corners
/// lie on: three of z for each of y.
pub(super) struct OnFeatures<const W: usize> {
    rows: [Bits<W>; 9],
    own: [i32; 3],
}

impl<const W: usize> OnFeatures<W> {
    pub(super) fn new(grid: &Grid, features: Features) -> OnFeatures<W> {
        let own = grid.own.map(|edge| edge as i32);
        let mut rows = [[0; W]; 9];
        for (number, row) in rows.iter_mut().enumerate() {
            for x in 0..3 {
                if features.has(x + 3 * number) {
                    let (from, to) =
                        [(1, 2), (2, grid.own[0] + 1), (grid.own[0] + 1, grid.own[0] + 2)][x];
                    *row = or(*row, span(from, to));
                }
            }
        }
        OnFeatures { rows, own }
    }

    /// The corners of row (y, z).
    pub(super) fn corners(&self, y: usize, z: usize) -> Bits<W> {
        let at = |at: usize, edge: i32| feature_of([at as i32, 0, 0], edge) % 3;
        self.rows[at(z, self.own[2]) + 3 * at(y, self.own[1])]
    }

    /// The cells of row (y, z) with such a corner at their face, by direction.
    fn cells(&self, y: usize, z: usize) -> [Bits<W>; 6] {
        let (low, high) = (self.corners(y, z), self.corners(y + 1, z));
        let (low2, high2) = (self.corners(y, z + 1), self.corners(y + 1, z + 1));
        cells_at(low, low2, high, high2)
    }
}

/// The cells of a row with a marked corner at their face, by direction, from the four
/// rows of corners around: low y and z; high z; high y; both.
#[inline(always)]
pub(super) fn cells_at<const W: usize>(
    low: Bits<W>,
    low2: Bits<W>,
    high: Bits<W>,
    high2: Bits<W>,
) -> [Bits<W>; 6] {
    let all = or(or(low, low2), or(high, high2));
    let (yl, yh) = (or(low, low2), or(high, high2));
    let (zl, zh) = (or(low, high), or(low2, high2));
    [up(all), all, or(yl, up(yl)), or(yh, up(yh)), or(zl, up(zl)), or(zh, up(zh))]
}

/// Finds the faces between own inside cells and outside ones, the corners that they
/// touch, and the inside cells around those.
pub(super) struct Find<'a, const W: usize> {
    pub grid: &'a Grid,
    pub inside: &'a [u64],
    /// None where it is all that is not inside.
    pub outside: Option<&'a [u64]>,
    /// Features of the hull: faces that touch a corner on one are left out.
    pub left_out: Features,
    pub faces: &'a mut Faces,
    pub corners: &'a mut Ranked,
    /// Corners on features of the hull whose faces are left out.
    pub hull: &'a mut PlacedCorners,
    pub around: &'a mut Ranked,
}

/// Rows and the ranks of the first bit of every word.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    pub rows: Vec<u64>,
    pub ranks: Vec<u32>,
    /// Number of bits.
    pub count: usize,
}

impl<const W: usize> Job for Find<'_, W> {
    #[inline(always)]
    fn run<M: Machine>(self, _: M) {
        let Find { grid, inside, outside, left_out, faces, corners, hull, around } = self;
        find_faces::<W>(grid, inside, outside, left_out, faces, &mut corners.rows);
        around.rows.clear();
        around.rows.resize(grid.rows() * W, 0);
        corners.count = 0;
        if !faces.rows.is_empty() {
            corners.rank();
            add_cells_around::<W>(grid, &corners.rows, &mut around.rows);
        }
        if !hull.features.is_empty() {
            find_corners::<W>(grid, inside, outside, hull.features, &mut hull.corners.rows);
            hull.corners.rank();
            add_cells_around::<W>(grid, &hull.corners.rows, &mut around.rows);
        }
        for (cells, inside) in around.rows.iter_mut().zip(inside) {
            *cells &= inside;
        }
        around.rank();
    }
}

#[inline(always)]
fn find_faces<const W: usize>(
    grid: &Grid,
    inside: &[u64],
    outside: Option<&[u64]>,
    left_out: Features,
    faces: &mut Faces,
    corners: &mut Vec<u64>,
) {
    let [nx, ny, nz] = grid.own;
    let hull = OnFeatures::<W>::new(grid, left_out);
    let own: Bits<W> = span(2, nx + 2);
    faces.rows.clear();
    faces.masks.clear();
    faces.left_out.clear();
    corners.clear();
    corners.resize(grid.corner_rows() * W, 0);
    for y in 0..ny {
        for z in 0..nz {
            let r = (y + 2) * grid.size[2] + z + 2;
            let here: Bits<W> = row(inside, r);
            let mine = and(here, own);
            if !any(mine) {
                continue;
            }
            let out = |r: usize| -> Bits<W> {
                match outside {
                    Some(outside) => row(outside, r),
                    None => not(row(inside, r)),
                }
            };
            let level = out(r);
            let mut masks = [
                and(mine, up(level)),
                and(mine, down(level)),
                and(mine, out(r - grid.size[2])),
                and(mine, out(r + grid.size[2])),
                and(mine, out(r - 1)),
                and(mine, out(r + 1)),
            ];
            if !left_out.is_empty() {
                leave_out(&mut masks, &hull.cells(y, z), r * grid.size[0], &mut faces.left_out);
            }
            let [xl, xh, yl, yh, zl, zh] = masks;
            if !any(or(or(or(xl, xh), or(yl, yh)), or(zl, zh))) {
                continue;
            }
            let c = y * (nz + 1) + z;
            let x = or(down(xl), xh);
            let (yl, yh) = (or(yl, down(yl)), or(yh, down(yh)));
            let (zl, zh) = (or(zl, down(zl)), or(zh, down(zh)));
            add(corners, c, or(x, or(yl, zl)));
            add(corners, c + 1, or(x, or(yl, zh)));
            add(corners, c + nz + 1, or(x, or(yh, zl)));
            add(corners, c + nz + 2, or(x, or(yh, zh)));
            faces.rows.push([r as u32, c as u32, (y << 8 | z << 16) as u32]);
            for mask in masks {
                faces.masks.extend_from_slice(&mask);
            }
        }
    }
}

/// Takes the faces of `cells` from a row's masks and lists them. `first` is the index of
/// the row's first padded cell.
fn leave_out<const W: usize>(
    masks: &mut [Bits<W>; 6],
    cells: &[Bits<W>; 6],
    first: usize,
    list: &mut Vec<SpecialFace>,
) {
    for direction in 0..6 {
        let out = and(masks[direction], cells[direction]);
        masks[direction] = and(masks[direction], not(out));
        for_bits!(out, |bit, _k, _b| {
            list.push(((first + bit) as u32, direction as u8));
        });
    }
}

/// Marks the cells around corners.
#[inline(always)]
fn add_cells_around<const W: usize>(grid: &Grid, corners: &[u64], cells: &mut [u64]) {
    let [_, ny, nz] = grid.own;
    for y in 0..=ny {
        for z in 0..=nz {
            let at: Bits<W> = row(corners, y * (nz + 1) + z);
            if any(at) {
                let around = or(at, up(at));
                let r = (y + 1) * grid.size[2] + z + 1;
                add(cells, r, around);
                add(cells, r + 1, around);
                add(cells, r + grid.size[2], around);
                add(cells, r + grid.size[2] + 1, around);
            }
        }
    }
}

impl Ranked {
    /// Computes the ranks.
    #[inline(always)]
    fn rank(&mut self) {
        self.ranks.clear();
        self.ranks.resize(self.rows.len(), 0);
        let mut rank = 0;
        for (word, before) in self.rows.iter().zip(&mut self.ranks) {
            *before = rank;
            if *word != 0 {
                rank += word.count_ones();
            }
        }
        self.count = rank as usize;
    }

    /// Rank of the bit `b` of word `k` of row `r`.
    #[inline(always)]
    pub(super) fn at<const W: usize>(&self, r: usize, k: usize, b: usize) -> u32 {
        let below = self.rows[W * r + k] & ((1 << b) - 1);
        self.ranks[W * r + k] + below.count_ones()
    }
}

/// The bit and the next one of word `k`, as bits 0 and 1.
#[inline(always)]
pub(super) fn pair<const W: usize>(bits: &Bits<W>, k: usize, b: usize) -> u32 {
    if W == 1 {
        (bits[0] >> b) as u32 & 3
    } else {
        let next = if k + 1 < W { bits[k + 1] } else { 0 };
        ((bits[k] >> b) | (next << 1) << (63 - b)) as u32 & 3
    }
}
