//! The parts of a Roblox file that a grid does not hold. Stored with the world, they make an export
//! give the same bytes.

use super::error::{FilePart, RobloxError};
use super::limits::MAX_CHUNK_COORDINATE;
use terravox::voxel::{ChunkPos, MaterialTable};

const VERSION: u8 = 1;
const HAS_COLOURS: u8 = 1;
const HAS_ORDER: u8 = 2;
const HEADER_BYTES: usize = 2;
const POSITION_BYTES: usize = 12;

/// Materials of a Roblox file whose colours can be set: 2 to 22.
const COLOURED_MATERIALS: std::ops::Range<usize> = 2..23;
/// Bytes of MaterialColors in current files: air and water (reserved), then [`COLOURED_MATERIALS`].
const COLOUR_BYTES: usize = 3 * COLOURED_MATERIALS.end;
/// Room for 256 materials in future files.
const MAX_COLOUR_BYTES: usize = 3 * 256;

/// The parts of a Roblox file that a grid does not hold. Store it with the world, for
/// [`export`](super::export()).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobloxMetadata {
    /// Chunks in the order of the file; `None` if they ascend by x, y, z.
    pub order: Option<Vec<ChunkPos>>,
    /// MaterialColors of the file, three bytes per material, if the file has them. An export
    /// replaces the colours of materials 2 to 22 with those of the world and keeps the other bytes.
    pub colours: Option<Vec<u8>>,
}

impl RobloxMetadata {
    /// The name under which a world file has it, as extra data.
    pub const EXTRA_NAME: &str = "roblox";

    /// Encodes the metadata, for a world file:
    ///
    /// ```text
    /// u8 version (1), u8 flags (1: colours, 2: order)
    /// if colours: u16 length, bytes
    /// if order:   u32 count, count × 3 i32 (x, y, z)
    /// ```
    ///
    /// Little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flags = if self.colours.is_some() { HAS_COLOURS } else { 0 }
            | if self.order.is_some() { HAS_ORDER } else { 0 };
        let mut out = vec![VERSION, flags];
        if let Some(colours) = &self.colours {
            let colours = &colours[..colours.len().min(MAX_COLOUR_BYTES)];
            out.extend((colours.len() as u16).to_le_bytes());
            out.extend(colours);
        }
        if let Some(order) = &self.order {
            out.extend((order.len() as u32).to_le_bytes());
            out.extend(order.iter().flat_map(|p| [p.x, p.y, p.z]).flat_map(i32::to_le_bytes));
        }
        out
    }

    /// Decodes metadata that [`Self::to_bytes`] encoded. Memory is bounded by the length of
    /// `bytes`.
    ///
    /// # Errors
    /// If the version is unknown, or the bytes are truncated or too long.
    pub fn from_bytes(bytes: &[u8]) -> Result<RobloxMetadata, RobloxError> {
        let mut fields = MetadataFields { bytes, offset: 0 };
        let &[version, flags] = fields.read::<HEADER_BYTES>()?;
        if version != VERSION {
            return Err(RobloxError::Version {
                part: FilePart::Metadata,
                offset: 0,
                found: version.to_string(),
                known: VERSION.into(),
            });
        }
        if flags & !(HAS_COLOURS | HAS_ORDER) != 0 {
            return Err(RobloxError::damaged(FilePart::Metadata, 1, format!("flags {flags:#04x}")));
        }
        let mut metadata = RobloxMetadata::default();
        if flags & HAS_COLOURS != 0 {
            metadata.colours = Some(fields.read_colours()?);
        }
        if flags & HAS_ORDER != 0 {
            metadata.order = Some(fields.read_order()?);
        }
        if fields.offset != bytes.len() {
            let what = format!("{} bytes too many", bytes.len() - fields.offset);
            return Err(RobloxError::damaged(FilePart::Metadata, fields.offset, what));
        }
        Ok(metadata)
    }

    /// Returns the MaterialColors of a world with these materials.
    pub(super) fn material_colors(&self, table: &MaterialTable) -> Vec<u8> {
        let mut colours = self.colours.clone().unwrap_or_default();
        colours.resize(colours.len().max(COLOUR_BYTES), 0);
        for id in COLOURED_MATERIALS {
            if let Some(material) = table.get(id as u8) {
                colours[3 * id..3 * id + 3].copy_from_slice(&material.colour);
            }
        }
        colours
    }
}

/// Returns the material ids and colours in MaterialColors.
///
/// # Errors
/// A note for the user if the length is wrong.
pub(super) fn read_colours(colours: &[u8]) -> Result<Vec<(u8, [u8; 3])>, String> {
    let length = colours.len();
    if !(COLOUR_BYTES..=MAX_COLOUR_BYTES).contains(&length) || !length.is_multiple_of(3) {
        return Err(format!(
            "MaterialColors has {length} bytes instead of {COLOUR_BYTES}; its colours are ignored"
        ));
    }
    let rgb = |id: usize| [colours[3 * id], colours[3 * id + 1], colours[3 * id + 2]];
    Ok(COLOURED_MATERIALS.map(|id| (id as u8, rgb(id))).collect())
}

