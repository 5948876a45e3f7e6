//! The authoritative state of a host's world: the cells of any block, at any mip.
//!
//! At mip 0, the grid has the cells. A coarser block is the ground at that mip, with the cells over
//! each edit computed from the finer ones. So host and guests compute the same cells without the
//! chunks that were never edited.

use super::Verdict;
use crate::edit::EditOp;
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{
    ChunkPos, ChunkState, DenseBox, FarPyramid, MAX_MIP, MipBlock, Region, UnlistedChunks,
    VoxelGrid,
};
use rustc_hash::FxHashSet;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound;
use xxhash_rust::xxh3::Xxh3;

/// The world of a [`Host`](super::Host) for one call: its cells, its ground, and the decisions of
/// the game.
pub struct HostWorld<'a> {
    /// The cells. Chunks that are unknown are filled by `ground` when an edit needs them, and are
    /// evicted in a later tick once thousands of others were filled.
    pub grid: &'a mut VoxelGrid,
    /// The size of voxels, and where they lie.
    pub placement: Placement,
    /// Fills a block as it was last saved: from the store, else from the generator.
    pub ground: &'a dyn Fn(&mut FillRequest<'_>),
    /// Fills a block as the generator makes it, without any edit: what guests make themselves. In a
    /// world that was never saved, the same as `ground`. Not called in a world without a generator.
    pub generated: &'a dyn Fn(&mut FillRequest<'_>),
    /// Told which blocks `ground` will be asked for, so that a store that takes a message to another
    /// machine for each can read them together while ticks go on. Returns whether `ground` has all of
    /// them at hand, or will not have them soon. If not, what needs them waits for some ticks, where it
    /// can. `&|_| true` for ground that is always at hand.
    pub prefetch: &'a dyn Fn(&[MipBlock]) -> bool,
    /// Decides about an operation of a guest, given by its number.
    pub decide: &'a mut dyn FnMut(u64, &EditOp) -> Verdict,
}

impl HostWorld<'_> {
    /// Whether all of the world is in the grid, so that coarse cells follow from the finer ones.
    pub(super) fn is_known(&self) -> bool {
        self.grid.unlisted() == UnlistedChunks::Air
    }
}

/// Maximum number of chunks that were loaded for operations and stay in the grid.
const MAX_LOADED: usize = 4096;

/// Maximum number of coarse blocks over edited chunks that stay in memory.
const MAX_COARSE: usize = if cfg!(test) { 64 } else { 4096 };

/// Blocks that are evicted at a time: a pass looks at all chunks that are unsaved.
const EVICTED_PER_PASS: usize = if cfg!(test) { 32 } else { 256 };

/// What is known of a world besides its grid.
pub(super) struct Truth {
    max_mip: u8,
    /// Blocks over chunks that were edited, at every mip.
    edited: FxHashSet<MipBlock>,
    /// Coarse blocks over edited chunks.
    pyramid: FarPyramid,
    /// Their blocks, oldest first.
    coarse: VecDeque<MipBlock>,
    /// Coarse blocks from which on the next pass evicts some.
    trims_at: usize,
    /// Chunks that were loaded for an operation, oldest first.
    loaded: VecDeque<ChunkPos>,
    /// Edited chunks over which a coarse block was not available, and the one that was tried again last.
    unraised: BTreeSet<ChunkPos>,
    tried_last: ChunkPos,
    /// When the one after it is tried again.
    raises_at_us: u64,
}

/// Interval after which a chunk over which a coarse block was not available is tried again.
const RAISED_AGAIN_US: u64 = 1_000_000;

impl Truth {
    pub fn new(max_mip: u8) -> Truth {
        Truth {
            max_mip,
            edited: FxHashSet::default(),
            pyramid: FarPyramid::default(),
            coarse: VecDeque::new(),
            trims_at: MAX_COARSE + EVICTED_PER_PASS,
            loaded: VecDeque::new(),
            unraised: BTreeSet::new(),
            tried_last: ChunkPos::default(),
            raises_at_us: 0,
        }
    }

    /// Whether a block may differ from what the generator makes.
    pub fn is_edited(&self, block: MipBlock) -> bool {
        self.edited.contains(&block)
    }

    pub fn mark_edited(&mut self, chunk: ChunkPos) {
        for mip in 0..=self.max_mip {
            if !self.edited.insert(MipBlock::from(chunk).over(mip)) {
                return;
            }
        }
    }

    /// Notes that the ground of chunks was replaced, and differs from what the generator makes:
    /// the coarse cells over them are read again.
    pub fn reread(&mut self, chunks: &[ChunkPos]) {
        for &chunk in chunks {
            self.mark_edited(chunk);
            (1..=self.max_mip).for_each(|mip| self.pyramid.remove(MipBlock::from(chunk).over(mip)));
        }
        // One that is made again is listed again.
        self.coarse.retain(|&block| self.pyramid.has(block));
    }

