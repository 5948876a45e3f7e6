//! The points of a cloud, plain or compressed.
//!
//! Compressed points come in chunks that can be unpacked by themselves; several are unpacked at once.
//! Unpacking is that of the crate `laz`. What its tables claim is checked against the file first, and
//! its panics at damaged bytes are caught.

use super::super::error::HeightmapError;
use super::header::Header;
use super::refusal::{refuse, unreadable};
use crate::budget::ImportBudget;
use laz::laszip::{ChunkTable, CompressorType};
use laz::record::{
    LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor,
};
use laz::{DecompressionSelection, LazItemType, LazVlr};
use rayon::prelude::*;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Points that are read at a time from a file without compression.
const STEP_POINTS: usize = 1 << 14;
/// Units of work of a point: plain, and compressed.
const POINT_WORK: u64 = 24;
const PACKED_POINT_WORK: u64 = 300;
/// Bytes of an entry of the table of chunks, in memory.
const ENTRY_BYTES: u64 = 16;
/// Classes of points that are errors of measurement.
const NOISE: [u8; 2] = [7, 18];
/// Classes of points on the ground: ground, key points of it, water, and roads.
const GROUND: [u8; 4] = [2, 8, 9, 11];

/// A point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Whole numbers of the header's scale.
    pub at: [i32; 3],
    /// Whether it is classified as ground.
    pub is_ground: bool,
}

/// Calls `visit` for the points of a file, in their order, without noise and points that were withdrawn.
pub(super) fn each_point<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    budget: &mut ImportBudget,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    match &header.packing {
        None => plain(from, header, budget, visit),
        Some(packing) => packed(from, header, packing, budget, visit),
    }
}

/// Finds what counts of a point's bytes; `None` if it does not count.
fn point(bytes: &[u8], format: u8) -> Option<Point> {
    let at = [0, 4, 8].map(|i| i32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[i + k])));
    let (class, is_withheld) = match format {
        0..=5 => (bytes[15] & 31, bytes[15] & 128 != 0),
        _ => (bytes[16], bytes[15] & 4 != 0),
    };
    let counts = !is_withheld && !NOISE.contains(&class);
    counts.then(|| Point { at, is_ground: GROUND.contains(&class) })
}

fn plain<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    budget: &mut ImportBudget,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    let point_bytes = usize::from(header.point_bytes);
    from.seek(SeekFrom::Start(header.start)).map_err(unreadable)?;
    budget.spend_memory("its points", (STEP_POINTS * point_bytes) as u64)?;
    let mut bytes = vec![0; STEP_POINTS * point_bytes];
    let mut left = header.points;
    while left > 0 {
        let count = left.min(STEP_POINTS as u64) as usize;
        let step = &mut bytes[..count * point_bytes];
        if from.read_exact(step).is_err() {
            return refuse(format!(
                "its last {left} of {} points are missing; get another copy",
                header.points
            ));
        }
        budget.spend_work("its points", POINT_WORK * count as u64)?;
        let points = step.chunks_exact(point_bytes);
        points.filter_map(|bytes| point(bytes, header.format)).for_each(&mut *visit);
        left -= count as u64;
    }
    Ok(())
}

/// Points that are packed together.
#[derive(Clone, Copy, Debug)]
struct PackedChunk {
    start: u64,
    bytes: u64,
    points: u64,
}

fn packed<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    packing: &LazVlr,
    budget: &mut ImportBudget,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    let chunks = chunks(from, header, packing, budget)?;
    let total: u64 = chunks.iter().map(|chunk| chunk.points).sum();
    if total < header.points {
        return refuse(format!(
            "its chunks have {total} points, and its header says {}; get another copy",
            header.points
        ));
    }
    let group = rayon::current_num_threads();
    let chunk_memory = |chunk: &PackedChunk| {
        // The packed bytes, a copy of them by layers, and what comes out.
        2 * chunk.bytes + chunk.points * size_of::<Point>() as u64
    };
    let most = chunks.chunks(group).map(|group| group.iter().map(chunk_memory).sum()).max();
    budget.spend_memory("its compressed points", most.unwrap_or(0))?;
    for group in chunks.chunks(group) {
        let mut packed = Vec::with_capacity(group.len());
        for chunk in group {
            budget.spend_work("its compressed points", PACKED_POINT_WORK * chunk.points)?;
            let mut bytes = vec![0; chunk.bytes as usize];
            from.seek(SeekFrom::Start(chunk.start)).map_err(unreadable)?;
            from.read_exact(&mut bytes).map_err(unreadable)?;
            packed.push((*chunk, bytes));
        }
        let unpacked: Vec<_> = packed
            .into_par_iter()
            .map(|(chunk, bytes)| unpack(bytes, chunk.points, header, packing))
            .collect();
        for points in unpacked {
            points?.into_iter().for_each(&mut *visit);
        }
    }
    Ok(())
}

