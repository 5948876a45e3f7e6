//! The collider of a world: masks of all of it, and surfaces of the blocks that queries
//! have met.
//!
//! Queries take `&self`, from any number of threads. A block is built by the first that
//! needs it; the others wait for that one block only. [`Collider::update`] is the only
//! place where blocks are dropped, so what a query looks at stays where it is, without a
//! lock; the budget of bytes is kept there, and may be exceeded in between.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017).

use super::block::{BuildScratch, QuadTree};
use super::broadphase::{Broadphase, ChunkBlocks, block_bit};
use super::counters::Counters;
use super::edges::{EdgeScratch, edge_angles};
use super::query::{Filter, Hit, Missing, TriangleId, Unbuilt};
use super::slots::BlockShape;
use super::{Block, Surfaces};
use crate::mesh::{BlockMesh, Mesher, PAD, Shores};
use crate::voxel::{
    AIR, ChangeCursor, ChangeLog, Changes, DenseBox, Kind, NotHeld, Region, Snapshot, VoxelGrid,
    VoxelPos, WATER,
};
use glam::Vec3;
use std::sync::Mutex;

/// How a [`Collider`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct ColliderOptions {
    /// Bytes of built blocks that an update leaves. 0 is allowed: every update drops all,
    /// and queries build what they need.
    pub budget_bytes: usize,
}

impl Default for ColliderOptions {
    /// 64 MB: some thirty thousand blocks.
    fn default() -> ColliderOptions {
        ColliderOptions { budget_bytes: 64 << 20 }
    }
}

/// What a collider holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColliderStats {
    /// Blocks that have a surface.
    pub blocks: usize,
    /// Blocks that are built.
    pub built: usize,
    /// Bytes of the masks of the whole world, and of the slots of blocks.
    pub mask_bytes: usize,
    /// Bytes of built blocks.
    pub built_bytes: usize,
    /// Blocks built so far.
    pub builds: u64,
    /// Times that a query found a block built.
    pub hits: u64,
    /// Blocks dropped to keep the budget.
    pub evictions: u64,
    /// Blocks dropped because what they showed was edited.
    pub invalidations: u64,
    /// Rejected queries: non-finite, of no length, or inverted.
    pub refused_queries: u64,
}

/// Returns what rays, boxes and shapes meet. See the [module](super) for its words.
pub struct Collider {
    pub(crate) snapshot: Snapshot,
    pub(crate) broadphase: Broadphase,
    pub(crate) counters: Counters,
    options: ColliderOptions,
    cursor: ChangeCursor,
    /// Change log for callers that cache blocks.
    followed: ChangeLog,
    /// Number of the last update: what blocks are marked with when used.
    epoch: u32,
    /// Blocks in the order in which they were built; may contain dropped blocks and
    /// duplicates.
    built: Mutex<Vec<Block>>,
    /// Memory for building, one for every thread that ever built at once.
    scratch: Mutex<Vec<Box<Scratch>>>,
}

/// The surfaces of a block that is built.
#[derive(Clone, Copy, Debug)]
pub struct BlockSurfaces<'a> {
    /// The ground.
    pub solid: Option<&'a QuadTree>,
    /// Water and other liquids.
    pub liquid: Option<&'a QuadTree>,
}

/// One surface of one block.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub tree: &'a QuadTree,
    pub block: Block,
    pub liquid: bool,
}

impl Side<'_> {
    /// The voxel whose face a quad is.
    pub fn voxel(self, quad: u16) -> VoxelPos {
        let [x, y, z] = self.tree.quad(quad).cell.map(i32::from);
        self.block.min_voxel() + VoxelPos::new(x, y, z)
    }
}

/// The list of built blocks is not cleaned up below this length.
const LISTED_AT_LEAST: usize = 64;

/// Memory for building a block.
#[derive(Default)]
struct Scratch {
    cells: DenseBox,
    shores: Shores,
    mesher: Mesher,
    mesh: BlockMesh,
    edges: EdgeScratch,
    angles: Vec<u16>,
    tree: BuildScratch,
}

