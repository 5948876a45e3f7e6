//! Repairing a damaged world: a new file of everything that is whole, beside the damaged one.

use crate::copy::copy_whole;
use crate::database::{CELLS, EXTRA, block_of, cell_key, listing_key, store_error};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::key::BlockKey;
use crate::partial::PartialFile;
use crate::pyramid::{rebuild, source_mip};
use crate::read::{read_block, walk_blocks, walk_chunks};
use crate::store::{ReadView, Store};
use crate::value::ValueError;
use crate::verify::{Makeup, StoredBlocks, blocks_over, makeup, read_uniform, replace_listed};
use crate::write::{GenerateBlock, TableWriter};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use terravox::terrain::FillRequest;
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, MipBlock};

/// Blocks in one transaction of a repair: bounds its memory.
const BATCH_BLOCKS: usize = 2048;

/// Damaged files of one world that are kept.
const MAX_BACKUPS: u32 = 1000;

/// The result of [`Store::repair`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Chunks of the world.
    pub chunks: usize,
    /// Parts that are lost: chunks, extra data, and coarse blocks that only the generator of the
    /// world can make again. Chunks are air now, or as the generator makes them.
    pub lost: Vec<BadPart>,
    /// Coarse blocks that were made again from the finer ones.
    pub rebuilt: usize,
    /// The damaged file as it was, under another name. `None` if the world is intact; then
    /// nothing was written.
    pub backup: Option<PathBuf>,
}

