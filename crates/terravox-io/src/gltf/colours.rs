//! Linear vertex colours from the sRGB colours of materials.
//!
//! Source: IEC 61966-2-1, the sRGB transfer function; COLOR_0 of glTF is linear.

use terravox::voxel::MaterialTable;

/// Linear colours of all material ids, 0 to 1.
pub(super) struct LinearColours([[f32; 3]; 256]);

impl LinearColours {
    pub(super) fn new(table: &MaterialTable) -> LinearColours {
        LinearColours(std::array::from_fn(|id| table.colour(id as u8).map(linear)))
    }

    /// The opaque colour of a vertex with these materials and weights. 16 bits, since 8 are too few
    /// for dark linear colours.
    pub(super) fn blend(&self, materials: [u8; 4], weights: [u8; 4]) -> [u16; 4] {
        let all: f32 = weights.iter().map(|&weight| f32::from(weight)).sum();
        if all == 0.0 {
            return full(self.0[usize::from(materials[0])]);
        }
        let mut sum = [0.0; 3];
        for (material, weight) in materials.into_iter().zip(weights) {
            let colour = self.0[usize::from(material)];
            for (sum, channel) in sum.iter_mut().zip(colour) {
                *sum += channel * f32::from(weight);
            }
        }
        full(sum.map(|channel| channel / all))
    }
}

/// Share of the tint in a tinted colour.
const TINT_SHARE: f32 = 0.6;

/// A colour with an sRGB tint mixed in.
pub(super) fn tinted(colour: [u16; 4], tint: [u8; 3]) -> [u16; 4] {
    let mix = |axis: usize| {
        let from = f32::from(colour[axis]) / 65535.0;
        from + (linear(tint[axis]) - from) * TINT_SHARE
    };
    full([mix(0), mix(1), mix(2)])
}

/// The opaque colour of an sRGB colour.
pub(super) fn opaque(colour: [u8; 3]) -> [u16; 4] {
    full(colour.map(linear))
}

fn full(colour: [f32; 3]) -> [u16; 4] {
    let [r, g, b] = colour.map(|channel| (channel * 65535.0 + 0.5) as u16);
    [r, g, b, u16::MAX]
}

fn linear(channel: u8) -> f32 {
    let c = f32::from(channel) / 255.0;
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_linear_and_blend_by_weight() {
        let mut table = MaterialTable::default();
        table.set_colour(2, [255, 0, 188]);
        table.set_colour(3, [0, 0, 0]);
        let colours = LinearColours::new(&table);
        let pure = colours.blend([2, 0, 0, 0], [255, 0, 0, 0]);
        assert_eq!([pure[0], pure[1], pure[3]], [65535, 0, 65535]);
        assert!((f32::from(pure[2]) / 65535.0 - 0.502_886).abs() < 1e-4);
        let half = colours.blend([2, 3, 0, 0], [128, 127, 0, 0]);
        assert_eq!(half[0], (65535.0f32 * 128.0 / 255.0).round() as u16);
        assert_eq!(colours.blend([2, 3, 0, 0], [0; 4]), pure);
        let blue = tinted(pure, [0, 0, 255]);
        assert!(blue[0] == (0.4f32 * 65535.0).round() as u16 && blue[2] > pure[2]);
        assert_eq!(blue[3], u16::MAX);
    }
}
