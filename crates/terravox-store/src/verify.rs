//! Checking a whole world file: checksums, structure, and that its parts agree.

use crate::database::{CELLS, INFO_KEYS, block_of, cell_key, damaged_part, value_error};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::key::{BlockKey, KeyBytes, chunk_order};
use crate::listing::{Listing, page_of};
use crate::makeup::{KnownCells, Makeup, StoredCells};
use crate::pyramid::{BlockPatch, CHUNK_MIP, empty_grid, rebuild, source_mip};
use crate::read::{add_missing, walk_blocks, walk_chunks};
use crate::reader::StoreReader;
use crate::store::{ReadView, Store, read_info_at};
use crate::tree::{KeySpan, ReadTree, TreeDamage};
use crate::value::{ValueCoder, ValueError, uniform_material};
use crate::work::PassBudget;
use std::collections::BTreeMap;
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, PagePos, Region, Snapshot, VoxelPos};

/// The result of [`Store::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Chunks that are listed and stored.
    pub chunks: usize,
    /// Blocks of coarse mips that are stored.
    pub mip_blocks: usize,
    /// Bytes of the values of both.
    pub value_bytes: u64,
    /// Damaged parts; last, [`ValueError::TooMuchWork`] if some were not compared. Empty for an
    /// intact world.
    pub bad: Vec<BadPart>,
}

impl Store {
    /// Checks everything: both copies of the index, every value, that the listings and the chunks
    /// agree, and that every coarse cell agrees with the finer ones. It finds every changed byte
    /// that changes what is read. Changes nothing; [`Store::repair`] does.
    ///
    /// Its work is at most what the length of the file allows, which is several times what worlds of
    /// terrain need. Of a file that was built to cost more, some blocks are not compared, and
    /// [`ValueError::TooMuchWork`] is among the damaged parts.
    ///
    /// # Errors
    /// If the file cannot be read at all.
    pub fn verify(&self) -> Result<Verification, StoreError> {
        self.verify_within(1)
    }

    /// [`Store::verify`] with `limit_factor` times the work.
    ///
    /// # Errors
    /// As [`Store::verify`].
    pub fn verify_within(&self, limit_factor: u32) -> Result<Verification, StoreError> {
        Ok(self.verify_spending(self.pass_budget(limit_factor)?).0)
    }

    /// Verifies within a budget; returns what is left of it, too.
    pub(crate) fn verify_spending(&self, budget: PassBudget) -> (Verification, PassBudget) {
        let mut report = Verification::default();
        let view = self.begin_read();
        view.tree.check(|damage| {
            // Blocks are read again below.
            let is_block = matches!(&damage,
                TreeDamage::Value { key, .. } if key.first() == Some(&CELLS));
            if !is_block {
                report.bad.push(damaged_part(&damage));
            }
        });
        self.check_info(&view, &mut report);
        let mut repeated = Vec::new();
        let listed = self.listed_chunks(&view.tree, &mut repeated);
        let mut verifier = Verifier {
            maker: BlockMaker::new(&view, budget),
            finer: StoredBlocks::of(&view.tree, 0),
            view: &view,
            unchecked: 0,
        };
        let seen = verifier.check_chunks(&listed, &mut repeated, &mut report);
        add_missing(&listed, &seen, &mut repeated);
        // The walk over the tree has reported its lost parts.
        repeated.retain(|bad| bad.part != StoredPart::Index);
        report.bad.append(&mut repeated);
        let mut chunks = Vec::new();
        for (&page, &listing) in &listed {
            let seen = seen.get(&page).copied().unwrap_or_default();
            chunks.extend(listing.and(seen).chunks(page));
        }
        chunks.sort_by_cached_key(|&chunk| chunk_order(chunk));
        report.chunks = chunks.len();
        for mip in 1..=MAX_MIP {
            verifier.check_mip(&chunks, mip, &mut report);
            if mip <= CHUNK_MIP {
                verifier.finer = StoredBlocks::of(&view.tree, mip);
            }
        }
        if verifier.unchecked > 0 {
            let what = ValueError::TooMuchWork { blocks: verifier.unchecked };
            report.bad.push(BadPart { part: StoredPart::Table("cells"), what });
        }
        (report, verifier.maker.budget)
    }

