//! The container of world files: a tree of keys and values that survives faults and damage.
//!
//! ```text
//! file    header | nodes and values in any order, with free space between
//! header  state A | state B | state A | state B         4 KiB each; the newer state counts
//! state   world id, commit number, end of the space in use, root, counts, checksum
//! node    level, items of ascending keys                read by reference, never by position
//! ```
//!
//! A reference holds offset, length and the checksum of the bytes, seeded with the world's id.
//! So a node of another world, or an older copy of a value, never passes for the right one. A node
//! is written twice, in two places, and its reference holds both; a value of more than 96 bytes is
//! written once and others are in their leaf. One flipped byte costs at most one value.
//!
//! A commit writes nodes and values into free space, syncs, writes both copies of the older
//! state's place in the header, and syncs. What the two newest states or an open snapshot use is
//! never overwritten. A killed process leaves one of the two states, and nothing to repair.
//!
//! The flow: [`header`] finds the state; [`walk`] reads below its root; [`write`] merges changes
//! into new nodes, in space from [`space`]. Which space is free is not stored: the first write
//! after opening walks the tree and takes what no state uses. If a part of the index is unreadable
//! then, writing is refused, since free space is unknown.
//!
//! Invariants that reading checks, so that any bytes are safe:
//! - keys ascend in a node, within the span that its parent gives: no part is reached twice;
//! - the level of a node is one below its parent's: no cycles, no deep recursion;
//! - lengths are bounded before memory is taken, by the format and by the file;
//! - the parts that one walk reads are no longer together than the file.

mod fault;
mod header;
mod node;
mod space;
mod walk;
mod write;

pub(crate) use fault::{CommitError, TreeError};
pub(crate) use header::HeaderFault;
pub(crate) use node::{KeySpan, NodeContent};
pub(crate) use walk::{LostSpan, ReadTree, Scan, TreeDamage, TreeReader};
pub(crate) use write::Transaction;

use crate::disk::Disk;
use header::{TreeState, read_header};
use node::DATA_START;
use space::FreeSpace;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use write::WriterState;

/// A tree on a disk: many snapshots beside one writer.
pub(crate) struct Tree {
    disk: Arc<dyn Disk>,
    pins: Arc<Pins>,
    /// The state before the current one, as found at opening.
    previous: Option<TreeState>,
    writer: Mutex<WriterState>,
}

/// The current state, and those that snapshots hold.
struct Pins(Mutex<PinnedStates>);

struct PinnedStates {
    current: TreeState,
    /// Snapshots by the number of their state.
    held: BTreeMap<u64, usize>,
}

impl Pins {
    fn lock(&self) -> MutexGuard<'_, PinnedStates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A state of a tree that stays readable while others are written.
pub(crate) struct TreeSnapshot {
    reader: TreeReader,
    pins: Arc<Pins>,
}

impl Deref for TreeSnapshot {
    type Target = TreeReader;
    fn deref(&self) -> &TreeReader {
        &self.reader
    }
}

impl Drop for TreeSnapshot {
    fn drop(&mut self) {
        let mut pins = self.pins.lock();
        let sequence = self.reader.state.sequence;
        let left = pins.held.get(&sequence).map_or(0, |count| count - 1);
        match left {
            0 => drop(pins.held.remove(&sequence)),
            _ => drop(pins.held.insert(sequence, left)),
        }
    }
}

impl Tree {
    fn new(disk: Arc<dyn Disk>, current: TreeState, previous: Option<TreeState>) -> Tree {
        let pins = Arc::new(Pins(Mutex::new(PinnedStates { current, held: BTreeMap::new() })));
        Tree { disk, pins, previous, writer: Mutex::default() }
    }

    /// Makes an empty tree on an empty disk.
    ///
    /// # Errors
    /// If the header cannot be written.
    pub fn create(disk: Arc<dyn Disk>) -> io::Result<Tree> {
        let state = TreeState::empty(random_id());
        disk.write_at(0, &vec![0; DATA_START as usize])?;
        state.write(&*disk)?;
        Ok(Tree::new(disk, state, None))
    }

    /// The length of the disk in bytes.
    pub fn length(&self) -> io::Result<u64> {
        self.disk.length()
    }

    /// Opens the newest state. Reads the header only.
    ///
    /// # Errors
    /// If no state is whole.
    pub fn open(disk: Arc<dyn Disk>) -> Result<Tree, HeaderFault> {
        let states = read_header(&*disk)?;
        Ok(Tree::new(disk, states.current, states.previous))
    }

