//! The part of a world that a guest holds, exactly as its host has it.

use super::delta::{block_digest, merge_marked};
use super::family::{Children, Family, FamilyChild};
use super::generator_id::GeneratorId;
use super::host::{MAX_OP_CELLS, MAX_OP_CHUNKS};
use super::truth::digest_of;
use super::world_info::WorldInfo;
use crate::codec::{BitRle, Refinement};
use crate::edit::{EditLimits, EditOp, Editor};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{
    ChunkPos, DenseBox, FarPyramid, GridOptions, Kind, MipBlock, Region, UnlistedChunks, VoxelGrid,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What is held of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// Asked for.
    Wanted,
    /// Cells from before the link broke, asked for again.
    Stale,
    /// As the generator made it before the link broke, asked for again.
    StaleGround,
    /// As the generator makes it, and not made yet.
    Ground,
    /// Cells of its own.
    Cells,
}

impl BlockState {
    /// The state after the link broke.
    pub fn stale(self) -> BlockState {
        match self {
            BlockState::Ground | BlockState::StaleGround => BlockState::StaleGround,
            BlockState::Cells | BlockState::Stale => BlockState::Stale,
            BlockState::Wanted => BlockState::Wanted,
        }
    }
}

const NO_GROUND: &str = "the generator does not make this ground";

/// Fills a block as the generator makes it.
pub(super) type Generate<'a> = &'a dyn Fn(&mut FillRequest<'_>);

/// How blocks begin that the host sends no cells of.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct GroundMaker {
    pub placement: Placement,
    /// Whether this side makes the ground; else it begins with air.
    pub makes_ground: bool,
}

impl GroundMaker {
    fn make(self, block: MipBlock, generate: Generate<'_>, out: &mut DenseBox) -> bool {
        if !self.makes_ground {
            out.reset(block.cells());
            return true;
        }
        FillRequest::fill_block(out, block, self.placement, |request| generate(request))
    }
}

/// Blocks and their cells: mip 0 in a grid, coarser ones in a pyramid.
pub(super) struct Replica {
    pub grid: VoxelGrid,
    pyramid: FarPyramid,
    pub blocks: FxHashMap<MipBlock, BlockState>,
    pub maker: GroundMaker,
    generator: Option<GeneratorId>,
    pub max_mip: u8,
    editor: Editor,
    pub changed: ReplicaChanges,
    /// Blocks that may be wrong, to be sent again.
    pub outdated: FxHashSet<MipBlock>,
    /// Chunks changed by operations that the host may not have applied yet when it encoded the
    /// cells that arrive now, with the number of the last such operation in the stream of edits.
    pub recent: FxHashMap<ChunkPos, u64>,
    /// Chunks of `recent` over which coarse cells are to be computed again.
    overdue: BTreeSet<ChunkPos>,
    /// Work that was done, in cells that an operation reads.
    pub work: u64,
    cells: DenseBox,
}

/// What changed since it was last taken: everything, at first and after very many changes.
#[derive(Default)]
pub(super) struct ReplicaChanges {
    is_listed: bool,
    list: Vec<(MipBlock, Region)>,
}

/// Maximum number of changes that are listed.
const MAX_CHANGES: usize = 1 << 14;

impl ReplicaChanges {
    /// Adds a region of a block, in its cells.
    fn add(&mut self, block: MipBlock, region: Region) {
        if self.list.len() == MAX_CHANGES {
            self.forget();
        }
        if self.is_listed {
            self.list.push((block, region));
        }
    }

    /// Counts everything as changed.
    pub fn forget(&mut self) {
        *self = ReplicaChanges::default();
    }

    /// Takes the list; `None` if everything changed.
    pub fn take(&mut self) -> Option<Vec<(MipBlock, Region)>> {
        let list = std::mem::take(&mut self.list);
        std::mem::replace(&mut self.is_listed, true).then_some(list)
    }
}

/// What came of an operation.
pub(super) enum ApplyOutcome {
    /// The region that changed, in voxels.
    Changed(Region),
    /// The cells differ from the host's, or are not all here: the blocks are outdated.
    Differs,
}

