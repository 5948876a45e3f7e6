//! Updating the coarse mips of a world in the transaction that changes its chunks.
//!
//! Every mip from 1 to 8 is stored in blocks of 32³ of its cells. Mips 1 to 5 of a chunk come from
//! the snapshot. A cell of mip 6 covers several chunks, some of which the snapshot may not hold,
//! so mips 6 to 8 of a page come from its stored cells of mip 5. After every commit the stored
//! mips agree with the stored chunks.
//!
//! In a world that grows a block starts as the generator makes it; the cells over stored chunks
//! (up to mip 5) or pages (above) are then replaced.

use crate::error::StoreError;
use crate::key::BlockKey;
use crate::listing::page_of;
use crate::value::ValueError;
use crate::write::{ChunkWrite, TableWriter};
use terravox::voxel::{
    AIR, DenseBox, GridOptions, MAX_MIP, MaterialTable, PagePos, Region, Snapshot, UnlistedChunks,
    VoxelGrid, VoxelPos,
};

/// The coarsest mip of which a chunk has a cell of its own.
pub(crate) const CHUNK_MIP: u8 = 5;

/// Coarse cells of a page.
struct PageMips {
    page: PagePos,
    /// Mips 6 to 8.
    mips: [DenseBox; 3],
}

impl TableWriter<'_, '_> {
    /// Updates all coarse blocks over the written chunks, which are sorted by key.
    pub fn update_mips(
        &mut self,
        snapshot: &Snapshot,
        touched: &[ChunkWrite],
    ) -> Result<(), StoreError> {
        let mut block = DenseBox::default();
        let mut part = DenseBox::default();
        for mip in 1..=CHUNK_MIP {
            let key = |touched: &ChunkWrite| BlockKey::over(touched.chunk, mip);
            for group in touched.chunk_by(|a, b| key(a) == key(b)) {
                let key = key(&group[0]);
                if let Some(material) = uniform_over(snapshot, group, mip) {
                    self.put_uniform_mip(key, material)?;
                    continue;
                }
                self.read_or_rebuild(key, &mut block)?;
                let mut patch = BlockPatch::of(&block);
                for &ChunkWrite { chunk, is_stored } in group {
                    let region = chunk.region().coarser(mip.into());
                    if is_stored {
                        let path = self.store.path();
                        snapshot.read(region, mip, &mut part).map_err(|source| {
                            StoreError::NotHeld { path: path.to_owned(), source }
                        })?;
                    } else {
                        part.reset(region);
                    }
                    patch.copy(&mut block, &part, region);
                }
                patch.finish(&mut block);
                self.put_mip(key, &block)?;
            }
        }
        let pages = self.page_mips(snapshot.materials(), touched)?;
        for mip in CHUNK_MIP + 1..=MAX_MIP {
            let key = |page: &PageMips| page_key(page.page, mip);
            for group in pages.chunk_by(|a, b| key(a) == key(b)) {
                let key = key(&group[0]);
                self.read_or_rebuild(key, &mut block)?;
                let mut patch = BlockPatch::of(&block);
                for page in group {
                    let part = &page.mips[usize::from(mip - CHUNK_MIP - 1)];
                    patch.copy(&mut block, part, part.region());
                }
                patch.finish(&mut block);
                self.put_mip(key, &block)?;
            }
        }
        Ok(())
    }

    /// Updates mips 6 to 8 of the pages of the written chunks, from the stored mip 5.
    fn page_mips(
        &mut self,
        materials: &MaterialTable,
        touched: &[ChunkWrite],
    ) -> Result<Vec<PageMips>, StoreError> {
        let mut pages = Vec::new();
        let mut block = DenseBox::default();
        let empty = empty_grid(materials);
        let mut held = None;
        for group in touched.chunk_by(|a, b| page_of(a.chunk) == page_of(b.chunk)) {
            let page = page_of(group[0].chunk);
            let key = page_key(page, CHUNK_MIP);
            if held != Some(key) {
                self.read_or_rebuild(key, &mut block)?;
                held = Some(key);
            }
            let mut scratch = VoxelGrid::from_snapshot(&empty);
            add_block(&mut scratch, &block);
            let cells = page.region().coarser(CHUNK_MIP.into());
            let mips = [1, 2, 3].map(|mip| read_mip(scratch.as_snapshot(), cells, mip));
            pages.push(PageMips { page, mips });
        }
        Ok(pages)
    }

