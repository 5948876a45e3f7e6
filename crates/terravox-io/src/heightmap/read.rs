//! Heights from files: PNG of 8 and 16 bits and raw 16-bit samples.

use super::error::HeightmapError;
use super::heights::{Heights, check_size};
use super::limits::MAX_HEIGHT_SAMPLES;
use crate::import_budget::{BudgetError, ImportBudget};
use png::{BitDepth, ColorType, Transformations};
use std::io::Cursor;

/// Memory of a sample: its height, and a copy of it that smoothing takes.
const SAMPLE_BYTES: u64 = 8;
/// Units of work of a sample.
const SAMPLE_WORK: u64 = 32;
/// Units of work of a byte that a PNG unpacks.
const PNG_BYTE_WORK: u64 = 6;
/// Maximum size of an unpacked pixel in bytes: four channels of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;
/// Rows that decoding a PNG holds: the previous one, the present one, and one expanded.
const PNG_ROWS: u64 = 3;
/// Memory for the state of decompression, and for chunks that are buffered whole.
const PNG_STATE_BYTES: usize = 1 << 20;

/// What [`read_png`] does with colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourPolicy {
    /// Return an error: the file is most likely a photograph or a screenshot.
    #[default]
    Refuse,
    /// Use the luminance (Rec. 709) as height.
    Luminance,
}

/// Reads heights from a PNG of 8 or 16 bits; black is 0 and white is 1. Grey may also be stored as
/// RGB with equal channels or with a palette; transparency is ignored. The first row is the lowest
/// z. At most [`Heights::MAX_SAMPLES`]. Spends 8 bytes of memory a sample, and of an interlaced PNG
/// also all pixels at once, before they are decompressed.
///
/// # Errors
/// If the bytes are not a PNG, damaged or too large, or a pixel is not grey and `colours` is
/// [`ColourPolicy::Refuse`].
pub fn read_png(
    bytes: &[u8],
    colours: ColourPolicy,
    budget: &mut ImportBudget,
) -> Result<Heights, HeightmapError> {
    let error = |error: png::DecodingError| {
        HeightmapError::Png(error.to_string().chars().filter(|c| !c.is_control()).collect())
    };
    let limits = png::Limits { bytes: PNG_STATE_BYTES.max(bytes.len()) };
    budget.spend_memory("the PNG", limits.bytes as u64)?;
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let info = decoder.read_header_info().map_err(error)?;
    let (size, interlaced) = ([info.width as usize, info.height as usize], info.interlaced);
    check_size(info.width.into(), info.height.into())?;
    spend_samples(size, budget)?;
    spend_pixels(size, interlaced, budget)?;
    decoder.set_limits(png::Limits { bytes: limits.bytes + MAX_PIXEL_BYTES as usize * size[0] });
    let mut reader = decoder.read_info().map_err(error)?;
    let (colour, depth) = reader.output_color_type();
    let mut pixels = PixelConverter::new(colour, depth, colours, size);
    if interlaced {
        let Some(bytes) = reader.output_buffer_size() else {
            let [width, height] = size;
            return Err(HeightmapError::Png(format!("{width} × {height} pixels are too many")));
        };
        let mut all = vec![0; bytes];
        reader.next_frame(&mut all).map_err(error)?;
        pixels.add(&all)?;
    } else {
        // Row by row: decoded pixels take up to eight times the memory of heights.
        while let Some(row) = reader.next_row().map_err(error)? {
            pixels.add(row.data())?;
        }
    }
    pixels.finish()
}

/// Spends what the samples of a heightmap cost.
fn spend_samples(size: [usize; 2], budget: &mut ImportBudget) -> Result<(), BudgetError> {
    let samples = size[0] as u64 * size[1] as u64;
    budget.spend_memory("its samples", SAMPLE_BYTES * samples)?;
    budget.spend_work("its samples", SAMPLE_WORK * samples)
}

/// Spends what decoding the pixels of a PNG costs.
fn spend_pixels(
    size: [usize; 2],
    interlaced: bool,
    budget: &mut ImportBudget,
) -> Result<(), BudgetError> {
    let [width, height] = size.map(|edge| edge as u64);
    let rows = if interlaced { PNG_ROWS + height } else { PNG_ROWS };
    budget.spend_memory("its pixels", MAX_PIXEL_BYTES * width * rows)?;
    budget.spend_work("its pixels", PNG_BYTE_WORK * MAX_PIXEL_BYTES * width * height)
}

/// Converts pixels to heights, in their order.
struct PixelConverter {
    channels: usize,
    is_16_bit: bool,
    colours: ColourPolicy,
    size: [usize; 2],
    values: Vec<f32>,
}

impl PixelConverter {
    fn new(
        colour: ColorType,
        depth: BitDepth,
        colours: ColourPolicy,
        size: [usize; 2],
    ) -> PixelConverter {
        let channels = colour.samples();
        PixelConverter {
            channels,
            is_16_bit: depth == BitDepth::Sixteen,
            colours,
            size,
            values: Vec::with_capacity(size[0] * size[1]),
        }
    }