impl std::fmt::Debug for Collider {
    /// Says what it holds and has done, in figures.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collider").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Default for Collider {
    fn default() -> Collider {
        Collider::new(ColliderOptions::default())
    }
}

impl Collider {
    /// A collider of nothing: it follows a grid from the first update on.
    pub fn new(options: ColliderOptions) -> Collider {
        Collider {
            snapshot: Snapshot::default(),
            broadphase: Broadphase::new(),
            counters: Counters::default(),
            options,
            cursor: ChangeCursor::default(),
            followed: ChangeLog::default(),
            epoch: 0,
            built: Mutex::default(),
            scratch: Mutex::default(),
        }
    }

    /// Follows the grid: masks are brought up to date, built blocks that an edit may have
    /// changed are dropped, and so are those least recently used beyond the budget.
    pub fn update(&mut self, grid: &VoxelGrid) {
        let changes = grid.changes_since(&mut self.cursor);
        if changes != Changes::Regions(Vec::new()) {
            self.snapshot = grid.snapshot();
            let mut reached = changes.clone();
            match &mut reached {
                Changes::Everything => self.forget_all(),
                Changes::Regions(regions) => {
                    self.broadphase.add_shores(&self.snapshot, regions);
                    regions.iter().for_each(|&region| self.invalidate(region));
                }
            }
            self.log(&reached);
            self.broadphase.update(&self.snapshot, &changes);
        }
        self.keep_budget();
        self.epoch += 1;
    }

    /// What updates have followed since `cursor` was last used: the voxels written, and
    /// around those near water the voxels to which a shore may carry it. For callers that keep
    /// what they make of [`Collider::block`]: cells of a region shape the blocks within [`PAD`]
    /// of it.
    pub fn changes_since(&self, cursor: &mut ChangeCursor) -> Changes {
        self.followed.since(cursor)
    }

    fn log(&mut self, changes: &Changes) {
        match changes {
            Changes::Everything => self.followed.forget(),
            Changes::Regions(regions) => {
                regions.iter().for_each(|&region| self.followed.push(region));
            }
        }
    }

    /// The state of the grid that queries see.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The masks.
    pub fn broadphase(&self) -> &Broadphase {
        &self.broadphase
    }

    /// What it holds and has done.
    pub fn stats(&self) -> ColliderStats {
        let masks = self.broadphase.stats();
        ColliderStats {
            blocks: masks.surface_blocks,
            mask_bytes: masks.bytes,
            ..self.counters.stats()
        }
    }

    /// Blocks that are built, sorted.
    pub fn built_blocks(&self) -> Vec<Block> {
        let mut blocks = locked(&self.built).clone();
        blocks.retain(|&block| self.built_shape(block).is_some());
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Length of the list of built blocks.
    #[cfg(test)]
    pub(crate) fn listed_blocks(&self) -> usize {
        locked(&self.built).len()
    }

    /// The surfaces of a block, for callers that cache what they make of them: contacts, the
    /// shapes of a physics engine. `None` if the block shows no surface.
    ///
    /// # Errors
    /// What is missing to tell.
    pub fn block(
        &self,
        block: Block,
        unbuilt: Unbuilt,
    ) -> Result<Option<BlockSurfaces<'_>>, Missing> {
        let Some((chunk, _)) = self.broadphase.record(block) else {
            return match self.broadphase.is_unknown(block.min_voxel().chunk()) {
                true => Err(Missing::NotHeld(block.min_voxel().chunk())),
                false => Ok(None),
            };
        };
        let filter = Filter { unbuilt, ..Filter::BOTH };
        let mut hits = 0;
        let sides = self.sides(block, chunk, &filter, &mut hits);
        self.counters.hits(hits);
        Ok(sides?.map(|sides| {
            let [solid, liquid] = sides.map(|side| side.map(|side| side.tree));
            BlockSurfaces { solid, liquid }
        }))
    }

