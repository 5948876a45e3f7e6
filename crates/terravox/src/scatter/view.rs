//! The view: instances of the blocks that are shown, renewed where edits touch them.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::mesh::PAD;
use crate::voxel::{
    ChangeCursor, Changes, ChunkPos, DenseBox, FarChanges, Kind, Knowledge, MAX_FAR_MIP, MipBlock,
    Region, Snapshot, VoxelGrid, VoxelPos,
};

use super::instance::Instance;
use super::rules::{ScatterRules, ScatterScratch};

/// Keeps the instances of the blocks that are shown.
///
/// ```
/// use std::sync::Arc;
/// use terravox::edit::Editor;
/// use terravox::scatter::{Scatter, ScatterRule, ScatterRules};
/// use terravox::voxel::{DenseBox, MipBlock, Region, VoxelGrid};
/// use terravox::EditOp;
///
/// let mut grid = VoxelGrid::default();
/// let mut ground = DenseBox::new(Region::new([-32, -32, -32], [96, 8, 96]));
/// ground.fill(8);
/// grid.write(&ground)?;
///
/// let mut scatter = Scatter::new(Arc::new(ScatterRules::new(vec![ScatterRule::default()])?));
/// let (here, there) = (MipBlock::new(0, [0, 0, 0]), MipBlock::new(0, [1, 0, 0]));
/// scatter.show(&[here, there]);
/// scatter.update(&grid, usize::MAX);
/// assert!(scatter.instances(here).len() > 20);
///
/// // Dig a hole: only the block that it touches is renewed, and there only the hole.
/// Editor::default().apply(&mut grid, &EditOp::dig_ball([12.0, 8.0, 12.0], 6.0), None)?;
/// let done = scatter.update(&grid, usize::MAX);
/// assert_eq!(done.renewed, [here]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scatter {
    rules: Arc<ScatterRules>,
    cursor: ChangeCursor,
    far_cursor: ChangeCursor,
    blocks: FxHashMap<MipBlock, ShownBlock>,
    /// New blocks to make, in this order.
    queue: VecDeque<MipBlock>,
    /// Edited blocks to make, those that wait longest first.
    edited: VecDeque<MipBlock>,
    /// Counts blocks that were made.
    turn: u32,
    scratch: ScatterScratch,
    cells: DenseBox,
    fresh: Vec<Instance>,
    merged: Vec<Instance>,
}

/// One block in this many is new while others are edited.
const NEW_TURNS: u32 = 4;

/// A block that is shown.
#[derive(Debug, Default)]
struct ShownBlock {
    instances: Vec<Instance>,
    /// The cells whose instances are to be made, in cells of the block's mip; empty if none are.
    stale: Region,
}

/// What an update did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScatterUpdate {
    /// Blocks whose instances changed: first those that were edited, by position, then new ones in
    /// the order of [`Scatter::show`]. Upload these. New blocks without instances are not among
    /// them.
    pub renewed: Vec<MipBlock>,
    /// Blocks that the limit left for the next update.
    pub left: usize,
}

impl Scatter {
    /// Creates a view that shows no block.
    pub fn new(rules: Arc<ScatterRules>) -> Scatter {
        Scatter {
            rules,
            cursor: ChangeCursor::default(),
            far_cursor: ChangeCursor::default(),
            blocks: FxHashMap::default(),
            queue: VecDeque::new(),
            edited: VecDeque::new(),
            turn: 0,
            scratch: ScatterScratch::default(),
            cells: DenseBox::default(),
            fresh: Vec::new(),
            merged: Vec::new(),
        }
    }

