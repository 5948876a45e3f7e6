//! Written files are parsed again: structure, alignment, and the exact vertices of the meshes.

use super::*;
use crate::tiles::{ExportFrame, group_into_tiles};
use serde_json::{Value, json};
use std::io::Write;
use terravox::generate::fill_sdf;
use terravox::mesh::{BlockMesh, Mesher, NeighbourMips, PAD, Surface};
use terravox::voxel::{
    Cell, ChunkPos, DenseBox, GridOptions, MaterialTable, MipBlock, Region, VoxelGrid, VoxelPos,
};

/// A pond in a hill of two materials, over the corner of eight chunks at `at`.
fn world(at: VoxelPos) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-20; 3], [20; 3]));
    let ball = |p: [f64; 3]| 14.0 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
    fill_sdf(&mut cells, 0, ball, |p| if p[0] > 3.0 { 8 } else { 2 });
    for y in 9..12 {
        cells.set(VoxelPos::new(0, y, 0), Cell::full(1));
        cells.set(VoxelPos::new(1, y, 0), Cell::full(1));
    }
    for y in 12..16 {
        cells.set(VoxelPos::new(0, y, 0), Cell::AIR);
        cells.set(VoxelPos::new(1, y, 0), Cell::AIR);
    }
    cells.move_to(at + VoxelPos::splat(-20));
    grid.write(&cells).unwrap();
    grid
}

fn meshes(grid: &VoxelGrid) -> Vec<(ChunkPos, BlockMesh)> {
    let mut mesher = Mesher::new();
    let mut cells = DenseBox::default();
    let mesh = |chunk: ChunkPos| {
        grid.read(chunk.region().grow(PAD), 0, &mut cells).unwrap();
        let mut mesh = BlockMesh::new();
        mesher.mesh(&cells, grid.materials(), &mut mesh);
        (chunk, mesh)
    };
    grid.chunks().into_iter().map(mesh).collect()
}

fn written(
    options: GlbOptions,
    grid: &VoxelGrid,
    meshes: &[(ChunkPos, BlockMesh)],
    edge: u16,
) -> (Vec<u8>, GlbStats) {
    let mut writer = GlbWriter::new(options, grid.materials());
    let chunks: Vec<ChunkPos> = meshes.iter().map(|entry| entry.0).collect();
    for tile in group_into_tiles(&chunks, edge) {
        let of_tile = meshes.iter().filter(|entry| tile.chunks.contains(&entry.0));
        writer.add_tile(&tile.name(), of_tile.map(|entry| &entry.1)).unwrap();
    }
    let mut out = Vec::new();
    let stats = writer.finish(&mut out).unwrap();
    assert_eq!(stats.bytes, out.len() as u64);
    (out, stats)
}

/// The JSON and the binary chunk.
pub(super) fn parsed(file: &[u8]) -> (Value, Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&file[..4], word(4), word(8)), (&b"glTF"[..], 2, file.len()));
    let json = word(12);
    assert_eq!((json % 4, &file[16..20]), (0, &b"JSON"[..]));
    let value: Value = serde_json::from_slice(&file[20..20 + json]).unwrap();
    let rest = &file[20 + json..];
    if rest.is_empty() {
        return (value, Vec::new());
    }
    assert_eq!((word(20 + json), &rest[4..8]), (rest.len() - 8, &b"BIN\0"[..]));
    (value, rest[8..].to_vec())
}

pub(super) fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

/// The bytes of each element of an accessor.
pub(super) fn elements<'b>(json: &Value, binary: &'b [u8], accessor: &Value) -> Vec<&'b [u8]> {
    let accessor = &json["accessors"][number(accessor)];
    let view = &json["bufferViews"][number(&accessor["bufferView"])];
    let size = match (accessor["componentType"].as_u64(), accessor["type"].as_str()) {
        (Some(5126), Some("VEC3")) => 12,
        (Some(5126), Some("VEC4")) => 16,
        (Some(5123), Some("VEC4")) => 8,
        (Some(5121), Some("VEC4")) => 4,
        (Some(5125), Some("SCALAR")) => 4,
        (Some(5123), Some("SCALAR")) => 2,
        (Some(5123), Some("VEC3")) => 6,
        (Some(5120), Some("VEC3")) => 3,
        other => panic!("{other:?}"),
    };
    let stride = view["byteStride"].as_u64().map_or(size, |stride| stride as usize);
    let start = number(&view["byteOffset"]) + number(&accessor["byteOffset"]);
    assert_eq!(start % size.clamp(2, 4).next_power_of_two(), 0, "aligned");
    let end = number(&view["byteOffset"]) + number(&view["byteLength"]);
    let count = number(&accessor["count"]);
    assert!(start + (count - 1) * stride + size <= end && end <= binary.len());
    (0..count).map(|i| &binary[start + i * stride..][..size]).collect()
}

