//! Checking a whole world file: checksums, structure, and that its parts agree.

use crate::database::{CELLS, INFO_KEYS, block_of, cell_key, damaged_part, value_error};
use crate::error::{BadPart, StoreError, StoredPart};
use crate::key::{BlockKey, KeyBytes};
use crate::listing::{Listing, page_of};
use crate::pyramid::{CHUNK_MIP, extract, rebuild, source_mip, sources_of};
use crate::read::{add_missing, read_block, walk_blocks, walk_chunks};
use crate::store::{ReadView, Store, read_info_at};
use crate::tree::{ReadTree, TreeDamage, TreeReader};
use crate::value::{ValueCoder, ValueError, uniform_material};
use std::collections::BTreeMap;
use terravox::voxel::{AIR, ChunkPos, DenseBox, MAX_MIP, PagePos, Region, VoxelPos};

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
        let mut repeated = Vec::new();
        let listed = self.listed_chunks(&view.tree, &mut repeated);
        let seen = check_chunks(&view, &listed, &mut repeated, &mut report);
        add_missing(&listed, &seen, &mut repeated);
        // The walk over the tree has reported its lost parts.
        repeated.retain(|bad| bad.part != StoredPart::Index);
        report.bad.append(&mut repeated);
        let mut chunks = Vec::new();
        for (&page, &listing) in &listed {
            let missing = listing.without(seen.get(&page).copied().unwrap_or_default());
            chunks.extend(listing.without(missing).chunks(page));
        }
        report.chunks = chunks.len();
        let mut finer = StoredBlocks::of(&view.tree, 0);
        for mip in 1..=MAX_MIP {
            let blocks = StoredBlocks::of(&view.tree, mip);
            MipCheck { view: &view, finer: &finer, coder: view.coder() }.check(
                &chunks,
                mip,
                &mut report,
            );
            if mip <= CHUNK_MIP {
                finer = blocks;
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
        if ValueCoder::uniform(key, value)?.is_none() {
            coder.decode(key, value, &mut cells)?;
        }
        let listing = listed.get(&page_of(key.as_chunk()));
        match listing.is_some_and(|listing| listing.contains(key.as_chunk())) {
            true => Ok(()),
            false => Err(ValueError::NotListed),
        }
    })
}

/// The keys of the stored blocks of a mip, sorted.
///
/// A coarse block is made of up to 512 blocks, most of which are not there: asking the tree for
/// each takes most of the time.
pub(crate) struct StoredBlocks {
    /// `None` if some of the index over them is lost.
    keys: Option<Vec<KeyBytes>>,
}

impl StoredBlocks {
    pub fn of(tree: &TreeReader, mip: u8) -> StoredBlocks {
        let mut keys = Some(Vec::new());
        for entry in tree.scan(&[CELLS, mip], Some(&[CELLS, mip + 1])) {
            let Ok(entry) = entry else { return StoredBlocks { keys: None } };
            if let (Some(keys), Some(key)) = (&mut keys, block_of(&entry.key)) {
                keys.push(key.bytes());
            }
        }
        StoredBlocks { keys }
    }

    /// The blocks that `key` is made of: those that are stored, or all if that is unknown.
    pub fn under(&self, key: BlockKey) -> Vec<BlockKey> {
        let Some(keys) = &self.keys else { return sources_of(key).collect() };
        let shift = u32::from(key.mip - source_mip(key.mip));
        let region = Region::one(key.pos).finer(shift);
        let at = |pos| BlockKey { mip: source_mip(key.mip), pos }.bytes();
        // An aligned cube is one range of keys.
        let (low, high) = (at(region.min), at(region.max - VoxelPos::new(1, 1, 1)));
        let first = keys.partition_point(|key| *key < low);
        let inside = keys[first..].iter().take_while(|key| **key <= high);
        inside.filter_map(|key| BlockKey::from_bytes(key)).collect()
    }
}

/// What the values of the finer blocks tell of a block, without their cells.
pub(crate) enum Makeup {
    /// All cells are full of one material.
    Uniform(u8),
    /// Not uniform: made of uniform blocks that differ.
    Several,
    /// Only the cells tell.
    Unknown,
}

