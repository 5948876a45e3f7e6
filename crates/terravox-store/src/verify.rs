//! Checking a whole world file: checksums, structure, and that its parts agree.

use crate::channels::{self, ChannelCoder, walk_channels};
use crate::database::{CELLS, CHANNELS, INFO_KEYS, block_of, cell_key, damaged_part, value_error};
use crate::description::{ReadView, read_info_at};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::findings::Findings;
use crate::finer::FinerBlocks;
use crate::key::{BlockKey, KEY_BYTES, KeyBytes, chunk_order};
use crate::listing::{Listing, page_of};
use crate::makeup::{KnownCells, Makeup, StoredCells};
use crate::pyramid::{BlockPatch, CHUNK_MIP, source_mip};
use crate::read::{add_missing, read_block_if, walk_blocks, walk_chunks};
use crate::reader::StoreReader;
use crate::store::Store;
use crate::tree::{KeySpan, ReadTree, TreeDamage};
use crate::value::{ValueCoder, ValueError, uniform_material};
use crate::work::PassBudget;
use std::collections::BTreeMap;
use terravox::voxel::{ChunkPos, DenseBox, Kind, MAX_MIP, PagePos, Region, VoxelPos};

/// The result of [`Store::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Chunks that are listed and stored.
    pub chunks: usize,
    /// Blocks of coarse mips that are stored.
    pub mip_blocks: usize,
    /// Bytes of the values of both.
    pub value_bytes: u64,
    /// Chunks in which channels hold something, each channel apart.
    pub channel_chunks: usize,
    /// Damaged parts; last, [`ValueError::TooMuchWork`] if some were not compared. Empty for an
    /// intact world.
    pub bad: Vec<BadPart>,
}

impl Store {
    /// Checks everything: both copies of the index, every value, that the listings and the chunks
    /// agree, and that every coarse cell agrees with the finer ones. It finds every changed byte
    /// that changes what is read. Changes nothing; [`Store::repair`] does.
    ///
    /// Its work is at most what the length of the file allows, which is several times what worlds
    /// of terrain need. Of a file that was built to cost more, some blocks are not compared, and
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
        Ok(self.verify_spending(self.pass_budget(limit_factor)?)?.0)
    }

    /// Verifies within a budget; returns what is left of it, too.
    ///
    /// # Errors
    /// If a database fails meanwhile: what is missing then is not lost.
    pub(crate) fn verify_spending(
        &self,
        budget: PassBudget,
    ) -> Result<(Verification, PassBudget), StoreError> {
        let (mut report, mut bad) = (Verification::default(), Findings::default());
        let view = self.begin_read();
        view.tree.check(|damage| {
            // Blocks and values of channels are read again below.
            let is_read_again = matches!(&damage, TreeDamage::Value { key, .. }
                if [Some(&CELLS), Some(&CHANNELS)].contains(&key.first()));
            if !is_read_again {
                bad.push(damaged_part(&damage));
            }
        });
        self.check_info(&view, &mut bad);
        let mut repeated = Findings::default();
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
        bad.append_without_index(repeated);
        verifier.check_channels(self.is_in_records(), &mut bad, &mut report);
        let mut chunks = Vec::new();
        for (&page, &listing) in &listed {
            let seen = seen.get(&page).copied().unwrap_or_default();
            chunks.extend(listing.and(seen).chunks(page));
        }
        chunks.sort_by_cached_key(|&chunk| chunk_order(chunk));
        report.chunks = chunks.len();
        for mip in 1..=MAX_MIP {
            verifier.check_mip(&chunks, mip, &mut report, &mut bad);
            if mip <= CHUNK_MIP {
                verifier.finer = StoredBlocks::of(&view.tree, mip);
            }
        }
        if let Some(error) = view.tree.failure() {
            return Err(self.read_error(error));
        }
        report.bad = bad.into_parts();
        if verifier.unchecked > 0 {
            let what = ValueError::TooMuchWork { blocks: verifier.unchecked };
            report.bad.push(BadPart { part: StoredPart::Table("cells"), what });
        }
        Ok((report, verifier.maker.budget))
    }

    /// What a pass over the file may spend.
    pub(crate) fn pass_budget(&self, limit_factor: u32) -> Result<PassBudget, StoreError> {
        Ok(PassBudget::of(self.file_bytes()?, limit_factor))
    }

    /// Checks that both copies of the description can be decoded and are the same.
    fn check_info(&self, view: &ReadView, bad: &mut Findings) {
        for key in INFO_KEYS {
            let what = match read_info_at(&view.tree, key, self.path()) {
                Ok(Some(info)) if info == *view.info => continue,
                Ok(Some(_)) => ValueError::Unreadable("its two copies differ".into()),
                Ok(None) => ValueError::Missing,
                Err(StoreError::Damaged { what, .. }) => what,
                Err(error) => ValueError::Unreadable(error.to_string().into()),
            };
            bad.push_unless_present(BadPart { part: StoredPart::Info, what });
        }
    }
}

