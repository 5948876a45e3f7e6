//! Writes heights as a GeoTIFF: one band of floats in strips that are deflated, with GDAL's value for no
//! data.
//!
//! Source: "TIFF, revision 6.0" (Adobe, 1992); "OGC GeoTIFF standard", version 1.1 (OGC 19-008r4).

use super::reference::GeoReference;
use flate2::{Compression, write::ZlibEncoder};
use std::io::{self, Seek, SeekFrom, Write};

/// Bytes of a strip before it is packed, about.
const STRIP_BYTES: usize = 256 << 10;
/// Heights up to here, in units of the file, are written as f32: they are off by at most 2⁻¹¹.
const MAX_F32: f64 = 16_384.0;

/// An entry of the directory: tag, type, count and bytes.
type Entry = (u16, u16, u32, Vec<u8>);

fn shorts(tag: u16, values: &[u16]) -> Entry {
    (tag, 3, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn longs(tag: u16, values: &[u32]) -> Entry {
    (tag, 4, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn doubles(tag: u16, values: &[f64]) -> Entry {
    (tag, 12, values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn text(tag: u16, text: &str) -> Entry {
    (tag, 2, text.len() as u32 + 1, [text.as_bytes(), &[0]].concat())
}

/// Writes heights of a range, NaN for no data; `row` replaces a list with those of a row. They are f32
/// where that is precise enough, else f64. Holds one strip at a time.
pub(in super::super) fn write(
    [width, depth]: [usize; 2],
    range: [f64; 2],
    mut row: impl FnMut(usize, &mut Vec<f64>),
    reference: &GeoReference,
    out: &mut (impl Write + Seek),
) -> io::Result<()> {
    let is_precise = range.iter().all(|height| height.abs() <= MAX_F32);
    let bytes = if is_precise { 4 } else { 8 };
    let rows = (STRIP_BYTES / (bytes * width)).clamp(1, depth);
    let start = out.stream_position()?;
    // The place of the directory is known at the end.
    out.write_all(b"II*\0\0\0\0\0")?;
    let (mut at, mut places, mut lengths) = (8_u32, Vec::new(), Vec::new());
    let mut packed = StripPacker::default();
    let mut heights = Vec::new();
    for first in (0..depth).step_by(rows) {
        packed.text.clear();
        for z in first..depth.min(first + rows) {
            row(z, &mut heights);
            for height in &heights {
                match is_precise {
                    true => packed.text.extend((*height as f32).to_le_bytes()),
                    false => packed.text.extend(height.to_le_bytes()),
                }
            }
        }
        let strip = packed.strip()?;
        out.write_all(strip)?;
        places.push(at);
        lengths.push(strip.len() as u32);
        at = u32::try_from(strip.len())
            .ok()
            .and_then(|it| at.checked_add(it))
            .ok_or_else(too_long)?;
    }
    let mut entries = vec![
        longs(256, &[width as u32]),
        longs(257, &[depth as u32]),
        shorts(258, &[8 * bytes as u16]),
        shorts(259, &[8]),
        shorts(262, &[1]),
        longs(273, &places),
        shorts(277, &[1]),
        longs(278, &[rows as u32]),
        longs(279, &lengths),
        shorts(339, &[3]),
        text(42113, "nan"),
    ];
    entries.extend(placed(reference));
    if at % 2 == 1 {
        out.write_all(&[0])?;
        at += 1;
    }
    write_directory(entries, at, out)?;
    out.seek(SeekFrom::Start(start + 4))?;
    out.write_all(&at.to_le_bytes())?;
    out.seek(SeekFrom::End(0)).map(drop)
}

/// Deflates strips. Where there is no ground for miles, they are all alike.
#[derive(Default)]
struct StripPacker {
    text: Vec<u8>,
    last_text: Vec<u8>,
    packed: Vec<u8>,
}

impl StripPacker {
    /// The text, deflated.
    fn strip(&mut self) -> io::Result<&[u8]> {
        if self.packed.is_empty() || self.text != self.last_text {
            self.packed.clear();
            let mut encoder = ZlibEncoder::new(&mut self.packed, Compression::default());
            encoder.write_all(&self.text)?;
            encoder.finish()?;
            std::mem::swap(&mut self.text, &mut self.last_text);
        }
        Ok(&self.packed)
    }
}

fn too_long() -> io::Error {
    io::Error::other("the file would have more than 4 GB")
}

/// The entries that say where the samples lie.
fn placed(reference: &GeoReference) -> Vec<Entry> {
    let GeoReference { corner: [east, north], step: [x, y], keys, doubles: values, .. } = reference;
    let mut entries =
        vec![doubles(33550, &[*x, -y, 0.0]), doubles(33922, &[0.0, 0.0, 0.0, *east, *north, 0.0])];
    if keys.len() >= 4 {
        entries.push(shorts(34735, &with_areas(keys)));
        if !values.is_empty() {
            entries.push(doubles(34736, values));
        }
        if !reference.text.is_empty() {
            entries.push(text(34737, &reference.text));
        }
    }
    entries
}

/// The keys, with samples that are areas: the corner is that of the first one.
fn with_areas(keys: &[u16]) -> Vec<u16> {
    let mut keys = keys.to_vec();
    for entry in keys[4..].chunks_exact_mut(4) {
        if entry[0] == 1025 && entry[1] == 0 {
            entry[3] = 1;
        }
    }
    keys
}

/// The directory, which is at `at`, and values that do not fit in it.
fn write_directory(mut entries: Vec<Entry>, at: u32, out: &mut impl Write) -> io::Result<()> {
    entries.sort_by_key(|entry| entry.0);
    let even = |bytes: usize| (bytes as u64).next_multiple_of(2);
    let mut next = u64::from(at) + 2 + 12 * entries.len() as u64 + 4;
    let mut behind = Vec::new();
    out.write_all(&(entries.len() as u16).to_le_bytes())?;
    for (tag, kind, count, mut bytes) in entries {
        out.write_all(&tag.to_le_bytes())?;
        out.write_all(&kind.to_le_bytes())?;
        out.write_all(&count.to_le_bytes())?;
        if bytes.len() <= 4 {
            bytes.resize(4, 0);
            out.write_all(&bytes)?;
            continue;
        }
        out.write_all(&u32::try_from(next).map_err(|_| too_long())?.to_le_bytes())?;
        bytes.resize(even(bytes.len()) as usize, 0);
        next += bytes.len() as u64;
        behind.extend_from_slice(&bytes);
    }
    if u32::try_from(next).is_err() {
        return Err(too_long());
    }
    out.write_all(&[0; 4])?;
    out.write_all(&behind)
}
