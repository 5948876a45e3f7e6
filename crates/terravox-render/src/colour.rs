//! Linear light, sRGB, and the tone curve between them.
//!
//! Source of the tone curve: Reinhard et al., "Photographic Tone Reproduction for Digital
//! Images" (2002), equation 4, blended from luminance, which keeps hues, and from each channel,
//! which lets the brightest lights turn white.

use glam::Vec3;
use terravox::voxel::MaterialTable;

/// Exposure before the tone curve.
const EXPOSURE: f32 = 1.0;

/// Light, after exposure, that is shown as white.
const WHITE: f32 = 2.6;

/// Share of the tone curve per channel; the rest is on luminance.
const PER_CHANNEL_SHARE: f32 = 0.4;

/// Returns the linear colours of the 256 material ids.
pub(crate) fn palette(materials: &MaterialTable) -> [Vec3; 256] {
    std::array::from_fn(|id| Vec3::from(materials.colour(id as u8).map(linear_from_srgb)))
}

/// Converts an sRGB channel to linear light, 0 to 1.
pub(crate) fn linear_from_srgb(value: u8) -> f32 {
    let v = f32::from(value) / 255.0;
    if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
}

/// Converts linear channels, clamped to 0 to 1, to sRGB bytes.
pub(crate) fn srgb_from_linear(linear: Vec3) -> [u8; 3] {
    linear.to_array().map(|v| {
        let v = v.clamp(0.0, 1.0);
        let encoded = if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        (encoded * 255.0 + 0.5) as u8
    })
}

/// Maps light of any brightness to what a screen can show: linear, each channel 0 to 1.
pub(crate) fn tone_mapped(light: Vec3) -> Vec3 {
    let x = light.max(Vec3::ZERO) * EXPOSURE;
    let bright = luminance(x);
    let same_hue = x * (tone_curve(bright) / bright.max(1e-6));
    let per_channel = Vec3::new(tone_curve(x.x), tone_curve(x.y), tone_curve(x.z));
    same_hue.lerp(per_channel, PER_CHANNEL_SHARE).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Returns the relative luminance of linear light.
pub(crate) fn luminance(light: Vec3) -> f32 {
    light.dot(Vec3::new(0.2126, 0.7152, 0.0722))
}

fn tone_curve(x: f32) -> f32 {
    x * (1.0 + x / (WHITE * WHITE)) / (1.0 + x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tone_and_srgb_rise_from_black_to_white() {
        let shown = |light: f32| srgb_from_linear(tone_mapped(Vec3::splat(light)));
        assert_eq!(shown(0.0), [0; 3]);
        assert_eq!(shown(1e6), [255; 3]);
        let mut before = 0;
        for step in 0..40 {
            let [value, ..] = shown(step as f32 * 0.1);
            assert!(value >= before);
            before = value;
        }
        assert!(before > 200);
    }

    #[test]
    fn srgb_becomes_linear() {
        assert_eq!([0, 255].map(linear_from_srgb), [0.0, 1.0]);
        assert!((linear_from_srgb(188) - 0.5).abs() < 0.01);
    }
}
