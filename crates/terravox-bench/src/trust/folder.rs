//! Files for a while.

use std::path::PathBuf;

/// A folder that is removed at the end.
pub struct BenchFolder(PathBuf);

impl BenchFolder {
    /// In memory where the system offers that.
    pub fn in_memory(name: &str) -> std::io::Result<BenchFolder> {
        let memory = PathBuf::from("/dev/shm");
        BenchFolder::under(if memory.is_dir() { memory } else { std::env::temp_dir() }, name)
    }

    /// On the disk of temporary files.
    pub fn on_disk(name: &str) -> std::io::Result<BenchFolder> {
        BenchFolder::under(std::env::temp_dir(), name)
    }

    fn under(place: PathBuf, name: &str) -> std::io::Result<BenchFolder> {
        let path = place.join(format!("terravox-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(BenchFolder(path))
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Removes all files.
    pub fn clear(&self) {
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            // What stays fails the next step, which says so.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl Drop for BenchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