    /// What a pass over the file may spend.
    pub(crate) fn pass_budget(&self, limit_factor: u32) -> Result<PassBudget, StoreError> {
        Ok(PassBudget::of(self.file_bytes()?, limit_factor))
    }

    /// Checks that both copies of the description can be decoded and are the same.
    fn check_info(&self, view: &ReadView, report: &mut Verification) {
        for key in INFO_KEYS {
            let what = match read_info_at(&view.tree, key, self.path()) {
                Ok(Some(info)) if info == *view.info => continue,
                Ok(Some(_)) => ValueError::Unreadable("its two copies differ".to_owned()),
                Ok(None) => ValueError::Missing,
                Err(StoreError::Damaged { what, .. }) => what,
                Err(error) => ValueError::Unreadable(error.to_string()),
            };
            let part = BadPart { part: StoredPart::Info, what };
            if !report.bad.contains(&part) {
                report.bad.push(part);
            }
        }
    }
}

/// The keys of the stored blocks of a mip, sorted.
///
/// A coarse block is made of up to 512 blocks, most of which are not there: asking the tree for
/// each takes most of the time.
pub(crate) struct StoredBlocks {
    keys: Vec<KeyBytes>,
    /// Where parts of the index over them are lost, sorted.
    lost: Vec<KeySpan>,
}

impl StoredBlocks {
    pub fn of(tree: &StoreReader, mip: u8) -> StoredBlocks {
        let mut stored = StoredBlocks { keys: Vec::new(), lost: Vec::new() };
        for entry in tree.scan_keys(&[CELLS, mip], Some(&[CELLS, mip + 1])) {
            match entry {
                Ok(entry) => stored.keys.extend(block_of(&entry.key).map(BlockKey::bytes)),
                Err(lost) => stored.lost.push(lost.span),
            }
        }
        stored
    }

    /// The stored blocks that `key` is made of; `None` if they cannot be known.
    pub fn under(&self, key: BlockKey) -> Option<Vec<BlockKey>> {
        let shift = u32::from(key.mip - source_mip(key.mip));
        let region = Region::one(key.pos).finer(shift);
        let at = |pos| BlockKey { mip: source_mip(key.mip), pos }.bytes();
        // An aligned cube is one range of keys.
        let (low, high) = (at(region.min), at(region.max - VoxelPos::new(1, 1, 1)));
        let before = self.lost.partition_point(|span| *span.low <= cell_key(&high)[..]);
        let last = self.lost[..before].last();
        if last.is_some_and(|span| span.high.as_deref().is_none_or(|end| end > &cell_key(&low)[..]))
        {
            return None;
        }
        let first = self.keys.partition_point(|key| *key < low);
        let inside = self.keys[first..].iter().take_while(|key| **key <= high);
        Some(inside.filter_map(|key| BlockKey::from_bytes(key)).collect())
    }
}

/// Makes coarse blocks of finer ones, as long as the budget lasts.
pub(crate) struct BlockMaker {
    pub coder: ValueCoder,
    pub budget: PassBudget,
    pub known: KnownCells,
    empty: Snapshot,
}

/// Whether a coarse block was made of finer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeBlock {
    Whole,
    /// Some of them are damaged and counted as air.
    OfDamaged,
    /// The budget is spent.
    TooMuchWork,
}

impl BlockMaker {
    pub fn new(view: &ReadView, budget: PassBudget) -> BlockMaker {
        let empty = empty_grid(&view.info.materials);
        BlockMaker { coder: view.coder(), budget, known: KnownCells::default(), empty }
    }

    /// Makes the block `key` from the finer blocks `sources` in `out`. `chunks` is how many are
    /// replaced afterwards; it counts as work.
    pub fn make(
        &mut self,
        tree: &impl ReadTree,
        key: BlockKey,
        sources: &[BlockKey],
        chunks: usize,
        out: &mut DenseBox,
    ) -> MadeBlock {
        let BlockMaker { coder, budget, empty, .. } = self;
        if !budget.may_compare(key, chunks) {
            return MadeBlock::TooMuchWork;
        }
        let (mut value, mut is_refused) = (Vec::new(), false);
        let read = |from: BlockKey, cells: &mut DenseBox| {
            if is_refused {
                return Ok(false);
            }
            let is_stored = tree.get(&cell_key(&from.bytes()), &mut value);
            if !is_stored.map_err(|error| value_error(&error))? {
                return Ok(false);
            }
            is_refused = !budget.may_raise(&value);
            match is_refused {
                true => Ok(false),
                false => coder.decode(from, &value, cells).map(|()| true),
            }
        };
        let is_whole = rebuild(key, empty, sources.iter().copied(), read, out);
        match (is_refused, is_whole) {
            (true, _) => MadeBlock::TooMuchWork,
            (false, false) => MadeBlock::OfDamaged,
            (false, true) => MadeBlock::Whole,
        }
    }

