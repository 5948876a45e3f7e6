//! Names of the files of a world: with symbolic links resolved, and those under which a repair keeps
//! the damaged file.

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

/// Removes names of unfinished backups of a world that is opened for writing: a repair that was killed
/// before its file was in place leaves a hard link to the world file, and writes would change the
/// backup, too. Best effort.
pub(crate) fn remove_unfinished_backups(file: &Path, is_world: impl Fn(&Path) -> bool) {
    let backups = (1..=MAX_BACKUPS).map(|number| backup_of(file, number));
    for backup in backups.take_while(|backup| fs::symlink_metadata(backup).is_ok()) {
        if !backup.is_symlink() && is_world(&backup) {
            let _ = fs::remove_file(backup);
        }
    }
}

/// Resolves a symbolic link, so that the file is replaced and not the link.
pub(crate) fn resolve_symlink(path: &Path) -> PathBuf {
    let is_link = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_symlink());
    let target = if is_link { fs::canonicalize(path).ok() } else { None };
    target.unwrap_or_else(|| path.to_owned())
}
