//! Damaged, hostile and mislabelled files, and unwritable outputs: one line, exit code 2, nothing
//! left behind.

use super::{Folder, files, read, text};
use serde_json::{Value, json};
use std::fs::File;

/// Every command that reads `file`, with where its output would go.
fn readers(file: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["info", file],
        vec!["import", file, "out.tvx"],
        vec!["mesh", file, "out.glb"],
        vec!["export", file, "out.rbxm"],
        vec!["render", file, "out.png", "--size", "8x8"],
        vec!["lod", file, "--camera", "0,9,0", "--out", "out.glb"],
        vec!["render", file, "out.png", "--lod", "--camera", "0,9,0"],
        vec!["raycast", file, "0,0,0", "0,-1,0"],
        vec!["path", file, "0,0", "9,9"],
        vec!["demo", file, "--size", "8x8"],
    ]
}

/// Checks that all commands refuse a file and name it.
fn all_refuse(folder: &Folder, file: &str, words: &[&str]) {
    for arguments in readers(file) {
        folder.refused(&arguments, &[&[file], words].concat());
    }
}

#[test]
fn missing_files_and_folders_are_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder.tvx")).expect("a folder");
    for missing in ["missing.tvx", "missing.rbxl", "missing.png", "missing.raw", "missing"] {
        all_refuse(&folder, missing, &["No such file"]);
    }
    all_refuse(&folder, "folder.tvx", &["folder"]);
}

#[test]
fn no_output_of_any_command_has_a_password() {
    let folder = Folder::new();
    let password = "hun/ter?2#x";
    for (scheme, host) in [
        ("postgres", "localhost:1/worlds#caves"),
        ("postgres", "localhost:port/worlds#caves"),
        ("postgress", "localhost/worlds#caves"),
        ("ws", "localhost:port"),
    ] {
        let address = format!("{scheme}://me:{password}@{host}");
        let mut commands = readers(&address);
        commands.extend([
            vec!["verify", &address],
            vec!["repair", &address],
            vec!["copy", &address, "a.tvx"],
            vec!["copy", "a.tvx", &address],
            vec!["join", &address, "--seconds", "soon"],
            vec!["join", &address],
            vec!["backup", &address],
            vec!["serve", &address, "--wait=no"],
            vec!["edit", &address, "no such"],
            vec!["info", &address, "--no-such-option"],
            vec!["no-such-command", &address],
        ]);
        for command in commands {
            for json in [&[][..], &["--json"]] {
                let output = folder.run(&[&command, json].concat());
                let printed = text(&output.stdout) + &text(&output.stderr);
                assert!(!output.status.success(), "{command:?}");
                assert!(!printed.contains("hun") && !printed.contains("ter?2"), "{printed}");
            }
        }
    }
}

#[test]
fn empty_files() {
    let folder = Folder::new();
    for name in ["e.tvx", "e.rbxm", "e.rbxlx", "e.smoothgrid", "e.png", "e.raw", "e.vox"] {
        folder.put(name, b"");
        all_refuse(&folder, name, &["empty"]);
    }
}

#[test]
fn files_of_unknown_type_are_refused() {
    let folder = Folder::new();
    folder.put("text.txt", b"some text");
    all_refuse(&folder, "text.txt", &["unknown file type", ".rbxm"]);
    for name in ["text.tvx", "text.rbxm", "text.rbxlx", "text.smoothgrid", "text.png"] {
        folder.put(name, b"this is some text and neither terrain nor a picture of it");
        let line = folder.refused(&["info", name], &[name]);
        assert!(line.len() > 40, "says what to do: {line}");
    }
    folder.put("odd.raw", &[7; 9]);
    folder.refused(&["info", "odd.raw"], &["odd.raw"]);
    folder.put("oblong.raw", &[7; 24]);
    folder.refused(&["info", "oblong.raw"], &["oblong.raw", "width"]);
}

