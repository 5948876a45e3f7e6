//! Local coordinates of a block among blocks of other mips.
//!
//! Everything that touches a block lies on one integer lattice: its unit is the edge of
//! a cell of the finest mip that may touch the block, counted from the block's min
//! corner. Positions are in quanta, 1/4096 of that unit, so that all that is stored
//! anywhere is a whole number of them.

use super::around::{Around, MOST_STEPS};

/// Quanta a unit.
pub(super) const QUANTA: i32 = 4096;

/// Where a block lies in its local lattice, and what is around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub around: &'a Around,
    /// The block's mip.
    pub mip: u8,
    /// The mip whose cells are the unit.
    pub unit: u8,
    /// Cells of the block along an edge.
    pub cells: i32,
}

impl<'a> Frame<'a> {
    /// # Panics
    /// If `cells` is not a power of two from 8 to 64.
    pub(super) fn new(around: &'a Around, cells: i32) -> Frame<'a> {
        assert!([8, 16, 32, 64].contains(&cells), "blocks of {cells}³ cells");
        let mip = around.mip();
        Frame { around, mip, unit: mip.saturating_sub(MOST_STEPS), cells }
    }

    /// Units along the block's edge.
    #[inline]
    pub(super) fn edge(&self) -> i32 {
        self.cells << (self.mip - self.unit)
    }

    /// Units along the edge of a cell of `mip`, as a shift.
    #[inline]
    pub(super) fn shift(&self, mip: u8) -> u32 {
        u32::from(mip - self.unit)
    }

    /// Units along the edge of a cell of `mip`.
    #[inline]
    pub(super) fn size(&self, mip: u8) -> i32 {
        1 << self.shift(mip)
    }

    /// Units along the edge of a place of [`Around`], as a shift.
    #[inline]
    pub(super) fn place_shift(&self) -> u32 {
        self.edge().trailing_zeros() - 3
    }

    /// The mip shown in the cell of one unit at `at`.
    #[inline]
    pub(super) fn mip_at(&self, at: [i32; 3]) -> u8 {
        let shift = self.place_shift();
        self.around.at(at.map(|a| a >> shift))
    }

    /// Quanta of the block's cell.
    #[inline]
    pub(super) fn quanta(&self) -> i32 {
        QUANTA << (self.mip - self.unit)
    }
}

/// `sum / count` to the nearest multiple of `unit`, of two equally near to the one that
/// is an even multiple: the rounding of f32, so that the flat mesh gives the same.
pub(super) fn round(sum: i64, count: i64, unit: i64) -> i32 {
    let step = count * unit;
    // Mostly a power of two, which spares two divisions.
    let (low, rest) = match step & (step - 1) {
        0 => (sum >> step.trailing_zeros(), sum & (step - 1)),
        _ => (sum.div_euclid(step), sum.rem_euclid(step)),
    };
    let twice = 2 * rest;
    let up = twice > step || (twice == step && low & 1 == 1);
    ((low + i64::from(up)) * unit) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_even_multiples() {
        let rounded = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 5, 6].map(|sum| round(sum, 2, 2));
        assert_eq!(rounded, [-4, -2, -2, -2, 0, 0, 0, 0, 0, 2, 2, 4]);
        let rounded = [-9, -8, -3, -2, 2, 3, 4, 9].map(|sum| round(sum, 3, 2));
        assert_eq!(rounded, [-4, -2, 0, 0, 0, 0, 2, 4]);
    }

    #[test]
    fn the_unit_is_the_finest_that_may_touch() {
        let around = Around::same(2);
        let frame = Frame::new(&around, 32);
        assert_eq!((frame.unit, frame.edge(), frame.size(4), frame.quanta()), (0, 128, 16, 16384));
        let around = Around::same(7);
        let frame = Frame::new(&around, 32);
        assert_eq!((frame.unit, frame.edge(), frame.size(7)), (4, 256, 8));
    }

    #[test]
    fn places_are_eighths() {
        let around = Around::from_fn(1, |place| if place == [-1, 8, 3] { 4 } else { 0 });
        let frame = Frame::new(&around, 32);
        assert_eq!(frame.mip_at([-1, 64, 24]), 4);
        assert_eq!(frame.mip_at([-8, 71, 31]), 4);
        assert_eq!(frame.mip_at([-9, 71, 31]), 4, "beyond what is known");
        assert_eq!((frame.mip_at([0, 64, 24]), frame.mip_at([63; 3])), (0, 1));
    }
}
