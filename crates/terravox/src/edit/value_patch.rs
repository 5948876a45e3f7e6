//! Patches of channels, for undo: which values of a chunk an operation changed, and what they were.

use super::EditError;
use super::value_op::kind_of;
use crate::voxel::{ChannelChunk, ChannelGrid, ChannelWidth, ChunkPos, Region};
use std::sync::Arc;

/// Consecutive voxels of a chunk that had one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PatchRun {
    /// Indices in the chunk, x fastest, then z, then y; the last is inside.
    pub first: u16,
    pub last: u16,
    pub value: u32,
}

/// Values to swap with those of a channel in one chunk. They are shared with copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValuePatch {
    pub channel: u8,
    pub chunk: ChunkPos,
    pub before: PatchValues,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatchValues {
    /// Ascending and apart; no two that touch have one value.
    Numbers { width: ChannelWidth, runs: Arc<[PatchRun]> },
    /// All bytes of the chunk.
    Bytes(Arc<[u8]>),
}

/// Adds voxels after those of `runs`.
fn push_voxel(runs: &mut Vec<PatchRun>, index: usize, value: u32) {
    let index = index as u16;
    match runs.last_mut() {
        Some(run) if run.last + 1 == index && run.value == value => run.last = index,
        _ => runs.push(PatchRun { first: index, last: index, value }),
    }
}

/// What the values of a chunk that differ were.
pub(super) fn changed_runs(before: &[u32], after: &[u32]) -> Vec<PatchRun> {
    let mut runs = Vec::new();
    for (index, (&old, &new)) in before.iter().zip(after).enumerate() {
        if old != new {
            push_voxel(&mut runs, index, old);
        }
    }
    runs
}

impl ValuePatch {
    /// Size of the patch in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<ValuePatch>()
            + match &self.before {
                PatchValues::Numbers { runs, .. } => size_of_val(&**runs),
                PatchValues::Bytes(bytes) => bytes.len(),
            }
    }

    /// The smallest region that holds what it changes, in voxels.
    pub fn region(&self) -> Region {
        let PatchValues::Numbers { runs, .. } = &self.before else { return self.chunk.region() };
        let bounds = runs.iter().map(|run| {
            let at = |index: u16| [index & 31, index >> 10, index >> 5 & 31].map(i32::from);
            let (mut min, mut max) = (at(run.first), at(run.last));
            // What goes on in the next slice or row reaches from one side to the other.
            if min[1] != max[1] {
                (min[2], max[2]) = (0, 31);
            }
            if min[1..] != max[1..] {
                (min[0], max[0]) = (0, 31);
            }
            Region::new(min, max.map(|v| v + 1))
        });
        let local = bounds.fold(Region::default(), Region::union);
        let origin = self.chunk.min_voxel();
        Region { min: local.min + origin, max: local.max + origin }
    }

    /// Returns an error unless the channel is what it was.
    pub fn check(&self, channels: &ChannelGrid) -> Result<(), EditError> {
        let width = match self.before {
            PatchValues::Numbers { width, .. } => Some(width),
            PatchValues::Bytes(_) => None,
        };
        match kind_of(channels, self.channel)?.width() == width {
            true => Ok(()),
            false => Err(EditError::Invalid(
                "the stroke changed a channel that is of another kind now; it is of another world",
            )),
        }
    }

    /// Swaps the patch with what its channel holds, which must be of the kind that it was. `values`
    /// is a buffer.
    pub fn swap(&mut self, channels: &mut ChannelGrid, values: &mut Vec<u32>) {
        let ValuePatch { channel, chunk, before } = self;
        match before {
            PatchValues::Bytes(bytes) => {
                let held = channels.bytes(*channel, *chunk).into();
                let put = ChannelChunk::from_bytes(&std::mem::replace(bytes, held));
                channels.replace(*channel, *chunk, put);
            }
            PatchValues::Numbers { runs, .. } => {
                channels.unpack(*channel, *chunk, values);
                let mut held = Vec::with_capacity(runs.len());
                for run in runs.iter() {
                    for index in usize::from(run.first)..=usize::from(run.last) {
                        let value = std::mem::replace(&mut values[index], run.value);
                        push_voxel(&mut held, index, value);
                    }
                }
                *runs = held.into();
                channels.replace(*channel, *chunk, ChannelChunk::of_values(values));
            }
        }
    }
}