#[test]
fn truncated_and_bit_flipped_terrain() {
    let folder = Folder::new();
    let whole = files::smooth_grid(&[[0, 0, 0], [1, 0, 0]]);
    for length in [1, 2, 3, 9, 14, 20, 60, whole.len() / 2, whole.len() - 1] {
        folder.put("cut.smoothgrid", &whole[..length]);
        // A header without chunks is an empty terrain, which is valid.
        if length == 2 {
            folder.report(&["info", "cut.smoothgrid"]);
        } else {
            folder.refused(&["import", "cut.smoothgrid", "w.tvx"], &["cut.smoothgrid"]);
        }
    }
    let model = {
        folder.put("whole.smoothgrid", &whole);
        folder.report(&["export", "whole.smoothgrid", "model.rbxm"]);
        read(folder.path("model.rbxm"))
    };
    for (name, bytes) in [("flip.smoothgrid", &whole), ("flip.rbxm", &model)] {
        for at in (0..bytes.len()).step_by(bytes.len() / 23) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x41;
            folder.put(name, &flipped);
            sound_or_refused(&folder, name);
        }
    }
}

/// A damaged file may still be sound; what is refused is refused properly.
fn sound_or_refused(folder: &Folder, name: &str) -> bool {
    let output = folder.run(&["info", name]);
    let line = text(&output.stderr);
    match output.status.code() {
        Some(0) => assert_eq!(line, ""),
        Some(2) => assert!(line.lines().count() == 1 && line.contains(name), "{line}"),
        code => panic!("exit code {code:?}: {line}"),
    }
    output.status.success()
}

#[test]
fn wrong_versions_duplicates_and_positions_beyond_the_limits() {
    let folder = Folder::new();
    let mut version = files::smooth_grid(&[[0, 0, 0]]);
    version[0] = 2;
    folder.put("v.smoothgrid", &version);
    all_refuse(&folder, "v.smoothgrid", &["version 2", "byte 0"]);
    version[..2].copy_from_slice(&[1, 6]);
    folder.put("edge.smoothgrid", &version);
    all_refuse(&folder, "edge.smoothgrid", &["2^6"]);
    folder.put("twice.smoothgrid", &files::smooth_grid(&[[0, 0, 0], [0, 0, 0]]));
    all_refuse(&folder, "twice.smoothgrid", &["listed twice", "(0, 0, 0)"]);
    folder.put("far.smoothgrid", &files::smooth_grid(&[[1 << 30, 0, 0]]));
    all_refuse(&folder, "far.smoothgrid", &["limit", "1073741824"]);
}

#[test]
fn a_small_file_that_claims_a_million_chunks() {
    let folder = Folder::new();
    // A hostile container: one part of the file says that it unpacks to 3 GB.
    let mut bytes = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a\0\0".to_vec();
    bytes.extend(1_000_000_u32.to_le_bytes());
    bytes.extend(1_000_000_u32.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(b"PROP");
    bytes.extend(200_u32.to_le_bytes());
    bytes.extend(3_000_000_000_u32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.resize(268, 0xFF);
    folder.put("hostile.rbxm", &bytes);
    all_refuse(&folder, "hostile.rbxm", &["file"]);
}

#[test]
fn oversized_files_are_refused_unread() {
    let folder = Folder::new();
    for name in ["huge.rbxm", "huge.png", "huge.raw"] {
        let file = File::create(folder.path(name)).expect("a file");
        // A sparse file takes no space.
        file.set_len(3 << 30).expect("a long file");
        all_refuse(&folder, name, &["too large"]);
    }
}

#[test]
fn damaged_worlds() {
    let folder = Folder::new();
    folder.report(&["generate", "whole.tvx", "--size", "64"]);
    let whole = read(folder.path("whole.tvx"));
    for length in [1, 50, whole.len() / 3] {
        folder.put("cut.tvx", &whole[..length]);
        for arguments in readers("cut.tvx").into_iter().filter(|a| a[0] != "import") {
            folder.refused(&arguments, &["cut.tvx"]);
        }
    }
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        folder.put("flip.tvx", &flipped);
        refused += u32::from(!sound_or_refused(&folder, "flip.tvx"));
    }
    assert!(refused > 0, "some flips hit what the world needs");
}

#[test]
fn a_damaged_chunk_costs_that_chunk() {
    let folder = Folder::new();
    folder.report(&["generate", "whole.tvx", "--size", "64"]);
    let count = folder.report(&["info", "whole.tvx"])["chunks"].as_u64();
    let whole = read(folder.path("whole.tvx"));
    let lost = (16384..whole.len()).step_by(1501).find_map(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        folder.put("flip.tvx", &flipped);
        let output = folder.run(&["info", "flip.tvx"]);
        text(&output.stderr).contains("--skip-damaged").then_some(())
    });
    assert!(lost.is_some(), "some byte belongs to a chunk");
    folder.refused(&["render", "flip.tvx", "out.png"], &["flip.tvx", "damaged"]);
    let info = folder.report(&["info", "flip.tvx", "--skip-damaged"]);
    let left = info["chunks"].as_u64();
    assert_eq!(left.map(|left| left + 1), count, "{info}");
    assert!(info["notes"][0].as_str().is_some_and(|note| note.contains("left out")), "{info}");
}

