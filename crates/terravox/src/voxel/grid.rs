//! The grid: the data of a world, as sparse, unbounded pages of chunks. Everything else is a view.
//!
//! Readers never wait for the writer: a [`Snapshot`] shares the page table, and a write
//! copies the table once after a snapshot, then the page and the chunks that it touches.

use super::cell::Cell;
use super::changes::{ChangeCursor, ChangeLog, Changes};
use super::chunk::ChunkView;
use super::dense::DenseBox;
use super::known::Knowledge;
use super::material::{Kind, MaterialTable};
use super::mip_block::MipBlock;
use super::options::{ChunkState, GridOptions, UnlistedChunks};
use super::packed_rows::RowUpdates;
use super::page::{Page, page_of};
use super::position::{ChunkPos, Region, VoxelPos};
use super::snapshot::{GridMemory, NotHeld, Snapshot};
use super::tables::Tables;
use super::unsaved::WriteLog;
use std::sync::Arc;

/// An editable, sparse, unbounded grid of cells with mips.
///
/// It has the reading methods of [`Snapshot`].
///
/// ```
/// use terravox::voxel::{Cell, DenseBox, GridOptions, Region, VoxelGrid, VoxelPos};
///
/// let mut grid = VoxelGrid::new(GridOptions::default());
/// let mut cells = DenseBox::new(Region::new([-2, -1, -2], [2, 1, 2]));
/// cells.fill(8);
/// grid.write(&cells)?;
/// assert_eq!(grid.cell(VoxelPos::new(-2, 0, 1))?, Cell::full(8));
/// assert_eq!(grid.cell(VoxelPos::new(2, 0, 1))?, Cell::AIR);
/// # Ok::<(), terravox::voxel::NotHeld>(())
/// ```
#[derive(Default)]
pub struct VoxelGrid {
    /// The state as it is now; only the grid writes to its tables.
    pub(super) state: Snapshot,
    log: ChangeLog,
    pub(super) far_log: ChangeLog<MipBlock>,
    pub(super) updates: RowUpdates,
    pub(super) writes: WriteLog,
}

impl VoxelGrid {
    /// An empty grid.
    pub fn new(options: GridOptions) -> VoxelGrid {
        let state = Snapshot { tables: Tables::new(options) };
        VoxelGrid { state, ..VoxelGrid::default() }
    }

    /// A grid that starts as `snapshot` is, with nothing unsaved.
    pub fn from_snapshot(snapshot: &Snapshot) -> VoxelGrid {
        VoxelGrid { state: snapshot.clone(), ..VoxelGrid::default() }
    }

    /// Returns a snapshot of the current state, for readers on any thread. Costs a few reference
    /// counts.
    pub fn snapshot(&self) -> Snapshot {
        self.state.clone()
    }

    /// The current state, for functions that read a snapshot.
    #[inline]
    pub fn as_snapshot(&self) -> &Snapshot {
        &self.state
    }

    /// Writes all cells of a box at mip 0 and updates the mips. Touched chunks become listed and
    /// [unsaved](VoxelGrid::unsaved). Air loses its occupancy; water stays only in solid cells.
    ///
    /// # Errors
    /// [`NotHeld`] if the box covers a part of a chunk that is not held at mip 0; then
    /// nothing is written.
    ///
    /// # Panics
    /// If the box reaches beyond [`LIMIT`](super::LIMIT).
    pub fn write(&mut self, cells: &DenseBox) -> Result<(), NotHeld> {
        let region = cells.region();
        assert!(region.within_limits(), "a write of {region} is beyond the limits of the grid");
        for chunk in region.blocks::<5>() {
            if region.contains_region(chunk.region()) {
                continue;
            }
            let held = self.state.held(chunk);
            if matches!(held, ChunkState::Unknown | ChunkState::Mip(1..)) {
                return Err(NotHeld { chunk, mip: 0, held });
            }
        }
        // A chunk that becomes listed is known completely.
        let fresh = !self.state.far().is_empty()
            && region.blocks::<5>().any(|chunk| self.state.finest_mip(chunk) != Some(0));
        self.writes.mark(region);
        self.write_chunks(cells, &[]);
        self.raise_chunks(if fresh { region.coarser(5).finer(5) } else { region }, 0);
        Ok(())
    }

