//! The header of a point cloud: how many points there are, how they are stored, and where they lie.
//!
//! Source: "LAS specification", version 1.4 R15 (ASPRS, 2019).

use super::super::error::HeightmapError;
use super::super::geotiff::GeoReference;
use super::refusal::{refuse, unreadable};
use crate::budget::ImportBudget;
use laz::LazVlr;
use laz::laszip::LazItemRecordBuilder;
use std::io::{Read, Seek, SeekFrom};

/// First bytes of a point cloud.
pub(super) const MAGIC: &[u8] = b"LASF";
/// Bytes of the shortest header, of version 1.0, and of one of 1.4.
const HEADER_BYTES: usize = 227;
const HEADER_1_4_BYTES: usize = 375;
/// Bytes of the header of a variable-length record.
const RECORD_BYTES: usize = 54;
/// Bit of the point format that says that points are compressed.
const COMPRESSED: u8 = 0x80;
/// Bytes of the formats of points, 0 to 10.
const FORMAT_BYTES: [u16; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// What the header and the records after it say.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// Number of points.
    pub points: u64,
    /// Bytes of a point; its format is 0 to 10.
    pub point_bytes: u16,
    pub format: u8,
    /// Offset of the first point, bytes.
    pub start: u64,
    /// Coordinates are whole numbers times `scale` plus `offset`.
    pub scale: [f64; 3],
    pub offset: [f64; 3],
    /// Lowest and highest coordinates.
    pub min: [f64; 3],
    pub max: [f64; 3],
    /// How points are compressed; `None` if they are not.
    pub packing: Option<LazVlr>,
    /// The reference system; corner and step are not filled in.
    pub reference: GeoReference,
    /// Metres of a unit of height.
    pub height_unit_m: f64,
}

/// A part of the header's bytes.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(array(bytes, at))
}

impl Header {
    /// Reads the header of a file.
    pub fn read(
        from: &mut (impl Read + Seek),
        budget: &mut ImportBudget,
    ) -> Result<Header, HeightmapError> {
        let mut bytes = vec![0; HEADER_BYTES];
        from.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        from.read_exact(&mut bytes).map_err(unreadable)?;
        if !bytes.starts_with(MAGIC) {
            return refuse("it does not begin with LASF; get another copy");
        }
        let (major, minor) = (bytes[24], bytes[25]);
        if major != 1 || minor > 4 {
            return refuse(format!("version {major}.{minor} of LAS is not known, 1.0 to 1.4 are"));
        }
        let mut points = u64::from(u32_at(&bytes, 107));
        if minor == 4 {
            bytes.resize(HEADER_1_4_BYTES, 0);
            from.read_exact(&mut bytes[HEADER_BYTES..]).map_err(unreadable)?;
            points = u64::from_le_bytes(array(&bytes, 247));
        }
        let is_packed = bytes[104] & COMPRESSED != 0;
        let format = bytes[104] & 0x3F;
        let Some(&format_bytes) = FORMAT_BYTES.get(usize::from(format)) else {
            return refuse(format!("points of format {format} are not known, 0 to 10 are"));
        };
        let point_bytes = u16_at(&bytes, 105);
        if point_bytes < format_bytes {
            return refuse(format!(
                "points of format {format} have {format_bytes} bytes or more, and it says {point_bytes}"
            ));
        }
        let triple = |at: usize, step: usize| [0, 1, 2].map(|i| f64_at(&bytes, at + step * i));
        let mut header = Header {
            points,
            point_bytes,
            format,
            start: u32_at(&bytes, 96).into(),
            scale: triple(131, 8),
            offset: triple(155, 8),
            max: triple(179, 16),
            min: triple(187, 16),
            packing: None,
            reference: GeoReference { unit_m: 1.0, ..GeoReference::default() },
            height_unit_m: 1.0,
        };
        header.check()?;
        let mut records = Records { left: u32_at(&bytes, 100), text: String::new() };
        let first = u64::from(u16_at(&bytes, 94));
        records.read(from, first, &mut header, budget)?;
        header.settle(&records.text, is_packed)?;
        Ok(header)
    }

    fn check(&self) -> Result<(), HeightmapError> {
        let is_finite = |all: [[f64; 3]; 4]| all.as_flattened().iter().all(|v| v.is_finite());
        if !is_finite([self.scale, self.offset, self.min, self.max]) {
            return refuse("its header has numbers that are not finite; get another copy");
        }
        if (0..3).any(|axis| self.min[axis] > self.max[axis]) {
            return refuse("its lowest coordinates are above its highest ones; get another copy");
        }
        match self.points {
            0 => Err(HeightmapError::Empty),
            _ => Ok(()),
        }
    }

    /// Draws conclusions from all records; `text` describes the reference system.
    fn settle(&mut self, text: &str, is_packed: bool) -> Result<(), HeightmapError> {
        if self.reference.keys.is_empty() && !text.is_empty() {
            let units = linear_units(text);
            self.reference.is_geographic = units.is_empty() && text.starts_with("GEO");
            self.reference.unit_m = units.first().copied().unwrap_or(1.0);
            self.height_unit_m = units.last().copied().unwrap_or(1.0);
        } else {
            let reference = std::mem::take(&mut self.reference);
            self.reference = reference.with_meaning();
            self.height_unit_m = match self.reference.height_unit_m() {
                Some(unit_m) => unit_m,
                None if self.reference.is_geographic => 1.0,
                None => self.reference.unit_m,
            };
        }
        match (is_packed, &self.packing) {
            (true, None) => refuse("its points are compressed, and it does not say how"),
            (false, _) => {
                self.packing = None;
                Ok(())
            }
            (true, Some(packing)) => self.check_packing(packing),
        }
    }

