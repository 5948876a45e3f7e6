//! The slow twin: a map of voxels, and coarse values from one look-up a voxel.

use super::declaration::MipRule;
use crate::voxel::{Region, VoxelPos};
use rustc_hash::FxHashMap;

/// A channel of numbers.
#[derive(Default)]
pub(super) struct NaiveChannel {
    values: FxHashMap<[i32; 3], u32>,
}

impl NaiveChannel {
    pub fn set(&mut self, pos: VoxelPos, value: u32) {
        match value {
            0 => drop(self.values.remove(&pos.to_array())),
            _ => drop(self.values.insert(pos.to_array(), value)),
        }
    }

    pub fn value(&self, pos: VoxelPos) -> u32 {
        self.values.get(&pos.to_array()).copied().unwrap_or(0)
    }

    /// The values of a box of cells, as the documentation of [`MipRule`] says.
    pub fn read(&self, region: Region, mip: u8, rule: MipRule) -> Vec<u32> {
        let cell = |cell: VoxelPos| {
            let voxels = Region::one(cell).finer(mip.into());
            let all: Vec<u64> = voxels.voxels().map(|pos| self.value(pos).into()).collect();
            let mut present: Vec<u64> = all.iter().copied().filter(|&value| value > 0).collect();
            present.sort_unstable();
            let mean = |values: &[u64]| {
                // Rounded half up: floor(mean + ½).
                let count = values.len().max(1) as u64;
                (2 * values.iter().sum::<u64>() + count) / (2 * count)
            };
            let value = match rule {
                MipRule::Max => present.last().copied().unwrap_or(0),
                MipRule::Min => present.first().copied().unwrap_or(0),
                MipRule::Mean => mean(&all),
                MipRule::MeanPresent if present.is_empty() => 0,
                MipRule::MeanPresent => mean(&present),
                MipRule::MostFrequent => {
                    let mut best = (0, 0);
                    for same in present.chunk_by(|a, b| a == b) {
                        if same.len() > best.0 {
                            best = (same.len(), same[0]);
                        }
                    }
                    best.1
                }
            };
            value as u32
        };
        region.voxels().map(cell).collect()
    }
}