    /// Reads a block, or makes it air if it is not stored; `false` if the budget is spent.
    fn read(
        &mut self,
        tree: &impl ReadTree,
        key: BlockKey,
        out: &mut DenseBox,
    ) -> Result<bool, ValueError> {
        let mut value = Vec::new();
        let is_stored = tree.get(&cell_key(&key.bytes()), &mut value);
        if !is_stored.map_err(|error| value_error(&error))? {
            out.reset(key.region());
            return Ok(true);
        }
        match self.budget.may_decode(&value) {
            true => self.coder.decode(key, &value, out).map(|()| true),
            false => Ok(false),
        }
    }
}

/// Checks the blocks of a world.
struct Verifier<'a> {
    view: &'a ReadView,
    maker: BlockMaker,
    /// What the blocks of the next mip are made of.
    finer: StoredBlocks,
    /// Blocks that were not decoded or compared, since the budget is spent.
    unchecked: usize,
}

impl Verifier<'_> {
    /// Checks all stored chunks and returns them.
    fn check_chunks(
        &mut self,
        listed: &BTreeMap<PagePos, Listing>,
        bad: &mut Vec<BadPart>,
        report: &mut Verification,
    ) -> BTreeMap<PagePos, Listing> {
        let Verifier { view, maker, unchecked, .. } = self;
        let mut cells = DenseBox::default();
        walk_chunks(&view.tree, bad, |key, value| {
            let value = value?;
            report.value_bytes += value.len() as u64;
            let stored = maker.known.of_value(key, value)?;
            if stored.uniform.is_none() && !maker.known.is_valid(stored.id) {
                if maker.budget.may_decode(value) {
                    maker.coder.decode(key, value, &mut cells)?;
                    maker.known.set_valid(stored.id);
                } else {
                    *unchecked += 1;
                }
            }
            let listing = listed.get(&page_of(key.as_chunk()));
            match listing.is_some_and(|listing| listing.contains(key.as_chunk())) {
                true => Ok(()),
                false => Err(ValueError::NotListed),
            }
        })
    }

    /// Checks that every block of a mip, stored or over stored chunks, agrees with the finer ones.
    fn check_mip(&mut self, chunks: &[ChunkPos], mip: u8, report: &mut Verification) {
        let mut blocks = blocks_over(chunks, mip);
        let mut bad = Vec::new();
        walk_blocks(&self.view.tree, mip, &mut bad, |key, value| {
            report.mip_blocks += 1;
            report.value_bytes += value.map_or(0, |value| value.len() as u64);
            blocks.push((key.bytes(), &[]));
            Ok(())
        });
        sort_blocks(&mut blocks);
        bad.retain(|bad| bad.part != StoredPart::Index);
        report.bad.append(&mut bad);
        for (key, chunks) in blocks {
            let Some(key) = BlockKey::from_bytes(&key) else { continue };
            let fault = self.fault(key, chunks);
            report.bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
        }
    }

    fn fault(&mut self, key: BlockKey, chunks: &[ChunkPos]) -> Option<ValueError> {
        let tree = &*self.view.tree;
        let stored = match self.maker.known.read(tree, key) {
            Err(what) => return Some(what),
            Ok(stored) => stored,
        };
        let Some(sources) = self.finer.under(key) else {
            // They were reported already; there is nothing to compare this one with.
            return self.undecodable(key, stored);
        };
        let (mut makeup, parts) = self.maker.known.makeup(tree, key, &sources);
        // In a world that grows, cells outside stored chunks come from the generator.
        let chunks = if self.view.info.grows() { chunks } else { &[] };
        if self.view.info.grows() {
            makeup = Makeup::Unknown;
        }
        match (&makeup, stored.uniform) {
            (Makeup::Uniform(made), Some(stored)) => {
                return (*made != stored).then_some(ValueError::NotTheMip);
            }
            (Makeup::Several, Some(_)) => return Some(ValueError::NotTheMip),
            _ => {}
        }
        let comparison = KnownCells::comparison(stored, parts, key, chunks);
        let agrees = match self.maker.known.compared(comparison.as_ref()) {
            Some(agrees) => agrees,
            None => match self.compare(key, stored, &makeup, &sources, chunks) {
                Err(what) => return Some(what),
                Ok(None) => {
                    self.unchecked += 1;
                    return None;
                }
                Ok(Some(agrees)) => {
                    self.maker.known.set_compared(comparison, agrees);
                    agrees
                }
            },
        };
        (!agrees).then_some(ValueError::NotTheMip)
    }

    /// What is wrong with the cells of a block by themselves.
    fn undecodable(&mut self, key: BlockKey, stored: StoredCells) -> Option<ValueError> {
        if stored.uniform.is_some() || self.maker.known.is_valid(stored.id) {
            return None;
        }
        match self.maker.read(&*self.view.tree, key, &mut DenseBox::default()) {
            Ok(true) => self.maker.known.set_valid(stored.id),
            Ok(false) => self.unchecked += 1,
            Err(what) => return Some(what),
        }
        None
    }

    /// Whether the cells of a block are those of the finer ones; `None` if the budget is spent.
    fn compare(
        &mut self,
        key: BlockKey,
        stored: StoredCells,
        makeup: &Makeup,
        sources: &[BlockKey],
        chunks: &[ChunkPos],
    ) -> Result<Option<bool>, ValueError> {
        let tree = &*self.view.tree;
        let (mut cells, mut made) = (DenseBox::default(), DenseBox::default());
        if !self.maker.read(tree, key, &mut cells)? {
            return Ok(None);
        }
        self.maker.known.set_valid(stored.id);
        if let Makeup::Uniform(material) = makeup {
            return Ok(Some(uniform_material(&cells) == Some(*material)));
        }
        match self.maker.make(tree, key, sources, chunks.len(), &mut made) {
            MadeBlock::TooMuchWork => return Ok(None),
            // It was reported already; there is nothing to compare this one with.
            MadeBlock::OfDamaged => return Ok(Some(true)),
            MadeBlock::Whole => {}
        }
        if self.view.info.grows() {
            made = replace_listed(&cells, &made, key.mip, chunks);
        }
        Ok(Some(made == cells))
    }
}

