//! Scenes of MagicaVoxel: in, out, and refused.

use super::{Folder, files, read};
use serde_json::json;

#[test]
fn a_scene_is_imported_at_its_scale_and_comes_back() {
    let folder = Folder::new();
    folder.put("s.vox", &files::vox_scene());
    let made = folder.report(&["import", "s.vox", "w.tvx"]);
    assert_eq!((&made["cells"], &made["notes"]), (&json!(5), &json!([])), "{made}");
    let info = folder.report(&["info", "w.tvx"]);
    assert_eq!(info["voxel_size_m"], 1.0);
    let names: Vec<_> = info["materials"].as_array().expect("materials").iter().collect();
    let has = |name: &str| names.iter().any(|material| material["name"] == name);
    assert!(has("#ff0000") && has("#0000ff") && !has("#ffffff"), "{info}");
    assert_eq!(folder.report(&["info", "s.vox"])["kind"], "vox");
    let hit = folder.report(&["raycast", "w.tvx", "0.5,90,-0.5", "0,-1,0"]);
    assert_eq!((&hit["material"], &hit["voxel"]), (&json!("#ff0000"), &json!([0, 2, -1])), "{hit}");
    // Exact cubes: the top of a full cell.
    assert_eq!(hit["point_m"][1], 3.0);

    let out = folder.report(&["export", "w.tvx", "out.vox"]);
    assert_eq!(out["file_bytes"], read(folder.path("out.vox")).len());
    folder.report(&["import", "out.vox", "again.tvx"]);
    assert_eq!(folder.report(&["info", "again.tvx"])["digest"], info["digest"]);

    // Recognised by its first bytes.
    folder.put("scene.bin", &files::vox_scene());
    assert_eq!(folder.report(&["info", "scene.bin"])["digest"], info["digest"]);
    let fine =
        folder.report(&["import", "s.vox", "f.tvx", "--scale", "1.5", "--voxel-size", "0.5"]);
    assert_eq!(fine["cells"], 5 * 27);
    let small = folder.report(&["import", "s.vox", "g.tvx", "--scale", "0.1"]);
    assert_eq!(small["cells"], 5);
    assert_eq!(folder.report(&["info", "g.tvx"])["voxel_size_m"], 0.1);
    folder.report(&["render", "s.vox", "s.png", "--size", "32x20"]);
}

#[test]
fn a_generated_world_goes_out_with_its_water() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    folder.report(&["export", "w.tvx", "w.vox"]);
    folder.report(&["import", "w.vox", "again.tvx"]);
    let [before, after] = ["w.tvx", "again.tvx"].map(|file| folder.report(&["info", file]));
    let cells = |info: &serde_json::Value| info["cells"].as_u64().expect("cells");
    // Cells that are less than half full are lost.
    assert!(cells(&after) < cells(&before) && 4 * cells(&after) > 3 * cells(&before), "{after}");
    let names = |info: &serde_json::Value| -> Vec<serde_json::Value> {
        let all = info["materials"].as_array().expect("materials").iter();
        all.map(|material| material["name"].clone()).collect()
    };
    assert!(names(&after).iter().all(|name| names(&before).contains(name)), "{after}");
}

#[test]
fn bad_scenes_and_options_are_refused() {
    let folder = Folder::new();
    let whole = files::vox_scene();
    folder.put("s.vox", &whole);
    let import = ["import", "s.vox", "w.tvx"];
    for (options, words) in [
        (&["--depth", "3"][..], &["--depth is for heightmaps", "--scale"][..]),
        (&["--sea-level", "3"], &["--sea-level is for heightmaps"]),
        (&["--luma"], &["--luma is for heightmaps"]),
        (
            &["--scale", "1.5", "--voxel-size", "1"],
            &["--scale is 1.5 m", "from 1 to 64 times --voxel-size"],
        ),
        (&["--scale", "65", "--voxel-size", "1"], &["--scale is 65 m"]),
        (&["--scale", "0.5", "--voxel-size", "1"], &["--scale is 0.5 m", "--voxel-size"]),
    ] {
        folder.refused(&[&import[..], options].concat(), &[&["s.vox"], words].concat());
    }
    for length in [4, 9, 30, whole.len() - 1] {
        folder.put("cut.vox", &whole[..length]);
        folder.refused(&["import", "cut.vox", "w.tvx"], &["cut.vox", "byte "]);
        folder.refused(&["render", "cut.vox", "w.png"], &["cut.vox", "byte "]);
    }
    folder.put("text.vox", b"neither a scene nor a world");
    folder.refused(&["info", "text.vox"], &["text.vox", "not a MagicaVoxel file"]);
    folder.put("empty.vox", b"");
    folder.refused(&["import", "empty.vox", "w.tvx"], &["empty.vox", "empty"]);
    folder.put("huge.vox", &files::vox_of_many_models());
    let line = folder.refused(&["import", "huge.vox", "w.tvx"], &["huge.vox", "its voxels: "]);
    assert!(line.contains("--limit-factor"), "{line}");
    folder.refused(&["export", "s.vox", "s.vox"], &["s.vox"]);
    folder.refused(&["export", "s.vox", "s.wav"], &[".vox"]);
}
