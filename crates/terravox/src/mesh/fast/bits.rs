//! Rows of bits over the cells and corners of a padded box.
//!
//! A row holds a bit per padded cell along x in `W` words (one up to 64 cells, else
//! two). Corners use the bit of the cell on their low side. A bit's rank, the number of
//! bits before it in all rows, is the number of its vertex or plane.

/// Sizes of a padded box in cells, and how its rows lie.
#[derive(Clone, Copy)]
pub(super) struct RowGrid {
    /// Padded edges x, y, z.
    pub size: [usize; 3],
    /// The block's own edges.
    pub own: [usize; 3],
}

impl RowGrid {
    pub(super) fn new(size: [usize; 3]) -> RowGrid {
        RowGrid { size, own: size.map(|edge| edge - 4) }
    }

    /// Words of a row.
    #[inline]
    pub(super) fn words(&self) -> usize {
        if self.size[0] <= 64 { 1 } else { 2 }
    }

    /// Number of cell rows.
    pub(super) fn rows(&self) -> usize {
        self.size[1] * self.size[2]
    }

    /// Number of corner rows.
    pub(super) fn corner_rows(&self) -> usize {
        (self.own[1] + 1) * (self.own[2] + 1)
    }

    /// Returns the row and the bit of a corner of the block.
    #[inline]
    pub(super) fn corner_bit(&self, at: [i32; 3]) -> (usize, usize) {
        (at[1] as usize * (self.own[2] + 1) + at[2] as usize, at[0] as usize + 1)
    }
}

/// A corner of the block by the number of its corner row and its bit there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedCorner {
    pub row: u32,
    pub bit: u32,
}

/// A row of corners of the block.
#[derive(Clone, Copy)]
pub(super) struct CornerRow {
    /// Its number.
    pub row: usize,
    /// Position in the block.
    pub y: usize,
    /// Position in the block.
    pub z: usize,
}

/// Iterates over the rows of corners of a block.
pub(super) struct CornerRows {
    next: CornerRow,
    /// Last positions.
    last_y: usize,
    last_z: usize,
}

impl CornerRows {
    #[inline(always)]
    pub(super) fn new(grid: &RowGrid) -> CornerRows {
        let [_, last_y, last_z] = grid.own;
        CornerRows { next: CornerRow { row: 0, y: 0, z: 0 }, last_y, last_z }
    }
}

impl Iterator for CornerRows {
    type Item = CornerRow;
    #[inline(always)]
    fn next(&mut self) -> Option<CornerRow> {
        let CornerRow { row, y, z } = self.next;
        if y > self.last_y {
            return None;
        }
        let (y2, z2) = if z < self.last_z { (y, z + 1) } else { (y + 1, 0) };
        self.next = CornerRow { row: row + 1, y: y2, z: z2 };
        Some(CornerRow { row, y, z })
    }
}

/// A row of `W` words.
pub(super) type Bits<const W: usize> = [u64; W];

/// Returns row `r` of some rows.
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

/// Moves every bit to the next higher x.
#[inline(always)]
pub(super) fn up<const W: usize>(a: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] << 1 | if k > 0 { a[k - 1] >> 63 } else { 0 })
}

/// Moves every bit to the next lower x.
#[inline(always)]
pub(super) fn down<const W: usize>(a: Bits<W>) -> Bits<W> {
    each_word!(|k| a[k] >> 1 | if k + 1 < W { a[k + 1] << 63 } else { 0 })
}

/// Whether a bit is set.
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

/// Returns a row in which bits `from..to` are set.
pub(super) fn span<const W: usize>(from: usize, to: usize) -> Bits<W> {
    let below = |bit: usize| if bit == 0 { 0 } else { u128::MAX >> (128 - bit) };
    let bits = below(to) & !below(from);
    each_word!(|k| (bits >> (64 * k)) as u64)
}

/// Runs a block for every set bit of a row, with its index, its word and its bit in the word.
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

/// Returns the bit `b` and the next one of word `k`, as bits 0 and 1.
#[inline(always)]
pub(super) fn pair<const W: usize>(bits: &Bits<W>, k: usize, b: usize) -> u32 {
    if W == 1 {
        (bits[0] >> b) as u32 & 3
    } else {
        let next = if k + 1 < W { bits[k + 1] } else { 0 };
        ((bits[k] >> b) | (next << 1) << (63 - b)) as u32 & 3
    }
}

/// Rows, and the rank of the first bit of every word.
#[derive(Debug, Default)]
pub(super) struct RankedRows {
    pub rows: Vec<u64>,
    pub ranks: Vec<u32>,
    /// Number of set bits.
    pub count: usize,
}

impl RankedRows {
    /// Computes the ranks.
    #[inline(always)]
    pub(super) fn update_ranks(&mut self) {
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

    /// Returns the rank of the bit `b` of word `k` of row `r`.
    #[inline(always)]
    pub(super) fn rank<const W: usize>(&self, r: usize, k: usize, b: usize) -> u32 {
        let below = self.rows[W * r + k] & ((1 << b) - 1);
        self.ranks[W * r + k] + below.count_ones()
    }
}
