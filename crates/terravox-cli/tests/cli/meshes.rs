//! Closed meshes: in, out for 3D printing, and refused.

use super::{Folder, files, read};
use serde_json::{Value, json};

/// A box of 4 × 2 × 3 units, of quads.
const BOX: &str = "v 0 0 0\nv 4 0 0\nv 4 2 0\nv 0 2 0\nv 0 0 3\nv 4 0 3\nv 4 2 3\nv 0 2 3\n\
    f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 3 4 8 7\nf 2 3 7 6\nf 1 5 8 4\n";

#[test]
fn a_mesh_is_imported_at_true_scale_and_said_how() {
    let folder = Folder::new();
    folder.put("box.obj", BOX.as_bytes());
    let made = folder.report(&["import", "box.obj", "w.tvx"]);
    let note = made["notes"][0].as_str().expect("a note");
    assert_eq!(
        note,
        "read with y up (--up) and 1 m per unit of the file (--scale); about 128 × 64 × 96 voxels of \
         0.0312 m (--voxel-size)"
    );
    let info = folder.report(&["info", "w.tvx"]);
    assert_eq!(info["voxel_size_m"], 0.0312);
    let hit = folder.report(&["raycast", "w.tvx", "1,9,1", "0,-1,0"]);
    assert_eq!(hit["material"], "Rock", "{hit}");
    let height = hit["point_m"][1].as_f64().expect("a height");
    assert!((height - 2.0).abs() < 0.003, "{hit}");

    let options = ["--voxel-size", "0.5", "--scale", "2", "--up", "z", "--material", "Sand"];
    folder.report(&[&["import", "box.obj", "z.tvx"][..], &options].concat());
    let hit = folder.report(&["raycast", "z.tvx", "1,9,-1", "0,-1,0"]);
    assert_eq!((&hit["material"], &hit["point_m"][1]), (&json!("Sand"), &json!(6.0)), "{hit}");
    assert_eq!(folder.report(&["info", "z.tvx"])["cells"], 16 * 8 * 12);
    assert_eq!(folder.report(&["info", "box.obj"])["kind"], "mesh");

    folder.report(&["import", "box.obj", "l.tvx", "--longest", "48"]);
    let info = folder.report(&["info", "l.tvx"]);
    assert_eq!(info["cells"], 48 * 24 * 36, "{info}");

    // Without its top a box stays a box.
    folder.put("open.obj", BOX.replace("f 3 4 8 7\n", "").as_bytes());
    let open = folder.report(&["import", "open.obj", "open.tvx", "--voxel-size", "0.25"]);
    assert_eq!(
        open["notes"][1],
        "the mesh is not closed, or triangles in it are reversed; closed 1 loop of unmatched edges, \
         the widest 4.000 m; they have 4 edges"
    );
    // A triangle that faces inward has a rim that counts twice.
    folder.put("turned.obj", BOX.replace("f 4 3 2 1\n", "f 4 3 2\nf 4 1 2\n").as_bytes());
    let turned = folder.report(&["import", "turned.obj", "turned.tvx", "--voxel-size", "0.25"]);
    let note = turned["notes"][1].as_str().expect("a note");
    assert!(
        note.contains("closed 2 loops of unmatched edges, the widest 4.000 m; they have 6"),
        "{note}"
    );
    folder.report(&["import", "box.obj", "closed.tvx", "--voxel-size", "0.25"]);
    let digests = ["open.tvx", "closed.tvx", "turned.tvx"]
        .map(|file| folder.report(&["info", file])["digest"].clone());
    assert_eq!((&digests[0], &digests[2]), (&digests[1], &digests[1]));
    folder.report(&["render", "box.obj", "box.png", "--size", "32x20"]);
}

