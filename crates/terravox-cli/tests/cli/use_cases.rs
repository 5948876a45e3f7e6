//! The main uses of each command.

use super::{Folder, files, read, text};
use serde_json::json;
use std::process::{Command, Stdio};
use terravox::generate::Hills;
use terravox::voxel::{Cell, DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid};
use terravox_io::heightmap::{self, ColourPolicy, HeightmapOptions};
use terravox_io::{ImportBudget, ImportLimits};
use terravox_store::{Overwrite, Store, WorldInfo};

#[test]
fn a_generated_world_is_described_meshed_rendered_and_exported() {
    let folder = Folder::new();
    let made = folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    assert_eq!(made["command"], "generate");
    assert!(made["cells"].as_u64() > Some(50_000), "{made}");

    let info = folder.report(&["info", "w.tvx"]);
    assert_eq!(info["cells"], made["cells"]);
    assert_eq!(info["generator"]["seed"], 9);
    assert!(info["materials"].as_array().is_some_and(|all| all.len() > 2), "{info}");

    let mesh = folder.report(&["mesh", "w.tvx", "w.glb"]);
    assert!(mesh["triangles"].as_u64() > Some(8_000), "{mesh}");
    assert!(read(folder.path("w.glb")).starts_with(b"glTF"));
    let coarse = folder.report(&["mesh", "w.tvx", "far.glb", "--mip", "2"]);
    let count = |report: &serde_json::Value| report["triangles"].as_u64().unwrap_or(0);
    assert!((200..count(&mesh) / 2).contains(&count(&coarse)), "{coarse}");

    let export = folder.report(&["export", "w.tvx", "w.obj", "--up", "z", "--scale", "100"]);
    assert_eq!(export["triangles"], mesh["triangles"]);
    assert!(text(&read(folder.path("w.obj"))).contains("mtllib w.mtl"));
    assert!(text(&read(folder.path("w.mtl"))).contains("newmtl"));

    let picture = folder.report(&["render", "w.tvx", "w.png", "--size", "64x40"]);
    assert_eq!(picture["size"], serde_json::json!([64, 40]));
    let [_, _, bytes] = ["w.obj", "w.mtl", "w.png"].map(|name| read(folder.path(name)));
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; 3 * 64 * 40];
    reader.next_frame(&mut pixels).expect("pixels");
    let colours: std::collections::BTreeSet<_> = pixels.as_chunks::<3>().0.iter().collect();
    assert!(colours.len() > 200, "{} colours", colours.len());
}

#[test]
fn a_ray_reports_its_hit() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9", "--voxel-size", "0.5"]);
    let hit = folder.report(&["raycast", "w.tvx", "-3,200,4", "0,-1,0"]);
    assert_eq!(hit["hit"], true, "{hit}");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    assert_eq!([0, 2].map(|axis| number(&hit["point_m"][axis])), [-3.0, 4.0]);
    let (far, y) = (number(&hit["distance_m"]), number(&hit["point_m"][1]));
    assert!((far + y - 200.0).abs() < 0.01 && number(&hit["normal"][1]) > 0.0, "{hit}");
    let voxel = [0, 1, 2].map(|axis| hit["voxel"][axis].as_i64().expect("a voxel"));
    assert!((voxel[0] + 6).abs() <= 1 && (voxel[1] as f64 * 0.5 - y).abs() < 1.5, "{hit}");
    let chunk = [0, 1, 2].map(|axis| hit["chunk"][axis].as_i64().expect("a chunk"));
    assert_eq!(chunk, voxel.map(|v| v >> 5));
    assert_eq!([0, 1, 2].map(|axis| hit["block"][axis].as_i64()), voxel.map(|v| Some(v >> 3)));

    // Options before and after; only what it sees; not so far.
    let name = hit["material"].as_str().expect("a material").to_owned();
    let options = ["--material", &name, "--sees", "both"];
    let again =
        folder.report(&[&["raycast", "w.tvx"][..], &options, &["-3,200,4", "0,-9,0"]].concat());
    assert_eq!(again["distance_m"], hit["distance_m"]);
    let miss = folder.run(&["raycast", "w.tvx", "-3,200,4", "0,-1,0", "--max", "20"]);
    assert_eq!(miss.status.code(), Some(0));
    assert!(
        text(&miss.stdout).contains("no hit within 20 m; --max looks further"),
        "{}",
        text(&miss.stdout)
    );
    let up = folder.report(&["raycast", "w.tvx", "0,200,0", "-0.5,1,-2.5e-1"]);
    assert_eq!(up["hit"], false);
    let ray = ["raycast", "w.tvx", "0,0,0"];
    folder.refused(&[&ray[..], &["0,0,0"]].concat(), &["DIR"]);
    folder.refused(&[&ray[..], &["1,2"]].concat(), &["1,2", "3 numbers"]);
    folder.refused(
        &[&ray[..], &["0,1,0", "--material", "cheese"]].concat(),
        &["cheese", "known are"],
    );
    folder.refused(&["raycast", "none.tvx", "0,0,0", "0,1,0"], &["none.tvx"]);
}