    /// How many coarse blocks there are.
    #[cfg(test)]
    pub fn coarse_blocks(&self) -> usize {
        self.coarse.len()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.pyramid.memory()
            + self.edited.capacity() * (size_of::<MipBlock>() + 1)
            + self.loaded.capacity() * size_of::<ChunkPos>()
            + self.coarse.capacity() * size_of::<MipBlock>()
    }

    /// Fills `out` with the cells of a block; false if they are not available now.
    pub fn read(&self, world: &HostWorld<'_>, block: MipBlock, out: &mut DenseBox) -> bool {
        match block.mip {
            _ if self.asks_ground(world, block) => fill(world, block, out),
            0 => world.grid.read(block.cells(), 0, out).is_ok(),
            mip if world.is_known() => world.grid.read(block.cells(), mip, out).is_ok(),
            _ => self.pyramid.read(block, block.cells(), out),
        }
    }

    /// Whether the cells of a block are read from the ground.
    pub fn asks_ground(&self, world: &HostWorld<'_>, block: MipBlock) -> bool {
        match block.mip {
            mip if world.is_known() => mip > MAX_MIP,
            0 => world.grid.held(chunk_of(block)) != ChunkState::Mip(0),
            _ => !self.pyramid.has(block),
        }
    }

    /// The blocks that a change asks the ground for: chunks of `needed`, in voxels, and coarse blocks
    /// over the region that it may write.
    pub fn ground_of_change(
        &self,
        world: &HostWorld<'_>,
        needed: impl IntoIterator<Item = Region>,
        write: Region,
    ) -> Vec<MipBlock> {
        let chunks = needed.into_iter().flat_map(|region| region.blocks::<5>());
        let missing = chunks.filter(|&chunk| !is_held(world, chunk)).map(MipBlock::from);
        missing.chain(self.missing_coarse(world, write)).collect()
    }

    /// How many chunks of a region, in voxels, are not held.
    pub fn missing(world: &HostWorld<'_>, region: Region) -> u64 {
        region.blocks::<5>().filter(|&chunk| !is_held(world, chunk)).count() as u64
    }

    /// How many coarse blocks a change of a region, in voxels, makes: those over it that are not
    /// there. And how many it updates, each in the part over one chunk.
    pub fn coarse_work(&self, world: &HostWorld<'_>, region: Region) -> [u64; 2] {
        if world.is_known() {
            return [0, 0];
        }
        [self.missing_coarse(world, region).count() as u64, region.coarser(5).volume()]
    }

    /// The coarse blocks over a region, in voxels, that a change of it makes.
    fn missing_coarse(
        &self,
        world: &HostWorld<'_>,
        region: Region,
    ) -> impl Iterator<Item = MipBlock> {
        let over = move |mip: u8| {
            let blocks = region.coarser(5 + u32::from(mip)).voxels();
            blocks.map(move |pos| MipBlock { mip, pos })
        };
        let coarsest = if world.is_known() { 0 } else { self.max_mip };
        (1..=coarsest).flat_map(over).filter(|&block| !self.pyramid.has(block))
    }

    /// Makes sure that all chunks of a region, in voxels, are held. Returns the first that is not
    /// available.
    pub fn load(&mut self, world: &mut HostWorld<'_>, region: Region) -> Result<(), ChunkPos> {
        let mut cells = DenseBox::default();
        let missing = region.blocks::<5>().filter(|&chunk| !is_held(world, chunk));
        let missing: Vec<ChunkPos> = missing.collect();
        (world.prefetch)(&Vec::from_iter(missing.iter().copied().map(MipBlock::from)));
        for chunk in missing {
            if !fill(world, chunk.into(), &mut cells) {
                return Err(chunk);
            }
            world.grid.load(&cells);
            self.loaded.push_back(chunk);
        }
        Ok(())
    }

    /// Evicts the chunks that were loaded first, if there are many. Unsaved ones stay, and are
    /// tried again later.
    pub fn trim(&mut self, grid: &mut VoxelGrid) {
        for _ in MAX_LOADED..self.loaded.len() {
            if let Some(chunk) = self.loaded.pop_front()
                && !grid.forget(chunk)
            {
                self.loaded.push_back(chunk);
            }
        }
    }

    /// Lets the next [`Truth::trim_coarse`] look for blocks to evict: chunks were saved.
    pub fn note_saved(&mut self) {
        self.trims_at = MAX_COARSE + EVICTED_PER_PASS;
    }

