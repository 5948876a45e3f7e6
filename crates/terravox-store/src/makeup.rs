//! What can be learned from the values of blocks without decoding their cells.
//!
//! In the space of one ordinary block, a file can store a thousand uniform blocks, or some hundred
//! equal ones, so work on their cells would not be bounded by the length of the file. Worlds with
//! flat ground contain such blocks, too. A block that is made of the same parts as another is
//! compared only once.

use crate::database::{cell_key, value_error};
use crate::key::BlockKey;
use crate::pyramid::source_mip;
use crate::tree::ReadTree;
use crate::value::{ValueCoder, ValueError};
use std::collections::HashMap;
use terravox::voxel::{AIR, ChunkPos, Kind, VoxelPos};

/// Longest value that is remembered: longer ones are rarely equal.
const MAX_KNOWN_BYTES: usize = 256;

/// Maximum number of values that are remembered.
const MAX_KNOWN: usize = 1 << 15;

/// Maximum number of u32 words in the keys of all remembered comparisons.
const MAX_COMPARED_NUMBERS: usize = 1 << 21;

/// Maximum number of bytes of all remembered blocks that were made, including their keys.
const MAX_MADE_BYTES: usize = 4 << 20;

/// A comparison is remembered only if at most this many chunks under the block were replaced.
const MAX_COMPARED_CHUNKS: usize = 32;

/// The id of the cells of a value: its material if it is uniform, else from 256 on.
pub(crate) type CellsId = u32;

/// First number of cells that are not uniform.
const FIRST_ID: CellsId = 256;

/// In the key of a comparison: a chunk that is listed.
const LISTED_CHUNK: u32 = 1 << 31;

/// Values that were read, and comparisons that were made.
pub(crate) struct KnownCells {
    coder: ValueCoder,
    ids: HashMap<Box<[u8]>, CellsId>,
    /// By number: whether the cells were decoded without an error.
    is_valid: Vec<bool>,
    compared: HashMap<Box<[u32]>, bool>,
    compared_numbers: usize,
    /// By parts: what follows the seal of the value of the block that is made of them.
    made: HashMap<Box<[u32]>, Box<[u8]>>,
    made_bytes: usize,
    value: Vec<u8>,
}

/// What is known about a block from its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredCells {
    /// Its material, if its few bytes say that it is uniform, or it is not stored.
    pub uniform: Option<u8>,
    /// Equal numbers mean equal cells. `None` if it is not remembered.
    pub id: Option<CellsId>,
    /// Whether it has a value; otherwise it is air, or made by the generator.
    pub is_stored: bool,
}

/// What is known about a block from the values of its finer blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Makeup {
    /// All cells are full of one material.
    Uniform(u8),
    /// Not uniform: made of uniform blocks that differ.
    Several,
    /// The cells have to be decoded.
    Unknown,
}

/// Identifies a comparison of a block with its finer blocks, wherever the block is.
pub(crate) type ComparisonKey = Box<[u32]>;

impl KnownCells {
    /// Creates an empty set for a world with materials of these kinds.
    pub fn new(kinds: &[Kind; 256]) -> KnownCells {
        KnownCells {
            coder: ValueCoder::new(kinds),
            ids: HashMap::default(),
            is_valid: Vec::new(),
            compared: HashMap::default(),
            compared_numbers: 0,
            made: HashMap::default(),
            made_bytes: 0,
            value: Vec::new(),
        }
    }

    /// Reads the value of a block, and returns what is known from it.
    pub fn read(&mut self, tree: &impl ReadTree, key: BlockKey) -> Result<StoredCells, ValueError> {
        let mut value = std::mem::take(&mut self.value);
        let read = tree.get(&cell_key(&key.bytes()), &mut value);
        let stored = match read.map_err(|error| value_error(&error)) {
            Ok(true) => self.of_value(key, &value),
            Ok(false) => {
                Ok(StoredCells { uniform: Some(AIR), id: Some(AIR.into()), is_stored: false })
            }
            Err(what) => Err(what),
        };
        self.value = value;
        stored
    }

    /// Returns what is known about a block from its value.
    pub fn of_value(&mut self, key: BlockKey, value: &[u8]) -> Result<StoredCells, ValueError> {
        let uniform = self.coder.uniform(key, value)?;
        let id = match uniform {
            Some(material) => Some(material.into()),
            None => self.id_of(ValueCoder::cells_bytes(value)),
        };
        Ok(StoredCells { uniform, id, is_stored: true })
    }

    /// The number of what follows the seal of a value.
    fn id_of(&mut self, cells: &[u8]) -> Option<CellsId> {
        if cells.len() > MAX_KNOWN_BYTES {
            return None;
        }
        if let Some(&id) = self.ids.get(cells) {
            return Some(id);
        }
        let id = FIRST_ID + self.is_valid.len() as CellsId;
        (self.ids.len() < MAX_KNOWN).then(|| {
            self.ids.insert(cells.into(), id);
            self.is_valid.push(false);
            id
        })
    }