#[test]
fn ground_goes_out_for_3d_printing_and_comes_back() {
    let folder = Folder::new();
    folder.put("hill.raw", &files::samples(33, 33, u16::to_le_bytes));
    let shape = ["--width", "33", "--height", "33", "--vertical-scale", "12", "--depth", "3"];
    folder.report(&[&["import", "hill.raw", "w.tvx"][..], &shape].concat());
    let out = folder.report(&["export", "w.tvx", "hill.stl", "--scale", "2"]);
    let file = read(folder.path("hill.stl"));
    let count = u32::from_le_bytes(file[80..84].try_into().expect("four bytes"));
    assert_eq!((&out["triangles"], file.len()), (&json!(count), 84 + 50 * count as usize));
    let note = out["notes"].as_array().expect("notes").last().expect("a note").to_string();
    assert!(note.contains("printed 66.0 × 66.0 mm wide"), "{note}");
    assert!(
        note.contains(
            "mm high if a unit of the file is a millimetre; --scale N prints a metre as N mm"
        ),
        "{note}"
    );
    // Back at its scale, without a hole.
    let back = ["--scale", "0.5", "--voxel-size", "1"];
    let again = folder.report(&[&["import", "hill.stl", "again.tvx"][..], &back].concat());
    assert_eq!(again["notes"].as_array().expect("notes").len(), 1, "{again}");
    let cells = |file| folder.report(&["info", file])["cells"].as_f64().expect("cells");
    assert!((cells("again.tvx") / cells("w.tvx") - 1.0).abs() < 0.05);

    let part = ["--from", "4,-2,6", "--to", "20,40,30"];
    let stl = folder.report(&[&["export", "w.tvx", "part.stl"][..], &part].concat());
    let model = folder.report(&[&["export", "w.tvx", "part.3mf"][..], &part].concat());
    assert_eq!(stl["triangles"], model["triangles"]);
    // 3MF has units.
    let note = model["notes"].as_array().expect("notes").last().expect("a note").to_string();
    assert!(note.contains("mm high; --scale N prints a metre as N mm"), "{note}");
    assert!(stl["triangles"].as_u64() < out["triangles"].as_u64());
    assert!(read(folder.path("part.3mf")).starts_with(b"PK\x03\x04"));
    let coarse = folder.report(&["export", "w.tvx", "coarse.stl", "--mip", "1"]);
    assert!(coarse["triangles"].as_u64() < out["triangles"].as_u64());
}

#[test]
fn heights_go_out_as_a_picture_and_come_back() {
    let folder = Folder::new();
    folder.put("hill.raw", &files::samples(40, 30, u16::to_le_bytes));
    let shape =
        ["--width", "40", "--height", "30", "--vertical-scale", "12", "--voxel-size", "0.5"];
    folder.report(&[&["import", "hill.raw", "w.tvx", "--scale", "1"][..], &shape].concat());
    let out = folder.report(&["export", "w.tvx", "w.png"]);
    assert_eq!(out["samples"], json!([80, 60]), "{out}");
    let height = out["height_m"].as_f64().expect("a height").to_string();
    let shape = ["--scale", "0.5", "--voxel-size", "0.5", "--vertical-scale", &height];
    folder.report(&[&["import", "w.png", "again.tvx"][..], &shape].concat());
    // Black is the lowest height, which is at 0 then.
    let low = out["lowest_m"].as_f64().expect("a height");
    for at in ["20,99,15", "3,99,28", "31,99,4"] {
        let [a, b] = ["w.tvx", "again.tvx"].map(|world| {
            folder.report(&["raycast", world, at, "0,-1,0"])["point_m"][1].as_f64().expect("ground")
        });
        assert!((a - b - low).abs() < 0.1, "{a} and {b} over {low}");
    }
    folder.refused(
        &["export", "w.tvx", "n.png", "--from", "90,0,0", "--to", "91,9,9"],
        &["no ground"],
    );
}

