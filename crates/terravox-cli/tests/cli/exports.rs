//! Exports and imports that are stopped, of pipes, or too large.

use super::{Folder, text};
use std::process::{Command, Stdio};

fn shell(folder: &Folder, script: &str) -> std::process::Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder.path("")).stdin(Stdio::null());
    command.env("TERRAVOX", env!("CARGO_BIN_EXE_terravox")).output().expect("a shell")
}

fn make_pipe(folder: &Folder, name: &str) {
    assert!(shell(folder, &format!("mkfifo {name}")).status.success());
}

#[test]
fn pipes_and_devices_are_refused_before_a_byte_is_lost() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32"]);
    for name in ["p.png", "p.tvx", "p.vox", "p.rbxl", "p.obj", "p"] {
        make_pipe(&folder, name);
        for arguments in [
            vec!["info", name],
            vec!["import", name, "out.tvx"],
            vec!["export", name, "out.glb"],
            vec!["render", name, "out.png", "--size", "8x8"],
        ] {
            folder.refused(&arguments, &[name, "is a pipe or a device; write what comes from it"]);
        }
    }
    for arguments in [["verify", "p.tvx"], ["repair", "p.tvx"], ["compact", "p.tvx"]] {
        folder.refused(&arguments, &["p.tvx", "is a pipe"]);
    }
    folder
        .refused(&["export", "w.tvx", "o.rbxl", "--into", "/dev/zero"], &["/dev/zero", "a device"]);
}

#[test]
fn a_script_may_come_through_a_pipe() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "32"]);
    let edited = shell(
        &folder,
        "echo 'fill Rock ball 0,90,0 r=2' | \"$TERRAVOX\" edit w.tvx --script /dev/stdin",
    );
    assert!(edited.status.success(), "{}", text(&edited.stderr));
}

#[test]
fn tiles_that_cannot_be_written_are_named_as_they_would_be() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64"]);
    let before = folder.listing();
    // Files of at most a kilobyte.
    let refused =
        shell(&folder, "trap '' XFSZ; ulimit -f 1; exec \"$TERRAVOX\" export w.tvx t.json");
    let line = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{line}");
    assert!(line.contains("t/0/") && !line.contains(".partial"), "{line}");
    assert_eq!(folder.listing(), before);
}

#[test]
fn a_copy_of_a_damaged_world_leaves_nothing() {
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64"]);
    let whole = super::read(folder.path("w.tvx"));
    let lost = (16384..whole.len()).step_by(1501).any(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        folder.put("w.tvx", &flipped);
        text(&folder.run(&["info", "w.tvx"]).stderr).contains("--skip-damaged")
    });
    assert!(lost, "some byte belongs to a chunk");
    folder.refused(&["copy", "w.tvx", "c.tvx"], &["w.tvx", "damaged"]);
}

/// Killed as Ctrl-C and a service manager do it, once its file has begun.
#[test]
fn a_stopped_program_removes_what_is_not_complete_slow() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    folder.report(&["generate", "w.tvx", "--size", "64"]);
    let before = folder.listing();
    let picture = ["render", "w.tvx", "p.png", "--size", "7680x4320", "--samples", "8"];
    let world = ["generate", "large.tvx", "--size", "512"];
    for (args, signal, number) in [(&picture[..], "INT", 2), (&world[..], "TERM", 15)] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_terravox"))
            .args(args)
            .current_dir(folder.path(""))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        while folder.listing() == before {
            assert!(program.try_wait().expect("it is ours").is_none(), "it ended too soon");
            std::thread::yield_now();
        }
        let kill = format!("kill -{signal} {}", program.id());
        assert!(shell(&folder, &kill).status.success());
        let status = program.wait().expect("it ends");
        assert_eq!((status.signal(), folder.listing()), (Some(number), before.clone()));
    }
}
