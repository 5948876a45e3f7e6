//! One coarse block of a repaired world: made again of the finer ones, if it differs.

use crate::description::ReadView;
use crate::error::{BadPart, StoreError, StoredPart};
use crate::key::BlockKey;
use crate::makeup::{KnownCells, Makeup, StoredCells};
use crate::reader::StoreReader;
use crate::value::{ValueError, uniform_material};
use crate::verify::{BlockMaker, StoredBlocks, covers, replace_listed};
use crate::write::{GenerateBlock, TableWriter};
use std::collections::HashSet;
use std::path::PathBuf;
use terravox::voxel::{ChunkPos, DenseBox};

/// The result of [`Store::repair`](crate::Store::repair).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Chunks of the world.
    pub chunks: usize,
    /// Parts that are lost: chunks, what channels held, extra data, and coarse blocks that only the generator of the
    /// world can make again. Chunks are air now, or as the generator makes them.
    pub lost: Vec<BadPart>,
    /// Coarse blocks that were made again from the finer ones.
    pub rebuilt: usize,
    /// The damaged file as it was, under another name. `None` if the world is intact; then
    /// nothing was written.
    pub backup: Option<PathBuf>,
}

/// Which blocks of a mip of a world that grows need the generator for their cells beside stored
/// chunks.
pub(crate) struct SurroundingCells {
    /// There were chunks that are lost.
    lost: HashSet<BlockKey>,
    /// The cells over stored chunks are wrong; without the generator, the others are kept.
    doubtful: HashSet<BlockKey>,
}

impl SurroundingCells {
    pub fn of(lost: &[BadPart], bad: &[BadPart], mip: u8) -> SurroundingCells {
        let doubtful = bad.iter().filter_map(|bad| match (&bad.part, &bad.what) {
            (&StoredPart::Mip(key), ValueError::NotTheMip) if key.mip == mip => Some(key),
            _ => None,
        });
        SurroundingCells {
            lost: lost_chunks(lost).map(|chunk| BlockKey::over(chunk, mip)).collect(),
            doubtful: doubtful.collect(),
        }
    }

    fn are_lost(&self, key: BlockKey) -> bool {
        self.lost.contains(&key)
    }

    fn are_doubtful(&self, key: BlockKey) -> bool {
        self.doubtful.contains(&key)
    }
}

/// Makes a block again from the finer ones, if it differs.
pub(crate) fn rebuild_block(
    writer: &mut TableWriter<'_, '_>,
    maker: &mut BlockMaker,
    (view, finer, around): (&ReadView, &StoredBlocks, &SurroundingCells),
    (key, chunks): (BlockKey, &[ChunkPos]),
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let tree = &*view.tree;
    // A new file has lost nothing.
    let sources = finer.under(key).unwrap_or_default();
    let is_gone = match writer.generate {
        None => sources.is_empty(),
        Some(_) => chunks.is_empty() && around.are_lost(key),
    };
    if is_gone {
        // It is air, or nothing under it is stored any more, so that the generator makes it.
        if writer.remove(key)? && writer.generate.is_none() {
            report.rebuilt += 1;
        }
        return Ok(());
    }
    match writer.generate.filter(|_| !covers(chunks, key.mip)) {
        Some(generate) => {
            let block = (key, &*sources, chunks);
            rebuild_beside(writer, maker, (tree, around, generate), block, report)
        }
        None => match maker.makeup(tree, key, &sources) {
            (Makeup::Uniform(material), _) => {
                rebuild_uniform(writer, maker, tree, (key, material), report)
            }
            (_, parts) => rebuild_whole(writer, maker, tree, (key, &sources, parts), report),
        },
    }
}