#[test]
fn a_ray_reports_cells_that_are_not_held() {
    let folder = Folder::new();
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]));
    for pos in Region::new([0; 3], [32, 12, 32]).voxels() {
        cells.set(pos, Cell::full(2));
    }
    grid.write(&cells).expect("cells");
    let info = WorldInfo { unlisted, ..WorldInfo::default() };
    let draft = Store::create(folder.path("w.tvx"), &info, Overwrite::No).expect("a world");
    draft.write_all(grid.as_snapshot(), |_, _| ()).expect("cells");
    drop(draft.finish().expect("a file"));
    let inside = folder.report(&["raycast", "w.tvx", "16,30,16", "0,-1,0"]);
    assert_eq!((&inside["distance_m"], &inside["not_held"]), (&json!(18.0), &json!(null)));
    let from_above = folder.report(&["raycast", "w.tvx", "16,80,16", "0,-1,0"]);
    assert_eq!(from_above["not_held"], json!([0, 2, 0]), "{from_above}");
    let beside = folder.report(&["raycast", "w.tvx", "-9,30,16", "0,-1,0"]);
    assert_eq!((&beside["hit"], &beside["not_held"]), (&json!(false), &json!([-1, 0, 0])));
}

#[test]
fn collider_layers_are_drawn_and_rays_are_counted() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    let plain = ["render", "w.tvx", "a.png", "--size", "64x36", "--samples", "1", "--threads", "1"];
    let report = folder.report(&[&plain[..], &["--textures", "off"]].concat());
    assert_eq!(report["rays"]["primary"], 64 * 36, "{report}");
    assert!(report["rays"]["mrays_per_second_a_core"].as_f64() > Some(0.0), "{report}");
    let drawn = ["--draw", "masks,blocks,trees", "--draw-radius", "12"];
    folder.report(
        &[&["render", "w.tvx", "b.png", "--size", "64x36", "--samples", "1"], &drawn[..]].concat(),
    );
    assert_ne!(read(folder.path("a.png")), read(folder.path("b.png")));
    folder.refused(&["render", "w.tvx", "c.png", "--draw", "ghosts"], &["ghosts", "masks"]);
}

#[test]
fn ground_has_textures_and_unset_material_goes_by_its_slope() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    let picture = |out: &str, more: &[&str]| {
        let plain = ["render", "w.tvx", out, "--size", "64x36", "--samples", "1"];
        folder.report(&[&plain[..], more].concat());
        read(folder.path(out))
    };
    let textured = picture("a.png", &[]);
    assert_eq!(textured, picture("b.png", &["--textures", "on"]));
    let even = picture("c.png", &["--textures", "off"]);
    assert_ne!(textured, even);
    // Charts have even colours.
    assert_eq!(picture("d.png", &["--wire"]), picture("e.png", &["--wire", "--textures", "off"]));
    assert_ne!(textured, picture("f.png", &["--unset", "Rock"]));
    let refused = ["render", "w.tvx", "g.png", "--unset", "Cheese"];
    folder.refused(&refused, &["Cheese", "Grass", "Rock"]);
}

#[test]
fn the_same_seed_makes_the_same_world() {
    let folder = Folder::new();
    let digest = |seed: &str, name: &str| {
        folder.report(&["generate", name, "--size", "32", "--seed", seed]);
        folder.report(&["info", name])["digest"].clone()
    };
    assert_eq!(digest("4", "a.tvx"), digest("4", "b.tvx"));
    assert_ne!(digest("4", "c.tvx"), digest("5", "d.tvx"));
}

#[test]
fn roblox_terrain_round_trips_byte_by_byte() {
    let folder = Folder::new();
    // In an order that is not ascending, which a world has to keep.
    let grid = files::smooth_grid(&[[2, 0, -1], [-3, 1, 5], [2, 0, 0]]);
    folder.put("in.smoothgrid", &grid);
    let imported = folder.report(&["import", "in.smoothgrid", "w.tvx"]);
    assert_eq!(imported["chunks"], 3);
    assert_eq!(imported["wet_cells"], 3);
    folder.report(&["export", "w.tvx", "out.smoothgrid"]);
    assert_eq!(read(folder.path("out.smoothgrid")), grid);
    for model in ["m.rbxm", "m.rbxmx"] {
        folder.report(&["export", "w.tvx", model]);
        folder.report(&["import", model, "again.tvx", "--force"]);
        folder.report(&["export", "again.tvx", "again.smoothgrid"]);
        assert_eq!(read(folder.path("again.smoothgrid")), grid, "{model}");
        // Other commands take what can be imported as it is.
        let info = folder.report(&["info", model]);
        assert_eq!(info["kind"], "roblox");
        assert_eq!(info["digest"], folder.report(&["info", "w.tvx"])["digest"]);
    }
}

