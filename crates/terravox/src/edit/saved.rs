//! A history as bytes, for files; `docs/format.md` has every byte.
//!
//! Version byte, checksum, then the strokes. Reading is total: for any bytes it returns a history
//! or an error with an offset, and needs memory for the bytes and one decoded patch only.

use super::op::ONE_BOX;
use super::patch::{ChangedRun, Patch, decode_cells, decode_rows, get_varint, put_varint};
use super::strokes::Stroke;
use super::undo::{History, HistoryCopy};
use super::value_patch::{PatchRun, PatchValues, ValuePatch};
use crate::voxel::{
    CHUNK_VOXELS, ChannelChunk, ChannelGrid, ChannelWidth, ChunkPos, Region, VoxelPos,
};
use std::fmt;
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

/// The version that is written if no stroke changed channels.
pub(super) const VERSION: u8 = 1;

/// The version of strokes that changed channels.
const VALUES_VERSION: u8 = 2;

/// Version and checksum.
const HEADER: usize = 9;

/// Why bytes are not a valid history, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryError {
    /// Offset of the invalid data.
    pub offset: usize,
    /// What is wrong with it.
    pub kind: HistoryErrorKind,
}

/// What can be wrong with the bytes of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryErrorKind {
    /// The bytes end early.
    Truncated,
    /// An unsupported version.
    Version(u8),
    /// The checksum is not that of the bytes.
    Checksum,
    /// A region that is empty, too large, or beyond the limits of the grid.
    Region,
    /// A stroke or an edit without changes.
    EmptyStroke,
    /// The list of changed cells is invalid.
    Rows,
    /// The changed cells are invalid.
    Cells,
    /// The changed values of a channel are invalid.
    Values,
    /// There are bytes after the end.
    TooLong,
    /// The number of an edit is too large, or not larger than that of the edit before it.
    Number,
    /// The name of an author is too long, or not UTF-8.
    Author,
    /// What made an edit is unknown, or written in another way than the only one.
    Kind,
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "undo history, byte {}: {}", self.offset, self.kind)
    }
}

impl fmt::Display for HistoryErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HistoryErrorKind::Version(version) => {
                return write!(
                    f,
                    "version {version} is not supported; a newer program may read it"
                );
            }
            HistoryErrorKind::Truncated => "the data ends early",
            HistoryErrorKind::Checksum => "the checksum is wrong",
            HistoryErrorKind::Region => {
                "a region is empty, too large or beyond the limits of the grid"
            }
            HistoryErrorKind::EmptyStroke => "a stroke has no changes",
            HistoryErrorKind::Rows => "the rows do not fit their region",
            HistoryErrorKind::Cells => "the cells do not fit their rows",
            HistoryErrorKind::Values => "the values do not fit their channel and chunk",
            HistoryErrorKind::TooLong => "more bytes than strokes",
            HistoryErrorKind::Number => "the numbers of edits do not increase",
            HistoryErrorKind::Kind => "what made an edit is not valid",
            HistoryErrorKind::Author => "the name of an author is not UTF-8 of at most 64 bytes",
        })
    }
}

impl std::error::Error for HistoryError {}

impl HistoryCopy {
    /// All strokes as bytes, at most `max_bytes`: the oldest strokes are dropped first, then those
    /// that would be redone last.
    pub fn to_bytes(&self, max_bytes: usize) -> Vec<u8> {
        let room = max_bytes.saturating_sub(HEADER + 20);
        let count = self.done.len() + self.undone.len();
        let (mut bytes, mut left_out) = (0, count);
        let newest = self.undone_then_done();
        for stroke in newest {
            bytes += most_bytes(stroke);
            if bytes > room {
                break;
            }
            left_out -= 1;
        }
        let done = self.done.len().saturating_sub(left_out);
        let undone = self.undone.len().min(count - left_out);
        let kept = self.done.iter().skip(self.done.len() - done);
        let kept = kept.chain(self.undone.iter().skip(self.undone.len() - undone));
        let has_values = kept.clone().any(|stroke| !stroke.values.is_empty());
        let mut out = begin(if has_values { VALUES_VERSION } else { VERSION });
        put_varint(done as u64, &mut out);
        put_varint(undone as u64, &mut out);
        for stroke in kept {
            put_varint(stroke.patches.len() as u64, &mut out);
            stroke.patches.iter().for_each(|patch| put_patch(patch, &mut out));
            if has_values {
                put_varint(stroke.values.len() as u64, &mut out);
                stroke.values.iter().for_each(|patch| put_values(patch, &mut out));
            }
        }
        seal(&mut out);
        out
    }