    /// Returns the value of white.
    fn white(&self) -> f32 {
        if self.is_16_bit { 65535.0 } else { 255.0 }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), HeightmapError> {
        let white = self.white();
        let sample_bytes = 1 + usize::from(self.is_16_bit);
        for pixel in bytes.chunks_exact(sample_bytes * self.channels) {
            let sample = |i: usize| match self.is_16_bit {
                true => u16::from_be_bytes([pixel[2 * i], pixel[2 * i + 1]]),
                false => pixel[i].into(),
            };
            // Grey, perhaps with transparency.
            if self.channels < 3 {
                self.values.push(f32::from(sample(0)) / white);
                continue;
            }
            let rgb = [0, 1, 2].map(sample);
            if self.colours == ColourPolicy::Refuse && (rgb[0] != rgb[1] || rgb[1] != rgb[2]) {
                let (at, width) = (self.values.len(), self.size[0].max(1));
                return Err(HeightmapError::Colours { pixel: [at % width, at / width], rgb });
            }
            // Rec. 709 weights in 1/10000, in integers, so that grey is exact.
            let [r, g, b] = rgb.map(u32::from);
            let luminance = f64::from(2126 * r + 7152 * g + 722 * b) / 10_000.0;
            self.values.push((luminance / f64::from(white)) as f32);
        }
        Ok(())
    }

    fn finish(self) -> Result<Heights, HeightmapError> {
        let (size, found, [width, height]) = (self.size, self.values.len(), self.size);
        if found != width * height {
            return Err(HeightmapError::Png(format!("{found} pixels, not {width} × {height}")));
        }
        Ok(Heights { size, step: 1.0 / self.white(), values: self.values })
    }
}

/// Reads heights from raw unsigned 16-bit little-endian samples, row by row, the first row at the
/// lowest z; 0 is 0 and 65535 is 1. `size` is [samples per row, rows]; `None` means a square.
/// Spends 8 bytes of memory a sample.
///
/// # Errors
/// If the number of bytes does not match `size`, or without a `size` is not that of a square, or
/// the samples exceed the budget.
pub fn read_raw_u16(
    bytes: &[u8],
    size: Option<[usize; 2]>,
    budget: &mut ImportBudget,
) -> Result<Heights, HeightmapError> {
    if bytes.is_empty() {
        return Err(HeightmapError::Empty);
    }
    let [width, depth] = match size {
        Some(size) => size,
        None => square_size(bytes.len())?,
    };
    check_size(width as u64, depth as u64)?;
    let wanted = 2 * width as u64 * depth as u64;
    if bytes.len() as u64 != wanted {
        return Err(HeightmapError::RawSize { bytes: bytes.len(), width, depth, wanted });
    }
    spend_samples([width, depth], budget)?;
    let (words, _) = bytes.as_chunks::<2>();
    let values = words.iter().map(|&word| f32::from(u16::from_le_bytes(word)) / 65535.0).collect();
    Ok(Heights { size: [width, depth], values, step: 1.0 / 65535.0 })
}

