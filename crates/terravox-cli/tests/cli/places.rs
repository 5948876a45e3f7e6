//! Terrain that goes back into the Roblox place it came from.

use super::{Folder, files, read};

#[test]
fn an_edited_world_goes_back_into_its_place() {
    let folder = Folder::new();
    folder.put("t.smoothgrid", &files::smooth_grid(&[[0, 0, 0], [1, 0, 0]]));
    for (place, new) in [("place.rbxm", "new.rbxl"), ("place.rbxmx", "new.rbxlx")] {
        folder.report(&["export", "t.smoothgrid", place]);
        folder.report(&["import", place, "w.tvx", "--force"]);
        folder.report(&["edit", "w.tvx", "fill Sand ball 9,9,9 r=4"]);
        let before = read(folder.path(place));
        let out = folder.report(&["export", "w.tvx", new, "--into", place]);
        assert_eq!(out["into"], place, "{out}");
        assert_eq!(read(folder.path(place)), before, "the place is not written");
        folder.report(&["import", new, "again.tvx", "--force"]);
        let [made, edited] = ["again.tvx", "w.tvx"].map(|file| folder.report(&["info", file]));
        assert_eq!(made["digest"], edited["digest"]);
    }
}

#[test]
fn what_cannot_go_into_a_place_is_refused() {
    let folder = Folder::new();
    folder.put("t.smoothgrid", &files::smooth_grid(&[[0, 0, 0]]));
    folder.report(&["export", "t.smoothgrid", "p.rbxm"]);
    let export = ["export", "t.smoothgrid"];
    for (options, words) in [
        (&["new.rbxl"][..], &["new.rbxl", "--into"][..]),
        (&["new.rbxlx", "--into", "p.rbxm"], &["p.rbxm", "binary", ".rbxl"]),
        (&["new.glb", "--into", "p.rbxm"], &["new.glb", "--into is for other formats"]),
        (&["new.rbxm", "--mip", "1"], &["new.rbxm", "--mip is for other formats"]),
        (&["new.vox", "--scale", "2"], &["new.vox", "--scale is for other formats"]),
        (&["new.png", "--up", "z"], &["new.png", "--up is for other formats"]),
        (&["p.rbxm", "--into", "p.rbxm"], &["p.rbxm", "another output"]),
        (
            &["new.rbxl", "--into", "none.rbxl"],
            &["none.rbxl: cannot be read", "--into names the place"],
        ),
        (&["new.rbxl", "--into", "t.smoothgrid"], &["t.smoothgrid", "is not a Roblox place"]),
    ] {
        folder.refused(&[&export[..], options].concat(), words);
    }
    let place = read(folder.path("p.rbxm"));
    folder.put("cut.rbxm", &place[..place.len() - 40]);
    folder.refused(&["export", "t.smoothgrid", "new.rbxl", "--into", "cut.rbxm"], &["cut.rbxm"]);
}
