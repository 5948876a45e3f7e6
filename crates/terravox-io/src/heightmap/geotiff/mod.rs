//! Heights from GeoTIFF and BigTIFF files, streamed block by block: one file, or several that
//! are parts of one map.

mod directory;
mod place;
mod reference;
mod samples;
mod write;

pub use place::WorldReference;
pub use reference::GeoReference;
pub(super) use write::write;

use super::error::HeightmapError;
use super::heights::{Heights, check_size};
use super::limits::MAX_HEIGHT_SAMPLES;
use crate::import_budget::ImportBudget;
use directory::{Directory, TiffSource, zeros};
use quick_xml::events::Event;
use samples::{BlockPacking, SampleKind, SampleLayout};
use std::io::{Read, Seek};

/// Memory of a sample: its height, and a copy of it that smoothing takes.
const SAMPLE_BYTES: u64 = 8;
/// Units of work of a sample.
const SAMPLE_WORK: u64 = 32;
/// Units of work of a byte that is unpacked.
const BYTE_WORK: u64 = 8;
/// Packed bytes of a block beyond twice its bytes: they would be tables of codes for nothing.
const MAX_PACKED_EXCESS: u64 = 1024;
/// The largest window of Zstandard that every decoder has to accept (RFC 8878, 3.1.1.1.2).
const MAX_WINDOW_BYTES: u64 = 8 << 20;
/// Memory of unpacking: tables, and the window of Zstandard.
const STATE_BYTES: u64 = 16 << 20;
/// Units of work of a block, for what precedes its bytes.
const BLOCK_WORK: u64 = 4096;
/// By how much of a sample parts of a map may be off the lattice of its first.
const MAX_OFF_LATTICE: f64 = 0.01;
/// Maximum number of samples of a pixel; heights have one.
const MAX_INTERLEAVED: u64 = 64;

/// Heights of a GeoTIFF.
#[derive(Clone, Debug, PartialEq)]
pub struct GeoHeights {
    /// In the unit of the file, mostly metres: 1 is one unit. Where there is no data, the lowest
    /// height of the rest.
    pub heights: Heights,
    /// Samples without data.
    pub without_data: u64,
    /// Where they lie.
    pub reference: GeoReference,
}

/// Reads the first band of GeoTIFF or BigTIFF files that are parts of one map, placed by their
/// references; most often it is one. They need the same distance of samples, and the same keys.
/// Where parts overlap, the last counts.
///
/// Strips and tiles; no compression, LZW, deflate, Zstandard or PackBits; predictors 1 to 3;
/// integers of 8 to 32 bits and floats of 32 and 64; GDAL's scale, offset and value for no data.
/// Blocks are read one after the other: memory is that of the heights and of one block.
///
/// # Errors
/// If a file is damaged or of another kind, the parts do not fit together, the heights are more
/// than [`Heights::MAX_SAMPLES`], or exceed the budget.
pub fn read_geotiff<R: Read + Seek>(
    parts: Vec<R>,
    budget: &mut ImportBudget,
) -> Result<GeoHeights, HeightmapError> {
    let mut parts = parts
        .into_iter()
        .map(|reader| MapPart::open(reader, budget))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first() else { return Err(HeightmapError::Empty) };
    let mut reference = first.reference.clone();
    let others = parts[1..].iter().map(|part| part.place(first));
    let places = std::iter::once(Ok([0, 0])).chain(others).collect::<Result<Vec<_>, _>>()?;
    let low = [0, 1].map(|axis| places.iter().map(|place| place[axis]).min().unwrap_or(0));
    let size = [0, 1].map(|axis| {
        let end = |(place, part): (&[i64; 2], &MapPart<R>)| place[axis] + part.size[axis] as i64;
        let high = places.iter().zip(&parts).map(end).max().unwrap_or(0);
        (high - low[axis]) as u64
    });
    check_size(size[0], size[1])?;
    let samples = size[0] * size[1];
    budget.spend_memory("its samples", SAMPLE_BYTES * samples)?;
    budget.spend_work("its samples", SAMPLE_WORK * samples)?;
    budget.spend_memory("its blocks", STATE_BYTES)?;
    let width = size[0] as usize;
    let mut values = vec![f32::NAN; samples as usize];
    for (part, place) in parts.iter_mut().zip(&places) {
        let [x, z] = [0, 1].map(|axis| (place[axis] - low[axis]) as usize);
        part.read(budget, |column, row, height| values[x + column + (z + row) * width] = height)?;
    }
    let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
    if lowest == f32::INFINITY {
        return Err(HeightmapError::Tiff("no sample has data".to_owned()));
    }
    let mut without_data = 0;
    for value in values.iter_mut().filter(|value| value.is_nan()) {
        *value = lowest;
        without_data += 1;
    }
    for axis in 0..2 {
        reference.corner[axis] += low[axis] as f64 * reference.step[axis];
    }
    let heights = Heights { size: size.map(|edge| edge as usize), values, step: 0.0 };
    Ok(GeoHeights { heights, without_data, reference })
}

