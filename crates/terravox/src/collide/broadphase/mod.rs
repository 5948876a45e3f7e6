//! The bit broadphase: for every 8³ block of the world a bit a cell, so that a box is
//! told from rows of bits which blocks it can touch, and most boxes in the air are told
//! that they touch none.
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017). There every cell that a surface may
//! reach has a bit, so masks are dilated by a cell. Here a bit says that the cell owns a
//! face, and the query box grows by what the mesher keeps to ([`REACH`](super::REACH)):
//! fewer bits are set, a block's mask tells of that block's triangles only, and nothing
//! is missed.
//!
//! Made from the packed rows of the grid, never from a mesh.

mod chunk;
mod draw;
mod masks;
#[cfg(test)]
mod naive;
mod page;
mod pages;
#[cfg_attr(all(target_arch = "x86_64", not(terravox_plain)), allow(dead_code))]
mod plain;
mod query;
mod rows;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::bits::{Block, BlockMask};
use crate::math::Aabb;
use crate::mesh::shore_depends_on;
use crate::voxel::{Changes, ChunkPos, PagePos, Region, Snapshot, Unlisted, VoxelPos, page_of};

use super::Surfaces;
use chunk::Remade;
pub(crate) use chunk::{BlockWords, ChunkBlocks, block_bit, block_of_bit};
use masks::MaskMaker;
pub(crate) use page::{PageBlocks, chunk_of_bit};
use pages::Pages;
use rows::Around;

/// What of a block a box may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Solid faces.
    pub solid: bool,
    /// Water: liquid cells, solid cells that hold water, and their surface.
    pub liquid: bool,
}

/// What the broadphase knows of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockMasks<'a> {
    /// Solid cells that have a face neighbour that is not solid.
    pub solid: Option<&'a BlockMask>,
    /// Liquid cells, solid cells that hold water, and near water solid cells with air above, over
    /// which a shore may carry it; none if all cells are liquid.
    pub wet: Option<&'a BlockMask>,
    /// Whether all cells are solid.
    pub all_solid: bool,
    /// Whether all cells are liquid.
    pub all_liquid: bool,
    /// Whether a cell of those has air beside it.
    pub shows_liquid: bool,
    /// Whether the cells are not held at mip 0; then nothing else is said.
    pub unknown: bool,
}

/// What a broadphase holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BroadphaseStats {
    /// Pages of 8³ chunks.
    pub pages: usize,
    /// Chunks with a record.
    pub chunks: usize,
    /// Blocks that own solid or liquid faces.
    pub surface_blocks: usize,
    /// Blocks with a mask.
    pub mixed_blocks: usize,
    /// Masks, of 64 bytes.
    pub masks: usize,
    /// Blocks tagged as all solid or all liquid.
    pub tagged_blocks: usize,
    /// All bytes.
    pub bytes: usize,
}

/// Masks of all blocks of a world, kept up to date from its change log.
///
/// ```
/// use terravox::collide::{Broadphase, Surfaces};
/// use terravox::math::Aabb;
/// use terravox::voxel::{ChangeCursor, DenseBox, GridOptions, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut floor = DenseBox::new(Region::new([-8, -8, -8], [8, 0, 8]));
/// floor.fill(8);
/// grid.write(&floor)?;
///
/// let (mut broadphase, mut cursor) = (Broadphase::new(), ChangeCursor::default());
/// broadphase.update(grid.as_snapshot(), &grid.changes_since(&mut cursor));
/// let mut blocks = Vec::new();
/// let ball = Aabb::around([4.0, 0.5, 4.0], [0.5; 3]);
/// broadphase.blocks_in(&ball, Surfaces::Solid, |block, _| blocks.push(block));
/// assert_eq!(blocks.len(), 1);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Default)]
pub struct Broadphase {
    pages: Pages,
    unlisted: Unlisted,
    /// Whether some chunk may be unknown.
    has_unknown: bool,
    /// What the masks were last brought up to.
    seen: Snapshot,
    /// Where masks are made.
    scratch: Option<Box<MaskMaker>>,
}

impl Broadphase {
    /// The masks of an empty world.
    pub fn new() -> Broadphase {
        Broadphase::default()
    }

    /// Brings the masks up to `snapshot`, which `changes` led to.
    pub fn update(&mut self, snapshot: &Snapshot, changes: &Changes) {
        let mut maker = self.scratch.take().unwrap_or_else(MaskMaker::new);
        match changes {
            Changes::Everything => self.rebuild(snapshot, &mut maker),
            Changes::Regions(regions) => self.update_regions(snapshot, regions, &mut maker),
        }
        self.seen = snapshot.clone();
        self.scratch = Some(maker);
    }

