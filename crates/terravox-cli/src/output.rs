//! Output files that appear complete or not at all.

use crate::failure::{CliResult, Failure};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names of temporary files that are tried.
const MAX_ATTEMPTS: u32 = 100;

/// All files and folders that are not in place yet.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file or folder under a temporary name beside its target. It is removed when it is dropped or the
/// program is stopped by a signal, unless it was put in place.
pub struct Temporary {
    /// Empty once it is in place.
    path: PathBuf,
}

impl Temporary {
    /// Makes a file or a folder.
    ///
    /// # Errors
    /// That of `make`, which must not replace what is there.
    pub fn create<T>(
        path: PathBuf,
        make: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<(Temporary, T)> {
        let mut all = temporaries();
        let made = make(&path)?;
        all.push(path.clone());
        Ok((Temporary { path }, made))
    }

    /// Where it is meanwhile.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames it to `target`.
    ///
    /// # Errors
    /// If that fails; it is then removed.
    pub fn place(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        let placed = std::mem::take(&mut self.path);
        temporaries().retain(|path| *path != placed);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            remove(&self.path);
            temporaries().retain(|path| *path != self.path);
        }
    }
}

fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Best effort: there is no caller to report to.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Removes all files and folders that are not in place. Until the guard is dropped, no other is made.
#[cfg(unix)]
pub fn remove_temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    let all = temporaries();
    all.iter().for_each(|path| remove(path));
    all
}

/// A file that is written under a temporary name beside its target. Dropping it removes the
/// temporary file; [`Output::finish`] moves it to the target and replaces what was there.
pub struct Output {
    file: BufWriter<File>,
    partial: Temporary,
    target: PathBuf,
}

impl Output {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// If `target` is a folder or its folder cannot be written.
    pub fn create(target: &Path) -> CliResult<Output> {
        if target.is_dir() {
            return Err(Failure::of(target, "is a folder; give a file"));
        }
        let Some(name) = target.file_name() else {
            return Err(Failure::of(target, "has no file name; give a file"));
        };
        check_folder(target)?;
        let (partial, file) = create_partial(target, name).map_err(|error| {
            Failure::of(target, format!("cannot be written: {error}; choose a writable folder"))
        })?;
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(Output { file, partial, target: target.to_owned() })
    }

    /// Returns the writer. The caller reports its errors.
    pub fn writer(&mut self) -> &mut (impl Write + Seek + use<>) {
        &mut self.file
    }

    /// Syncs the file to disk and moves it to the target; returns its length in bytes.
    ///
    /// # Errors
    /// If that fails; the target stays as it was.
    pub fn finish(self) -> CliResult<u64> {
        let Output { file, partial, target } = self;
        let failed =
            |error: std::io::Error| Failure::of(&target, format!("cannot be written: {error}"));
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        drop(file);
        partial.place(&target).map_err(failed)?;
        Ok(length)
    }
}

/// Refuses a file in a folder that does not exist.
///
/// # Errors
/// If it does not.
pub fn check_folder(target: &Path) -> CliResult<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.exists() => {
            Err(Failure::of(target, "there is no such folder; make it first"))
        }
        _ => Ok(()),
    }
}

/// Creates a file of a name of its own beside the target. One that exists is another program's.
fn create_partial(target: &Path, name: &OsStr) -> io::Result<(Temporary, File)> {
    let process = std::process::id();
    for number in 0..MAX_ATTEMPTS {
        let mut partial_name = OsString::from(".");
        partial_name.push(name);
        partial_name.push(format!(".{process}-{number}.partial"));
        let partial = target.with_file_name(partial_name);
        let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        match Temporary::create(partial, new) {
            Ok(created) => return Ok(created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Refuses to overwrite the file that is read.
///
/// # Errors
/// If both paths name the same file.
pub fn check_not_input(input: &Path, target: &Path) -> CliResult<()> {
    match (fs::canonicalize(input), fs::canonicalize(target)) {
        (Ok(a), Ok(b)) if a == b => {
            Err(Failure::of(target, "is the file that is read; choose another output"))
        }
        _ => Ok(()),
    }
}

/// Writes `bytes` to a file.
///
/// # Errors
/// As [`Output::create`] and [`Output::finish`].
pub fn write_file(target: &Path, bytes: &[u8]) -> CliResult<u64> {
    let mut output = Output::create(target)?;
    let written = output.writer().write_all(bytes);
    written.map_err(|error| Failure::of(target, format!("cannot be written: {error}")))?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_output_leaves_nothing_and_a_finished_one_is_whole() -> CliResult<()> {
        let folder = std::env::temp_dir().join(format!("terravox-output-{}", std::process::id()));
        let io = |error: std::io::Error| Failure::new(error);
        fs::create_dir_all(&folder).map_err(io)?;
        let target = folder.join("a.bin");
        let other = folder.join(format!(".a.bin.{}-0.partial", std::process::id()));
        fs::write(&other, b"of another program").map_err(io)?;
        drop(Output::create(&target)?);
        assert_eq!(fs::read(&other).map_err(io)?, b"of another program");
        fs::remove_file(&other).map_err(io)?;
        let mut output = Output::create(&target)?;
        output.writer().write_all(b"half").map_err(io)?;
        drop(output);
        assert_eq!(fs::read_dir(&folder).map_err(io)?.count(), 0);
        assert_eq!(write_file(&target, b"old")?, 3);
        assert_eq!(write_file(&target, b"newer")?, 5);
        assert_eq!(fs::read(&target).map_err(io)?, b"newer");
        assert_eq!(fs::read_dir(&folder).map_err(io)?.count(), 1);
        assert!(Output::create(&folder).is_err());
        assert!(Output::create(&target.join("under a file")).is_err());
        fs::remove_dir_all(&folder).map_err(io)
    }
}
