//! The points of a cloud, plain or compressed.
//!
//! Compressed points come in chunks, of which several are decompressed at once, by the crate `laz`.
//! What its tables claim is checked against the file first, and its panics at damaged bytes are
//! caught.

use super::super::error::HeightmapError;
use super::gps_time::GpsTimes;
use super::header::Header;
use super::refusal::{refuse, unreadable};
use crate::import_budget::ImportBudget;
use laz::las::v2;
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
const COMPRESSED_POINT_WORK: u64 = 300;
/// Units of work of an extra byte of a point, and of making a decompressor and one of its models for
/// extra bytes; bytes of these.
const EXTRA_BYTE_WORK: u64 = 60;
const DECOMPRESSOR_WORK: u64 = 500_000;
const MODEL_WORK: u64 = 2000;
const DECOMPRESSOR_BYTES: u64 = 2 << 20;
const MODEL_BYTES: u64 = 2600;
/// Bytes of an entry of the chunk table, in memory.
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

/// Calls `visit` for the points of a file, in their order, without noise and withheld points.
pub(super) fn each_point<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    budget: &mut PointBudget<'_>,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    match &header.compression {
        None => plain(from, header, budget, visit),
        Some(compression) => compressed(from, header, compression, budget, visit),
    }
}

/// Decodes what is used of a point; `None` if it is noise or withheld.
fn decode_point(bytes: &[u8], format: u8) -> Option<Point> {
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
    budget: &mut PointBudget<'_>,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    let point_bytes = usize::from(header.point_bytes);
    let length = from.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let held = length.saturating_sub(header.points_start) / u64::from(header.point_bytes);
    if held < header.points {
        let all = header.points;
        return refuse(format!("it holds {held} of its {all} points; get another copy"));
    }
    from.seek(SeekFrom::Start(header.points_start)).map_err(unreadable)?;
    let step = header.points.min(STEP_POINTS as u64) as usize;
    budget.hold((step * point_bytes) as u64)?;
    let mut bytes = vec![0; step * point_bytes];
    let mut left = header.points;
    while left > 0 {
        let count = left.min(STEP_POINTS as u64) as usize;
        let step = &mut bytes[..count * point_bytes];
        from.read_exact(step).map_err(unreadable)?;
        budget.budget.spend_work("its points", POINT_WORK * count as u64)?;
        let points = step.chunks_exact(point_bytes);
        points.filter_map(|bytes| decode_point(bytes, header.format)).for_each(&mut *visit);
        left -= count as u64;
    }
    Ok(())
}

/// Points that are compressed together.
#[derive(Clone, Copy, Debug)]
struct CompressedChunk {
    start: u64,
    bytes: u64,
    points: u64,
}

fn compressed<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    compression: &LazVlr,
    budget: &mut PointBudget<'_>,
    visit: &mut impl FnMut(Point),
) -> Result<(), HeightmapError> {
    let chunks = chunks(from, header, compression, budget.budget)?;
    let total = chunks.iter().fold(0_u64, |sum, chunk| sum.saturating_add(chunk.points));
    if total < header.points {
        return refuse(format!(
            "its chunks have {total} points, and its header says {}; get another copy",
            header.points
        ));
    }
    let costs = ChunkCosts::of(header);
    let group = rayon::current_num_threads();
    let memory = |group: &[CompressedChunk]| {
        group.iter().fold(0_u64, |sum, chunk| sum.saturating_add(costs.memory(chunk)))
    };
    budget.hold(chunks.chunks(group).map(memory).max().unwrap_or(0))?;
    for group in chunks.chunks(group) {
        let mut compressed = Vec::with_capacity(group.len());
        for chunk in group {
            budget.budget.spend_work("its compressed points", costs.work(chunk))?;
            let mut bytes = vec![0; chunk.bytes as usize];
            from.seek(SeekFrom::Start(chunk.start)).map_err(unreadable)?;
            from.read_exact(&mut bytes).map_err(unreadable)?;
            compressed.push((*chunk, bytes));
        }
        let points: Vec<_> = compressed
            .into_par_iter()
            .map(|(chunk, bytes)| decompress(bytes, chunk.points, header, compression))
            .collect();
        for points in points {
            points?.into_iter().for_each(&mut *visit);
        }
    }
    Ok(())
}

