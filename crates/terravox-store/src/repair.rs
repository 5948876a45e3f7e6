//! Repairing a damaged world: a new file of everything that is whole, beside the damaged one.

use crate::copy::copy_whole;
use crate::database::{
    CELLS, CHANNELS, EXTRA, block_of, cell_key, channel_key, channel_of, listing_key,
};
use crate::disk::Disk;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::file_names::{MAX_BACKUPS, backup_of};
use crate::findings::Findings;
use crate::key::{BlockKey, KeyBytes, chunk_order};
use crate::partial::PartialFile;
use crate::pyramid::source_mip;
use crate::read::{walk_blocks, walk_chunks};
use crate::rebuild::{RepairReport, SurroundingCells, rebuild_block};
use crate::store::Store;
use crate::value::ValueError;
use crate::verify::{BlockMaker, BlockOver, StoredBlocks, Verification, blocks_over, sort_blocks};
use crate::work::PassBudget;
use crate::write::{GenerateBlock, TableWriter};
use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terravox::terrain::FillRequest;
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, MipBlock};

/// Blocks in one transaction of a repair: bounds its memory.
const BATCH_BLOCKS: usize = 2048;

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
    /// [`StoreError::TooMuchWork`] if that takes more work than a file of its length may cost. Then
    /// everything is as it was. [`StoreError::Unsure`] if the new file is in place, but perhaps not
    /// after a power cut.
    pub fn repair(
        path: impl AsRef<Path>,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<RepairReport, StoreError> {
        Store::repair_within(path, 1, fill)
    }

    /// [`Store::repair`] with `limit_factor` times the work.
    ///
    /// # Errors
    /// As [`Store::repair`].
    pub fn repair_within(
        path: impl AsRef<Path>,
        limit_factor: u32,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<RepairReport, StoreError> {
        let path = path.as_ref();
        let damaged = Store::open(path)?;
        let (found, left) = damaged.verify_spending(damaged.pass_budget(limit_factor)?)?;
        if found.bad.is_empty() {
            return Ok(RepairReport { chunks: found.chunks, ..RepairReport::default() });
        }
        let file = damaged.file()?;
        let (partial, db) = PartialFile::create(file, file, path)?;
        let repaired = Store::from_new_db(db, path, Some(partial.path()), &damaged.info())?;
        let budget = left.for_repair(limit_factor);
        let mut report = damaged.copy_repaired(&repaired, &found, budget, fill)?;
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

    /// Writes what is whole of this world to another disk, in place of what is there, with listings
    /// and coarse blocks made again: for worlds on a [`Disk`] of the caller; [`Store::repair`]
    /// replaces files only. An intact world is copied, too. Returns what is lost; no `backup`,
    /// since this world stays.
    ///
    /// # Errors
    /// As [`Store::repair_within`]. The other disk then has no world, or a part of one.
    pub fn repair_onto(
        &self,
        disk: Arc<dyn Disk>,
        limit_factor: u32,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<RepairReport, StoreError> {
        let (found, left) = self.verify_spending(self.pass_budget(limit_factor)?)?;
        let repaired = Store::create_on(disk, self.path(), &self.info())?;
        self.copy_repaired(&repaired, &found, left.for_repair(limit_factor), fill)
    }

    /// Copies what is whole to a new world, and makes the rest again.
    fn copy_repaired(
        &self,
        repaired: &Store,
        found: &Verification,
        budget: PassBudget,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<RepairReport, StoreError> {
        if found.bad.iter().any(|bad| matches!(bad.what, ValueError::TooMuchWork { .. })) {
            return Err(StoreError::TooMuchWork { path: self.path().to_owned() });
        }
        let mut report = RepairReport { lost: losses(&found.bad), ..RepairReport::default() };
        self.copy_to(repaired, &found.bad)?;
        let mut chunks = repaired.list_chunks()?;
        chunks.sort_by_cached_key(|&chunk| chunk_order(chunk));
        report.chunks = chunks.len();
        let mut suspects = Suspects::of(&found.bad);
        let mut maker = BlockMaker::new(&repaired.begin_read(), budget);
        let placement = self.info().placement();
        let generate = |block: MipBlock| {
            let mut cells = DenseBox::default();
            FillRequest::fill_block(&mut cells, block, placement, &fill).then_some(cells)
        };
        for mip in 1..=MAX_MIP {
            let blocks = suspects.at(mip, &chunks, repaired);
            let around = SurroundingCells::of(&report.lost, &found.bad, mip);
            repaired.rebuild_blocks(mip, (&blocks, &around), &generate, &mut maker, &mut report)?;
        }
        Ok(report)
    }

    /// Copies extra data, blocks and channels, but for those that are `bad`.
    fn copy_to(&self, repaired: &Store, bad: &[BadPart]) -> Result<(), StoreError> {
        let grows = self.info().grows();
        let declared = repaired.info().channels.len();
        let part_key = |bad: &BadPart| match (&bad.part, &bad.what) {
            // Whole, and listed by the repair.
            (_, ValueError::NotListed) => None,
            // Its cells beside stored chunks may be needed.
            (StoredPart::Mip(_), ValueError::NotTheMip) if grows => None,
            (&StoredPart::Chunk(chunk), _) => Some(cell_key(&BlockKey::chunk(chunk).bytes())),
            (&StoredPart::Mip(key), _) => Some(cell_key(&key.bytes())),
            (&StoredPart::Channel { channel, chunk }, _) => Some(channel_key(channel, chunk)),
            _ => None,
        };
        let bad: HashSet<_> = bad.iter().filter_map(part_key).collect();
        let is_bad = |key: &[u8]| <[u8; 12]>::try_from(key).is_ok_and(|key| bad.contains(&key));
        let is_wanted = |key: &[u8]| match key.first() {
            Some(&EXTRA) => true,
            Some(&CELLS) => block_of(key).is_some_and(BlockKey::within_limits) && !is_bad(key),
            Some(&CHANNELS) => {
                let of_world = |(channel, _)| usize::from(channel) < declared;
                channel_of(key).is_some_and(of_world) && !is_bad(key)
            }
            _ => false,
        };
        // What cannot be read is among the losses already.
        copy_whole(&self.begin_read().tree, repaired.db(), self.path(), is_wanted, |_| {})
    }

    /// Lists all stored chunks and returns them.
    fn list_chunks(&self) -> Result<Vec<ChunkPos>, StoreError> {
        let seen = walk_chunks(&self.begin_read().tree, &mut Findings::default(), |_, _| Ok(()));
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

    /// Makes blocks of a mip again where they are not those of the finer ones.
    fn rebuild_blocks(
        &self,
        mip: u8,
        (blocks, around): (&[BlockOver<'_>], &SurroundingCells),
        generate: GenerateBlock<'_>,
        maker: &mut BlockMaker,
        report: &mut RepairReport,
    ) -> Result<(), StoreError> {
        let view = self.begin_read();
        let finer = StoredBlocks::of(&view.tree, source_mip(mip));
        for batch in blocks.chunks(BATCH_BLOCKS) {
            self.lock_writes().transact(None, |tree| {
                let generate = self.info().grows().then_some(generate);
                let mut writer = TableWriter::new(self, tree, generate);
                for &(key, chunks) in batch {
                    let Some(key) = BlockKey::from_bytes(&key) else { continue };
                    let from = (&view, &finer, around);
                    rebuild_block(&mut writer, maker, from, (key, chunks), report)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The blocks that may not be those of the finer ones: those that are damaged, and all above.
struct Suspects {
    /// By mip; `None` if parts of the index are lost, so that any block may be.
    keys: Option<[BTreeSet<KeyBytes>; MAX_MIP as usize + 1]>,
}

impl Suspects {
    fn of(bad: &[BadPart]) -> Suspects {
        let mut keys = [const { BTreeSet::new() }; MAX_MIP as usize + 1];
        for BadPart { part, what } in bad {
            let key = match *part {
                StoredPart::Chunk(chunk) => BlockKey::chunk(chunk),
                StoredPart::Mip(key) => key,
                StoredPart::Index if *what != ValueError::OneCopy => {
                    return Suspects { keys: None };
                }
                _ => continue,
            };
            keys[usize::from(key.mip)].insert(key.bytes());
        }
        Suspects { keys: Some(keys) }
    }

    /// The suspects of a mip, with the chunks under each. Those of the finer mips must be known.
    fn at<'a>(&mut self, mip: u8, chunks: &'a [ChunkPos], repaired: &Store) -> Vec<BlockOver<'a>> {
        let mut blocks = blocks_over(chunks, mip);
        let Some(keys) = &mut self.keys else {
            let view = repaired.begin_read();
            walk_blocks(&view.tree, mip, &mut Findings::default(), |key, _| {
                blocks.push((key.bytes(), &[]));
                Ok(())
            });
            sort_blocks(&mut blocks);
            return blocks;
        };
        let from = source_mip(mip);
        let finer = keys[usize::from(from)].iter().filter_map(|key| BlockKey::from_bytes(key));
        let above: Vec<_> = finer.map(|key| key.coarser(mip).bytes()).collect();
        let own = &mut keys[usize::from(mip)];
        own.extend(above);
        blocks.retain(|(key, _)| own.contains(key));
        blocks.extend(own.iter().map(|&key| -> BlockOver<'a> { (key, &[]) }));
        sort_blocks(&mut blocks);
        blocks
    }
}

/// The parts of `bad` whose content is gone for good.
fn losses(bad: &[BadPart]) -> Vec<BadPart> {
    let is_lost = |bad: &&BadPart| match bad.part {
        StoredPart::Chunk(_) => bad.what != ValueError::NotListed,
        StoredPart::Extra(_) | StoredPart::Channel { .. } | StoredPart::Table("channels") => true,
        StoredPart::Index => bad.what != ValueError::OneCopy,
        _ => false,
    };
    bad.iter().filter(is_lost).cloned().collect()
}

/// Gives the damaged file its backup name: a hard link, or a copy where links do not work.
fn back_up(file: &Path, path: &Path) -> Result<PathBuf, StoreError> {
    let io_error = |source| StoreError::Io { path: path.to_owned(), doing: "keep a copy", source };
    for number in 1..=MAX_BACKUPS {
        let backup = backup_of(file, number);
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
