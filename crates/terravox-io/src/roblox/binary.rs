//! The binary container, `.rbxm` and `.rbxl`: finds the Terrain in a model or place, and writes a
//! model that holds one.
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
//! Source: rbx-dom's `docs/binary.md` and real files.

use super::error::{FilePart, RobloxError};
use super::limits::ImportLimits;
use super::terrain_instance::{RobloxFile, TerrainInstance, TerrainProperty};
use std::io::Read;

pub(super) const MAGIC: &[u8; 14] = b"<roblox!\x89\xff\r\n\x1a\n";
const HEADER_BYTES: usize = 32;
const CHUNK_HEADER_BYTES: usize = 16;
/// Bytes of the hash of a shared string.
const HASH_BYTES: u64 = 16;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// An LZ4 block decompresses to at most this many times its length, plus [`LZ4_EXTRA_BYTES`].
const LZ4_MAX_RATIO: u64 = 255;
/// Room for the literals of a short LZ4 block.
const LZ4_EXTRA_BYTES: u64 = 64;
/// zstd windows up to this size are accepted even for shorter payloads.
const ZSTD_WINDOW_BYTES: u64 = 1 << 27;
/// Most bytes that are allocated for a payload before it is decompressed.
const PREALLOCATED_BYTES: usize = 1 << 20;

const TYPE_STRING: u8 = 0x01;
const TYPE_SHARED_STRING: u8 = 0x1C;

/// Finds all Terrain instances, in the order of the file.
pub(super) fn read(bytes: &[u8], limits: &ImportLimits) -> Result<RobloxFile, RobloxError> {
    let mut finder =
        BinaryTerrainFinder { limits, classes: Vec::new(), shared: None, value_bytes: 0 };
    let (mut class_count, mut instances) = (0, 0);
    check_header(bytes)?;
    let mut offset = HEADER_BYTES;
    loop {
        let chunk = FileChunk::parse(bytes, offset)?;
        match &chunk.name {
            b"INST" => {
                class_count += 1;
                instances += finder.read_class(&chunk)?;
            }
            b"PROP" => finder.read_property(&chunk)?,
            b"SSTR" => finder.shared = Some(SharedStrings { chunk, payload: None }),
            b"END\0" => break,
            _ => {}
        }
        offset = chunk.end;
    }
    let terrains = finder.classes.into_iter().flat_map(|class| class.terrains).collect();
    Ok(RobloxFile { terrains, classes: class_count, instances })
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

/// One compressed chunk of the container.
#[derive(Clone, Copy)]
struct FileChunk<'a> {
    name: [u8; 4],
    /// Offset of its header in the file.
    offset: usize,
    /// As in the file, perhaps compressed.
    payload: &'a [u8],
    /// Decompressed length of the payload.
    length: u64,
    is_packed: bool,
    /// Offset of the next chunk.
    end: usize,
}

impl<'a> FileChunk<'a> {
    /// Parses the chunk at `offset` of the file.
    fn parse(bytes: &'a [u8], offset: usize) -> Result<FileChunk<'a>, RobloxError> {
        let Some(header) = bytes[offset..].first_chunk::<CHUNK_HEADER_BYTES>() else {
            let what = "the file ends without an END chunk";
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        };
        let word =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let name = [header[0], header[1], header[2], header[3]];
        let (packed, length) = (word(4), word(8));
        let stored = if packed == 0 { length } else { packed };
        let payload = &bytes[offset + CHUNK_HEADER_BYTES..];
        if u64::from(stored) > payload.len() as u64 {
            let what = format!(
                "chunk {} claims {stored} bytes, {} are left",
                name.escape_ascii(),
                payload.len()
            );
            return Err(RobloxError::damaged(FilePart::File, offset, what));
        }
        let payload = &payload[..stored as usize];
        let end = offset + CHUNK_HEADER_BYTES + payload.len();
        let is_packed = packed != 0;
        Ok(FileChunk { name, offset, payload, length: length.into(), is_packed, end })
    }

    fn damaged(&self, what: impl std::fmt::Display) -> RobloxError {
        let what = format!("chunk {}: {what}", self.name.escape_ascii());
        RobloxError::damaged(FilePart::File, self.offset, what)
    }

    /// Decompresses the payload, up to `limits.unpacked_bytes`.
    fn unpack(&self, limits: &ImportLimits) -> Result<Vec<u8>, RobloxError> {
        if !self.is_packed {
            return Ok(self.payload.to_vec());
        }
        if self.length > limits.unpacked_bytes {
            return Err(RobloxError::TooLarge {
                part: FilePart::File,
                offset: self.offset,
                what: "a chunk unpacks to too many bytes",
                limit: limits.unpacked_bytes,
            });
        }
        let unpacked = if self.payload.starts_with(&ZSTD_MAGIC) {
            self.unpack_zstd()?
        } else {
            self.unpack_lz4()?
        };
        if unpacked.len() as u64 != self.length {
            let what = format!("{} bytes where {} are claimed", unpacked.len(), self.length);
            return Err(self.damaged(what));
        }
        Ok(unpacked)
    }

    fn unpack_lz4(&self) -> Result<Vec<u8>, RobloxError> {
        if self.length > self.payload.len() as u64 * LZ4_MAX_RATIO + LZ4_EXTRA_BYTES {
            let what = format!("{} bytes cannot unpack to {}", self.payload.len(), self.length);
            return Err(self.damaged(what));
        }
        let mut unpacked = vec![0; self.length as usize];
        let length = lz4_flex::block::decompress_into(self.payload, &mut unpacked)
            .map_err(|error| self.damaged(format!("LZ4: {error}")))?;
        unpacked.truncate(length);
        Ok(unpacked)
    }

    fn unpack_zstd(&self) -> Result<Vec<u8>, RobloxError> {
        let mut decoder = ruzstd::decoding::FrameDecoder::new();
        decoder.set_max_window_size(self.length.max(ZSTD_WINDOW_BYTES));
        let stream =
            ruzstd::decoding::StreamingDecoder::new_with_decoder(self.payload, &mut decoder)
                .map_err(|error| self.damaged(format!("zstd: {error}")))?;
        let mut unpacked = Vec::with_capacity((self.length as usize).min(PREALLOCATED_BYTES));
        stream
            .take(self.length + 1)
            .read_to_end(&mut unpacked)
            .map_err(|error| self.damaged(format!("zstd: {error}")))?;
        Ok(unpacked)
    }
}

/// A class named Terrain and its instances.
struct TerrainClass {
    id: u32,
    terrains: Vec<TerrainInstance>,
}

/// The values of properties that are shared strings.
struct SharedStrings<'a> {
    chunk: FileChunk<'a>,
    /// Decompressed on first use.
    payload: Option<Vec<u8>>,
}

