//! The header of a point cloud: how many points there are, how they are stored, and where they lie.
//!
//! Source: "LAS specification", version 1.4 R15 (ASPRS, 2019).

use super::super::error::HeightmapError;
use super::super::geotiff::GeoReference;
use super::refusal::{refuse, unreadable};
use crate::import_budget::ImportBudget;
use laz::laszip::LazItemRecordBuilder;
use laz::{LazItemType, LazVlr};
use std::io::{Read, Seek, SeekFrom};

/// First bytes of a point cloud.
pub(super) const MAGIC: &[u8] = b"LASF";
/// Bytes of the shortest header, of version 1.0, and of one of 1.4.
const HEADER_BYTES: usize = 227;
const HEADER_1_4_BYTES: usize = 375;
/// Bytes of the header of a variable-length record, and of an extended one.
const RECORD_BYTES: usize = 54;
const EXTENDED_RECORD_BYTES: usize = 60;
/// Maximum depth of brackets in the text of a reference system.
const MAX_TEXT_DEPTH: usize = 32;
/// Maximum length of the text of a reference system.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// Units of work of a record, which is looked up in the file, and of a byte of text.
const WORK_PER_RECORD: u64 = 2_000;
const WORK_PER_TEXT_BYTE: u64 = 200;
/// Bit of the point format that says that points are compressed.
const COMPRESSED: u8 = 0x80;
/// Bytes of the formats of points, 0 to 10.
const FORMAT_BYTES: [u16; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// What the header and the records after it say.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// Number of points.
    pub points: u64,
    /// Bytes of a point.
    pub point_bytes: u16,
    /// Format of the points, 0 to 10.
    pub format: u8,
    /// Offset of the first point, bytes.
    pub points_start: u64,
    /// Coordinates are whole numbers times `scale` plus `offset`.
    pub scale: [f64; 3],
    pub offset: [f64; 3],
    /// Lowest and highest coordinates.
    pub min: [f64; 3],
    pub max: [f64; 3],
    /// How points are compressed; `None` if they are not.
    pub compression: Option<LazVlr>,
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
        let is_compressed = bytes[104] & COMPRESSED != 0;
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
            points_start: u32_at(&bytes, 96).into(),
            scale: triple(131, 8),
            offset: triple(155, 8),
            max: triple(179, 16),
            min: triple(187, 16),
            compression: None,
            reference: GeoReference { unit_m: 1.0, ..GeoReference::default() },
            height_unit_m: 1.0,
        };
        header.check()?;
        let text = header.read_records(&bytes, from, budget)?;
        header.resolve(&text, is_compressed)?;
        Ok(header)
    }

    /// Reads all records; `bytes` are those of the header. Returns the reference system as text.
    fn read_records(
        &mut self,
        bytes: &[u8],
        from: &mut (impl Read + Seek),
        budget: &mut ImportBudget,
    ) -> Result<String, HeightmapError> {
        let mut text = String::new();
        let records = RecordList {
            start: u16_at(bytes, 94).into(),
            // A false number of records costs nothing: they end where the points begin.
            end: self.points_start,
            count: u32_at(bytes, 100),
            is_extended: false,
        };
        records.read(from, self, &mut text, budget)?;
        if bytes.len() >= HEADER_1_4_BYTES {
            let records = RecordList {
                start: u64::from_le_bytes(array(bytes, 235)),
                end: from.seek(SeekFrom::End(0)).map_err(unreadable)?,
                count: u32_at(bytes, 243),
                is_extended: true,
            };
            records.read(from, self, &mut text, budget)?;
        }
        Ok(text)
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

    /// Sets the units from the keys or from the text of the reference system, and checks the
    /// compression.
    fn resolve(&mut self, text: &str, is_compressed: bool) -> Result<(), HeightmapError> {
        if self.reference.keys.is_empty() && !text.is_empty() {
            let units = TextUnits::of(text);
            self.reference.is_geographic = units.is_geographic;
            self.reference.unit_m = units.map_m.unwrap_or(1.0);
            self.height_unit_m = units.height_m.or(units.map_m).unwrap_or(1.0);
        } else {
            let reference = std::mem::take(&mut self.reference);
            self.reference = reference.with_meaning();
            self.height_unit_m = match self.reference.height_unit_m() {
                Some(unit_m) => unit_m,
                None if self.reference.is_geographic => 1.0,
                None => self.reference.unit_m,
            };
        }
        match (is_compressed, &self.compression) {
            (true, None) => refuse("its points are compressed, and it does not say how"),
            (false, _) => {
                self.compression = None;
                Ok(())
            }
            (true, Some(compression)) => self.check_compression(compression),
        }
    }

    /// Bytes of a point beyond those of its format.
    pub fn extra_bytes(&self) -> u16 {
        self.point_bytes - FORMAT_BYTES[usize::from(self.format)]
    }

    /// Refuses points that are compressed as other fields than their format has.
    fn check_compression(&self, compression: &LazVlr) -> Result<(), HeightmapError> {
        let items =
            LazItemRecordBuilder::default_for_point_format_id(self.format, self.extra_bytes())
                .map_err(|error| HeightmapError::Points(error.to_string()))?;
        let kinds = |items: &[laz::LazItem]| {
            items.iter().map(|item| (item.item_type(), item.size())).collect::<Vec<_>>()
        };
        let versions: Vec<u16> = compression.items().iter().map(laz::LazItem::version).collect();
        let is_layered = self.format > 5;
        // Version 1 is of programs from before 2011, but for wave packets, which have no other.
        let is_allowed = |item: &laz::LazItem| match (item.item_type(), item.version()) {
            (LazItemType::WavePacket13, 1) => true,
            (_, version) if is_layered => [3, 4].contains(&version),
            (_, version) => version == 2,
        };
        if kinds(compression.items()) != kinds(&items)
            || !compression.items().iter().all(is_allowed)
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

/// Variable-length records: those after the header, or the extended ones after the points.
struct RecordList {
    /// Offsets of the first one and of what follows the last.
    start: u64,
    end: u64,
    count: u32,
    is_extended: bool,
}

impl RecordList {
    /// Reads what is needed of the records into `header`, and the reference system as text.
    fn read(
        &self,
        from: &mut (impl Read + Seek),
        header: &mut Header,
        text: &mut String,
        budget: &mut ImportBudget,
    ) -> Result<(), HeightmapError> {
        let header_bytes = if self.is_extended { EXTENDED_RECORD_BYTES } else { RECORD_BYTES };
        let mut at = self.start;
        for _ in 0..self.count {
            let Some(content) = at.checked_add(header_bytes as u64) else { break };
            if content > self.end {
                break;
            }
            let mut start = [0; EXTENDED_RECORD_BYTES];
            let start = &mut start[..header_bytes];
            from.seek(SeekFrom::Start(at)).map_err(unreadable)?;
            from.read_exact(start).map_err(unreadable)?;
            let id = u16_at(start, 18);
            let length = match self.is_extended {
                true => u64::from_le_bytes(array(start, 20)),
                false => u16_at(start, 20).into(),
            };
            at = content.saturating_add(length);
            let user = start[2..18].split(|&byte| byte == 0).next().unwrap_or_default();
            let is_wanted = match user {
                b"laszip encoded" => id == LazVlr::RECORD_ID,
                b"LASF_Projection" => [2112, 34735, 34736, 34737].contains(&id),
                _ => false,
            };
            budget.spend_work("its records", WORK_PER_RECORD)?;
            if !is_wanted || at > self.end {
                continue;
            }
            if [2112, 34737].contains(&id) && length > MAX_TEXT_BYTES {
                return refuse(format!(
                    "its reference system is a text of {length} bytes; at most {MAX_TEXT_BYTES} are read"
                ));
            }
            // Text is made valid, trimmed and kept; its keywords are compared.
            budget.spend_memory("its records", length.saturating_mul(8))?;
            budget.spend_work("its records", length.saturating_mul(WORK_PER_TEXT_BYTE))?;
            let mut bytes = vec![0; length as usize];
            from.read_exact(&mut bytes).map_err(unreadable)?;
            apply_record(id, &bytes, header, text)?;
        }
        Ok(())
    }
}

/// Puts what a record says into the header; `text` is the reference system as text.
fn apply_record(
    id: u16,
    bytes: &[u8],
    header: &mut Header,
    text: &mut String,
) -> Result<(), HeightmapError> {
    let as_text = || String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    let reference = &mut header.reference;
    match id {
        2112 => *text = as_text(),
        34735 => reference.keys = bytes.chunks_exact(2).map(|two| u16_at(two, 0)).collect(),
        34736 => {
            reference.doubles = bytes.chunks_exact(8).map(|eight| f64_at(eight, 0)).collect();
        }
        34737 => reference.text = as_text(),
        _ => {
            let read = LazVlr::from_buffer(bytes);
            header.compression =
                Some(read.map_err(|error| HeightmapError::Points(error.to_string()))?);
        }
    }
    Ok(())
}

/// Units of a reference system as well-known text, version 1 or 2.
///
/// Source: "Well-known text representation of coordinate reference systems" (OGC 18-010r7).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TextUnits {
    /// Metres of a unit of the map, and of a unit of height.
    map_m: Option<f64>,
    height_m: Option<f64>,
    /// Whether its coordinates are degrees: not those of a map, nor of a system of its own.
    is_geographic: bool,
}

impl TextUnits {
    fn of(text: &str) -> TextUnits {
        let mut units = TextUnits::default();
        // The keywords of the brackets that are open, and where the arguments of the last one begin.
        let (mut open, mut arguments, mut from): (Vec<&str>, usize, usize) = (Vec::new(), 0, 0);
        while let Some(at) = text[from..].find(['"', '[', ']']).map(|at| from + at) {
            let before = &text[from..at];
            from = at + 1;
            match text.as_bytes()[at] {
                // What is quoted has no brackets of ours.
                b'"' => match text[from..].find('"') {
                    Some(end) => from += end + 1,
                    None => break,
                },
                b'[' => {
                    // The number of a unit may be followed by its authority.
                    units.take(&open, &text[arguments..at]);
                    let keyword = before.rsplit(',').next().unwrap_or_default();
                    open.push(keyword.trim());
                    arguments = from;
                    if open.len() > MAX_TEXT_DEPTH {
                        break;
                    }
                }
                _ => {
                    units.take(&open, &text[arguments..at]);
                    open.pop();
                    arguments = from;
                }
            }
        }
        units
    }

    /// Takes the unit whose arguments these are, of a map or of heights.
    fn take(&mut self, open: &[&str], arguments: &str) {
        let is_in = |names: &[&str]| open.iter().any(|keyword| names.contains(keyword));
        // What a system can be transformed to is another one.
        if is_in(&["TARGETCRS"]) {
            return;
        }
        let map = ["PROJCS", "PROJCRS", "PROJECTEDCRS"];
        self.is_geographic |= !is_in(&map)
            && is_in(&["GEOGCS", "GEOGCRS", "GEOGRAPHICCRS", "GEODCRS", "GEODETICCRS"]);
        let inner = [
            "SPHEROID",
            "ELLIPSOID",
            "GEOGCS",
            "BASEGEOGCRS",
            "BASEGEODCRS",
            "CONVERSION",
            "PARAMETER",
        ];
        if !matches!(open.last(), Some(&("UNIT" | "LENGTHUNIT"))) || is_in(&inner) {
            return;
        }
        // A name, a number, and perhaps an authority.
        let number =
            arguments.splitn(3, '"').nth(2).and_then(|rest| rest.split([',', ']', '[']).nth(1));
        let value = number.and_then(|number| number.trim().parse().ok());
        let Some(value) = value.filter(|value: &f64| value.is_finite() && *value > 0.0) else {
            return;
        };
        if is_in(&["VERT_CS", "VERTCRS", "VERTICALCRS"]) {
            self.height_m = self.height_m.or(Some(value));
        } else if is_in(&map) || is_in(&["LOCAL_CS", "ENGCRS", "ENGINEERINGCRS"]) {
            self.map_m = self.map_m.or(Some(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_text_are_those_of_the_map_and_of_heights() {
        let foot = 0.304_800_609_601_219_2;
        let old = "COMPD_CS[\"x\",PROJCS[\"y\",GEOGCS[\"z\",DATUM[\"d\",SPHEROID[\"s\",6378137,298.2]],\
                   UNIT[\"degree\",0.0174532925199433]],PARAMETER[\"false_easting\",500000],\
                   UNIT[\"US survey foot\",0.3048006096012192]],\
                   VERT_CS[\"h\",VERT_DATUM[\"v\",2005],UNIT[\"metre\",1.0,AUTHORITY[\"EPSG\",\"9001\"]]]]";
        let expected = TextUnits { map_m: Some(foot), height_m: Some(1.0), is_geographic: false };
        assert_eq!(TextUnits::of(old), expected);
        let new = "PROJCRS[\"y\",BASEGEOGCRS[\"b\",DATUM[\"d\",ELLIPSOID[\"e\",6378137,298.2,\
                   LENGTHUNIT[\"metre\",1]]]],CONVERSION[\"c\",PARAMETER[\"Scale\",0.9,\
                   SCALEUNIT[\"unity\",1]]],CS[Cartesian,2],AXIS[\"(E)\",east],\
                   LENGTHUNIT[\"US survey foot\",0.304800609601219]]";
        let units = TextUnits::of(new);
        assert!((units.map_m.unwrap() - foot).abs() < 1e-12 && units.height_m.is_none());
        let degrees = "COMPD_CS[\"x\",GEOGCS[\"z\",UNIT[\"degree\",0.0174]],VERT_CS[\"h\",UNIT[\"metre\",1]]]";
        let expected = TextUnits { map_m: None, height_m: Some(1.0), is_geographic: true };
        assert_eq!(TextUnits::of(degrees), expected);
        let own = "LOCAL_CS[\"site\",LOCAL_DATUM[\"d\",0],UNIT[\"foot\",0.3048]]";
        let expected = TextUnits { map_m: Some(0.3048), height_m: None, is_geographic: false };
        assert_eq!(TextUnits::of(own), expected);
        let bound = "BOUNDCRS[SOURCECRS[PROJCRS[\"y\",BASEGEOGCRS[\"b\"],LENGTHUNIT[\"foot\",0.3048]]],\
                     TARGETCRS[GEOGCRS[\"z\",CS[ellipsoidal,2],ANGLEUNIT[\"degree\",0.0174]]]]";
        assert_eq!(TextUnits::of(bound), expected);
        for unknown in ["unknown", "ENGCRS[\"site\",EDATUM[\"d\"]]"] {
            assert_eq!(TextUnits::of(unknown), TextUnits::default(), "{unknown}");
        }
        for broken in ["", "UNIT[\"a", "]]]", "PROJCS[\"[\",UNIT[\"m\",NaN]]", "[[[["] {
            assert_eq!(TextUnits::of(broken).map_m, None, "{broken}");
        }
    }
}
