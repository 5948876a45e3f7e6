//! A disk in memory that is full for a while.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use terravox_store::{Disk, MemoryDisk};

/// A disk on which writes and syncs fail while it is full.
#[derive(Default)]
pub struct FullDisk {
    pub disk: MemoryDisk,
    /// Writes and syncs until it is full, and until there is space again.
    until_full: AtomicU64,
    until_free: AtomicU64,
}

impl FullDisk {
    /// Becomes full after some operations, for some operations.
    pub fn fail(&self, after: u64, count: u64) {
        self.until_full.store(after, Ordering::Relaxed);
        self.until_free.store(after + count, Ordering::Relaxed);
    }

    fn step(&self) -> io::Result<()> {
        let sub = |v: u64| Some(v.saturating_sub(1));
        let order = Ordering::Relaxed;
        let until_full = self.until_full.fetch_update(order, order, sub).unwrap();
        let until_free = self.until_free.fetch_update(order, order, sub).unwrap();
        match until_full == 0 && until_free > 0 {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl Disk for FullDisk {
    fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.disk.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.step()?;
        self.disk.sync()
    }
}