/// What chunks of a file cost.
struct ChunkCosts {
    /// Models of a byte each that a decompressor has for extra bytes.
    extra_models: u64,
}

impl ChunkCosts {
    fn of(header: &Header) -> ChunkCosts {
        // Layers have models for four scanner channels.
        let channels = if header.format > 5 { 4 } else { 1 };
        ChunkCosts { extra_models: u64::from(header.extra_bytes()) * channels }
    }

    /// Memory while a chunk is decompressed: its bytes, a copy of them by layers, what comes out, and
    /// the models.
    fn memory(&self, chunk: &CompressedChunk) -> u64 {
        let points = chunk.points.saturating_mul(size_of::<Point>() as u64);
        let models = DECOMPRESSOR_BYTES + MODEL_BYTES * self.extra_models;
        points.saturating_add(2 * chunk.bytes).saturating_add(models)
    }

    /// Work of decompressing a chunk.
    fn work(&self, chunk: &CompressedChunk) -> u64 {
        let point = COMPRESSED_POINT_WORK + EXTRA_BYTE_WORK * self.extra_models;
        let models = DECOMPRESSOR_WORK + MODEL_WORK * self.extra_models;
        point.saturating_mul(chunk.points).saturating_add(models)
    }
}

/// The budget of an import, of which one file after the other holds memory for its points.
pub(super) struct PointBudget<'a> {
    budget: &'a mut ImportBudget,
    held_bytes: u64,
}

impl<'a> PointBudget<'a> {
    pub fn new(budget: &'a mut ImportBudget) -> PointBudget<'a> {
        PointBudget { budget, held_bytes: 0 }
    }

    /// Spends what a file holds beyond what others did before it.
    fn hold(&mut self, bytes: u64) -> Result<(), HeightmapError> {
        let more = bytes.saturating_sub(self.held_bytes);
        self.budget.spend_memory("its points", more)?;
        self.held_bytes += more;
        Ok(())
    }
}

/// Finds the chunks of a file: those that the header's points are in.
fn chunks<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    compression: &LazVlr,
    budget: &mut ImportBudget,
) -> Result<Vec<CompressedChunk>, HeightmapError> {
    let length = from.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let is_one = match compressor(compression)? {
        CompressorType::PointWise => true,
        CompressorType::PointWiseChunked | CompressorType::LayeredChunked => false,
        CompressorType::None => return refuse("it says that it is compressed, and not how"),
    };
    if is_one {
        let bytes = length.saturating_sub(header.points_start);
        return Ok(vec![CompressedChunk {
            start: header.points_start,
            bytes,
            points: header.points,
        }]);
    }
    let table = chunk_table(from, header, compression, length, budget)?;
    let (mut start, mut left) =
        (header.points_start + ChunkTable::OFFSET_SIZE as u64, header.points);
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
        chunks.push(CompressedChunk { start, bytes: entry.byte_count, points });
        (start, left) = (end, left - points);
    }
    Ok(chunks)
}

/// Reads the chunk table, after a look at how many it claims.
fn chunk_table<R: Read + Seek>(
    from: &mut R,
    header: &Header,
    compression: &LazVlr,
    length: u64,
    budget: &mut ImportBudget,
) -> Result<ChunkTable, HeightmapError> {
    let mut number = |at: u64| {
        let mut bytes = [0; 8];
        from.seek(SeekFrom::Start(at))?;
        from.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    // Writers that cannot seek put the table's offset at the end.
    let is_place =
        |place: u64| i64::try_from(place).is_ok_and(|place| place > header.points_start as i64);
    let mut place = number(header.points_start).map_err(unreadable)?;
    if !is_place(place) {
        place = number(length.saturating_sub(8)).map_err(unreadable)?;
    }
    if !is_place(place) {
        return refuse("it has no chunk table; rewrite it with another program");
    }
    let count = number(place).map_err(unreadable)? >> 32;
    // A chunk has a point, which is not compressed.
    if count > length / u64::from(header.point_bytes) {
        return refuse(format!("it claims {count} chunks of points; get another copy"));
    }
    budget.spend_memory("its chunk table", ENTRY_BYTES * count * 3)?;
    budget.spend_work("its chunk table", COMPRESSED_POINT_WORK.saturating_mul(count))?;
    from.seek(SeekFrom::Start(header.points_start)).map_err(unreadable)?;
    catch_panic(|| ChunkTable::read_from(from, compression).ok()).ok_or_else(|| {
        HeightmapError::Points("its chunk table is damaged; get another copy".into())
    })
}

/// Returns what `decompress` returns, or `None` if it panics, as `laz` does at some damaged bytes: it
/// may find a symbol beyond its tables. Its state is dropped, so unwinding is safe. The panic hook is
/// called all the same, and a program that aborts at panics does so here, too.
fn catch_panic<T>(decompress: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(decompress)).ok().flatten()
}

