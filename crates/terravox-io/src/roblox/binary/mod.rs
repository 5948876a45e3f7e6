//! The binary container, `.rbxm` and `.rbxl`: finds the Terrain in a model or place,
//! replaces its voxels, and writes a model that holds one.
//!
//! ```text
//! 3c 72 6f 62 6c 6f 78 21 89 ff 0d 0a 1a 0a   "<roblox!" and its check bytes
//! u16 version (0), i32 classes, i32 instances, 8 bytes of 0
//! then chunks: name[4], u32 packed length, u32 length, u32 0, payload
//! ```
//!
//! All little-endian. A payload is raw if its packed length is 0, zstd if it starts with
//! that magic number, else an LZ4 block. `INST` names a class and counts its instances,
//! `PROP` holds one property of all instances of a class, `SSTR` holds the values of
//! properties that are shared strings, `END` is last. Other chunks are skipped.
//!
//! Most of a place is not terrain. Of each chunk only the first bytes are unpacked, which name its
//! class and property; the chunks with terrain are unpacked whole, within the budget. What a
//! chunk that is skipped claims is not checked.
//!
//! Source: rbx-dom's `docs/binary.md` and real files.

mod file_chunk;
mod lz4_prefix;
mod payload;
mod replace;
mod write;
mod zstd;

use super::error::{FilePart, RobloxError};
use super::smooth_grid::has_chunks;
use super::terrain_instance::{RobloxFile, SkippedParts, TerrainProperty, TerrainValues};
use crate::import_budget::ImportBudget;
use file_chunk::FileChunk;
use payload::{PayloadFields, PropertyColumn, SharedStrings};
use ruzstd::decoding::FrameDecoder;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

pub(super) use write::write;

pub(super) const MAGIC: &[u8; 14] = b"<roblox!\x89\xff\r\n\x1a\n";
const HEADER_BYTES: usize = 32;
/// Memory of a class with its index, and of a column of values.
const ENTRY_BYTES: u64 = 256;
/// Units of work for a value.
const VALUE_WORK: u64 = 16;

const TYPE_STRING: u8 = 0x01;
const TYPE_SHARED_STRING: u8 = 0x1C;

/// Finds the Terrain to import: the first that has chunks, else the first.
pub(super) fn read<'a>(
    bytes: &'a [u8],
    budget: &mut ImportBudget,
) -> Result<RobloxFile<'a>, RobloxError> {
    scan(bytes, budget)?.finish()
}

/// Returns the file with another SmoothGrid in the Terrain that an import takes. All else stays as
/// it is, byte for byte.
pub(super) fn replace(
    bytes: &[u8],
    budget: &mut ImportBudget,
    smooth_grid: &[u8],
) -> Result<Vec<u8>, RobloxError> {
    scan(bytes, budget)?.replace(bytes, smooth_grid)
}

/// Collects the Terrains of a file.
fn scan<'a, 'b>(
    bytes: &'a [u8],
    budget: &'b mut ImportBudget,
) -> Result<BinaryTerrainFinder<'a, 'b>, RobloxError> {
    check_header(bytes)?;
    let mut finder = BinaryTerrainFinder {
        budget,
        decoder: FrameDecoder::new(),
        classes: Vec::new(),
        class_by_id: HashMap::new(),
        shared: None,
        class_count: 0,
        instances: 0,
        after_properties: 0,
        skipped: SkippedParts::default(),
    };
    let mut offset = HEADER_BYTES;
    loop {
        let chunk = FileChunk::parse(bytes, offset)?;
        let is_wanted = match &chunk.name {
            b"INST" => finder.read_class(&chunk)?,
            b"PROP" => finder.read_property(&chunk)?,
            b"SSTR" => {
                finder.shared = Some(chunk);
                true
            }
            b"END\0" => break,
            _ => false,
        };
        if !is_wanted {
            finder.skipped.parts += 1;
            finder.skipped.bytes += chunk.payload.len() as u64;
        }
        offset = chunk.end;
        if matches!(&chunk.name, b"INST" | b"PROP") {
            finder.after_properties = offset;
        }
    }
    Ok(finder)
}

/// Refuses damaged headers and unknown versions.
fn check_header(bytes: &[u8]) -> Result<(), RobloxError> {
    if bytes.len() < HEADER_BYTES {
        let what = format!("a header of 32 bytes is cut short after {}", bytes.len());
        return Err(RobloxError::damaged(FilePart::File, bytes.len(), what));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(RobloxError::damaged(FilePart::File, 8, "the bytes after <roblox! are wrong"));
    }
    match u16::from_le_bytes([bytes[14], bytes[15]]) {
        0 => Ok(()),
        found => Err(RobloxError::Version {
            part: FilePart::File,
            offset: 14,
            found: found.to_string(),
            known: 0,
        }),
    }
}