    /// Refuses points that are packed in other parts than their format has.
    fn check_packing(&self, packing: &LazVlr) -> Result<(), HeightmapError> {
        let extra = self.point_bytes - FORMAT_BYTES[usize::from(self.format)];
        let items = LazItemRecordBuilder::default_for_point_format_id(self.format, extra)
            .map_err(|error| HeightmapError::Points(error.to_string()))?;
        let kinds = |items: &[laz::LazItem]| {
            items.iter().map(|item| (item.item_type(), item.size())).collect::<Vec<_>>()
        };
        let versions: Vec<u16> = packing.items().iter().map(laz::LazItem::version).collect();
        let is_layered = self.format > 5;
        let allowed = if is_layered { [3, 4] } else { [1, 2] };
        if kinds(packing.items()) != kinds(&items)
            || versions.iter().any(|version| !allowed.contains(version))
            || (is_layered && versions.iter().any(|&version| version != versions[0]))
        {
            return refuse(format!(
                "points of format {} are not compressed as that format is; write it again with another program",
                self.format
            ));
        }
        Ok(())
    }
}

/// The variable-length records after the header.
struct Records {
    left: u32,
    /// The reference system as text.
    text: String,
}

impl Records {
    fn read(
        &mut self,
        from: &mut (impl Read + Seek),
        mut at: u64,
        header: &mut Header,
        budget: &mut ImportBudget,
    ) -> Result<(), HeightmapError> {
        // Records end where the points begin, so a false number of them costs nothing.
        while self.left > 0 && at + RECORD_BYTES as u64 <= header.start {
            self.left -= 1;
            let mut start = [0; RECORD_BYTES];
            from.seek(SeekFrom::Start(at)).map_err(unreadable)?;
            from.read_exact(&mut start).map_err(unreadable)?;
            let (id, length) = (u16_at(&start, 18), usize::from(u16_at(&start, 20)));
            let user = start[2..18].split(|&byte| byte == 0).next().unwrap_or_default();
            at += RECORD_BYTES as u64 + length as u64;
            let is_wanted = match user {
                b"laszip encoded" => id == LazVlr::RECORD_ID,
                b"LASF_Projection" => [2112, 34735, 34736, 34737].contains(&id),
                _ => false,
            };
            if !is_wanted {
                continue;
            }
            budget.spend_memory("its records", 2 * length as u64)?;
            let mut bytes = vec![0; length];
            from.read_exact(&mut bytes).map_err(unreadable)?;
            self.take(id, &bytes, header)?;
        }
        Ok(())
    }

    fn take(&mut self, id: u16, bytes: &[u8], header: &mut Header) -> Result<(), HeightmapError> {
        let text = || String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        let reference = &mut header.reference;
        match id {
            2112 => self.text = text(),
            34735 => reference.keys = bytes.chunks_exact(2).map(|two| u16_at(two, 0)).collect(),
            34736 => {
                reference.doubles = bytes.chunks_exact(8).map(|eight| f64_at(eight, 0)).collect()
            }
            34737 => reference.text = text(),
            _ => {
                let read = LazVlr::from_buffer(bytes);
                header.packing =
                    Some(read.map_err(|error| HeightmapError::Points(error.to_string()))?);
            }
        }
        Ok(())
    }
}

/// Metres of the linear units of a reference system as text, from the first to the last: that of the
/// map, and that of heights. Angles are left out.
fn linear_units(text: &str) -> Vec<f64> {
    // A radian is 1 of its own units, and a degree 0.0175.
    let named = text.match_indices("UNIT[\"").filter_map(|(at, start)| {
        let is_angle = text[..at].ends_with("ANGLE");
        let (name, rest) = text[at + start.len()..].split_once('"')?;
        let number = rest.trim_start_matches(',').split([',', ']']).next()?;
        let value: f64 = number.trim().parse().ok()?;
        let is_linear = !is_angle && !name.to_lowercase().contains("deg") && !name.contains("rad");
        (is_linear && value.is_finite() && value > 0.0).then_some(value)
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_text_are_those_of_the_map_and_of_heights() {
        let text = "COMPD_CS[\"x\",PROJCS[\"y\",GEOGCS[\"z\",UNIT[\"degree\",0.0174532925199433]],\
                    UNIT[\"US survey foot\",0.3048006096012192]],VERT_CS[\"h\",UNIT[\"metre\",1]]]";
        assert_eq!(linear_units(text), [0.304_800_609_601_219_2, 1.0]);
        let new = "PROJCRS[\"y\",ANGLEUNIT[\"deg\",0.0174],LENGTHUNIT[\"foot\",0.3048]]";
        assert_eq!(linear_units(new), [0.3048]);
        assert_eq!(linear_units("UNIT[\"a"), [0.0; 0]);
    }
}
