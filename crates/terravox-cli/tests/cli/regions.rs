//! Worlds of Minecraft: a region, a folder of regions, parts of them, and refused files.

use super::Folder;
use serde_json::json;
use std::fs;

#[path = "../../../terravox-io/src/anvil/sample.rs"]
mod sample;

use sample::{Layout, landscape};

/// A world of two regions beside each other, and an empty file as the game leaves them.
fn world(folder: &Folder) {
    fs::create_dir_all(folder.path("World/region")).expect("a folder");
    for (name, layout, x) in [("r.0.0.mca", Layout::V13, 0), ("r.1.0.mca", Layout::V16, 1)] {
        folder.put(&format!("World/region/{name}"), &landscape(layout, [x, 0]));
    }
    folder.put("World/region/r.2.0.mca", &[]);
}

#[test]
fn a_folder_of_regions_is_one_world_with_water() {
    let folder = Folder::new();
    world(&folder);
    let made = folder.report(&["import", "World", "w.tvx", "--voxel-size", "0.5"]);
    let note = "blocks that are not in the table became rock, such as quark:marble";
    assert_eq!(made["notes"], json!([note]), "{made}");
    let info = folder.report(&["info", "w.tvx"]);
    assert_eq!((&info["voxel_size_m"], &info["chunks"]), (&json!(0.5), &json!(4)), "{info}");
    // The pond of the second region, and the grass of the first.
    let hit = folder.report(&["raycast", "w.tvx", "496.1,90,240.1", "0,-1,0", "--sees", "both"]);
    assert_eq!((&hit["material"], &hit["voxel"][0]), (&json!("Water"), &json!(992)), "{hit}");
    let hit = folder.report(&["raycast", "w.tvx", "252.2,90,252.2", "0,-1,0"]);
    assert_eq!((&hit["material"], &hit["voxel"][0]), (&json!("Grass"), &json!(504)), "{hit}");
    // The folder of regions is the same world, and so is each layout.
    folder.report(&["import", "World/region", "again.tvx", "--voxel-size", "0.5"]);
    assert_eq!(folder.report(&["info", "again.tvx"])["digest"], info["digest"]);
    folder.put("one.mca", &landscape(Layout::V18, [0, 0]));
    let one = folder.report(&["info", "one.mca"]);
    folder.report(&["import", "World/region/r.0.0.mca", "one.tvx"]);
    assert_eq!(folder.report(&["info", "one.tvx"])["digest"], one["digest"]);
    folder.report(&["render", "one.mca", "one.png", "--size", "32x20"]);
}

#[test]
fn a_part_and_a_table_are_taken() {
    let folder = Folder::new();
    world(&folder);
    folder.put("table.txt", b"# mine\nquark:* #e8e4dc\ngrass_block Mud\n");
    let part = ["--from", "1000,0,500", "--to", "1010,4,512"];
    let import = ["import", "World", "w.tvx", "--blocks", "table.txt"];
    let made = folder.report(&[&import[..], &part[..]].concat());
    assert_eq!((&made["notes"], &made["cells"]), (&json!([]), &json!(10 * 4 * 12)), "{made}");
    folder.report(&[&import[..], &["--force"]].concat());
    let hit = folder.report(&["raycast", "w.tvx", "504.4,90,504.4", "0,-1,0"]);
    assert_eq!(hit["material"], "Mud", "{hit}");
    let info = folder.report(&["info", "w.tvx"]);
    assert!(info["materials"].to_string().contains("#e8e4dc"), "{info}");
}

#[test]
fn bad_regions_tables_and_options_are_refused() {
    let folder = Folder::new();
    world(&folder);
    folder.put("bad.txt", b"stone Rock\nsand Beach\n");
    folder.put("table.txt", b"stone Rock\n");
    let whole = landscape(Layout::V18, [0, 0]);
    folder.put("one.mca", &whole);
    let import = ["import", "World", "w.tvx"];
    for (options, words) in [
        (&["--blocks", "bad.txt"][..], &["bad.txt: line 2: unknown material \"Beach\""][..]),
        (&["--blocks", "none.txt"], &["none.txt: cannot be read"]),
        (&["--scale", "3"], &["World: --scale is for other files", "--blocks"]),
        (&["--material", "Rock"], &["--material is for meshes"]),
        (&["--from", "9000,0,0", "--to", "9010,9,9"], &["no blocks between --from and --to"]),
        (&["--from", "1,1,1", "--to", "1,1,1"], &["rounds to no voxel"]),
    ] {
        folder.refused(&[&import[..], options].concat(), words);
    }
    for length in [1, 8191, 8196, whole.len() - 4096] {
        folder.put("cut.mca", &whole[..length]);
        folder.refused(&["import", "cut.mca", "w.tvx"], &["cut.mca", "get another copy"]);
        folder.refused(&["render", "cut.mca", "w.png"], &["cut.mca", "get another copy"]);
    }
    // The second of two files: nothing of the first is left.
    folder.put("World/region/r.1.0.mca", &whole[..9000]);
    folder.refused(&import, &["r.1.0.mca", "get another copy"]);
    folder.put("empty.mca", &[0; 8192]);
    folder.refused(&["import", "empty.mca", "w.tvx"], &["empty.mca: has no blocks"]);
    folder.put("one.png", b"\x89PNG\r\n\x1A\n");
    folder.refused(
        &["import", "one.png", "w.tvx", "--blocks", "table.txt"],
        &["--blocks is for Minecraft worlds"],
    );
}