    /// Sets the blocks that are shown, in the order in which new ones are to be made. Drops all
    /// others; keeps those that were shown before.
    pub fn show(&mut self, blocks: &[MipBlock]) {
        let mut before = std::mem::take(&mut self.blocks);
        for &block in blocks {
            let known = before.remove(&block);
            if self.blocks.contains_key(&block) || !block.within_limits() {
                continue;
            }
            let is_new = known.is_none();
            let new = || ShownBlock { instances: Vec::new(), stale: block.cells() };
            self.blocks.insert(block, known.unwrap_or_else(new));
            if is_new {
                self.queue.push_back(block);
            }
        }
        let shown = &self.blocks;
        self.queue.retain(|block| shown.contains_key(block));
        self.edited.retain(|block| shown.contains_key(block));
    }

    /// Follows the grid: makes the instances of at most `limit` blocks, edited ones first, but
    /// every fourth is new. For another world make another view. Of an edited block only the cells
    /// that the edit may have changed are meshed again. A block whose cells are unknown, or known
    /// only at a coarser mip, keeps what it has until they are known. Cells around it are used at
    /// the finest mip at which they are known; unknown ones count as air.
    pub fn update(&mut self, grid: &VoxelGrid, limit: usize) -> ScatterUpdate {
        self.follow(grid);
        let mut done = ScatterUpdate::default();
        for _ in 0..limit {
            let Some(block) = self.next_block() else { break };
            let is_changed = self.renew(grid.as_snapshot(), block);
            done.renewed.extend(is_changed.then_some(block));
        }
        done.left = self.edited.len() + self.queue.len();
        done
    }

    /// Takes the next block: one that was edited, but every fourth is new, so that endless edits do
    /// not stop what streams in.
    fn next_block(&mut self) -> Option<MipBlock> {
        self.turn = self.turn.wrapping_add(1);
        let (first, second) = match self.turn.is_multiple_of(NEW_TURNS) {
            true => (&mut self.queue, &mut self.edited),
            false => (&mut self.edited, &mut self.queue),
        };
        first.pop_front().or_else(|| second.pop_front())
    }

    /// The instances of a block, ordered by rule, x, z and height; none if it is not shown or was
    /// not made yet.
    pub fn instances(&self, block: MipBlock) -> &[Instance] {
        self.blocks.get(&block).map_or(&[], |shown| &shown.instances)
    }

    /// The blocks that are shown, sorted.
    pub fn blocks(&self) -> Vec<MipBlock> {
        let mut blocks: Vec<_> = self.blocks.keys().copied().collect();
        blocks.sort_unstable();
        blocks
    }

    /// The rules.
    pub fn rules(&self) -> &Arc<ScatterRules> {
        &self.rules
    }

    /// Marks what the grid's change logs have.
    fn follow(&mut self, grid: &VoxelGrid) {
        let changes = grid.changes_since(&mut self.cursor);
        let far = grid.far_changes_since(&mut self.far_cursor);
        let mut edited = Vec::new();
        match (changes, far) {
            (Changes::Regions(regions), FarChanges::Blocks(blocks)) => {
                let far = blocks.iter().map(|block| (block.voxels(), block.mip));
                let near = regions.iter().map(|&region| (region, 0));
                near.chain(far).for_each(|(region, mip)| self.mark(region, mip, &mut edited));
            }
            _ => {
                for (&block, shown) in &mut self.blocks {
                    shown.stale = block.cells();
                    edited.push(block);
                }
            }
        }
        if !edited.is_empty() {
            // The order of a hash map is arbitrary.
            edited.sort_unstable();
            edited.dedup();
            // What waits already keeps its place.
            let waits: FxHashSet<MipBlock> =
                self.queue.iter().chain(&self.edited).copied().collect();
            self.edited.extend(edited.into_iter().filter(|block| !waits.contains(block)));
        }
    }

