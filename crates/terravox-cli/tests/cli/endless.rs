//! Worlds that grow: what is not stored is generated where a command needs it, or refused in words.

use super::{Folder, read, text};
use serde_json::json;

/// An endless world of hills, and the middle of the same as a world that is generated whole.
fn worlds() -> Folder {
    let folder = Folder::new();
    folder.report(&["generate", "e.tvx", "--sparse", "--seed", "9"]);
    folder.report(&["generate", "w.tvx", "--size", "128", "--seed", "9"]);
    folder
}

#[test]
fn an_endless_world_is_edited_like_a_whole_one() {
    let folder = worlds();
    let operations = [
        "dig ball 3,12,5 r=9",
        "fill Rock box 0,20,0 size=6,4,6 turn=30",
        "smooth ball 8,14,2 r=7",
        "copy -8,0,-8 8,20,8 to=10,5,10 turn=90",
    ];
    let edit = |world| folder.report(&[&["edit", world][..], &operations].concat());
    let [endless, whole] = ["e.tvx", "w.tvx"].map(edit);
    for key in ["operations", "removed_m3", "added_m3", "region"] {
        assert_eq!(endless[key], whole[key], "{key}");
    }
    assert_eq!(folder.report(&["info", "e.tvx"])["digest"], endless["digest"]);
    // Only what was edited is stored.
    let chunks = folder.report(&["info", "e.tvx"])["chunks"].as_u64().expect("chunks");
    assert!((4..40).contains(&chunks), "{chunks}");
    let part = ["--from=-30,-20,-30", "--to", "50,60,50"];
    let export = |world, file| {
        folder.report(&[&["export", world, file][..], &part].concat());
        read(folder.path(file))
    };
    for [a, b] in [["e.rbxm", "w.rbxm"], ["e.stl", "w.stl"], ["e.glb", "w.glb"], ["e.png", "w.png"]]
    {
        assert!(export("e.tvx", a) == export("w.tvx", b), "{a}");
    }
    // Far from what is stored, and undone.
    folder.report(&["edit", "e.tvx", "dig ball 90000,0,0 r=9"]);
    let undone = folder.report(&["edit", "e.tvx", "--undo", "5"]);
    assert_eq!(undone["can_redo"], 5);
    folder.report(&["generate", "v.tvx", "--size", "128", "--seed", "9"]);
    assert!(export("e.tvx", "e.vox") == export("v.tvx", "v.vox"));
    for command in ["verify", "compact"] {
        folder.report(&[command, "e.tvx"]);
    }
    folder.report(&["copy", "e.tvx", "c.tvx"]);
    let [copy, world] = ["c.tvx", "e.tvx"].map(|world| folder.report(&["info", world]));
    assert_eq!(copy["digest"], world["digest"]);
}

#[test]
fn the_way_in_an_endless_world_file_is_that_of_the_world_without_a_file() {
    let folder = worlds();
    let walk = |world| folder.report(&["path", world, "0,0", "30,20", "--around", "32"]);
    let [file, generated] = ["e.tvx", "hills:9"].map(walk);
    for key in ["outcome", "points_m"] {
        assert_eq!(file[key], generated[key], "{key}");
    }
    folder.report(&["edit", "e.tvx", "fill Rock box 15,20,10 size=4,200,400"]);
    assert_ne!(walk("e.tvx")["points_m"], generated["points_m"], "what was built is in the way");
}

#[test]
fn what_was_built_above_all_generated_ground_is_walked_on() {
    let folder = worlds();
    // Above the ground of hills there are no chunks from 160 m. The second floor ends with its chunk.
    for [floor, top] in [[198, 200], [253, 255], [158, 160]] {
        let middle = (floor + top) as f64 / 2.0;
        let bridge = format!("fill Rock box 5,{middle},5 size=40,{},20", top - floor);
        folder.report(&["edit", "e.tvx", &bridge]);
        let path = folder.report(&["path", "e.tvx", "0,5", "18,5", "--around", "32"]);
        assert_eq!(path["outcome"], "complete", "{top}: {path}");
        let height = path["from_m"][1].as_f64().expect("a height");
        assert!((height - f64::from(top)).abs() < 0.6, "{path}");
        folder.report(&["edit", "e.tvx", "--undo", "1"]);
    }
}