#[test]
fn heightmaps_are_imported_at_their_scale() {
    let folder = Folder::new();
    folder.put("hill.png", &files::heightmap(40, 30));
    folder.put("hill.raw", &files::samples(40, 30, u16::to_le_bytes));
    let scale = ["--scale", "2", "--vertical-scale", "30", "--sea-level", "6"];
    let import = |file: &str, world: &str, more: &[&str]| {
        folder.report(&[&["import", file, world], &scale[..], more].concat());
        folder.report(&["info", world])
    };
    let png = import("hill.png", "png.tvx", &[]);
    let raw = import("hill.raw", "raw.tvx", &["--width", "40", "--height", "30"]);
    assert_eq!(png["cells"], raw["cells"]);
    let max = png["bounds"]["max"].as_array().expect("a corner");
    assert_eq!((&max[0], &max[2]), (&serde_json::json!(96), &serde_json::json!(64)));
    let materials = png["materials"].to_string();
    assert!(materials.contains("Water") && materials.contains("Sand"), "{materials}");
    // Half the voxel, twice the voxels along each edge.
    let fine = import("hill.png", "fine.tvx", &["--voxel-size", "0.5"]);
    let ratio = fine["cells"].as_f64().zip(png["cells"].as_f64()).map(|(f, p)| f / p);
    assert!(ratio.is_some_and(|ratio| (6.0..9.0).contains(&ratio)), "{ratio:?}");
    assert_eq!(fine["voxel_size_m"], 0.5);
}

#[test]
fn the_demo_writes_all_its_files() {
    let folder = Folder::new();
    folder.put("hill.png", &files::heightmap(96, 96));
    let mut arguments = vec!["demo", "hill.png", "--vertical-scale", "40", "--size", "48x27"];
    if cfg!(feature = "physics") {
        arguments.extend(["--bodies", "12"]);
    }
    let demo = folder.report(&arguments);
    let files = if cfg!(feature = "physics") { 9 } else { 6 };
    assert_eq!(demo["files"].as_array().map(Vec::len), Some(files), "{demo}");
    match cfg!(feature = "physics") {
        true => {
            let bodies = &demo["bodies"];
            assert_eq!([&bodies["bodies"], &bodies["below"]], [12, 0], "{demo}");
        }
        false => assert!(demo["drop"].to_string().contains("--features physics"), "{demo}"),
    }
    for file in demo["files"].as_array().into_iter().flatten() {
        let path = folder.path("terravox-demo").join(file.as_str().expect("a name"));
        assert!(read(&path).len() > 300, "{}", path.display());
    }
    assert!(demo["dug_cells"].as_u64() > Some(500), "{demo}");
    assert!(demo["memory_bytes_a_cell"].as_f64() < Some(4.0), "{demo}");
    for step in ["import_ms", "dig_ms", "save_ms", "reopen_ms", "mesh_ms", "picture_overview_ms"] {
        assert!(demo[step].as_f64() > Some(0.0), "{step} of {demo}");
    }
    let info = folder.report(&["info", "terravox-demo/world.tvx"]);
    assert_eq!(demo["digest"], info["digest"]);
    // Again, over what the first run left.
    folder.report(&arguments);
}

#[test]
fn a_sparse_world_stores_its_generator_and_no_chunks() {
    let folder = Folder::new();
    let made = folder.report(&["generate", "w.tvx", "--sparse", "--seed", "7"]);
    assert_eq!(made["grows"], true, "{made}");
    let info = folder.report(&["info", "w.tvx"]);
    assert_eq!((&info["chunks"], &info["grows"]), (&json!(0), &json!(true)), "{info}");
    assert_eq!(info["generator"]["seed"], 7);
    let store = Store::open(folder.path("w.tvx")).expect("it was just made");
    assert!(store.info().grows());
    store.check_generator(Hills::NAME, Hills::VERSION, 7).expect("it grows from these hills");
}

#[test]
fn a_world_of_a_preset_stores_its_options() {
    let folder = Folder::new();
    let preset = "alps,relief=0.5";
    let made = ["generate", "w.tvx", "--sparse", "--seed", "7", "--preset", preset];
    let made = folder.report(&made);
    assert_eq!(made["generator"], "world:7:alps,relief=0.5", "{made}");
    let store = Store::open(folder.path("w.tvx")).expect("it was just made");
    let generator = store.info().generator.clone().expect("it has one");
    assert_eq!(generator.name, "world:alps,relief=0.5");
    assert!(store.info().grows() && generator.seeded().is_some());
    drop(store);
    let whole = ["generate", "a.tvx", "--size", "64", "--seed", "7", "--preset", preset];
    let whole = folder.report(&whole);
    assert!(whole["cells"].as_u64() > Some(64 * 64 * 32), "{whole}");
}