#[test]
fn bad_meshes_and_options_are_refused() {
    let folder = Folder::new();
    folder.put("box.obj", BOX.as_bytes());
    let import = ["import", "box.obj", "w.tvx"];
    for (options, words) in [
        (&["--depth", "3"][..], &["--depth is for heightmaps", "--material"][..]),
        (&["--luma"], &["--luma is for heightmaps"]),
        (&["--material", "Cheese"], &["unknown material \"Cheese\"", "Rock"]),
        (&["--material", "Air"], &["air fills nothing"]),
        (&["--scale", "1e6", "--voxel-size", "1"], &["4000000 voxels long", "--voxel-size"]),
        (&["--scale", "1000", "--voxel-size", "1"], &["million units of work", "--voxel-size"]),
        (&["--up", "x"], &["--up"]),
        (&["--longest", "0"], &["--longest", "from 1 to 65408"]),
        (&["--longest", "9", "--voxel-size", "1"], &["--longest", "cannot be used with"]),
    ] {
        folder.refused(&[&import[..], options].concat(), words);
    }
    folder.put("hill.raw", &files::samples(9, 9, u16::to_le_bytes));
    folder.put("s.vox", &files::vox_scene());
    for file in ["hill.raw", "s.vox"] {
        for option in [["--up", "z"], ["--material", "Rock"], ["--longest", "9"]] {
            let arguments = [&["import", file, "w.tvx"][..], &option].concat();
            folder.refused(&arguments, &[file, option[0], "is for meshes"]);
        }
    }
    for (file, content, words) in [
        ("cut.obj", &b"v 0 0"[..], "line 1"),
        ("none.stl", b"solid x\nendsolid x\n", "no triangles"),
        ("cut.stl", &[0x7F; 200], "byte 80: 2139062143 triangles"),
        ("nan.obj", b"v nan 0 0\nf 1 1 1\n", "not finite"),
        ("dot.obj", b"v 0 0 0\nf 1 1 1\n", "--scale"),
        ("cut.ply", b"ply\nformat ascii 1.0\n", "header"),
        ("cut.glb", b"glTF\x02\0\0\0\xFF\xFF\xFF\xFF\x04\0\0\0JSON", "a chunk has 4 bytes"),
        ("empty.glb", b"", "empty"),
    ] {
        folder.put(file, content);
        folder.refused(&["import", file, "w.tvx"], &[file, words]);
        folder.refused(&["render", file, "w.png"], &[file, words]);
    }
    folder.report(&["import", "box.obj", "w.tvx", "--voxel-size", "0.5"]);
    for (arguments, words) in [
        (&["a.stl", "--simplify", "1"][..], "--simplify is not for .stl"),
        (&["a.3mf", "--materials"], "--materials is not for .stl"),
        (&["a.obj", "--from", "0,0,0", "--to", "1,0.1,1"], "rounds to no voxel"),
        (&["a.rbxm", "--mip", "1"], "--mip is for other formats"),
        (
            &["a.stl", "--from", "0,0,0", "--to", "1,0.1,1"],
            "rounds to no voxel; make it at least one voxel (0.5 m) thick",
        ),
        // Thicker than half a voxel of 0.5 m, but between two of their faces.
        (&["a.stl", "--from", "0,0.3,0", "--to", "1,0.7,1"], "rounds to no voxel"),
        (&["a.png", "--from", "0.3,0,0", "--to", "0.7,1,1"], "rounds to no voxel"),
        (&["a.stl", "--from", "90,0,0", "--to", "91,1,1"], "has no ground there"),
        (&["a.stl", "--from", "0,0,0"], "--to"),
        (&["a.stl", "--from", "0,0,0", "--to", "1e12,1,1"], "--to is beyond the world"),
    ] {
        folder.refused(&[&["export", "w.tvx"][..], arguments].concat(), &[words]);
    }
}

#[test]
fn a_mesh_replaces_neither_what_is_read_nor_colours_of_another_model() {
    let folder = Folder::new();
    folder.put("box.obj", BOX.as_bytes());
    folder.report(&["import", "box.obj", "w.tvx", "--voxel-size", "0.5"]);
    folder.report(&["mesh", "w.tvx", "statue.glb"]);
    for file in ["box.obj", "statue.glb"] {
        folder.refused(&["mesh", file, file], &[file, "is the file that is read"]);
        folder.refused(&["export", file, file], &[file, "is the file that is read"]);
    }
    folder.put("chair.mtl", b"newmtl of a chair\n");
    for command in ["mesh", "export"] {
        let refused = [command, "w.tvx", "chair.obj"];
        folder.refused(&refused, &["chair.mtl", "colours of chair.obj", "another name"]);
    }
    assert_eq!(read(folder.path("chair.mtl")), b"newmtl of a chair\n");
    // With a model of its own it is replaced together with that.
    folder.put("chair.obj", BOX.as_bytes());
    folder.report(&["mesh", "w.tvx", "chair.obj"]);
    assert_ne!(read(folder.path("chair.mtl")), b"newmtl of a chair\n");
}

fn glb_json(bytes: &[u8]) -> Value {
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).expect("JSON")
}

#[test]
fn plants_are_instances_of_models_in_a_glb() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "128", "--seed", "7"]);
    let count = |args: &[&str]| {
        let made = folder.report(&[&["mesh", "w.tvx"], args].concat());
        made["instances"].as_u64()
    };
    assert_eq!(count(&["bare.glb"]), None);
    let plants = count(&["plants.glb", "--scatter"]).expect("a count");
    assert!(plants > 20, "{plants}");
    assert_eq!(count(&["one.glb", "--scatter", "--gpu-instancing"]), Some(plants));
    let [plain, one] = ["plants.glb", "one.glb"].map(|file| glb_json(&read(folder.path(file))));
    let models = plain["nodes"].as_array().expect("nodes").iter();
    let trees = models.filter(|node| node["name"].as_str().is_some_and(|n| n.starts_with("oak")));
    assert!(trees.count() > 0 && plain["extensionsUsed"].is_null());
    assert_eq!(one["extensionsRequired"], json!(["EXT_mesh_gpu_instancing"]));
    folder.refused(&["mesh", "w.tvx", "w.obj", "--scatter"], &["w.obj", "no instances", ".glb"]);
    folder.refused(&["export", "w.tvx", "w.stl", "--quantize"], &["w.stl", "--quantize"]);
    let octree = ["mesh", "w.tvx", "w.glb", "--scatter", "--octree"];
    folder.refused(&octree, &["--scatter", "--octree"]);
}