impl Store {
    /// Repairs a damaged world: copies everything whole to a new file, makes listings and coarse
    /// blocks again, and puts the new file in place. The damaged one is kept beside it, named
    /// `NAME.damaged`, or `NAME.damaged-2` and so on if that exists. An intact world is left as it
    /// is.
    ///
    /// `fill` is that of [`Store::save`], for worlds that grow: a coarse block that is lost starts
    /// from what it writes. Others never call it; without the generator at hand, pass one that only
    /// calls [`FillRequest::set_missing`].
    ///
    /// ```no_run
    /// # fn main() -> Result<(), terravox_store::StoreError> {
    /// let report = terravox_store::Store::repair("world.tvx", |request| request.set_missing())?;
    /// report.lost.iter().for_each(|part| println!("lost: {part}"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the file is open elsewhere, its description is lost, or the new file cannot be written;
    /// then everything is as it was. [`StoreError::Unsure`] if the new file is in place, but
    /// perhaps not after a power cut.
    pub fn repair(
        path: impl AsRef<Path>,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<RepairReport, StoreError> {
        let path = path.as_ref();
        let damaged = Store::open(path)?;
        let found = damaged.verify()?;
        if found.bad.is_empty() {
            return Ok(RepairReport { chunks: found.chunks, ..RepairReport::default() });
        }
        let file = damaged.file()?;
        let (partial, db) = PartialFile::create(file, file, path)?;
        let repaired = Store::from_new_db(db, path, Some(partial.path()), &damaged.info())?;
        let mut report = RepairReport { lost: losses(&found.bad), ..RepairReport::default() };
        damaged.copy_to(&repaired, &found.bad)?;
        let chunks = repaired.list_chunks()?;
        report.chunks = chunks.len();
        let placement = damaged.info().placement();
        let generate = |block: MipBlock| {
            let mut cells = DenseBox::default();
            FillRequest::fill_block(&mut cells, block, placement, &fill).then_some(cells)
        };
        for mip in 1..=MAX_MIP {
            repaired.rebuild_mip(mip, &chunks, &generate, &mut report)?;
        }
        repaired.sync()?;
        let backup = back_up(file, path)?;
        let placed = partial.place(file, path);
        if let Err(error) = placed {
            if !matches!(error, StoreError::Unsure { .. }) {
                // Nothing was replaced, so there is nothing to keep. Best effort.
                let _ = fs::remove_file(backup);
            }
            return Err(error);
        }
        report.backup = Some(backup);
        Ok(report)
    }

    /// Copies extra data and blocks, but for those that are `bad`.
    fn copy_to(&self, repaired: &Store, bad: &[BadPart]) -> Result<(), StoreError> {
        let block = |bad: &BadPart| match (&bad.part, &bad.what) {
            // Whole, and listed by the repair.
            (_, ValueError::NotListed) => None,
            (&StoredPart::Chunk(chunk), _) => Some(BlockKey::chunk(chunk)),
            (&StoredPart::Mip(key), _) => Some(key),
            _ => None,
        };
        let bad: HashSet<Vec<u8>> =
            bad.iter().filter_map(block).map(|b| cell_key(&b.bytes()).to_vec()).collect();
        let is_wanted = |key: &[u8]| match key.first() {
            Some(&EXTRA) => true,
            Some(&CELLS) => {
                block_of(key).is_some_and(BlockKey::within_limits) && !bad.contains(key)
            }
            _ => false,
        };
        // What cannot be read is among the losses already.
        let copied = copy_whole(&self.begin_read().tree, repaired.db().tree(), is_wanted, |_| {});
        copied.map_err(|error| store_error(error, self.path(), "write the repaired world"))
    }

    /// Lists all stored chunks and returns them.
    fn list_chunks(&self) -> Result<Vec<ChunkPos>, StoreError> {
        let seen = walk_chunks(&self.begin_read().tree, &mut Vec::new(), |_, _| Ok(()));
        let listings: Vec<_> = seen.into_iter().collect();
        for batch in listings.chunks(BATCH_BLOCKS) {
            self.lock_writes().transact(None, |tree| {
                let put = |(page, listing): &(_, crate::listing::Listing)| {
                    tree.put(&listing_key(*page), &listing.encode())
                };
                batch.iter().try_for_each(put).map_err(|error| self.write_error(error))
            })?;
        }
        Ok(listings.into_iter().flat_map(|(page, listing)| listing.chunks(page)).collect())
    }

    /// Makes the blocks of a mip again where they are not those of the finer ones.
    fn rebuild_mip(
        &self,
        mip: u8,
        chunks: &[ChunkPos],
        generate: GenerateBlock<'_>,
        report: &mut RepairReport,
    ) -> Result<(), StoreError> {
        let view = self.begin_read();
        let mut keys = blocks_over(chunks, mip);
        let over_losses: HashSet<BlockKey> =
            lost_chunks(&report.lost).map(|chunk| BlockKey::over(chunk, mip)).collect();
        for key in &over_losses {
            keys.entry(key.bytes()).or_default();
        }
        walk_blocks(&view.tree, mip, &mut Vec::new(), |key, _| {
            keys.entry(key.bytes()).or_default();
            Ok(())
        });
        let keys: Vec<_> = keys.into_iter().collect();
        let finer = StoredBlocks::of(&view.tree, source_mip(mip));
        for batch in keys.chunks(BATCH_BLOCKS) {
            self.lock_writes().transact(None, |tree| {
                let generate = self.info().grows().then_some(generate);
                let mut writer = TableWriter::new(self, tree, generate);
                for (key, chunks) in batch {
                    let Some(key) = BlockKey::from_bytes(key) else { continue };
                    let is_over_loss = over_losses.contains(&key);
                    let from = (&view, &finer);
                    rebuild_block(&mut writer, from, key, chunks, is_over_loss, report)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Makes a block again from the finer ones, if it differs.
fn rebuild_block(
    writer: &mut TableWriter<'_, '_>,
    (view, finer): (&ReadView, &StoredBlocks),
    key: BlockKey,
    chunks: &[ChunkPos],
    is_over_loss: bool,
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let (tree, sources) = (&*view.tree, finer.under(key));
    if writer.generate.is_none()
        && let Ok(Some(stored)) = read_uniform(tree, key, &mut Vec::new())
        && let Makeup::Uniform(made) = makeup(tree, key, &sources)
        && made == stored
    {
        return Ok(());
    }
    let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
    let coder = &mut writer.coder;
    // Damaged blocks were not copied.
    let is_stored = read_block(tree, coder, key, &mut stored).unwrap_or(false);
    let read = |key, out: &mut DenseBox| read_block(tree, coder, key, out);
    rebuild(key, &view.info.materials, sources.into_iter(), read, &mut made);
    // In a complete world blocks of air are not stored.
    let mut must_store = false;
    if let Some(generate) = writer.generate {
        if chunks.is_empty() && is_over_loss {
            // Nothing under it is stored any more: it is the generator's.
            writer.remove(key)?;
            return Ok(());
        }
        must_store = !is_stored;
        let mut around = stored.clone();
        if !is_stored || is_over_loss {
            match generate(key.into()) {
                Some(cells) => around = cells,
                None => report.lost.push(not_generated(key)),
            }
        }
        made = replace_listed(&around, &made, key.mip, chunks);
    }
    if must_store || made != stored {
        writer.put_mip(key, &made)?;
        report.rebuilt += 1;
    }
    Ok(())
}

/// The parts of `bad` whose content is gone for good.
fn losses(bad: &[BadPart]) -> Vec<BadPart> {
    let is_lost = |bad: &&BadPart| match bad.part {
        StoredPart::Chunk(_) => bad.what != ValueError::NotListed,
        StoredPart::Extra(_) => true,
        StoredPart::Index => bad.what != ValueError::OneCopy,
        _ => false,
    };
    bad.iter().filter(is_lost).cloned().collect()
}

fn lost_chunks(lost: &[BadPart]) -> impl Iterator<Item = ChunkPos> {
    lost.iter().filter_map(|bad| match bad.part {
        StoredPart::Chunk(chunk) => Some(chunk),
        _ => None,
    })
}

/// A block around stored chunks that the generator does not make.
fn not_generated(key: BlockKey) -> BadPart {
    let what = "its cells beside stored chunks need the generator of the world, and are not right";
    let what = ValueError::Unreadable(what.to_owned());
    BadPart { part: StoredPart::block(key), what }
}

/// Gives the damaged file its backup name: a hard link, or a copy where links do not work.
fn back_up(file: &Path, path: &Path) -> Result<PathBuf, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "keep a copy", source };
    for number in 1..=MAX_BACKUPS {
        let mut name = OsString::from(file.file_name().unwrap_or_default());
        name.push(if number == 1 { ".damaged".to_owned() } else { format!(".damaged-{number}") });
        let backup = file.with_file_name(name);
        match fs::hard_link(file, &backup) {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without links.
            Err(_) => match OpenOptions::new().write(true).create_new(true).open(&backup) {
                Ok(copy) => {
                    let copied = copy_into(file, copy);
                    if copied.is_err() {
                        // A part of a backup looks like a whole one. Best effort.
                        let _ = fs::remove_file(&backup);
                    }
                    return copied.map(|()| backup).map_err(io_error);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error(error)),
            },
        }
    }
    let what = format!("{MAX_BACKUPS} damaged files of this world are kept; delete some");
    Err(StoreError::Refused { path: path.to_owned(), what })
}

fn copy_into(file: &Path, mut copy: File) -> io::Result<()> {
    io::copy(&mut File::open(file)?, &mut copy)?;
    copy.sync_all()
}
