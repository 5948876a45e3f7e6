//! Follows edits: which regions to search, what was found, and how much is cut per call.
//!
//! Callers pass the regions that were edited to [`LooseCutter::touch`]: streaming writes cells as
//! well, and must not make anything fall. The change log only says which chunks to label again.

use super::body::{BodyScratch, take};
use super::clumps::ClumpCache;
use super::search::{ClumpCell, LoosePiece, Search, SearchContext};
use super::{Anchors, LooseBody};
use crate::edit::{EditError, History};
use crate::voxel::{ChangeCursor, Changes, ChunkPos, LIMIT, Region, VoxelGrid, VoxelPos};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Maximum number of touched regions that take turns; later regions join the last one.
const MAX_TURNS: usize = 64;

/// Maximum number of clumps that are searched together; others wait, so that dust needs little
/// memory.
const MAX_FLOODS: usize = 4096;

/// Up to this number of chunks, all chunks of a touched region are listed at once, whether the grid
/// has them or not.
const MAX_TOUCHED_CHUNKS: u64 = 4096;

/// Options of [`LooseCutter::cut`] and [`Terrain::cut_loose`](crate::Terrain::cut_loose): anchors,
/// and limits per call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct LooseOptions {
    /// Cells that never fall.
    pub anchors: Anchors,
    /// Minimum number of cells of a body; smaller pieces stay where they are.
    pub min_cells: u64,
    /// Maximum number of cells of a body; larger pieces stay where they are.
    pub max_cells: u64,
    /// Maximum number of chunks that a body may span along an axis; longer pieces stay where they
    /// are. What moves a body reads the ground in the box around it.
    pub max_span_chunks: u32,
    /// Cells that become bodies per call; exceeded only by a single body.
    pub cells_per_call: u64,
    /// Bodies per call: the smallest take some tens of microseconds each.
    pub bodies_per_call: usize,
    /// Search steps per call: each goes from one clump to those of a neighbouring chunk, in some
    /// tenths of a microsecond.
    pub steps_per_call: u32,
    /// Bytes of cached clumps; checked between calls.
    pub cache_bytes: usize,
}

impl Default for LooseOptions {
    /// No anchors except ground that is not held; bodies of 1 to 262,144 cells over up to 16 chunks
    /// along an axis, as many cells per call, 64 bodies per call, 20,000 steps per call, 32 MiB.
    fn default() -> LooseOptions {
        LooseOptions {
            anchors: Anchors::default(),
            min_cells: 1,
            max_cells: 1 << 18,
            max_span_chunks: 16,
            cells_per_call: 1 << 18,
            bodies_per_call: 64,
            steps_per_call: 20_000,
            cache_bytes: 32 << 20,
        }
    }
}

impl LooseOptions {
    /// Returns the default with the floor of the world anchored: all cells below a height in
    /// voxels.
    pub fn floor(below_y: i32) -> LooseOptions {
        LooseOptions { anchors: Anchors::below(below_y), ..LooseOptions::default() }
    }
}

/// A loose piece that has more cells, or spans more chunks, than a body may. It stays in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLargePiece {
    /// Number of cells.
    pub cells: u64,
    /// The bounds of its chunks, in voxels.
    pub region: Region,
}

impl fmt::Display for TooLargePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLargePiece { cells, region } = self;
        write!(
            f,
            "a loose piece of {cells} cells in voxels {region} exceeds LooseOptions::max_cells or \
             max_span_chunks"
        )
    }
}

impl std::error::Error for TooLargePiece {}

/// The result of [`LooseCutter::cut`].
#[derive(Default)]
pub struct LooseCut {
    /// The bodies, in an order that depends only on the cells and the edits.
    pub bodies: Vec<LooseBody>,
    /// Loose pieces that are too large for a body.
    pub too_large: Vec<TooLargePiece>,
    /// Whether there is more to do in the next call.
    pub has_more: bool,
}

/// What a [`LooseCutter`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LooseStats {
    /// Chunks with cached clumps; those of one material need none.
    pub chunks: usize,
    /// Bytes of the cache.
    pub bytes: usize,
    /// Touched chunks that are not searched yet.
    pub pending: usize,
    /// Clumps whose search has begun and not ended.
    pub searching: usize,
    /// Loose pieces that are still in the world.
    pub ready: usize,
}

/// Finds pieces that edits cut off from the ground, and moves them out of the world.
///
/// ```
/// use terravox::bodies::{LooseCutter, LooseOptions};
/// use terravox::edit::{EditOp, Editor};
/// use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut tower = DenseBox::new(Region::new([0, 0, 0], [4, 40, 4]));
/// tower.fill(8);
/// grid.write(&tower)?;
/// let dug = Editor::default().apply(&mut grid, &EditOp::dig_ball([2.0, 10.0, 2.0], 5.0), None)?;
///
/// let mut loose = LooseCutter::default();
/// loose.touch(dug.region);
/// let cut = loose.cut(&mut grid, None, &LooseOptions::floor(1))?;
/// assert_eq!(cut.bodies.len(), 1);
/// assert!(cut.bodies[0].cells >= 25 * 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct LooseCutter {
    cursor: ChangeCursor,
    anchors: Anchors,
    cache: ClumpCache,
    /// For each touch, by chunk: the region to search. They take turns, so that a touch of much
    /// dust does not hold up the others.
    pending: VecDeque<BTreeMap<ChunkPos, Region>>,
    /// Touched regions too large to list all their chunks; those of the grid are listed later.
    large: Vec<Region>,
    search: Search,
    /// Pieces found and not yet cut.
    ready: VecDeque<LoosePiece>,
    scratch: BodyScratch,
}

