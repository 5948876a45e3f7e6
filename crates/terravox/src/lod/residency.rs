//! What cells are in memory: blocks that came from a store or a generator wait here until
//! the step that shows them, and leave the grid when nothing shows them.
//!
//! A block that is shown has all its ancestors in memory, so that each coarser mip is what
//! the finest cells that were ever there say. Chunks that were edited stay until they are
//! saved.

use super::pick::Picker;
use super::tiling::Tiling;
use crate::voxel::{
    Cell, ChangeCursor, Changes, ChunkPos, DenseBox, Held, Kind, MaterialTable, MipBlock, Region,
    Snapshot, Unlisted, VoxelGrid,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Cells beyond a block that have to be plain, too, for it to have no surface.
const PLAIN_PAD: i32 = 2;

/// Blocks that have to come for it to be worth a look what they allow.
const NEWS: usize = 32;

/// Blocks in memory.
#[derive(Default)]
pub(crate) struct Residency {
    /// Came, and wait to be shown.
    staged: FxHashMap<MipBlock, DenseBox>,
    /// Asked for, nearest last.
    wanted: Vec<MipBlock>,
    /// Chunks that came from outside and can come again.
    loaded: FxHashSet<ChunkPos>,
    /// Chunks that were written by others since they were last saved.
    edited: FxHashSet<ChunkPos>,
    /// Whether blocks have no surface, as far as that was asked.
    plain: FxHashMap<MipBlock, bool>,
    cursor: ChangeCursor,
    /// Blocks that came since blocks were last let go.
    arrivals: usize,
    /// Blocks that came since blocks were last asked for.
    news: usize,
}

impl Residency {
    /// Chunks that were edited and not saved since, sorted.
    pub fn edited(&self) -> Vec<ChunkPos> {
        let mut edited: Vec<_> = self.edited.iter().copied().collect();
        edited.sort_unstable();
        edited
    }

    /// Notes that chunks are saved.
    pub fn saved(&mut self, chunks: &[ChunkPos]) {
        for chunk in chunks {
            if self.edited.remove(chunk) {
                self.loaded.insert(*chunk);
            }
        }
    }

    /// What others wrote since the last call; none for all.
    pub fn changes(&mut self, grid: &VoxelGrid) -> Option<Vec<Region>> {
        let Changes::Regions(regions) = grid.changes_since(&mut self.cursor) else {
            self.plain.clear();
            self.edited.extend(grid.chunks().iter().filter(|chunk| !self.loaded.contains(chunk)));
            return None;
        };
        for region in &regions {
            self.edited.extend(region.blocks::<5>());
        }
        if !regions.is_empty() {
            self.forget_plain(&regions);
        }
        Some(regions)
    }

    /// Forgets which blocks near `regions` are plain.
    fn forget_plain(&mut self, regions: &[Region]) {
        let near = |block: MipBlock| {
            let voxels = block.voxels().grow(PLAIN_PAD << block.mip);
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

    /// Asks for blocks, the first most of all.
    pub fn want(&mut self, mut blocks: Vec<MipBlock>) {
        blocks.reverse();
        self.wanted = blocks;
        self.news = 0;
    }

    /// Whether so many blocks came that something may be done with them.
    pub fn has_news(&self) -> bool {
        self.news > NEWS || (self.news > 0 && self.wanted.is_empty())
    }

    /// Takes the next few blocks that are asked for.
    pub fn take_wanted(&mut self, most: usize) -> Vec<MipBlock> {
        let rest = self.wanted.len().saturating_sub(most);
        let mut taken = self.wanted.split_off(rest);
        taken.reverse();
        taken
    }

    /// Whether no block is asked for.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Takes in a block that was asked for.
    pub fn supply(&mut self, block: MipBlock, cells: DenseBox) {
        assert_eq!(cells.region(), block.cells(), "a block comes as it was asked for");
        self.arrivals += 1;
        self.news += 1;
        self.staged.insert(block, cells);
    }

    /// Takes back a block that came and was not yet shown.
    pub fn take_staged(&mut self, block: MipBlock) -> Option<DenseBox> {
        self.staged.remove(&block)
    }

    /// Writes the cells of a block that came into the grid.
    pub fn commit(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        let Some(cells) = self.staged.remove(&block) else { return };
        let chunk = ChunkPos::new(block.pos.x, block.pos.y, block.pos.z);
        if block.mip > 0 {
            grid.write_far(block, &cells);
        } else if grid.held(chunk) != Held::Mip(0) && grid.write(&cells).is_ok() {
            self.loaded.insert(chunk);
        }
        self.forget_plain(&[block.voxels()]);
    }

    /// Reads past what was just written by [`Residency::commit`] and
    /// [`Residency::evict`].
    pub fn skip_own_changes(&mut self, grid: &VoxelGrid) {
        grid.changes_since(&mut self.cursor);
    }

    /// Whether a block has no surface.
    pub fn is_plain(&mut self, grid: &Snapshot, block: MipBlock, cells: &mut DenseBox) -> bool {
        *self.plain.entry(block).or_insert_with(|| {
            grid.read_known(block.cells().grow(PLAIN_PAD), block.mip, cells);
            is_plain(cells, grid.materials())
        })
    }

    /// Whether a block has no face of its own, whatever is shown around it: it and what
    /// lies beside it are full cells of one kind, or air.
    pub fn is_bare(&self, grid: &Snapshot, block: MipBlock, cells: &mut DenseBox) -> bool {
        let uniform = match block.mip {
            0 => {
                let chunk = ChunkPos::new(block.pos.x, block.pos.y, block.pos.z);
                grid.chunk(chunk).is_ok_and(|chunk| chunk.uniform_material().is_some())
            }
            _ => grid.far_material(block).is_some(),
        };
        if !uniform {
            return false;
        }
        grid.read_known(block.cells().grow(PLAIN_PAD), block.mip, cells);
        let full = |(&material, &occupancy): (&u8, &u8)| {
            Cell { material, occupancy } == Cell::full(material)
        };
        is_plain(cells, grid.materials())
            && cells.materials().iter().zip(cells.occupancies()).all(full)
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
        if self.arrivals * 4 < tiling.len() {
            return;
        }
        self.arrivals = 0;
        let used = |block: MipBlock| tiling.has(block);
        let mut spare: Vec<MipBlock> =
            grid.far_blocks().into_iter().filter(|&block| !used(block)).collect();
        let clean = self.loaded.iter().filter(|chunk| !self.edited.contains(chunk));
        spare.extend(clean.map(|&chunk| MipBlock::from(chunk)).filter(|&block| !used(block)));
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
                let chunk = ChunkPos::new(block.pos.x, block.pos.y, block.pos.z);
                grid.forget(chunk);
                self.loaded.remove(&chunk);
            }
            self.plain.remove(&block);
        }
        self.staged.retain(|&block, _| tiling.has(block.parent()) || block.mip == tiling.top());
        self.plain.retain(|block, _| tiling.has(*block));
    }
}

fn is_known(grid: &Snapshot, block: MipBlock) -> bool {
    match block.mip {
        0 => grid.held(ChunkPos::new(block.pos.x, block.pos.y, block.pos.z)) == Held::Mip(0),
        _ => grid.has_far(block),
    }
}

/// Whether all cells are of one kind, and no solid one holds water.
fn is_plain(cells: &DenseBox, materials: &MaterialTable) -> bool {
    let kinds = materials.kinds();
    let kind = |material: u8| kinds[usize::from(material)];
    let first = cells.materials().first().map_or(Kind::Air, |&material| kind(material));
    cells.water().is_empty() && cells.materials().iter().all(|&material| kind(material) == first)
}
