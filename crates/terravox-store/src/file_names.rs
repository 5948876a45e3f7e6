//! Names of the files of a world: with links followed, and those under which a repair keeps the
//! damaged file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Damaged files of one world that are kept.
pub(crate) const MAX_BACKUPS: u32 = 1000;

/// The name of a backup.
pub(crate) fn backup_of(file: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(file.file_name().unwrap_or_default());
    name.push(if number == 1 { ".damaged".to_owned() } else { format!(".damaged-{number}") });
    file.with_file_name(name)
}

/// Removes backup names of a world that is opened for writing: a repair that was killed before its
/// file was in place leaves one, and writing would change what it names. Best effort.
pub(crate) fn remove_unfinished_backups(file: &Path, is_world: impl Fn(&Path) -> bool) {
    let backups = (1..=MAX_BACKUPS).map(|number| backup_of(file, number));
    for backup in backups.take_while(|backup| fs::symlink_metadata(backup).is_ok()) {
        if !backup.is_symlink() && is_world(&backup) {
            let _ = fs::remove_file(backup);
        }
    }
}

/// The path with links followed, so that a link stays a link.
pub(crate) fn followed(path: &Path) -> PathBuf {
    let link = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_symlink());
    let target = if link { fs::canonicalize(path).ok() } else { None };
    target.unwrap_or_else(|| path.to_owned())
}