/// What a search reads.
fn context<'a>(
    grid: &'a VoxelGrid,
    cache: &'a mut ClumpCache,
    anchors: &'a Anchors,
) -> SearchContext<'a> {
    SearchContext { grid: grid.as_snapshot(), cache, anchors }
}

impl LooseCutter {
    /// Records that the cells of a region, in voxels, were edited: the next [`LooseCutter::cut`]
    /// searches in it and beside it. The region may be the whole world.
    pub fn touch(&mut self, region: Region) {
        let limits = Region::new([-LIMIT; 3], [LIMIT; 3]);
        let region = region.intersect(limits);
        if region.is_empty() {
            return;
        }
        let region = region.grow(1);
        if region.coarser(5).volume() <= MAX_TOUCHED_CHUNKS {
            if self.pending.len() < MAX_TURNS {
                self.pending.push_back(BTreeMap::new());
            }
            self.search_in(region);
        } else if !self.large.contains(&region) {
            self.large.push(region);
        }
    }

    /// Lists the chunks of `grid` in large touched regions.
    fn list_large(&mut self, grid: &VoxelGrid) {
        if self.large.is_empty() {
            return;
        }
        let large = std::mem::take(&mut self.large);
        for chunk in grid.chunks() {
            for region in &large {
                let part = region.intersect(chunk.region());
                if !part.is_empty() {
                    self.search_in(part);
                }
            }
        }
    }

    /// Lists a region with the last touch.
    fn search_in(&mut self, region: Region) {
        if self.pending.is_empty() {
            self.pending.push_back(BTreeMap::new());
        }
        let Some(last) = self.pending.back_mut() else { return };
        for chunk in region.blocks::<5>() {
            let part = region.intersect(chunk.region());
            let pending = last.entry(chunk).or_default();
            *pending = pending.union(part);
        }
    }

    /// Takes the next chunk that is to be searched.
    fn next_pending(&mut self) -> Option<(ChunkPos, Region)> {
        loop {
            let mut touch = self.pending.pop_front()?;
            let next = touch.pop_first();
            if !touch.is_empty() {
                self.pending.push_back(touch);
            }
            if next.is_some() {
                return next;
            }
        }
    }

    /// Returns the statistics.
    pub fn stats(&self) -> LooseStats {
        LooseStats {
            chunks: self.cache.len(),
            bytes: self.cache.bytes(),
            pending: self.pending.iter().map(BTreeMap::len).sum::<usize>() + self.large.len(),
            searching: self.search.open_count(),
            ready: self.ready.len(),
        }
    }

    /// Searches around touched regions and moves loose pieces out of the world, within the budgets
    /// of the options. The removed cells go to `history`, as part of the open stroke or as a stroke
    /// of their own.
    ///
    /// # Errors
    /// [`EditError`] if chunks of a piece are no longer held. Nothing is cut then, and the next call
    /// searches again there.
    pub fn cut(
        &mut self,
        grid: &mut VoxelGrid,
        mut history: Option<&mut History>,
        options: &LooseOptions,
    ) -> Result<LooseCut, EditError> {
        let mut cut = LooseCut::default();
        if !self.find(grid, options) {
            cut.has_more = true;
            return Ok(cut);
        }
        let own_stroke = history.as_ref().is_some_and(|history| !history.is_stroke_open());
        if let Some(history) =
            history.as_deref_mut().filter(|_| own_stroke && !self.ready.is_empty())
        {
            history.begin_stroke();
        }
        let done = self.cut_ready(grid, history.as_deref_mut(), options, &mut cut);
        if let Some(history) = history.filter(|_| own_stroke) {
            history.end_stroke();
        }
        done.map(|()| cut)
    }

