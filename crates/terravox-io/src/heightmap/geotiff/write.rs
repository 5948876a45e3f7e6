//! Writes heights as a GeoTIFF: one band of floats in strips that are deflated, with GDAL's value for no
//! data.
//!
//! Source: "TIFF, revision 6.0" (Adobe, 1992); "OGC GeoTIFF standard", version 1.1 (OGC 19-008r4).

use super::reference::GeoReference;
use flate2::{Compression, write::ZlibEncoder};
use std::io::{self, Write};

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

/// Writes `heights`, row by row, NaN for no data. They are f32 where that is precise enough, else
/// f64.
pub(in super::super) fn write(
    [width, depth]: [usize; 2],
    heights: &[f64],
    reference: &GeoReference,
    out: &mut impl Write,
) -> io::Result<()> {
    let is_precise = heights.iter().all(|height| height.is_nan() || height.abs() <= MAX_F32);
    let bytes = if is_precise { 4 } else { 8 };
    let rows = (STRIP_BYTES / (bytes * width)).clamp(1, depth);
    let mut strips = Vec::new();
    for strip in heights.chunks(rows * width) {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        for height in strip {
            match is_precise {
                true => encoder.write_all(&(*height as f32).to_le_bytes())?,
                false => encoder.write_all(&height.to_le_bytes())?,
            }
        }
        strips.push(encoder.finish()?);
    }
    let mut entries = vec![
        longs(256, &[width as u32]),
        longs(257, &[depth as u32]),
        shorts(258, &[8 * bytes as u16]),
        shorts(259, &[8]),
        shorts(262, &[1]),
        shorts(277, &[1]),
        longs(278, &[rows as u32]),
        shorts(339, &[3]),
        text(42113, "nan"),
    ];
    entries.extend(placed(reference));
    let lengths: Vec<u32> = strips.iter().map(|strip| strip.len() as u32).collect();
    entries.push(longs(279, &lengths));
    write_file(entries, &strips, out)
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

/// Header, directory, values that do not fit in it, strips.
fn write_file(mut entries: Vec<Entry>, strips: &[Vec<u8>], out: &mut impl Write) -> io::Result<()> {
    // The places of strips take as many bytes as their lengths.
    entries.push(longs(273, &vec![0; strips.len()]));
    entries.sort_by_key(|entry| entry.0);
    let is_long = |entry: &&Entry| entry.3.len() > 4;
    let values = 8 + 2 + 12 * entries.len() as u64 + 4;
    let even = |bytes: usize| (bytes as u64).next_multiple_of(2);
    let start = values + entries.iter().filter(is_long).map(|it| even(it.3.len())).sum::<u64>();
    let end = start + strips.iter().map(|strip| strip.len() as u64).sum::<u64>();
    if u32::try_from(end).is_err() {
        return Err(io::Error::other("the file would have more than 4 GB"));
    }
    let places = strips.iter().scan(start as u32, |at, strip| {
        let here = *at;
        *at += strip.len() as u32;
        Some(here)
    });
    let places = longs(273, &places.collect::<Vec<_>>());
    out.write_all(b"II*\0\x08\0\0\0")?;
    out.write_all(&(entries.len() as u16).to_le_bytes())?;
    let mut at = values;
    let mut behind = Vec::new();
    for entry in &mut entries {
        if entry.0 == places.0 {
            *entry = places.clone();
        }
        let (tag, kind, count, bytes) = entry;
        out.write_all(&tag.to_le_bytes())?;
        out.write_all(&kind.to_le_bytes())?;
        out.write_all(&count.to_le_bytes())?;
        if bytes.len() <= 4 {
            bytes.resize(4, 0);
            out.write_all(bytes)?;
            continue;
        }
        out.write_all(&(at as u32).to_le_bytes())?;
        at += even(bytes.len());
        bytes.resize(even(bytes.len()) as usize, 0);
        behind.extend_from_slice(bytes);
    }
    out.write_all(&[0; 4])?;
    out.write_all(&behind)?;
    strips.iter().try_for_each(|strip| out.write_all(strip))
}