/// Limits of the host's operations, above those that honest hosts keep.
const LIMITS: EditLimits = EditLimits {
    max_cells: 2 * MAX_OP_CELLS,
    max_chunks: 2 * MAX_OP_CHUNKS,
    max_work: 1_000_000_000,
};

/// The work of any message.
const MESSAGE_WORK: u64 = 1 << 12;

/// The work of noting that a block is as the generator makes it.
const GROUND_WORK: u64 = 1 << 8;

/// The work of computing the coarse cells over a chunk.
const RAISE_WORK: u64 = 1 << 14;

/// The work of making a block, if its generator is a slow one.
const MAKE_WORK: u64 = 1 << 18;

/// The work of refining a block.
const REFINE_WORK: u64 = 1 << 19;

impl Replica {
    pub fn new(info: &WorldInfo, maker: GroundMaker) -> Replica {
        let (materials, max_mip) = (info.materials.clone(), info.max_mip);
        let unlisted = UnlistedChunks::Unknown;
        Replica {
            grid: VoxelGrid::new(GridOptions { unlisted, materials }),
            pyramid: FarPyramid::default(),
            blocks: FxHashMap::default(),
            maker,
            generator: info.generator.clone(),
            max_mip,
            editor: Editor::new(LIMITS),
            changed: ReplicaChanges::default(),
            outdated: FxHashSet::default(),
            recent: FxHashMap::default(),
            overdue: BTreeSet::new(),
            work: 0,
            cells: DenseBox::default(),
        }
    }

    /// Whether it is a part of this world, made the same way.
    pub fn is_of(&self, info: &WorldInfo, maker: GroundMaker) -> bool {
        self.max_mip == info.max_mip
            && *self.grid.materials() == info.materials
            && self.maker == maker
            // Ground that this side made would be that of another world.
            && self.generator == info.generator
    }

    fn kinds(&self) -> [Kind; 256] {
        *self.grid.materials().kinds()
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let entry = size_of::<(MipBlock, BlockState)>() + 1;
        let table = self.blocks.capacity() * 8 / 7 * entry;
        table + self.grid.memory().total() + self.pyramid.memory()
    }

    /// Takes the parts of blocks that changed since this was last called: all blocks if too much did.
    pub fn take_changed(&mut self) -> Vec<(MipBlock, Region)> {
        let all = || self.blocks.keys().map(|&block| (block, block.cells())).collect();
        self.changed.take().unwrap_or_else(all)
    }

    /// Fills `out` with the cells of a block; false if they are not here.
    pub fn read(&self, block: MipBlock, generate: Generate<'_>, out: &mut DenseBox) -> bool {
        match self.blocks.get(&block) {
            None | Some(BlockState::Wanted) => false,
            Some(BlockState::Ground | BlockState::StaleGround) => {
                self.generate(block, generate, out)
            }
            Some(BlockState::Stale | BlockState::Cells) => self.read_own(block, out),
        }
    }

    /// Fills `out` with the cells of a block that has cells of its own; false if it has none.
    pub fn read_own(&self, block: MipBlock, out: &mut DenseBox) -> bool {
        match block.mip {
            0 => self.grid.read(block.cells(), 0, out).is_ok(),
            _ => self.pyramid.read(block, block.cells(), out),
        }
    }

    fn generate(&self, block: MipBlock, generate: Generate<'_>, out: &mut DenseBox) -> bool {
        self.maker.make(block, generate, out)
    }

    pub fn put(&mut self, block: MipBlock, cells: &DenseBox) {
        match block.mip {
            0 => {
                // A load would keep cells that count as unsaved.
                self.grid.forget_unsaved();
                self.grid.load(cells);
            }
            _ => {
                let kinds = self.kinds();
                self.pyramid.insert(block, cells, &kinds);
            }
        }
        self.blocks.insert(block, BlockState::Cells);
    }

    /// Drops blocks.
    pub fn forget(&mut self, blocks: &[MipBlock]) {
        for &block in blocks {
            self.blocks.remove(&block);
            self.drop_cells(block);
        }
        for &block in blocks.iter().filter(|block| block.mip == 0) {
            self.overdue.remove(&chunk_of(block));
            // Coarse cells over it may be computed again from this chunk, after older ones arrive.
            if self.recent.remove(&chunk_of(block)).is_some() {
                self.outdate_over(block);
            }
        }
    }