    /// The stored block; air, or the generated block, if it is not stored. A damaged one is
    /// rebuilt.
    fn read_or_rebuild(&mut self, key: BlockKey, out: &mut DenseBox) -> Result<(), StoreError> {
        let path = self.store.path();
        let not_generated =
            |key: BlockKey| StoreError::NotGenerated { path: path.to_owned(), block: key.into() };
        let generate = self.generate;
        let TableWriter { tree, coder, .. } = self;
        let mut missing = None;
        let mut read = |key: BlockKey, out: &mut DenseBox| -> Result<bool, ValueError> {
            let stored = crate::read::read_block(&**tree, coder, key, out)?;
            let (false, Some(generate)) = (stored, generate) else { return Ok(stored) };
            match generate(key.into()) {
                Some(made) => *out = made,
                None => {
                    missing.get_or_insert(key);
                }
            }
            Ok(true)
        };
        if read(key, out).is_err() {
            let empty = empty_grid(&self.store.info().materials);
            // Damaged finer blocks count as air here; reading them is an error.
            rebuild(key, &empty, sources_of(key), read, out);
            self.stats.repaired += 1;
        }
        missing.map_or(Ok(()), |key| Err(not_generated(key)))
    }
}

/// The material, if written chunks cover a whole block of mip `mip` and are full cells of one.
fn uniform_over(snapshot: &Snapshot, group: &[ChunkWrite], mip: u8) -> Option<u8> {
    if group.len() != 1 << (3 * mip) {
        return None;
    }
    let material = |write: &ChunkWrite| match write.is_stored {
        true => snapshot.chunk(write.chunk).ok()?.uniform_material(),
        false => Some(AIR),
    };
    let first = material(&group[0])?;
    group.iter().all(|write| material(write) == Some(first)).then_some(first)
}

/// The mip of the finer blocks that a block of mip 1 or more is made of.
pub(crate) fn source_mip(mip: u8) -> u8 {
    (mip - 1).min(CHUNK_MIP)
}

/// The finer blocks that the block `key` (mip 1 or more) is made of, stored or not.
pub(crate) fn sources_of(key: BlockKey) -> impl Iterator<Item = BlockKey> {
    let mip = source_mip(key.mip);
    let positions = Region::one(key.pos).finer(u32::from(key.mip - mip)).voxels();
    positions.map(move |pos| BlockKey { mip, pos })
}

/// Rebuilds the block `key` (mip 1 or more) in `out` from `sources`, those of the finer blocks that
/// may be stored; `read` returns `false` for one that is not, which is air. Returns whether
/// all could be read; others count as air. `empty` is of [`empty_grid`].
pub(crate) fn rebuild(
    key: BlockKey,
    empty: &Snapshot,
    sources: impl Iterator<Item = BlockKey>,
    mut read: impl FnMut(BlockKey, &mut DenseBox) -> Result<bool, ValueError>,
    out: &mut DenseBox,
) -> bool {
    let mut scratch = VoxelGrid::from_snapshot(empty);
    let mut fine = DenseBox::default();
    let mut is_whole = true;
    for from in sources {
        match read(from, &mut fine) {
            Ok(true) => add_block(&mut scratch, &fine),
            Ok(false) => {}
            Err(_) => is_whole = false,
        }
    }
    let read = scratch.read(key.region(), key.mip - source_mip(key.mip), out);
    assert!(read.is_ok(), "what is not listed in the scratch grid is air");
    is_whole
}

/// The block of mip `mip`, 3 or more, that covers a page.
fn page_key(page: PagePos, mip: u8) -> BlockKey {
    let pos = VoxelPos::new(page.x, page.y, page.z).coarser(u32::from(mip) - 3);
    BlockKey { mip, pos }
}

/// An empty grid, for [`rebuild`]. Making one copies all names of the materials.
pub(crate) fn empty_grid(materials: &MaterialTable) -> Snapshot {
    let unlisted = UnlistedChunks::Air;
    VoxelGrid::new(GridOptions { unlisted, materials: materials.clone() }).snapshot()
}

