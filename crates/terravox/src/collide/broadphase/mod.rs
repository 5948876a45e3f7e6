//! The bit broadphase: a bit a cell for every 8³ block of the world, so that words of bits
//! tell which blocks a box can touch. Most boxes in the air touch none.
//!
//! - [`Broadphase::update`] makes the masks from the packed rows of the grid (`rows`,
//!   `masks`), never from a mesh, and stores them by page and chunk (`pages`, `page`, `chunk`).
//! - [`Broadphase::blocks_in`] looks boxes up in them (`query`).
//!
//! Source: "Voxel Terrain: Physics" (Roblox, 2017). There every cell that a surface may
//! reach has a bit, so masks are dilated by a cell. Here a bit says that the cell owns a face,
//! and the query box grows by [`REACH`](super::REACH): fewer bits are set, a block's mask
//! covers that block's triangles only, and no triangle is missed.

mod chunk;
mod draw;
mod masks;
#[cfg(test)]
mod naive;
mod page;
mod pages;
mod query;
mod rows;
#[cfg_attr(all(target_arch = "x86_64", not(terravox_plain)), allow(dead_code))]
mod scalar;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::bits::CollisionBlock;
use crate::math::{Aabb, DebugLines};
use crate::mesh::Shores;
use crate::voxel::{
    Changes, ChunkPos, PagePos, Region, Snapshot, UnlistedChunks, VoxelPos, page_of,
};

use crate::collide::query::Surfaces;
pub use chunk::BlockMasks;
use chunk::BlockWords;
use chunk::ChunkUpdate;
pub(crate) use chunk::{ChunkBlocks, block_bit, block_of_bit};
use masks::MaskMaker;
pub(crate) use page::PageBlocks;
use page::chunk_of_bit;
use pages::Pages;
pub use query::BlockOverlap;
use rows::ChunkNeighbours;

/// Sizes of a [`Broadphase`].
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
    /// Total bytes.
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
    unlisted: UnlistedChunks,
    /// Whether some chunk may be unknown.
    has_unknown: bool,
    /// The state that the masks show.
    shown: Snapshot,
    /// Memory for making masks.
    scratch: Option<Box<MaskMaker>>,
}

impl Broadphase {
    /// Creates the masks of an empty world.
    pub fn new() -> Broadphase {
        Broadphase::default()
    }

    /// Updates the masks to `snapshot`; `changes` are those since the last update.
    pub fn update(&mut self, snapshot: &Snapshot, changes: &Changes) {
        let mut maker = self.scratch.take().unwrap_or_else(MaskMaker::new);
        match changes {
            Changes::Everything => self.rebuild(snapshot, &mut maker),
            Changes::Regions(regions) => self.update_regions(snapshot, regions, &mut maker),
        }
        self.shown = snapshot.clone();
        self.scratch = Some(maker);
    }

    fn update_regions(&mut self, snapshot: &Snapshot, regions: &[Region], maker: &mut MaskMaker) {
        let mut dirty: FxHashMap<ChunkPos, u8> = FxHashMap::default();
        let mut is_water_unchanged = true;
        for &region in regions {
            add_layers(region, &mut dirty);
            if maker.shores.leaves_water(&self.shown, snapshot, region) {
                continue;
            }
            is_water_unchanged = false;
            if self.has_shore(snapshot, region, maker) {
                self.add_near_water(snapshot, region, maker, &mut dirty);
            }
        }
        for (&chunk, &layers) in &dirty {
            self.update_chunk(snapshot, chunk, layers, is_water_unchanged, maker);
        }
        for page in dirty.keys().map(|&chunk| page_of(chunk)) {
            if self.pages.get_mut(page).is_some_and(|page| page.is_as_unlisted(self.unlisted)) {
                self.pages.remove(page);
            }
        }
        self.refresh_totals();
    }