    /// The surfaces of a block with faces that a filter sees; nothing if it shows none.
    ///
    /// # Errors
    /// What is missing to tell.
    #[inline]
    pub(crate) fn sides<'a>(
        &'a self,
        block: Block,
        chunk: &'a ChunkBlocks,
        filter: &Filter,
        hits: &mut u64,
    ) -> Result<Option<[Option<Side<'a>>; 2]>, Missing> {
        let bit = block_bit(block);
        if !chunk.shows(bit, filter.surfaces) {
            return Ok(None);
        }
        let rank = chunk.place(bit).0;
        let sees_liquid = filter.surfaces.liquid() && chunk.shows(bit, Surfaces::Liquid);
        let is_built = |shape: &&BlockShape| {
            !sees_liquid || shape.missing.is_some() || shape.built_liquid().is_some()
        };
        let shape = match chunk.slots.get(rank).filter(is_built) {
            Some(shape) => {
                *hits += 1;
                shape
            }
            None if filter.unbuilt == Unbuilt::Refuse => return Err(Missing::NotBuilt(block)),
            None => self.build_slot(block, chunk, sees_liquid),
        };
        shape.touch(self.epoch);
        if let Some(missing) = shape.missing {
            return Err(Missing::NotHeld(missing.chunk));
        }
        let side = |tree: Option<&'a QuadTree>, liquid: bool| {
            tree.map(|tree| Side { tree, block, liquid })
        };
        let solid = shape.solid.as_ref().filter(|_| filter.surfaces.solid());
        let liquid = shape.built_liquid().and_then(Option::as_ref).filter(|_| sees_liquid);
        Ok(Some([side(solid, false), side(liquid, true)]))
    }

    #[cold]
    fn build_slot<'a>(
        &'a self,
        block: Block,
        chunk: &'a ChunkBlocks,
        sees_liquid: bool,
    ) -> &'a BlockShape {
        let (rank, count) = chunk.place(block_bit(block));
        let shape = chunk.slots.get_or_build(rank, count, || {
            let mut scratch = locked(&self.scratch).pop().unwrap_or_default();
            let shape = scratch.build(&self.snapshot, block, sees_liquid);
            self.counters.built(&shape);
            locked(&self.built).push(block);
            locked(&self.scratch).push(scratch);
            shape
        });
        if sees_liquid {
            shape.build_liquid(|| {
                let mut scratch = locked(&self.scratch).pop().unwrap_or_default();
                let tree = scratch.build_liquid(&self.snapshot, block);
                self.counters.grown(tree.as_ref().map_or(0, QuadTree::heap_bytes));
                locked(&self.scratch).push(scratch);
                tree
            });
        }
        shape
    }

    /// The material behind a quad: that of its voxel, or water where that holds some.
    pub(crate) fn material(&self, side: Side<'_>, quad: u16) -> u8 {
        self.material_at(side.voxel(quad), side.liquid)
    }

    /// The material behind a face of a voxel, of its liquid surface or its solid one.
    pub(crate) fn material_at(&self, voxel: VoxelPos, liquid: bool) -> u8 {
        let material = self.snapshot.cell(voxel).map_or(AIR, |cell| cell.material);
        let wet = liquid && self.snapshot.materials().kind(material) != Kind::Liquid;
        if wet { WATER } else { material }
    }

    /// A hit on a triangle, but for where and how far.
    pub(crate) fn describe(
        &self,
        side: Side<'_>,
        quad: u16,
        second: bool,
        weights: [f32; 3],
    ) -> Hit {
        let triangle = side.tree.triangle(quad, second);
        let [a, b, c] = triangle.corners.map(Vec3::from);
        Hit {
            distance: 0.0,
            point: [0.0; 3],
            normal: (b - a).cross(c - a).normalize_or_zero().to_array(),
            liquid: side.liquid,
            material: self.material(side, quad),
            voxel: side.voxel(quad),
            block: side.block,
            triangle: TriangleId { quad, second, vertices: triangle.vertices },
            weights,
        }
    }

    /// The shape of a block, if it is built.
    pub(crate) fn built_shape(&self, block: Block) -> Option<&BlockShape> {
        let (chunk, bit) = self.broadphase.record(block)?;
        chunk.slots.get(chunk.place(bit).0)
    }

    /// Drops the built blocks whose surface cells of `region` may have shaped.
    fn invalidate(&mut self, region: Region) {
        for block in region.grow(PAD).blocks::<{ super::BLOCK_LOG2 }>() {
            if let Some(shape) = self.take(block) {
                self.counters.invalidated(&shape);
            }
        }
    }

    fn take(&mut self, block: Block) -> Option<Box<BlockShape>> {
        let (chunk, bit) = self.broadphase.record_mut(block)?;
        let rank = chunk.place(bit).0;
        chunk.slots.take(rank)
    }

    /// Drops everything.
    fn forget_all(&mut self) {
        self.broadphase = Broadphase::new();
        self.counters.forget_built();
        locked(&self.built).clear();
    }

    /// Drops least recently used blocks until the budget is kept.
    fn keep_budget(&mut self) {
        if self.counters.built_bytes() <= self.options.budget_bytes {
            // Blocks that were edited and built again are listed once for each time.
            if locked(&self.built).len() > 2 * self.counters.built_blocks() + LISTED_AT_LEAST {
                let built = self.built_blocks();
                *locked(&self.built) = built;
            }
            return;
        }
        let mut built = self.built_blocks();
        built.sort_by_cached_key(|&block| self.built_shape(block).map(BlockShape::used));
        // A little below the budget, so that not every update sorts.
        let target = self.options.budget_bytes / 8 * 7;
        let mut gone = 0;
        for &block in &built {
            if self.counters.built_bytes() <= target {
                break;
            }
            gone += 1;
            if let Some(shape) = self.take(block) {
                self.counters.evicted(&shape);
            }
        }
        built.drain(..gone);
        *locked(&self.built) = built;
    }
}