    /// Marks the cells that a change of `region` (voxels) may have changed, of blocks at `finest`
    /// and coarser mips, and lists their blocks.
    fn mark(&mut self, region: Region, finest: u8, edited: &mut Vec<MipBlock>) {
        for mip in finest..=MAX_FAR_MIP {
            let reached = region.coarser(mip.into()).grow(PAD);
            let blocks = reached.coarser(5);
            if !self.rules.has_mip(mip) {
                continue;
            }
            if blocks.volume() > self.blocks.len() as u64 {
                let shown = self.blocks.iter_mut().filter(|(block, _)| block.mip == mip);
                edited.extend(shown.filter_map(|(&at, block)| block.mark(at, reached)));
                continue;
            }
            for pos in blocks.voxels() {
                let at = MipBlock { mip, pos };
                let block = self.blocks.get_mut(&at);
                edited.extend(block.and_then(|block| block.mark(at, reached)));
            }
        }
    }

    /// Makes the stale part of a block, if its cells are known; whether that changed its
    /// instances. Otherwise the part stays stale, and the change log has the block again when its
    /// cells come.
    fn renew(&mut self, snapshot: &Snapshot, block: MipBlock) -> bool {
        let Scatter { rules, blocks, scratch, cells, fresh, merged, .. } = self;
        let Some(shown) = blocks.get_mut(&block) else { return false };
        let part = shown.stale;
        fresh.clear();
        if rules.has_mip(block.mip) {
            if part == block.cells() && has_no_surface(snapshot, block) {
                // Sky and deep stone, without reading them.
                let had = !shown.instances.is_empty();
                *shown = ShownBlock::default();
                return had;
            }
            let is_known = |region: Region, cells: &mut DenseBox| {
                snapshot.read_known(region, block.mip, cells) == Knowledge::AtMip
            };
            if !is_known(part.grow(PAD), cells) {
                if !is_known(part, cells) {
                    return false;
                }
                snapshot.read_known(part.grow(PAD), block.mip, cells);
            }
            rules.scatter_part(block, part, cells, snapshot.materials(), scratch, fresh);
        }
        shown.stale = Region::default();
        let min = block.cells().min;
        let local = Region { min: part.min - min, max: part.max - min };
        let before = shown.instances.iter().filter(|instance| instance.stands_in(local));
        if before.eq(fresh.iter()) {
            return false;
        }
        let kept = shown.instances.iter().filter(|instance| !instance.stands_in(local));
        merge(kept, fresh, (1u32 << block.mip) as f32, merged);
        std::mem::swap(&mut shown.instances, merged);
        true
    }
}

/// Makes `merged` the instances of both, each in order.
fn merge<'a>(
    kept: impl Iterator<Item = &'a Instance>,
    fresh: &[Instance],
    voxels_per_cell: f32,
    merged: &mut Vec<Instance>,
) {
    merged.clear();
    let mut fresh = fresh.iter().map(|instance| (instance.key(voxels_per_cell), instance));
    let mut next = fresh.next();
    for instance in kept {
        let key = instance.key(voxels_per_cell);
        while let Some((other_key, other)) = next {
            if (key, instance.tie()) < (other_key, other.tie()) {
                break;
            }
            merged.push(*other);
            next = fresh.next();
        }
        merged.push(*instance);
    }
    merged.extend(next.into_iter().chain(fresh).map(|(_, instance)| *instance));
}

/// Whether a block of mip 0 and all around it are chunks of one material each, all solid or none.
fn has_no_surface(snapshot: &Snapshot, block: MipBlock) -> bool {
    if block.mip > 0 {
        return false;
    }
    let is_solid = |VoxelPos { x, y, z }| {
        let material = snapshot.chunk(ChunkPos::new(x, y, z)).ok()?.uniform_material()?;
        Some(snapshot.materials().kind(material) == Kind::Solid)
    };
    let Some(own) = is_solid(block.pos) else { return false };
    Region::one(block.pos).grow(1).voxels().all(|pos| is_solid(pos) == Some(own))
}

impl ShownBlock {
    /// Adds what of the block lies in `reached` (cells of its mip) to its stale part; the block if
    /// there is any.
    fn mark(&mut self, block: MipBlock, reached: Region) -> Option<MipBlock> {
        let part = reached.intersect(block.cells());
        if part.is_empty() {
            return None;
        }
        self.stale = self.stale.union(part);
        Some(block)
    }
}