/// A class named Terrain.
struct TerrainClass<'a> {
    id: u32,
    instances: u32,
    smooth_grids: Option<Box<PropertyColumn<'a>>>,
    colours: Option<Box<PropertyColumn<'a>>>,
}

/// One Terrain of a file.
#[derive(Clone)]
struct TerrainLocation {
    /// Index of its class.
    class: usize,
    /// Index among the instances of the class.
    instance: u32,
    /// Where its SmoothGrid lies in the payload, if the file has it.
    smooth_grid: Option<Range<usize>>,
}

/// Collects the Terrains of a file, chunk by chunk.
struct BinaryTerrainFinder<'a, 'b> {
    budget: &'b mut ImportBudget,
    /// Reused: its tables take longer to make than most chunks to unpack.
    decoder: FrameDecoder,
    /// In the order of the file.
    classes: Vec<TerrainClass<'a>>,
    /// Indices in `classes`. Ids come from the file, so the hash is keyed.
    class_by_id: HashMap<u32, usize>,
    shared: Option<FileChunk<'a>>,
    class_count: u64,
    instances: u64,
    /// Offset of what follows the last class or property.
    after_properties: usize,
    skipped: SkippedParts,
}

impl<'a> BinaryTerrainFinder<'a, '_> {
    /// Reads an INST chunk; returns whether it is that of a class named Terrain.
    fn read_class(&mut self, chunk: &FileChunk<'a>) -> Result<bool, RobloxError> {
        let prefix = chunk.prefix(&mut self.decoder, self.budget)?;
        let mut fields = PayloadFields::new(chunk, prefix.bytes(), 0);
        let id = fields.read_u32()?;
        self.class_count += 1;
        let Some(name) = read_name(&mut fields)? else { return Ok(false) };
        fields.read_bytes(1)?;
        let instances = fields.read_u32()?;
        // Each instance has a referent, which is not needed.
        let (wanted, left) = (4 * u64::from(instances), chunk.length - fields.offset() as u64);
        if wanted > left {
            return Err(chunk.damaged(format!("{wanted} bytes wanted, {left} are left")));
        }
        self.instances += u64::from(instances);
        if &prefix.bytes()[name] != b"Terrain" {
            return Ok(false);
        }
        self.budget.spend_memory("its classes", ENTRY_BYTES).map_err(chunk.over_budget())?;
        self.class_by_id.entry(id).or_insert(self.classes.len());
        self.classes.push(TerrainClass { id, instances, smooth_grids: None, colours: None });
        Ok(true)
    }

    /// Reads a PROP chunk if it is a [`TerrainProperty`] of a Terrain; returns whether it is.
    fn read_property(&mut self, chunk: &FileChunk<'a>) -> Result<bool, RobloxError> {
        let prefix = chunk.prefix(&mut self.decoder, self.budget)?;
        let mut fields = PayloadFields::new(chunk, prefix.bytes(), 0);
        let id = fields.read_u32()?;
        let Some(&class) = self.class_by_id.get(&id) else { return Ok(false) };
        let Some(name) = read_name(&mut fields)? else { return Ok(false) };
        let Some(property) = TerrainProperty::from_name(&prefix.bytes()[name]) else {
            return Ok(false);
        };
        let is_shared = match prefix.bytes()[fields.read_bytes(1)?.start] {
            TYPE_STRING => false,
            TYPE_SHARED_STRING => true,
            other => {
                let what = format!("{} is of type {other:#04x}, not a string", property.name());
                return Err(chunk.damaged(what));
            }
        };
        let start = fields.offset();
        self.budget.spend_memory("its properties", ENTRY_BYTES).map_err(chunk.over_budget())?;
        let payload = match prefix.into_whole() {
            Some(whole) => whole,
            None => chunk.unpack(&mut self.decoder, self.budget)?,
        };
        let column = PropertyColumn { chunk: *chunk, payload, start, is_shared };
        let class = &mut self.classes[class];
        let slot = match property {
            TerrainProperty::SmoothGrid => &mut class.smooth_grids,
            TerrainProperty::MaterialColors => &mut class.colours,
        };
        *slot = Some(Box::new(column));
        Ok(true)
    }

    fn finish(mut self) -> Result<RobloxFile<'a>, RobloxError> {
        let mut shared = self.index_shared()?;
        let (found, with_chunks) = self.find_terrain(shared.as_ref())?;
        let mut file = RobloxFile {
            terrain: None,
            terrains_with_chunks: with_chunks,
            classes: self.class_count,
            instances: self.instances,
            skipped: self.skipped,
        };
        if let Some(found) = found {
            let colours = self.colours_of(&found, shared.as_ref())?;
            let column = self.classes[found.class].smooth_grids.take();
            let smooth_grid = match (column, found.smooth_grid) {
                (Some(column), Some(range)) if column.is_shared => {
                    shared.take().map(|shared| part_of(shared.payload, range))
                }
                (Some(column), Some(range)) => Some(part_of(column.payload, range)),
                _ => None,
            };
            file.terrain =
                Some(TerrainValues { smooth_grid: smooth_grid.unwrap_or_default(), colours });
        }
        Ok(file)
    }

    /// Unpacks the shared strings if a column uses them.
    fn index_shared(&mut self) -> Result<Option<SharedStrings<'a>>, RobloxError> {
        let columns =
            self.classes.iter().flat_map(|class| class.smooth_grids.iter().chain(&class.colours));
        let is_needed = columns.into_iter().any(|column| column.is_shared);
        let Some(chunk) = self.shared.filter(|_| is_needed) else { return Ok(None) };
        let payload = chunk.unpack(&mut self.decoder, self.budget)?;
        SharedStrings::index(&chunk, payload, self.budget).map(Some)
    }

    /// Returns the Terrain to import, and how many have chunks.
    fn find_terrain(
        &mut self,
        shared: Option<&SharedStrings<'a>>,
    ) -> Result<(Option<TerrainLocation>, u64), RobloxError> {
        let (mut first, mut first_with_chunks, mut with_chunks) = (None, None, 0);
        for (i, class) in self.classes.iter().enumerate().filter(|(_, class)| class.instances > 0) {
            let at = |instance, smooth_grid| TerrainLocation { class: i, instance, smooth_grid };
            let Some(column) = &class.smooth_grids else {
                first.get_or_insert(at(0, None));
                continue;
            };
            let payload = match shared.filter(|_| column.is_shared) {
                Some(shared) => &shared.payload,
                None => &column.payload,
            };
            for (instance, value) in (0..).zip(column.values(class.instances, shared)?) {
                let value = value?;
                let work = self.budget.spend_work("its Terrains", VALUE_WORK);
                work.map_err(column.chunk.over_budget())?;
                if has_chunks(&payload[value.clone()]) {
                    with_chunks += 1;
                    first_with_chunks.get_or_insert(at(instance, Some(value)));
                } else {
                    first.get_or_insert(at(instance, Some(value)));
                }
            }
        }
        Ok((first_with_chunks.or(first), with_chunks))
    }

    /// Returns the MaterialColors of a Terrain.
    fn colours_of(
        &mut self,
        terrain: &TerrainLocation,
        shared: Option<&SharedStrings<'a>>,
    ) -> Result<Option<Vec<u8>>, RobloxError> {
        let class = &self.classes[terrain.class];
        let Some(column) = &class.colours else { return Ok(None) };
        let (mut found, mut count) = (None, 0);
        // All are read, so that damaged ones are found.
        for value in column.values(class.instances, shared)? {
            let value = value?;
            if count == terrain.instance {
                found = Some(value);
            }
            count += 1;
        }
        let work = VALUE_WORK * u64::from(count);
        self.budget.spend_work("its colours", work).map_err(column.chunk.over_budget())?;
        let Some(range) = found else { return Ok(None) };
        let memory = self.budget.spend_memory("its colours", range.len() as u64);
        memory.map_err(column.chunk.over_budget())?;
        let payload = match shared.filter(|_| column.is_shared) {
            Some(shared) => &shared.payload,
            None => &column.payload,
        };
        Ok(Some(payload[range].to_vec()))
    }
}

/// Reads a name from the first bytes of a payload; `None` if it is longer than they are:
/// no class or property of terrain has such a name.
fn read_name(fields: &mut PayloadFields<'_, '_>) -> Result<Option<Range<usize>>, RobloxError> {
    let length = u64::from(fields.read_u32()?);
    let left = fields.chunk.length - fields.offset() as u64;
    if length > left {
        return Err(fields.chunk.damaged(format!("{length} bytes wanted, {left} are left")));
    }
    // A flag and a count of four bytes follow.
    if fields.offset() as u64 + length + 5 > file_chunk::PREFIX_BYTES as u64 {
        return Ok(None);
    }
    fields.read_bytes(length).map(Some)
}

/// Returns a part of a payload, in place.
fn part_of(payload: Cow<'_, [u8]>, range: Range<usize>) -> Cow<'_, [u8]> {
    match payload {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[range]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(range.end);
            bytes.drain(..range.start);
            Cow::Owned(bytes)
        }
    }
}