#[test]
fn a_world_is_overwritten_only_with_force() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32"]);
    let before = read(folder.path("w.tvx"));
    folder.refused(&["generate", "w.tvx", "--size", "32", "--seed", "2"], &["w.tvx", "--force"]);
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.refused(&["import", "in.smoothgrid", "w.tvx"], &["w.tvx", "--force"]);
    folder.put("bad.smoothgrid", &files::smooth_grid(&[[0, 0, 0]])[..40]);
    folder.refused(&["import", "bad.smoothgrid", "w.tvx", "--force"], &["bad.smoothgrid"]);
    assert!(read(folder.path("w.tvx")) == before);
    folder.report(&["import", "in.smoothgrid", "w.tvx", "--force"]);
    assert_eq!(folder.report(&["info", "w.tvx"])["chunks"], 1);
}

#[test]
fn help_has_examples_and_goes_to_standard_output() {
    let folder = Folder::new();
    for command in ["demo", "generate", "import", "export", "info", "mesh", "raycast", "render"] {
        let output = folder.run(&[command, "--help"]);
        assert!(output.status.success() && output.stderr.is_empty());
        let help = text(&output.stdout);
        assert!(
            help.contains("Example:") && help.contains(&format!("terravox {command}")),
            "{help}"
        );
    }
    let output = folder.run(&["--version"]);
    assert!(output.status.success() && text(&output.stdout).starts_with("terravox "));
}

#[test]
fn a_text_report_has_one_line_per_value() {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    let output = folder.run(&["info", "in.smoothgrid"]);
    let report = text(&output.stdout);
    assert!(output.status.success() && report.lines().count() > 6, "{report}");
    assert!(report.lines().any(|line| line.starts_with("cells") && line.contains(",")), "{report}");
    assert!(!report.contains('\u{1b}'), "no colours or bars without a terminal");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    for arguments in
        [&["info", "in.smoothgrid"][..], &["--help"], &["info", "in.smoothgrid", "--json"]]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_terravox"))
            .args(arguments)
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_camera_inside_the_ground_is_said() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32", "--seed", "9"]);
    let notes = |file: &str, camera: &str| {
        let render = ["render", "w.tvx", file, "--size", "16x16", "--camera", camera];
        folder.report(&render)["notes"].to_string()
    };
    let buried = notes("a.png", "16,-20,16");
    assert!(
        buried.contains("16,-20,16 is inside the ground; the ground above it ends"),
        "{buried}"
    );
    assert!(!notes("b.png", "16,300,16").contains("inside the ground"));
}

#[test]
fn a_heightmap_imported_piece_by_piece_equals_one_imported_in_memory() {
    let folder = Folder::new();
    let map = folder.put("hill.png", &files::heightmap(40, 30));
    let options = ["--scale", "50", "--vertical-scale", "180", "--voxel-size", "2"];
    let sea = ["--sea-level", "40", "--depth", "120"];
    let made = folder.report(&[&["import", "hill.png", "w.tvx"], &options[..], &sea[..]].concat());
    let png = read(map);
    let mut budget = ImportBudget::new(ImportLimits::for_input(png.len()).times(8));
    let heights =
        heightmap::read_png(&png, ColourPolicy::Refuse, &mut budget).expect("a heightmap");
    let how = HeightmapOptions {
        voxels_per_sample: 25.0,
        height_voxels: 90.0,
        sea_level: Some(20.0),
        depth_voxels: 60.0,
        ..HeightmapOptions::default()
    }
    .with_natural_land(&heights);
    let mut grid = VoxelGrid::new(GridOptions::default());
    let imported =
        heightmap::import(&heights, &how, &mut budget, &mut grid, |_, _| ()).expect("a world");
    // 32 × 24 columns of chunks, in six pieces at least.
    assert_eq!(imported.columns, [1000, 750]);
    let info = folder.report(&["info", "w.tvx"]);
    let digest = format!("{:032x}", grid.digest().expect("all is held"));
    assert_eq!((&info["digest"], &info["cells"]), (&json!(digest), &made["cells"]));
    assert_eq!(made["chunks"], json!(imported.chunks));
    assert_eq!(info["materials"][0]["cells"].as_u64().map(|n| n > 0), Some(true));
    let coarse = folder.report(&["mesh", "w.tvx", "w.glb", "--mip", "3"]);
    assert!(coarse["triangles"].as_u64() > Some(10_000), "{coarse}");
    if let Some(bytes) = made["peak_memory_bytes"].as_u64() {
        assert!(bytes < 1 << 30, "{made}");
    }
}