    fn update_regions(&mut self, snapshot: &Snapshot, regions: &[Region], maker: &mut MaskMaker) {
        let mut dirty: FxHashMap<ChunkPos, u8> = FxHashMap::default();
        let mut leaves_water = true;
        for &region in regions {
            add_layers(region, &mut dirty);
            if maker.shores.leaves_water(&self.seen, snapshot, region) {
                continue;
            }
            leaves_water = false;
            if self.has_shore(snapshot, region, maker) {
                self.add_near_water(snapshot, region, maker, &mut dirty);
            }
        }
        for (&chunk, &layers) in &dirty {
            self.update_chunk(snapshot, chunk, layers, leaves_water, maker);
        }
        for page in dirty.keys().map(|&chunk| page_of(chunk)) {
            if self.pages.get_mut(page).is_some_and(|page| page.is_all(self.unlisted)) {
                self.pages.remove(page);
            }
        }
        self.sum_up();
    }

    /// Adds the chunks for which water that was written in a region is near now, or was.
    fn add_near_water(
        &self,
        snapshot: &Snapshot,
        region: Region,
        maker: &mut MaskMaker,
        dirty: &mut FxHashMap<ChunkPos, u8>,
    ) {
        // Water is found in cubes of 8³ at most.
        let reached = shore_depends_on(region, 0).grow(8);
        let around = shore_depends_on(reached.coarser(5).finer(5), 0);
        let (wet, steps) = maker.shores.wet_cubes(snapshot, 0, around);
        for chunk in reached.blocks::<5>() {
            let Some(page) = self.page(page_of(chunk)) else { continue };
            let has_solid = page.chunk(chunk).is_some_and(|record| record.words.solid != 0);
            if has_solid
                && !dirty.contains_key(&chunk)
                && near_any(chunk, &wet, steps) != page.is_near_water(chunk)
            {
                dirty.insert(chunk, ALL_LAYERS);
            }
        }
    }

    /// Adds to `regions`, which were written, those in which shores may carry other water
    /// than before. Call this before the masks are brought up to date.
    pub(crate) fn add_shores(&mut self, snapshot: &Snapshot, regions: &mut Vec<Region>) {
        let mut maker = self.scratch.take().unwrap_or_else(MaskMaker::new);
        for at in 0..regions.len() {
            let region = regions[at];
            if self.has_shore(snapshot, region, &mut maker) {
                regions.push(shore_depends_on(region, 0));
            }
        }
        self.scratch = Some(maker);
    }

    /// Whether there is water near a region that was written, or was by the masks.
    fn has_shore(&self, snapshot: &Snapshot, region: Region, maker: &mut MaskMaker) -> bool {
        if region.is_empty() {
            return false;
        }
        let reached = shore_depends_on(region, 0);
        let mut was_wet = false;
        self.blocks_in(&Aabb::of_region(reached), Surfaces::Liquid, |_, _| was_wet = true);
        was_wet || !maker.shores.is_dry(snapshot, 0, reached)
    }

    /// What follows from all pages.
    fn sum_up(&mut self) {
        self.pages.tabulate();
        self.has_unknown = self.unlisted == Unlisted::Unknown
            || self.pages.iter().any(|(_, page)| page.unknown != [0; 8]);
    }

    fn rebuild(&mut self, snapshot: &Snapshot, maker: &mut MaskMaker) {
        self.pages.clear();
        self.unlisted = snapshot.unlisted();
        for position in snapshot.page_positions() {
            let mut page = PageBlocks::new(snapshot);
            for chunk in position.region().blocks::<5>() {
                if snapshot.is_listed(chunk) {
                    page.update(chunk, remake(snapshot, chunk, ALL_LAYERS, None, false, maker));
                }
            }
            page.shrink();
            if !page.is_all(self.unlisted) {
                self.pages.get_or_insert(position, || page);
            }
        }
        self.sum_up();
    }

    /// Makes the layers (bits) of a chunk anew; `leaves_water` if water is where it was.
    fn update_chunk(
        &mut self,
        snapshot: &Snapshot,
        chunk: ChunkPos,
        layers: u8,
        leaves_water: bool,
        maker: &mut MaskMaker,
    ) {
        let position = page_of(chunk);
        if snapshot.page(position).is_none() && self.pages.get_mut(position).is_none() {
            return;
        }
        let page = self.pages.get_or_insert(position, || PageBlocks::new(snapshot));
        // What was unknown has nothing to keep.
        let kept = (!page.is_unknown(chunk)).then(|| page.is_near_water(chunk));
        // A chunk of one material is not known to be near water, even if it is.
        let is_near = leaves_water && kept == Some(true);
        page.update(chunk, remake(snapshot, chunk, layers, kept, is_near, maker));
    }

    /// The page at `page`; none if all of it is as unlisted chunks are.
    #[inline]
    pub(crate) fn page(&self, page: PagePos) -> Option<&PageBlocks> {
        self.pages.get(page)
    }

    /// Positions of all pages, in no order.
    pub(crate) fn pages(&self) -> impl Iterator<Item = PagePos> {
        self.pages.iter().map(|(at, _)| at)
    }

    /// What lies around all pages, in pages.
    pub(crate) fn page_bounds(&self) -> Region {
        self.pages.bounds()
    }

