//! Positions and sizes far out: what is written far away lies far away, and what is beyond all
//! worlds is refused in one line.

use super::{Folder, files, read, text};
use serde_json::Value;
use terravox::voxel::MaterialTable;
use terravox_store::{Draft, Overwrite, Store, WorldInfo};

/// A folder with a small world, voxels of a metre, and a ball of rock around a far point.
fn far_world(x: f64) -> Folder {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.report(&["import", "in.smoothgrid", "w.tvx", "--voxel-size", "1"]);
    folder.report(&["edit", "w.tvx", &format!("fill Rock ball {x},10,{} r=6", -x)]);
    // Opened once more, the file has its final length.
    folder.run(&["edit", "w.tvx", "--redo", "1"]);
    folder
}

/// Vertices of an .obj near the ball.
fn ball_vertices(obj: &[u8], x: f64) -> Vec<[f64; 3]> {
    let text = String::from_utf8_lossy(obj);
    let lines = text.lines().filter_map(|line| line.strip_prefix("v "));
    let numbers = lines.map(|line| line.split(' ').map(|v| v.parse().expect("a number")));
    let all = numbers.map(|line| line.collect::<Vec<f64>>().try_into().expect("three"));
    all.filter(|p: &[f64; 3]| (p[0] - x).abs() < 1000.0).collect()
}

fn assert_is_ball(vertices: &[[f64; 3]], x: f64) {
    assert!(vertices.len() > 100, "{} vertices at {x}", vertices.len());
    for p in vertices {
        let off = [p[0] - x, p[1] - 10.0, p[2] + x].map(|v| v * v).iter().sum::<f64>().sqrt();
        assert!((off - 6.0).abs() < 0.5, "{p:?} is not on the ball");
    }
}

#[test]
fn a_far_ball_is_meshed_hit_and_seen_where_it_is_slow() {
    for x in [1e9, 1_073_741_800.0, -1_073_741_800.0, 16_777_216.0] {
        let folder = far_world(x);
        for (file, more) in [
            ("a.obj", &[][..]),
            ("b.obj", &["--octree"]),
            ("c.obj", &["--octree", "--error", "0.05"]),
        ] {
            folder.report(&[&["mesh", "w.tvx", file], more].concat());
            assert_is_ball(&ball_vertices(&read(folder.path(file)), x), x);
        }
        folder.report(&["mesh", "w.tvx", "d.glb"]);
        let glb = read(folder.path("d.glb"));
        let length = u32::from_le_bytes(glb[12..16].try_into().expect("four bytes")) as usize;
        let json: Value = serde_json::from_slice(&glb[20..20 + length]).expect("JSON");
        let nodes = json["nodes"].as_array().expect("nodes");
        let placed =
            |node: &Value| node["translation"][0].as_f64().is_some_and(|v| (v - x).abs() < 200.0);
        assert!(nodes.iter().any(placed), "{nodes:?}");
        let from = format!("{x},40,{}", -x);
        let hit = folder.report(&["raycast", "w.tvx", &from, "0,-1,0"]);
        assert!((hit["distance_m"].as_f64().expect("a hit") - 24.0).abs() < 0.1, "{hit}");
        let look = format!("{x},10,{}", -x);
        let small = ["--size", "16x9", "--samples", "1"];
        for more in [&["--lod", "--distance", "200"][..], &[], &["--octree"]] {
            let render = ["render", "w.tvx", "p.png", "--camera", &from, "--look", &look];
            folder.report(&[&render[..], &small, more].concat());
        }
        folder.report(&["lod", "w.tvx", "--camera", &from, "--distance", "200", "--out", "l.glb"]);
    }
}

