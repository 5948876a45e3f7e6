//! Loose bodies as bytes; `docs/format.md` has every byte.
//!
//! A body's chunks are block values, as in the table of cells, each with its own version and
//! checksum. Decoding is total: any bytes give bodies or an error, within a bound on memory.

use crate::key::BlockKey;
use crate::listing::page_of;
use crate::pyramid::empty_grid;
use crate::read::{PAGE_BYTES, chunk_bytes};
use crate::value::{MAX_VALUE_BYTES, ValueCoder, ValueError};
use std::collections::BTreeSet;
use terravox::bodies::{BodyPose, SavedBody};
use terravox::voxel::{ChunkPos, DenseBox, Kind, MaterialTable, Snapshot, VoxelGrid, VoxelPos};

/// The only version.
const VERSION: u8 = 1;

/// Maximum number of bodies of a world.
pub const MAX_BODIES: usize = 1 << 16;

/// Maximum number of bytes that decoding puts into memory.
const MAX_BODY_MEMORY_BYTES: u64 = 1 << 28;

/// Bytes of a body in memory, besides its cells.
const BODY_BYTES: u64 = 512;

/// The bytes of bodies.
///
/// # Errors
/// Too many bodies, chunks not held at mip 0, or materials of other kinds than the world's.
pub(crate) fn encode(bodies: &[SavedBody], kinds: &[Kind; 256]) -> Result<Vec<u8>, String> {
    if bodies.len() > MAX_BODIES {
        return Err(format!("{} are too many; at most {MAX_BODIES} are stored", bodies.len()));
    }
    let mut out = vec![VERSION];
    out.extend((bodies.len() as u32).to_le_bytes());
    let (mut coder, mut cells, mut value) =
        (ValueCoder::new(kinds), DenseBox::default(), Vec::new());
    let mut memory = 0;
    for (number, body) in bodies.iter().enumerate() {
        if body.cells.materials().kinds() != kinds {
            return Err("materials of other kinds than the world's".to_owned());
        }
        put_motion(body, &mut out).map_err(|what| format!("body {number}: {what}"))?;
        let chunks = body.cells.chunks();
        let pages: BTreeSet<_> = chunks.iter().map(|&chunk| page_of(chunk)).collect();
        memory += BODY_BYTES + PAGE_BYTES * pages.len() as u64;
        out.extend((chunks.len() as u32).to_le_bytes());
        for chunk in chunks {
            let view = body.cells.chunk(chunk).map_err(|error| error.to_string())?;
            memory += chunk_bytes(view.mixed_rows());
            let read = body.cells.read(chunk.region(), 0, &mut cells);
            read.map_err(|error| error.to_string())?;
            coder.encode(BlockKey::chunk(chunk), &cells, &mut value);
            [chunk.x, chunk.y, chunk.z].iter().for_each(|v| out.extend(v.to_le_bytes()));
            out.extend((value.len() as u32).to_le_bytes());
            out.extend_from_slice(&value);
        }
    }
    match memory <= MAX_BODY_MEMORY_BYTES {
        true => Ok(out),
        false => {
            Err(format!("{memory} bytes of cells; at most {MAX_BODY_MEMORY_BYTES} are stored"))
        }
    }
}

fn put_motion(body: &SavedBody, out: &mut Vec<u8>) -> Result<(), String> {
    body.origin_voxel.to_array().iter().for_each(|v| out.extend(v.to_le_bytes()));
    let SavedBody { pose, linear_velocity_m_s, angular_velocity_rad_s, .. } = body;
    let numbers =
        [&pose.position_voxels[..], &pose.rotation, linear_velocity_m_s, angular_velocity_rad_s];
    for number in numbers.into_iter().flatten() {
        if !number.is_finite() {
            return Err(format!("a pose or velocity of {number}"));
        }
        out.extend(number.to_le_bytes());
    }
    Ok(())
}

/// Decodes what [`encode`] wrote. Offsets in errors count from the start of `bytes`, except within
/// a chunk's value.
pub(crate) fn decode(
    bytes: &[u8],
    materials: &MaterialTable,
) -> Result<Vec<SavedBody>, ValueError> {
    decode_within(bytes, materials, MAX_BODY_MEMORY_BYTES)
}

