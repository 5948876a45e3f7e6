//! Reading: one chunk, a region at any mip, blocks one by one, everything.

use crate::database::CELLS;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::guard::{Fault, guarded};
use crate::key::{BlockKey, KEY_BYTES, KeyBytes, ranges};
use crate::store::{ReadView, Store, StoredListing};
use crate::value::{ValueCoder, ValueError};
use crate::write::listing_from_keys;
use redb::{AccessGuard, ReadOnlyTable, ReadTransaction, ReadableTable};
use std::ops::ControlFlow;
use terravox::voxel::{
    ChunkPos, ChunkState, DenseBox, GridOptions, MAX_MIP, MipBlock, NotHeld, PagePos, Region,
    UnlistedChunks, VoxelGrid,
};

/// Most bytes of cells that [`Store::load`] puts into memory: 8 GiB.
pub const MAX_LOADED_BYTES: u64 = 8 << 30;

/// Chunks between two reports of progress.
const PROGRESS_CHUNKS: usize = 256;

pub(crate) type CellsTable = ReadOnlyTable<&'static [u8; KEY_BYTES], &'static [u8]>;

/// A world in memory.
pub struct LoadedWorld {
    /// The world, without its damaged chunks.
    pub grid: VoxelGrid,
    /// Parts that could not be read.
    pub bad: Vec<BadPart>,
}

impl Store {
    /// Reads the cells of a chunk into `out`. Returns `false` and fills `out` with air if it is
    /// not stored.
    ///
    /// # Errors
    /// If the chunk is damaged.
    pub fn chunk(&self, chunk: ChunkPos, out: &mut DenseBox) -> Result<bool, StoreError> {
        self.block(chunk.into(), out)
    }

    /// Reads the cells of a block of any mip into `out`. Returns `false` and fills `out` with air
    /// if it is not stored. In a world that grows ([`WorldInfo::grows`](crate::WorldInfo::grows))
    /// that means that nothing in it was edited, so its cells are the generator's; a stored block
    /// needs no generator. Nothing is stored above [`MAX_MIP`], where the blocks of a grid are made
    /// from finer ones.
    ///
    /// ```
    /// use terravox::generate::Hills;
    /// use terravox::voxel::{DenseBox, MipBlock};
    /// use terravox_store::{Store, StoreError};
    ///
    /// /// A block for a distant view of a world that grows from `hills`.
    /// fn far(
    ///     store: &Store, hills: &Hills, block: MipBlock, out: &mut DenseBox,
    /// ) -> Result<(), StoreError> {
    ///     if !store.block(block, out)? {
    ///         hills.fill(out, block.mip);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If the block is damaged.
    pub fn block(&self, block: MipBlock, out: &mut DenseBox) -> Result<bool, StoreError> {
        let view = self.begin_read()?;
        let table = self.cells_table(&view.transaction)?;
        let key = BlockKey::from(block);
        let read = read_block(&table, &mut view.coder(), key, out);
        read.map_err(|what| self.damaged_error(StoredPart::block(key), what))
    }

    /// Reads the cells of `region` at mip `mip`, in cells of that mip, into `out`, without reading
    /// finer cells. Chunks that are not stored are air in a complete world.
    ///
    /// # Errors
    /// [`StoreError::NotHeld`] if a chunk under the region is not stored in a world that grows; if
    /// a block is damaged.
    ///
    /// # Panics
    /// If `mip` is above [`MAX_MIP`] or the region has too many cells for a box.
    pub fn cells(&self, region: Region, mip: u8, out: &mut DenseBox) -> Result<(), StoreError> {
        out.reset(region);
        let view = self.begin_read()?;
        if view.info.unlisted == UnlistedChunks::Unknown {
            self.check_listed(&view.transaction, region, mip)?;
        }
        let mut damage = None;
        self.blocks_in(&view, region, mip, |key, cells| match cells {
            Ok(cells) => {
                out.copy_from(cells);
                ControlFlow::Continue(())
            }
            Err(what) => {
                damage = Some(self.damaged_error(StoredPart::block(key), what.clone()));
                ControlFlow::Break(())
            }
        })?;
        damage.map_or(Ok(()), Err)
    }