    /// Whether cells with this number were decoded without an error.
    pub fn is_valid(&self, id: Option<CellsId>) -> bool {
        id.is_some_and(|id| id < FIRST_ID || self.is_valid[(id - FIRST_ID) as usize])
    }

    /// Remembers that cells with this number were decoded without an error.
    pub fn set_valid(&mut self, id: Option<CellsId>) {
        if let Some(i) = id.and_then(|id| id.checked_sub(FIRST_ID)) {
            self.is_valid[i as usize] = true;
        }
    }

    /// Summarises a block from the values of its stored finer blocks, `sources`; also the parts of
    /// the key of their comparison, if that can be remembered.
    pub fn makeup(
        &mut self,
        tree: &impl ReadTree,
        key: BlockKey,
        sources: &[BlockKey],
    ) -> (Makeup, Option<Vec<u32>>) {
        let shift = u32::from(key.mip - source_mip(key.mip));
        let mut materials: Option<(u8, bool)> = None;
        let mut is_uniform = true;
        let mut parts = Some(vec![shift]);
        for &from in sources {
            let Ok(stored) = self.read(tree, from) else { return (Makeup::Unknown, None) };
            match stored.uniform {
                Some(material) => {
                    let (first, is_one) = materials.unwrap_or((material, true));
                    materials = Some((first, is_one && first == material));
                }
                None => is_uniform = false,
            }
            match (&mut parts, stored.id) {
                // Not stored is the same.
                (_, Some(id)) if id == CellsId::from(AIR) => {}
                (Some(parts), Some(id)) => parts.extend([local(key.pos, from.pos, shift), id]),
                _ => parts = None,
            }
            if !is_uniform && parts.is_none() {
                break;
            }
        }
        let makeup = match (is_uniform, materials) {
            (false, _) => Makeup::Unknown,
            (true, None) => Makeup::Uniform(AIR),
            (true, Some((first, true))) if first == AIR || sources.len() == 1 << (3 * shift) => {
                Makeup::Uniform(first)
            }
            (true, Some(_)) => Makeup::Several,
        };
        (makeup, parts)
    }

    /// Completes the key of a comparison; of the cells under the chunks `replaced`, or of all.
    pub fn comparison(
        stored: StoredCells,
        parts: Option<Vec<u32>>,
        key: BlockKey,
        replaced: Option<&[ChunkPos]>,
    ) -> Option<ComparisonKey> {
        let (mut parts, id) = (parts?, stored.id?);
        let chunks = replaced.unwrap_or_default();
        if chunks.len() > MAX_COMPARED_CHUNKS {
            return None;
        }
        let place = |chunk: &ChunkPos| {
            let pos = VoxelPos::new(chunk.x, chunk.y, chunk.z);
            LISTED_CHUNK | local(key.pos, pos, key.mip.into())
        };
        if replaced.is_some() {
            // How much of the block a chunk covers depends on the mip.
            parts[0] |= u32::from(key.mip) << 8;
        }
        parts.push(id);
        parts.extend(chunks.iter().map(place));
        Some(parts.into())
    }

    /// Whether a block agrees with the finer ones, if an equal one was compared.
    pub fn compared(&self, key: Option<&ComparisonKey>) -> Option<bool> {
        self.compared.get(key?).copied()
    }

    /// Remembers a comparison.
    pub fn set_compared(&mut self, key: Option<ComparisonKey>, agrees: bool) {
        if let Some(key) = key
            && self.compared_numbers + key.len() <= MAX_COMPARED_NUMBERS
        {
            self.compared_numbers += key.len();
            self.compared.insert(key, agrees);
        }
    }

    /// What follows the seal of the value of a block that is made of `parts`, if one was made.
    pub fn made(&self, parts: &[u32]) -> Option<&[u8]> {
        self.made.get(parts).map(|cells_bytes| &**cells_bytes)
    }

    /// Remembers what a block that was made is written as, if that is short.
    pub fn set_made(&mut self, parts: Vec<u32>, cells_bytes: &[u8]) {
        let bytes = size_of_val(&*parts) + cells_bytes.len();
        if cells_bytes.len() <= MAX_KNOWN_BYTES && self.made_bytes + bytes <= MAX_MADE_BYTES {
            self.made_bytes += bytes;
            self.made.insert(parts.into(), cells_bytes.into());
        }
    }
}

/// The index of a block at `pos` among those that a coarse one at `over` is made of.
fn local(over: VoxelPos, pos: VoxelPos, shift: u32) -> u32 {
    let axis = |pos: i32, over: i32| pos.wrapping_sub(over << shift) as u32;
    axis(pos.x, over.x) | (axis(pos.z, over.z) | axis(pos.y, over.y) << shift) << shift
}

#[cfg(test)]
#[path = "makeup_tests.rs"]
mod tests;