/// How points are compressed: the first two bytes of the record.
fn compressor(compression: &LazVlr) -> Result<CompressorType, HeightmapError> {
    let mut bytes = Vec::new();
    compression.write_to(&mut bytes).map_err(unreadable)?;
    Ok(match bytes.first() {
        Some(1) => CompressorType::PointWise,
        Some(2) => CompressorType::PointWiseChunked,
        Some(3) => CompressorType::LayeredChunked,
        _ => CompressorType::None,
    })
}

/// Decompresses the points of a chunk.
fn decompress(
    bytes: Vec<u8>,
    points: u64,
    header: &Header,
    compression: &LazVlr,
) -> Result<Vec<Point>, HeightmapError> {
    let is_layered = header.format > 5;
    if is_layered && !layers_fit(&bytes, compression) {
        return refuse("a layer of a chunk of its points reaches beyond it; get another copy");
    }
    let decompress = || {
        let source = Cursor::new(bytes);
        let mut decompressor: Box<dyn RecordDecompressor<Cursor<Vec<u8>>>> = match is_layered {
            true => {
                let mut layers = LayeredPointRecordDecompressor::new(source);
                layers.set_fields_from(compression.items()).ok()?;
                Box::new(layers)
            }
            false => Box::new(sequence_of_fields(source, compression)?),
        };
        let wanted = DecompressionSelection::xy_returns_channel();
        decompressor
            .set_selection(wanted.decompress_z().decompress_classification().decompress_flags());
        let mut one = vec![0; usize::from(header.point_bytes)];
        let mut found = Vec::new();
        for _ in 0..points {
            decompressor.decompress_next(&mut one).ok()?;
            found.extend(decode_point(&one, header.format));
        }
        Some(found)
    };
    let damaged = "a chunk of its points is damaged; get another copy";
    catch_panic(decompress).ok_or_else(|| HeightmapError::Points(damaged.into()))
}

/// The fields of points that follow one another in one stream.
fn sequence_of_fields(
    source: Cursor<Vec<u8>>,
    compression: &LazVlr,
) -> Option<SequentialPointRecordDecompressor<'static, Cursor<Vec<u8>>>> {
    let mut fields = SequentialPointRecordDecompressor::new(source);
    for item in compression.items() {
        match item.item_type() {
            LazItemType::Point10 => {
                fields.add_field_decompressor(v2::LasPoint0Decompressor::default());
            }
            LazItemType::GpsTime => fields.add_field_decompressor(GpsTimes::default()),
            LazItemType::RGB12 => fields.add_field_decompressor(v2::LasRGBDecompressor::default()),
            LazItemType::WavePacket13 => {
                fields.add_field_decompressor(v2::LasWavepacketDecompressor::default());
            }
            LazItemType::Byte(count) => {
                fields.add_field_decompressor(v2::LasExtraByteDecompressor::new(count.into()));
            }
            _ => return None,
        }
    }
    Some(fields)
}

/// Whether the layers of a chunk are in it. They follow its first point, their number of points and their sizes.
fn layers_fit(bytes: &[u8], compression: &LazVlr) -> bool {
    let layers: usize = compression
        .items()
        .iter()
        .map(|item| match item.item_type() {
            LazItemType::Point14 => 9,
            LazItemType::RGBNIR14 => 2,
            LazItemType::Byte14(count) => usize::from(count),
            _ => 1,
        })
        .sum();
    let first = compression.items_size() as usize + 4;
    let Some(sizes) = bytes.get(first..first + 4 * layers) else { return false };
    let sizes = sizes.chunks_exact(4).map(|four| u32::from_le_bytes([0, 1, 2, 3].map(|i| four[i])));
    sizes.map(u64::from).sum::<u64>() <= (bytes.len() - first - 4 * layers) as u64
}
