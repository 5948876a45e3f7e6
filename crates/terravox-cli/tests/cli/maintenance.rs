//! `verify`, `repair`, `compact`, and the exit code after a change.

use super::{Folder, read, text};
use serde_json::json;
use std::process::{Command, Stdio};

/// A small world, most of whose bytes are those of chunks.
fn world() -> Folder {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64", "--seed", "9"]);
    folder
}

fn chunks_of(folder: &Folder) -> u64 {
    folder.report(&["info", "w.tvx", "--skip-damaged"])["chunks"].as_u64().expect("a count")
}

/// Changes a byte that costs a chunk.
fn damage(folder: &Folder) {
    let whole = read(folder.path("w.tvx"));
    let found = (16384..whole.len()).step_by(1501).find(|&at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        folder.put("w.tvx", &flipped);
        text(&folder.run(&["verify", "w.tvx"]).stderr).contains("chunk (")
    });
    assert!(found.is_some(), "some byte belongs to a chunk");
}

#[test]
fn an_intact_world_is_verified_compacted_and_left_alone_by_repair() {
    let folder = world();
    let verified = folder.report(&["verify", "w.tvx"]);
    let count = json!(chunks_of(&folder));
    assert_eq!((&verified["chunks"], &verified["damage"]), (&count, &json!("none")));
    assert_eq!(folder.report(&["verify", "w.tvx", "--limit-factor", "3"]), verified);
    folder.refused(&["repair", "w.tvx", "--limit-factor", "0"], &["--limit-factor", "1"]);
    let before = read(folder.path("w.tvx"));
    let repaired = folder.report(&["repair", "w.tvx"]);
    assert_eq!((&repaired["chunks"], &repaired["lost"]), (&count, &json!([])));
    assert!(read(folder.path("w.tvx")) == before);
    let digest = folder.report(&["info", "w.tvx"])["digest"].clone();
    for _ in 0..5 {
        folder.report(&["edit", "w.tvx", "dig ball 0,10,0 r=9", "fill Rock ball 0,10,0 r=9"]);
        folder.report(&["edit", "w.tvx", "--undo", "2"]);
    }
    let compact = folder.report(&["compact", "w.tvx"]);
    assert!(compact["after_bytes"].as_u64() <= compact["before_bytes"].as_u64(), "{compact}");
    assert_eq!(folder.report(&["info", "w.tvx"])["digest"], digest);
    assert_eq!(folder.listing().len(), 1, "nothing else is left");
    folder.put("w.txt", b"text");
    for command in ["verify", "repair", "compact"] {
        folder.refused(&[command, "none.tvx"], &["none.tvx"]);
        folder.refused(&[command, "w.txt"], &["w.txt", ".tvx"]);
    }
}

#[test]
fn a_damaged_world_is_named_and_repaired() {
    let folder = world();
    let count = chunks_of(&folder);
    damage(&folder);
    let damaged = read(folder.path("w.tvx"));
    folder.refused(&["verify", "w.tvx"], &["w.tvx: 1 damaged part", "metres", "terravox repair"]);
    folder.refused(&["compact", "w.tvx"], &["w.tvx: chunk (", "damaged"]);
    let report = folder.report(&["repair", "w.tvx"]);
    let lost = report["lost"].as_array().expect("a list");
    assert_eq!((lost.len(), &report["chunks"]), (1, &json!(count - 1)), "{report}");
    assert!(lost[0].as_str().is_some_and(|text| text.contains("voxels")), "{report}");
    assert!(read(folder.path("w.tvx.damaged")) == damaged);
    folder.report(&["verify", "w.tvx"]);
    assert_eq!(chunks_of(&folder), count - 1);
    assert_eq!(folder.listing().len(), 2);
}

#[test]
fn a_world_that_cannot_be_repaired_says_to_restore_a_backup() {
    let folder = world();
    let mut bytes = read(folder.path("w.tvx"));
    let is_name = |at: &usize| bytes[*at..].starts_with(b"Basalt");
    let names: Vec<usize> = (0..bytes.len()).filter(is_name).collect();
    assert_eq!(names.len(), 2, "the description is stored twice");
    names.iter().for_each(|at| bytes[*at] ^= 1);
    folder.put("w.tvx", &bytes);
    for command in ["verify", "repair", "compact", "info"] {
        let words = ["w.tvx: the description of the world is damaged", "restore a backup"];
        folder.refused(&[command, "w.tvx"], &words);
    }
    // All four copies of the header.
    (0..4).for_each(|copy| bytes[4096 * copy + 20] ^= 1);
    folder.put("w.tvx", &bytes);
    folder.refused(&["repair", "w.tvx"], &["w.tvx: ", "header", "restore a backup"]);
}

#[test]
fn messages_about_one_damaged_part_have_no_plural() {
    let folder = world();
    damage(&folder);
    for arguments in
        [&["info", "w.tvx"][..], &["edit", "w.tvx", "dig ball 0,0,0 r=2"], &["verify", "w.tvx"]]
    {
        folder.refused(arguments, &["1 damaged part", "terravox repair"]);
        assert!(!text(&folder.run(arguments).stderr).contains("1 damaged parts"));
    }
    let skipped = folder.run(&["info", "w.tvx", "--skip-damaged"]);
    assert!(skipped.status.success());
}

#[test]
fn a_world_of_the_old_format_is_named_in_one_line() {
    let folder = Folder::new();
    let mut old = b"redb\x1a\x0a\xa9\x0d\x0a".to_vec();
    old.resize(9000, 1);
    folder.put("old.tvx", &old);
    for arguments in [
        &["info", "old.tvx"][..],
        &["edit", "old.tvx", "dig ball 0,0,0 r=2"],
        &["verify", "old.tvx"],
        &["repair", "old.tvx"],
        &["compact", "old.tvx"],
        &["render", "old.tvx", "p.png"],
        &["generate", "old.tvx", "--size", "32", "--force"],
    ] {
        folder.refused(arguments, &["old.tvx", "before 0.1", "import"]);
    }
}

#[test]
fn hostile_worlds_of_the_old_format_are_named_in_one_line() {
    let hostile =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/hostile");
    for name in ["changed-8-bytes.tvx", "stack.tvx"] {
        let Ok(bytes) = std::fs::read(hostile.join(name)) else {
            println!("skipped: no ../shared/data/hostile");
            return;
        };
        let folder = Folder::new();
        folder.put(name, &bytes);
        for arguments in
            [&["info", name][..], &["edit", name, "dig ball 0,0,0 r=2"], &["verify", name]]
        {
            folder.refused(arguments, &[name, "before 0.1"]);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_after_a_change_is_an_error_of_its_own() {
    let folder = world();
    let run = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
        command.args(arguments).current_dir(&folder.0).stdin(Stdio::null()).stdout(writer);
        command.stderr(Stdio::piped()).output().expect("the program runs")
    };
    let digest = folder.report(&["info", "w.tvx"])["digest"].clone();
    for json in [&["--json"][..], &[]] {
        let fill = "fill Rock ball 0,10,0 r=8";
        let output = run(&[&["edit", "w.tvx", "dig ball 0,10,0 r=8", fill], json].concat());
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}");
        assert!(line.contains("w.tvx: the world is changed"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    assert_ne!(folder.report(&["info", "w.tvx"])["digest"], digest);
    assert_eq!(run(&["info", "w.tvx"]).status.code(), Some(0));
    assert_eq!(run(&["compact", "w.tvx"]).status.code(), Some(3));
}
