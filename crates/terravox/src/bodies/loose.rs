//! The view that follows edits: what to look at, what is known, and what is cut loose, so
//! much a call.
//!
//! Callers that edit say which regions to look at ([`Loose::touch`]), since a world that
//! streams in writes cells too and must not fall for it; the change log says only which
//! chunks are to be labelled anew.

use super::body::{BodyScratch, take};
use super::clumps::ClumpCache;
use super::search::{Piece, Search, World};
use super::{Anchors, LooseBody};
use crate::edit::{EditError, History};
use crate::voxel::{ChangeCursor, Changes, ChunkPos, Region, VoxelGrid, VoxelPos};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// What stays, and how much is done in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct LooseOptions {
    /// What never falls.
    pub anchors: Anchors,
    /// Most cells of a body; larger pieces stay where they are.
    pub max_cells: u64,
    /// Cells that become bodies in one call; one body always may.
    pub cells_per_call: u64,
    /// Bodies of one call: the smallest take some tens of microseconds each.
    pub bodies_per_call: usize,
    /// Steps of the search in one call: from one connected part of a chunk to the next, some
    /// tenths of a microsecond each.
    pub steps_per_call: u32,
    /// Bytes that may be kept of what was found about chunks; looked at between calls.
    pub cache_bytes: usize,
}

impl Default for LooseOptions {
    /// No anchors but what is not held; bodies of up to 262,144 cells, as many cells a call,
    /// 64 bodies a call; 20,000 steps a call; 32 MiB.
    fn default() -> LooseOptions {
        LooseOptions {
            anchors: Anchors::default(),
            max_cells: 1 << 18,
            cells_per_call: 1 << 18,
            bodies_per_call: 64,
            steps_per_call: 20_000,
            cache_bytes: 32 << 20,
        }
    }
}

impl LooseOptions {
    /// The default with the world's floor anchored: all cells below a height in voxels.
    pub fn floor(below_y: i32) -> LooseOptions {
        LooseOptions { anchors: Anchors::below(below_y), ..LooseOptions::default() }
    }
}

/// A piece that hangs on nothing, but has more cells than a body may have. It stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// How many cells it has.
    pub cells: u64,
    /// The chunks that it lies in, as one region, voxels.
    pub region: Region,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { cells, region } = self;
        write!(
            f,
            "the {cells} cells that hang on nothing in voxels {region} are too many for a body"
        )
    }
}

impl std::error::Error for TooLarge {}

/// What was cut loose.
#[derive(Default)]
pub struct CutLoose {
    /// The bodies, in an order that depends on the cells and the edits only.
    pub bodies: Vec<LooseBody>,
    /// Pieces that would be bodies if they were smaller.
    pub too_large: Vec<TooLarge>,
    /// Whether there is more to do, for the next call.
    pub more: bool,
}

/// What a [`Loose`] holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LooseStats {
    /// Chunks whose connections are known; those of one material need no record.
    pub chunks: usize,
    /// Bytes of that.
    pub bytes: usize,
    /// Chunks that were touched and not looked at yet.
    pub pending: usize,
    /// Pieces that are loose and still in the world.
    pub ready: usize,
}

/// Finds what edits cut loose, and cuts it out of the world.
///
/// ```
/// use terravox::bodies::{Loose, LooseOptions};
/// use terravox::edit::{EditOp, Editor};
/// use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut tower = DenseBox::new(Region::new([0, 0, 0], [4, 40, 4]));
/// tower.fill(8);
/// grid.write(&tower)?;
/// let dug = Editor::default().apply(&mut grid, &EditOp::dig_ball([2.0, 10.0, 2.0], 5.0), None)?;
///
/// let mut loose = Loose::default();
/// loose.touch(dug.region);
/// let cut = loose.cut(&mut grid, None, &LooseOptions::floor(1))?;
/// assert_eq!(cut.bodies.len(), 1);
/// assert!(cut.bodies[0].cells >= 25 * 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Loose {
    cursor: ChangeCursor,
    anchors: Anchors,
    cache: ClumpCache,
    /// Where to look, by chunk.
    pending: BTreeMap<ChunkPos, Region>,
    search: Search,
    /// Pieces that were found and are to be cut.
    ready: VecDeque<Piece>,
    scratch: BodyScratch,
}

impl Loose {
    /// Notes that the cells of a region were edited, voxels: what is in it or beside it is
    /// looked at by the next [`Loose::cut`].
    pub fn touch(&mut self, region: Region) {
        if !region.is_empty() {
            self.look_at(region.grow(1));
        }
    }

    fn look_at(&mut self, region: Region) {
        for chunk in region.blocks::<5>() {
            let part = region.intersect(chunk.region());
            let pending = self.pending.entry(chunk).or_default();
            *pending = pending.union(part);
        }
    }

    /// What it holds.
    pub fn stats(&self) -> LooseStats {
        LooseStats {
            chunks: self.cache.len(),
            bytes: self.cache.bytes(),
            pending: self.pending.len(),
            ready: self.ready.len(),
        }
    }

