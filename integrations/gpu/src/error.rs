//! What may go wrong with a graphics device. In every case the CPU does the work.

/// Why a graphics device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// There is no device that can compute.
    #[error("no graphics device that can compute was found: the CPU does the work")]
    NoDevice,
    /// The WGSL of a density cannot be compiled.
    #[error("the WGSL of the density is invalid: {0}")]
    Density(String),
    /// The device has too little memory for the buffers.
    #[error(
        "{device} is out of memory for {bytes} bytes of buffers: use fewer blocks a batch or fewer batches"
    )]
    OutOfMemory {
        /// Its name.
        device: String,
        /// What was to be allocated.
        bytes: u64,
    },
    /// The device's limits are too small.
    #[error("{device} allows buffers of {allowed} bytes, {needed} are needed for one block")]
    Limits {
        /// Its name.
        device: String,
        /// Maximum size of a buffer in bytes.
        allowed: u64,
        /// Bytes that one block needs.
        needed: u64,
    },
    /// The device was lost: reset by its driver, unplugged or destroyed.
    #[error("the graphics device was lost: {0}")]
    Lost(String),
}