    /// All strokes, in the order in which they would be undone or redone.
    fn undone_then_done(&self) -> impl Iterator<Item = &Stroke> {
        let (done, undone): (Vec<_>, Vec<_>) =
            (self.done.iter().collect(), self.undone.iter().collect());
        undone.into_iter().rev().chain(done.into_iter().rev())
    }
}

impl History {
    /// All strokes as bytes; an open stroke counts as ended.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.copy().to_bytes(usize::MAX)
    }

    /// Reads the history that [`History::to_bytes`] wrote, without the strokes that do not fit in
    /// `budget_bytes` bytes.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn from_bytes(bytes: &[u8], budget_bytes: usize) -> Result<History, HistoryError> {
        let mut reader = Reader { bytes, offset: 0 };
        let version = reader.check_header(VERSION..=VALUES_VERSION)?;
        let (done, undone) = (reader.number()?, reader.number()?);
        let mut history = History::new(budget_bytes);
        for i in 0..done.saturating_add(undone) {
            let stroke = reader.stroke(version >= VALUES_VERSION)?;
            match i < done {
                true => history.push(stroke),
                false => history.push_undone(stroke),
            }
        }
        reader.check_end()?;
        Ok(history)
    }
}

/// The version, and room for the checksum.
pub(super) fn begin(version: u8) -> Vec<u8> {
    vec![version; HEADER]
}

/// Writes the checksum of all that follows it.
pub(super) fn seal(out: &mut [u8]) {
    let sum = xxh3_64(&out[HEADER..]);
    out[1..HEADER].copy_from_slice(&sum.to_le_bytes());
}

pub(super) fn put_patch(patch: &Patch, out: &mut Vec<u8>) {
    put_region(patch.region, out);
    for bytes in [&patch.rows, &patch.cells] {
        put_varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }
}

/// At least as many bytes as a stroke takes, and few more.
fn most_bytes(stroke: &Stroke) -> usize {
    let length = |value: u64| (64 - (value | 1).leading_zeros() as usize).div_ceil(7);
    let cells = |patch: &Patch| 6 * 5 + 2 * 5 + patch.rows.len() + patch.cells.len();
    let run = |run: &PatchRun| {
        length(run.first.into()) + length(u64::from(run.last) + 1) + length(run.value.into())
    };
    let values = |patch: &ValuePatch| match &patch.before {
        PatchValues::Bytes(bytes) => bytes.len(),
        PatchValues::Numbers { runs, .. } => runs.iter().map(run).sum(),
    };
    2 * 10
        + stroke.patches.iter().map(cells).sum::<usize>()
        + stroke.values.iter().map(|patch| 2 + 3 * 5 + 5 + values(patch)).sum::<usize>()
}

/// Writes what a stroke changed of a channel in one chunk.
fn put_values(patch: &ValuePatch, out: &mut Vec<u8>) {
    out.push(patch.channel);
    out.push(match &patch.before {
        PatchValues::Numbers { width, .. } => width.bytes() as u8,
        PatchValues::Bytes(_) => 0,
    });
    let ChunkPos { x, y, z } = patch.chunk;
    [x, y, z].into_iter().for_each(|v| put_signed(v, out));
    match &patch.before {
        PatchValues::Bytes(bytes) => {
            put_varint(bytes.len() as u64, out);
            out.extend_from_slice(bytes);
        }
        PatchValues::Numbers { runs, .. } => {
            put_varint(runs.len() as u64, out);
            let mut at = 0;
            for run in runs.iter() {
                put_varint(u64::from(run.first) - at, out);
                put_varint(u64::from(run.last - run.first) + 1, out);
                put_varint(run.value.into(), out);
                at = u64::from(run.last) + 1;
            }
        }
    }
}

/// Zigzag: small numbers of either sign are short.
fn put_signed(v: i32, out: &mut Vec<u8>) {
    put_varint(u64::from(((v << 1) ^ (v >> 31)) as u32), out);
}

/// Reverses [`put_signed`].
fn signed(v: u32) -> i32 {
    (v >> 1) as i32 ^ -((v & 1) as i32)
}

/// Writes the lowest corner of a region and its edges.
pub(super) fn put_region(region: Region, out: &mut Vec<u8>) {
    region.min.to_array().into_iter().for_each(|v| put_signed(v, out));
    region.size().iter().for_each(|&edge| put_varint(edge as u64, out));
}

/// Bounds of the changed cells in their region, by their indices along x, y and z.
#[derive(Default)]
struct RunBounds {
    /// None before the first run.
    corners: Option<[[usize; 3]; 2]>,
}