    /// The current state.
    pub fn snapshot(&self) -> TreeSnapshot {
        let mut pins = self.pins.lock();
        let state = pins.current.clone();
        *pins.held.entry(state.sequence).or_insert(0) += 1;
        let reader = TreeReader::new(self.disk.clone(), state);
        TreeSnapshot { reader, pins: self.pins.clone() }
    }

    /// Makes everything written durable. Commits do so themselves.
    ///
    /// # Errors
    /// If the system does not.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    /// Bytes that no state needs, or only older ones; 0 before the first write.
    pub fn spare_bytes(&self) -> u64 {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.space.as_ref().map_or(0, FreeSpace::spare_bytes)
    }

    /// Whether the outcome of the last commit is unknown until [`Tree::begin`] completes it.
    pub fn is_unsure(&self) -> bool {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).unsure.is_some()
    }

    /// Begins a change, and waits for those of other threads. The first one finds the free space. If
    /// the outcome of the last commit is unknown, this one first makes it durable.
    ///
    /// # Errors
    /// If the index is damaged, or the last commit still cannot be made durable.
    pub fn begin(&self) -> Result<Transaction<'_>, TreeError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = writer.resolve(&*self.disk)? {
            self.pins.lock().current = state;
        }
        let (state, oldest_held) = {
            let pins = self.pins.lock();
            (pins.current.clone(), pins.held.keys().next().copied())
        };
        if state.is_last() {
            return Err(TreeError::NeedsRepair("its state is the last that can be numbered"));
        }
        let base = TreeReader::new(self.disk.clone(), state);
        if writer.space.is_none() {
            writer.space = Some(self.find_space(&base)?);
        }
        // Until the next header is synced, a crash can fall back to the current state, or to the
        // previous one if the current header is torn: the space of neither is used again.
        let oldest = (base.state.sequence - 1).min(oldest_held.unwrap_or(u64::MAX));
        if let Some(space) = &mut writer.space {
            space.reclaim(oldest);
        }
        Ok(Transaction::new(base, writer))
    }

    /// The space that neither the current state nor the one before uses.
    fn find_space(&self, base: &TreeReader) -> Result<FreeSpace, TreeError> {
        let used = base.used()?;
        let mut older = Vec::new();
        if let Some(previous) = &self.previous {
            let reader = TreeReader::new(self.disk.clone(), previous.clone());
            older = reader.used_besides(&used);
        }
        let mut all = used.extents;
        all.extend_from_slice(&older);
        all.sort_unstable();
        let mut space = FreeSpace::between(&all, DATA_START);
        let last_use = self.previous.as_ref().map_or(0, |state| state.sequence);
        older.into_iter().for_each(|extent| space.retire(extent, last_use));
        Ok(space)
    }

    /// Makes a change durable. Nothing is written if it is empty.
    ///
    /// # Errors
    /// [`CommitError::Before`] if nothing changed, [`CommitError::Unsure`] if that is unknown: the
    /// next [`Tree::begin`] finds out.
    pub fn commit(&self, mut transaction: Transaction<'_>) -> Result<(), CommitError> {
        if transaction.is_empty() {
            return Ok(());
        }
        let before = |error: io::Error| CommitError::Before(error.into());
        let state = transaction.build().map_err(CommitError::Before)?;
        if !transaction.writer.is_header_durable {
            // The header found at opening may exist in the system's cache only, if its sync
            // failed: it is written again, so that the next sync covers it.
            transaction.base.state.write(&*self.disk).map_err(before)?;
        }
        self.disk.sync().map_err(before)?;
        transaction.writer.is_header_durable = true;
        if let Err(error) = state.write(&*self.disk).and_then(|()| self.disk.sync()) {
            transaction.keep_unsure(state);
            return Err(CommitError::Unsure(error));
        }
        transaction.settle(&state);
        self.pins.lock().current = state;
        Ok(())
    }
}

/// A number that no other file has.
fn random_id() -> u64 {
    // Its keys are random in every process.
    let hash = RandomState::new().build_hasher();
    // There, both panic.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    let hash = {
        let mut hash = hash;
        hash.write_u32(std::process::id());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        hash.write_u128(now.unwrap_or_default().as_nanos());
        hash
    };
    hash.finish()
}

#[cfg(test)]
mod tests;
