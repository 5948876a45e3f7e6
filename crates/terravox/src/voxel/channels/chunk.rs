//! What a channel holds in one chunk: numbers as runs or as an array, whichever is smaller, or bytes.
//!
//! The form follows from the values alone, so equal chunks are equal in memory. Runs are in the
//! order of the cells of a chunk: x fastest, then z, then y.

use super::declaration::MAX_CHUNK_BYTES;
use std::fmt;
use std::sync::Arc;

/// Voxels of a chunk.
pub(crate) const CHUNK_VOXELS: usize = 32 * 32 * 32;

/// Consecutive voxels of one value. The run ends where the next one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRun {
    /// Index of the first voxel.
    pub start: u16,
    pub value: u32,
}

/// What a channel holds in one chunk; at least one value other than 0, or one byte. Copies share
/// memory.
///
/// A chunk of one value takes no memory of its own, others 8 bytes a run of equal values or 1, 2 or
/// 4 bytes a voxel, whichever is less: at most 32, 64 or 128 KiB by the largest value in it.
///
/// ```
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelPos};
///
/// let mut channels = ChannelGrid::default();
/// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
/// channels.set(heat, VoxelPos::new(3, 0, 0), 7);
/// let chunk = channels.chunk(heat, VoxelPos::ZERO.chunk()).expect("it has a value");
/// assert_eq!((chunk.value(3), chunk.value(4)), (7, 0));
/// assert_eq!(chunk.memory_bytes(), 24); // three runs
/// # Ok::<(), terravox::voxel::ChannelError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelChunk(Content);

#[derive(Clone, PartialEq, Eq)]
enum Content {
    /// All voxels have this value; not 0.
    Uniform(u32),
    /// At least two, no two neighbours of one value; the first starts at 0.
    Runs(Arc<[ValueRun]>),
    /// Where runs would take more memory; of the narrowest type that holds the largest value.
    Array8(Arc<[u8]>),
    Array16(Arc<[u16]>),
    Array32(Arc<[u32]>),
    /// Bytes of the game; at least one.
    Bytes(Arc<[u8]>),
}

impl ChannelChunk {
    /// Most bytes that a channel of bytes holds for a chunk: 64 KiB.
    pub const MAX_BYTES: usize = MAX_CHUNK_BYTES;

    /// Voxels in runs; neighbours may have one value. `None` if all are 0.
    pub(crate) fn of_runs(mut runs: Vec<ValueRun>) -> Option<ChannelChunk> {
        debug_assert!(runs.first().is_some_and(|run| run.start == 0));
        runs.dedup_by_key(|run| run.value);
        let max = runs.iter().map(|run| run.value).max()?;
        if let [only] = *runs {
            return (only.value != 0).then_some(ChannelChunk(Content::Uniform(only.value)));
        }
        if runs.len() * size_of::<ValueRun>() <= CHUNK_VOXELS * narrowest_bytes(max) {
            return Some(ChannelChunk(Content::Runs(runs.into())));
        }
        let mut values = vec![0; CHUNK_VOXELS];
        unpack_runs(&runs, &mut values);
        Some(ChannelChunk(Content::array(&values, max)))
    }

    /// The values of all voxels; `None` if all are 0.
    pub(crate) fn of_values(values: &[u32]) -> Option<ChannelChunk> {
        assert_eq!(values.len(), CHUNK_VOXELS, "a chunk has 32³ voxels");
        let max = values.iter().fold(0, |max, &value| max.max(value));
        if max == 0 {
            return None;
        }
        let count = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if count * size_of::<ValueRun>() > CHUNK_VOXELS * narrowest_bytes(max) {
            return Some(ChannelChunk(Content::array(values, max)));
        }
        let mut runs = Vec::with_capacity(count);
        each_run(values, |start, value| runs.push(ValueRun { start: start as u16, value }));
        ChannelChunk::of_runs(runs)
    }

    /// All voxels of one value; `None` if that is 0.
    pub(crate) fn uniform(value: u32) -> Option<ChannelChunk> {
        (value != 0).then_some(ChannelChunk(Content::Uniform(value)))
    }