#[test]
fn damaged_and_oversized_heightmaps_are_refused() {
    let folder = Folder::new();
    let whole = files::heightmap(20, 20);
    for (name, bytes) in [("cut.png", &whole[..whole.len() / 2]), ("start.png", &whole[..20])] {
        folder.put(name, bytes);
        all_refuse(&folder, name, &[]);
    }
    let mut claims = whole.clone();
    claims[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    folder.put("claims.png", &claims);
    all_refuse(&folder, "claims.png", &[]);
    folder.put("ok.png", &whole);
    let import = ["import", "ok.png", "w.tvx"];
    for options in [["--scale", "1e8"], ["--vertical-scale", "1e9"], ["--sea-level", "2e12"]] {
        folder.refused(&[&import[..], &options].concat(), &["ok.png"]);
    }
    let tiny = ["--scale", "1", "--voxel-size", "1e-6"];
    folder.refused(&[&import[..], &tiny].concat(), &["ok.png"]);
    folder.put("ok.raw", &[1; 32]);
    folder.refused(
        &["import", "ok.raw", "w.tvx", "--width", "18446744073709551615", "--height", "2"],
        &["ok.raw"],
    );
}

#[test]
fn unwritable_outputs_are_refused() {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.put("file", b"a file, not a folder");
    std::fs::create_dir(folder.path("folder.glb")).expect("a folder");
    for out in ["file/w.tvx", "nowhere/w.tvx"] {
        folder.refused(&["import", "in.smoothgrid", out], &[out]);
        folder.refused(&["generate", out, "--size", "32"], &[out]);
    }
    for (command, out) in [
        ("mesh", "file/m.glb"),
        ("mesh", "nowhere/m.obj"),
        ("mesh", "folder.glb"),
        ("export", "file/m.rbxm"),
        ("render", "nowhere/p.png"),
    ] {
        folder.refused(&[command, "in.smoothgrid", out], &[out]);
    }
    // Before the world is opened, which may take long.
    let no_folder = "there is no such folder; make it first";
    folder.put("bad.rbxl", b"not a place");
    folder.refused(&["render", "bad.rbxl", "nowhere/p.png"], &["nowhere/p.png", no_folder]);
    folder.refused(&["demo", "in.smoothgrid", "--out", "file"], &["file"]);
    // The input must not be overwritten.
    folder.refused(&["export", "in.smoothgrid", "./in.smoothgrid"], &["in.smoothgrid", "read"]);
    folder.put("hill.png", &files::heightmap(20, 20));
    folder.refused(&["render", "hill.png", "hill.png"], &["hill.png", "read"]);
}

#[test]
fn a_demo_of_its_own_output_is_refused_and_the_file_stays() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("terravox-demo")).expect("a folder");
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.report(&["import", "in.smoothgrid", "terravox-demo/world.tvx"]);
    folder.put("terravox-demo/overview.png", &files::heightmap(20, 20));
    for file in ["terravox-demo/world.tvx", "terravox-demo/overview.png"] {
        let before = read(folder.path(file));
        folder.refused(&["demo", file, "--size", "8x8"], &[file, "is read"]);
        assert!(read(folder.path(file)) == before, "{file}");
    }
    let entries = std::fs::read_dir(folder.path("terravox-demo")).expect("the folder");
    assert_eq!(entries.count(), 2, "nothing else was written");
}

