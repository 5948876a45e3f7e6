//! How many blocks are computed at once, and which.

/// How many blocks are computed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// Maximum number of blocks a batch; fewer where the device's buffers are smaller.
    pub blocks: usize,
    /// Batches in flight.
    pub batches: usize,
    /// Maximum number of bytes of buffers, of the device and of the CPU together.
    pub max_bytes: u64,
}

impl Default for BatchOptions {
    /// Three batches of 64 blocks, in at most 512 MiB.
    fn default() -> BatchOptions {
        BatchOptions { blocks: 64, batches: 3, max_bytes: 512 << 20 }
    }
}

/// Number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub(crate) u64);
