//! Linear light to a PNG.
//!
//! Source of the tone curve: Reinhard et al., "Photographic Tone Reproduction for Digital
//! Images" (2002), equation 4, mostly on brightness and partly on each channel: the
//! first keeps hues, the second lets the brightest lights go white.

use glam::Vec3;
use std::io::{BufWriter, Write};

/// Exposure before the tone curve.
const EXPOSURE: f32 = 1.0;

/// Light, after exposure, that is shown white.
const WHITE: f32 = 2.6;

/// A picture, sRGB, 8 bits a channel, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue; `width * height` of them.
    pub pixels: Vec<[u8; 3]>,
}

impl Image {
    /// A black picture.
    pub fn new(width: usize, height: usize) -> Image {
        Image { width, height, pixels: vec![[0; 3]; width * height] }
    }

    /// Writes the picture as PNG.
    ///
    /// # Errors
    /// What the writer answers.
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

/// Light as a screen can show it, linear, each channel 0 to 1.
pub fn tone(light: Vec3) -> Vec3 {
    let x = light.max(Vec3::ZERO) * EXPOSURE;
    let bright = brightness(x);
    let kept = x * (curve(bright) / bright.max(1e-6));
    let each = Vec3::new(curve(x.x), curve(x.y), curve(x.z));
    kept.lerp(each, 0.4).clamp(Vec3::ZERO, Vec3::ONE)
}

/// How bright an eye finds linear light.
pub fn brightness(light: Vec3) -> f32 {
    light.dot(Vec3::new(0.2126, 0.7152, 0.0722))
}

fn curve(x: f32) -> f32 {
    x * (1.0 + x / (WHITE * WHITE)) / (1.0 + x)
}

/// Linear channels, 0 to 1, as sRGB bytes.
pub fn srgb(linear: Vec3) -> [u8; 3] {
    linear.to_array().map(|v| {
        let v = v.clamp(0.0, 1.0);
        let encoded = if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (encoded * 255.0 + 0.5) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tone_and_srgb_rise_from_black_to_white() {
        assert_eq!(srgb(tone(Vec3::ZERO)), [0; 3]);
        assert_eq!(srgb(tone(Vec3::splat(1e6))), [255; 3]);
        let mut before = 0;
        for step in 0..40 {
            let [value, ..] = srgb(tone(Vec3::splat(step as f32 * 0.1)));
            assert!(value >= before);
            before = value;
        }
        assert!(before > 200);
    }

    #[test]
    fn a_png_reads_back() -> Result<(), Box<dyn std::error::Error>> {
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
