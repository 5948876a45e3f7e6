//! Copying what is whole into another store.

use crate::database::{Db, store_error};
use crate::error::StoreError;
use crate::reader::StoreReader;
use crate::tree::TreeDamage;
use std::path::Path;

/// Entries of one commit: bounds the memory for changes.
const BATCH_ENTRIES: usize = 1 << 15;

/// Copies every whole entry with a key that `is_wanted` into `to`, and reports the others. Errors
/// name `path`.
///
/// # Errors
/// If `to` cannot be written.
pub(crate) fn copy_whole(
    from: &StoreReader,
    to: &Db,
    path: &Path,
    is_wanted: impl Fn(&[u8]) -> bool,
    mut report: impl FnMut(TreeDamage),
) -> Result<(), StoreError> {
    let mut scan = from.scan(&[], None);
    let mut value = Vec::new();
    let mut is_done = false;
    while !is_done {
        let mut transaction = to.begin(path)?;
        for _ in 0..BATCH_ENTRIES {
            let Some(entry) = scan.next() else {
                is_done = true;
                break;
            };
            match entry {
                Err(lost) => report(TreeDamage::Node(lost)),
                Ok(entry) if !is_wanted(&entry.key) => {}
                Ok(entry) => match scan.value(&entry, &mut value) {
                    Ok(()) => transaction
                        .put(&entry.key, &value)
                        .map_err(|error| store_error(error, path, "copy the world"))?,
                    Err(what) => report(TreeDamage::Value { key: entry.key, what }),
                },
            }
        }
        to.commit(transaction, path).map_err(|error| match error {
            // The copy is not visible yet, so an unknown outcome changes nothing.
            StoreError::Unsure { path, source } => {
                StoreError::Io { path, doing: "copy the world", source }
            }
            error => error,
        })?;
    }
    Ok(())
}