    /// Counts all that is held as from before the link broke.
    pub fn break_off(&mut self) {
        self.blocks.retain(|_, state| *state != BlockState::Wanted);
        // A host takes only blocks whose parents were asked for: what lies below one that was still
        // on its way is asked for anew.
        let mut blocks = Vec::from_iter(self.blocks.keys().copied());
        blocks.sort_unstable_by_key(|block| std::cmp::Reverse(block.mip));
        for block in blocks {
            if block.mip < self.max_mip && !self.blocks.contains_key(&block.parent()) {
                self.forget(&[block]);
            }
        }
        self.blocks.values_mut().for_each(|state| *state = state.stale());
        self.recent.clear();
        self.overdue.clear();
        self.outdated.clear();
    }

    /// Whether each block that is wanted is here, as the host has it.
    pub fn is_complete(&self) -> bool {
        let is_current = [BlockState::Cells, BlockState::Ground];
        self.overdue.is_empty() && self.blocks.values().all(|state| is_current.contains(state))
    }

    /// Notes that the blocks over one may lack its changes, which are here no more.
    fn outdate_over(&mut self, block: MipBlock) {
        let over = (block.mip + 1..=self.max_mip).map(|mip| block.over(mip));
        self.outdated.extend(over.filter(|block| self.blocks.contains_key(block)));
    }

    /// Notes that the blocks over a chunk may lack its changes which are above one that is not here: one
    /// that was dropped, and is wanted again. Coarse cells are computed from those of the mip below.
    fn outdate_over_gap(&mut self, chunk: MipBlock) {
        let mut over = (1..self.max_mip).map(|mip| chunk.over(mip));
        if let Some(gap) = over.find(|&block| !self.pyramid.has(block)) {
            self.outdate_over(gap);
        }
    }

    /// Notes which coarse cells came from before an operation: `after` as in the message that
    /// brought the blocks `written`.
    pub fn note_overdue(&mut self, after: u64, written: &[MipBlock]) {
        self.work += MESSAGE_WORK + self.recent.len() as u64;
        self.recent.retain(|_, number| *number > after);
        for &block in written.iter().filter(|block| block.mip == 0) {
            // Cells from before an operation that is applied already have undone it.
            if self.recent.contains_key(&chunk_of(block)) {
                self.outdated.insert(block);
                self.outdate_over(block);
            }
        }
        let coarse: FxHashSet<_> = written.iter().filter(|block| block.mip > 0).collect();
        if coarse.is_empty() {
            return;
        }
        let is_hit = |chunk: &ChunkPos| {
            let block = MipBlock::from(*chunk);
            (1..=self.max_mip).any(|mip| coarse.contains(&block.over(mip)))
        };
        self.overdue.extend(self.recent.keys().copied().filter(is_hit));
    }

    /// Computes the coarse cells over one chunk again that came from before an operation; false if
    /// there is none.
    pub fn catch_up(&mut self, generate: Generate<'_>) -> bool {
        let Some(chunk) = self.overdue.pop_first() else { return false };
        self.raise(chunk.region(), generate);
        true
    }

    fn drop_cells(&mut self, block: MipBlock) {
        match block.mip {
            0 => {
                self.grid.forget_unsaved();
                self.grid.forget(chunk_of(block));
            }
            _ => self.pyramid.remove(block),
        }
    }

    /// Gives a block cells of its own, so that they can change; false if it has none.
    fn make_real(&mut self, block: MipBlock, generate: Generate<'_>) -> bool {
        match self.blocks.get(&block) {
            Some(BlockState::Cells) => true,
            Some(BlockState::Ground) => {
                self.work += MAKE_WORK;
                let mut cells = std::mem::take(&mut self.cells);
                let is_made = self.generate(block, generate, &mut cells);
                if is_made {
                    self.put(block, &cells);
                }
                self.cells = cells;
                is_made
            }
            _ => false,
        }
    }

    /// Takes cells that changed. Returns the region, in voxels, where what was here changed. An
    /// error ends the connection.
    pub fn take_cells(
        &mut self,
        block: MipBlock,
        region: Region,
        code: &[u8],
        generate: Generate<'_>,
    ) -> Result<Region, String> {
        let part = self.decode(region, code)?;
        self.patch(block, &part, generate)
    }

