//! Where the bytes of a world are: a file, memory, or what a game brings.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Storage for the bytes of one world: a file, memory, or what a game brings where there is no file
/// system. Calls may come from several threads; bytes between the end and a later write read as
/// zeros. [`Store::create_on`](crate::Store::create_on) and
/// [`Store::open_on`](crate::Store::open_on) take one; [`MemoryDisk`] is the simplest.
///
/// The store calls [`Disk::sync`] between writes whose order matters, and after the last one: what
/// was written before it must be durable when it returns. Only one store may be open on a disk.
pub trait Disk: Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    fn length(&self) -> io::Result<u64>;

    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] if `out` reaches beyond the end.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`, and extends the disk if they end beyond it.
    ///
    /// # Errors
    /// If not all of them are written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything written durable.
    ///
    /// # Errors
    /// If that is not certain.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|data| data.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, out, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    out = &mut out[read..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match std::os::windows::fs::FileExt::seek_write(self, bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    offset += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, _offset: u64, _out: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(any(unix, windows)))]
    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Also fails if the file was deleted or replaced, on systems where an open file can be.
    fn sync(&self) -> io::Result<()> {
        // What is written to it would be lost in silence with the last handle.
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&self.metadata()?) == 0 {
            let what = "the file was deleted or replaced while it was open; save a copy elsewhere";
            return Err(io::Error::new(io::ErrorKind::NotFound, what));
        }
        self.sync_data()
    }
}

/// A world in memory, as the bytes of a `.tvx` file.
///
/// ```
/// use std::sync::Arc;
/// use terravox::terrain::Placement;
/// use terravox_store::{MemoryDisk, Store, WorldInfo};
///
/// let disk = Arc::new(MemoryDisk::default());
/// let store = Store::create_on(disk.clone(), "plain", &WorldInfo::complete(Placement::default()))?;
/// store.set_extra("player", Some(b"at home"))?;
/// drop(store);
///
/// let copy = MemoryDisk::from(disk.to_bytes()); // a download, or `std::fs::read`
/// let store = Store::open_on(Arc::new(copy), "copy")?;
/// assert_eq!(store.extra("player")?.as_deref(), Some(&b"at home"[..]));
/// # Ok::<(), terravox_store::StoreError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryDisk {
    bytes: Mutex<Vec<u8>>,
}

impl MemoryDisk {
    /// Returns a copy of all bytes: between writes of a store, a whole `.tvx` file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // A panic leaves whole bytes.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<u8>> for MemoryDisk {
    fn from(bytes: Vec<u8>) -> MemoryDisk {
        MemoryDisk { bytes: Mutex::new(bytes) }
    }
}

impl Disk for MemoryDisk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.lock().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.lock();
        let from = usize::try_from(offset).ok();
        let part = from.and_then(|from| bytes.get(from..from.checked_add(out.len())?));
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = usize::try_from(offset).ok().and_then(|from| from.checked_add(bytes.len()));
        let end = end.ok_or(io::ErrorKind::StorageFull)?;
        let mut all = self.lock();
        if all.len() < end {
            let more = end - all.len();
            all.try_reserve(more).map_err(|_| io::ErrorKind::StorageFull)?;
            all.resize(end, 0);
        }
        all[end - bytes.len()..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
