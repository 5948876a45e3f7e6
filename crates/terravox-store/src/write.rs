//! Writing chunks of a snapshot: cells, listings and coarse mips in one transaction.

use crate::channels::{merged, write_channels};
use crate::database::{cell_key, listing_key};
use crate::error::{StoreError, StoredPart};
use crate::info::WorldInfo;
use crate::key::{BlockKey, chunk_order};
use crate::listing::{Listing, page_of};
use crate::read::listing_from_keys;
use crate::reader::StoreTransaction;
use crate::store::{Store, WriteLock};
use crate::tree::{ReadTree, TreeError};
use crate::value::ValueCoder;
use std::borrow::Cow;
use terravox::voxel::{
    AIR, ChunkPos, ChunkState, DenseBox, MAX_MIP, MipBlock, NotHeld, PagePos, Snapshot,
    UnsavedChannels,
};

/// Chunks in one transaction of [`Store::write_all`]: bounds the memory that a save takes.
const BATCH_CHUNKS: usize = 2048;

/// What a save wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SaveStats {
    /// Chunks written.
    pub written: usize,
    /// Those of them that are full cells of one material.
    pub uniform: usize,
    /// Chunks removed because they are no longer listed.
    pub removed: usize,
    /// Chunks left as they were stored because the snapshot does not hold their cells: held at a
    /// coarser mip, or unknown.
    pub left: usize,
    /// Bytes of the chunks' values.
    pub chunk_bytes: u64,
    /// Bytes of the coarse blocks' values.
    pub mip_bytes: u64,
    /// Chunks of channels written or removed.
    pub channel_chunks: usize,
    /// Bytes of their values.
    pub channel_bytes: u64,
    /// Damaged listings and coarse blocks that were rebuilt.
    pub repaired: usize,
}

impl SaveStats {
    fn add(&mut self, other: SaveStats) {
        self.written += other.written;
        self.uniform += other.uniform;
        self.removed += other.removed;
        self.left += other.left;
        self.chunk_bytes += other.chunk_bytes;
        self.mip_bytes += other.mip_bytes;
        self.channel_chunks += other.channel_chunks;
        self.channel_bytes += other.channel_bytes;
        self.repaired += other.repaired;
    }
}

impl Store {
    /// Checks that the world grows from this generator, so that its edits fit the cells generated
    /// around them.
    ///
    /// # Errors
    /// [`StoreError::OtherGenerator`] if the name, version or seed differ or the world has none.
    pub fn check_generator(&self, name: &str, version: u32, seed: u64) -> Result<(), StoreError> {
        let say = |name: &str, version, seed| format!("{name} version {version}, seed {seed}");
        let given = say(name, version, seed);
        let info = self.info();
        let stored = match &info.generator {
            Some(own) if (&*own.name, own.version, own.seed) == (name, version, seed) => {
                return Ok(());
            }
            Some(own) => say(&own.name, own.version, own.seed),
            None => "no generator".to_owned(),
        };
        Err(StoreError::OtherGenerator { path: self.path().to_owned(), stored, given })
    }

    /// Writes all chunks of a snapshot, in several transactions so that memory stays bounded, and
    /// calls `progress` with the number done and in all. For new worlds, which
    /// [`crate::Draft::finish`] puts in place as a whole; otherwise use [`Store::save`]. Chunks
    /// that are not listed count as air in coarse cells.
    ///
    /// # Errors
    /// If a material is of another kind than in this world, or the file cannot be written; if the
    /// world grows from a generator; and if the snapshot holds a chunk at a coarse mip only, which
    /// would be lost.
    pub fn write_all(
        &self,
        snapshot: &Snapshot,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<SaveStats, StoreError> {
        self.check_needs_no_generator()?;
        let mut chunks = snapshot.chunks();
        for &chunk in &chunks {
            if let held @ ChunkState::Mip(1..) = snapshot.held(chunk) {
                let source = NotHeld { chunk, mip: 0, held };
                return Err(StoreError::NotHeld { path: self.path().to_owned(), source });
            }
        }
        // In key order few batches touch the same coarse block.
        chunks.sort_unstable_by_key(|&chunk| chunk_order(chunk));
        let mut stats = SaveStats::default();
        let all = chunks.len();
        for (i, batch) in chunks.chunks(BATCH_CHUNKS).enumerate() {
            progress(i * BATCH_CHUNKS, all);
            let (chunks, extras) = (batch.to_vec(), Vec::new());
            let contents = Contents { snapshot, chunks, channels: None, extras };
            let lock = self.lock_writes();
            // The description may have changed since the last batch.
            self.check_needs_no_generator()?;
            stats.add(lock.write(contents, None)?);
        }
        progress(all, all);
        Ok(stats)
    }

    /// Rejects a world whose coarse blocks start from generated cells.
    fn check_needs_no_generator(&self) -> Result<(), StoreError> {
        let info = self.info();
        if !(info.grows() && info.generator.is_some()) {
            return Ok(());
        }
        let what =
            "this world grows from a generator; use Store::save, with the generator as `fill`";
        Err(StoreError::Refused { path: self.path().to_owned(), what: what.to_owned() })
    }
}

/// Extra data by name; `None` removes what is stored under it.
pub(crate) type Extras<'a> = Vec<(&'a str, Option<Cow<'a, [u8]>>)>;

/// The content of one transaction.
pub(crate) struct Contents<'a> {
    pub snapshot: &'a Snapshot,
    /// In any order.
    pub chunks: Vec<ChunkPos>,
    pub channels: Option<&'a UnsavedChannels>,
    pub extras: Extras<'a>,
}