    /// Writes whole chunks from a store or a generator. They do not become unsaved, since they can
    /// be loaded again. Chunks with unsaved changes keep their cells; returns how many did.
    ///
    /// # Panics
    /// If the box does not consist of whole chunks, or reaches beyond
    /// [`LIMIT`](super::LIMIT).
    pub fn load(&mut self, cells: &DenseBox) -> usize {
        let region = cells.region();
        assert_eq!(
            region,
            region.coarser(5).finer(5),
            "VoxelGrid::load takes whole chunks; {region} is not whole"
        );
        assert!(region.within_limits(), "a load of {region} is beyond the limits of the grid");
        let kept = self.writes.unsaved_in(region);
        if kept.len() as u64 == region.coarser(5).volume() {
            return kept.len();
        }
        self.writes.mark_clean();
        self.write_chunks(cells, &kept);
        self.raise_chunks(region, 0);
        kept.len()
    }

    /// [`VoxelGrid::load`] of chunks that are full cells of one material each, without their cells:
    /// some hundred times faster if those of a page follow one another.
    ///
    /// # Panics
    /// If a chunk reaches beyond [`LIMIT`](super::LIMIT).
    pub fn load_uniform(&mut self, chunks: &[(ChunkPos, u8)]) -> usize {
        let mut kept = 0;
        for group in chunks.chunk_by(|a, b| page_of(a.0) == page_of(b.0)) {
            let loaded: Vec<_> =
                group.iter().copied().filter(|entry| !self.writes.is_unsaved(entry.0)).collect();
            kept += group.len() - loaded.len();
            let bounds = loaded.iter().map(|entry| entry.0.region()).reduce(Region::union);
            let Some(bounds) = bounds else { continue };
            assert!(bounds.within_limits(), "a load of {bounds} is beyond the limits of the grid");
            self.writes.mark_clean();
            self.edit_pages(bounds, |page, part, kinds, updates| {
                page.write_uniform(&loaded);
                if page.has_mips_of_chunks(part) {
                    return page.refresh_mips(part, kinds, updates);
                }
                loaded.iter().for_each(|chunk| page.refresh_mips(chunk.0.region(), kinds, updates));
            });
            loaded.iter().for_each(|chunk| self.raise_chunks(chunk.0.region(), 0));
        }
        kept
    }

    /// Writes cells at mip 0, except those of the chunks `kept`.
    fn write_chunks(&mut self, cells: &DenseBox, kept: &[ChunkPos]) {
        self.edit_pages(cells.region(), |page, part, kinds, updates| {
            for chunk in part.blocks::<5>().filter(|chunk| !kept.contains(chunk)) {
                page.write(chunk, cells, kinds, updates);
            }
            page.refresh_mips(part, kinds, updates);
        });
    }

    /// Writes whole chunks at mip `mip` only, in cells of that mip. Chunks that are held at a finer
    /// mip keep their cells. This is not an edit: chunks do not become
    /// [unsaved](VoxelGrid::unsaved).
    ///
    /// # Panics
    /// If `mip` is not 1 to 5, or the box does not consist of whole chunks, or reaches
    /// beyond [`LIMIT`](super::LIMIT).
    pub fn write_mip(&mut self, mip: u8, cells: &DenseBox) {
        assert!((1..=5).contains(&mip), "chunks are held at mips 0 to 5, not {mip}");
        let region = cells.region().finer(mip.into());
        let chunks = region.coarser(5).finer(5);
        assert_eq!(
            chunks, region,
            "VoxelGrid::write_mip takes whole chunks; {region} is not whole"
        );
        assert!(region.within_limits(), "a write of {region} is beyond the limits of the grid");
        self.writes.mark_clean();
        self.edit_pages(region, |page, part, kinds, updates| {
            for chunk in part.blocks::<5>() {
                if page.finest_mip(chunk).is_none_or(|held| held >= mip) {
                    page.write_mip(chunk, mip, cells, kinds, updates);
                }
            }
        });
        self.raise_chunks(region, mip);
    }