/// A block and the chunks under it.
pub(crate) type BlockOver<'a> = (KeyBytes, &'a [ChunkPos]);

/// The blocks of a mip over chunks, which are sorted by [`chunk_order`], with the chunks under each.
pub(crate) fn blocks_over(chunks: &[ChunkPos], mip: u8) -> Vec<BlockOver<'_>> {
    let over = |chunk: &ChunkPos| BlockKey::over(*chunk, mip);
    let groups = chunks.chunk_by(|a, b| over(a) == over(b));
    groups.map(|group| (over(&group[0]).bytes(), group)).collect()
}

/// Sorts blocks by key and leaves each once, with its chunks.
pub(crate) fn sort_blocks(blocks: &mut Vec<BlockOver<'_>>) {
    blocks.sort_by_key(|(key, chunks)| (*key, chunks.is_empty()));
    blocks.dedup_by_key(|(key, _)| *key);
}

/// For a block of a world that grows: the cells of `made` under the chunks `listed`, and those of
/// `around` elsewhere.
pub(crate) fn replace_listed(
    around: &DenseBox,
    made: &DenseBox,
    mip: u8,
    listed: &[ChunkPos],
) -> DenseBox {
    let mut regions: Vec<Region> = match mip {
        0..=CHUNK_MIP => listed.iter().map(|chunk| chunk.region()).collect(),
        _ => listed.iter().map(|&chunk| page_of(chunk).region()).collect(),
    };
    regions.sort_unstable_by_key(|region| region.min);
    regions.dedup();
    let mut cells = around.clone();
    let mut patch = BlockPatch::of(&cells);
    for region in regions {
        patch.copy(&mut cells, made, region.coarser(mip.into()));
    }
    patch.finish(&mut cells);
    cells
}