impl WriteLock<'_> {
    /// Writes `contents` with the coarse mips over the chunks, the material table if it differs
    /// (in names or colours, not in kinds), and channels that are new, in one transaction.
    ///
    /// A chunk that the snapshot does not list is removed if unlisted means air there. If it means
    /// unknown, or the chunk is held at a coarse mip only, the stored chunk stays.
    pub fn write(
        &self,
        contents: Contents<'_>,
        generate: Option<GenerateBlock<'_>>,
    ) -> Result<SaveStats, StoreError> {
        let Contents { snapshot, mut chunks, channels, extras } = contents;
        let store = self.store;
        for (name, bytes) in &extras {
            store.check_extra(name, bytes.as_deref())?;
        }
        chunks.sort_unstable_by_key(|&chunk| chunk_order(chunk));
        let info = store.info();
        let materials = snapshot.materials();
        if info.materials.kinds() != materials.kinds() {
            return Err(store.kinds_differ_error(materials.kinds()));
        }
        let declared = channels.map_or(Ok(None), |unsaved| {
            let merged = merged(&info.channels, unsaved.snapshot());
            merged.map_err(|what| StoreError::Refused { path: store.path().to_owned(), what })
        })?;
        let is_new = info.materials != *materials || declared.is_some();
        let new_info = is_new.then(|| WorldInfo {
            materials: materials.clone(),
            channels: declared.unwrap_or_else(|| info.channels.clone()),
            ..(*info).clone()
        });
        if let Some(what) = new_info.as_ref().and_then(WorldInfo::fault) {
            return Err(StoreError::Refused { path: store.path().to_owned(), what });
        }
        let has_values = channels.is_some_and(|unsaved| unsaved.chunks().len() > 0);
        if chunks.is_empty() && extras.is_empty() && !has_values && new_info.is_none() {
            return Ok(SaveStats::default());
        }
        self.transact(new_info, |transaction| {
            for (name, bytes) in &extras {
                store.put_extra(transaction, name, bytes.as_deref())?;
            }
            let writer = TableWriter::new(store, transaction, generate);
            let mut stats = writer.write(snapshot, &chunks)?;
            if let Some(unsaved) = channels {
                (stats.channel_chunks, stats.channel_bytes) =
                    write_channels(store, transaction, unsaved.snapshot(), unsaved.chunks())?;
            }
            Ok(stats)
        })
    }
}

/// A written or removed chunk, and whether it is stored afterwards.
#[derive(Clone, Copy)]
pub(crate) struct ChunkWrite {
    pub chunk: ChunkPos,
    pub is_stored: bool,
}

/// What writing chunks reads: the listings of their pages and the coarse blocks over them.
fn keys_over(chunks: &[ChunkPos]) -> impl Iterator<Item = Vec<u8>> {
    let listings = chunks.iter().map(|&chunk| listing_key(page_of(chunk)).to_vec());
    let blocks = chunks.iter().flat_map(|&chunk| {
        (1..=MAX_MIP).map(move |mip| cell_key(&BlockKey::over(chunk, mip).bytes()).to_vec())
    });
    listings.chain(blocks)
}

/// Generates the cells of a block; `None` if they are not available yet.
pub(crate) type GenerateBlock<'a> = &'a dyn Fn(MipBlock) -> Option<DenseBox>;

/// A transaction, and buffers.
pub(crate) struct TableWriter<'a, 't> {
    pub store: &'a Store,
    pub tree: &'a mut StoreTransaction<'t>,
    pub coder: ValueCoder,
    pub stats: SaveStats,
    /// Generates what is not stored, in a world that grows.
    pub generate: Option<GenerateBlock<'a>>,
    value: Vec<u8>,
    dense: DenseBox,
}

impl<'a, 't> TableWriter<'a, 't> {
    pub fn new(
        store: &'a Store,
        tree: &'a mut StoreTransaction<'t>,
        generate: Option<GenerateBlock<'a>>,
    ) -> TableWriter<'a, 't> {
        TableWriter {
            store,
            tree,
            coder: ValueCoder::new(store.info().materials.kinds()),
            stats: SaveStats::default(),
            generate,
            value: Vec::new(),
            dense: DenseBox::default(),
        }
    }