    /// Searches within the step budget until pieces are found or nothing is left to be searched.
    /// Returns whether that is so; no search is in progress then.
    fn find(&mut self, grid: &VoxelGrid, options: &LooseOptions) -> bool {
        self.list_large(grid);
        self.read_changes(grid, &options.anchors);
        if self.cache.bytes() > options.cache_bytes {
            self.cache.clear();
        }
        if !self.ready.is_empty() {
            return true;
        }
        let mut left = options.steps_per_call.max(1);
        loop {
            // What is searched together does not depend on the budget, so neither do the bodies.
            while self.search.has_room(MAX_FLOODS) && !self.pending.is_empty() {
                if left == 0 {
                    return false;
                }
                let Some((chunk, region)) = self.next_pending() else { break };
                let mut world = context(grid, &mut self.cache, &self.anchors);
                self.search.begin(&mut world, chunk, region, &mut left);
            }
            let mut world = context(grid, &mut self.cache, &self.anchors);
            if !self.search.run_floods(&mut world, &mut left) {
                return false;
            }
            let found = std::mem::take(&mut self.search).loose_pieces();
            self.ready.extend(found.into_iter().filter(|piece| piece.cells >= options.min_cells));
            if !self.ready.is_empty() || self.pending.is_empty() {
                return true;
            }
            if left == 0 {
                return false;
            }
        }
    }

    fn cut_ready(
        &mut self,
        grid: &mut VoxelGrid,
        mut history: Option<&mut History>,
        options: &LooseOptions,
        cut: &mut LooseCut,
    ) -> Result<(), EditError> {
        let mut cells = 0;
        while let Some(piece) = self.ready.pop_front() {
            let Region { min, max } = piece.chunks().coarser(5);
            let span = (max - min).to_array();
            let is_long = span.into_iter().any(|v| v as u32 > options.max_span_chunks);
            if piece.cells > options.max_cells || is_long {
                cut.too_large.push(TooLargePiece { cells: piece.cells, region: piece.chunks() });
                continue;
            }
            let full = cut.bodies.len() >= options.bodies_per_call.max(1)
                || cells + piece.cells > options.cells_per_call;
            if cells > 0 && full {
                self.ready.push_front(piece);
                break;
            }
            cells += piece.cells;
            match take(grid, &piece, &mut self.scratch, history.as_deref_mut()) {
                Ok(body) => cut.bodies.push(body),
                // The bodies of this call must not be lost: the next one returns the error.
                Err(_) if !cut.bodies.is_empty() => {
                    self.ready.push_front(piece);
                    break;
                }
                Err(error) => {
                    self.search_again(&piece);
                    return Err(error);
                }
            }
            // Its own writes affect no other piece.
            self.drop_changed(grid);
        }
        cut.has_more = !self.ready.is_empty() || !self.pending.is_empty();
        Ok(())
    }

    /// Drops the clumps of changed chunks. Returns the changed regions.
    fn drop_changed(&mut self, grid: &VoxelGrid) -> Vec<Region> {
        match grid.changes_since(&mut self.cursor) {
            Changes::Everything => {
                self.cache.clear();
                let known = self.search.chunks();
                let ready =
                    self.ready.iter().flat_map(|piece| &piece.clumps).map(|clump| clump.chunk);
                known.chain(ready).map(|chunk| chunk.region()).collect()
            }
            Changes::Regions(regions) => {
                regions.iter().for_each(|&region| self.cache.invalidate(region));
                regions
            }
        }
    }

    /// Reads changes since the last call and restarts searches that they affect.
    fn read_changes(&mut self, grid: &VoxelGrid, anchors: &Anchors) {
        // A cell written beside a piece may connect it.
        let changed = self.drop_changed(grid).into_iter().map(|region| region.grow(1));
        let changed: Vec<Region> = changed.collect();
        let mut again = changed.iter().any(|region| self.search_reached(*region));
        let stale = |piece: &LoosePiece| {
            let in_region =
                |region: &Region, chunk: ChunkPos| !region.intersect(chunk.region()).is_empty();
            changed
                .iter()
                .any(|region| piece.clumps.iter().any(|clump| in_region(region, clump.chunk)))
        };
        let (stale, ready) = std::mem::take(&mut self.ready).into_iter().partition(stale);
        self.ready = ready;
        if self.anchors != *anchors {
            self.anchors.clone_from(anchors);
            self.cache.clear();
            again = true;
            let ready = std::mem::take(&mut self.ready);
            ready.iter().for_each(|piece| self.search_again(piece));
        }
        let stale: VecDeque<LoosePiece> = stale;
        stale.iter().for_each(|piece| self.search_again(piece));
        if again {
            let search = std::mem::take(&mut self.search);
            search.seeds.into_iter().for_each(|(_, region)| self.search_in(region));
        }
    }

    /// Whether floods reached a chunk of a region.
    fn search_reached(&self, region: Region) -> bool {
        let in_region = |chunk: ChunkPos| !region.intersect(chunk.region()).is_empty();
        match region.coarser(5).volume() {
            0..512 => region.blocks::<5>().any(|chunk| self.search.knows(chunk)),
            _ => self.search.chunks().any(in_region),
        }
    }

    /// Searches a piece again, from one of its cells.
    fn search_again(&mut self, piece: &LoosePiece) {
        if let Some(&ClumpCell { chunk, cell }) = piece.clumps.first() {
            let [x, z, y] = [cell & 31, cell >> 5 & 31, cell >> 10].map(i32::from);
            self.search_in(Region::one(chunk.min_voxel() + VoxelPos::new(x, y, z)));
        }
    }
}