/// Checks the tiles below one: their boxes hold the vertices of their models. Returns the models.
fn checked_tiles(folder: &Folder, tile: &Value) -> usize {
    let numbers = |value: &Value| -> Vec<f64> {
        let all = value.as_array().expect("numbers");
        all.iter().map(|v| v.as_f64().expect("a number")).collect()
    };
    let mut count = 0;
    if let Some(uri) = tile["content"]["uri"].as_str() {
        let glb = folder.path(&uri.replace("%20", " "));
        let model = glb_json(&read(glb));
        let nodes = model["nodes"].as_array().expect("nodes");
        let node = nodes.iter().find(|node| node["mesh"] == 0).expect("a node with a mesh");
        let vector = |name: &str, default: f64| match &node[name] {
            Value::Null => vec![default; 3],
            list => numbers(list),
        };
        let (moved, scale) = (vector("translation", 0.0), vector("scale", 1.0));
        let ranges = numbers(&tile["boundingVolume"]["box"]);
        let half = [ranges[3], ranges[11], ranges[7]];
        let centre = [ranges[0], ranges[2], -ranges[1]];
        for primitive in model["meshes"][0]["primitives"].as_array().expect("primitives") {
            let at = primitive["attributes"]["POSITION"].as_u64().expect("an index") as usize;
            for end in ["min", "max"] {
                let corner = numbers(&model["accessors"][at][end]);
                for axis in 0..3 {
                    let metres = corner[axis] * scale[axis] + moved[axis];
                    let off = (metres - centre[axis]).abs();
                    assert!(off <= half[axis] + 1e-6, "{uri}: {metres} m on axis {axis}");
                }
            }
        }
        count += 1;
    }
    let children = tile["children"].as_array().into_iter().flatten();
    count + children.map(|child| checked_tiles(folder, child)).sum::<usize>()
}

#[test]
fn a_world_is_exported_as_3d_tiles() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "160", "--seed", "7", "--voxel-size", "0.5"]);
    let made = folder.report(&["export", "w.tvx", "the hills.json", "--location", "7.5,46.9,-3"]);
    let index: Value = serde_json::from_slice(&read(folder.path("the hills.json"))).expect("JSON");
    assert_eq!(index["asset"]["version"], "1.1");
    let root = &index["root"];
    assert_eq!(checked_tiles(&folder, root) as u64, made["tiles"].as_u64().expect("a count"));
    assert!(made["levels"].as_u64() >= Some(3), "{made}");
    let matrix = root["transform"].as_array().expect("a matrix");
    let [x, y, z] = [12, 13, 14].map(|i: usize| matrix[i].as_f64().expect("a number"));
    assert!((y / x - 7.5_f64.to_radians().tan()).abs() < 1e-9);
    assert!((6_366_000.0..6_368_000.0).contains(&(x * x + y * y + z * z).sqrt()));
    // What is there already stays.
    folder.refused(&["export", "w.tvx", "the hills.json"], &["the hills", "remove it"]);
    folder.refused(&["export", "w.tvx", "t.json", "--simplify", "1"], &["--simplify"]);
    folder.refused(&["export", "w.tvx", "t.json", "--location", "1,91,0"], &["-90 to 90"]);
    folder.refused(&["export", "w.tvx", "t.vox", "--location", "1,9,0"], &["--location"]);
    let sky = ["export", "w.tvx", "t.json", "--from", "0,900,0", "--to", "9,950,9"];
    folder.refused(&sky, &["no surface there"]);
}

#[cfg(unix)]
#[test]
fn tiles_of_a_name_that_is_not_utf_8_are_found_by_their_index() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "48", "--seed", "7"]);
    let index = folder.path("").join(std::ffi::OsStr::from_bytes(b"b\xffd.json"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_terravox"));
    let output = command.arg("export").arg(folder.path("w.tvx")).arg(&index).output();
    assert!(output.expect("it runs").status.success());
    let json: Value = serde_json::from_slice(&read(&index)).expect("JSON");
    let mut tile = &json["root"];
    while tile["content"].is_null() {
        tile = &tile["children"][0];
    }
    let uri = tile["content"]["uri"].as_str().expect("a URI");
    let path = uri.strip_prefix("b%FFd/").expect("the folder beside the index");
    assert!(index.with_extension("").join(path).exists(), "{uri}");
}