/// What the `stored` ones of its finer blocks tell of a block. Files hold a thousand uniform blocks
/// in the space of one other: work on their cells would not be bounded by the file.
pub(crate) fn makeup(tree: &impl ReadTree, key: BlockKey, stored: &[BlockKey]) -> Makeup {
    let mut value = Vec::new();
    let mut materials: Option<(u8, bool)> = None;
    for &from in stored {
        let Ok(Some(material)) = read_uniform(tree, from, &mut value) else {
            return Makeup::Unknown;
        };
        let (first, is_one) = materials.unwrap_or((material, true));
        materials = Some((first, is_one && first == material));
    }
    let all = 1 << (3 * (key.mip - source_mip(key.mip)));
    match materials {
        None => Makeup::Uniform(AIR),
        Some((first, true)) if first == AIR || stored.len() == all => Makeup::Uniform(first),
        Some(_) => Makeup::Several,
    }
}

/// The material of a block that is uniform as stored, or air if it is not stored.
pub(crate) fn read_uniform(
    tree: &impl ReadTree,
    key: BlockKey,
    value: &mut Vec<u8>,
) -> Result<Option<u8>, ValueError> {
    match tree.get(&cell_key(&key.bytes()), value).map_err(|error| value_error(&error))? {
        true => ValueCoder::uniform(key, value),
        false => Ok(Some(AIR)),
    }
}

/// Checks that every block of a mip, stored or not, agrees with the finer ones.
struct MipCheck<'a> {
    view: &'a ReadView,
    finer: &'a StoredBlocks,
    coder: ValueCoder,
}

impl MipCheck<'_> {
    fn check(&mut self, chunks: &[ChunkPos], mip: u8, report: &mut Verification) {
        let mut keys = blocks_over(chunks, mip);
        let mut bad = Vec::new();
        walk_blocks(&self.view.tree, mip, &mut bad, |key, value| {
            report.mip_blocks += 1;
            report.value_bytes += value.map_or(0, |value| value.len() as u64);
            keys.entry(key.bytes()).or_default();
            Ok(())
        });
        bad.retain(|bad| bad.part != StoredPart::Index);
        report.bad.append(&mut bad);
        for (key, chunks) in &keys {
            let Some(key) = BlockKey::from_bytes(key) else { continue };
            let fault = self.fault(key, chunks);
            report.bad.extend(fault.map(|what| BadPart { part: StoredPart::block(key), what }));
        }
    }

    fn fault(&mut self, key: BlockKey, chunks: &[ChunkPos]) -> Option<ValueError> {
        let tree = &*self.view.tree;
        let sources = self.finer.under(key);
        let uniform = match read_uniform(tree, key, &mut Vec::new()) {
            Err(what) => return Some(what),
            Ok(uniform) => uniform,
        };
        let known = match self.view.info.grows() {
            // The rest is the generator's.
            true => Makeup::Unknown,
            false => makeup(tree, key, &sources),
        };
        match (&known, uniform) {
            (Makeup::Uniform(made), Some(stored)) => {
                return (*made != stored).then_some(ValueError::NotTheMip);
            }
            (Makeup::Several, Some(_)) => return Some(ValueError::NotTheMip),
            _ => {}
        }
        let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
        if let Err(what) = read_block(tree, &mut self.coder, key, &mut stored) {
            return Some(what);
        }
        if let Makeup::Uniform(made) = known {
            return (uniform_material(&stored) != Some(made)).then_some(ValueError::NotTheMip);
        }
        let read = |key, out: &mut DenseBox| read_block(tree, &mut self.coder, key, out);
        // A damaged finer block was reported already; there is nothing to compare this one with.
        let bad = rebuild(key, &self.view.info.materials, sources.into_iter(), read, &mut made);
        if self.view.info.grows() {
            made = replace_listed(&stored, &made, key.mip, chunks);
        }
        (bad.is_none() && made != stored).then_some(ValueError::NotTheMip)
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
    let (mut cells, mut part) = (around.clone(), DenseBox::default());
    for region in regions {
        extract(made, region.coarser(mip.into()), &mut part);
        cells.copy_from(&part);
    }
    cells
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
