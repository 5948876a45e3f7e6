//! What cells are in memory: blocks that came from a store or a generator wait here until
//! the step that shows them, and leave the grid when nothing shows them.
//!
//! A block that is shown has all its ancestors in memory, so that each coarser mip is what
//! the finest cells that were ever there say. Chunks with unsaved changes stay, as the grid
//! says, and so do the blocks over them.

use super::pick::Picker;
use super::tiling::{Tiling, neighbours};
use crate::mesh::PAD;
use crate::voxel::{
    ChangeCursor, Changes, ChunkPos, DenseBox, Held, Kind, MaterialTable, MipBlock, Region,
    Snapshot, Unlisted, VoxelGrid,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Blocks in memory.
#[derive(Default)]
pub(crate) struct Residency {
    /// Came, and wait to be shown, with the version of the grid when they were asked for.
    staged: FxHashMap<MipBlock, (DenseBox, u64)>,
    /// Whether staged blocks were dropped since that was last asked.
    dropped: bool,
    /// The version of the grid when its changes were last read.
    version: u64,
    /// Whether blocks have no surface, as far as that was asked.
    plain: FxHashMap<MipBlock, bool>,
    cursor: ChangeCursor,
    /// Blocks that came since blocks were last let go.
    arrivals: usize,
}

impl Residency {
    /// What others wrote since the last call; none for all. `is_unseen` while a tiling is
    /// chosen unseen, of which the blocks here are part.
    pub fn changes(&mut self, grid: &VoxelGrid, is_unseen: bool) -> Option<Vec<Region>> {
        // What was read from a store before a save may lack what was edited. Of a tiling that is
        // written as a whole, all blocks over a chunk in memory follow that.
        let staged = self.staged.len();
        self.staged.retain(|block, staged| match is_unseen {
            true => !grid.left_since(block.voxels(), staged.1),
            false => !grid.saved_since(block.voxels(), staged.1),
        });
        self.dropped |= self.staged.len() < staged;
        self.version = grid.version();
        let Changes::Regions(regions) = grid.changes_since(&mut self.cursor) else {
            self.plain.clear();
            return None;
        };
        if !regions.is_empty() {
            self.forget_plain_near(&regions);
        }
        Some(regions)
    }

    /// Forgets whether blocks near `regions` are plain.
    fn forget_plain_near(&mut self, regions: &[Region]) {
        let near = |block: MipBlock| {
            let voxels = block.voxels().grow(PAD << block.mip);
            regions.iter().any(|region| !region.intersect(voxels).is_empty())
        };
        self.plain.retain(|&block, _| !near(block));
    }

    /// Whether the cells of a block are in memory, or on their way into it.
    pub fn has(&self, grid: &Snapshot, block: MipBlock) -> bool {
        grid.unlisted() == Unlisted::Air
            || self.staged.contains_key(&block)
            || is_known(grid, block)
    }

    /// Takes in a block that was asked for when the grid was at `version`.
    pub fn stage(&mut self, block: MipBlock, cells: DenseBox, version: u64) {
        assert_eq!(cells.region(), block.cells(), "a block comes as it was asked for");
        self.arrivals += 1;
        self.staged.insert(block, (cells, version));
    }

    /// The version of the grid when its changes were last read.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether blocks that came were dropped since the last call, as they went stale.
    pub fn take_dropped(&mut self) -> bool {
        std::mem::take(&mut self.dropped)
    }

    /// Chunks that came and wait, sorted.
    pub fn staged_chunks(&self) -> Vec<MipBlock> {
        let chunks = self.staged.keys().filter(|block| block.mip == 0);
        let mut chunks: Vec<MipBlock> = chunks.copied().collect();
        chunks.sort_unstable();
        chunks
    }

    /// Takes back a block that came and was not yet shown.
    pub fn take_staged(&mut self, block: MipBlock) -> Option<DenseBox> {
        self.staged.remove(&block).map(|staged| staged.0)
    }

    /// Writes the cells of a block that came into the grid.
    pub fn commit(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        if let Some(cells) = self.take_staged(block) {
            self.put(grid, block, &cells);
        }
    }

    /// Writes the cells of a block into the grid, unless it is held.
    pub fn put(&mut self, grid: &mut VoxelGrid, block: MipBlock, cells: &DenseBox) {
        if block.mip > 0 {
            grid.write_far(block, cells);
        } else if grid.held(chunk_of(block)) != Held::Mip(0) {
            grid.load(cells);
        }
    }

    /// Reads past what was just written by [`Residency::commit`] and
    /// [`Residency::evict`].
    pub fn skip_own_changes(&mut self, grid: &VoxelGrid) {
        self.version = grid.version();
        grid.changes_since(&mut self.cursor);
    }

    /// Whether a block and what lies beside it are of one kind, so that it has no surface.
    pub fn is_plain(&mut self, grid: &Snapshot, block: MipBlock, cells: &mut DenseBox) -> bool {
        *self.plain.entry(block).or_insert_with(|| {
            grid.read_known(block.cells().grow(PAD), block.mip, cells);
            kind_of_all(cells, grid.materials()).is_some()
        })
    }

    /// Forgets whether a block and its ancestors are plain.
    pub fn forget_plain(&mut self, block: MipBlock, top: u8) {
        for mip in block.mip..=top {
            self.plain.remove(&block.over(mip));
        }
    }

    /// Forgets of all blocks whether they are plain.
    pub fn forget_all_plain(&mut self) {
        self.plain.clear();
    }

    /// Whether a block is known to have no surface.
    pub fn known_plain(&self, block: MipBlock) -> bool {
        self.plain.get(&block) == Some(&true)
    }

    /// Lets go of what nothing shows once it is more than what is shown, or the grid holds
    /// more than `most_bytes`.
    pub fn evict(
        &mut self,
        grid: &mut VoxelGrid,
        tiling: &Tiling,
        picker: &Picker,
        most_bytes: usize,
    ) {
        // Where all is known nothing is asked for again.
        if self.arrivals * 4 < tiling.len() || grid.unlisted() == Unlisted::Air {
            return;
        }
        self.arrivals = 0;
        // Coarser mips of what is not saved are nowhere else.
        let mut unsaved = FxHashSet::default();
        for chunk in grid.unsaved_chunks() {
            let over = (0..=tiling.top()).rev().map(|mip| MipBlock::from(chunk).over(mip));
            unsaved.extend(over);
        }
        let close =
            |block: MipBlock| block.mip == 0 && picker.distance(block) <= picker.near + 16.0;
        let used = |block: MipBlock| tiling.has(block) || unsaved.contains(&block) || close(block);
        let mut spare: Vec<MipBlock> =
            grid.far_blocks().into_iter().filter(|&block| !used(block)).collect();
        let chunks = grid.as_snapshot().fine_chunks().map(MipBlock::from);
        spare.extend(chunks.filter(|&block| !used(block)));
        if spare.len() <= tiling.len() && grid.memory().total() <= most_bytes {
            return;
        }
        // What is about to be shown is near; half of what is spare stays.
        let size = |block: &MipBlock| picker.distance(*block) / f64::from(block.edge_voxels());
        spare.sort_unstable_by(|a, b| size(a).total_cmp(&size(b)).then(a.cmp(b)));
        for block in spare.split_off(spare.len() / 2) {
            if block.mip > 0 {
                grid.forget_far(block);
            } else {
                grid.forget(chunk_of(block));
            }
            self.plain.remove(&block);
        }
        let near = |block: MipBlock| tiling.has(block.parent()) || block.mip == tiling.top();
        self.staged.retain(|&block, _| near(block));
        self.plain.retain(|block, _| tiling.has(*block));
    }
}

/// The chunk that a block of mip 0 is.
fn chunk_of(block: MipBlock) -> ChunkPos {
    ChunkPos::new(block.pos.x, block.pos.y, block.pos.z)
}

fn is_known(grid: &Snapshot, block: MipBlock) -> bool {
    match block.mip {
        0 => grid.held(chunk_of(block)) == Held::Mip(0),
        _ => grid.has_far(block),
    }
}

/// Whether a block has no face of its own, whatever is shown around it: it and what lies
/// beside it are full cells of one kind, or air. May say no though it has none.
pub(crate) fn is_bare(grid: &Snapshot, block: MipBlock, cells: &mut DenseBox) -> bool {
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
            kind_of_all(cells, grid.materials()) == Some(own)
                && cells.occupancies().iter().all(|&occupancy| occupancy == full)
        }
    })
}

/// The material of a block that is known to be full cells of one, or air.
fn uniform_material(grid: &Snapshot, block: MipBlock) -> Option<u8> {
    match block.mip {
        0 => {
            let chunk = chunk_of(block);
            grid.chunk(chunk).ok()?.uniform_material()
        }
        _ => grid.far_material(block),
    }
}

/// The kind of all cells, if they are of one and no solid one holds water.
pub(super) fn kind_of_all(cells: &DenseBox, materials: &MaterialTable) -> Option<Kind> {
    let kinds = materials.kinds();
    let kind = |&material: &u8| kinds[usize::from(material)];
    let first = cells.materials().first().map_or(Kind::Air, kind);
    let same = cells.water().is_empty() && cells.materials().iter().all(|m| kind(m) == first);
    same.then_some(first)
}