/// Decodes bodies that need at most this many bytes of memory.
fn decode_within(
    bytes: &[u8],
    materials: &MaterialTable,
    max_memory: u64,
) -> Result<Vec<SavedBody>, ValueError> {
    let mut reader = BodyReader { bytes, at: 0 };
    let [version] = reader.take()?;
    if version != VERSION {
        return Err(ValueError::Version { version });
    }
    let count = u32::from_le_bytes(reader.take()?) as usize;
    if count > MAX_BODIES {
        return Err(reader.wrong("more bodies than a world may have"));
    }
    let mut coder = ValueCoder::new(materials.kinds());
    let (mut bodies, mut memory_left) = (Vec::new(), max_memory);
    // All bodies share the materials, whose names may be long.
    let empty = empty_grid(materials);
    for _ in 0..count {
        bodies.push(reader.body(&mut coder, &empty, &mut memory_left)?);
    }
    match bytes.len() - reader.at {
        0 => Ok(bodies),
        bytes => Err(ValueError::Trailing { bytes }),
    }
}

/// Reads consecutive fields, never beyond the end.
struct BodyReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BodyReader<'a> {
    fn slice(&mut self, length: usize) -> Result<&'a [u8], ValueError> {
        let least = self.at.saturating_add(length);
        let part = self.bytes.get(self.at..least);
        let part = part.ok_or(ValueError::TooShort { bytes: self.bytes.len(), least })?;
        self.at = least;
        Ok(part)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], ValueError> {
        let mut field = [0; N];
        field.copy_from_slice(self.slice(N)?);
        Ok(field)
    }

    fn wrong(&self, what: &'static str) -> ValueError {
        ValueError::Field { at: self.at - 1, what }
    }

    fn integers(&mut self) -> Result<[i32; 3], ValueError> {
        let mut numbers = [0; 3];
        for number in &mut numbers {
            *number = i32::from_le_bytes(self.take()?);
        }
        Ok(numbers)
    }

    fn floats<const N: usize>(&mut self) -> Result<[f64; N], ValueError> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = f64::from_le_bytes(self.take()?);
            if !number.is_finite() {
                return Err(self.wrong("a pose or velocity that is not finite"));
            }
        }
        Ok(numbers)
    }

    /// Takes memory that a part of a body needs.
    fn spend(&self, bytes: u64, memory_left: &mut u64) -> Result<(), ValueError> {
        let left = memory_left.checked_sub(bytes);
        *memory_left = left.ok_or_else(|| self.wrong("bodies need more memory than they may"))?;
        Ok(())
    }

    fn body(
        &mut self,
        coder: &mut ValueCoder,
        empty: &Snapshot,
        memory_left: &mut u64,
    ) -> Result<SavedBody, ValueError> {
        let from = VoxelPos::from(self.integers()?);
        let pose = BodyPose { position_voxels: self.floats()?, rotation: self.floats()? };
        let (linear_velocity_m_s, angular_velocity_rad_s) = (self.floats()?, self.floats()?);
        let mut grid = VoxelGrid::from_snapshot(empty);
        let mut cells = DenseBox::default();
        let mut pages = BTreeSet::new();
        self.spend(BODY_BYTES, memory_left)?;
        for _ in 0..u32::from_le_bytes(self.take()?) {
            let [x, y, z] = self.integers()?;
            let chunk = ChunkPos::new(x, y, z);
            if !chunk.within_limits() {
                return Err(self.wrong("a chunk beyond the limits"));
            }
            let length = u32::from_le_bytes(self.take()?) as usize;
            if length > MAX_VALUE_BYTES {
                return Err(ValueError::TooLong { bytes: length, limit: MAX_VALUE_BYTES });
            }
            coder.decode(BlockKey::chunk(chunk), self.slice(length)?, &mut cells)?;
            grid.load(&cells);
            let page = if pages.insert(page_of(chunk)) { PAGE_BYTES } else { 0 };
            let bytes = grid.chunk(chunk).map_or(0, |view| chunk_bytes(view.mixed_rows()));
            self.spend(page + bytes, memory_left)?;
        }
        let cells = grid.snapshot();
        Ok(SavedBody {
            cells,
            origin_voxel: from,
            pose,
            linear_velocity_m_s,
            angular_velocity_rad_s,
        })
    }
}

#[cfg(test)]
#[path = "bodies_tests.rs"]
mod tests;
