//! Local integer coordinates of a block among blocks of other mips.
//!
//! The unit is the edge of a cell of the finest mip that may touch the block, and coordinates
//! count from the block's min corner, so all corners of cells that touch the block are whole.
//! Positions of vertices are in quanta, 1/4096 of the unit, and whole as well.

use super::neighbours::{MAX_MIP_STEPS, NeighbourMips};

/// Quanta per unit.
pub(super) const QUANTA: i32 = 4096;

/// The finest and the coarsest mip around a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct MipSpan {
    pub finest: u8,
    pub coarsest: u8,
}

/// The lattice of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalLattice<'a> {
    pub around: &'a NeighbourMips,
    /// The block's mip.
    pub mip: u8,
    /// The mip whose cells are the unit.
    pub unit: u8,
    /// Cells along the block's edge.
    pub cells: i32,
}

impl<'a> LocalLattice<'a> {
    /// Makes the lattice of a block with `cells` along its edge.
    ///
    /// # Panics
    /// If `cells` is not a power of two from 8 to 64.
    pub(super) fn new(around: &'a NeighbourMips, cells: i32) -> LocalLattice<'a> {
        assert!([8, 16, 32, 64].contains(&cells), "blocks of {cells}³ cells");
        let mip = around.mip();
        LocalLattice { around, mip, unit: mip.saturating_sub(MAX_MIP_STEPS), cells }
    }

    /// Returns the units along the block's edge.
    #[inline]
    pub(super) fn edge(&self) -> i32 {
        self.cells << (self.mip - self.unit)
    }

    /// Returns log2 of the units along the edge of a cell of `mip`.
    #[inline]
    pub(super) fn cell_log2(&self, mip: u8) -> u32 {
        u32::from(mip - self.unit)
    }

    /// Returns the units along the edge of a cell of `mip`.
    #[inline]
    pub(super) fn cell_units(&self, mip: u8) -> i32 {
        1 << self.cell_log2(mip)
    }

    /// Returns log2 of the units along the edge of a sub-block of [`NeighbourMips`].
    #[inline]
    pub(super) fn sub_block_log2(&self) -> u32 {
        self.edge().trailing_zeros() - 3
    }

    /// Returns the mip shown in the unit cube at `at`.
    #[inline]
    pub(super) fn mip_at(&self, at: [i32; 3]) -> u8 {
        let shift = self.sub_block_log2();
        self.around.at(at.map(|a| a >> shift))
    }

    /// Returns the quanta along the edge of the block's cells.
    #[inline]
    pub(super) fn cell_quanta(&self) -> i32 {
        QUANTA << (self.mip - self.unit)
    }
}

/// Packs a corner of the boundary into one number: coordinates are less than 1024.
#[inline]
pub(super) fn pack_corner(at: [i32; 3]) -> u32 {
    (at[0] | at[1] << 10 | at[2] << 20) as u32
}

/// Rounds `sum / count` to the nearest multiple of `unit`, ties to the even multiple, as f32
/// does: so the fast mesher gives the same.
#[inline]
pub(super) fn round(sum: i64, count: i64, unit: i64) -> i32 {
    let step = count * unit;
    // Mostly a power of two, which saves two divisions.
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
        let around = NeighbourMips::uniform(2);
        let lattice = LocalLattice::new(&around, 32);
        assert_eq!(
            (lattice.unit, lattice.edge(), lattice.cell_units(4), lattice.cell_quanta()),
            (0, 128, 16, 16384)
        );
        let around = NeighbourMips::uniform(7);
        let lattice = LocalLattice::new(&around, 32);
        assert_eq!((lattice.unit, lattice.edge(), lattice.cell_units(7)), (4, 256, 8));
    }

    #[test]
    fn sub_blocks_are_eighths() {
        let around = NeighbourMips::from_fn(1, |at| if at == [-1, 8, 3] { 4 } else { 0 });
        let lattice = LocalLattice::new(&around, 32);
        assert_eq!(lattice.mip_at([-1, 64, 24]), 4);
        assert_eq!(lattice.mip_at([-8, 71, 31]), 4);
        assert_eq!(lattice.mip_at([-9, 71, 31]), 4, "clamped");
        assert_eq!((lattice.mip_at([0, 64, 24]), lattice.mip_at([63; 3])), (0, 1));
    }
}