/// The keys of the stored blocks of a mip, sorted.
///
/// A coarse block is made of up to 512 blocks, most of which are not there: asking the tree for
/// each takes most of the time.
pub(crate) struct StoredBlocks {
    keys: Vec<KeyBytes>,
    /// Where parts of the index over them are lost, sorted and apart from one another.
    lost: Vec<KeySpan>,
}

/// The mip of which a block covers one page.
const PAGE_MIP: u8 = 3;

/// Bytes of a key that tell on which side of it the key of a block is, which is one shorter.
const TELLING_KEY_BYTES: usize = KEY_BYTES + 2;

impl StoredBlocks {
    pub fn of(tree: &StoreReader, mip: u8) -> StoredBlocks {
        let mut stored = StoredBlocks { keys: Vec::new(), lost: Vec::new() };
        for entry in tree.scan_keys(&[CELLS, mip], Some(&[CELLS, mip + 1])) {
            match entry {
                Ok(entry) => stored.keys.extend(block_of(&entry.key).map(BlockKey::bytes)),
                Err(lost) => stored.add_lost(lost.span),
            }
        }
        stored
    }

    /// Adds a part of the index that is lost. Forged ones have long keys and are many.
    fn add_lost(&mut self, span: KeySpan) {
        let told = |mut key: Vec<u8>| {
            key.truncate(TELLING_KEY_BYTES);
            key.shrink_to_fit();
            key
        };
        let (low, high) = (told(span.low), span.high.map(told));
        match self.lost.last_mut() {
            Some(last) if last.high.as_ref() == Some(&low) => last.high = high,
            _ => self.lost.push(KeySpan { low, high }),
        }
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
    kinds: [Kind; 256],
}

impl BlockMaker {
    pub fn new(view: &ReadView, budget: PassBudget) -> BlockMaker {
        let kinds = *view.info.materials.kinds();
        BlockMaker { coder: view.coder(), budget, known: KnownCells::new(&kinds), kinds }
    }

    /// Makes the block `key` from the finer blocks `sources` in `out`; returns whether all of them
    /// could be read, others count as air. `chunks` is how many are replaced afterwards; it counts
    /// as work.
    ///
    /// # Errors
    /// [`ValueError::TooMuchWork`] if the budget is spent.
    pub fn make(
        &mut self,
        tree: &StoreReader,
        key: BlockKey,
        sources: &[BlockKey],
        chunks: usize,
        out: &mut DenseBox,
    ) -> Result<bool, ValueError> {
        let BlockMaker { coder, budget, kinds, .. } = self;
        if !budget.try_spend_compare(key, chunks) {
            return Err(ValueError::TooMuchWork { blocks: 1 });
        }
        let (mut blocks, mut fine, mut value) =
            (FinerBlocks::new(key, kinds, out), DenseBox::default(), Vec::new());
        let mut add = |from: BlockKey| {
            let read = budget.over(tree).get(&cell_key(&from.bytes()), &mut value);
            if !read.map_err(|error| value_error(&error))? {
                return Ok(());
            }
            if let Some(material) = coder.uniform(from, &value)? {
                blocks.add_uniform(from, material);
                return Ok(());
            }
            if !budget.try_spend_raise(&value) {
                return Err(ValueError::TooMuchWork { blocks: 1 });
            }
            coder.decode(from, &value, &mut fine)?;
            blocks.add(&fine);
            Ok(())
        };
        let mut is_whole = true;
        for &from in sources {
            match add(from) {
                Err(what @ ValueError::TooMuchWork { .. }) => return Err(what),
                added => is_whole &= added.is_ok(),
            }
        }
        Ok(is_whole)
    }

