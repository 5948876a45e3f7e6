//! Copying what is whole into another tree.

use crate::tree::{CommitError, Tree, TreeDamage, TreeError, TreeReader};

/// Entries of one commit: bounds the memory for changes.
const BATCH_ENTRIES: usize = 1 << 15;

/// Copies every whole entry with a key that `is_wanted` into `to`, and reports the others.
///
/// # Errors
/// If `to` cannot be written.
pub(crate) fn copy_whole(
    from: &TreeReader,
    to: &Tree,
    is_wanted: impl Fn(&[u8]) -> bool,
    mut report: impl FnMut(TreeDamage),
) -> Result<(), TreeError> {
    let mut scan = from.scan(&[], None);
    let mut value = Vec::new();
    let mut is_done = false;
    while !is_done {
        let mut transaction = to.begin()?;
        for _ in 0..BATCH_ENTRIES {
            let Some(entry) = scan.next() else {
                is_done = true;
                break;
            };
            match entry {
                Err(lost) => report(TreeDamage::Node(lost)),
                Ok(entry) if !is_wanted(&entry.key) => {}
                Ok(entry) => match scan.value(&entry, &mut value) {
                    Ok(()) => transaction.put(&entry.key, &value)?,
                    Err(what) => report(TreeDamage::Value { key: entry.key, what }),
                },
            }
        }
        to.commit(transaction).map_err(|error| match error {
            CommitError::Before(error) => error,
            CommitError::Unsure(error) => error.into(),
        })?;
    }
    Ok(())
}