    /// What a channel of bytes holds; `None` if there are none.
    ///
    /// # Panics
    /// If they are more than [`ChannelChunk::MAX_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Option<ChannelChunk> {
        let count = bytes.len();
        assert!(count <= ChannelChunk::MAX_BYTES, "{count} bytes for a chunk");
        (!bytes.is_empty()).then(|| ChannelChunk(Content::Bytes(bytes.into())))
    }

    /// The value, if all voxels have the same.
    pub fn uniform_value(&self) -> Option<u32> {
        match self.0 {
            Content::Uniform(value) => Some(value),
            _ => None,
        }
    }

    /// The value of the voxel at x + 32 z + 1024 y in the chunk; 0 for bytes.
    ///
    /// # Panics
    /// If the index is not below 32,768.
    pub fn value(&self, index: usize) -> u32 {
        assert!(index < CHUNK_VOXELS, "voxel {index} of a chunk of 32,768");
        match &self.0 {
            Content::Uniform(value) => *value,
            Content::Runs(runs) => {
                let next = runs.partition_point(|run| usize::from(run.start) <= index);
                runs[next - 1].value
            }
            Content::Array8(values) => values[index].into(),
            Content::Array16(values) => values[index].into(),
            Content::Array32(values) => values[index],
            Content::Bytes(_) => 0,
        }
    }

    /// The bytes of a channel of bytes; empty for numbers.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Content::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Writes the values of all voxels; 0 for bytes.
    pub(crate) fn unpack(&self, out: &mut Vec<u32>) {
        out.clear();
        match &self.0 {
            Content::Uniform(value) => out.resize(CHUNK_VOXELS, *value),
            Content::Runs(runs) => {
                out.resize(CHUNK_VOXELS, 0);
                unpack_runs(runs, out);
            }
            Content::Array8(values) => out.extend(values.iter().map(|&v| u32::from(v))),
            Content::Array16(values) => out.extend(values.iter().map(|&v| u32::from(v))),
            Content::Array32(values) => out.extend_from_slice(values),
            Content::Bytes(_) => out.resize(CHUNK_VOXELS, 0),
        }
    }

    /// Calls `each` with the value of every run of voxels and how many they are, in order; no two
    /// neighbours have one value. Nothing for bytes.
    pub(crate) fn each_run(&self, mut each: impl FnMut(u32, usize)) {
        let mut ended = Pending::default();
        match &self.0 {
            Content::Uniform(value) => each(*value, CHUNK_VOXELS),
            Content::Runs(runs) => {
                runs.iter().for_each(|run| ended.start(run.start.into(), run.value, &mut each));
                ended.end(&mut each);
            }
            Content::Array8(values) => {
                each_run(values, |start, value| ended.start(start, value.into(), &mut each));
                ended.end(&mut each);
            }
            Content::Array16(values) => {
                each_run(values, |start, value| ended.start(start, value.into(), &mut each));
                ended.end(&mut each);
            }
            Content::Array32(values) => {
                each_run(values, |start, value| ended.start(start, value, &mut each));
                ended.end(&mut each);
            }
            Content::Bytes(_) => {}
        }
    }

    /// The largest value; 0 for bytes.
    pub(crate) fn max_value(&self) -> u32 {
        let mut max = 0;
        self.each_run(|value, _| max = max.max(value));
        max
    }

    /// Bytes in memory, besides the entry in the table of its channel.
    pub fn memory_bytes(&self) -> usize {
        match &self.0 {
            Content::Uniform(_) => 0,
            Content::Runs(runs) => size_of_val(&**runs),
            Content::Array8(values) | Content::Bytes(values) => values.len(),
            Content::Array16(values) => size_of_val(&**values),
            Content::Array32(values) => size_of_val(&**values),
        }
    }
}

impl fmt::Debug for ChannelChunk {
    /// Prints what it is, not its values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uniform_value() {
            Some(value) => write!(f, "ChannelChunk(all {value})"),
            None => write!(f, "ChannelChunk({} bytes)", self.memory_bytes()),
        }
    }
}

impl Content {
    /// An array of the narrowest type.
    fn array(values: &[u32], max: u32) -> Content {
        match narrowest_bytes(max) {
            1 => Content::Array8(values.iter().map(|&v| v as u8).collect()),
            2 => Content::Array16(values.iter().map(|&v| v as u16).collect()),
            _ => Content::Array32(values.into()),
        }
    }
}

/// A run whose end is not known yet.
#[derive(Default)]
struct Pending {
    run: Option<(usize, u32)>,
}

impl Pending {
    /// Ends the run before, and starts another.
    fn start(&mut self, start: usize, value: u32, each: &mut impl FnMut(u32, usize)) {
        if let Some((from, value)) = self.run.replace((start, value)) {
            each(value, start - from);
        }
    }

    fn end(self, each: &mut impl FnMut(u32, usize)) {
        if let Some((from, value)) = self.run {
            each(value, CHUNK_VOXELS - from);
        }
    }
}

/// Bytes of the narrowest type that holds a value.
fn narrowest_bytes(max: u32) -> usize {
    match max {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

/// Calls `each` where a run of equal values starts.
fn each_run<T: Copy + PartialEq>(values: &[T], mut each: impl FnMut(usize, T)) {
    let mut last = None;
    for (at, &value) in values.iter().enumerate() {
        if last != Some(value) {
            each(at, value);
            last = Some(value);
        }
    }
}

/// Writes the values of runs, of which the first starts at 0.
fn unpack_runs(runs: &[ValueRun], out: &mut [u32]) {
    let ends = runs.iter().skip(1).map(|run| usize::from(run.start)).chain([out.len()]);
    for (run, end) in runs.iter().zip(ends) {
        out[usize::from(run.start)..end].fill(run.value);
    }
}
