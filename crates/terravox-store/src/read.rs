//! Reading: one chunk, a region at any mip, blocks one by one, everything.

use crate::database::{CELLS, block_of, cell_key, lost_part, value_error};
use crate::description::ReadView;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::findings::Findings;
use crate::key::{BlockKey, KeyBytes, ranges};
use crate::listing::{Listing, MAX_MISSING_CHUNKS, page_of};
use crate::reader::StoreReader;
use crate::store::{Store, StoredListing};
use crate::tree::ReadTree;
use crate::value::{ValueCoder, ValueError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, RangeInclusive};
use terravox::voxel::{
    ChannelGrid, ChunkPos, ChunkState, DenseBox, GridOptions, MAX_MIP, MipBlock, NotHeld, PagePos,
    Region, UnlistedChunks, VoxelGrid,
};

/// Maximum number of bytes of cells that [`Store::load`] puts into memory: 8 GiB.
pub const MAX_LOADED_BYTES: u64 = 8 << 30;

/// Chunks between two reports of progress.
const PROGRESS_CHUNKS: usize = 256;

/// A world in memory.
pub struct LoadedWorld {
    /// The world, without its damaged chunks.
    pub grid: VoxelGrid,
    /// Its channels, without what is damaged.
    pub channels: ChannelGrid,
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
    /// from finer ones. Beyond the limits of a grid, `out` becomes empty.
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
        let view = self.begin_read();
        let key = BlockKey::from(block);
        let read = read_block(&*view.tree, &mut view.coder(), key, out);
        read.map_err(|what| self.damaged_error(StoredPart::block(key), what))
    }

    /// Reads the cells of several blocks, as [`Store::block`] does, in one request to a database, and
    /// calls `visit` with each, in their order: `None` if it is not stored. All are of one moment,
    /// unless some of a published world are lost.
    ///
    /// ```
    /// use terravox::voxel::MipBlock;
    /// use terravox_store::{Store, StoreError};
    ///
    /// fn count_stored(store: &Store, blocks: &[MipBlock]) -> Result<usize, StoreError> {
    ///     let mut stored = 0;
    ///     store.read_blocks(blocks, |_, cells| stored += usize::from(matches!(cells, Ok(Some(_)))))?;
    ///     Ok(stored)
    /// }
    /// ```
    ///
    /// # Errors
    /// If the database cannot be read: then nothing was visited. A block that is damaged is an error
    /// for `visit`.
    pub fn read_blocks(
        &self,
        blocks: &[MipBlock],
        mut visit: impl FnMut(MipBlock, Result<Option<DenseBox>, StoreError>),
    ) -> Result<(), StoreError> {
        // A single request is of one moment by itself.
        let latest = self.db().latest().map(|tree| ReadView { tree, info: self.info() });
        let mut view = latest.unwrap_or_else(|| self.begin_read());
        let keys = blocks.iter().map(|&block| BlockKey::from(block));
        // Others are not stored.
        let keys = keys.filter(|key| key.within_limits());
        let keys = keys.map(|key| cell_key(&key.bytes()).to_vec());
        view.tree.prefetch(keys).map_err(|error| self.read_error(error))?;
        let mut coder = view.coder();
        for &block in blocks {
            let (key, mut cells) = (BlockKey::from(block), DenseBox::default());
            let read = read_block(&*view.tree, &mut coder, key, &mut cells);
            let read = read.map(|is_stored| is_stored.then_some(cells));
            visit(block, read.map_err(|what| self.damaged_error(StoredPart::block(key), what)));
        }
        Ok(())
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
        let view = self.begin_read();
        if view.info.unlisted == UnlistedChunks::Unknown {
            self.check_listed(&view.tree, region, mip)?;
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
        self.blocks_in(&self.begin_read(), region, mip, visit)
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
        let (mut coder, mut cells) = (view.coder(), DenseBox::default());
        let mut value = Vec::new();
        for range in ranges(mip, blocks) {
            let (low, high) = key_bounds(&range);
            let mut scan = view.tree.scan(&low, Some(&high));
            while let Some(entry) = scan.next() {
                let entry = entry.map_err(|lost| self.read_error(lost.what))?;
                let Some(key) = block_of(&entry.key).filter(|key| blocks.contains(key.pos)) else {
                    continue;
                };
                let read = scan.value(&entry, &mut value);
                let read = read.map_err(|error| value_error(&error));
                let decoded = read.and_then(|()| coder.decode(key, &value, &mut cells));
                let block = decoded.as_ref().map(|()| &cells);
                if visit(key, block).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Checks that every chunk under `region`, in cells of `mip`, is stored.
    fn check_listed(&self, tree: &StoreReader, region: Region, mip: u8) -> Result<(), StoreError> {
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
            let listing = self.listing(tree, page)?;
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
        let view = self.begin_read();
        let materials = view.info.materials.clone();
        let mut grid = VoxelGrid::new(GridOptions { unlisted: view.info.unlisted, materials });
        let mut bad = Findings::default();
        let (mut coder, mut cells) = (view.coder(), DenseBox::default());
        let listed = self.listed_chunks(&view.tree, &mut bad);
        let all = listed.values().map(Listing::len).sum();
        let (mut read, mut bytes, mut error) = (0, 0, None);
        let mut pages = BTreeSet::new();
        // Of one page.
        let mut uniform: Vec<(ChunkPos, u8)> = Vec::new();
        let seen = walk_chunks(&view.tree, &mut bad, |key, value| {
            let chunk = key.as_chunk();
            if !listed.get(&page_of(chunk)).is_some_and(|listing| listing.contains(chunk)) {
                return Ok(());
            }
            if read % PROGRESS_CHUNKS == 0 {
                progress(read, all);
            }
            read += 1;
            if error.is_none() {
                let value = value?;
                if let Some(material) = coder.uniform(key, value)? {
                    if uniform.last().is_some_and(|last| page_of(last.0) != page_of(chunk)) {
                        grid.load_uniform(&uniform);
                        uniform.clear();
                    }
                    uniform.push((chunk, material));
                    bytes += chunk_bytes(0);
                } else {
                    coder.decode(key, value, &mut cells)?;
                    grid.load(&cells);
                    bytes += grid.chunk(chunk).map_or(0, |view| chunk_bytes(view.mixed_rows()));
                }
                if pages.insert(page_of(chunk)) {
                    bytes += PAGE_BYTES;
                }
                if bytes > max_bytes {
                    error = Some(self.too_large(read - 1, all, max_bytes));
                }
            }
            Ok(())
        });
        if let Some(error) = error {
            return Err(error);
        }
        if let Some(error) = view.tree.failure() {
            return Err(self.read_error(error));
        }
        grid.load_uniform(&uniform);
        add_missing(&listed, &seen, &mut bad);
        let channels = self.read_channels(&view, max_bytes.saturating_sub(bytes), &mut bad)?;
        progress(all, all);
        Ok(LoadedWorld { grid, channels, bad: bad.into_parts() })
    }

    fn too_large(&self, read: usize, all: usize, max_bytes: u64) -> StoreError {
        let what = format!(
            "{read} of {all} chunks need {max_bytes} bytes of memory already; read parts of it"
        );
        StoreError::Refused { path: self.path().to_owned(), what }
    }

    /// The chunks that should be stored, by page: from the listings, or from the keys where a
    /// listing is damaged. Adds damaged parts to `bad`.
    pub(crate) fn listed_chunks(
        &self,
        tree: &StoreReader,
        bad: &mut Findings,
    ) -> BTreeMap<PagePos, Listing> {
        let seen = || walk_chunks(tree, &mut Findings::default(), |_, _| Ok(()));
        let (stored, lost) = self.listings_as_stored(tree);
        let mut listed: BTreeMap<PagePos, Listing> = BTreeMap::new();
        if !lost.is_empty() {
            // Their pages are unknown: whatever is there is listed.
            bad.extend(lost);
            listed = seen();
        }
        let mut from_keys = None;
        for StoredListing { page, listing } in stored {
            let Some(page) = page else {
                bad.push_unless_last(BadPart {
                    part: StoredPart::Table("listed"),
                    what: ValueError::Key,
                });
                continue;
            };
            let listing = listing.unwrap_or_else(|what| {
                bad.push(BadPart { part: StoredPart::Listing(page), what });
                // Once for all of them.
                let all = from_keys.get_or_insert_with(seen);
                all.get(&page).copied().unwrap_or_default()
            });
            listed.insert(page, listing);
        }
        listed
    }
}

/// Calls `visit` with every stored chunk in key order, and reports what it returns and what cannot
/// be read. Returns all chunks that are there, whole or not.
pub(crate) fn walk_chunks(
    tree: &StoreReader,
    bad: &mut Findings,
    mut visit: impl FnMut(BlockKey, Result<&[u8], ValueError>) -> Result<(), ValueError>,
) -> BTreeMap<PagePos, Listing> {
    let mut seen: BTreeMap<PagePos, Listing> = BTreeMap::new();
    walk_blocks(tree, 0, bad, |key, value| {
        let chunk = key.as_chunk();
        seen.entry(page_of(chunk)).or_default().set(chunk, true);
        visit(key, value)
    });
    seen
}

/// The same for the blocks of a mip.
pub(crate) fn walk_blocks(
    tree: &StoreReader,
    mip: u8,
    bad: &mut Findings,
    mut visit: impl FnMut(BlockKey, Result<&[u8], ValueError>) -> Result<(), ValueError>,
) {
    let mut value = Vec::new();
    let mut scan = tree.scan(&[CELLS, mip], Some(&[CELLS, mip + 1]));
    while let Some(entry) = scan.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(lost) => {
                bad.push(lost_part(&lost));
                continue;
            }
        };
        let Some(key) = block_of(&entry.key).filter(|key| key.within_limits()) else {
            bad.push_unless_last(BadPart {
                part: StoredPart::Table("cells"),
                what: ValueError::Key,
            });
            continue;
        };
        let read = scan.value(&entry, &mut value);
        let read = read.map(|()| &*value).map_err(|error| value_error(&error));
        if let Err(what) = visit(key, read) {
            bad.push(BadPart { part: StoredPart::block(key), what });
        }
    }
}

/// Reports the chunks that are listed but not there.
pub(crate) fn add_missing(
    listed: &BTreeMap<PagePos, Listing>,
    seen: &BTreeMap<PagePos, Listing>,
    bad: &mut Findings,
) {
    let mut left = MAX_MISSING_CHUNKS;
    for (&page, &listing) in listed {
        let missing = listing.without(seen.get(&page).copied().unwrap_or_default());
        if missing.is_empty() {
            continue;
        }
        if missing.len() > left {
            let what = "it lists chunks that are not stored, as others before do";
            let what = ValueError::Unreadable(what.into());
            return bad.push(BadPart { part: StoredPart::Listing(page), what });
        }
        left -= missing.len();
        let part = |chunk| BadPart { part: StoredPart::Chunk(chunk), what: ValueError::Missing };
        bad.extend(missing.chunks(page).map(part));
    }
}

/// The bounds of a range of blocks in the table of cells; the second is outside.
pub(crate) fn key_bounds(range: &RangeInclusive<KeyBytes>) -> (Vec<u8>, Vec<u8>) {
    let mut high = cell_key(range.end()).to_vec();
    high.push(0);
    (cell_key(range.start()).to_vec(), high)
}

/// The listing of a page, from the keys of its chunks.
pub(crate) fn listing_from_keys(
    tree: &impl ReadTree,
    page: PagePos,
) -> Result<Listing, ValueError> {
    let mut listing = Listing::default();
    for range in ranges(0, page.region().coarser(5)) {
        let (low, high) = key_bounds(&range);
        let keys = tree.keys(&low, &high).map_err(|error| value_error(&error))?;
        for key in keys.iter().filter_map(|key| block_of(key)) {
            listing.set(key.as_chunk(), true);
        }
    }
    Ok(listing)
}

impl ReadView {
    /// The coder of the cells in view.
    pub fn coder(&self) -> ValueCoder {
        ValueCoder::new(self.info.materials.kinds())
    }
}

/// Reads a stored block into `out`; returns `false` and fills it with air if it is not stored, or
/// empties it if the block is beyond the limits of a grid.
pub(crate) fn read_block(
    tree: &impl ReadTree,
    coder: &mut ValueCoder,
    key: BlockKey,
    out: &mut DenseBox,
) -> Result<bool, ValueError> {
    read_block_if(tree, coder, key, out, |_| true)
}

/// [`read_block`], if its value may be decoded; else [`ValueError::TooMuchWork`].
pub(crate) fn read_block_if(
    tree: &impl ReadTree,
    coder: &mut ValueCoder,
    key: BlockKey,
    out: &mut DenseBox,
    may_decode: impl FnOnce(&[u8]) -> bool,
) -> Result<bool, ValueError> {
    if !key.within_limits() {
        // Its key would be that of a block within, and its cells need not have positions.
        out.reset(Region::default());
        return Ok(false);
    }
    let mut value = Vec::new();
    let is_stored = tree.get(&cell_key(&key.bytes()), &mut value);
    match is_stored.map_err(|error| value_error(&error))? {
        false => {
            out.reset(key.region());
            Ok(false)
        }
        true if may_decode(&value) => coder.decode(key, &value, out).map(|()| true),
        true => Err(ValueError::TooMuchWork { blocks: 1 }),
    }
}

/// Bytes of a page in memory.
pub(crate) const PAGE_BYTES: u64 = 2048;

/// About the most bytes that a chunk takes in memory: its rows if no two are equal, their
/// headers, its mips.
pub(crate) fn chunk_bytes(mixed_rows: usize) -> u64 {
    match mixed_rows {
        0 => 64,
        rows => 2048 + 80 * rows as u64,
    }
}