/// Whether a file begins as a TIFF or BigTIFF.
pub fn is_tiff(start: &[u8]) -> bool {
    [&b"II*\0"[..], b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| start.starts_with(magic))
}

/// A file: how its samples are stored.
struct MapPart<R> {
    source: TiffSource<R>,
    size: [u64; 2],
    /// Columns and rows of a block.
    block: [u64; 2],
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    packing: BlockPacking,
    layout: SampleLayout,
    no_data: Option<f64>,
    scale: f64,
    offset: f64,
    reference: GeoReference,
}

impl<R: Read + Seek> MapPart<R> {
    fn open(reader: R, budget: &mut ImportBudget) -> Result<MapPart<R>, HeightmapError> {
        let (mut source, directory) = Directory::open(reader)?;
        let mut integer = |tag: u16, default: u64, budget: &mut ImportBudget| {
            directory.integer(&mut source, tag, default, budget)
        };
        let size = [integer(256, 0, budget)?, integer(257, 0, budget)?];
        check_size(size[0], size[1])?;
        let packing = integer(259, 1, budget)?;
        let interleaved = match integer(284, 1, budget)? {
            2 => 1,
            _ => integer(277, 1, budget)?,
        };
        let [bits, kind] = [integer(258, 1, budget)?, integer(339, 1, budget)?];
        let predictor = integer(317, 1, budget)?;
        let tile = [integer(322, 0, budget)?, integer(323, 0, budget)?];
        let strip = integer(278, u64::MAX, budget)?;
        let is_tiled = tile != [0, 0];
        let block = if is_tiled { tile } else { [size[0], strip.min(size[1])] };
        let tags = if is_tiled { [324, 325] } else { [273, 279] };
        let offsets = directory.integers(&mut source, tags[0], budget)?;
        let lengths = directory.integers(&mut source, tags[1], budget)?;
        let no_data = directory.text(&mut source, 42113, budget)?;
        let metadata = directory.text(&mut source, 42112, budget)?;
        let [scale, offset] = scale_and_offset(&metadata);
        let reference = GeoReference::read(&directory, &mut source, budget)?;
        let packing = BlockPacking::of(packing).ok_or_else(|| {
            HeightmapError::Tiff(format!(
                "compression {packing} is not read; convert it to deflate or Zstandard"
            ))
        })?;
        let layout = layout(bits, kind, predictor, interleaved, source.is_big_endian)?;
        let part = MapPart {
            source,
            size,
            block,
            offsets,
            lengths,
            packing,
            layout,
            no_data: no_data.trim().parse().ok(),
            scale,
            offset,
            reference,
        };
        part.check()?;
        Ok(part)
    }

    /// Refuses blocks that are missing, or much larger than the heights are.
    fn check(&self) -> Result<(), HeightmapError> {
        let [columns, rows] = self.block;
        let blocks = [0, 1].map(|axis| self.size[axis].div_ceil(self.block[axis].max(1)));
        let count = blocks[0] * blocks[1];
        let found = self.offsets.len().min(self.lengths.len()) as u64;
        if columns == 0 || rows == 0 || found < count {
            return Err(HeightmapError::Tiff(format!(
                "it has {found} blocks of {columns} × {rows}, not {count}"
            )));
        }
        if columns.saturating_mul(rows) > MAX_HEIGHT_SAMPLES {
            return Err(HeightmapError::Tiff(format!("its blocks are {columns} × {rows} samples")));
        }
        Ok(())
    }

    /// Column and row of the first sample, counted from the first sample of the first part.
    fn place(&self, first: &MapPart<R>) -> Result<[i64; 2], HeightmapError> {
        let (here, there) = (&self.reference, &first.reference);
        let is_alike = (&here.keys, &here.doubles) == (&there.keys, &there.doubles)
            && (0..2).all(|axis| {
                let step = there.step[axis];
                step != 0.0 && (here.step[axis] / step - 1.0).abs() < 1e-6
            });
        if !is_alike {
            return Err(HeightmapError::Tiff(
                "the parts differ in their reference or resolution, or have none".to_owned(),
            ));
        }
        let off = [0, 1].map(|axis| (here.corner[axis] - there.corner[axis]) / there.step[axis]);
        let is_on_lattice = |v: &f64| v.abs() < 1e9 && (v - v.round()).abs() <= MAX_OFF_LATTICE;
        if !off.iter().all(is_on_lattice) {
            let [x, y] = off;
            return Err(HeightmapError::Tiff(format!(
                "a part is {x:.2}, {y:.2} samples off the first one"
            )));
        }
        Ok(off.map(|v| v.round() as i64))
    }