    /// Marks as dirty the chunks that a write of `region` moved near water or away from it.
    fn add_near_water(
        &self,
        snapshot: &Snapshot,
        region: Region,
        maker: &mut MaskMaker,
        dirty: &mut FxHashMap<ChunkPos, u8>,
    ) {
        // `wet_cubes` returns cubes of up to 8³: grow by one. `around` is what those chunks depend
        // on.
        let reached = Shores::depends_on(region, 0).grow(8);
        let around = Shores::depends_on(reached.coarser(5).finer(5), 0);
        let (wet, cube_mip) = maker.shores.wet_cubes(snapshot, 0, around);
        for chunk in reached.blocks::<5>() {
            let Some(page) = self.page(page_of(chunk)) else { continue };
            let has_solid = page.chunk(chunk).is_some_and(|record| record.words.solid != 0);
            if has_solid
                && !dirty.contains_key(&chunk)
                && near_any(chunk, &wet, cube_mip) != page.is_near_water(chunk)
            {
                dirty.insert(chunk, ALL_LAYERS);
            }
        }
    }

    /// Adds to the written `regions` those into which shores may carry water differently than
    /// before. Call this before the masks are updated.
    pub(crate) fn add_shores(&mut self, snapshot: &Snapshot, regions: &mut Vec<Region>) {
        let mut maker = self.scratch.take().unwrap_or_else(MaskMaker::new);
        for at in 0..regions.len() {
            let region = regions[at];
            if self.has_shore(snapshot, region, &mut maker) {
                regions.push(Shores::depends_on(region, 0));
            }
        }
        self.scratch = Some(maker);
    }

    /// Whether there is water near a written region, or was when the masks were made.
    fn has_shore(&self, snapshot: &Snapshot, region: Region, maker: &mut MaskMaker) -> bool {
        if region.is_empty() {
            return false;
        }
        let reached = Shores::depends_on(region, 0);
        let mut was_wet = false;
        self.blocks_in(&Aabb::of_region(reached), Surfaces::Liquid, |_, _| was_wet = true);
        was_wet || !maker.shores.is_dry(snapshot, 0, reached)
    }

    /// Updates what depends on all pages.
    fn refresh_totals(&mut self) {
        self.pages.tabulate();
        self.has_unknown = self.unlisted == UnlistedChunks::Unknown
            || self.pages.iter().any(|(_, page)| page.unknown != [0; 8]);
    }

    fn rebuild(&mut self, snapshot: &Snapshot, maker: &mut MaskMaker) {
        self.pages.clear();
        self.unlisted = snapshot.unlisted();
        for position in snapshot.page_positions() {
            let mut page = PageBlocks::new(snapshot);
            for chunk in position.region().blocks::<5>() {
                if snapshot.is_listed(chunk) {
                    page.replace_chunk(chunk, RemakeRequest::whole(chunk).run(snapshot, maker));
                }
            }
            page.shrink();
            if !page.is_as_unlisted(self.unlisted) {
                self.pages.get_or_insert(position, || page);
            }
        }
        self.refresh_totals();
    }

    /// Remakes layers (bits) of a chunk. `is_water_unchanged`: no write changed water.
    fn update_chunk(
        &mut self,
        snapshot: &Snapshot,
        chunk: ChunkPos,
        layers: u8,
        is_water_unchanged: bool,
        maker: &mut MaskMaker,
    ) {
        let position = page_of(chunk);
        if snapshot.page(position).is_none() && self.pages.get_mut(position).is_none() {
            return;
        }
        let page = self.pages.get_or_insert(position, || PageBlocks::new(snapshot));
        // An unknown chunk has nothing to keep.
        let kept_near_water = (!page.is_unknown(chunk)).then(|| page.is_near_water(chunk));
        // A chunk of one material is never marked, so `Some(false)` proves nothing.
        let is_surely_near = is_water_unchanged && kept_near_water == Some(true);
        let request = RemakeRequest { chunk, layers, kept_near_water, is_surely_near };
        page.replace_chunk(chunk, request.run(snapshot, maker));
    }

    /// The page at `at`; `None` if all of it is as unlisted chunks are.
    #[inline]
    pub(crate) fn page(&self, at: PagePos) -> Option<&PageBlocks> {
        self.pages.get(at)
    }

    /// Positions of all pages, in arbitrary order.
    pub(crate) fn page_positions(&self) -> impl Iterator<Item = PagePos> {
        self.pages.iter().map(|(at, _)| at)
    }

