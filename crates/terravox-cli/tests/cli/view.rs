//! `view` starts `terravox-studio`.

use crate::Folder;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A program that prints its arguments in place of the studio.
fn fake_studio(folder: &Folder, script: &str) -> String {
    let bin = folder.path("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join("terravox-studio");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permissions");
    format!("{}:/usr/bin:/bin", bin.display())
}

#[test]
fn view_starts_the_studio_or_says_how_to_get_it() {
    let folder = Folder::new();
    let run = |path: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
        command.args(arguments).env("PATH", path).current_dir(&folder.0);
        command.output().expect("the program runs")
    };
    let without = run("/usr/bin:/bin", &["view", "hills:7"]);
    let line = String::from_utf8_lossy(&without.stderr).into_owned();
    assert_eq!(without.status.code(), Some(2), "{line}");
    assert!(line.starts_with("terravox: terravox-studio is not installed; build it"), "{line}");
    let path = fake_studio(&folder, "echo \"$@\" > said");
    let started = run(&path, &["view", "hills:7", "--", "--yaw", "40"]);
    assert!(started.status.success(), "{started:?}");
    let said = fs::read_to_string(folder.path("said")).expect("it was started");
    assert_eq!(said, "hills:7 --yaw 40\n");
    let path = fake_studio(&folder, "exit 7");
    let failed = run(&path, &["view"]);
    let line = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(
        (failed.status.code(), &*line),
        (Some(2), "terravox: terravox-studio ended with code 7\n")
    );
}
