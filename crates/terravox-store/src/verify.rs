//! Checking a whole world file: checksums, structure, and that its parts agree.

use crate::database::{CELLS, INFO_KEYS, block_of, damaged_part};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::key::{BlockKey, KeyBytes};
use crate::listing::{Listing, page_of};
use crate::pyramid::{CHUNK_MIP, extract, rebuild};
use crate::read::{add_missing, read_block, walk_blocks, walk_chunks};
use crate::store::{ReadView, Store, read_info_at};
use crate::tree::{ReadTree, TreeDamage, TreeReader};
use crate::value::ValueError;
use std::collections::{BTreeMap, HashSet};
use terravox::voxel::{ChunkPos, DenseBox, MAX_MIP, PagePos, Region};

/// The result of [`Store::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Chunks that are listed and stored.
    pub chunks: usize,
    /// Blocks of coarse mips that are stored.
    pub mip_blocks: usize,
    /// Bytes of the values of both.
    pub value_bytes: u64,
    /// Damaged parts; empty for an intact world.
    pub bad: Vec<BadPart>,
}

impl Store {
    /// Checks everything: both copies of the index, every value, that the listings and the chunks
    /// agree, and that every coarse cell agrees with the finer ones. It finds every changed byte
    /// that changes what is read. Changes nothing; [`Store::repair`] does.
    ///
    /// # Errors
    /// If the file cannot be read at all.
    pub fn verify(&self) -> Result<Verification, StoreError> {
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
        let mut found_twice = Vec::new();
        let listed = self.listed_chunks(&view.tree, &mut found_twice);
        let seen = check_chunks(&view, &listed, &mut found_twice, &mut report);
        add_missing(&listed, &seen, &mut found_twice);
        // The walk over the tree has reported its lost parts.
        found_twice.retain(|bad| bad.part != StoredPart::Index);
        report.bad.append(&mut found_twice);
        let mut chunks = Vec::new();
        for (&page, &listing) in &listed {
            let missing = listing.without(seen.get(&page).copied().unwrap_or_default());
            chunks.extend(listing.without(missing).chunks(page));
        }
        report.chunks = chunks.len();
        let mut sources = None;
        for mip in 1..=MAX_MIP {
            check_mip(&view, &chunks, mip, sources.as_ref(), &mut report);
            if mip == CHUNK_MIP {
                sources = stored_blocks(&view.tree, CHUNK_MIP);
            }
        }
        Ok(report)
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

/// Checks all stored chunks and returns them.
fn check_chunks(
    view: &ReadView,
    listed: &BTreeMap<PagePos, Listing>,
    bad: &mut Vec<BadPart>,
    report: &mut Verification,
) -> BTreeMap<PagePos, Listing> {
    let (mut coder, mut cells) = (view.coder(), DenseBox::default());
    walk_chunks(&view.tree, bad, |key, value| {
        let value = value?;
        report.value_bytes += value.len() as u64;
        coder.decode(key, value, &mut cells)?;
        let listing = listed.get(&page_of(key.as_chunk()));
        match listing.is_some_and(|listing| listing.contains(key.as_chunk())) {
            true => Ok(()),
            false => Err(ValueError::NotListed),
        }
    })
}

/// All stored blocks of a mip; `None` if some of the index over them is lost.
///
/// A coarse block is made of up to 512 blocks, most of which are not there: asking the tree for
/// each takes most of the time.
pub(crate) fn stored_blocks(tree: &TreeReader, mip: u8) -> Option<HashSet<BlockKey>> {
    let keys = tree.keys(&[CELLS, mip], &[CELLS, mip + 1]).ok()?;
    Some(keys.iter().filter_map(|key| block_of(key)).collect())
}

/// Checks that every block of a mip, stored or not, agrees with the finer ones: with `sources`, if
/// they are known, and there is no other.
fn check_mip(
    view: &ReadView,
    chunks: &[ChunkPos],
    mip: u8,
    sources: Option<&HashSet<BlockKey>>,
    report: &mut Verification,
) {
    let mut keys = blocks_over(chunks, mip);
    let mut bad = Vec::new();
    walk_blocks(&view.tree, mip, &mut bad, |key, value| {
        report.mip_blocks += 1;
        report.value_bytes += value.map_or(0, |value| value.len() as u64);
        keys.entry(key.bytes()).or_default();
        Ok(())
    });
    bad.retain(|bad| bad.part != StoredPart::Index);
    report.bad.append(&mut bad);
    let mut coder = view.coder();
    let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
    for (key, chunks) in &keys {
        let Some(key) = BlockKey::from_bytes(key) else { continue };
        let fault = match read_block(&*view.tree, &mut coder, key, &mut stored) {
            Err(what) => Some(what),
            Ok(_) => {
                let read = |key, out: &mut DenseBox| match sources {
                    Some(sources) if !sources.contains(&key) => Ok(false),
                    _ => read_block(&*view.tree, &mut coder, key, out),
                };
                // A damaged finer block was reported already; there is nothing to compare this
                // one with.
                let bad = rebuild(key, &view.info.materials, read, &mut made);
                if view.info.grows() {
                    // The rest is the generator's.
                    made = decided(&made, &stored, mip, chunks);
                }
                (bad.is_none() && made != stored).then_some(ValueError::NotTheMip)
            }
        };
        report.bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
    }
}

/// The blocks of a mip over chunks, with the chunks under each.
pub(crate) fn blocks_over(chunks: &[ChunkPos], mip: u8) -> BTreeMap<KeyBytes, Vec<ChunkPos>> {
    let mut keys: BTreeMap<KeyBytes, Vec<ChunkPos>> = BTreeMap::new();
    for &chunk in chunks {
        keys.entry(BlockKey::over(chunk, mip).bytes()).or_default().push(chunk);
    }
    keys
}

/// For a block of a world that grows: the cells of `made` under the chunks `listed`, and those of
/// `stored` elsewhere.
pub(crate) fn decided(
    made: &DenseBox,
    stored: &DenseBox,
    mip: u8,
    listed: &[ChunkPos],
) -> DenseBox {
    let mut regions: Vec<Region> = match mip {
        0..=CHUNK_MIP => listed.iter().map(|chunk| chunk.region()).collect(),
        _ => listed.iter().map(|&chunk| page_of(chunk).region()).collect(),
    };
    regions.sort_unstable_by_key(|region| region.min);
    regions.dedup();
    let (mut cells, mut part) = (stored.clone(), DenseBox::default());
    for region in regions {
        extract(made, region.coarser(mip.into()), &mut part);
        cells.copy_from(&part);
    }
    cells
}