    /// Bounds of all pages, in pages.
    pub(crate) fn page_bounds(&self) -> Region {
        self.pages.bounds()
    }

    /// Whether some chunk may be unknown.
    pub(crate) fn has_unknown(&self) -> bool {
        self.has_unknown
    }

    /// The record of the chunk of a block that owns faces, and the block's bit.
    pub(crate) fn record(&self, block: CollisionBlock) -> Option<(&ChunkBlocks, u32)> {
        let (chunk, bit) = (block.min_voxel().chunk(), block_bit(block));
        let record = self.page(page_of(chunk))?.chunk(chunk)?;
        (record.presence() >> bit & 1 != 0).then_some((record, bit))
    }

    /// As [`Broadphase::record`], mutable.
    pub(crate) fn record_mut(&mut self, block: CollisionBlock) -> Option<(&mut ChunkBlocks, u32)> {
        let (chunk, bit) = (block.min_voxel().chunk(), block_bit(block));
        let record = self.pages.get_mut(page_of(chunk))?.chunk_mut(chunk)?;
        (record.presence() >> bit & 1 != 0).then_some((record, bit))
    }

    /// Whether the cells of a chunk are not held at mip 0.
    pub fn is_unknown(&self, chunk: ChunkPos) -> bool {
        let page = self.page(page_of(chunk));
        page.map_or(self.unlisted == UnlistedChunks::Unknown, |page| page.is_unknown(chunk))
    }

    /// Returns a chunk of `chunks`, in chunks, that is not held at mip 0. Visits at most one page
    /// more than there are.
    pub(crate) fn unknown_chunk_in(&self, chunks: Region) -> Option<ChunkPos> {
        let unknown_in_page = |at: PagePos, page: &PageBlocks| {
            let is_inside =
                |chunk: &ChunkPos| chunks.contains(VoxelPos::new(chunk.x, chunk.y, chunk.z));
            let words = page.unknown.iter().enumerate();
            let mut unknown = words.flat_map(|(word, &bits)| {
                (0..64)
                    .filter(move |bit| bits >> bit & 1 == 1)
                    .map(move |bit| chunk_of_bit(at, word, bit))
            });
            unknown.find(is_inside)
        };
        if self.unlisted == UnlistedChunks::Air {
            return self.pages.iter().find_map(|(at, page)| unknown_in_page(at, page));
        }
        // A page that is not there is unknown, so the search soon ends.
        chunks.coarser(3).voxels().find_map(|VoxelPos { x, y, z }| {
            let at = PagePos::new(x, y, z);
            match self.pages.get(at) {
                Some(page) => unknown_in_page(at, page),
                None => {
                    let first =
                        Region::new([8 * x, 8 * y, 8 * z], [8 * x + 8, 8 * y + 8, 8 * z + 8]);
                    let VoxelPos { x, y, z } = first.intersect(chunks).min;
                    Some(ChunkPos::new(x, y, z))
                }
            }
        })
    }

    /// Returns the masks and tags of a block.
    pub fn block(&self, block: CollisionBlock) -> BlockMasks<'_> {
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

    /// Calls `visit` once for every block that can have a triangle that meets `aabb` (voxels), in
    /// arbitrary order: those with a cell that owns a face, or has water, within
    /// [`REACH`](crate::collide::REACH) of the box on each axis. The [`BlockOverlap`] says which of
    /// the block's surfaces can have such a triangle. No block with one is left out. Invalid boxes
    /// (NaN, infinite, inverted) meet nothing.
    #[inline]
    pub fn blocks_in(
        &self,
        aabb: &Aabb,
        surfaces: Surfaces,
        visit: impl FnMut(CollisionBlock, BlockOverlap),
    ) {
        query::blocks_in(&self.pages, aabb, surfaces, visit);
    }

