//! Writes seeds for all fuzz targets: small ones of our own writers to `fuzz/seeds`, which are
//! committed, and real files to `fuzz/corpus`, which are not.

use super::anvil_sample::{self, Layout};
use super::checks::{Hosted, STRUCTURED, guest_frame};
use std::fs;
use std::io;
use std::path::Path;
use terravox::edit::{EditOp, Editor, History, Journal};
use terravox::replicate::{Guest, LinkKind};
use terravox::voxel::{Cell, ChunkPos, DenseBox, GridOptions, VoxelGrid, VoxelPos};
use terravox_io::roblox::{self, Container, RobloxMetadata};
use terravox_io::vox;

/// Longest real file that is taken.
const MAX_BYTES: u64 = 400_000;

/// Writes all seeds.
pub fn write() -> io::Result<()> {
    own()?;
    meshes()?;
    regions()?;
    real(&super::fuzz_folder().join("../../../shared/data"))
}

fn put(folder: &str, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = super::fuzz_folder().join(folder).join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

/// A ball of two materials with water, over two chunks.
fn ball() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(ChunkPos::new(0, 0, 0).region());
    cells.set(VoxelPos::new(3, 4, 5), Cell::new(8, 77));
    cells.set_water(VoxelPos::new(3, 4, 5), Some(12));
    cells.set(VoxelPos::new(9, 4, 5), Cell::full(1));
    grid.write(&cells).expect("a chunk");
    grid.write(&DenseBox::new(ChunkPos::new(-2, 0, 7).region())).expect("a chunk");
    grid
}

/// A region, and chunks of all layouts without one.
fn regions() -> io::Result<()> {
    let empty = anvil_sample::chunk(Layout::V18, [0, 0], "full", &[]);
    put("seeds", "anvil", "region", &anvil_sample::region(&[([0, 0], 3, empty)]))?;
    for (name, layout) in [("v13", Layout::V13), ("v16", Layout::V16), ("v18", Layout::V18)] {
        let file = anvil_sample::landscape(layout, [0, 0]);
        let length = u32::from_be_bytes([8192, 8193, 8194, 8195].map(|at| file[at])) as usize;
        put("seeds", "anvil", name, &file[8197..8196 + length])?;
    }
    Ok(())
}

fn own() -> io::Result<()> {
    let grid = ball();
    let order = Some(vec![ChunkPos::new(0, 0, 0), ChunkPos::new(-2, 0, 7)]);
    let metadata = RobloxMetadata { order, colours: Some((0..69).collect()) };
    let model = |container| {
        roblox::export(grid.as_snapshot(), &metadata, container).expect("a small world")
    };
    let blob = model(Container::SmoothGrid);
    put("seeds", "roblox_binary", "model", &model(Container::Binary))?;
    put("seeds", "roblox_binary", "chunks", &chunks(&blob))?;
    put("seeds", "roblox_xml", "model", &model(Container::Xml))?;
    let part = "+<SharedString name=\"SmoothGrid\">h</SharedString></Properties></Item>\
                <SharedStrings><SharedString md5=\"h\">AQU=</SharedString></SharedStrings>";
    put("seeds", "roblox_xml", "shared", part.as_bytes())?;
    put("seeds", "smooth_grid", "ball", &blob)?;
    put("seeds", "metadata", "order", &metadata.to_bytes())?;
    put("seeds", "codec", "narrow", &[&[1, 32, 32, 32], &blob[14..]].concat())?;
    put("seeds", "codec", "wide", &[0, 3, 2, 1, 0xff, 200, 7, 1, 0x83, 4, 0xc2, 9, 0, 3, 0, 0, 0])?;
    put("seeds", "codec", "bits", &[2, 16, 16, 16, 0x3d, 0x02])?;
    put("seeds", "values", "narrow", &[0, 2, 1, 2, 3, 0x81, 7, 0xff, 0x77, 0x7f, 0])?;
    put("seeds", "values", "wide", &[2, 0, 1, 2, 3, 4, 0xff, 0x7d, 0x7f, 9, 0, 0, 0])?;
    put("seeds", "raw", "square", &[3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])?;
    for (name, colour) in [("grey", png::ColorType::Grayscale), ("rgba", png::ColorType::Rgba)] {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 4, 3);
        encoder.set_color(colour);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        let pixels: Vec<u8> = (0..12 * colour.samples() as u8).collect();
        writer.write_image_data(&pixels).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
        put("seeds", "png", name, &file)?;
    }
    // A grey picture of 3 × 2 pixels, with a filter byte a row.
    put("seeds", "png", "forged", &[3, 2, 8, 0, 0, 4, 8, 0, 0, 1, 2, 3, 0, 4, 5, 6])?;
    put("seeds", "vox", "world", &vox::export(grid.as_snapshot()).map_err(io::Error::other)?)?;
    put("seeds", "vox", "scene", &vox_scene())?;
    // Three strokes or entries of a few cells, the last with rows of its own.
    let patches =
        [0, 3, 4, 5, 2, 2, 2, 80, 3, 4, 6, 7, 0, 7, 161, 3, 4, 5, 0, 0, 0, 4, 0xFF, 1, 0, 1];
    put("seeds", "history", "structured", &[&[STRUCTURED, 1], &patches[..]].concat())?;
    put("seeds", "journal", "structured", &[&[STRUCTURED], &patches[..]].concat())?;
    let (mut history, mut grid) = (History::new(1 << 20), ball());
    let mut journal = Journal::new(1 << 20);
    let mut editor = Editor::default();
    let ops = [EditOp::dig_ball([3.0, 4.0, 5.0], 3.0), EditOp::fill_ball(8, [0.0; 3], 2.0)];
    for op in &ops {
        editor.apply(&mut grid, op, &mut history).map_err(io::Error::other)?;
        journal.record("ada", 1_764_000_000, history.take_last_change());
    }
    put("seeds", "journal", "two", &Journal::encode(journal.entries(..))[9..])?;
    history.undo(&mut grid).map_err(io::Error::other)?;
    put("seeds", "history", "two", &history.to_bytes()[9..])?;
    // Two strokes of version 2: numbers of channel 1 in three runs, bytes of channel 3.
    let runs = [0, 1, 0, 0, 1, 0xac, 2, 0, 2, 0];
    let strokes =
        [&[2, 0, 0, 1, 1, 2, 1, 0, 0, 3][..], &runs, &[0, 1, 3, 0, 0, 2, 0, 2, b'a', b'b']];
    put("seeds", "history", "values", &strokes.concat())?;
    put("seeds", "edit_op", "ball", serde_json::to_string(&ops[1])?.as_bytes())?;
    session()
}