#[test]
fn unsupported_extensions_are_refused() {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.refused(&["import", "in.smoothgrid", "w.world"], &["w.world", ".tvx"]);
    folder.refused(&["generate", "w"], &["w", ".tvx"]);
    folder.refused(&["export", "in.smoothgrid", "w.fbx"], &["w.fbx", ".glb"]);
    folder.refused(&["mesh", "in.smoothgrid", "w.rbxm"], &["w.rbxm", ".glb"]);
    folder.refused(&["render", "in.smoothgrid", "w.jpg"], &["w.jpg", ".png"]);
    folder.refused(&["mesh", "in.smoothgrid", "w.glb", "--up", "z"], &["w.glb", "--up"]);
    folder.refused(&["mesh", "in.smoothgrid", "w.obj", "--materials"], &["w.obj", ".glb"]);
    // Swapped arguments must not cost the file.
    folder.refused(&["import", "w.tvx", "in.smoothgrid"], &["in.smoothgrid", ".tvx"]);
}

#[test]
fn a_misspelt_address_shows_no_password() {
    let folder = Folder::new();
    let (address, shown) = ("postgres//me:SECRET@127.0.0.1/w#h", "postgres//me@127.0.0.1/w#h");
    let line = folder.refused(&["info", address], &[shown, "cannot be read"]);
    assert!(!line.contains("SECRET"), "{line}");
    let output = folder.run(&["info", address, "--json"]);
    let error: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(error["file"], json!(shown));
    assert!(!text(&output.stdout).contains("SECRET"), "{error}");
}

#[test]
fn usage_errors_are_one_line() {
    let folder = Folder::new();
    folder.refused(&[], &["--help"]);
    folder.refused(&["rendr"], &["rendr"]);
    folder.refused(&["render", "w.tvx"], &["--help"]);
    folder.refused(&["render", "w.tvx", "p.png", "--size", "0x9"], &["0x9", "1280x720"]);
    folder.refused(&["render", "w.tvx", "p.png", "--camera", "1,2"], &["1,2", "3 numbers"]);
    folder.refused(&["render", "w.tvx", "p.png", "--camera", "1e99,0,0"], &["1e99"]);
    folder.refused(&["generate", "w.tvx", "--size", "1000000"], &["1000000"]);
    folder.refused(&["import", "a.raw", "w.tvx", "--width", "3"], &["--height"]);
}