/// Collects the Terrains of a file, chunk by chunk.
struct BinaryTerrainFinder<'a> {
    limits: &'a ImportLimits,
    classes: Vec<TerrainClass>,
    shared: Option<SharedStrings<'a>>,
    /// Bytes of all property values so far.
    value_bytes: u64,
}

impl<'a> BinaryTerrainFinder<'a> {
    /// Reads an INST chunk; returns its number of instances.
    fn read_class(&mut self, chunk: &FileChunk<'a>) -> Result<u64, RobloxError> {
        let payload = chunk.unpack(self.limits)?;
        let mut fields = PayloadFields { chunk, rest: &payload };
        let id = fields.read_u32()?;
        let is_terrain = fields.read_string()? == b"Terrain";
        fields.read_bytes(1)?;
        let count = fields.read_u32()?;
        // Each instance has a referent in the file, so memory is bounded by the file's length.
        fields.read_bytes(u64::from(count) * 4)?;
        if is_terrain {
            let terrains = (0..count).map(|_| TerrainInstance::default()).collect();
            self.classes.push(TerrainClass { id, terrains });
        }
        Ok(count.into())
    }

    /// Reads a PROP chunk if it is a [`TerrainProperty`] of a Terrain.
    fn read_property(&mut self, chunk: &FileChunk<'a>) -> Result<(), RobloxError> {
        let payload = chunk.unpack(self.limits)?;
        let mut fields = PayloadFields { chunk, rest: &payload };
        let id = fields.read_u32()?;
        let Some(class) = self.classes.iter().position(|class| class.id == id) else {
            return Ok(());
        };
        let Some(property) = TerrainProperty::from_name(fields.read_string()?) else {
            return Ok(());
        };
        let count = self.classes[class].terrains.len();
        let values = match fields.read_bytes(1)?[0] {
            TYPE_STRING => self.read_strings(fields, count)?,
            TYPE_SHARED_STRING => self.read_shared_strings(fields, count)?,
            other => {
                let what = format!("{} is of type {other:#04x}, not a string", property.name());
                return Err(chunk.damaged(what));
            }
        };
        for (terrain, value) in self.classes[class].terrains.iter_mut().zip(values) {
            terrain.set(property, value);
        }
        Ok(())
    }

    fn read_strings(
        &mut self,
        mut fields: PayloadFields<'_, 'a>,
        count: usize,
    ) -> Result<Vec<Vec<u8>>, RobloxError> {
        let chunk = fields.chunk;
        (0..count)
            .map(|_| fields.read_string().and_then(|value| self.copy_value(chunk, value)))
            .collect()
    }