/// Finds the chunks of a file: those that the header's points are in.
fn chunks<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    packing: &LazVlr,
    budget: &mut ImportBudget,
) -> Result<Vec<PackedChunk>, HeightmapError> {
    let length = from.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let is_one = match compressor(packing)? {
        CompressorType::PointWise => true,
        CompressorType::PointWiseChunked | CompressorType::LayeredChunked => false,
        CompressorType::None => return refuse("it says that it is compressed, and not how"),
    };
    if is_one {
        let bytes = length.saturating_sub(header.start);
        return Ok(vec![PackedChunk { start: header.start, bytes, points: header.points }]);
    }
    let table = chunk_table(from, header, packing, length, budget)?;
    let (mut start, mut left) = (header.start + ChunkTable::OFFSET_SIZE as u64, header.points);
    let mut chunks = Vec::with_capacity(table.len());
    for entry in table.as_ref() {
        let points = entry.point_count.min(left);
        if points == 0 {
            break;
        }
        let end = start.checked_add(entry.byte_count).filter(|&end| end <= length);
        let Some(end) = end else {
            return refuse("a chunk of its points reaches beyond its end; get another copy");
        };
        chunks.push(PackedChunk { start, bytes: entry.byte_count, points });
        (start, left) = (end, left - points);
    }
    Ok(chunks)
}

/// Reads the table of chunks, after a look at how many it claims.
fn chunk_table<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    packing: &LazVlr,
    length: u64,
    budget: &mut ImportBudget,
) -> Result<ChunkTable, HeightmapError> {
    let mut number = |at: u64| {
        let mut bytes = [0; 8];
        from.seek(SeekFrom::Start(at))?;
        from.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    // Writers that cannot go back put the place of the table at the end.
    let is_place = |place: u64| i64::try_from(place).is_ok_and(|place| place > header.start as i64);
    let mut place = number(header.start).map_err(unreadable)?;
    if !is_place(place) {
        place = number(length.saturating_sub(8)).map_err(unreadable)?;
    }
    if !is_place(place) {
        return refuse("it has no table of chunks; write it again with another program");
    }
    let count = number(place).map_err(unreadable)? >> 32;
    // A chunk has a point, which is not compressed.
    if count > length / u64::from(header.point_bytes) {
        return refuse(format!("it claims {count} chunks of points; get another copy"));
    }
    budget.spend_memory("its table of chunks", ENTRY_BYTES * count * 3)?;
    budget.spend_work("its table of chunks", PACKED_POINT_WORK * count)?;
    from.seek(SeekFrom::Start(header.start)).map_err(unreadable)?;
    caught(|| ChunkTable::read_from(from, packing).ok()).ok_or_else(|| {
        HeightmapError::Points("its table of chunks is damaged; get another copy".into())
    })
}

/// Returns what `unpack` returns, or `None` if it panics, as `laz` does at some damaged bytes: it may
/// find a symbol beyond its tables. Nothing that it was at work on is used again.
fn caught<T>(unpack: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(unpack)).ok().flatten()
}

/// How points are compressed: the first two bytes of the record.
fn compressor(packing: &LazVlr) -> Result<CompressorType, HeightmapError> {
    let mut bytes = Vec::new();
    packing.write_to(&mut bytes).map_err(unreadable)?;
    Ok(match bytes.first() {
        Some(1) => CompressorType::PointWise,
        Some(2) => CompressorType::PointWiseChunked,
        Some(3) => CompressorType::LayeredChunked,
        _ => CompressorType::None,
    })
}

/// Unpacks the points of a chunk.
fn unpack(
    bytes: Vec<u8>,
    points: u64,
    header: &Header,
    packing: &LazVlr,
) -> Result<Vec<Point>, HeightmapError> {
    let is_layered = header.format > 5;
    if is_layered && !layers_fit(&bytes, packing) {
        return refuse("a layer of a chunk of its points reaches beyond it; get another copy");
    }
    let unpack = || {
        let source = Cursor::new(bytes);
        let mut unpacker: Box<dyn RecordDecompressor<Cursor<Vec<u8>>>> = match is_layered {
            true => Box::new(LayeredPointRecordDecompressor::new(source)),
            false => Box::new(SequentialPointRecordDecompressor::new(source)),
        };
        unpacker.set_fields_from(packing.items()).ok()?;
        let wanted = DecompressionSelection::xy_returns_channel();
        unpacker
            .set_selection(wanted.decompress_z().decompress_classification().decompress_flags());
        let mut one = vec![0; usize::from(header.point_bytes)];
        let mut found = Vec::new();
        for _ in 0..points {
            unpacker.decompress_next(&mut one).ok()?;
            found.extend(point(&one, header.format));
        }
        Some(found)
    };
    let damaged = "a chunk of its points is damaged; get another copy";
    caught(unpack).ok_or_else(|| HeightmapError::Points(damaged.into()))
}

/// Whether the layers of a chunk are in it. They follow its first point, their number of points and their sizes.
fn layers_fit(bytes: &[u8], packing: &LazVlr) -> bool {
    let layers: usize = packing
        .items()
        .iter()
        .map(|item| match item.item_type() {
            LazItemType::Point14 => 9,
            LazItemType::RGBNIR14 => 2,
            LazItemType::Byte14(count) => usize::from(count),
            _ => 1,
        })
        .sum();
    let first = packing.items_size() as usize + 4;
    let Some(sizes) = bytes.get(first..first + 4 * layers) else { return false };
    let sizes = sizes.chunks_exact(4).map(|four| u32::from_le_bytes([0, 1, 2, 3].map(|i| four[i])));
    sizes.map(u64::from).sum::<u64>() <= (bytes.len() - first - 4 * layers) as u64
}
