//! Real places and heightmaps, where they are: `../shared/data`, or where the variable
//! `TERRAVOX_REAL_DATA` says.

use super::{Folder, read};
use std::path::PathBuf;

/// A file of the real data; says that the test is skipped where it is not there.
fn real(name: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder =
        std::env::var_os("TERRAVOX_REAL_DATA").map_or(PathBuf::from(beside), PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

#[test]
fn a_real_place_round_trips() {
    let folder = Folder::new();
    let models = [
        ("Aerodymier__Pathfinder__Terrain.rbxmx", "Aerodymier__Pathfinder__Terrain.smoothgrid"),
        ("TheTryph__Caves__Terrain.rbxm", "TheTryph__Caves__Terrain.smoothgrid"),
    ];
    for (model, grid) in models.map(|(m, g)| (format!("roblox/{m}"), format!("roblox/{g}"))) {
        let (Some(model), Some(grid)) = (real(&model), real(&grid)) else { continue };
        let model = model.to_str().expect("a name in UTF-8");
        folder.report(&["import", model, "w.tvx", "--force"]);
        folder.report(&["export", "w.tvx", "w.rbxm"]);
        folder.report(&["export", "w.rbxm", "w.smoothgrid"]);
        assert!(read(folder.path("w.smoothgrid")) == read(grid), "{model}");
    }
}

#[test]
fn a_real_heightmap_has_land_and_water() {
    let folder = Folder::new();
    let Some(map) = real("real/jacksboro_dem_16.png") else { return };
    let map = map.to_str().expect("a name in UTF-8");
    folder.report(&["import", map, "w.tvx", "--vertical-scale", "60", "--sea-level", "8"]);
    let info = folder.report(&["info", "w.tvx"]);
    assert!(info["cells"].as_u64() > Some(1_000_000), "{info}");
    assert!(info["materials"].to_string().contains("Water"), "{info}");
}

#[test]
fn a_real_geotiff_goes_out_where_it_came_from() {
    let folder = Folder::new();
    let Some(map) = real("real/zh_dem_25.tif") else { return };
    let map = map.to_str().expect("a name in UTF-8");
    let made = folder.report(&["import", map, "w.tvx"]);
    let out = folder.report(&["export", "w.tvx", "out.tif"]);
    assert!(out["notes"].to_string().contains("of the file that was imported"), "{out}");
    let again = folder.report(&["import", "out.tif", "again.tvx"]);
    assert_eq!((&again["notes"][0], &again["chunks"]), (&made["notes"][0], &made["chunks"]));
    // Without a place: in metres of the world.
    let out = folder.report(&["export", map, "plain.tif"]);
    assert!(out["notes"].to_string().contains("not imported from a place"), "{out}");
}

#[test]
fn real_grids_of_numbers_are_heights_in_metres() {
    let folder = Folder::new();
    for (name, size, height) in [
        ("real/jacksboro_fault_dem.npz", [403, 344], 840.0),
        ("real/topobathy.npz", [120, 91], 3642.0),
        ("real/volcano.json", [87, 61], 101.0),
    ] {
        let Some(map) = real(name) else { continue };
        let map = map.to_str().expect("a name in UTF-8");
        folder.report(&["import", map, "w.tvx", "--voxel-size", "30", "--scale", "30", "--force"]);
        let out = folder.report(&["export", "w.tvx", "out.tif"]);
        assert_eq!(out["samples"], serde_json::json!(size), "{out}");
        let found = out["height_m"].as_f64().expect("metres");
        // The tip of a steep peak is rounded off.
        assert!((found - height).abs() < 60.0, "{name}: {found}");
    }
}