#[test]
fn rays_in_an_endless_world_hit_the_ground_that_they_generate() {
    let folder = worlds();
    let cast = |world, from, direction, sees| {
        let mut hit = folder.report(&["raycast", world, from, direction, "--sees", sees]);
        hit["world"] = json!("");
        hit
    };
    for (from, direction, sees) in [
        ("0,200,0", "0,-1,0", "solid"),
        ("-31.9,90,32.1", "0.3,-1,-0.2", "both"),
        ("-40,40,-40", "1,-1,1", "both"),
    ] {
        let [endless, whole] = ["e.tvx", "w.tvx"].map(|world| cast(world, from, direction, sees));
        assert_eq!(endless, whole);
        assert_eq!(endless["hit"], true, "{endless}");
        assert!(endless.get("not_held").is_none(), "{endless}");
    }
    let up = cast("e.tvx", "0,200,0", "0,1,0", "both");
    assert_eq!((&up["hit"], up.get("not_held")), (&json!(false), None), "{up}");
    folder.refused(
        &["raycast", "e.tvx", "0,500,0", "1,0,0", "--max", "1e9"],
        &["8192 chunks", "--max"],
    );
}

#[test]
fn pictures_of_endless_worlds_have_levels_of_detail() {
    let folder = worlds();
    let small = ["--distance", "200", "--detail", "1", "--size", "40x30", "--samples", "1"];
    let picture = |world: &str, out: &str| {
        let report = folder.report(&[&["render", world, out], &small[..]].concat());
        assert!(report["triangles"].as_u64() > Some(1000), "{report}");
        read(folder.path(out))
    };
    assert!(picture("e.tvx", "e.png") == picture("hills:9", "h.png"));
    // Smaller voxels are seen from as many voxels above.
    let made = ["generate", "f.tvx", "--sparse", "--seed", "9", "--voxel-size", "0.5"];
    folder.report(&made);
    let report = folder.report(&[&["render", "f.tvx", "f.png"], &small[..]].concat());
    assert_eq!(report["camera"]["eye_m"], json!([0.0, 70.0, 0.0]));
    folder.report(&["generate", "a.tvx", "--sparse", "--seed", "7", "--preset", "alps"]);
    picture("a.tvx", "a.png");
    for option in [&["--mip", "1"][..], &["--octree"], &["--draw", "masks"]] {
        let arguments = [&["render", "e.tvx", "n.png"][..], option].concat();
        folder.refused(&arguments, &["e.tvx", option[0], "finite", "omit it"]);
    }
}

#[test]
fn all_of_an_endless_world_is_refused_and_the_remedy_named() {
    let folder = worlds();
    for file in ["n.glb", "n.obj", "n.stl", "n.3mf", "n.png", "n.vox", "n.rbxm", "n.smoothgrid"] {
        folder.refused(&["export", "e.tvx", file], &["e.tvx", "endless", "--from", "--to"]);
    }
    folder.refused(&["mesh", "e.tvx", "n.glb"], &["e.tvx", "endless", "--from"]);
    folder.refused(&["demo", "e.tvx"], &["e.tvx", "endless", "terravox generate"]);
    let part = ["--from", "0,0,0", "--to", "9e5,99,9e5"];
    folder.refused(
        &[&["export", "e.tvx", "n.glb"][..], &part].concat(),
        &["chunks", "at most 131,072", "smaller box"],
    );
    let part = ["--from=-8,-8,-8", "--to", "40,60,40"];
    folder.report(&[&["mesh", "e.tvx", "o.glb", "--octree"][..], &part].concat());
    let info = folder.run(&["info", "e.tvx"]);
    assert!(text(&info.stdout).contains("none; nothing was edited"), "{}", text(&info.stdout));
    let digest = "what follows, also the digest, is of those that were edited";
    assert!(text(&info.stdout).contains(digest), "{}", text(&info.stdout));
}

#[test]
fn a_box_is_rounded_to_voxels_and_said() {
    let folder = worlds();
    // Of a file that is imported, too.
    folder.put("in.smoothgrid", &super::files::smooth_grid(&[[0, 0, 0]]));
    let part = ["--from", "3,3,3", "--to", "9,9,9"];
    let [all, some] = [&[][..], &part].map(|part| {
        let out = folder.report(&[&["export", "in.smoothgrid", "n.smoothgrid"][..], part].concat());
        assert_eq!(out["chunks"], 1, "{out}");
        folder.report(&["info", "n.smoothgrid"])["cells"].as_u64().expect("cells")
    });
    assert!(0 < some && some < all && some <= 6 * 6 * 6, "{some} of {all}");
    let export = |part: [&str; 2]| {
        let [from, to] = part;
        folder.report(&["export", "w.tvx", "n.vox", "--from", from, "--to", to])["notes"].clone()
    };
    assert_eq!(export(["0,0,0", "9,9,9"]), json!([]));
    assert_eq!(
        export(["0.4,0,0", "9,8.6,9"]),
        json!(["the box is rounded to voxels of 1 m: from 0,0,0 to 9,9,9 m"])
    );
}