/// Makes a block again of which some cells are the generator's.
fn rebuild_beside(
    writer: &mut TableWriter<'_, '_>,
    maker: &mut BlockMaker,
    (tree, around, generate): (&StoreReader, &SurroundingCells, GenerateBlock<'_>),
    (key, sources, chunks): (BlockKey, &[BlockKey], &[ChunkPos]),
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
    if maker.make(tree, key, sources, chunks.len(), &mut made).is_err() {
        return Err(too_much_work(writer));
    }
    let is_stored = match maker.read(tree, key, &mut stored) {
        Err(ValueError::TooMuchWork { .. }) => return Err(too_much_work(writer)),
        // Damaged blocks were not copied.
        read => read.unwrap_or(false),
    };
    let mut beside = stored.clone();
    if !is_stored || around.are_lost(key) || around.are_doubtful(key) {
        if !maker.budget.try_spend_generate() {
            return Err(too_much_work(writer));
        }
        match generate(key.into()) {
            Some(cells) => beside = cells,
            None if is_stored && !around.are_lost(key) => {}
            None => report.lost.push(not_generated(key)),
        }
    }
    made = replace_listed(&beside, &made, key.mip, chunks);
    if !is_stored || made != stored {
        spend_write(writer, maker)?;
        writer.put_mip(key, &made)?;
        report.rebuilt += 1;
    }
    Ok(())
}

/// Makes a block again that is full cells of one material.
fn rebuild_uniform(
    writer: &mut TableWriter<'_, '_>,
    maker: &mut BlockMaker,
    tree: &StoreReader,
    (key, material): (BlockKey, u8),
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let is_same = match stored_cells(writer, maker, tree, key)? {
        StoredCells { uniform: Some(stored), is_stored, .. } => {
            // Where nothing is stored, a world that grows has the generator's cells.
            stored == material && (is_stored || writer.generate.is_none())
        }
        StoredCells { is_stored: false, .. } => false,
        _ => {
            let mut cells = DenseBox::default();
            match maker.read(tree, key, &mut cells) {
                Err(ValueError::TooMuchWork { .. }) => return Err(too_much_work(writer)),
                read => read.is_ok() && uniform_material(&cells) == Some(material),
            }
        }
    };
    if !is_same {
        spend_write(writer, maker)?;
        writer.put_uniform_mip(key, material)?;
        report.rebuilt += 1;
    }
    Ok(())
}

/// Makes a block again, all of whose cells are those of the finer blocks `sources`. `parts` are of
/// [`KnownCells::makeup`]: equal ones are made, and compared, once.
fn rebuild_whole(
    writer: &mut TableWriter<'_, '_>,
    maker: &mut BlockMaker,
    tree: &StoreReader,
    (key, sources, parts): (BlockKey, &[BlockKey], Option<Vec<u32>>),
    report: &mut RepairReport,
) -> Result<(), StoreError> {
    let held = stored_cells(writer, maker, tree, key)?;
    // Where nothing is stored, a world that grows has the generator's cells.
    let is_missing = !held.is_stored && writer.generate.is_some();
    let comparison = KnownCells::comparison(held, parts.clone(), key, None);
    let agrees = maker.known.compared(comparison.as_ref());
    if agrees == Some(true) && !is_missing {
        return Ok(());
    }
    let known = parts.as_deref().and_then(|parts| maker.known.made(parts));
    if let Some(cells_bytes) = known.filter(|_| agrees == Some(false) || !held.is_stored) {
        spend_write(writer, maker)?;
        writer.put_mip_bytes(key, cells_bytes)?;
        report.rebuilt += 1;
        return Ok(());
    }
    let (mut stored, mut made) = (DenseBox::default(), DenseBox::default());
    if maker.make(tree, key, sources, 0, &mut made).is_err() {
        return Err(too_much_work(writer));
    }
    if let Err(ValueError::TooMuchWork { .. }) = maker.read(tree, key, &mut stored) {
        return Err(too_much_work(writer));
    }
    let agrees = made == stored;
    maker.known.set_compared(comparison, agrees);
    if !agrees || is_missing {
        spend_write(writer, maker)?;
        let cells_bytes = writer.put_mip(key, &made)?;
        report.rebuilt += 1;
        if let (Some(parts), Some(cells_bytes)) = (parts, cells_bytes) {
            maker.known.set_made(parts, cells_bytes);
        }
    }
    Ok(())
}

/// What is stored of a block. Damaged ones were not copied.
fn stored_cells(
    writer: &TableWriter<'_, '_>,
    maker: &mut BlockMaker,
    tree: &StoreReader,
    key: BlockKey,
) -> Result<StoredCells, StoreError> {
    match maker.stored(tree, key) {
        Err(ValueError::TooMuchWork { .. }) => Err(too_much_work(writer)),
        stored => Ok(stored.unwrap_or(StoredCells { uniform: None, id: None, is_stored: false })),
    }
}

fn spend_write(writer: &TableWriter<'_, '_>, maker: &BlockMaker) -> Result<(), StoreError> {
    match maker.budget.try_spend_write() {
        true => Ok(()),
        false => Err(too_much_work(writer)),
    }
}

fn too_much_work(writer: &TableWriter<'_, '_>) -> StoreError {
    StoreError::TooMuchWork { path: writer.store.path().to_owned() }
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
    let what = ValueError::Unreadable(what.into());
    BadPart { part: StoredPart::block(key), what }
}