    /// Reads values by index: big-endian u32 with interleaved bytes.
    fn read_shared_strings(
        &mut self,
        mut fields: PayloadFields<'_, 'a>,
        count: usize,
    ) -> Result<Vec<Vec<u8>>, RobloxError> {
        let chunk = fields.chunk;
        let bytes = fields.read_bytes(count as u64 * 4)?;
        let index = |i: usize| {
            let byte = |b: usize| bytes[b * count + i];
            u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
        };
        let Some(SharedStrings { chunk: table, payload }) = self.shared.take() else {
            return Err(chunk.damaged("shared strings, but the file has no SSTR chunk"));
        };
        let payload = match payload {
            Some(payload) => payload,
            None => table.unpack(self.limits)?,
        };
        let values = (0..count)
            .map(|i| shared_value(&table, &payload, index(i)))
            .map(|value| value.and_then(|value| self.copy_value(chunk, value)))
            .collect();
        self.shared = Some(SharedStrings { chunk: table, payload: Some(payload) });
        values
    }

    /// Copies a property value within the limit of all values.
    fn copy_value(&mut self, chunk: &FileChunk<'_>, value: &[u8]) -> Result<Vec<u8>, RobloxError> {
        self.value_bytes += value.len() as u64;
        if self.value_bytes > self.limits.unpacked_bytes {
            return Err(RobloxError::TooLarge {
                part: FilePart::File,
                offset: chunk.offset,
                what: "too many bytes of terrain",
                limit: self.limits.unpacked_bytes,
            });
        }
        Ok(value.to_vec())
    }
}

/// Returns value `index` of an SSTR payload: u32 version, u32 count, then for each
/// a hash of 16 bytes and a string.
fn shared_value<'p>(
    chunk: &'p FileChunk<'_>,
    payload: &'p [u8],
    index: u32,
) -> Result<&'p [u8], RobloxError> {
    let mut fields = PayloadFields { chunk, rest: payload };
    fields.read_u32()?;
    let count = fields.read_u32()?;
    if index >= count {
        return Err(chunk.damaged(format!("shared string {index} of {count}")));
    }
    for _ in 0..index {
        fields.read_bytes(HASH_BYTES)?;
        fields.read_string()?;
    }
    fields.read_bytes(HASH_BYTES)?;
    fields.read_string()
}

/// Reads consecutive fields of a decompressed payload.
struct PayloadFields<'p, 'c> {
    chunk: &'p FileChunk<'c>,
    rest: &'p [u8],
}

impl<'p> PayloadFields<'p, '_> {
    fn read_bytes(&mut self, count: u64) -> Result<&'p [u8], RobloxError> {
        if count > self.rest.len() as u64 {
            let what = format!("{count} bytes wanted, {} are left", self.rest.len());
            return Err(self.chunk.damaged(what));
        }
        let (bytes, rest) = self.rest.split_at(count as usize);
        self.rest = rest;
        Ok(bytes)
    }

    fn read_u32(&mut self) -> Result<u32, RobloxError> {
        let bytes = self.read_bytes(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn read_string(&mut self) -> Result<&'p [u8], RobloxError> {
        let length = self.read_u32()?;
        self.read_bytes(length.into())
    }
}

/// Writes a model, `.rbxm`, that holds one Terrain with these properties, LZ4-compressed.
pub(super) fn write(properties: &[(TerrainProperty, &[u8])]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([0, 0]);
    out.extend(1u32.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend([0; 8]);
    let class = 0u32.to_le_bytes();

    // Class 0: one instance, not a service, referent 0.
    let mut instance = class.to_vec();
    push_string(&mut instance, b"Terrain");
    instance.push(0);
    instance.extend(1u32.to_le_bytes());
    instance.extend([0; 4]);
    push_chunk(&mut out, b"INST", &instance);

    let mut push_property = |name: &[u8], value: &[u8]| {
        let mut property = class.to_vec();
        push_string(&mut property, name);
        property.push(TYPE_STRING);
        push_string(&mut property, value);
        push_chunk(&mut out, b"PROP", &property);
    };
    push_property(b"Name", b"Terrain");
    for (property, value) in properties {
        push_property(property.name().as_bytes(), value);
    }
    // Version 0, one child (referent 0) without a parent (-1, zigzag-encoded as 1).
    push_chunk(&mut out, b"PRNT", &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    push_raw_chunk(&mut out, b"END\0", b"</roblox>");
    out
}

fn push_string(to: &mut Vec<u8>, value: &[u8]) {
    to.extend(chunk_length(value.len()).to_le_bytes());
    to.extend(value);
}

fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    let packed = lz4_flex::block::compress(payload);
    out.extend(name);
    out.extend(chunk_length(packed.len()).to_le_bytes());
    out.extend(chunk_length(payload.len()).to_le_bytes());
    out.extend([0; 4]);
    out.extend(packed);
}

fn push_raw_chunk(out: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    out.extend(name);
    out.extend([0; 4]);
    out.extend(chunk_length(payload.len()).to_le_bytes());
    out.extend([0; 4]);
    out.extend(payload);
}

/// Lengths are 32 bits; the caller has rejected longer values.
fn chunk_length(length: usize) -> u32 {
    assert!(length <= u32::MAX as usize, "a value of {length} bytes does not fit the container");
    length as u32
}