    fn decode(&self, region: Region, code: &[u8]) -> Result<DenseBox, String> {
        let (kinds, mut part) = (self.kinds(), DenseBox::new(region));
        match (BitRle { kinds: &kinds }).decode_box(code, &mut part) {
            Ok(read) if read == code.len() => Ok(part),
            Ok(_) => Err("bytes follow the cells of a block".to_owned()),
            Err(error) => Err(format!("the cells of a block are invalid: {error}")),
        }
    }

    /// Takes blocks that arrive for the first time. An error ends the connection.
    pub fn take_family(&mut self, family: &Family, generate: Generate<'_>) -> Result<(), String> {
        self.take_children(family.parent, &family.children, generate)
    }

    fn take_children(
        &mut self,
        parent: MipBlock,
        children: &Children,
        generate: Generate<'_>,
    ) -> Result<(), String> {
        for (block, child) in parent.children().into_iter().zip(children) {
            match child {
                FamilyChild::NotSent => {}
                FamilyChild::Ground => self.take_ground(block),
                FamilyChild::GroundOver(below) => {
                    self.take_ground(block);
                    self.take_children(block, below, generate)?;
                }
                FamilyChild::Refined { check, code } => {
                    self.take_refined(block, *check, code, generate)?;
                }
                FamilyChild::Made { marker, region, code } => {
                    let part = self.decode(*region, code)?;
                    self.take_made(block, *marker, &part, generate)?;
                }
            }
        }
        Ok(())
    }

    /// Takes a block that was sent as cells over what is made there.
    fn take_made(
        &mut self,
        block: MipBlock,
        marker: u8,
        part: &DenseBox,
        generate: Generate<'_>,
    ) -> Result<(), String> {
        // Dropped while they were on their way.
        if !self.blocks.contains_key(&block) {
            return Ok(());
        }
        self.work += MAKE_WORK;
        let mut cells = DenseBox::new(block.cells());
        if !self.generate(block, generate, &mut cells) {
            return Err(NO_GROUND.to_owned());
        }
        merge_marked(&mut cells, part, marker);
        self.put(block, &cells);
        self.changed.add(block, block.cells());
        Ok(())
    }

    /// Takes a block that was sent as what the block over it does not tell.
    fn take_refined(
        &mut self,
        block: MipBlock,
        check: u16,
        code: &[u8],
        generate: Generate<'_>,
    ) -> Result<(), String> {
        if block.mip >= self.max_mip {
            return Err("the coarsest block cannot be refined".to_owned());
        }
        self.work += REFINE_WORK;
        let mut coarser = DenseBox::default();
        // Dropped while they were on their way.
        if !self.blocks.contains_key(&block) || !self.read(block.parent(), generate, &mut coarser) {
            return Ok(());
        }
        let kinds = self.kinds();
        let mut cells = DenseBox::new(block.cells());
        Refinement { kinds: &kinds }.decode_box(code, &coarser, &mut cells);
        if block_digest(&cells, &kinds) as u16 != check {
            self.outdated.insert(block);
        }
        self.put(block, &cells);
        self.changed.add(block, block.cells());
        Ok(())
    }

    fn patch(
        &mut self,
        block: MipBlock,
        part: &DenseBox,
        generate: Generate<'_>,
    ) -> Result<Region, String> {
        match self.blocks.get(&block) {
            Some(BlockState::Ground | BlockState::Cells) => {}
            _ if block.mip > 0 => return Ok(Region::default()),
            _ => {
                // Dropped while they were on their way, so the coarse cells cannot follow.
                self.outdate_over(block);
                return Ok(Region::default());
            }
        }
        if !self.make_real(block, generate) {
            return Err(NO_GROUND.to_owned());
        }
        let region = part.region();
        self.changed.add(block, region);
        match block.mip {
            0 => {
                let written = self.grid.write(part);
                debug_assert!(written.is_ok(), "the chunk was made real");
                self.raise(region, generate);
            }
            _ => {
                let kinds = self.kinds();
                self.pyramid.patch(block, part, &kinds);
            }
        }
        Ok(region.finer(block.mip.into()))
    }

