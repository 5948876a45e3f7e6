//! The way that a walker takes, and pictures of whole worlds.

use super::{Folder, files, read};

/// Level ground of rock, 64 m wide, its top at 0, with a wall across it along z.
fn walled() -> Folder {
    let folder = Folder::new();
    folder.put("in.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.report(&["import", "in.smoothgrid", "w.tvx", "--voxel-size", "1"]);
    let ground = "fill Rock box 100,-8,100 size=64,16,64";
    folder.report(&["edit", "w.tvx", ground, "fill Rock box 100,4,100 size=4,8,48"]);
    folder
}

#[test]
fn a_path_leads_around_a_wall_and_through_a_gate_in_it() {
    let folder = walled();
    let ends = ["path", "w.tvx", "84,100", "116,0.2,100"];
    let around = folder.report(&[&ends[..], &["--render", "p.png", "--size", "64x36"]].concat());
    assert_eq!(around["outcome"], "complete", "{around}");
    let length = around["length_m"].as_f64().expect("a length");
    assert!((55.0..75.0).contains(&length), "{around}");
    assert!(around["points_m"].as_array().is_some_and(|points| points.len() > 3), "{around}");
    assert!(read(folder.path("p.png")).starts_with(b"\x89PNG"));
    folder.report(&["edit", "w.tvx", "dig box 100,3.5,100 size=8,7,6"]);
    let through = folder.report(&ends);
    assert!(through["length_m"].as_f64().is_some_and(|v| v < 40.0), "{through}");
    // A giant does not fit.
    let giant = folder.report(&[&ends[..], &["--radius", "3"]].concat());
    assert!(giant["length_m"].as_f64().is_some_and(|v| v > 55.0), "{giant}");
}

#[test]
fn a_path_says_why_there_is_none() {
    let folder = walled();
    let outcome = |from: &str, to: &str| {
        let report = folder.report(&["path", "w.tvx", from, to]);
        report["outcome"].as_str().map(str::to_owned).expect("a word")
    };
    assert_eq!(outcome("84,40,100", "116,0,100"), "start_off_mesh");
    assert_eq!(outcome("84,100", "-300,100"), "goal_off_mesh");
    folder.report(&["edit", "w.tvx", "dig box 100,0,100 size=10,40,90"]);
    assert_eq!(outcome("84,100", "116,100"), "unreachable");
    folder.refused(&["path", "w.tvx", "84", "116,100"], &["X,Z or X,Y,Z"]);
    folder.refused(&["path", "w.tvx", "0,0", "1,1", "--slope", "89"], &["slope_degrees"]);
    folder.refused(&["path", "w.tvx", "0,0", "1,1", "--water", "dry"], &["forbidden"]);
    folder.refused(&["path", "w.tvx", "0,0", "1,1", "--render", "p.jpg"], &[".png"]);
    folder.refused(&["path", "hills:7", "0,0", "90000,1"], &["m apart", "2048"]);
}

#[test]
fn paths_of_generated_worlds_need_no_file_and_are_the_same_each_time() {
    let folder = Folder::new();
    let arguments = ["path", "hills:7", "0,0", "60,-40", "--around", "16"];
    let [a, b] = [(); 2].map(|()| folder.report(&arguments)["points_m"].clone());
    assert!(a.as_array().is_some_and(|points| points.len() > 1), "{a}");
    assert_eq!(a, b);
}

#[test]
fn cuts_grids_and_turns_are_of_whole_worlds() {
    let folder = walled();
    let render = ["render", "w.tvx", "p.png", "--size", "32x18", "--samples", "1"];
    let report = folder.report(&[&render[..], &["--turntable", "3", "--grid", "10"]].concat());
    assert_eq!(report["pictures"], 3, "{report}");
    let pictures = ["p-01.png", "p-02.png", "p-03.png"].map(|name| read(folder.path(name)));
    assert_ne!(pictures[0], pictures[1]);
    assert_ne!(pictures[1], pictures[2]);
    assert!(!folder.path("p.png").exists(), "only numbered ones");
    let camera = ["--camera", "100,40,180", "--look", "100,0,100"];
    folder.report(&[&render[..], &camera].concat());
    let whole = read(folder.path("p.png"));
    folder.report(&[&render[..], &camera, &["--cutaway", "z>100"]].concat());
    assert_ne!(read(folder.path("p.png")), whole);
    folder.report(&[&render[..], &camera, &["--cutaway", "z>1000"]].concat());
    assert_eq!(read(folder.path("p.png")), whole, "nothing is left out");
    folder.refused(&["render", "w.tvx", "q.png", "--cutaway", "z=3"], &["z>40"]);
    folder.refused(&["render", "hills:7", "q.png", "--grid", "10"], &["--grid", "finite world"]);
}

#[test]
fn a_turn_does_not_replace_the_map_that_it_reads() {
    let folder = Folder::new();
    folder.put("map-03.png", &files::heightmap(8, 8));
    let render = ["render", "map-03.png", "map.png", "--size", "16x9", "--samples", "1"];
    let turn = |count| [&render[..], &["--turntable", count]].concat();
    folder.refused(&turn("4"), &["map-03.png", "is the file that is read"]);
    assert_eq!(read(folder.path("map-03.png")), files::heightmap(8, 8));
    folder.report(&turn("2"));
}

#[test]
fn the_gallery_refuses_unknown_names() {
    Folder::new().refused(&["gallery", "out", "--only", "moon"], &["fjords", "skylands"]);
}
