//! Output files that appear complete or not at all.

use crate::failure::{CliResult, Failure};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Names of temporary files that are tried.
const MAX_ATTEMPTS: u32 = 100;

/// A file that is written under a temporary name beside its target. Dropping it removes the
/// temporary file; [`Output::finish`] moves it to the target and replaces what was there.
pub struct Output {
    file: Option<BufWriter<File>>,
    partial: PathBuf,
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
        let (file, partial) = create_partial(target, name).map_err(|error| {
            Failure::of(target, format!("cannot be written: {error}; choose a writable folder"))
        })?;
        let file = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(Output { file, partial, target: target.to_owned() })
    }

    /// Returns the writer. The caller reports its errors.
    pub fn writer(&mut self) -> &mut (impl Write + use<>) {
        let Some(file) = &mut self.file else {
            unreachable!("the file is open until the output is finished");
        };
        file
    }

    /// Syncs the file to disk and moves it to the target; returns its length in bytes.
    ///
    /// # Errors
    /// If that fails; the target stays as it was.
    pub fn finish(mut self) -> CliResult<u64> {
        let failed = |error: std::io::Error| {
            Failure::of(&self.target, format!("cannot be written: {error}"))
        };
        let Some(buffer) = self.file.take() else {
            unreachable!("the file is open until the output is finished");
        };
        let file = buffer.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        drop(file);
        fs::rename(&self.partial, &self.target).map_err(failed)?;
        self.partial.clear();
        Ok(length)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.file = None;
        if !self.partial.as_os_str().is_empty() {
            // Best effort: there is no caller to report to.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Creates a file of a name of its own beside the target. One that exists is another program's.
fn create_partial(target: &Path, name: &OsStr) -> io::Result<(File, PathBuf)> {
    let process = std::process::id();
    for number in 0..MAX_ATTEMPTS {
        let mut partial_name = OsString::from(".");
        partial_name.push(name);
        partial_name.push(format!(".{process}-{number}.partial"));
        let partial = target.with_file_name(partial_name);
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(file) => return Ok((file, partial)),
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