    /// Writes chunks that are sorted by key.
    fn write(mut self, snapshot: &Snapshot, chunks: &[ChunkPos]) -> Result<SaveStats, StoreError> {
        let prefetched = self.tree.prefetch(keys_over(chunks));
        prefetched.map_err(|error| self.store.write_error(error))?;
        let mut touched = Vec::with_capacity(chunks.len());
        for &chunk in chunks {
            let is_stored = match snapshot.held(chunk) {
                ChunkState::Mip(0) => true,
                // If it were not stored, it would be generated again.
                ChunkState::Air => self.generate.is_some(),
                ChunkState::Mip(_) | ChunkState::Unknown => {
                    self.stats.left += 1;
                    continue;
                }
            };
            if is_stored {
                self.write_chunk(snapshot, chunk)?;
            } else if self.remove(BlockKey::chunk(chunk))? {
                self.stats.removed += 1;
            }
            touched.push(ChunkWrite { chunk, is_stored });
        }
        self.update_listings(&touched)?;
        self.update_mips(snapshot, &touched)?;
        Ok(self.stats)
    }

    fn write_chunk(&mut self, snapshot: &Snapshot, chunk: ChunkPos) -> Result<(), StoreError> {
        let key = BlockKey::chunk(chunk);
        let not_held = |source| StoreError::NotHeld { path: self.store.path().to_owned(), source };
        let view = snapshot.chunk(chunk).map_err(not_held)?;
        match view.uniform_material() {
            Some(material) => {
                self.coder.encode_uniform(key, material, &mut self.value);
                self.stats.uniform += 1;
            }
            None => {
                snapshot.read(chunk.region(), 0, &mut self.dense).map_err(not_held)?;
                self.coder.encode(key, &self.dense, &mut self.value);
            }
        }
        self.stats.written += 1;
        self.stats.chunk_bytes += self.value.len() as u64;
        self.insert_value(key)
    }

    /// Stores a coarse block. Air is stored only where missing blocks are generated. Returns what
    /// follows the seal of the value, if there is one.
    pub fn put_mip(
        &mut self,
        key: BlockKey,
        cells: &DenseBox,
    ) -> Result<Option<&[u8]>, StoreError> {
        if self.generate.is_none() && crate::value::uniform_material(cells) == Some(AIR) {
            self.remove(key)?;
            return Ok(None);
        }
        self.coder.encode(key, cells, &mut self.value);
        self.insert_mip(key)?;
        Ok(Some(ValueCoder::cells_bytes(&self.value)))
    }

    /// [`TableWriter::put_mip`] of full cells of one material.
    pub fn put_uniform_mip(&mut self, key: BlockKey, material: u8) -> Result<(), StoreError> {
        if self.generate.is_none() && material == AIR {
            self.remove(key)?;
            return Ok(());
        }
        self.coder.encode_uniform(key, material, &mut self.value);
        self.insert_mip(key)
    }

    /// [`TableWriter::put_mip`] of a block of which is known what follows the seal of its value.
    pub fn put_mip_bytes(&mut self, key: BlockKey, cells_bytes: &[u8]) -> Result<(), StoreError> {
        ValueCoder::encode_bytes(key, cells_bytes, &mut self.value);
        self.insert_mip(key)
    }

    fn insert_mip(&mut self, key: BlockKey) -> Result<(), StoreError> {
        self.stats.mip_bytes += self.value.len() as u64;
        self.insert_value(key)
    }

    fn insert_value(&mut self, key: BlockKey) -> Result<(), StoreError> {
        let inserted = self.tree.put(&cell_key(&key.bytes()), &self.value);
        inserted.map_err(|error| self.store.write_error(error))
    }

    /// Removes a block; returns whether it was stored.
    pub fn remove(&mut self, key: BlockKey) -> Result<bool, StoreError> {
        let removed = self.tree.remove(&cell_key(&key.bytes()));
        removed.map_err(|error| self.store.write_error(error))
    }

    fn update_listings(&mut self, touched: &[ChunkWrite]) -> Result<(), StoreError> {
        for group in touched.chunk_by(|a, b| page_of(a.chunk) == page_of(b.chunk)) {
            let page = page_of(group[0].chunk);
            let mut listing = self.listing(page)?;
            for &ChunkWrite { chunk, is_stored } in group {
                listing.set(chunk, is_stored);
            }
            let key = listing_key(page);
            let written = match listing.is_empty() {
                true => self.tree.remove(&key).map(drop),
                false => self.tree.put(&key, &listing.encode()),
            };
            written.map_err(|error| self.store.write_error(error))?;
        }
        Ok(())
    }

    /// The listing of a page; a damaged one is rebuilt from the keys.
    fn listing(&mut self, page: PagePos) -> Result<Listing, StoreError> {
        let mut value = Vec::new();
        let read = self.tree.get(&listing_key(page), &mut value);
        match read {
            Ok(false) => return Ok(Listing::default()),
            // What cannot be read now is not damaged.
            Err(error @ TreeError::Io(_)) => return Err(self.store.read_error(error)),
            _ => {}
        }
        if let (Ok(_), Ok(listing)) = (read, Listing::decode(&value)) {
            return Ok(listing);
        }
        self.stats.repaired += 1;
        listing_from_keys(&*self.tree, page)
            .map_err(|what| self.store.damaged_error(StoredPart::Listing(page), what))
    }
}