/// Reads consecutive fields.
struct MetadataFields<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> MetadataFields<'a> {
    fn read_slice(&mut self, length: usize) -> Result<&'a [u8], RobloxError> {
        let Some(bytes) = self.bytes[self.offset..].get(..length) else {
            let what =
                format!("{length} bytes wanted, {} are left", self.bytes.len() - self.offset);
            return Err(RobloxError::damaged(FilePart::Metadata, self.offset, what));
        };
        self.offset += length;
        Ok(bytes)
    }

    fn read<const N: usize>(&mut self) -> Result<&'a [u8; N], RobloxError> {
        let offset = self.offset;
        let slice = self.read_slice(N)?;
        slice
            .first_chunk()
            .ok_or_else(|| RobloxError::damaged(FilePart::Metadata, offset, "cut short"))
    }

    fn read_colours(&mut self) -> Result<Vec<u8>, RobloxError> {
        let offset = self.offset;
        let length = usize::from(u16::from_le_bytes(*self.read()?));
        if length > MAX_COLOUR_BYTES {
            let what = format!("{length} bytes of colours, at most {MAX_COLOUR_BYTES}");
            return Err(RobloxError::damaged(FilePart::Metadata, offset, what));
        }
        Ok(self.read_slice(length)?.to_vec())
    }

    fn read_order(&mut self) -> Result<Vec<ChunkPos>, RobloxError> {
        let count = u32::from_le_bytes(*self.read()?) as usize;
        let offset = self.offset;
        let positions = self.read_slice(count.saturating_mul(POSITION_BYTES))?;
        let (words, _) = positions.as_chunks::<4>();
        let order: Vec<ChunkPos> = words
            .chunks_exact(3)
            .map(|p| [p[0], p[1], p[2]].map(i32::from_le_bytes))
            .map(|[x, y, z]| ChunkPos::new(x, y, z))
            .collect();
        let beyond = |v: i32| v.unsigned_abs() > MAX_CHUNK_COORDINATE as u32;
        match order.iter().position(|p| beyond(p.x) || beyond(p.y) || beyond(p.z)) {
            Some(i) => {
                let what = format!("chunk {} is beyond the limits", order[i]);
                Err(RobloxError::damaged(FilePart::Metadata, offset + i * POSITION_BYTES, what))
            }
            None => Ok(order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> RobloxMetadata {
        RobloxMetadata {
            order: Some(vec![ChunkPos::new(1, -2, 3), ChunkPos::new(0, 0, MAX_CHUNK_COORDINATE)]),
            colours: Some((0..69).collect()),
        }
    }

    #[test]
    fn encoded_metadata_decode_to_the_same() {
        for metadata in [
            RobloxMetadata::default(),
            RobloxMetadata { order: None, ..full() },
            RobloxMetadata { colours: None, ..full() },
            full(),
        ] {
            assert_eq!(RobloxMetadata::from_bytes(&metadata.to_bytes()), Ok(metadata));
        }
    }

    #[test]
    fn the_bytes_are_fixed() {
        assert_eq!(RobloxMetadata::default().to_bytes(), [1, 0]);
        let metadata = RobloxMetadata {
            order: Some(vec![ChunkPos::new(1, -2, 3)]),
            colours: Some(vec![7, 8, 9]),
        };
        let bytes = [1, 3, 3, 0, 7, 8, 9, 1, 0, 0, 0, 1, 0, 0, 0, 254, 255, 255, 255, 3, 0, 0, 0];
        assert_eq!(metadata.to_bytes(), bytes);
    }

    #[test]
    fn damaged_metadata_are_refused() {
        let bytes = full().to_bytes();
        for end in 0..bytes.len() {
            assert!(RobloxMetadata::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        let error = |bytes: &[u8]| RobloxMetadata::from_bytes(bytes).unwrap_err().to_string();
        assert!(error(&[9, 0]).contains("version 9"));
        assert!(error(&[1, 4]).contains("flags"));
        assert!(error(&[1, 0, 0]).contains("byte 2: 1 bytes too many"));
        assert!(error(&[1, 2, 255, 255, 255, 255]).contains("byte 6"));
        assert!(error(&[1, 1, 255, 255]).contains("at most 768"));
        let far = [1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0];
        assert!(error(&far).contains("beyond the limits"));
    }

    #[test]
    fn reserved_and_unknown_colours_are_kept_and_the_others_are_the_worlds() {
        let mut file: Vec<u8> = (0..72).collect();
        let metadata = RobloxMetadata { order: None, colours: Some(file.clone()) };
        let mut table = MaterialTable::default();
        for (id, rgb) in read_colours(&file).unwrap() {
            assert!(table.set_colour(id, rgb));
        }
        assert_eq!(metadata.material_colors(&table), file);
        table.set_colour(22, [1, 2, 3]);
        file[66..69].copy_from_slice(&[1, 2, 3]);
        assert_eq!(metadata.material_colors(&table), file);
        assert_eq!(RobloxMetadata::default().material_colors(&table).len(), 69);
        assert!(read_colours(&[0; 68]).unwrap_err().contains("68 bytes"));
    }
}