impl RunBounds {
    fn add(&mut self, run: ChangedRun, region: Region) {
        let [width, _, deep] = region.size();
        let (x, row) = (run.at % width, run.at / width);
        let first = [x, row / deep, row % deep];
        let end = [x + run.cells, first[1] + 1, first[2] + 1];
        let [min, max] = self.corners.get_or_insert([first, end]);
        for axis in 0..3 {
            min[axis] = min[axis].min(first[axis]);
            max[axis] = max[axis].max(end[axis]);
        }
    }

    fn size(&self) -> [usize; 3] {
        self.corners.map_or([0; 3], |[min, max]| [0, 1, 2].map(|axis| max[axis] - min[axis]))
    }
}

pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub offset: usize,
}

impl<'a> Reader<'a> {
    pub fn wrong(&self, kind: HistoryErrorKind) -> HistoryError {
        HistoryError { offset: self.offset, kind }
    }

    /// Reads the version, which has to be one of these, and checks the sum.
    pub fn check_header(&mut self, versions: RangeInclusive<u8>) -> Result<u8, HistoryError> {
        let Some(&version) = self.bytes.first() else {
            return Err(self.wrong(HistoryErrorKind::Truncated));
        };
        if !versions.contains(&version) {
            return Err(self.wrong(HistoryErrorKind::Version(version)));
        }
        self.offset = 1;
        let sum = self.bytes.get(1..HEADER).and_then(|sum| sum.try_into().ok());
        let Some(sum) = sum.map(u64::from_le_bytes) else {
            return Err(self.wrong(HistoryErrorKind::Truncated));
        };
        if sum != xxh3_64(&self.bytes[HEADER..]) {
            return Err(self.wrong(HistoryErrorKind::Checksum));
        }
        self.offset = HEADER;
        Ok(version)
    }

    /// Checks that nothing follows.
    pub fn check_end(&self) -> Result<(), HistoryError> {
        match self.offset == self.bytes.len() {
            true => Ok(()),
            false => Err(self.wrong(HistoryErrorKind::TooLong)),
        }
    }

    /// A stroke, with or without changes of channels, but with a change.
    fn stroke(&mut self, has_values: bool) -> Result<Stroke, HistoryError> {
        let mut stroke = Stroke::of_cells(self.any_patches(false)?);
        if has_values {
            let mut values = Vec::new();
            for _ in 0..self.number()? {
                values.push(self.values()?);
            }
            stroke.append(Stroke::of_values(values));
        }
        match stroke.is_empty() {
            true => Err(self.wrong(HistoryErrorKind::EmptyStroke)),
            false => Ok(stroke),
        }
    }

    /// What a stroke changed of a channel in one chunk.
    fn values(&mut self) -> Result<ValuePatch, HistoryError> {
        let wrong = self.wrong(HistoryErrorKind::Values);
        let (channel, kind) = (self.byte()?, self.byte()?);
        let mut position = [0; 3];
        for v in &mut position {
            *v = signed(u32::try_from(self.number()?).map_err(|_| wrong)?);
        }
        let chunk = ChunkPos::new(position[0], position[1], position[2]);
        let width = match kind {
            0 => None,
            1 => Some(ChannelWidth::U8),
            2 => Some(ChannelWidth::U16),
            4 => Some(ChannelWidth::U32),
            _ => return Err(wrong),
        };
        if usize::from(channel) >= ChannelGrid::MAX_CHANNELS || !chunk.within_limits() {
            return Err(wrong);
        }
        let before = match width {
            Some(width) => PatchValues::Numbers { width, runs: self.value_runs(width)?.into() },
            None => {
                let (_, bytes) = self.part()?;
                if bytes.len() > ChannelChunk::MAX_BYTES {
                    return Err(wrong);
                }
                PatchValues::Bytes(bytes.into())
            }
        };
        Ok(ValuePatch { channel, chunk, before })
    }

    /// Runs of values, at least one, as they are written.
    fn value_runs(&mut self, width: ChannelWidth) -> Result<Vec<PatchRun>, HistoryError> {
        let wrong = self.wrong(HistoryErrorKind::Values);
        let (count, mut at) = (self.number()?, 0);
        let mut runs: Vec<PatchRun> = Vec::new();
        for _ in 0..count {
            let (gap, voxels, value) = (self.number()?, self.number()?, self.number()?);
            let left = (CHUNK_VOXELS as u64 - at).checked_sub(gap).ok_or(wrong)?;
            // Runs of one value that touch would be one run.
            let goes_on = gap == 0 && runs.last().is_some_and(|run| u64::from(run.value) == value);
            if voxels == 0 || voxels > left || value > width.max_value().into() || goes_on {
                return Err(wrong);
            }
            let (first, end) = (at + gap, at + gap + voxels);
            runs.push(PatchRun {
                first: first as u16,
                last: (end - 1) as u16,
                value: value as u32,
            });
            at = end;
        }
        if runs.is_empty() { Err(wrong) } else { Ok(runs) }
    }