pub(super) fn vector(bytes: &[u8]) -> [f32; 3] {
    let at = |i: usize| f32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
    [at(0), at(1), at(2)]
}

/// All triangles as positions, with the name of their material, sorted.
fn triangles(json: &Value, binary: &[u8]) -> Vec<(String, [[u32; 3]; 3])> {
    let mut all = Vec::new();
    for mesh in json["meshes"].as_array().unwrap() {
        for primitive in mesh["primitives"].as_array().unwrap() {
            let positions = elements(json, binary, &primitive["attributes"]["POSITION"]);
            let name = &json["materials"][number(&primitive["material"])]["name"];
            let indices = elements(json, binary, &primitive["indices"]);
            for triangle in indices.chunks_exact(3) {
                let corner = |bytes: &[u8]| {
                    let index = u32::from_le_bytes(bytes.try_into().unwrap());
                    vector(positions[index as usize]).map(f32::to_bits)
                };
                let corners = [corner(triangle[0]), corner(triangle[1]), corner(triangle[2])];
                all.push((name.as_str().unwrap().to_owned(), corners));
            }
        }
    }
    all.sort();
    all
}

/// The same, straight from the meshes.
fn expected(
    frame: ExportFrame,
    grid: &VoxelGrid,
    meshes: &[(ChunkPos, BlockMesh)],
) -> Vec<(String, [[u32; 3]; 3])> {
    let mut all = Vec::new();
    for (_, mesh) in meshes {
        for surface in [&mesh.solid, &mesh.liquid] {
            for (i, triangle) in surface.triangles().enumerate() {
                let corner = |v: u32| {
                    frame
                        .position_at(0, mesh.block, surface.positions[v as usize])
                        .map(f32::to_bits)
                };
                all.push((
                    grid.materials().name(surface.quad_materials[i / 2]),
                    triangle.map(corner),
                ));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn every_triangle_of_the_meshes_is_in_the_file_under_its_material() {
    let grid = world(VoxelPos::ZERO);
    let meshes = meshes(&grid);
    for edge in [1, 4] {
        let frame = ExportFrame { voxel_size_m: 0.3, ..ExportFrame::default() };
        let options = GlbOptions { frame, ..GlbOptions::default() };
        let (file, stats) = written(options, &grid, &meshes, edge);
        let (json, binary) = parsed(&file);
        let found = triangles(&json, &binary);
        assert_eq!(stats.triangles, found.len() as u64);
        assert_eq!(stats.tiles, json["meshes"].as_array().unwrap().len() as u64);
        assert!(found == expected(frame, &grid, &meshes));
        let names: Vec<&str> = json["materials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["name"].as_str().unwrap())
            .collect();
        let sorted = |mut names: Vec<&'static str>| {
            names.sort();
            names
        };
        let mut names: Vec<&str> = names;
        names.sort();
        assert_eq!(names, sorted(vec!["Grass", "Rock", "Water"]));
    }
}

#[test]
fn bounds_normals_and_colours_follow_the_specification() {
    let grid = world(VoxelPos::ZERO);
    let (file, stats) = written(GlbOptions::default(), &grid, &meshes(&grid), 4);
    let (json, binary) = parsed(&file);
    assert_eq!(json["asset"]["version"], "2.0");
    let mut vertices = 0;
    let mut seen = std::collections::BTreeSet::new();
    for mesh in json["meshes"].as_array().unwrap() {
        for primitive in mesh["primitives"].as_array().unwrap() {
            let attributes = &primitive["attributes"];
            if !seen.insert(number(&attributes["POSITION"])) {
                continue;
            }
            let positions = elements(&json, &binary, &attributes["POSITION"]);
            vertices += positions.len() as u64;
            let accessor = &json["accessors"][number(&attributes["POSITION"])];
            for axis in 0..3 {
                let values = positions.iter().map(|bytes| vector(bytes)[axis]);
                let (low, high) =
                    values.fold((f32::MAX, f32::MIN), |(a, b), v| (a.min(v), b.max(v)));
                assert_eq!(accessor["min"][axis].as_f64(), Some(low.into()));
                assert_eq!(accessor["max"][axis].as_f64(), Some(high.into()));
            }
            for normal in elements(&json, &binary, &attributes["NORMAL"]) {
                let length = vector(normal).iter().map(|v| v * v).sum::<f32>().sqrt();
                assert!((length - 1.0).abs() < 1e-4);
            }
            for colour in elements(&json, &binary, &attributes["COLOR_0"]) {
                assert_eq!(colour[6..], [255, 255], "vertices are opaque");
            }
        }
    }
    assert_eq!(vertices, stats.vertices);
    let water =
        json["materials"].as_array().unwrap().iter().find(|m| m["name"] == "Water").unwrap();
    assert_eq!(water["alphaMode"], "BLEND");
    assert!(water["pbrMetallicRoughness"]["baseColorFactor"][3].as_f64().unwrap() < 1.0);
}

#[test]
fn far_from_the_origin_positions_are_exact_and_the_node_has_the_translation() {
    let at = VoxelPos::new(320_000_000, -64, 32);
    let near = world(VoxelPos::ZERO);
    let far = world(at);
    let frame = ExportFrame { voxel_size_m: 0.25, origin: at };
    let options = GlbOptions { frame, ..GlbOptions::default() };
    let (file, _) = written(options, &far, &meshes(&far), 4);
    let (json, binary) = parsed(&file);
    let near_frame = ExportFrame { origin: VoxelPos::ZERO, ..frame };
    assert!(triangles(&json, &binary) == expected(near_frame, &near, &meshes(&near)));
    let root = json["nodes"].as_array().unwrap().last().unwrap();
    assert_eq!(root["translation"], json!([80_000_000.0, -16.0, 8.0]));
}

#[test]
fn objects_far_from_the_files_origin_are_exact_in_frames_of_their_own() {
    let limit = terravox::voxel::LIMIT;
    let near = world(VoxelPos::ZERO);
    let frame = ExportFrame { voxel_size_m: 0.25, origin: VoxelPos::ZERO };
    let options = GlbOptions { frame, ..GlbOptions::default() };
    for far in [limit - 64, 64 - limit, 1 << 24] {
        let at = VoxelPos::new(far, 0, -far);
        let grid = world(at);
        let (file, _) = written(options, &grid, &meshes(&grid), 1);
        let (json, binary) = parsed(&file);
        let nodes = json["nodes"].as_array().unwrap();
        assert!(nodes.len() > 4);
        for node in &nodes[..nodes.len() - 1] {
            let offset = |axis: usize| node["translation"][axis].as_f64().unwrap() * 4.0;
            let from_scene = [0, 1, 2].map(|axis| offset(axis) - f64::from(at.to_array()[axis]));
            assert!(from_scene.iter().all(|v| v.abs() <= 32.0 && v % 32.0 == 0.0), "{node}");
        }
        // Vertices from the corners of their chunks: those at the origin, but in another order.
        let local = |grid: &VoxelGrid| {
            let mut all: Vec<[u32; 3]> = Vec::new();
            for (chunk, mesh) in meshes(grid) {
                let frame = ExportFrame { origin: chunk.min_voxel(), ..frame };
                for surface in [&mesh.solid, &mesh.liquid] {
                    let placed = surface.positions.iter();
                    all.extend(
                        placed.map(|&p| frame.position_at(0, mesh.block, p).map(f32::to_bits)),
                    );
                }
            }
            all.sort_unstable();
            all
        };
        assert!(local(&near) == local(&grid));
        let bounds = json["accessors"].as_array().unwrap().iter().filter_map(|a| a.get("max"));
        for max in bounds {
            let inside = (0..3).all(|axis| max[axis].as_f64().unwrap().abs() <= 9.0);
            assert!(inside, "{max} is not within a chunk");
        }
        assert!(!binary.is_empty());
    }
}

#[test]
fn a_world_without_triangles_is_a_file_without_meshes() {
    let grid = VoxelGrid::new(GridOptions::default());
    let mut writer = GlbWriter::new(GlbOptions::default(), grid.materials());
    writer.add_tile("tile 0 0 0", [&BlockMesh::new()]).unwrap();
    let mut file = Vec::new();
    assert_eq!(writer.finish(&mut file).unwrap().tiles, 0);
    let (json, binary) = parsed(&file);
    assert!(json.get("meshes").is_none() && json.get("buffers").is_none() && binary.is_empty());
    assert_eq!(json["scenes"][0]["nodes"], json!([0]));
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let writer = GlbWriter::new(GlbOptions::default(), &MaterialTable::default());
    assert!(matches!(writer.finish(&mut Full), Err(GlbError::Io(_))));
}

#[test]
fn blocks_of_coarser_mips_lie_where_those_of_mip_0_do() {
    let grid = world(VoxelPos::ZERO);
    let (table, fine) = (grid.materials(), meshes(&grid));
    // Mip 0 of a world half as large is mip 1 of this one.
    let mut coarse = BlockMesh::new();
    let mut cells = DenseBox::default();
    grid.read(Region::new([-16; 3], [16; 3]).grow(PAD), 1, &mut cells).unwrap();
    Mesher::new().mesh(&cells, table, &mut coarse);
    let bounds = |blocks: &[GlbBlock<'_>]| {
        let mut writer = GlbWriter::new(GlbOptions::default(), table);
        writer.add_blocks("all", blocks.iter().copied()).unwrap();
        let mut file = Vec::new();
        writer.finish(&mut file).unwrap();
        let (json, binary) = parsed(&file);
        let corners = triangles(&json, &binary).into_iter().flat_map(|(_, corners)| corners);
        let all: Vec<[f32; 3]> = corners.map(|corner| corner.map(f32::from_bits)).collect();
        let axis = |of: fn(f32, f32) -> f32, i: usize| all.iter().map(|p| p[i]).reduce(of).unwrap();
        [0, 1, 2].map(|i| [axis(f32::min, i), axis(f32::max, i)])
    };
    let fine: Vec<_> = fine.iter().map(|(_, mesh)| GlbBlock { mesh, mip: 0, tint: None }).collect();
    let coarse = bounds(&[GlbBlock { mesh: &coarse, mip: 1, tint: Some([255, 0, 0]) }]);
    for (a, b) in bounds(&fine).as_flattened().iter().zip(coarse.as_flattened()) {
        assert!((a - b).abs() < 1.0 && a.abs() > 10.0, "{a} and {b}");
    }
}

/// Positions and normals of all primitives where the nodes place them, by corner of their triangles.
fn placed(file: &[u8]) -> Vec<[[f64; 3]; 2]> {
    let (json, binary) = parsed(file);
    let mut all = Vec::new();
    for node in json["nodes"].as_array().unwrap().iter().filter(|node| node["mesh"].is_u64()) {
        let triple = |value: &Value, default: f64| {
            [0, 1, 2].map(|axis| value[axis].as_f64().unwrap_or(default))
        };
        let (scale, move_by) = (triple(&node["scale"], 1.0), triple(&node["translation"], 0.0));
        let mesh = &json["meshes"][number(&node["mesh"])];
        for primitive in mesh["primitives"].as_array().unwrap() {
            let of = &primitive["attributes"];
            let numbers = |bytes: &[u8]| -> [f64; 3] {
                [0, 1, 2].map(|i| match bytes.len() {
                    3 => f64::from(bytes[i].cast_signed()) / 127.0,
                    6 => f64::from(u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]])),
                    _ => f64::from(vector(bytes)[i]),
                })
            };
            let positions = elements(&json, &binary, &of["POSITION"]);
            let normals = elements(&json, &binary, &of["NORMAL"]);
            for index in elements(&json, &binary, &primitive["indices"]) {
                let index = match *index {
                    [low, high] => usize::from(u16::from_le_bytes([low, high])),
                    _ => u32::from_le_bytes(index.try_into().unwrap()) as usize,
                };
                let position = numbers(positions[index]);
                let at = [0, 1, 2].map(|axis| position[axis] * scale[axis] + move_by[axis]);
                all.push([at, numbers(normals[index])]);
            }
        }
    }
    all
}

#[test]
fn quantized_vertices_are_within_half_a_step_and_shared_ones_meet() {
    let grid = world(VoxelPos::new(64, -96, 32));
    let meshes = meshes(&grid);
    let frame = ExportFrame { voxel_size_m: 0.5, ..ExportFrame::default() };
    for edge in [1, 4] {
        for materials in [false, true] {
            let options = GlbOptions { frame, materials, ..GlbOptions::default() };
            let (plain, _) = written(options, &grid, &meshes, edge);
            let (small, _) =
                written(GlbOptions { quantize: true, ..options }, &grid, &meshes, edge);
            let json = parsed(&small).0;
            for list in ["extensionsUsed", "extensionsRequired"] {
                assert_eq!(json[list], json!(["KHR_mesh_quantization"]));
            }
            assert!(small.len() * 10 < plain.len() * 7, "{} of {}", small.len(), plain.len());
            let (plain, small) = (placed(&plain), placed(&small));
            assert_eq!(plain.len(), small.len());
            let mut met = std::collections::HashMap::new();
            for ([exact, normal], [rounded, small_normal]) in plain.iter().zip(&small) {
                let off = |axis: usize| (exact[axis] - rounded[axis]).abs();
                assert!(
                    (0..3).all(|axis| off(axis) <= 0.5 / 128.0 + 1e-6),
                    "{exact:?} {rounded:?}"
                );
                let cosine: f64 = (0..3).map(|axis| normal[axis] * small_normal[axis]).sum();
                assert!(cosine > 0.98, "{normal:?} {small_normal:?}");
                let key = exact.map(f64::to_bits);
                assert_eq!(met.entry(key).or_insert(*rounded), rounded, "a gap");
            }
        }
    }
}

#[test]
fn quantized_files_are_read_as_meshes_and_large_objects_stay_floats() {
    use crate::triangles::{MeshFormat, read};
    let grid = world(VoxelPos::ZERO);
    let meshes = meshes(&grid);
    let options = GlbOptions { quantize: true, ..GlbOptions::default() };
    let (file, stats) = written(options, &grid, &meshes, 4);
    let mut budget = crate::ImportBudget::for_input(file.len());
    let mesh = read(&file, MeshFormat::Glb, &mut budget).expect("our own file");
    assert_eq!(mesh.triangles.len() as u64, stats.triangles);
    let mut writer = GlbWriter::new(options, grid.materials());
    let far = BlockMesh { block: Region::new([5000; 3], [5032; 3]), ..meshes[0].1.clone() };
    writer.add_tile("wide", [&meshes[0].1, &far]).unwrap();
    let mut out = Vec::new();
    writer.finish(&mut out).unwrap();
    assert!(parsed(&out).0["extensionsRequired"].is_null());
}

#[test]
fn materials_and_weights_are_those_of_the_mesh() {
    let grid = world(VoxelPos::ZERO);
    let meshes = meshes(&grid);
    let plain = written(GlbOptions::default(), &grid, &meshes, 4);
    let options = GlbOptions { materials: true, ..GlbOptions::default() };
    let (file, stats) = written(options, &grid, &meshes, 4);
    assert_eq!(stats.vertices, plain.1.vertices);
    let (json, binary) = parsed(&file);
    assert!(triangles(&json, &binary) == expected(options.frame, &grid, &meshes));
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for mesh in json["meshes"].as_array().unwrap() {
        for primitive in mesh["primitives"].as_array().unwrap() {
            let of = &primitive["attributes"];
            if seen.insert(number(&of["POSITION"])) {
                let weights = &of["_WEIGHTS"];
                assert_eq!(json["accessors"][number(weights)]["normalized"], true);
                let materials = elements(&json, &binary, &of["_MATERIALS"]);
                let weights = elements(&json, &binary, weights);
                found.extend(materials.into_iter().zip(weights).map(|(m, w)| [m, w].concat()));
            }
        }
    }
    let of = |surface: &Surface| -> Vec<Vec<u8>> {
        let all = surface.materials.iter().zip(&surface.weights);
        all.map(|(m, w)| [*m, *w].concat()).collect()
    };
    let mut all: Vec<_> = meshes.iter().flat_map(|(_, mesh)| of(&mesh.solid)).collect();
    all.extend(meshes.iter().flat_map(|(_, mesh)| of(&mesh.liquid)));
    found.sort();
    all.sort();
    assert!(all == found && all.iter().any(|vertex| vertex[5] > 0));
}

/// Meshes, with targets in the chunks for which `has_targets`.
fn morphing(
    grid: &VoxelGrid,
    has_targets: impl Fn(ChunkPos) -> bool,
) -> Vec<(ChunkPos, BlockMesh)> {
    let mut mesher = Mesher::new();
    let mut all = meshes(grid);
    for (chunk, mesh) in all.iter_mut().filter(|entry| has_targets(entry.0)) {
        let block = MipBlock { mip: 0, pos: VoxelPos::new(chunk.x, chunk.y, chunk.z) };
        let read = |mip: u8, region: Region, cells: &mut DenseBox| {
            grid.read(region, mip, cells).unwrap();
        };
        let neighbour_mips = NeighbourMips::uniform(0);
        mesher.mesh_morphing(block, &neighbour_mips, read, grid.materials(), 4, false, mesh);
    }
    all
}

#[test]
fn a_morph_target_leads_to_the_next_level() {
    let at = VoxelPos::new(64, 0, -96);
    let grid = world(at);
    let frame = ExportFrame { voxel_size_m: 0.5, origin: at };
    let options = GlbOptions { frame, targets: true, ..GlbOptions::default() };
    // Some blocks have no targets.
    let meshes = morphing(&grid, |chunk| chunk.x != 2 || chunk.y != 0);
    let (file, stats) = written(options, &grid, &meshes, 4);
    let (json, binary) = parsed(&file);
    assert!(triangles(&json, &binary) == expected(frame, &grid, &meshes));
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for mesh in json["meshes"].as_array().unwrap() {
        assert_eq!(mesh["weights"], json!([0.0]));
        for primitive in mesh["primitives"].as_array().unwrap() {
            assert_eq!(primitive["targets"].as_array().map(Vec::len), Some(1));
            let (base, target) = (&primitive["attributes"], &primitive["targets"][0]);
            if !seen.insert(number(&target["POSITION"])) {
                continue;
            }
            let read = |accessor: &Value| -> Vec<[f32; 3]> {
                elements(&json, &binary, accessor).into_iter().map(vector).collect()
            };
            let [from, offset] = [&base["POSITION"], &target["POSITION"]].map(read);
            let [normal, normal_offset] = [&base["NORMAL"], &target["NORMAL"]].map(read);
            let accessor = &json["accessors"][number(&target["POSITION"])];
            for axis in 0..3 {
                let values = || offset.iter().map(|v| f64::from(v[axis]));
                assert_eq!(accessor["min"][axis].as_f64(), values().reduce(f64::min));
                assert_eq!(accessor["max"][axis].as_f64(), values().reduce(f64::max));
            }
            let sum = |a: [f32; 3], b: [f32; 3]| [0, 1, 2].map(|axis| a[axis] + b[axis]);
            assert_eq!([offset.len(), normal.len(), normal_offset.len()], [from.len(); 3]);
            for i in 0..from.len() {
                found.push((from[i], sum(from[i], offset[i]), sum(normal[i], normal_offset[i])));
            }
        }
    }
    assert_eq!(found.len() as u64, stats.vertices);
    let mut moved = 0;
    for (chunk, mesh) in &meshes {
        let surfaces = [&mesh.solid, &mesh.liquid].into_iter();
        for (surface, i) in surfaces.flat_map(|s| (0..s.vertex_count()).map(move |i| (s, i))) {
            let in_file = |p: [f32; 3]| frame.position_at(0, chunk.region(), p);
            let from = in_file(surface.positions[i]);
            let (to, normal) = match surface.targets.is_empty() {
                true => (from, surface.normals[i]),
                false => (in_file(surface.targets.positions[i]), surface.targets.normals[i]),
            };
            let near =
                |a: [f32; 3], b: [f32; 3]| (0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-5);
            let is = |v: &([f32; 3], [f32; 3], [f32; 3])| {
                v.0 == from && near(v.1, to) && near(v.2, normal)
            };
            assert!(found.iter().any(is), "{from:?} to {to:?}");
            moved += usize::from(from != to);
        }
    }
    assert!(moved > 200, "{moved}");
}