    /// Makes a chunk unlisted; returns whether it is unlisted now. Far blocks keep the cells that
    /// follow from it.
    ///
    /// In a world where unlisted means unknown, the chunk leaves memory; one with
    /// [unsaved](VoxelGrid::unsaved) changes stays, and `false` is returned. In a world where
    /// it means air this is an edit like any other.
    pub fn forget(&mut self, chunk: ChunkPos) -> bool {
        let Some(held) = self.state.finest_mip(chunk) else { return true };
        match self.state.unlisted() {
            UnlistedChunks::Air => self.writes.mark(chunk.region()),
            UnlistedChunks::Unknown if self.writes.is_unsaved(chunk) => return false,
            UnlistedChunks::Unknown => self.writes.mark_clean(),
        }
        self.edit_pages(chunk.region(), |page, _, kinds, updates| {
            page.forget(chunk, kinds, updates);
        });
        // Long journeys must not leave empty pages behind.
        let (pages, page) = (self.state.tables.pages_mut(), page_of(chunk));
        if pages.get(&page).is_some_and(|page| page.is_unlisted()) {
            pages.remove(&page);
        }
        self.raise_forgotten(chunk, held);
        true
    }

    /// Calls `edit` for every page of `region` and its part of it, and logs the region.
    fn edit_pages(
        &mut self,
        region: Region,
        mut edit: impl FnMut(&mut Page, Region, &[Kind; 256], &mut RowUpdates),
    ) {
        if region.is_empty() {
            return;
        }
        let kinds = *self.state.materials().kinds();
        let pages = self.state.tables.pages_mut();
        for position in region.blocks::<8>() {
            let page = pages.entry(position).or_insert_with(|| Arc::new(Page::new()));
            let page = Arc::make_mut(page);
            edit(page, region.intersect(position.region()), &kinds, &mut self.updates);
        }
        self.log.push(region);
    }

    /// Replaces the material table, which is then [unsaved](VoxelGrid::unsaved).
    ///
    /// # Panics
    /// If a material changes its kind while the grid holds data: the mips depend on it.
    pub fn set_materials(&mut self, materials: MaterialTable) {
        let same = self.state.materials().kinds() == materials.kinds();
        assert!(
            same || self.state.is_empty(),
            "a material changes its kind, which only an empty grid allows"
        );
        self.state.tables.set_materials(materials);
        self.writes.mark_materials();
        self.log.forget();
        self.far_log.forget();
    }

    /// Returns what was written since `cursor` was last used, and advances it.
    pub fn changes_since(&self, cursor: &mut ChangeCursor) -> Changes {
        self.log.since(cursor)
    }
}

impl std::fmt::Debug for VoxelGrid {
    /// Prints counts, not cells: a world is large.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VoxelGrid").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Forwards methods of [`Snapshot`].
macro_rules! read_as_snapshot {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl VoxelGrid {
            $(
                #[doc = concat!("[`Snapshot::", stringify!($name), "`], as the grid is now.")]
                #[inline]
                pub fn $name(&self, $($argument: $type),*) -> $result {
                    self.state.$name($($argument),*)
                }
            )*
        }
    };
}

read_as_snapshot! {
    fn materials() -> &MaterialTable;
    fn unlisted() -> UnlistedChunks;
    fn is_empty() -> bool;
    fn is_listed(chunk: ChunkPos) -> bool;
    fn held(chunk: ChunkPos) -> ChunkState;
    fn chunks() -> Vec<ChunkPos>;
    fn bounds() -> Region;
    fn chunk(chunk: ChunkPos) -> Result<ChunkView<'_>, NotHeld>;
    fn cell(pos: VoxelPos) -> Result<Cell, NotHeld>;
    fn water(pos: VoxelPos) -> Result<Option<u8>, NotHeld>;
    fn read(region: Region, mip: u8, out: &mut DenseBox) -> Result<(), NotHeld>;
    fn read_known(region: Region, mip: u8, out: &mut DenseBox) -> Knowledge;
    fn has_far(block: MipBlock) -> bool;
    fn far_material(block: MipBlock) -> Option<u8>;
    fn far_blocks() -> Vec<MipBlock>;
    fn digest() -> Result<u128, NotHeld>;
    fn memory() -> GridMemory;
}
