//! Numbers for names and pauses.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A number that no other process has.
pub(crate) fn random_number() -> u64 {
    // Its keys are random in every process.
    let mut hash = RandomState::new().build_hasher();
    hash.write_u32(std::process::id());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    hash.write_u128(now.unwrap_or_default().as_nanos());
    hash.finish()
}
