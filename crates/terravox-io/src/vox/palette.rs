//! The palette of a file: 255 colours, by index.

/// sRGB colours by index; index 0 means no voxel.
pub(super) type Palette = [[u8; 3]; 256];

/// Steps of the cube of colours in the default palette.
const CUBE: [u8; 6] = [0xFF, 0xCC, 0x99, 0x66, 0x33, 0x00];

/// Steps of its ramps of red, green, blue and grey.
const RAMP: [u8; 10] = [0xEE, 0xDD, 0xBB, 0xAA, 0x88, 0x77, 0x55, 0x44, 0x22, 0x11];

/// Returns the palette of files without one: a cube of 6³ colours without black, blue fastest, and
/// four ramps.
pub(super) fn default_palette() -> Palette {
    std::array::from_fn(|index| match index {
        0 => [0; 3],
        1..=215 => {
            let i = index - 1;
            [CUBE[i / 36], CUBE[i / 6 % 6], CUBE[i % 6]]
        }
        _ => {
            let (ramp, step) = ((index - 216) / 10, RAMP[(index - 216) % 10]);
            std::array::from_fn(|channel| if ramp == 3 || ramp == channel { step } else { 0 })
        }
    })
}

/// Returns the palette of an RGBA chunk, whose first entry is colour 1; `None` if it is too short.
pub(super) fn read_palette(content: &[u8]) -> Option<Palette> {
    let (entries, _) = content.as_chunks::<4>();
    let mut palette = [[0; 3]; 256];
    for (index, colour) in palette.iter_mut().enumerate().skip(1) {
        let [r, g, b, _] = *entries.get(index - 1)?;
        *colour = [r, g, b];
    }
    Some(palette)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the table that the description of the format prints, as ABGR.
    #[test]
    fn the_default_palette_is_the_published_one() {
        let palette = default_palette();
        for (index, abgr) in [
            (1, 0xffff_ffff_u32),
            (2, 0xffcc_ffff),
            (7, 0xffff_ccff),
            (36, 0xff00_00ff),
            (37, 0xffff_ffcc),
            (215, 0xff33_0000),
            (216, 0xff00_00ee),
            (226, 0xff00_ee00),
            (236, 0xffee_0000),
            (245, 0xff11_0000),
            (246, 0xffee_eeee),
            (255, 0xff11_1111),
        ] {
            let [r, g, b, _] = abgr.to_le_bytes();
            assert_eq!(palette[index], [r, g, b], "{index}");
        }
        assert_eq!(read_palette(&[9; 1019]), None);
        assert_eq!(read_palette(&[9; 1020]).map(|p| p[255]), Some([9; 3]));
    }
}