    /// A number of patches, at least one, and the patches.
    pub fn patches(&mut self, may_be_forgotten: bool) -> Result<Vec<Patch>, HistoryError> {
        let patches = self.any_patches(may_be_forgotten)?;
        match patches.is_empty() {
            true => Err(self.wrong(HistoryErrorKind::EmptyStroke)),
            false => Ok(patches),
        }
    }

    /// A number of patches, and the patches.
    pub fn any_patches(&mut self, may_be_forgotten: bool) -> Result<Vec<Patch>, HistoryError> {
        let count = self.number()?;
        let mut patches = Vec::new();
        for _ in 0..count {
            patches.push(self.patch(may_be_forgotten)?);
        }
        Ok(patches)
    }

    pub fn number(&mut self) -> Result<u64, HistoryError> {
        let truncated = self.wrong(HistoryErrorKind::Truncated);
        get_varint(self.bytes, &mut self.offset).ok_or(truncated)
    }

    pub fn byte(&mut self) -> Result<u8, HistoryError> {
        let byte = self.bytes.get(self.offset).copied();
        let byte = byte.ok_or(self.wrong(HistoryErrorKind::Truncated))?;
        self.offset += 1;
        Ok(byte)
    }

    pub fn part(&mut self) -> Result<(usize, &'a [u8]), HistoryError> {
        let length = self.number()?;
        let (start, rest) = (self.offset, &self.bytes[self.offset..]);
        let part = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let part = part.ok_or(self.wrong(HistoryErrorKind::Truncated))?;
        self.offset += part.len();
        Ok((start, part))
    }

    /// A region that a patch can have.
    fn region(&mut self) -> Result<Region, HistoryError> {
        let wrong = self.wrong(HistoryErrorKind::Region);
        let region = self.any_region()?;
        let fits = !region.is_empty() && region.within_limits() && region.volume() <= ONE_BOX;
        if fits { Ok(region) } else { Err(wrong) }
    }

    /// A region: its lowest corner and its edges.
    pub fn any_region(&mut self) -> Result<Region, HistoryError> {
        let wrong = self.wrong(HistoryErrorKind::Region);
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = u32::try_from(self.number()?).map_err(|_| wrong)?;
        }
        let min = VoxelPos::new(signed(numbers[0]), signed(numbers[1]), signed(numbers[2]));
        let edge = |at: i32, v: u32| i32::try_from(i64::from(at) + i64::from(v)).map_err(|_| wrong);
        let max = VoxelPos::new(
            edge(min.x, numbers[3])?,
            edge(min.y, numbers[4])?,
            edge(min.z, numbers[5])?,
        );
        Ok(Region { min, max })
    }

    /// A patch. `may_be_forgotten`: what its cells were may not be there.
    fn patch(&mut self, may_be_forgotten: bool) -> Result<Patch, HistoryError> {
        let region = self.region()?;
        let (rows_at, rows) = self.part()?;
        let (mut count, mut bounds) = (0, RunBounds::default());
        let read = decode_rows(rows, region, |run| {
            count += run.cells;
            bounds.add(run, region);
        });
        let rows_error = |offset| HistoryError { offset, kind: HistoryErrorKind::Rows };
        match read {
            Err(offset) => return Err(rows_error(rows_at + offset)),
            Ok(read) if read != rows.len() => return Err(rows_error(rows_at + read)),
            // The box is what others are told that an undo changes.
            Ok(_) if bounds.size() != region.size() => return Err(rows_error(rows_at)),
            Ok(_) => {}
        }
        let (cells_at, cells) = self.part()?;
        if may_be_forgotten && cells.is_empty() {
            return Ok(Patch { region, rows: rows.into(), cells: cells.into() });
        }
        let (mut material, mut occupancy) = (vec![0; count], vec![0; count]);
        decode_cells(cells, &mut material, &mut occupancy, &mut Vec::new()).map_err(|offset| {
            HistoryError { offset: cells_at + offset, kind: HistoryErrorKind::Cells }
        })?;
        Ok(Patch { region, rows: rows.into(), cells: cells.into() })
    }
}