#[test]
fn invalid_views_are_refused() {
    let folder = Folder::new();
    let lod = |camera: &str, more: &[&str], words: &[&str]| {
        let arguments = ["lod", "hills:1", "--camera", camera, "--out", "out.glb"];
        folder.refused(&[&arguments, more].concat(), words);
    };
    lod("0,9", &[], &["--camera", "3 numbers"]);
    lod("0,nan,0", &[], &["--camera"]);
    lod("0,2e9,0", &[], &["camera", "beyond"]);
    lod("0,9,0", &["--distance", "0"], &["--distance"]);
    lod("0,9,0", &["--detail", "0.5"], &["--detail", "1 to 16"]);
    folder.refused(&["lod", "hills:1", "--out", "out.glb"], &["--camera"]);
    folder.refused(&["lod", "hills:1", "--camera", "0,9,0", "--out", "a.obj"], &[".glb"]);
    folder.refused(&["lod", "hills:x", "--camera", "0,9,0", "--out", "a.glb"], &["seed"]);
    folder.put("hill.png", &files::heightmap(20, 20));
    folder.refused(&["render", "hill.png", "out.png", "--lod"], &["--camera"]);
    folder.refused(&["render", "hill.png", "out.png", "--lod-colours"], &["--lod"]);
    let far = ["render", "hills:1", "out.png", "--lod", "--camera", "0,9,0"];
    folder.refused(&[&far[..], &["--morph", "targets"]].concat(), &["--morph", "0 to 1"]);
    folder.refused(&[&far[..], &["--morph", "2"]].concat(), &["--morph", "targets"]);
    for whole in [&["--mip", "1"][..], &["--octree"], &["--draw", "masks"]] {
        let arguments = [&["render", "hills:1", "out.png"][..], whole].concat();
        folder.refused(&arguments, &["hills:1", whole[0], "terravox generate"]);
    }
}

#[test]
fn hills_without_a_file_are_refused_where_a_whole_world_is_needed() {
    let folder = Folder::new();
    let takes_any = |name: &str| ["lod", "path", "render"].contains(&name);
    for arguments in readers("hills:7").into_iter().filter(|arguments| !takes_any(arguments[0])) {
        folder.refused(&arguments, &["hills:7", "terravox generate hills.tvx --seed 7"]);
    }
    let arguments = ["info", "world:7:fjords,relief=1.5"];
    folder
        .refused(&arguments, &["terravox generate world.tvx --seed 7 --preset fjords,relief=1.5"]);
}

#[test]
fn presets_and_options_out_of_range_are_refused_by_name() {
    let folder = Folder::new();
    let generate = |preset: &str, words: &[&str]| {
        folder.refused(&["generate", "w.tvx", "--preset", preset], words);
    };
    generate("fjord", &["--preset", "fjord", "continents", "fjords"]);
    generate("fjords,relief=3", &["relief is 3", "0 to 2"]);
    generate("fjords,relief=NaN", &["relief is NaN"]);
    generate("fjords,height=1", &["height", "relief"]);
    for world in ["world:x:fjords", "world:7:fjord", "world:7:fjords,caves=-1"] {
        let arguments = ["lod", world, "--camera", "0,9,0", "--out", "a.glb"];
        folder.refused(&arguments, &[world]);
    }
}

#[test]
fn errors_are_json_with_json() {
    let folder = Folder::new();
    folder.put("bad.rbxm", b"some text");
    let failed = |arguments: &[&str], command: Option<&str>, file: Option<&str>, words: &str| {
        let output = folder.run(arguments);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), String::new()));
        let error: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        assert_eq!(error["command"], json!(command), "{error}");
        assert_eq!((&error["file"], &error["exit_code"]), (&json!(file), &json!(2)), "{error}");
        let line = error["error"].as_str().expect("a line");
        assert!(line.contains(words) && !line.contains('\n'), "{error}");
    };
    for arguments in readers("bad.rbxm") {
        let json = [&arguments[..], &["--json"]].concat();
        failed(&json, Some(arguments[0]), Some("bad.rbxm"), "bad.rbxm");
    }
    failed(&["--json", "generate", "w.world"], Some("generate"), Some("w.world"), ".tvx");
    failed(&["--json", "raycast", "w.tvx", "0,0,0", "0,0,0"], Some("raycast"), None, "DIR");
    // Command lines that cannot be parsed.
    failed(&["--json"], None, None, "--help");
    failed(&["--json", "rendr"], None, None, "rendr");
    failed(&["render", "w.tvx", "--json"], Some("render"), None, "--help");
    failed(&["render", "w.tvx", "p.png", "--size", "0x9", "--json"], Some("render"), None, "0x9");
    // After `--` it is the name of a file.
    folder.refused(&["info", "--", "--json"], &["--json"]);
}

