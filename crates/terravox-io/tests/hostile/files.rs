//! Files built byte by byte.

/// How the payload of a chunk is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Raw,
    Lz4,
    /// Blocks of one repeated byte where there are such, else raw ones.
    Zstd,
}

pub const PACKINGS: [Packing; 3] = [Packing::Raw, Packing::Lz4, Packing::Zstd];

/// A binary file of these chunks, with its END.
pub fn binary(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"<roblox!\x89\xff\r\n\x1a\n".to_vec();
    out.extend([0, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(chunks.concat());
    out.extend(chunk(Packing::Raw, b"END\0", b"</roblox>"));
    out
}

pub fn chunk(packing: Packing, name: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let packed = match packing {
        Packing::Raw => None,
        Packing::Lz4 => Some(lz4_flex::block::compress(payload)),
        Packing::Zstd => Some(zstd(payload)),
    };
    let packed_length = packed.as_ref().map_or(0, Vec::len) as u32;
    let mut out = name.to_vec();
    out.extend(packed_length.to_le_bytes());
    out.extend((payload.len() as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(packed.as_deref().unwrap_or(payload));
    out
}

/// A zstd frame with a window of 1 MiB.
pub fn zstd(payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 10 << 3];
    let blocks: Vec<&[u8]> = payload.chunks(1 << 17).collect();
    for (i, block) in blocks.iter().enumerate() {
        let is_last = u32::from(i + 1 == blocks.len());
        let is_run = block.iter().all(|byte| *byte == block[0]);
        let header = (block.len() as u32) << 3 | u32::from(is_run) << 1 | is_last;
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(if is_run { &block[..1] } else { block });
    }
    if blocks.is_empty() {
        out.extend([1, 0, 0]);
    }
    out
}

pub fn string(value: &[u8]) -> Vec<u8> {
    [&(value.len() as u32).to_le_bytes(), value].concat()
}

/// An INST payload with the referents of `count` instances.
pub fn inst(id: u32, class: &str, count: u32) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(string(class.as_bytes()));
    payload.push(0);
    payload.extend(count.to_le_bytes());
    payload.resize(payload.len() + 4 * count as usize, 0);
    payload
}

/// A PROP payload of type string.
pub fn prop(id: u32, name: &str, values: &[Vec<u8>]) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(string(name.as_bytes()));
    payload.push(1);
    payload.extend(values.iter().flat_map(|value| string(value)));
    payload
}

/// A PROP payload of shared strings; every value is number `index`.
pub fn shared_prop(id: u32, name: &str, count: u32, index: u32) -> Vec<u8> {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(string(name.as_bytes()));
    payload.push(0x1C);
    for byte in index.to_be_bytes() {
        payload.resize(payload.len() + count as usize, byte);
    }
    payload
}

/// An SSTR payload.
pub fn shared(values: &[Vec<u8>]) -> Vec<u8> {
    let mut payload = 0u32.to_le_bytes().to_vec();
    payload.extend((values.len() as u32).to_le_bytes());
    for value in values {
        payload.extend([7; 16]);
        payload.extend(string(value));
    }
    payload
}

/// A SmoothGrid with chunks at these positions, each of these runs.
pub fn smooth_grid(positions: impl IntoIterator<Item = [i32; 3]>, runs: &[u8]) -> Vec<u8> {
    let mut out = vec![1, 5];
    let mut last = [0i32; 3];
    for position in positions {
        let delta: [[u8; 4]; 3] =
            [0, 1, 2].map(|axis: usize| i32::to_be_bytes(position[axis] - last[axis]));
        last = position;
        for byte in 0..4 {
            out.extend(delta.map(|delta| delta[byte]));
        }
        out.extend(runs);
    }
    out
}

/// The runs of a chunk of full cells.
pub fn full(material: u8) -> Vec<u8> {
    [0x80 | material, 255].repeat(128)
}

/// The runs of a chunk in which no row is uniform.
pub fn rough() -> Vec<u8> {
    let pair = [0x80 | 2, 30, 3];
    pair.repeat(1024)
}

/// The runs of a chunk in which every cell is a run, with water.
pub fn wet() -> Vec<u8> {
    [0xC2, 100, 0, 9].repeat(1 << 15)
}

pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub fn xml(body: &str) -> Vec<u8> {
    format!("<roblox version=\"4\">{body}</roblox>").into_bytes()
}

pub fn terrain(properties: &str) -> String {
    format!("<Item class=\"Terrain\"><Properties>{properties}</Properties></Item>")
}

/// A PNG of one colour.
pub fn png(size: [u32; 2], colour: png::ColorType, depth: png::BitDepth) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, size[0], size[1]);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::Fast);
    let pixel = colour.samples() * depth as usize;
    let row = (size[0] as usize * pixel).div_ceil(8);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&vec![0; row * size[1] as usize]).expect("pixels");
    writer.finish().expect("an end");
    out
}

/// A chunk of a PNG.
pub fn png_chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&name[..], data].concat();
    let mut crc = !0u32;
    for byte in &body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    [&(data.len() as u32).to_be_bytes()[..], &body, &(!crc).to_be_bytes()].concat()
}

/// A MagicaVoxel file of these chunks.
pub fn vox(chunks: &[Vec<u8>]) -> Vec<u8> {
    let main = chunks.concat();
    let mut out = b"VOX \x96\0\0\0MAIN\0\0\0\0".to_vec();
    out.extend((main.len() as u32).to_le_bytes());
    out.extend(main);
    out
}

pub fn vox_chunk(id: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&id[..], &(content.len() as u32).to_le_bytes(), &[0; 4], content].concat()
}

pub fn vox_model(size: [u32; 3], voxels: &[[u8; 4]]) -> Vec<u8> {
    let count = (voxels.len() as u32).to_le_bytes();
    let size = vox_chunk(b"SIZE", size.map(u32::to_le_bytes).as_flattened());
    [size, vox_chunk(b"XYZI", &[&count, voxels.as_flattened()].concat())].concat()
}

/// Attributes of a node.
fn attributes(entries: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| string(text.as_bytes());
    let entries_of = entries.iter().flat_map(|(key, value)| [text(key), text(value)].concat());
    (entries.len() as u32).to_le_bytes().into_iter().chain(entries_of).collect()
}

/// A transform whose first frame has these attributes; in no layer.
pub fn vox_transform(id: u32, child: u32, frame: &[(&str, &str)]) -> Vec<u8> {
    let head = [id, 0, child, u32::MAX, u32::MAX, 1].map(u32::to_le_bytes);
    vox_chunk(b"nTRN", &[head.as_flattened(), &attributes(frame)].concat())
}

pub fn vox_group(id: u32, children: &[u32]) -> Vec<u8> {
    let head = [id, 0, children.len() as u32];
    let all = head.iter().chain(children).flat_map(|value| value.to_le_bytes());
    vox_chunk(b"nGRP", &all.collect::<Vec<u8>>())
}

pub fn vox_shape(id: u32, model: u32) -> Vec<u8> {
    vox_chunk(b"nSHP", [id, 0, 1, model, 0].map(u32::to_le_bytes).as_flattened())
}

pub fn vox_layer(id: u32, entries: &[(&str, &str)]) -> Vec<u8> {
    let [id, reserved] = [id, u32::MAX].map(u32::to_le_bytes);
    vox_chunk(b"LAYR", &[&id[..], &attributes(entries), &reserved].concat())
}