/// A tetrahedron in every format, and one without its last triangle.
fn meshes() -> io::Result<()> {
    const OBJ: &str = "v 0 0 0\nv 3 0 0\nv 0 3 0\nv 0 0 3\nf 1 3 2\nf 1/1 2//1 4/1/1\nf -4 -1 -2\n";
    const PLY: &str = "ply\nformat binary_little_endian 1.0\nelement vertex 4\nproperty char x\n\
        property char y\nproperty char z\nelement face 4\nproperty list uchar uchar \
        vertex_indices\nend_header\n";
    const JSON: &str = r#"{"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"scale":[1,2,1]}],"meshes":
        [{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],"buffers":[{"byteLength":24}],
        "bufferViews":[{"buffer":0,"byteLength":12},{"buffer":0,"byteOffset":12,"byteLength":12}],
        "accessors":[{"bufferView":0,"componentType":5121,"count":4,"type":"VEC3"},
        {"bufferView":1,"componentType":5121,"count":12,"type":"SCALAR"}]}"#;
    let corners = [[0_u8, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3]];
    let faces = [[0_u8, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let mut stl = [&[0; 80][..], &4_u32.to_le_bytes()].concat();
    let mut text = "solid\n".to_owned();
    for face in faces {
        stl.extend([0; 12]);
        for [x, y, z] in face.map(|v| corners[usize::from(v)].map(f32::from)) {
            stl.extend([x, y, z].map(f32::to_le_bytes).as_flattened());
            text += &format!("vertex {x} {y} {z}\n");
        }
        stl.extend([0; 2]);
        text += "endfacet\n";
    }
    let ply = faces.iter().flat_map(|face| [3, face[0], face[1], face[2]]);
    let ply: Vec<u8> = corners.as_flattened().iter().copied().chain(ply).collect();
    let length = (JSON.len() as u16).to_le_bytes();
    let data = [corners.as_flattened(), faces.as_flattened()].concat();
    let open = OBJ.as_bytes();
    let closed = [open, b"f 2 3 4\n"].concat();
    for (name, kind, file) in [
        ("obj", 0, &closed),
        ("open_obj", 0, &open.to_vec()),
        ("stl", 1, &stl),
        ("stl_text", 1, &text.into_bytes()),
        ("ply", 2, &[PLY.as_bytes(), &ply].concat()),
        ("glb", 4, &[&length[..], JSON.as_bytes(), &data].concat()),
    ] {
        put("seeds", "triangles", name, &[&[kind], &file[..]].concat())?;
    }
    Ok(())
}

/// What a guest and a host say to each other while the guest joins and edits.
fn session() -> io::Result<()> {
    let (mut hosted, mut guest) = (Hosted::new(), Guest::new(LinkKind::Reliable, b"token"));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let put_packet = |packet: &[u8], to: &mut Vec<u8>| {
        to.extend((packet.len() as u16).to_le_bytes());
        to.extend(packet);
    };
    let mut sent: Vec<Vec<u8>> = Vec::new();
    for frame in 1..16 {
        let mut packets = Vec::new();
        // As the check of a guest does: a frame for each packet.
        for packet in sent.iter().map(|packet| Some(packet.as_slice())).chain([None]) {
            packet.iter().for_each(|packet| put_packet(packet, &mut down));
            packets.extend(guest_frame(&mut guest, packet, frame * 10_000).unwrap_or_default());
        }
        if frame == 6 {
            guest.edit(&EditOp::fill_ball(8, [0.0; 3], 3.0)).map_err(io::Error::other)?;
            guest.undo().map_err(io::Error::other)?;
        }
        sent.clear();
        for packet in packets.iter().map(|packet| Some(packet.as_slice())).chain([None]) {
            packet.iter().for_each(|packet| put_packet(packet, &mut up));
            sent.extend(hosted.take(packet));
        }
    }
    assert!(guest.is_complete() && guest.pending_edits() == 0, "the session came to its end");
    put("seeds", "host_packets", "session", &up)?;
    put("seeds", "guest_packets", "session", &down)
}

/// What stands in MAIN: a turned model, and the same in a hidden layer.
fn vox_scene() -> Vec<u8> {
    let chunk = |id: &[u8; 4], content: &[u8]| {
        [&id[..], &(content.len() as u32).to_le_bytes(), &[0; 4], content].concat()
    };
    let numbers = |values: &[u32]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    let attribute = |key: &[u8], value: &[u8]| {
        let [key_length, value_length] = [key, value].map(|text| numbers(&[text.len() as u32]));
        [&numbers(&[1])[..], &key_length, key, &value_length, value].concat()
    };
    let transform = |id: u32, layer: u32, frame: &[u8]| {
        let head = numbers(&[id, 0, id + 1, u32::MAX, layer, 1]);
        chunk(b"nTRN", &[&head[..], frame].concat())
    };
    let hidden = [&numbers(&[7])[..], &attribute(b"_hidden", b"1"), &numbers(&[u32::MAX])].concat();
    [
        chunk(b"SIZE", &numbers(&[3, 2, 1])),
        chunk(b"XYZI", &[2, 0, 0, 0, 0, 0, 0, 1, 2, 1, 0, 9]),
        transform(0, u32::MAX, &numbers(&[0])),
        chunk(b"nGRP", &numbers(&[1, 0, 2, 2, 4])),
        transform(2, 0, &attribute(b"_r", b"17")),
        chunk(b"nSHP", &numbers(&[3, 0, 1, 0, 0])),
        transform(4, 7, &attribute(b"_t", b"1 -2 30")),
        chunk(b"nSHP", &numbers(&[5, 0, 1, 0, 0])),
        chunk(b"LAYR", &hidden),
    ]
    .concat()
}

/// Chunks for the target `roblox_binary`, one of each packing.
fn chunks(blob: &[u8]) -> Vec<u8> {
    let string = |value: &[u8]| [&(value.len() as u32).to_le_bytes(), value].concat();
    let inst = [&[7, 0, 0, 0], &string(b"Terrain")[..], &[0, 1, 0, 0, 0, 0, 0, 0, 0]].concat();
    let start = [&[7, 0, 0, 0], &string(b"SmoothGrid")[..]].concat();
    let prop = [&start[..], &[1], &string(blob)].concat();
    let shared = [&start[..], &[0x1C, 0, 0, 0, 0]].concat();
    let strings = [&[0, 0, 0, 0, 1, 0, 0, 0][..], &[9; 16], &string(blob)].concat();
    let parts: [(u8, &[u8]); 4] =
        [(2 << 2, &strings), (1, &inst), (1 << 2 | 2, &prop), (1 << 2, &shared)];
    let put = |(kind, payload): (u8, &[u8])| {
        [&[kind], &(payload.len() as u16).to_le_bytes()[..], payload].concat()
    };
    parts.map(put).concat()
}

/// Copies real files.
fn real(data: &Path) -> io::Result<()> {
    for folder in ["roblox", "real", "hostile"] {
        let Ok(files) = fs::read_dir(data.join(folder)) else {
            eprintln!("skipped: no files at {}", data.join(folder).display());
            continue;
        };
        for file in files {
            let path = file?.path();
            let target = match path.extension().and_then(|extension| extension.to_str()) {
                Some("rbxm") => "roblox_binary",
                Some("rbxmx") => "roblox_xml",
                Some("smoothgrid") => "smooth_grid",
                Some("png") => "png",
                Some("raw") => "raw",
                _ => continue,
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match fs::metadata(&path)?.len() {
                0..=MAX_BYTES => put("corpus", target, &name, &fs::read(&path)?)?,
                bytes => eprintln!("skipped: {name} has {bytes} bytes"),
            }
        }
    }
    Ok(())
}