    /// Looks at what was touched, within the steps of the options, and moves what hangs on
    /// nothing out of the world, within their cells. The cells go to `history`, if there is
    /// one, as a part of the stroke that is open, else as a stroke of their own.
    ///
    /// # Errors
    /// [`EditError`] if the grid refuses a write; what was cut before stays cut, and is in
    /// the history.
    pub fn cut(
        &mut self,
        grid: &mut VoxelGrid,
        mut history: Option<&mut History>,
        options: &LooseOptions,
    ) -> Result<CutLoose, EditError> {
        let mut cut = CutLoose::default();
        if !self.find(grid, options) {
            cut.more = true;
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

    /// Finds what is loose of what was touched, within the steps; returns whether all is
    /// found.
    fn find(&mut self, grid: &VoxelGrid, options: &LooseOptions) -> bool {
        self.follow(grid, &options.anchors);
        if self.cache.bytes() > options.cache_bytes {
            self.cache.clear();
        }
        let mut left = options.steps_per_call.max(1);
        let mut world =
            World { grid: grid.as_snapshot(), cache: &mut self.cache, anchors: &self.anchors };
        while left > 0
            && let Some((chunk, region)) = self.pending.pop_first()
        {
            self.search.begin(&mut world, chunk, region, &mut left);
        }
        if !self.search.go_on(&mut world, &mut left) || !self.pending.is_empty() {
            return false;
        }
        self.ready.extend(self.search.pieces());
        self.search = Search::default();
        true
    }

    fn cut_ready(
        &mut self,
        grid: &mut VoxelGrid,
        mut history: Option<&mut History>,
        options: &LooseOptions,
        cut: &mut CutLoose,
    ) -> Result<(), EditError> {
        let mut cells = 0;
        while let Some(piece) = self.ready.pop_front() {
            if piece.cells > options.max_cells {
                cut.too_large.push(TooLarge { cells: piece.cells, region: piece.chunks() });
                continue;
            }
            let full = cut.bodies.len() >= options.bodies_per_call.max(1)
                || cells + piece.cells > options.cells_per_call;
            if cells > 0 && full {
                self.ready.push_front(piece);
                break;
            }
            cells += piece.cells;
            let body = take(grid, &piece, &mut self.scratch, history.as_deref_mut());
            // Its own writes touch no other piece.
            self.forget_changes(grid);
            cut.bodies.push(body?);
        }
        cut.more = !self.ready.is_empty();
        Ok(())
    }

    /// Forgets what is known of chunks that changed.
    fn forget_changes(&mut self, grid: &VoxelGrid) -> Vec<Region> {
        match grid.changes_since(&mut self.cursor) {
            Changes::Everything => {
                self.cache.clear();
                let known = self.search.chunks();
                let ready = self.ready.iter().flat_map(|piece| &piece.clumps).map(|clump| clump.0);
                known.chain(ready).map(|chunk| chunk.region()).collect()
            }
            Changes::Regions(regions) => {
                regions.iter().for_each(|&region| self.cache.forget(region));
                regions
            }
        }
    }

    /// Goes by what changed since the last call: what was found there is looked for again.
    fn follow(&mut self, grid: &VoxelGrid, anchors: &Anchors) {
        // What came beside a piece holds it as well.
        let changed = self.forget_changes(grid).into_iter().map(|region| region.grow(1));
        let changed: Vec<Region> = changed.collect();
        let mut again = changed.iter().any(|region| self.search_knows(*region));
        let stale = |piece: &Piece| {
            let in_region =
                |region: &Region, chunk: ChunkPos| !region.intersect(chunk.region()).is_empty();
            changed.iter().any(|region| piece.clumps.iter().any(|clump| in_region(region, clump.0)))
        };
        let (stale, ready) = std::mem::take(&mut self.ready).into_iter().partition(stale);
        self.ready = ready;
        if self.anchors != *anchors {
            self.anchors.clone_from(anchors);
            self.cache.clear();
            again = true;
            let ready = std::mem::take(&mut self.ready);
            ready.iter().for_each(|piece| self.look_again(piece));
        }
        let stale: VecDeque<Piece> = stale;
        stale.iter().for_each(|piece| self.look_again(piece));
        if again {
            let search = std::mem::take(&mut self.search);
            search.seeds.into_iter().for_each(|(_, region)| self.look_at(region));
        }
    }

    /// Whether floods came to a chunk of a region.
    fn search_knows(&self, region: Region) -> bool {
        let in_region = |chunk: ChunkPos| !region.intersect(chunk.region()).is_empty();
        match region.coarser(5).volume() {
            0..512 => region.blocks::<5>().any(|chunk| self.search.knows(chunk)),
            _ => self.search.chunks().any(in_region),
        }
    }

    /// Lets a piece be looked for again, from one of its cells.
    fn look_again(&mut self, piece: &Piece) {
        if let Some(&(chunk, cell)) = piece.clumps.first() {
            let [x, z, y] = [cell & 31, cell >> 5 & 31, cell >> 10].map(i32::from);
            self.look_at(Region::one(chunk.min_voxel() + VoxelPos::new(x, y, z)));
        }
    }
}