/// Returns the size of the square that a file of `bytes` fills.
fn square_size(bytes: usize) -> Result<[usize; 2], HeightmapError> {
    let samples = bytes / 2;
    let edge = samples.isqrt();
    if 2 * edge * edge == bytes {
        return Ok([edge, edge]);
    }
    let mut hint = String::new();
    if bytes.is_multiple_of(2) && samples as u64 <= MAX_HEIGHT_SAMPLES {
        // The most likely size: the two factors closest to a square.
        let short = (1..=edge).rev().find(|short| samples.is_multiple_of(*short)).unwrap_or(1);
        if short > 1 {
            let long = samples / short;
            hint = format!(", perhaps {long}x{short} or {short}x{long}");
        }
    }
    Err(HeightmapError::RawNotSquare { samples, hint })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_heights(bytes: &[u8], colours: ColourPolicy) -> Result<Heights, HeightmapError> {
        read_png(bytes, colours, &mut ImportBudget::for_input(bytes.len()))
    }

    fn raw_heights(bytes: &[u8], size: Option<[usize; 2]>) -> Result<Heights, HeightmapError> {
        read_raw_u16(bytes, size, &mut ImportBudget::for_input(bytes.len()))
    }

    fn png(colour: ColorType, depth: BitDepth, size: [u32; 2], data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, size[0], size[1]);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if colour == ColorType::Indexed {
            encoder.set_palette(vec![0, 0, 0, 51, 51, 51]);
        }
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        out
    }

    #[test]
    fn all_colour_types_and_depths_give_the_grey() {
        let grey8 = png(ColorType::Grayscale, BitDepth::Eight, [2, 1], &[51, 255]);
        let alpha = png(ColorType::GrayscaleAlpha, BitDepth::Eight, [2, 1], &[51, 0, 255, 9]);
        let rgb = png(ColorType::Rgb, BitDepth::Eight, [2, 1], &[51, 51, 51, 255, 255, 255]);
        let rgba =
            png(ColorType::Rgba, BitDepth::Eight, [2, 1], &[51, 51, 51, 0, 255, 255, 255, 0]);
        for file in [grey8, alpha, rgb, rgba] {
            let heights = grey(&file);
            assert_eq!((heights.size, &heights.values[..]), ([2, 1], &[0.2, 1.0][..]));
        }
        let grey16 = png(ColorType::Grayscale, BitDepth::Sixteen, [1, 2], &[0x33, 0x33, 0, 1]);
        let rgb16 = [[0x33; 6], [0, 1, 0, 1, 0, 1]].concat();
        let rgb16 = png(ColorType::Rgb, BitDepth::Sixteen, [1, 2], &rgb16);
        for file in [grey16, rgb16] {
            let heights = grey(&file);
            assert_eq!((heights.size, &heights.values[..]), ([1, 2], &[0.2, 1.0 / 65535.0][..]));
        }
        let indexed = png(ColorType::Indexed, BitDepth::One, [2, 1], &[0b0100_0000]);
        assert_eq!(grey(&indexed).values, [0.0, 0.2]);
        let bits = png(ColorType::Grayscale, BitDepth::Two, [2, 1], &[0b0111_0000]);
        assert_eq!(grey(&bits).values, [85.0 / 255.0, 1.0]);
    }

    fn grey(file: &[u8]) -> Heights {
        png_heights(file, ColourPolicy::Refuse).unwrap()
    }

    #[test]
    fn colours_are_refused_where_they_are_unless_their_luminance_is_asked_for() {
        let eight = [[9, 9, 9], [51, 51, 51], [7, 7, 7], [0, 255, 0]].concat();
        let eight = png(ColorType::Rgb, BitDepth::Eight, [2, 2], &eight);
        let error = png_heights(&eight, ColourPolicy::Refuse).unwrap_err();
        assert_eq!(error, HeightmapError::Colours { pixel: [1, 1], rgb: [0, 255, 0] });
        assert!(error.to_string().contains("(1, 1)"), "{error}");
        let luminance = png_heights(&eight, ColourPolicy::Luminance).unwrap();
        assert_eq!(luminance.values[1..], [0.2, 7.0 / 255.0, 0.7152]);
        // One bit of sixteen is a colour, too.
        let sixteen = png(ColorType::Rgba, BitDepth::Sixteen, [1, 1], &[0, 5, 0, 5, 0, 4, 0, 0]);
        assert!(png_heights(&sixteen, ColourPolicy::Refuse).is_err());
        assert!(png_heights(&sixteen, ColourPolicy::Luminance).is_ok());
    }

    #[test]
    fn damaged_pngs_are_errors() {
        let good = png(ColorType::Grayscale, BitDepth::Sixteen, [9, 9], &[7; 162]);
        for end in 0..good.len() - 12 {
            assert!(png_heights(&good[..end], ColourPolicy::Refuse).is_err(), "cut at {end}");
        }
        for bit in 0..good.len() * 8 {
            let mut flipped = good.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Err(error) = png_heights(&flipped, ColourPolicy::Refuse) {
                assert!(!error.to_string().contains('\n'));
            }
        }
        // A header that claims 2³¹ × 2³¹ pixels, its checksum right.
        let mut huge = good[..16].to_vec();
        huge.extend([0x7f, 255, 255, 255, 0x7f, 255, 255, 255, 16, 0, 0, 0, 0]);
        let mut crc = u32::MAX;
        for &byte in &huge[12..] {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
            }
        }
        huge.extend((!crc).to_be_bytes());
        huge.extend(&good[33..]);
        let error = png_heights(&huge, ColourPolicy::Refuse).unwrap_err();
        assert!(matches!(error, HeightmapError::TooLarge { .. }), "{error}");
    }

    #[test]
    fn raw_samples_are_little_endian_rows() {
        let bytes = [0, 0, 0xFF, 0xFF, 0x33, 0x33, 1, 0];
        let square = raw_heights(&bytes, None).unwrap();
        assert_eq!(square.values, [0.0, 1.0, 0.2, 1.0 / 65535.0]);
        assert_eq!(square.size(), [2, 2]);
        assert_eq!(square.range(), [0.0, 1.0]);
        assert_eq!(raw_heights(&bytes, Some([4, 1])).unwrap().size(), [4, 1]);
    }

    #[test]
    fn raw_sizes_that_do_not_fit_say_what_to_give() {
        let error =
            |bytes: usize, size| raw_heights(&vec![0; bytes], size).unwrap_err().to_string();
        assert!(error(2 * 403 * 344, None).contains("perhaps 403x344 or 344x403"));
        assert!(error(2 * 7, None).contains("not a square; give width and height"));
        assert!(error(3, None).contains("not a square"));
        assert!(error(8, Some([3, 1])).contains("8 bytes, but 3 × 1 samples of 16 bits are 6"));
        assert!(error(0, None).contains("empty"));
        assert!(error(8, Some([0, 4])).contains("empty"));
        assert!(error(8, Some([usize::MAX, 2])).contains("at most"));
    }
}