#[test]
fn points_beyond_the_world_are_refused_slow() {
    let folder = far_world(1000.0);
    let small = ["--size", "16x9", "--samples", "1"];
    let values = [
        "1073741824",
        "-2147483648",
        "2147483647",
        "3e9",
        "1e12",
        "1e30",
        "1e308",
        "nan",
        "inf",
        "-inf",
    ];
    for value in values {
        for point in [format!("{value},0,0"), format!("0,5,{value}")] {
            let words: &[&str] = match value {
                "1e30" | "1e308" | "nan" | "inf" | "-inf" => &["give a number from -2e12 to 2e12"],
                _ => &["beyond the world", "1073741824 m"],
            };
            let camera = format!("--camera={point}");
            let look = format!("--look={point}");
            folder.refused(&[&["render", "w.tvx", "p.png", &camera], &small[..]].concat(), words);
            folder.refused(&[&["render", "w.tvx", "p.png", &look], &small[..]].concat(), words);
            folder.refused(&["render", "w.tvx", "p.png", "--lod", &camera], words);
            folder.refused(&["render", "hills:1", "p.png", &camera], words);
            folder.refused(&["lod", "w.tvx", &camera, "--out", "l.glb"], words);
            folder.refused(&["lod", "hills:1", &camera, "--out", "l.glb"], words);
            folder.refused(&["raycast", "w.tvx", &point, "0,-1,0"], words);
            for view in [&camera, &look] {
                let path = ["path", "w.tvx", "3,3", "9,9", "--render", "p.png", view];
                folder.refused(&path, words);
            }
            for operation in
                [format!("copy {point} 3,3,3 to=0,0,0"), format!("copy 0,0,0 3,3,3 to={point}")]
            {
                folder.refused(&["edit", "w.tvx", &operation], &["copy"]);
            }
            for operation in [
                format!("dig ball {point} r=3"),
                format!("fill Rock box {point} size=3,3,3 turn=30"),
                format!("smooth capsule 0,0,0 {point} r=2"),
                format!("flatten cylinder {point} r=3 h=4"),
            ] {
                folder.refused(&["edit", "w.tvx", &operation], &["operation"]);
            }
        }
    }
    for size in ["0", "-0", "-1", "1e-9", "1e10", "1e308", "nan", "inf", "1e-300"] {
        let size = format!("--voxel-size={size}");
        folder.refused(&["generate", "g.tvx", "--size", "32", &size], &["voxel-size"]);
        folder.refused(&["import", "in.smoothgrid", "g.tvx", &size], &["voxel-size"]);
    }
    for depth in ["1e9", "1e30", "nan", "-0"] {
        folder.put("h.png", &files::heightmap(8, 8));
        folder.refused(&["import", "h.png", "g.tvx", &format!("--depth={depth}")], &["--depth"]);
    }
}

#[test]
fn worlds_whose_placement_metres_cannot_resolve_are_refused() {
    let placements = [(1e-9, 0.0), (1e-300, 0.0), (1e300, 0.0), (1.0, 1e308), (1.0, -1e15)];
    for (voxel_size_m, origin) in placements {
        let folder = Folder::new();
        let info = WorldInfo {
            voxel_size_m,
            origin_m: [0.0, origin, 0.0],
            materials: MaterialTable::default(),
            ..WorldInfo::default()
        };
        let made =
            Store::create(folder.path("w.tvx"), &info, Overwrite::No).and_then(Draft::finish);
        if made.is_err() {
            continue; // the store refuses it, too
        }
        drop(made);
        let words: &[&str] = &["w.tvx", if origin == 0.0 { "voxel size" } else { "origin" }];
        for arguments in [
            &["render", "w.tvx", "p.png"][..],
            &["render", "w.tvx", "p.png", "--lod", "--camera", "0,0,0"],
            &["lod", "w.tvx", "--camera", "0,0,0", "--out", "l.glb"],
            &["mesh", "w.tvx", "m.obj"],
            &["mesh", "w.tvx", "m.glb", "--octree"],
            &["raycast", "w.tvx", "0,0,0", "0,-1,0"],
            &["edit", "w.tvx", "dig ball 0,0,0 r=3"],
            &["export", "w.tvx", "e.rbxm"],
            &["info", "w.tvx"],
        ] {
            folder.refused(arguments, words);
        }
    }
}

#[test]
fn a_ray_of_any_direction_is_answered() {
    let folder = far_world(1000.0);
    for direction in ["0,-1e-9,0", "0,-2e12,0", "0,-1,0", "-0,-1e-300,0"] {
        let hit = folder.report(&["raycast", "w.tvx", "16,40,16", direction]);
        assert_eq!(hit["hit"], true, "{direction}: {hit}");
    }
    let output = folder.run(&["raycast", "w.tvx", "16,40,16", "0,-0,0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