    /// Calls `visit` with every stored block of 32³ cells of mip `mip` that intersects `region` (in
    /// cells of that mip), in key order, or with its error. The box is reused. Blocks of coarse
    /// mips that are air are not stored.
    ///
    /// # Errors
    /// If the file cannot be read.
    ///
    /// # Panics
    /// If `mip` is above [`MAX_MIP`].
    pub fn blocks(
        &self,
        region: Region,
        mip: u8,
        visit: impl FnMut(BlockKey, Result<&DenseBox, &ValueError>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.blocks_in(&self.begin_read()?, region, mip, visit)
    }

    fn blocks_in(
        &self,
        view: &ReadView,
        region: Region,
        mip: u8,
        mut visit: impl FnMut(BlockKey, Result<&DenseBox, &ValueError>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        assert!(mip <= MAX_MIP, "mip {mip}; the coarsest is {MAX_MIP}");
        if region.is_empty() {
            return Ok(());
        }
        let blocks = region.coarser(5);
        let table = self.cells_table(&view.transaction)?;
        let mut coder = view.coder();
        let mut cells = DenseBox::default();
        let failed = |fault: Fault| fault.at(self.path(), "read");
        for range in ranges(mip, blocks) {
            let open = guarded(|| table.range::<&[u8; KEY_BYTES]>(range.start()..=range.end()));
            let mut entries = open.map_err(failed)?;
            while let Some(entry) = guarded(|| entries.next().transpose()).map_err(failed)? {
                let (bytes, value) = entry_bytes(&entry).map_err(failed)?;
                let Some(key) = BlockKey::from_bytes(&bytes) else { continue };
                if !blocks.contains(key.pos) {
                    continue;
                }
                let decoded = coder.decode(key, value, &mut cells);
                let block = decoded.as_ref().map(|()| &cells);
                if visit(key, block).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Checks that every chunk under `region`, in cells of `mip`, is stored.
    fn check_listed(
        &self,
        transaction: &ReadTransaction,
        region: Region,
        mip: u8,
    ) -> Result<(), StoreError> {
        if region.is_empty() {
            return Ok(());
        }
        let mip_bits = u32::from(mip);
        let chunks = match mip_bits {
            0..=4 => region.coarser(5 - mip_bits),
            _ => region.finer(mip_bits - 5),
        };
        for page in chunks.coarser(3).voxels() {
            let page = PagePos::new(page.x, page.y, page.z);
            let listing = self.listing(transaction, page)?;
            if listing.len() == 512 {
                continue;
            }
            let part = chunks.intersect(page.region().coarser(5));
            let missing = part
                .voxels()
                .map(|p| ChunkPos::new(p.x, p.y, p.z))
                .find(|&chunk| !listing.contains(chunk));
            if let Some(chunk) = missing {
                let source = NotHeld { chunk, mip, held: ChunkState::Unknown };
                return Err(StoreError::NotHeld { path: self.path().to_owned(), source });
            }
        }
        Ok(())
    }

    /// Reads the whole world, up to [`MAX_LOADED_BYTES`] in memory. Damaged chunks are skipped and
    /// reported. Nothing in the grid is [unsaved](VoxelGrid::unsaved).
    ///
    /// # Errors
    /// If the file cannot be read at all, or the world is larger.
    pub fn load(&self) -> Result<LoadedWorld, StoreError> {
        self.load_with(MAX_LOADED_BYTES, |_, _| {})
    }

    /// [`Store::load`] with another limit on the bytes of cells in memory, which a hostile file can
    /// make a thousand times its own size. Now and then calls `progress` with the number of chunks
    /// read and in all.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_with(
        &self,
        max_bytes: u64,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<LoadedWorld, StoreError> {
        let view = self.begin_read()?;
        let table = self.cells_table(&view.transaction)?;
        let materials = view.info.materials.clone();
        let mut grid = VoxelGrid::new(GridOptions { unlisted: view.info.unlisted, materials });
        let mut bad = Vec::new();
        let mut coder = view.coder();
        let mut cells = DenseBox::default();
        let chunks = self.stored_chunks(&view.transaction, &table, &mut bad)?;
        let mut bytes = 0;
        for (i, &chunk) in chunks.iter().enumerate() {
            if i % PROGRESS_CHUNKS == 0 {
                progress(i, chunks.len());
            }
            let what = match read_block(&table, &mut coder, BlockKey::chunk(chunk), &mut cells) {
                Ok(true) => {
                    grid.load(&cells);
                    bytes += grid.chunk(chunk).map_or(0, |view| chunk_bytes(view.mixed_rows()));
                    if bytes > max_bytes {
                        return Err(self.too_large(i, chunks.len(), max_bytes));
                    }
                    continue;
                }
                Ok(false) => ValueError::Missing,
                Err(what) => what,
            };
            bad.push(BadPart { part: StoredPart::Chunk(chunk), what });
        }
        progress(chunks.len(), chunks.len());
        Ok(LoadedWorld { grid, bad })
    }

    fn too_large(&self, read: usize, all: usize, max_bytes: u64) -> StoreError {
        let what = format!(
            "{read} of {all} chunks need {max_bytes} bytes of memory already; read parts of it"
        );
        StoreError::Refused { path: self.path().to_owned(), what }
    }

    /// Positions of all chunks that should be stored: from the listings of pages, or from the keys
    /// where a listing is damaged. Adds damaged parts to `bad`.
    pub(crate) fn stored_chunks(
        &self,
        transaction: &ReadTransaction,
        table: &CellsTable,
        bad: &mut Vec<BadPart>,
    ) -> Result<Vec<ChunkPos>, StoreError> {
        let listings = match self.listings_as_stored(transaction) {
            Ok(listings) => listings,
            Err(error) => {
                let what = ValueError::Database(error.to_string());
                bad.push(BadPart { part: StoredPart::Table("listed"), what });
                return self.chunks_by_key(table);
            }
        };
        let mut chunks = Vec::new();
        for StoredListing { page, listing } in listings {
            let Some(page) = page else {
                bad.push(BadPart { part: StoredPart::Table("listed"), what: ValueError::Key });
                continue;
            };
            let listing = listing.or_else(|what| {
                bad.push(BadPart { part: StoredPart::Listing(page), what });
                listing_from_keys(table, page)
            });
            match listing {
                Ok(listing) => chunks.extend(listing.chunks(page)),
                Err(what) => bad.push(BadPart { part: StoredPart::Listing(page), what }),
            }
        }
        Ok(chunks)
    }

    /// Positions of all chunks by their keys, for files whose listings are lost.
    fn chunks_by_key(&self, table: &CellsTable) -> Result<Vec<ChunkPos>, StoreError> {
        let read = guarded(|| -> Result<Vec<ChunkPos>, redb::StorageError> {
            let mut chunks = Vec::new();
            for range in ranges(0, Region::new([i32::MIN; 3], [i32::MAX; 3])) {
                for entry in table.range::<&[u8; KEY_BYTES]>(range.start()..=range.end())? {
                    chunks.extend(BlockKey::from_bytes(entry?.0.value()).map(BlockKey::as_chunk));
                }
            }
            Ok(chunks)
        });
        read.map_err(|fault| fault.at(self.path(), "read"))
    }

    pub(crate) fn cells_table(
        &self,
        transaction: &ReadTransaction,
    ) -> Result<CellsTable, StoreError> {
        let table = guarded(|| transaction.open_table(CELLS));
        table.map_err(|fault| fault.at(self.path(), "read"))
    }
}

impl ReadView {
    /// The coder of the cells in view.
    pub fn coder(&self) -> ValueCoder {
        ValueCoder::new(self.info.materials.kinds())
    }
}

/// Reads a stored block into `out`; returns `false` and fills it with air if it is not stored.
pub(crate) fn read_block(
    table: &impl ReadableTable<&'static [u8; KEY_BYTES], &'static [u8]>,
    coder: &mut ValueCoder,
    key: BlockKey,
    out: &mut DenseBox,
) -> Result<bool, ValueError> {
    let value = guarded(|| table.get(&key.bytes()));
    match value.map_err(|fault| ValueError::Database(fault.text()))? {
        None => {
            out.reset(key.region());
            Ok(false)
        }
        Some(value) => {
            let value = guarded(|| Ok::<_, redb::StorageError>(value.value()));
            let value = value.map_err(|fault| ValueError::Database(fault.text()))?;
            coder.decode(key, value, out).map(|()| true)
        }
    }
}

/// About the most bytes that a chunk takes in memory: its rows if no two are equal, their
/// headers, its mips.
pub(crate) fn chunk_bytes(mixed_rows: usize) -> u64 {
    match mixed_rows {
        0 => 64,
        rows => 2048 + 80 * rows as u64,
    }
}

/// An entry of the table of cells.
pub(crate) type CellEntry<'a> =
    (AccessGuard<'a, &'static [u8; KEY_BYTES]>, AccessGuard<'a, &'static [u8]>);

/// Key and value of an entry. Fails where a page is damaged.
pub(crate) fn entry_bytes<'e>(entry: &'e CellEntry<'_>) -> Result<(KeyBytes, &'e [u8]), Fault> {
    guarded(|| Ok::<_, redb::StorageError>((*entry.0.value(), entry.1.value())))
}
