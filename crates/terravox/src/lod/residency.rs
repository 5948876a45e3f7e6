//! Which cells are in memory. Blocks from a store or a generator are staged here until the step
//! that shows them, and evicted from the grid when nothing shows them.
//!
//! All ancestors of a shown block stay in memory, so that each coarser mip agrees with the finest
//! cells that were ever there. Chunks with unsaved changes stay, too, and so do the blocks over
//! them.

use super::selection::Selector;
use super::tiling::{Tiling, neighbours};
use crate::mesh::PAD;
use crate::voxel::{
    ChangeCursor, Changes, ChunkPos, ChunkState, DenseBox, Kind, MaterialTable, MipBlock, Region,
    Snapshot, UnlistedChunks, VoxelGrid,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Staged blocks, and what is known about those in the grid.
#[derive(Default)]
pub(crate) struct Residency {
    /// Blocks that wait to be shown.
    staged: FxHashMap<MipBlock, StagedBlock>,
    /// Whether staged blocks were dropped since [`Residency::take_dropped`].
    dropped: bool,
    /// The version of the grid when its changes were last read.
    version: u64,
    /// Caches whether blocks have no surface.
    surfaceless: FxHashMap<MipBlock, bool>,
    cursor: ChangeCursor,
    /// Blocks staged since the last eviction.
    arrivals: usize,
}

struct StagedBlock {
    cells: DenseBox,
    /// Version of the grid when they were requested.
    version: u64,
}

impl Residency {
    /// Returns the regions that others wrote since the last call; `None` for all. `has_next_tiling`
    /// says whether staged blocks are for a tiling that will be committed as a whole.
    pub fn changes(&mut self, grid: &VoxelGrid, has_next_tiling: bool) -> Option<Vec<Region>> {
        // Cells read from a store before a save may lack edits. When a whole tiling is committed,
        // the grid corrects all blocks over chunks that are still in memory.
        let count = self.staged.len();
        self.staged.retain(|block, staged| match has_next_tiling {
            true => !grid.left_since(block.voxels(), staged.version),
            false => !grid.saved_since(block.voxels(), staged.version),
        });
        self.dropped |= self.staged.len() < count;
        self.version = grid.version();
        let Changes::Regions(regions) = grid.changes_since(&mut self.cursor) else {
            self.surfaceless.clear();
            return None;
        };
        if !regions.is_empty() {
            self.forget_surfaceless_near(&regions);
        }
        Some(regions)
    }

    /// Forgets which blocks near `regions` have no surface.
    fn forget_surfaceless_near(&mut self, regions: &[Region]) {
        let near = |block: MipBlock| {
            let voxels = block.voxels().grow(PAD << block.mip);
            regions.iter().any(|region| !region.intersect(voxels).is_empty())
        };
        self.surfaceless.retain(|&block, _| !near(block));
    }

    /// Whether the cells of a block are in the grid or staged.
    pub fn has(&self, grid: &Snapshot, block: MipBlock) -> bool {
        grid.unlisted() == UnlistedChunks::Air
            || self.staged.contains_key(&block)
            || is_known(grid, block)
    }

    /// Stages a block that was requested when the grid was at `version`.
    ///
    /// # Panics
    /// If `cells` are not the block's.
    pub fn stage(&mut self, block: MipBlock, cells: DenseBox, version: u64) {
        assert_eq!(cells.region(), block.cells(), "cells of another region than the block's");
        self.arrivals += 1;
        self.staged.insert(block, StagedBlock { cells, version });
    }

    /// Returns the version of the grid when its changes were last read.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns whether stale blocks were dropped since the last call.
    pub fn take_dropped(&mut self) -> bool {
        std::mem::take(&mut self.dropped)
    }

    /// Returns the staged chunks, sorted.
    pub fn staged_chunks(&self) -> Vec<MipBlock> {
        let chunks = self.staged.keys().filter(|block| block.mip == 0);
        let mut chunks: Vec<MipBlock> = chunks.copied().collect();
        chunks.sort_unstable();
        chunks
    }

    /// Removes and returns the cells of a staged block.
    pub fn take_staged(&mut self, block: MipBlock) -> Option<DenseBox> {
        self.staged.remove(&block).map(|staged| staged.cells)
    }

    /// Writes the cells of a staged block into the grid.
    pub fn commit(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        if let Some(cells) = self.take_staged(block) {
            self.put(grid, block, &cells);
        }
    }

    /// Writes the cells of a block into the grid, unless it is a chunk held at mip 0.
    pub fn put(&mut self, grid: &mut VoxelGrid, block: MipBlock, cells: &DenseBox) {
        if block.mip > 0 {
            grid.write_far(block, cells);
        } else if grid.held(chunk_of(block)) != ChunkState::Mip(0) {
            grid.load(cells);
        }
    }

    /// Skips the changes just made by [`Residency::commit`] and [`Residency::evict`].
    pub fn skip_own_changes(&mut self, grid: &VoxelGrid) {
        self.version = grid.version();
        grid.changes_since(&mut self.cursor);
    }

    /// Whether a block and the cells beside it are of one kind, so that it has no surface.
    pub fn is_surfaceless(
        &mut self,
        grid: &Snapshot,
        block: MipBlock,
        cells: &mut DenseBox,
    ) -> bool {
        *self.surfaceless.entry(block).or_insert_with(|| {
            grid.read_known(block.cells().grow(PAD), block.mip, cells);
            uniform_kind(cells, grid.materials()).is_some()
        })
    }

    /// Forgets whether a block and its ancestors have no surface.
    pub fn forget_surfaceless(&mut self, block: MipBlock, top: u8) {
        for mip in block.mip..=top {
            self.surfaceless.remove(&block.over(mip));
        }
    }

    /// Forgets which blocks have no surface.
    pub fn forget_all_surfaceless(&mut self) {
        self.surfaceless.clear();
    }

    /// Whether a block is known to have no surface.
    pub fn is_known_surfaceless(&self, block: MipBlock) -> bool {
        self.surfaceless.get(&block) == Some(&true)
    }

    /// Evicts blocks that nothing shows, once they outnumber those shown or the grid holds more
    /// than `max_bytes`.
    pub fn evict(
        &mut self,
        grid: &mut VoxelGrid,
        tiling: &Tiling,
        selector: &Selector,
        max_bytes: usize,
    ) {
        // Without unknown cells, nothing would be requested again.
        if self.arrivals * 4 < tiling.len() || grid.unlisted() == UnlistedChunks::Air {
            return;
        }
        self.arrivals = 0;
        // Coarser mips of unsaved chunks exist nowhere else.
        let mut unsaved = FxHashSet::default();
        for chunk in grid.unsaved_chunks() {
            let over = (0..=tiling.top()).rev().map(|mip| MipBlock::from(chunk).over(mip));
            unsaved.extend(over);
        }
        let close = |block: MipBlock| {
            block.mip == 0 && selector.distance(block) <= selector.near_voxels + 16.0
        };
        let used = |block: MipBlock| tiling.has(block) || unsaved.contains(&block) || close(block);
        let mut spare: Vec<MipBlock> =
            grid.far_blocks().into_iter().filter(|&block| !used(block)).collect();
        let chunks = grid.as_snapshot().fine_chunks().map(MipBlock::from);
        spare.extend(chunks.filter(|&block| !used(block)));
        if spare.len() <= tiling.len() && grid.memory().total() <= max_bytes {
            return;
        }
        // What is about to be shown is near; the nearer half of the spare blocks stays.
        let edges = |block: &MipBlock| selector.distance_edges(*block);
        spare.sort_unstable_by(|a, b| edges(a).total_cmp(&edges(b)).then(a.cmp(b)));
        for block in spare.split_off(spare.len() / 2) {
            if block.mip > 0 {
                grid.forget_far(block);
            } else {
                grid.forget(chunk_of(block));
            }
            self.surfaceless.remove(&block);
        }
        let near = |block: MipBlock| tiling.has(block.parent()) || block.mip == tiling.top();
        // A late root waits for all that it is split into.
        let mut late = FxHashMap::default();
        let mut is_late = |root: MipBlock| {
            *late.entry(root).or_insert_with(|| {
                let mut touches = false;
                tiling.touching(root, |_| touches = true);
                touches && !tiling.has(root)
            })
        };
        self.staged.retain(|&block, _| near(block) || is_late(block.over(tiling.top())));
        self.surfaceless.retain(|block, _| tiling.has(*block));
    }
}

/// Returns the chunk of a block of mip 0.
pub(super) fn chunk_of(block: MipBlock) -> ChunkPos {
    ChunkPos::new(block.pos.x, block.pos.y, block.pos.z)
}

fn is_known(grid: &Snapshot, block: MipBlock) -> bool {
    match block.mip {
        0 => grid.held(chunk_of(block)) == ChunkState::Mip(0),
        _ => grid.has_far(block),
    }
}

/// Whether a block has no faces, whatever is shown around it: it and the cells beside it are full
/// cells of one kind, or air. Conservative: may return false for a block without faces.
pub(crate) fn has_no_faces(grid: &Snapshot, block: MipBlock, cells: &mut DenseBox) -> bool {
    let kinds = grid.materials().kinds();
    let Some(own) = uniform_material(grid, block).map(|m| kinds[usize::from(m)]) else {
        return false;
    };
    let full = if own == Kind::Air { 0 } else { u8::MAX };
    neighbours(block).all(|beside| match uniform_material(grid, beside) {
        Some(material) => kinds[usize::from(material)] == own,
        None => {
            let part = beside.cells().intersect(block.cells().grow(PAD));
            grid.read_known(part, block.mip, cells);
            uniform_kind(cells, grid.materials()) == Some(own)
                && cells.occupancies().iter().all(|&occupancy| occupancy == full)
        }
    })
}

/// Returns the material of a block that is known to be full cells of one material, or air.
fn uniform_material(grid: &Snapshot, block: MipBlock) -> Option<u8> {
    match block.mip {
        0 => {
            let chunk = chunk_of(block);
            grid.chunk(chunk).ok()?.uniform_material()
        }
        _ => grid.far_material(block),
    }
}

/// Returns the kind of all cells, if they are of one kind and no solid one holds water.
pub(super) fn uniform_kind(cells: &DenseBox, materials: &MaterialTable) -> Option<Kind> {
    let kinds = materials.kinds();
    let kind = |&material: &u8| kinds[usize::from(material)];
    let first = cells.materials().first().map_or(Kind::Air, kind);
    let same = cells.water().is_empty() && cells.materials().iter().all(|m| kind(m) == first);
    same.then_some(first)
}