    /// As [`Broadphase::blocks_in`], for the blocks that own faces of `surfaces` only, with
    /// their chunks' records.
    #[inline]
    pub(crate) fn records_in<'a>(
        &'a self,
        aabb: &Aabb,
        surfaces: Surfaces,
        mut visit: impl FnMut(CollisionBlock, &'a ChunkBlocks),
    ) {
        self.blocks_in(aabb, surfaces, |block, overlap| {
            if let Some((record, bit)) = self.record(block)
                && ((overlap.solid && record.shows(bit, Surfaces::Solid))
                    || (overlap.liquid && record.shows(bit, Surfaces::Liquid)))
            {
                visit(block, record);
            }
        });
    }

    /// Whether a box may touch any face of `surfaces`.
    pub(crate) fn meets(&self, aabb: &Aabb, surfaces: Surfaces) -> bool {
        query::meets(&self.pages, aabb, surfaces)
    }

    /// Adds the masks of the blocks that `within` (voxels) meets to `lines`: runs of cells with
    /// a solid face, runs of cells with water, and the blocks and chunks that are all solid or
    /// all liquid. Blocks are drawn whole.
    pub fn lines(&self, within: &Aabb, lines: &mut DebugLines) {
        draw::mask_lines(&self.pages, within, lines);
    }

    /// Bytes of all masks, tags and tables.
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Returns the sizes.
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

/// Whether one of the wet cubes of a mip is near a chunk, in the sense of
/// [`MaskMaker::is_near_water`].
fn near_any(chunk: ChunkPos, wet: &[VoxelPos], mip: u8) -> bool {
    let near = Shores::depends_on(chunk.region(), 0).coarser(mip.into());
    wet.iter().any(|&cube| near.contains(cube))
}

/// Bits of the four layers of blocks of a chunk.
const ALL_LAYERS: u8 = 15;

/// Marks the layers of chunks whose masks a write of `region` may change: a mask depends on
/// cells that share a face with its own.
fn add_layers(region: Region, dirty: &mut FxHashMap<ChunkPos, u8>) {
    if region.is_empty() {
        return;
    }
    // Not at once along all axes: cells at its edges share no face with the region.
    for step in [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(VoxelPos::from) {
        let region = Region { min: region.min - step, max: region.max + step };
        for chunk in region.blocks::<5>() {
            let part = region.intersect(chunk.region());
            let local = |y: i32| (y - chunk.min_voxel().y) >> 3;
            let layers = local(part.min.y)..local(part.max.y - 1) + 1;
            *dirty.entry(chunk).or_default() |= layers.fold(0, |bits, layer| bits | 1 << layer);
        }
    }
}

/// Layers of a chunk whose masks are remade.
struct RemakeRequest {
    chunk: ChunkPos,
    /// A bit for each.
    layers: u8,
    /// Whether the other layers were made as near water; `None` if they cannot be kept.
    kept_near_water: Option<bool>,
    /// Whether the chunk is known to be near water, unless it is of one material.
    is_surely_near: bool,
}

impl RemakeRequest {
    /// All layers, about which nothing is known.
    fn whole(chunk: ChunkPos) -> RemakeRequest {
        let layers = ALL_LAYERS;
        RemakeRequest { chunk, layers, kept_near_water: None, is_surely_near: false }
    }

    /// Makes the masks of the layers, and of the others if those cannot be kept; `None` if the
    /// chunk is unknown.
    fn run<'a>(self, snapshot: &Snapshot, maker: &'a mut MaskMaker) -> Option<ChunkUpdate<'a>> {
        let neighbours = ChunkNeighbours::new(snapshot, self.chunk)?;
        let is_near_water = neighbours.one_material().is_none()
            && (self.is_surely_near || maker.is_near_water(snapshot, self.chunk));
        let can_keep = self.kept_near_water == Some(is_near_water);
        let layers = if can_keep { self.layers } else { ALL_LAYERS };
        let range = layers.trailing_zeros() as usize..8 - layers.leading_zeros() as usize;
        let blocks = range.clone().fold(0, |bits, layer| bits | 0xffff << (16 * layer));
        maker.make(snapshot, &neighbours, range, is_near_water);
        let MaskMaker { words, solid, wet_masks: wet, .. } = maker;
        Some(ChunkUpdate { blocks, words: *words, solid, wet, is_near_water })
    }
}
