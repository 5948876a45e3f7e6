//! Sets of cells of a chunk, for rollbacks: nearly always none of them, or all.

use crate::voxel::{ChunkPos, Region};

/// Rows of a chunk: 32 cells along x.
pub(super) const ROWS: usize = 32 * 32;

/// A bit for each cell of a chunk: bit x of word z + 32·y.
pub(super) type ChunkCellBits = [u32; ROWS];

/// Some cells of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CellSet {
    Nothing,
    All,
    Bits(Box<ChunkCellBits>),
}

impl CellSet {
    /// Returns the cells of a chunk in a region, in voxels; `None`: all cells.
    pub fn within(region: Option<Region>, chunk: ChunkPos) -> CellSet {
        let Some(region) = region else { return CellSet::All };
        let part = region.intersect(chunk.region());
        if part.is_empty() {
            return CellSet::Nothing;
        }
        if part == chunk.region() {
            return CellSet::All;
        }
        let (min, max) = (part.min - chunk.min_voxel(), part.max - chunk.min_voxel());
        let row = (u32::MAX >> (32 - (max.x - min.x))) << min.x;
        let mut bits = Box::new([0; ROWS]);
        for y in min.y..max.y {
            for z in min.z..max.z {
                bits[(z + 32 * y) as usize] = row;
            }
        }
        CellSet::Bits(bits)
    }

    /// Returns the cells of a row, bit x.
    pub fn row(&self, row: usize) -> u32 {
        match self {
            CellSet::Nothing => 0,
            CellSet::All => u32::MAX,
            CellSet::Bits(bits) => bits[row],
        }
    }

    /// Adds cells.
    pub fn add(&mut self, other: &CellSet) {
        match (&mut *self, other) {
            (CellSet::All, _) | (_, CellSet::Nothing) => {}
            (CellSet::Bits(own), CellSet::Bits(more)) => {
                own.iter_mut().zip(&**more).for_each(|(row, more)| *row |= more);
            }
            _ => *self = other.clone(),
        }
    }

    /// Removes cells.
    pub fn remove(&mut self, other: &CellSet) {
        match (&mut *self, other) {
            (CellSet::Nothing, _) | (_, CellSet::Nothing) => {}
            (_, CellSet::All) => *self = CellSet::Nothing,
            (CellSet::Bits(own), CellSet::Bits(less)) => {
                own.iter_mut().zip(&**less).for_each(|(row, less)| *row &= !less);
                if own.iter().all(|&row| row == 0) {
                    *self = CellSet::Nothing;
                }
            }
            (CellSet::All, CellSet::Bits(less)) => {
                *self = CellSet::Bits(Box::new(less.map(|row| !row)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::VoxelPos;
    use proptest::prelude::*;

    fn region() -> impl Strategy<Value = Option<Region>> {
        let corner = || prop::array::uniform3(-40..10i32);
        let size = prop::array::uniform3(0..60i32);
        prop::option::of((corner(), size).prop_map(|(min, size)| {
            let min = VoxelPos::from(min);
            Region { min, max: min + size.into() }
        }))
    }

    proptest! {
        #[test]
        fn sets_have_the_cells_that_they_should(parts in prop::collection::vec((region(), any::<bool>()), 1..5)) {
            let chunk = ChunkPos::new(-1, 0, -1);
            let (mut set, mut twin) = (CellSet::Nothing, vec![false; 32 * ROWS]);
            for (region, is_added) in parts {
                let part = CellSet::within(region, chunk);
                if is_added { set.add(&part) } else { set.remove(&part) }
                for (at, pos) in chunk.region().voxels().enumerate() {
                    if region.is_none_or(|region| region.contains(pos)) {
                        twin[at] = is_added;
                    }
                }
            }
            for (at, pos) in chunk.region().voxels().enumerate() {
                let off = pos - chunk.min_voxel();
                let row = set.row((off.z + 32 * off.y) as usize);
                prop_assert_eq!(row >> off.x & 1 == 1, twin[at], "{}", pos);
            }
        }
    }
}
