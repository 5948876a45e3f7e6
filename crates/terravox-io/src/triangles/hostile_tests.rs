//! Files that claim what they do not have: each is refused in one line.

use super::sample::*;
use super::*;
use crate::import_budget::{ImportBudget, ImportLimits};
use crate::obj::UpAxis;
use serde_json::{Value, json};
use terravox::voxel::VoxelGrid;

/// Reads a file that must be refused; returns the line.
fn refused(file: &[u8], format: MeshFormat) -> String {
    let error = read(file, format, &mut ImportBudget::for_input(file.len()));
    let line = error.expect_err("an error").to_string();
    assert!(!line.contains('\n') && line.len() < 300, "{line}");
    line
}

fn refused_with(file: &[u8], format: MeshFormat, words: &str) {
    let line = refused(file, format);
    assert!(line.contains(words), "no {words:?} in: {line}");
}

#[test]
fn every_truncation_is_an_error_or_a_smaller_mesh() {
    let (p, t) = cuboid([0.0; 3], [1.0; 3]);
    for (file, format, is_text) in [
        (obj(&p, &t), MeshFormat::Obj, true),
        (stl_text(&p, &t), MeshFormat::Stl, true),
        (ply_text(&p, &t), MeshFormat::Ply, true),
        (stl(&p, &t), MeshFormat::Stl, false),
        (ply(&p, &t, false), MeshFormat::Ply, false),
        (glb_of(&p, &t), MeshFormat::Glb, false),
    ] {
        for length in 0..file.len() {
            let result = read(&file[..length], format, &mut ImportBudget::for_input(length));
            match result {
                Ok(mesh) => assert!(is_text && mesh.triangles.len() <= 12, "{format:?} {length}"),
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
    }
}

#[test]
fn objs_of_nonsense() {
    let with = |text: &str, words: &str| refused_with(text.as_bytes(), MeshFormat::Obj, words);
    with("", "the file has no triangles");
    with("v 0 0 0\nv 1 x 0", "line 2: \"x\" is not a number");
    with("v 0 0\n", "line 1: a vertex has fewer than three");
    with("v 0 0 0\nf 1 1 2", "triangle 0: it names vertex 1, but there are 1");
    with("v 0 0 0\nf 1 1 -2", "line 2: \"-2\" is not a vertex");
    with("v 0 0 0\nf 1 1 0", "\"0\" is not a vertex");
    with("v 0 0 0\nf 1 1 99999999999", "\"99999999999\" is not a vertex");
    with("v 0 nan 0\nf 1 1 1", "vertex 0 is not finite");
    with("v 0 0 -1e999\nf 1 1 1", "vertex 0 is not finite");
    with("\\\n\\\nv 0 0 0 \\\n\\\n1\nf 1 1 q", "line 6: \"q\"");
    with(&format!("v {} 0 x", "1".repeat(10_000)), "line 1: \"x\"");
}

#[test]
fn stls_that_claim_what_is_not_there() {
    let (p, t) = cuboid([0.0; 3], [1.0; 3]);
    let with = |file: &[u8], words: &str| refused_with(file, MeshFormat::Stl, words);
    let mut file = stl(&p, &t);
    file[..5].copy_from_slice(b"SOLID");
    file[80..84].copy_from_slice(&[0xFF; 4]);
    with(&file, "byte 80: 4294967295 triangles take 214748364834 bytes, but there are 684");
    file[80..84].copy_from_slice(&[0; 4]);
    with(&file, "the file has no triangles");
    with(&[7; 50], "byte 0: an STL file has at least 84 bytes");
    file[80..84].copy_from_slice(&12_u32.to_le_bytes());
    file[100..104].copy_from_slice(&f32::NAN.to_le_bytes());
    with(&file, "vertex 0 is not finite");
    with(b"solid x\n facet\n vertex 1 2 3\n endfacet", "line 4: a facet has 1 corners");
    with(b"solid x\n vertex 1 2 3\n", "the end: the last facet does not end");
    with(b"solid x\n wall\n", "line 2: \"wall\" is not a word of STL");
    with(b"solid x\nendsolid x\n", "the file has no triangles");
}

#[test]
fn plys_that_claim_what_is_not_there() {
    let with = |text: &str, words: &str| refused_with(text.as_bytes(), MeshFormat::Ply, words);
    let head = |body: &str| format!("ply\nformat ascii 1.0\n{body}end_header\n");
    let vertices = "property float x\nproperty float y\nproperty float z\n";
    with("", "byte 0: the file ends within its header");
    with("plz\n", "line 1: \"plz\" is invalid");
    with("ply\nend_header\n", "does not say the format");
    with("ply\nformat ascii_of_mine 1.0\n", "line 2: \"format ascii_of_mine 1.0\" is invalid");
    with(&head("element vertex -1\n"), "line 3: \"element vertex -1\"");
    with(&head("property int x\n"), "line 3: \"property int x\" is invalid");
    with(&head("element vertex 1\nproperty list float list x\n"), "line 4");
    with(&head("element vertex 1\nproperty float x\n"), "the header: vertices lack x, y or z");
    let huge = u64::MAX;
    with(&head(&format!("element vertex {huge}\n{vertices}")), "the file ends within its elements");
    with(&head(&format!("element dust {huge}\nproperty float x\n")), "ends within");
    // No properties, so no bytes: nothing is read, however many there are.
    with(&head(&format!("element dust {huge}\nelement face {huge}\n")), "the file has no faces");
    let faces = "element face 1\nproperty list int int vertex_indices\n";
    for (values, words) in [
        ("4294967295 1 2", "the file ends within its elements"),
        ("-3 0 0 0", "-3 is not a count or a vertex"),
        ("3 0 0 -1", "-1 is not a count or a vertex"),
        ("3 0 0 1.5", "1.5 is not a count"),
        ("3 0 0 7", "triangle 0: it names vertex 7, but there are 1"),
        ("x", "\"x\" is not a number"),
    ] {
        let header = head(&format!("element vertex 1\n{vertices}{faces}"));
        with(&format!("{header}0 0 0\n{values}\n"), words);
    }
    with(
        &format!("{}nan 0 0\n3 0 0 0\n", head(&format!("element vertex 1\n{vertices}{faces}"))),
        "vertex 0 is not finite",
    );
}

/// A file whose JSON is changed at a path.
fn changed(path: &str, value: Value) -> Vec<u8> {
    let (p, t) = cuboid([0.0; 3], [1.0; 3]);
    let mut json = glb_json(p.len(), t.len(), &json!([{ "mesh": 0 }]));
    match json.pointer_mut(path) {
        Some(place) => *place = value,
        None => {
            let (list, key) = path.rsplit_once('/').expect("a path");
            json.pointer_mut(list).expect("a place")[key] = value;
        }
    }
    glb(&json, &glb_data(&p, &t))
}

#[test]
fn glbs_that_point_beyond_their_data() {
    let most = json!(u64::MAX);
    for (path, value, words) in [
        ("/accessors/0/count", most.clone(), "an accessor or its view ends at byte"),
        ("/accessors/1/count", json!(37), "ends at byte 74 of 72"),
        ("/accessors/0/count", json!(-1), "the count of an accessor is not a count"),
        ("/accessors/0/count", json!(7), "an index is not below its 7 vertices"),
        ("/accessors/0/byteOffset", most.clone(), "ends at byte"),
        ("/accessors/0/type", json!("VEC2"), "not of type VEC3"),
        ("/accessors/0/componentType", json!(9), "the type of an accessor is unknown"),
        ("/accessors/1/componentType", json!(5126), "not of numbers for it"),
        ("/accessors/0/sparse", json!({}), "sparse and empty accessors are not supported"),
        ("/accessors/0/bufferView", json!(2), "entry 2 of bufferViews is missing"),
        ("/bufferViews/0/byteLength", most.clone(), "ends at byte 18446744073709551615"),
        ("/bufferViews/0/byteStride", json!(5), "a stride of 5 is shorter"),
        ("/bufferViews/0/byteStride", most.clone(), "ends at byte"),
        ("/bufferViews/0/buffer", json!(1), "its data is in another file"),
        ("/buffers/0/uri", json!("a.bin"), "export it as one .glb"),
        ("/meshes/0/primitives/0/attributes/POSITION", json!(9), "entry 9 of accessors"),
        ("/nodes/0/mesh", json!(4), "entry 4 of meshes is missing"),
        ("/nodes/0/matrix", json!([1, 2]), "node 0: its transform is invalid"),
        ("/nodes/0/scale", json!(["a", 1, 1]), "node 0: its transform is invalid"),
        ("/scene", json!(3), "the file has no scene"),
        ("/scenes/0/nodes", json!([5]), "node 5: it is missing"),
        ("/meshes/0/primitives/0/mode", json!(1), "the file has no triangles"),
        ("/accessors/1/normalized", json!(true), "mesh 0: an accessor of indices"),
        ("/accessors/0/normalized", json!(true), "numbers of 32 bits, is normalised"),
        ("/extensionsRequired", json!(["KHR_draco_mesh_compression"]), "without compression"),
        (
            "/extensionsRequired",
            json!(["KHR_materials_unlit", "VND_moved\n"]),
            "the file needs the extension \"VND_moved\\n\", which is not supported; export it without",
        ),
    ] {
        refused_with(&changed(path, value), MeshFormat::Glb, words);
    }
    let with = |file: &[u8], words: &str| refused_with(file, MeshFormat::Glb, words);
    with(b"", "byte 0: a .glb file starts with");
    with(b"glTF\x01\0\0\0\0\0\0\0", "version 1 of glTF");
    with(b"glTF\x02\0\0\0\0\0\0\0", "there is no JSON");
    with(b"glTF\x02\0\0\0\0\0\0\0\xFF\xFF\xFF\xFFJSON", "a chunk has 4294967295 bytes, but 0");
    with(b"glTF\x02\0\0\0\0\0\0\0\x01\0\0\0JSON{", "its JSON is invalid");
    let deep = "[".repeat(10_000);
    let length = (deep.len() as u32).to_le_bytes();
    let file = [&b"glTF\x02\0\0\0\0\0\0\0"[..], &length, b"JSON", deep.as_bytes()].concat();
    with(&file, "its JSON is invalid: recursion limit");
}

#[test]
fn glbs_are_damaged_or_unsupported() {
    for (path, value, line) in [
        (
            "/accessors/0/bufferView",
            json!(2),
            "its JSON: entry 2 of bufferViews is missing; the file is damaged or cut short, get another \
             copy",
        ),
        (
            "/accessors/1/count",
            json!(37),
            "mesh 0: an accessor or its view ends at byte 74 of 72; the file is damaged or cut short, \
             get another copy",
        ),
        (
            "/accessors/0/sparse",
            json!({}),
            "mesh 0: sparse and empty accessors are not supported; export it without them",
        ),
        (
            "/buffers/0/uri",
            json!("a.bin"),
            "mesh 0: its data is in another file; export it as one .glb",
        ),
    ] {
        assert_eq!(refused(&changed(path, value), MeshFormat::Glb), line);
    }
}

#[test]
fn extensions_that_leave_triangles_where_they_are_are_no_obstacle() {
    let names = json!(["KHR_mesh_quantization", "KHR_materials_unlit", "EXT_texture_webp"]);
    let file = changed("/extensionsRequired", names);
    read(&file, MeshFormat::Glb, &mut ImportBudget::for_input(file.len())).expect("a mesh");
}

#[test]
fn a_mesh_far_away_is_read_and_not_voxelised() {
    let file = changed("/nodes/0/translation", json!([1e308, 0, 0]));
    let mut budget = ImportBudget::for_input(file.len());
    let mesh = read(&file, MeshFormat::Glb, &mut budget).expect("a mesh");
    let options = VoxeliseOptions { voxels_per_unit: 1.0, up: UpAxis::Y, material: 8 };
    let mut grid = VoxelGrid::default();
    let made = voxelise(&mesh, &options, &mut budget, &mut grid, |_, _| ());
    let error = made.expect_err("too far");
    assert_eq!(error, MeshError::BeyondLimits { voxel: 1e308 });
    assert!(error.to_string().starts_with("the mesh would reach voxel 1e308 of"), "{error}");
    let options = VoxeliseOptions { voxels_per_unit: 1e300, ..options };
    let file = changed("/nodes/0/scale", json!([1e8, 1, 1]));
    let mesh = read(&file, MeshFormat::Glb, &mut budget).expect("a mesh");
    let error = voxelise(&mesh, &options, &mut budget, &mut grid, |_, _| ()).expect_err("too long");
    assert!(error.to_string().starts_with("the mesh would be 1e308 voxels long"), "{error}");
    assert!(grid.is_empty());
}

#[test]
fn nodes_in_a_ring_in_a_chain_and_doubling() {
    let (p, t) = cuboid([0.0; 3], [1.0; 3]);
    let of = |nodes: Value| glb(&glb_json(p.len(), t.len(), &nodes), &glb_data(&p, &t));
    let with = |file: &[u8], words: &str| refused_with(file, MeshFormat::Glb, words);
    with(&of(json!([{ "children": [0] }])), "node 0: it is below itself");
    let ring = json!([{ "children": [1] }, { "children": [2], "mesh": 0 }, { "children": [1] }]);
    with(&of(ring), "node 1: it is below itself");
    let chain: Vec<Value> = (1..3000).map(|next| json!({ "children": [next] })).collect();
    with(&of(json!(chain)), "its nodes: nested 1025 deep, at most 1024");
    let double: Vec<Value> = (1..50).map(|next| json!({ "children": [next, next] })).collect();
    let double = [double, vec![json!({ "mesh": 0 })]].concat();
    let file = of(json!(double));
    let limits = ImportLimits { memory_bytes: 8 << 20, work: 1 << 24, depth: 64 };
    let error = read(&file, MeshFormat::Glb, &mut ImportBudget::new(limits)).expect_err("an error");
    let line = error.to_string();
    assert!(
        line.starts_with("its ") && line.ends_with("raise the limits if you trust the file"),
        "{line}"
    );
}

/// Empty primitives times the nodes that place them.
#[test]
fn primitives_without_triangles_are_paid_for_wherever_they_are_placed() {
    let (p, t) = cuboid([0.0; 3], [1.0; 3]);
    let of = |primitives: usize, nodes: usize| {
        let mut json: Value = glb_json(p.len(), t.len(), &json!(vec![json!({ "mesh": 0 }); nodes]));
        json["scenes"] = json!([{ "nodes": (0..nodes).collect::<Vec<_>>() }]);
        let list = json["meshes"][0]["primitives"].as_array_mut().expect("primitives");
        list.resize(1 + primitives, json!({}));
        glb(&json, &glb_data(&p, &t))
    };
    let cost = |primitives: usize, nodes: usize| {
        let file = of(primitives, nodes);
        let limits = ImportLimits { work: 1 << 26, ..ImportLimits::for_input(file.len()) };
        let mut budget = ImportBudget::new(limits);
        read(&file, MeshFormat::Glb, &mut budget).map(|_| budget.spent().work)
    };
    let cheap = cost(10, 10).expect("a mesh");
    let dear = cost(110, 10).expect("a mesh");
    assert!(dear >= cheap + 512 * 1000, "{cheap} {dear}");
    let line = cost(700, 700).expect_err("too many").to_string();
    assert!(line.starts_with("its primitives: "), "{line}");
}
