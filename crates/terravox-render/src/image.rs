//! Pixels, and writing them as PNG.

use std::io::{BufWriter, Write};

/// A picture: sRGB, 8 bits per channel, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// [red, green, blue], row by row; `width * height` of them.
    pub pixels: Vec<[u8; 3]>,
}

impl Image {
    /// Returns a black picture.
    pub fn new(width: usize, height: usize) -> Image {
        Image { width, height, pixels: vec![[0; 3]; width * height] }
    }

    /// Writes the picture as PNG.
    ///
    /// # Errors
    /// If `out` fails, or the picture has no pixels.
    pub fn write_png(&self, out: impl Write) -> std::io::Result<()> {
        let [width, height] = [self.width as u32, self.height as u32];
        let mut encoder = png::Encoder::new(BufWriter::new(out), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_png_has_the_same_pixels() -> Result<(), Box<dyn std::error::Error>> {
        let mut image = Image::new(3, 2);
        image.pixels[4] = [1, 2, 3];
        let mut bytes = Vec::new();
        image.write_png(&mut bytes)?;
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info()?;
        let mut back = vec![0; 18];
        reader.next_frame(&mut back)?;
        assert_eq!(back, image.pixels.as_flattened());
        Ok(())
    }
}
