//! The solid cells of blocks and chunks as bits, straight from the packed rows of the grid. A
//! row that is not stored is all of its fill.

use super::{BlockMask, CollisionBlock, Kinds, slices, spread};
use crate::voxel::{ChunkPos, ChunkView, Kind, NotHeld, RowGroup, Snapshot};

/// The cells of a block of one kind.
const NONE: BlockMask = [0; 8];
const ALL: BlockMask = [u64::MAX; 8];

/// The solid cells of a block.
///
/// # Errors
/// [`NotHeld`] if its chunk is not held at mip 0.
pub(crate) fn block_mask(snapshot: &Snapshot, block: CollisionBlock) -> Result<BlockMask, NotHeld> {
    let view = snapshot.chunk(block.min_voxel().chunk())?;
    let kinds = Kinds::new(snapshot.materials().kinds());
    if let Some(material) = view.uniform_material() {
        return Ok(if kinds.of(material)[0] != 0 { ALL } else { NONE });
    }
    let [bx, by, bz] = [block.x & 3, block.y & 3, block.z & 3].map(|v| v as usize);
    Ok(std::array::from_fn(|y| block_slice(kinds, view.slice(8 * by + y), bx, bz)))
}

/// The solid cells of one slice of a block: bit x + 8 z.
#[inline(always)]
fn block_slice(kinds: Kinds<'_>, group: RowGroup<'_>, bx: usize, bz: usize) -> u64 {
    // A slice of mip 0 is a whole group.
    let Some(fill) = group.fill().first_chunk() else { unreachable!() };
    let mut stored = group.mixed() >> (8 * bz) & 255;
    let fills = kinds.of_32(fill)[0] >> (8 * bz) & 255;
    let mut bits = spread_8(fills & !stored);
    while stored != 0 {
        let z = stored.trailing_zeros() as usize;
        stored &= stored - 1;
        let [solid, _] = kinds.of_32(&group.mixed_row(8 * bz + z).material);
        bits |= u64::from(solid >> (8 * bx) & 255) << (8 * z);
    }
    bits
}

/// A byte for every one of eight bits, all bits set where it is set.
#[inline(always)]
fn spread_8(bits: u32) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    // Each byte keeps its own bit, which then moves to the lowest.
    let own = (u64::from(bits) * LOW) & 0x8040_2010_0804_0201;
    (((own + 0x7f * LOW) >> 7) & LOW) * 255
}

/// Calls `each` with the place (x, y, z; 0 to 3) and the solid cells of all blocks of a
/// chunk.
///
/// # Errors
/// [`NotHeld`] if the chunk is not held at mip 0.
pub(crate) fn chunk_masks(
    snapshot: &Snapshot,
    chunk: ChunkPos,
    mut each: impl FnMut([usize; 3], BlockMask),
) -> Result<(), NotHeld> {
    let view = snapshot.chunk(chunk)?;
    let kinds = Kinds::new(snapshot.materials().kinds());
    if let Some(material) = view.uniform_material() {
        let mask = if kinds.of(material)[0] != 0 { ALL } else { NONE };
        for at in 0..64 {
            each([at & 3, at >> 4, at >> 2 & 3], mask);
        }
        return Ok(());
    }
    for by in 0..4 {
        let mut layer = [[NONE; 4]; 4];
        for y in 0..8 {
            let rows = slice_rows(kinds, view.slice(8 * by + y));
            for bz in 0..4 {
                let Some(rows) = rows[8 * bz..].first_chunk() else { unreachable!() };
                let words = slices(rows);
                (0..4).for_each(|bx| layer[bz][bx][y] = words[bx]);
            }
        }
        for at in 0..16 {
            each([at & 3, by, at >> 2], layer[at >> 2][at & 3]);
        }
    }
    Ok(())
}

/// The solid cells of a chunk as rows of bits, by z + 32 y; bit x.
pub(crate) fn solid_rows(view: ChunkView<'_>, kinds: &[Kind; 256], rows: &mut [u32; 1024]) {
    let kinds = Kinds::new(kinds);
    for (y, slice) in rows.chunks_exact_mut(32).enumerate() {
        slice.copy_from_slice(&slice_rows(kinds, view.slice(y)));
    }
}

/// The solid cells of a slice of a chunk, by z; bit x.
#[inline(always)]
fn slice_rows(kinds: Kinds<'_>, group: RowGroup<'_>) -> [u32; 32] {
    // A slice of mip 0 is a whole group.
    let Some(fill) = group.fill().first_chunk() else { unreachable!() };
    let mut rows = spread(kinds.of_32(fill)[0]);
    let mut stored = group.mixed();
    while stored != 0 {
        let z = stored.trailing_zeros() as usize;
        stored &= stored - 1;
        rows[z] = kinds.of_32(&group.mixed_row(z).material)[0];
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bits_are_spread_to_bytes() {
        for bits in 0..256u32 {
            let bytes = (0..8).map(|z| (u64::from(bits >> z & 1) * 255) << (8 * z)).sum::<u64>();
            assert_eq!(spread_8(bits), bytes, "{bits}");
        }
    }
}
