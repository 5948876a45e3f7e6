//! `copy`: also when it is killed half way.

use super::{Folder, read};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, Region, VoxelGrid};
use terravox_store::{Overwrite, Store, WorldInfo};

/// A world of more chunks than one transaction of a copy has.
fn many_chunks(folder: &Folder) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for pos in Region::new([-12, -12, -12], [12, 12, 12]).voxels() {
        cells.reset(ChunkPos::new(pos.x, pos.y, pos.z).region());
        cells.fill(2 + (pos.x * 7 + pos.y * 5 + pos.z * 3).rem_euclid(11) as u8);
        grid.write(&cells).expect("a whole chunk");
    }
    let draft = Store::create(folder.path("w.tvx"), &WorldInfo::default(), Overwrite::No);
    let draft = draft.expect("a new world");
    draft.write_all(grid.as_snapshot(), |_, _| {}).expect("it is written");
    drop(draft.finish().expect("it is in place"));
}

#[test]
fn a_copy_has_what_the_world_has_and_overwrites_nothing() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    folder.report(&["edit", "w.tvx", "dig ball 0,10,0 r=9"]);
    let report = folder.report(&["copy", "w.tvx", "c.tvx"]);
    assert_eq!((&report["kept"], &report["to"]), (&json!(0), &json!("c.tvx")));
    let digest = |name| folder.report(&["info", name])["digest"].clone();
    assert_eq!(digest("c.tvx"), digest("w.tvx"));
    folder.report(&["verify", "c.tvx"]);
    folder.report(&["edit", "c.tvx", "--undo", "1"]);
    folder.refused(&["copy", "w.tvx", "c.tvx"], &["c.tvx", "already exists"]);
    folder.refused(&["copy", "w.tvx", "w.tvx"], &["w.tvx", "already exists"]);
    folder.refused(&["copy", "none.tvx", "d.tvx"], &["none.tvx"]);
    folder.refused(&["copy", "w.tvx", "d.txt"], &["d.txt", ".tvx"]);
    folder.refused(&["copy", "w.tvx", "none/d.tvx"], &["there is no such folder; make it first"]);
    let sparse = "terravox generate hills.tvx --seed 7 --sparse";
    folder.refused(&["copy", "hills:7", "d.tvx"], &["hills:7", sparse]);
    let database = "postgres://me@localhost/worlds#caves";
    folder.refused(
        &["generate", database, "--sparse"],
        &["FILE.tvx", "generate --sparse", "terravox copy FILE.tvx ADDRESS"],
    );
    let other = folder.put("e.tvx.copying", b"of another program");
    folder.refused(&["copy", "w.tvx", "e.tvx"], &["e.tvx.copying"]);
    assert_eq!(read(other), b"of another program");
}

#[test]
#[cfg(not(feature = "postgres"))]
fn a_program_without_postgres_says_how_to_get_it() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32"]);
    let address = "postgres://me:secret@localhost/worlds#caves";
    for arguments in [["copy", "w.tvx", address], ["copy", address, "c.tvx"]] {
        let line = folder.refused(&arguments, &["--features postgres"]);
        assert!(!line.contains("secret"));
    }
}

#[test]
fn a_copy_that_was_killed_goes_on() {
    let folder = Folder::new();
    many_chunks(&folder);
    let digest = folder.report(&["info", "w.tvx"])["digest"].clone();
    let mut was_killed = 0;
    for wait_ms in [5, 30, 60, 90, 120, 150, 180, 210, 240] {
        let mut copy = Command::new(env!("CARGO_BIN_EXE_terravox"))
            .args(["copy", "w.tvx", "c.tvx"])
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .spawn()
            .expect("the program runs");
        std::thread::sleep(Duration::from_millis(wait_ms));
        copy.kill().expect("it is ours");
        if copy.wait().expect("it ends").success() {
            if was_killed > 0 {
                break;
            }
            // This test was stopped meanwhile, not the program.
            std::fs::remove_file(folder.path("c.tvx")).expect("it was copied");
            continue;
        }
        was_killed += 1;
        if folder.path("c.tvx").exists() {
            // Killed between the rename and its exit: what is in place is whole.
            break;
        }
    }
    assert!(was_killed > 0);
    if !folder.path("c.tvx").exists() {
        let report = folder.report(&["copy", "w.tvx", "c.tvx"]);
        assert!(report["kept"].as_u64() <= report["records"].as_u64());
    }
    assert_eq!(folder.report(&["info", "c.tvx"])["digest"], digest);
    folder.report(&["verify", "c.tvx"]);
    let names: Vec<String> = folder.listing().into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"c.tvx.copying".to_owned()), "{names:?}");
}