/// Adds a block of any mip as a chunk: one rule makes every mip from the finer one, so the mips of
/// this chunk are the coarser ones of the block.
fn add_block(scratch: &mut VoxelGrid, block: &DenseBox) {
    if crate::value::uniform_material(block) != Some(AIR) {
        let written = scratch.write(block);
        assert!(written.is_ok(), "a chunk is written as a whole");
    }
}

fn read_mip(grid: &Snapshot, region: Region, mip: u8) -> DenseBox {
    let mut cells = DenseBox::default();
    let read = grid.read(region.coarser(mip.into()), mip, &mut cells);
    assert!(read.is_ok(), "what is not listed in the scratch grid is air");
    cells
}

/// Replaces parts of a block that do not overlap. Water is merged once at the end: a list of water
/// that each part goes through would make many parts quadratic.
pub(crate) struct BlockPatch {
    /// Cells that were replaced, by index.
    is_replaced: Vec<bool>,
    /// Their water.
    water: Vec<(u32, u8)>,
}

impl BlockPatch {
    pub fn of(block: &DenseBox) -> BlockPatch {
        BlockPatch { is_replaced: vec![false; block.materials().len()], water: Vec::new() }
    }

    /// Copies the cells in `region`, which lies inside of both, from `from`; their water only with
    /// [`BlockPatch::finish`].
    pub fn copy(&mut self, block: &mut DenseBox, from: &DenseBox, region: Region) {
        let width = region.size()[0];
        for y in region.min.y..region.max.y {
            for z in region.min.z..region.max.z {
                let first = VoxelPos::new(region.min.x, y, z);
                let (row, at) = (from.index(first), block.index(first));
                let (materials, occupancies) = block.arrays_mut();
                materials[at..at + width].copy_from_slice(&from.materials()[row..row + width]);
                occupancies[at..at + width].copy_from_slice(&from.occupancies()[row..row + width]);
                self.is_replaced[at..at + width].fill(true);
                if !from.water().is_empty() {
                    let start = from.water().partition_point(|entry| (entry.0 as usize) < row);
                    let held = from.water()[start..].iter();
                    let held = held.take_while(|entry| (entry.0 as usize) < row + width);
                    self.water.extend(
                        held.map(|&(cell, held)| ((cell as usize - row + at) as u32, held)),
                    );
                }
            }
        }
    }

    /// Completes the block with the water of all copied cells.
    pub fn finish(mut self, block: &mut DenseBox) {
        let kept = block.water().iter().filter(|entry| !self.is_replaced[entry.0 as usize]);
        self.water.extend(kept);
        block.set_all_water(self.water);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damage_tests::scratch::Numbers;
    use terravox::voxel::Cell;

    /// Cells of a block, a third of which hold water.
    fn random_block(region: Region, numbers: &mut Numbers) -> DenseBox {
        let mut cells = DenseBox::default();
        cells.reset(region);
        for pos in region.voxels() {
            let bits = numbers.next();
            cells.set(pos, Cell::new(2 + (bits % 20) as u8, (bits >> 32) as u8));
            if bits.is_multiple_of(3) {
                cells.set_water(pos, Some((bits >> 40) as u8));
            }
        }
        cells
    }

    #[test]
    fn a_patched_block_is_the_same_as_one_that_is_copied_into() {
        let mut numbers = Numbers(11);
        for size in [2, 4, 16] {
            let key = BlockKey { mip: 5, pos: VoxelPos::new(-2, 1, 0) };
            let mut block = random_block(key.region(), &mut numbers);
            let from = random_block(key.region(), &mut numbers);
            let mut copied = block.clone();
            let mut patch = BlockPatch::of(&block);
            let places = Region::new([0; 3], [32 / size; 3]);
            for place in places.voxels() {
                let min = Region::one(place).finer(size.ilog2()).min + key.region().min;
                let region = Region { min, max: min + VoxelPos::new(size, size, size) };
                if numbers.next().is_multiple_of(4) {
                    continue;
                }
                let mut part = DenseBox::default();
                part.reset(region);
                part.copy_from(&from);
                copied.copy_from(&part);
                // Parts may be boxes of their own.
                let whole = if numbers.next().is_multiple_of(2) { &from } else { &part };
                patch.copy(&mut block, whole, region);
            }
            patch.finish(&mut block);
            assert!(block == copied, "parts of {size}");
        }
    }
}
