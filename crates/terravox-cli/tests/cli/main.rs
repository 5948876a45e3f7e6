//! Runs the `terravox` program as a user does, on files that the tests make.

mod bad_input;
#[cfg(all(feature = "server", feature = "postgres", unix))]
mod border_places;
mod channels;
#[cfg(all(feature = "server", unix))]
mod claims;
mod copies;
mod edits;
mod endless;
#[cfg(unix)]
mod exports;
mod far;
mod files;
mod limits;
mod maintenance;
mod meshes;
#[cfg(all(feature = "server", unix))]
mod online;
mod paths;
mod places;
#[cfg(all(feature = "server", not(feature = "postgres"), unix))]
#[path = "../../../terravox-postgres/tests/it/server/ports.rs"]
mod ports;
#[cfg(all(feature = "server", feature = "postgres", unix))]
#[path = "../../../terravox-postgres/tests/it/server/mod.rs"]
mod postgres;
mod real_files;
mod regions;
#[cfg(all(feature = "server", unix))]
mod server_ends;
#[cfg(all(feature = "server", feature = "postgres", unix))]
mod shared;
#[cfg(all(feature = "server", feature = "postgres", unix))]
mod shared_borders;
mod use_cases;
#[cfg(unix)]
mod view;
mod vox;

#[cfg(all(feature = "server", feature = "postgres", unix))]
use postgres::ports;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("terravox-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file for the test");
        path
    }

    /// Names of all that is in the folder, with lengths, sorted.
    fn listing(&self) -> Vec<(String, u64)> {
        let entries = fs::read_dir(&self.0).expect("the folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry"))
            .map(|e| {
                (e.file_name().to_string_lossy().into_owned(), e.metadata().map_or(0, |m| m.len()))
            })
            .collect();
        names.sort();
        names
    }

    /// Runs the program in the folder.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terravox"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command.output().expect("the program runs")
    }

    /// Runs the program, which must do it, and returns its report.
    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        serde_json::from_slice(&output.stdout).expect("a JSON object")
    }

    /// Runs the program, which must refuse with one line that has `words` in it, and
    /// leave the folder as it was. Returns the line.
    fn refused(&self, arguments: &[&str], words: &[&str]) -> String {
        let before = self.listing();
        let output = self.run(arguments);
        let line = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        for word in words {
            assert!(line.contains(word), "{arguments:?}: no {word:?} in: {line}");
        }
        assert_eq!(self.listing(), before, "{arguments:?} left something: {line}");
        line
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(path.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}
