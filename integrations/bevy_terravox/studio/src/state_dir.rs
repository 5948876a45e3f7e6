//! Where the studio keeps what it remembers: recent files, keys, and worlds without a name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bevy::prelude::*;

/// Most recent files that are kept.
const MAX_RECENT: usize = 12;

/// The folder of the studio: `TERRAVOX_STUDIO_STATE`, or `terravox-studio` in `XDG_STATE_HOME`, in
/// `~/.local/state`, or in `LOCALAPPDATA`.
#[derive(Resource, Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    folder: PathBuf,
}

/// A world that was never saved under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsavedWorld {
    /// Its file.
    pub path: PathBuf,
    /// What it was made of.
    pub title: String,
    /// How long ago it was written last.
    pub age: Duration,
    /// Whether a studio has it open.
    pub is_open: bool,
}

impl StateDir {
    /// The folder of this user.
    pub fn of_user() -> StateDir {
        let from = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let folder = from("TERRAVOX_STUDIO_STATE").unwrap_or_else(|| {
            from("XDG_STATE_HOME")
                .or_else(|| from("HOME").map(|home| home.join(".local/state")))
                .or_else(|| from("LOCALAPPDATA"))
                .unwrap_or_else(std::env::temp_dir)
                .join("terravox-studio")
        });
        StateDir::at(folder)
    }

    /// Another folder: for tests and for pictures, which remember nothing.
    pub fn at(folder: impl Into<PathBuf>) -> StateDir {
        StateDir { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the user's keys.
    pub fn keys(&self) -> PathBuf {
        self.folder.join("keys.txt")
    }

    /// A file for a new world without a name.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new_unsaved(&self, title: &str) -> io::Result<PathBuf> {
        let folder = self.folder.join("unsaved");
        fs::create_dir_all(&folder)?;
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = title.chars().take(48).map(plain).collect();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (seconds, process) = (now.as_millis(), std::process::id());
        Ok(folder.join(format!("{name}.{seconds}-{process}.tvx")))
    }

    /// Worlds without a name, newest first.
    pub fn unsaved(&self) -> Vec<UnsavedWorld> {
        let Ok(entries) = fs::read_dir(self.folder.join("unsaved")) else { return Vec::new() };
        let mut worlds: Vec<UnsavedWorld> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let path = entry.path();
                if path.extension()? != "tvx" {
                    return None;
                }
                let age = entry.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
                let name = path.file_stem()?.to_string_lossy().into_owned();
                let title =
                    name.rsplit_once('.').map_or(name.clone(), |(title, _)| title.to_owned());
                let is_open = is_locked(&path);
                Some(UnsavedWorld { path, title, age, is_open })
            })
            .collect();
        worlds.sort_by_key(|world| world.age);
        worlds
    }

    /// Whether a file is one of the studio's own, without a name.
    pub fn holds(&self, path: &Path) -> bool {
        path.parent() == Some(&self.folder.join("unsaved"))
    }

    /// What was opened lately, newest first: paths, and names of generated worlds.
    pub fn recent(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("recent.txt")).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).take(MAX_RECENT).map(str::to_owned).collect()
    }

    /// Remembers what was opened. What cannot be written is not remembered.
    pub fn add_recent(&self, what: &str) {
        if what.contains('\n') {
            return;
        }
        let mut recent = self.recent();
        recent.retain(|other| other != what);
        recent.insert(0, what.to_owned());
        recent.truncate(MAX_RECENT);
        let file = self.folder.join("recent.txt");
        let part = self.folder.join(format!("recent.{}.part", std::process::id()));
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            fs::write(&part, recent.join("\n") + "\n")?;
            fs::rename(&part, &file)
        };
        drop(write());
    }
}

/// Whether a program has locked a file to write it.
fn is_locked(path: &Path) -> bool {
    let lock = fs::File::open(path).map(|file| file.try_lock_shared());
    matches!(lock, Ok(Err(fs::TryLockError::WouldBlock)))
}

/// A length of time as people say it.
pub fn age_text(age: Duration) -> String {
    match age.as_secs() {
        0..90 => "just now".to_owned(),
        seconds @ 90..5400 => format!("{} minutes ago", seconds / 60),
        seconds @ 5400..129_600 => format!("{} hours ago", seconds / 3600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_files_come_newest_first_and_once() {
        let folder = std::env::temp_dir().join(format!("studio-recent-{}", std::process::id()));
        let state = StateDir::at(&folder);
        assert!(state.recent().is_empty());
        (0..20).for_each(|i| state.add_recent(&format!("hills:{i}")));
        state.add_recent("hills:15");
        let recent = state.recent();
        assert_eq!((recent.len(), &*recent[0], &*recent[1]), (MAX_RECENT, "hills:15", "hills:19"));
        assert_eq!(recent.iter().filter(|name| *name == "hills:15").count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn worlds_without_a_name_are_found_again() {
        let folder = std::env::temp_dir().join(format!("studio-unsaved-{}", std::process::id()));
        let state = StateDir::at(&folder);
        let path = state.new_unsaved("world:7:fjords").unwrap();
        assert!(state.holds(&path) && state.unsaved().is_empty());
        fs::write(&path, b"").unwrap();
        let found = state.unsaved();
        assert_eq!((found.len(), &*found[0].title), (1, "world_7_fjords"));
        assert!(!found[0].is_open);
        let file = fs::File::open(&path).unwrap();
        file.lock().unwrap();
        assert!(state.unsaved()[0].is_open);
        drop(file);
        assert!(!state.unsaved()[0].is_open, "asking locks nothing");
        fs::remove_dir_all(folder).unwrap();
    }
}