impl Scratch {
    /// Builds a block from the cells of a snapshot; its liquid surface only if it is seen.
    fn build(&mut self, snapshot: &Snapshot, block: Block, sees_liquid: bool) -> BlockShape {
        if let Err(missing) = self.mesh(snapshot, block, sees_liquid) {
            return BlockShape::new(None, Some(missing));
        }
        let shape = BlockShape::new(self.tree(block, false), None);
        if sees_liquid {
            shape.build_liquid(|| self.tree(block, true));
        }
        shape
    }

    /// Builds the liquid surface of a block.
    fn build_liquid(&mut self, snapshot: &Snapshot, block: Block) -> Option<QuadTree> {
        self.mesh(snapshot, block, true).ok()?;
        self.tree(block, true)
    }

    /// Meshes a block. Shores shape its liquid surface alone.
    fn mesh(&mut self, snapshot: &Snapshot, block: Block, shores: bool) -> Result<(), NotHeld> {
        snapshot.read(block.region().grow(PAD), 0, &mut self.cells)?;
        if shores {
            self.shores.soak(snapshot, 0, &mut self.cells);
        }
        self.mesher.mesh(&self.cells, snapshot.materials(), &mut self.mesh);
        Ok(())
    }

    /// Builds the tree of a surface of the block that was meshed.
    fn tree(&mut self, block: Block, liquid: bool) -> Option<QuadTree> {
        let Scratch { mesh, edges, angles, tree, .. } = self;
        let surface = if liquid { &mesh.liquid } else { &mesh.solid };
        edge_angles(surface, block.region(), edges, angles);
        QuadTree::build(surface, &surface.quad_faces, angles, tree)
    }
}

/// Locks, ignoring poisoning: the lists are valid after a panic.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}