    /// Computes the coarse cells over all chunks that a region, in voxels, touches.
    fn raise(&mut self, region: Region, generate: Generate<'_>) {
        let chunks = region.coarser(5);
        let region = chunks.finer(5);
        self.work += chunks.volume() * RAISE_WORK;
        let (blocks, maker, work) = (&mut self.blocks, self.maker, &mut self.work);
        let make = |block: MipBlock, cells: &mut DenseBox| {
            let Some(state) = blocks.get_mut(&block) else { return false };
            if *state != BlockState::Ground {
                return false;
            }
            *state = BlockState::Cells;
            *work += MAKE_WORK;
            maker.make(block, generate, cells)
        };
        let mips = 1..=self.max_mip;
        self.pyramid.raise(self.grid.as_snapshot(), region, mips.clone(), make);
        for chunk in chunks.voxels() {
            self.outdate_over_gap(MipBlock { mip: 0, pos: chunk });
        }
        for mip in mips {
            let cells = region.coarser(mip.into());
            for pos in cells.coarser(5).voxels() {
                let block = MipBlock { mip, pos };
                if self.blocks.get(&block) == Some(&BlockState::Cells) {
                    self.changed.add(block, cells.intersect(block.cells()));
                }
            }
        }
    }

    /// Applies an operation that the host applied, and compares the digest of what it changed.
    /// `number`: of its message in the stream of edits.
    pub fn apply(
        &mut self,
        number: u64,
        op: &EditOp,
        digest: u32,
        generate: Generate<'_>,
    ) -> ApplyOutcome {
        self.work += MESSAGE_WORK;
        let Ok(reach) = self.editor.reach(&self.grid, op) else {
            // Beyond the limits of this side.
            self.work += self.blocks.len() as u64;
            self.outdated.extend(self.blocks.keys().copied());
            return ApplyOutcome::Differs;
        };
        self.work += reach.read.volume();
        for chunk in reach.read.blocks::<5>() {
            self.make_real(chunk.into(), generate);
        }
        let Ok(summary) = self.editor.apply(&mut self.grid, op, None) else {
            return self.differs(reach.read);
        };
        let region = summary.region;
        let mut cells = std::mem::take(&mut self.cells);
        let own = digest_of(&self.grid, region, &mut cells);
        self.cells = cells;
        if own != digest {
            return self.differs(reach.read);
        }
        for chunk in region.blocks::<5>() {
            let block = MipBlock::from(chunk);
            self.recent.insert(chunk, number);
            self.changed.add(block, region.intersect(block.cells()));
        }
        self.raise(region, generate);
        ApplyOutcome::Changed(region)
    }

    /// Notes that all blocks over a region, in voxels, may be wrong.
    fn differs(&mut self, region: Region) -> ApplyOutcome {
        for mip in 0..=self.max_mip {
            let blocks = region.coarser(5 + u32::from(mip)).voxels();
            let blocks = blocks.map(|pos| MipBlock { mip, pos });
            self.outdated.extend(blocks.filter(|block| self.blocks.contains_key(block)));
        }
        ApplyOutcome::Differs
    }

    /// Notes that a block is as the generator makes it.
    fn take_ground(&mut self, block: MipBlock) {
        self.work += GROUND_WORK;
        let Some(state) = self.blocks.get_mut(&block) else { return };
        let was_ground = matches!(state, BlockState::Ground | BlockState::StaleGround);
        *state = BlockState::Ground;
        // After a break of the link, all that was not edited is told again: it would all be made again.
        if !was_ground {
            self.drop_cells(block);
            self.changed.add(block, block.cells());
        }
    }

    /// Notes that the cells of blocks are right.
    pub fn take_unchanged(&mut self, blocks: &[MipBlock]) {
        for block in blocks {
            match self.blocks.get_mut(block) {
                Some(state @ BlockState::Stale) => *state = BlockState::Cells,
                Some(state @ BlockState::StaleGround) => *state = BlockState::Ground,
                _ => {}
            }
        }
    }
}

pub(super) fn chunk_of(block: MipBlock) -> ChunkPos {
    let [x, y, z] = block.pos.to_array();
    ChunkPos::new(x, y, z)
}