    /// Calls `put(column, row, height)` for all samples with data, block by block.
    fn read(
        &mut self,
        budget: &mut ImportBudget,
        mut put: impl FnMut(usize, usize, f32),
    ) -> Result<(), HeightmapError> {
        let [columns, rows] = self.block.map(|edge| edge as usize);
        let row_bytes = self.layout.row_bytes(columns);
        let across = self.size[0].div_ceil(self.block[0]);
        let down = self.size[1].div_ceil(self.block[1]);
        let longest = self.lengths.iter().max().copied().unwrap_or(0);
        let bytes = (rows * row_bytes) as u64;
        budget.spend_memory("its blocks", bytes.saturating_add(longest))?;
        let (mut unpacked, mut spare) = (zeros(bytes)?, Vec::new());
        for i in 0..across * down {
            let (left, top) = (i % across * self.block[0], i / across * self.block[1]);
            let (wide, high) = (self.size[0] - left, self.size[1] - top);
            let [left, top, wide, high] = [left, top, wide, high].map(|v| v as usize);
            let is_strip = columns as u64 == self.size[0];
            // The last strip may be shorter; tiles are whole.
            let high = high.min(rows);
            let used = if is_strip { high * row_bytes } else { rows * row_bytes };
            let [offset, length] = [self.offsets[i as usize], self.lengths[i as usize]];
            if length == 0 {
                continue; // Sparse: no data.
            }
            budget.spend_work("its blocks", BLOCK_WORK + BYTE_WORK * used as u64)?;
            budget.spend_work("its blocks", BYTE_WORK.saturating_mul(length))?;
            if length > 2 * used as u64 + MAX_PACKED_EXCESS {
                return Err(HeightmapError::Tiff(format!(
                    "a block of {used} bytes takes {length} in the file"
                )));
            }
            let packed = self.source.bytes(offset, length)?;
            let unseen = self.packing.unseen_bytes(&packed);
            if unseen > MAX_WINDOW_BYTES.max(used as u64) {
                return Err(HeightmapError::Tiff(format!(
                    "a block needs {unseen} bytes to unpack {used}, at most {MAX_WINDOW_BYTES}"
                )));
            }
            budget.spend_work("its blocks", BYTE_WORK * unseen)?;
            self.packing.unpack(&packed, &mut unpacked[..used], budget)?;
            for (row, bytes) in unpacked.chunks_exact_mut(row_bytes).take(high).enumerate() {
                self.layout.restore(bytes, &mut spare);
                for column in 0..wide.min(columns) {
                    if let Some(height) = self.height(self.layout.sample(bytes, column)) {
                        put(left + column, top + row, height);
                    }
                }
            }
        }
        Ok(())
    }

    /// The height of a stored sample; `None` if it stands for no data.
    fn height(&self, stored: f64) -> Option<f32> {
        // The text of GDAL_NODATA may be that of a double, and the sample an f32.
        let is_no_data = |none: f64| stored == none || stored == f64::from(none as f32);
        if !stored.is_finite() || self.no_data.is_some_and(is_no_data) {
            return None;
        }
        let height = (self.scale * stored + self.offset) as f32;
        height.is_finite().then_some(height)
    }
}

/// Checks and combines how samples are stored.
fn layout(
    bits: u64,
    kind: u64,
    predictor: u64,
    interleaved: u64,
    is_big_endian: bool,
) -> Result<SampleLayout, HeightmapError> {
    let unknown = |what: String| Err(HeightmapError::Tiff(what));
    let kind = match (kind, bits) {
        (1, 8 | 16 | 32) => SampleKind::Unsigned,
        (2, 8 | 16 | 32) => SampleKind::Signed,
        (3, 32 | 64) => SampleKind::Float,
        _ => {
            return unknown(format!(
                "samples of format {kind} with {bits} bits are not read; integers of 8, 16 and 32 \
                 bits and floats of 32 and 64 are"
            ));
        }
    };
    let is_known = matches!((predictor, kind), (1 | 2, _) | (3, SampleKind::Float));
    if !is_known {
        return unknown(format!("predictor {predictor} is not read for its samples"));
    }
    if !(1..=MAX_INTERLEAVED).contains(&interleaved) {
        return unknown(format!("{interleaved} samples a pixel, at most {MAX_INTERLEAVED}"));
    }
    let bytes = bits as usize / 8;
    Ok(SampleLayout { kind, bytes, interleaved: interleaved as usize, predictor, is_big_endian })
}

/// Scale and offset of the first band in GDAL's metadata; 1 and 0 if they are not there or wrong.
fn scale_and_offset(metadata: &str) -> [f64; 2] {
    let mut values = [1.0, 0.0];
    let mut reader = quick_xml::Reader::from_str(metadata);
    let mut wanted = None;
    loop {
        match reader.read_event() {
            Ok(Event::Start(item)) => {
                let attribute = |name: &str| {
                    let attribute = item.try_get_attribute(name).ok()??;
                    Some(attribute.value.into_owned())
                };
                let is_first = attribute("sample").is_some_and(|sample| sample == "0");
                wanted = match attribute("role").as_deref() {
                    Some("scale") if is_first => Some(0),
                    Some("offset") if is_first => Some(1),
                    _ => None,
                };
            }
            Ok(Event::Text(text)) => {
                let number = text.trim().parse().ok();
                if let (Some(i), Some(number)) = (wanted, number) {
                    values[i] = number;
                }
            }
            Ok(Event::End(_)) => wanted = None,
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    if values.iter().all(|v: &f64| v.is_finite()) { values } else { [1.0, 0.0] }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod write_tests;