#[test]
fn lengths_in_messages_are_in_metres() {
    let folder = Folder::new();
    folder.put("hill.png", &files::heightmap(20, 20));
    let import = |options: &[&str], words: &[&str]| {
        let start = ["import", "hill.png", "w.tvx", "--voxel-size", "8"];
        folder.refused(&[&start, options].concat(), words);
    };
    import(&["--vertical-scale", "600000"], &["--vertical-scale is 600000 m", "at most 524288 m"]);
    import(&["--depth", "9e5"], &["--depth is 900000 m", "at most 524288 m"]);
    import(&["--scale", "16000"], &["--scale is 16000 m", "to 8192 m"]);
    import(&["--scale", "8000", "--sea-level", "9e6"], &["--sea-level is 9000000 m"]);
    let far = ["lod", "hill.png", "--camera", "0,2e12,0", "--out", "out.glb"];
    folder.refused(&far, &["--camera", "1073741824 m"]);
}

#[test]
fn colour_pictures_are_refused_without_luma() {
    let folder = Folder::new();
    let picture = |pixels: &[u8]| {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(pixels).expect("pixels");
        writer.finish().expect("a PNG");
        bytes
    };
    let mut pixels: Vec<u8> = (0..64_u8).flat_map(|i| [3 * i; 3]).collect();
    folder.put("grey.png", &picture(&pixels));
    folder.report(&["info", "grey.png"]);
    pixels[3 * 17 + 2] += 1;
    folder.put("photo.png", &picture(&pixels));
    all_refuse(&folder, "photo.png", &["(1, 2)", "51, 51, 52", "--luma"]);
    let made = folder.report(&["import", "photo.png", "w.tvx", "--luma"]);
    assert!(made["cells"].as_u64() > Some(100), "{made}");
}

#[test]
fn what_a_file_may_cost_is_limited_by_name_and_the_limit_can_be_raised() {
    let folder = Folder::new();
    // Noise: every cell between the lowest and the highest sample is in a mixed row.
    let samples =
        (0..1200 * 1200_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 16).to_le_bytes());
    let noise: Vec<u8> = samples.enumerate().filter(|(i, _)| i % 4 < 2).map(|(_, v)| v).collect();
    folder.put("noise.raw", &noise);
    let words = ["noise.raw", "of memory in all, at most 135.2 MB", "--limit-factor 2"];
    folder.refused(&["info", "noise.raw"], &words);
    folder.put("hill.png", &files::heightmap(40, 30));
    let deep = ["--voxel-size", "1", "--scale", "100", "--depth", "60000"];
    let deep = [&["import", "hill.png", "w.tvx"], &deep[..]].concat();
    folder.refused(&deep, &["hill.png", "chunks, at most 4194304", "--limit-factor 6"]);
    assert!(!folder.path("w.tvx").exists());
    let zero = ["import", "hill.png", "w.tvx", "--limit-factor", "0"];
    folder.refused(&zero, &["--limit-factor", "1 to 1000"]);
    folder.report(&["import", "hill.png", "w.tvx", "--limit-factor", "2"]);
}

#[test]
fn scripts_of_too_many_operations_are_refused() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32"]);
    folder.put("many.txt", "dig ball 0,0,0 r=1\n".repeat((1 << 18) + 1).as_bytes());
    let words = ["many.txt: line 262145", "more than 262144 operations", "in parts"];
    folder.refused(&["edit", "w.tvx", "--script", "many.txt"], &words);
    let long = format!("dig ball 0,0,0 r={}", "9".repeat(100_000));
    folder.put("long.txt", long.as_bytes());
    let output = folder.run(&["edit", "w.tvx", "--script", "long.txt"]);
    assert!(output.stderr.len() < 10_000, "{} bytes", output.stderr.len());
}
