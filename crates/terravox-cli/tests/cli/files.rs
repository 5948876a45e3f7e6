//! Small files for the tests, byte by byte.

/// A SmoothGrid of the chunks at `positions`: the lower half a hill of grass (2) with a
/// shoreline cell, water (1) in a corner, the rest air.
pub fn smooth_grid(positions: &[[i32; 3]]) -> Vec<u8> {
    let mut bytes = vec![1, 5];
    let mut last = [0_i32; 3];
    for &position in positions {
        let delta: Vec<[u8; 4]> =
            (0..3).map(|i| position[i].wrapping_sub(last[i]).to_be_bytes()).collect();
        (0..4).for_each(|byte| bytes.extend(delta.iter().map(|d| d[byte])));
        last = position;
        chunk(&mut bytes);
    }
    bytes
}

/// The runs of a chunk: layers of 1,024 cells, y upward.
fn chunk(bytes: &mut Vec<u8>) {
    for y in 0..32 {
        match y {
            // Full grass.
            0..12 => (0..4).for_each(|_| bytes.extend([0x82, 255])),
            // The top of the ground: occupancy 100, one cell that holds water, and a pool.
            12 => {
                bytes.extend([0xC2, 100, 255]);
                bytes.extend([0xC2, 60, 0, 200]);
                bytes.extend([0xC2, 100, 254]);
                bytes.extend([0x81, 255]);
                bytes.extend([0xC2, 100, 255]);
            }
            _ => (0..4).for_each(|_| bytes.extend([0x80, 255])),
        }
    }
}

/// A grey PNG of 16 bits, a hill in the middle.
pub fn heightmap(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&samples(width, height, u16::to_be_bytes)).expect("samples");
    writer.finish().expect("a PNG");
    bytes
}

/// Samples of 16 bits of the same hill.
pub fn samples(width: u32, height: u32, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    let hill = |x: u32, z: u32| {
        let [x, z] = [(x, width), (z, height)].map(|(v, all)| f64::from(v) / f64::from(all) - 0.5);
        (65_000.0 * (-8.0 * (x * x + z * z)).exp()) as u16
    };
    let at = (0..height).flat_map(|z| (0..width).map(move |x| (x, z)));
    at.flat_map(|(x, z)| bytes(hill(x, z))).collect()
}

fn vox_chunk(id: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&id[..], &(content.len() as u32).to_le_bytes(), &[0; 4], content].concat()
}

fn vox_file(chunks: &[Vec<u8>]) -> Vec<u8> {
    let main = chunks.concat();
    let length = (main.len() as u32).to_le_bytes();
    [&b"VOX \x96\0\0\0MAIN\0\0\0\0"[..], &length, &main].concat()
}

fn numbers(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A MagicaVoxel scene: a red tower of three voxels and a blue wall of two beside it, of a palette
/// in which colour 1 is red, 2 blue and the others white.
pub fn vox_scene() -> Vec<u8> {
    let voxels = [[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 2, 1], [1, 0, 0, 2], [1, 0, 1, 2]];
    let palette = [[255, 0, 0, 255], [0, 0, 255, 255]].concat();
    vox_file(&[
        vox_chunk(b"SIZE", &numbers(&[2, 1, 3])),
        vox_chunk(b"XYZI", &[&numbers(&[5]), voxels.as_flattened()].concat()),
        // A transform by (1, 0, 1), so that the tower stands on (0, 0, 0).
        vox_chunk(
            b"nTRN",
            &[&numbers(&[0, 0, 1, u32::MAX, 0, 1, 1, 2])[..], b"_t\x05\0\0\x001 0 1"].concat(),
        ),
        vox_chunk(b"nSHP", &numbers(&[1, 0, 1, 0, 0])),
        vox_chunk(b"RGBA", &[palette, vec![255; 4 * 254]].concat()),
    ])
}

/// A small scene in which one model is placed ten thousand times.
pub fn vox_of_many_models() -> Vec<u8> {
    let voxels: Vec<[u8; 4]> = (0..=255).flat_map(|x| (0..64).map(move |y| [x, y, 0, 1])).collect();
    vox_file(&[
        vox_chunk(b"SIZE", &numbers(&[256, 64, 1])),
        vox_chunk(b"XYZI", &[&numbers(&[voxels.len() as u32]), voxels.as_flattened()].concat()),
        vox_chunk(b"nGRP", &numbers(&[&[0, 0, 10_000][..], &[1; 10_000]].concat())),
        vox_chunk(b"nSHP", &numbers(&[1, 0, 1, 0, 0])),
    ])
}