    /// Evicts the oldest coarse blocks, if there are many: the ground has what was saved. Blocks
    /// over unsaved chunks stay. Returns those that were evicted; their cells can be others now,
    /// where the ground computes coarse cells from other finer ones.
    pub fn trim_coarse(&mut self, grid: &VoxelGrid) -> Vec<MipBlock> {
        if self.coarse.len() < self.trims_at {
            return Vec::new();
        }
        let mut unsaved = FxHashSet::default();
        for chunk in grid.unsaved_chunks() {
            // Those over one that is known are known.
            let mut over = (1..=self.max_mip).map(|mip| MipBlock::from(chunk).over(mip));
            while over.next().is_some_and(|block| unsaved.insert(block)) {}
        }
        let mut evicted = Vec::new();
        for _ in 0..self.coarse.len() {
            let Some(block) = self.coarse.pop_front() else { break };
            if unsaved.contains(&block) {
                self.coarse.push_back(block);
            } else {
                self.pyramid.remove(block);
                evicted.push(block);
            }
            if self.coarse.len() <= MAX_COARSE || evicted.len() == EVICTED_PER_PASS {
                break;
            }
        }
        if evicted.len() < EVICTED_PER_PASS {
            // Nothing more before others are saved, or many more are made.
            self.trims_at = (self.coarse.len() + self.coarse.len() / 8).max(self.trims_at);
        }
        evicted
    }

    /// Follows an edit of a region, in voxels: coarse cells over all chunks that it touches are
    /// computed from them. Whole chunks, so that the order and the size of edits do not matter.
    /// Returns the parts of the region that can have changed: those that are held.
    pub fn follow(&mut self, world: &HostWorld<'_>, region: Region) -> Vec<Region> {
        let regions = match region.blocks::<5>().all(|chunk| is_held(world, chunk)) {
            true => vec![region],
            false => {
                let held = region.blocks::<5>().filter(|&chunk| is_held(world, chunk));
                held.map(|chunk| region.intersect(chunk.region())).collect()
            }
        };
        for &region in regions.iter().filter(|region| !region.is_empty()) {
            region.blocks::<5>().for_each(|chunk| self.mark_edited(chunk));
            if !world.is_known() {
                self.raise(world, region.coarser(5).finer(5));
            }
        }
        regions
    }

    /// Computes the coarse cells over whole chunks. Returns whether all could be.
    fn raise(&mut self, world: &HostWorld<'_>, chunks: Region) -> bool {
        (world.prefetch)(&self.missing_coarse(world, chunks).collect::<Vec<_>>());
        let (mut is_whole, made) = (true, &mut self.coarse);
        let make = |block: MipBlock, cells: &mut DenseBox| {
            let is_made = fill(world, block, cells);
            is_whole &= is_made;
            if is_made {
                made.push_back(block);
            }
            is_made
        };
        self.pyramid.raise(world.grid.as_snapshot(), chunks, 1..=self.max_mip, make);
        if !is_whole {
            self.unraised.extend(chunks.blocks::<5>());
        }
        is_whole
    }

    /// Tries an edited chunk again over which a coarse block was not available. Returns it if all of
    /// its coarse cells are there now.
    pub fn raise_again(&mut self, world: &HostWorld<'_>, now_us: u64) -> Option<ChunkPos> {
        if now_us < self.raises_at_us {
            return None;
        }
        // In turn: what is damaged stays so.
        let later = (Bound::Excluded(self.tried_last), Bound::Unbounded);
        let chunk = *self.unraised.range(later).next().or(self.unraised.first())?;
        self.unraised.remove(&chunk);
        self.tried_last = chunk;
        // One that is not held any more was saved: its coarse cells are those of the ground.
        let is_whole = !is_held(world, chunk) || self.raise(world, chunk.region());
        if !is_whole {
            self.raises_at_us = now_us + RAISED_AGAIN_US;
        }
        is_whole.then_some(chunk)
    }
}

/// Whether the cells of a chunk are in the grid, or known to be air.
fn is_held(world: &HostWorld<'_>, chunk: ChunkPos) -> bool {
    matches!(world.grid.held(chunk), ChunkState::Mip(0) | ChunkState::Air)
}

fn chunk_of(block: MipBlock) -> ChunkPos {
    let [x, y, z] = block.pos.to_array();
    ChunkPos::new(x, y, z)
}

fn fill(world: &HostWorld<'_>, block: MipBlock, cells: &mut DenseBox) -> bool {
    FillRequest::fill_block(cells, block, world.placement, |request| (world.ground)(request))
}

/// Digest of the cells of a region, in voxels, which both sides compare after an operation.
pub(super) fn digest_of(grid: &VoxelGrid, region: Region, cells: &mut DenseBox) -> u32 {
    if region.is_empty() || grid.read(region, 0, cells).is_err() {
        return 0;
    }
    let mut hash = Xxh3::new();
    for corner in [region.min, region.max] {
        corner.to_array().iter().for_each(|v| hash.update(&v.to_le_bytes()));
    }
    hash.update(cells.materials());
    hash.update(cells.occupancies());
    for &(at, water) in cells.water() {
        hash.update(&at.to_le_bytes());
        hash.update(&[water]);
    }
    hash.digest() as u32
}
