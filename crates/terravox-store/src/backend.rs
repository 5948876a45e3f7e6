//! The file under the database: failed reads return zeros.
//!
//! Otherwise one bad sector, or one flipped bit in a page number that points beyond the end of the
//! file, would make the database reject every later call. A page of zeros is never valid, so only
//! what needs that page fails, and the rest of the world can still be read. Failed writes return
//! errors.

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};
use std::io;
use std::ops::Bound;

#[derive(Debug)]
pub(crate) struct TolerantFile(pub FileBackend);

type ByteRange = Bound<u64>;

impl StorageBackend for TolerantFile {
    fn len(&self) -> Result<u64, io::Error> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let end = offset.checked_add(out.len() as u64);
        // A read far beyond the end must not touch the buffer: it may be huge.
        if end.is_none_or(|end| self.0.len().is_ok_and(|len| end > len)) {
            return Ok(());
        }
        if self.0.read(offset, out).is_err() {
            out.fill(0);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.0.write(offset, data)
    }

    fn close(&self) -> Result<(), io::Error> {
        self.0.close()
    }

    fn try_lock_range(&self, start: ByteRange, end: ByteRange) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: ByteRange,
        end: ByteRange,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: ByteRange, end: ByteRange) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: ByteRange, end: ByteRange) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: ByteRange, end: ByteRange) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: ByteRange, end: ByteRange) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}
