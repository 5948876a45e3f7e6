//! Selects vector code or its portable twin.

#[cfg(any(not(target_arch = "x86_64"), terravox_plain))]
pub(super) use super::scalar::*;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
pub(super) use super::simd::*;