    /// Whether some chunk may be unknown.
    pub(crate) fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    /// The record of the chunk of a block that owns faces, and the block's bit.
    pub(crate) fn record(&self, block: Block) -> Option<(&ChunkBlocks, u32)> {
        let (chunk, bit) = (block.min_voxel().chunk(), block_bit(block));
        let record = self.page(page_of(chunk))?.chunk(chunk)?;
        (record.presence() >> bit & 1 != 0).then_some((record, bit))
    }

    /// As [`Broadphase::record`], to be written.
    pub(crate) fn record_mut(&mut self, block: Block) -> Option<(&mut ChunkBlocks, u32)> {
        let (chunk, bit) = (block.min_voxel().chunk(), block_bit(block));
        let record = self.pages.get_mut(page_of(chunk))?.chunk_mut(chunk)?;
        (record.presence() >> bit & 1 != 0).then_some((record, bit))
    }

    /// Whether the cells of a chunk are not held at mip 0.
    pub fn is_unknown(&self, chunk: ChunkPos) -> bool {
        let page = self.page(page_of(chunk));
        page.map_or(self.unlisted == Unlisted::Unknown, |page| page.is_unknown(chunk))
    }

    /// What is known of a block.
    pub fn block(&self, block: Block) -> BlockMasks<'_> {
        let chunk = block.min_voxel().chunk();
        let unknown = BlockMasks { unknown: self.is_unknown(chunk), ..BlockMasks::default() };
        let Some(page) = self.page(page_of(chunk)).filter(|_| !unknown.unknown) else {
            return unknown;
        };
        match page.chunk(chunk) {
            Some(record) => record.block(block_bit(block)),
            None => {
                let BlockWords { all_solid, all_liquid, .. } = page.words(chunk);
                let [all_solid, all_liquid] = [all_solid, all_liquid].map(|word| word != 0);
                BlockMasks { all_solid, all_liquid, ..BlockMasks::default() }
            }
        }
    }

    /// Bytes of all masks, tags and tables.
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// What is held.
    pub fn stats(&self) -> BroadphaseStats {
        let mut stats = BroadphaseStats { pages: self.pages.len(), ..BroadphaseStats::default() };
        let count = |word: u64| word.count_ones() as usize;
        for (_, page) in self.pages.iter() {
            for record in page.records() {
                let words = record.words;
                stats.chunks += 1;
                stats.surface_blocks += count(record.presence());
                stats.mixed_blocks += count(words.solid | words.wet);
                stats.masks += record.mask_count();
                stats.tagged_blocks += count(words.all_solid | words.all_liquid);
            }
            let tagged = page.all_solid.iter().chain(&page.all_liquid);
            stats.tagged_blocks += 64 * tagged.map(|&word| count(word)).sum::<usize>();
        }
        stats.bytes = self.bytes();
        stats
    }
}

/// Whether one of the cubes that have water, of a mip, is near a chunk, as
/// [`MaskMaker::is_near_water`] says it.
fn near_any(chunk: ChunkPos, wet: &[VoxelPos], mip: u8) -> bool {
    let near = shore_depends_on(chunk.region(), 0).coarser(mip.into());
    wet.iter().any(|&cube| near.contains(cube))
}

/// Bits of the four layers of blocks of a chunk.
const ALL_LAYERS: u8 = 15;

/// Adds the layers of chunks whose masks a write of `region` may change: a mask depends
/// on cells that share a face with its own.
fn add_layers(region: Region, dirty: &mut FxHashMap<ChunkPos, u8>) {
    if region.is_empty() {
        return;
    }
    let region = region.grow(1);
    for chunk in region.blocks::<5>() {
        let part = region.intersect(chunk.region());
        let local = |y: i32| (y - chunk.min_voxel().y) >> 3;
        let layers = local(part.min.y)..local(part.max.y - 1) + 1;
        *dirty.entry(chunk).or_default() |= layers.map(|layer| 1 << layer).sum::<u8>();
    }
}

/// Makes some layers (bits) of a chunk anew, all of them unless what is kept was made as near
/// to water, or as far from it; none if the chunk is unknown. `is_near` if it is known to be
/// near water, unless it is of one material.
fn remake<'a>(
    snapshot: &Snapshot,
    chunk: ChunkPos,
    layers: u8,
    kept: Option<bool>,
    is_near: bool,
    maker: &'a mut MaskMaker,
) -> Option<Remade<'a>> {
    let around = Around::new(snapshot, chunk)?;
    let is_near_water =
        around.one_material().is_none() && (is_near || maker.is_near_water(snapshot, chunk));
    let layers = if kept == Some(is_near_water) { layers } else { ALL_LAYERS };
    let range = layers.trailing_zeros() as usize..8 - layers.leading_zeros() as usize;
    let blocks = range.clone().map(|layer| 0xffff << (16 * layer)).sum();
    maker.make(snapshot, &around, range, is_near_water);
    let MaskMaker { words, solid, wet_masks: wet, .. } = maker;
    Some(Remade { blocks, words: *words, solid, wet, is_near_water })
}
