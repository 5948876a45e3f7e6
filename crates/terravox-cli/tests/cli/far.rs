//! Level-of-detail views, as models and as pictures.

use super::{Folder, files, read};
use serde_json::Value;
use std::collections::HashMap;

/// Triangles of the ground, as the bits of their corners; liquids are left out.
fn ground(file: &[u8]) -> Vec<[[u32; 3]; 3]> {
    morphed_ground(file, 0.0)
}

/// The same, so far on its way to the morph target of each mesh.
fn morphed_ground(file: &[u8], factor: f32) -> Vec<[[u32; 3]; 3]> {
    let word = |bytes: &[u8], at: usize| {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    };
    assert_eq!((&file[..4], word(file, 8) as usize), (&b"glTF"[..], file.len()));
    let length = word(file, 12) as usize;
    let json: Value = serde_json::from_slice(&file[20..20 + length]).expect("JSON");
    let binary = &file[28 + length..];
    let number = |value: &Value| value.as_u64().unwrap_or(0) as usize;
    // Where an accessor starts, and its elements.
    let accessor = |index: &Value| {
        let accessor = &json["accessors"][number(index)];
        let view = &json["bufferViews"][number(&accessor["bufferView"])];
        let start = number(&view["byteOffset"]) + number(&accessor["byteOffset"]);
        (start, number(&accessor["count"]), view["byteStride"].as_u64().unwrap_or(4) as usize)
    };
    let mut all = Vec::new();
    for mesh in json["meshes"].as_array().into_iter().flatten() {
        for primitive in mesh["primitives"].as_array().into_iter().flatten() {
            let material = &json["materials"][number(&primitive["material"])];
            if material["alphaMode"] == "BLEND" {
                continue;
            }
            let (at, vertices, stride) = accessor(&primitive["attributes"]["POSITION"]);
            let (first, count, _) = accessor(&primitive["indices"]);
            let way = primitive["targets"].get(0).map(|target| accessor(&target["POSITION"]));
            assert!(factor == 0.0 || way.is_some_and(|way| way.1 == vertices), "{primitive}");
            let corner = |i: usize| {
                let vertex = word(binary, first + 4 * i) as usize;
                assert!(vertex < vertices, "an index has its vertex");
                // One zero, not two.
                let axis = |axis: usize| {
                    let value =
                        |at, stride| f32::from_bits(word(binary, at + vertex * stride + 4 * axis));
                    let way = way.map_or(0.0, |(at, _, stride)| value(at, stride));
                    (value(at, stride) + factor * way + 0.0).to_bits()
                };
                [axis(0), axis(1), axis(2)]
            };
            all.extend((0..count / 3).map(|i| [0, 1, 2].map(|j| corner(3 * i + j))));
        }
    }
    all
}

/// Every edge is passed as often one way as the other, at the very same places.
fn assert_closed(triangles: &[[[u32; 3]; 3]]) {
    let mut edges: HashMap<[[u32; 3]; 2], i32> = HashMap::new();
    for [a, b, c] in triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            if from < to {
                *edges.entry([*from, *to]).or_default() += 1;
            } else if to < from {
                *edges.entry([*to, *from]).or_default() -= 1;
            }
        }
    }
    let open = edges.values().filter(|&&count| count != 0).count();
    assert_eq!(open, 0, "open edges of {}", edges.len());
}

#[test]
fn a_view_of_a_stored_world_is_closed_across_its_levels() {
    let folder = Folder::new();
    folder.put("hill.png", &files::heightmap(300, 260));
    let import = ["import", "hill.png", "w.tvx", "--vertical-scale", "60", "--sea-level", "9"];
    folder.report(&import);
    let lod = |world: &str, out: &str, more: &[&str]| {
        let arguments = ["lod", world, "--camera", "20,30,30", "--distance", "700", "--out", out];
        folder.report(&[&arguments[..], &["--detail", "1"][..], more].concat())
    };
    let stored = lod("w.tvx", "a.glb", &[]);
    for mip in ["mip_0", "mip_1", "mip_2"] {
        assert!(stored[mip]["triangles"].as_u64() > Some(500), "{mip} of {stored}");
    }
    let file = read(folder.path("a.glb"));
    let triangles = ground(&file);
    assert!(triangles.len() > 5000, "{}", triangles.len());
    assert_closed(&triangles);
    lod("w.tvx", "b.glb", &["--colours"]);
    let coloured = read(folder.path("b.glb"));
    assert_eq!(ground(&coloured), triangles);
    assert_ne!(coloured, file);
    lod("w.tvx", "c.glb", &["--morph", "targets", "--materials"]);
    let morphing = read(folder.path("c.glb"));
    assert_eq!(ground(&morphing), triangles);
    for factor in [0.37, 1.0] {
        let moved = morphed_ground(&morphing, factor);
        assert_closed(&moved);
        let same = moved.iter().zip(&triangles).filter(|(a, b)| a == b).count();
        assert!(same < triangles.len() / 2, "{same} of {}", triangles.len());
    }
    let names = ["_MATERIALS", "_WEIGHTS", "targetNames"];
    let says = |name: &str| morphing.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(names.into_iter().all(says));
}

#[test]
fn hills_look_the_same_from_a_seed_and_from_a_sparse_world() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--sparse", "--seed", "5"]);
    let seen = ["--lod", "--camera", "0,90,0", "--distance", "200", "--detail", "1"];
    let picture = |world: &str, out: &str, more: &[&str]| {
        let size = ["render", world, out, "--size", "40x30", "--samples", "1"];
        folder.report(&[&size, &seen[..], more].concat())
    };
    let seed = picture("hills:5", "a.png", &[]);
    assert!(seed["triangles"].as_u64() > Some(5000), "{seed}");
    picture("w.tvx", "b.png", &[]);
    assert_eq!(read(folder.path("a.png")), read(folder.path("b.png")));
    picture("hills:5", "c.png", &["--lod-colours"]);
    picture("hills:5", "d.png", &["--textures", "off"]);
    assert_ne!(read(folder.path("c.png")), read(folder.path("d.png")));
    assert_ne!(read(folder.path("a.png")), read(folder.path("d.png")));
}

#[test]
fn plants_and_grids_of_a_wide_world_cost_what_is_in_it() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "7"]);
    let picture = |out: &str| {
        let render = ["render", "w.tvx", out, "--size", "32x18", "--samples", "1", "--mip", "0"];
        let view = ["--camera", "20,90,60", "--look", "0,10,0", "--scatter", "--grid", "10"];
        folder.report(&[&render[..], &view].concat())["solids"].as_u64().expect("a count")
    };
    let near = picture("a.png");
    assert!(near > 0);
    folder.report(&["edit", "w.tvx", "fill Rock ball 900000,700000,-800000 r=6"]);
    assert_eq!(picture("b.png"), near, "all that is seen from here is here");
}

#[test]
fn hills_have_a_default_camera() {
    let folder = Folder::new();
    let small = ["--distance", "200", "--detail", "1", "--size", "40x30", "--samples", "1"];
    let picture = |out: &str, more: &[&str]| {
        folder.report(&[&["render", "hills:5", out], &small[..], more].concat());
        read(folder.path(out))
    };
    let plain = picture("a.png", &[]);
    let typed = ["--lod", "--camera", "0,140,0", "--yaw", "40", "--pitch", "-8"];
    assert_eq!(plain, picture("b.png", &typed));
    assert_ne!(plain, picture("c.png", &["--look", "500,0,300"]));
    assert_ne!(plain, picture("d.png", &["--camera", "30,100,0"]));
}