    /// [`read_block_if`] the budget allows it.
    pub fn read(
        &mut self,
        tree: &StoreReader,
        key: BlockKey,
        out: &mut DenseBox,
    ) -> Result<bool, ValueError> {
        let BlockMaker { coder, budget, .. } = self;
        read_block_if(&budget.over(tree), coder, key, out, |value| budget.try_spend_decode(value))
    }

    /// What the value of a block tells.
    pub fn stored(&mut self, tree: &StoreReader, key: BlockKey) -> Result<StoredCells, ValueError> {
        self.known.read(&self.budget.over(tree), key)
    }

    /// What the values of the finer blocks tell: see [`KnownCells::makeup`].
    pub fn makeup(
        &mut self,
        tree: &StoreReader,
        key: BlockKey,
        sources: &[BlockKey],
    ) -> (Makeup, Option<Vec<u32>>) {
        self.known.makeup(&self.budget.over(tree), key, sources)
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
        bad: &mut Findings,
        report: &mut Verification,
    ) -> BTreeMap<PagePos, Listing> {
        let Verifier { view, maker, unchecked, .. } = self;
        let mut cells = DenseBox::default();
        walk_chunks(&view.tree, bad, |key, value| {
            maker.budget.spend_reads(&view.tree);
            let value = value?;
            report.value_bytes += value.len() as u64;
            let stored = maker.known.of_value(key, value)?;
            if stored.uniform.is_none() && !maker.known.is_valid(stored.id) {
                if maker.budget.try_spend_decode(value) {
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

    /// Checks what channels hold. Lost parts of the index of a file are reported already.
    fn check_channels(
        &mut self,
        reports_lost: bool,
        bad: &mut Findings,
        report: &mut Verification,
    ) {
        let Verifier { view, maker, unchecked, .. } = self;
        let (declared, mut coder) = (&view.info.channels, ChannelCoder::default());
        walk_channels(&view.tree, declared, reports_lost, bad, |channel, chunk, value| {
            maker.budget.spend_reads(&view.tree);
            let value = value?;
            report.channel_chunks += 1;
            match maker.budget.try_spend_decode(value) {
                true => channels::decode(&mut coder, declared, (channel, chunk), value).map(drop),
                false => {
                    *unchecked += 1;
                    Ok(())
                }
            }
        });
    }

    /// Checks that every block of a mip, stored or over stored chunks, agrees with the finer ones.
    fn check_mip(
        &mut self,
        chunks: &[ChunkPos],
        mip: u8,
        report: &mut Verification,
        bad: &mut Findings,
    ) {
        let mut blocks = blocks_over(chunks, mip);
        let mut repeated = Findings::default();
        let budget = &self.maker.budget;
        walk_blocks(&self.view.tree, mip, &mut repeated, |key, value| {
            budget.spend_reads(&self.view.tree);
            report.mip_blocks += 1;
            report.value_bytes += value.map_or(0, |value| value.len() as u64);
            blocks.push((key.bytes(), &[]));
            Ok(())
        });
        sort_blocks(&mut blocks);
        bad.append_without_index(repeated);
        for (key, chunks) in blocks {
            let Some(key) = BlockKey::from_bytes(&key) else { continue };
            let fault = self.fault(key, chunks);
            bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
        }
    }

    /// What is wrong with a block that is stored, or lies over the stored `chunks`.
    fn fault(&mut self, key: BlockKey, chunks: &[ChunkPos]) -> Option<ValueError> {
        match self.agrees(key, chunks) {
            Ok(true) => None,
            Ok(false) => Some(ValueError::NotTheMip),
            Err(ValueError::TooMuchWork { .. }) => {
                self.unchecked += 1;
                None
            }
            Err(what) => Some(what),
        }
    }

    /// Whether a block is what the finer ones make it, or they cannot be read and were reported.
    fn agrees(&mut self, key: BlockKey, chunks: &[ChunkPos]) -> Result<bool, ValueError> {
        let info = &self.view.info;
        let stored = self.maker.stored(&self.view.tree, key)?;
        // Where a block is missing, the generator's cells are shown, not those of the chunks.
        if info.grows() && info.generator.is_some() && !stored.is_stored && !chunks.is_empty() {
            return Err(ValueError::Missing);
        }
        let Some(sources) = self.finer.under(key) else {
            // There is nothing to compare this one with.
            return self.check_cells(key, stored).map(|()| true);
        };
        let (mut makeup, parts) = self.maker.makeup(&self.view.tree, key, &sources);
        // In a world that grows, cells outside stored chunks come from the generator.
        let replaced = (info.grows() && !covers(chunks, key.mip)).then_some(chunks);
        if replaced.is_some() {
            makeup = Makeup::Unknown;
        }
        match (&makeup, stored.uniform) {
            (Makeup::Uniform(made), Some(stored)) => return Ok(*made == stored),
            (Makeup::Several, Some(_)) => return Ok(false),
            _ => {}
        }
        let comparison = KnownCells::comparison(stored, parts, key, replaced);
        if let Some(agrees) = self.maker.known.compared(comparison.as_ref()) {
            return Ok(agrees);
        }
        let agrees = self.compare(key, stored, &makeup, &sources, replaced)?;
        self.maker.known.set_compared(comparison, agrees);
        Ok(agrees)
    }

    /// Checks the cells of a block by themselves.
    fn check_cells(&mut self, key: BlockKey, stored: StoredCells) -> Result<(), ValueError> {
        if stored.uniform.is_none() && !self.maker.known.is_valid(stored.id) {
            self.maker.read(&self.view.tree, key, &mut DenseBox::default())?;
            self.maker.known.set_valid(stored.id);
        }
        Ok(())
    }

    /// Whether the cells of a block are those of the finer ones; in a world that grows those under
    /// the chunks `replaced`, and the others are as they are.
    fn compare(
        &mut self,
        key: BlockKey,
        stored: StoredCells,
        makeup: &Makeup,
        sources: &[BlockKey],
        replaced: Option<&[ChunkPos]>,
    ) -> Result<bool, ValueError> {
        let tree = &*self.view.tree;
        let (mut cells, mut made) = (DenseBox::default(), DenseBox::default());
        self.maker.read(tree, key, &mut cells)?;
        self.maker.known.set_valid(stored.id);
        if let Makeup::Uniform(material) = makeup {
            return Ok(uniform_material(&cells) == Some(*material));
        }
        let chunks = replaced.map_or(0, <[ChunkPos]>::len);
        if !self.maker.make(tree, key, sources, chunks, &mut made)? {
            // It was reported already; there is nothing to compare this one with.
            return Ok(true);
        }
        if let Some(chunks) = replaced {
            made = replace_listed(&cells, &made, key.mip, chunks);
        }
        Ok(made == cells)
    }
}

/// A block and the chunks under it.
pub(crate) type BlockOver<'a> = (KeyBytes, &'a [ChunkPos]);

/// The blocks of a mip over chunks, which are sorted by [`chunk_order`], with the chunks under
/// each.
pub(crate) fn blocks_over(chunks: &[ChunkPos], mip: u8) -> Vec<BlockOver<'_>> {
    let over = |chunk: &ChunkPos| BlockKey::over(*chunk, mip);
    let groups = chunks.chunk_by(|a, b| over(a) == over(b));
    groups.map(|group| (over(&group[0]).bytes(), group)).collect()
}

/// Whether all cells of a block of a world that grows are those of the stored `chunks` under it,
/// which are sorted by [`chunk_order`].
pub(crate) fn covers(chunks: &[ChunkPos], mip: u8) -> bool {
    match mip {
        0..=CHUNK_MIP => chunks.len() == 1 << (3 * mip),
        // Whole pages are replaced.
        _ => {
            let pages = chunks.chunk_by(|&a, &b| page_of(a) == page_of(b));
            pages.count() == 1 << (3 * (mip - PAGE_MIP))
        }
    }
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
