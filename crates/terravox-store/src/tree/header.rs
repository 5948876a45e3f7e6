//! The header: the two newest states of a tree, each in two copies.

use super::fault::TreeError;
use super::node::{DATA_START, NODE_REF_BYTES, NodeRef, u64_at};
use crate::disk::Disk;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// First bytes of every world file. The high bit and the line ends notice transfers that change
/// bytes.
pub(crate) const MAGIC: [u8; 8] = *b"\x89TVX\r\n\x1a\n";

/// Version of the layout of header and nodes.
pub(crate) const TREE_VERSION: u16 = 3;

/// Bytes of a copy; the rest of its 4 KiB is zero.
pub(crate) const HEADER_BYTES: usize = 96;

/// Where the checksum is: after everything it covers.
const SUM_AT: usize = HEADER_BYTES - 8;

/// Where the reference to the root is.
const ROOT_AT: usize = 56;

/// Number of the last commit that a file can have.
const MAX_SEQUENCE: u64 = (1 << 62) - 1;

/// A complete state of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeState {
    /// Random, the same for all states of a file: bytes of other files never fit.
    pub id: u64,
    /// Number of the commit.
    pub sequence: u64,
    /// Where the space in use ends.
    pub end: u64,
    /// `None` if there are no entries.
    pub root: Option<NodeRef>,
    pub entries: u64,
    /// Bytes of all keys and values.
    pub payload_bytes: u64,
}

/// What the header says.
pub(crate) struct HeaderStates {
    pub current: TreeState,
    pub previous: Option<TreeState>,
}

/// Why a file has no state.
#[derive(Debug)]
pub(crate) enum HeaderFault {
    Io(io::Error),
    /// It does not begin like a world.
    Foreign,
    /// The version of the layout is newer than ours.
    TooNew(u16),
    /// It begins like a world, but no copy of a state is whole.
    Damaged,
}

/// Where the two copies of a state are.
pub(crate) fn copies_of(sequence: u64) -> [u64; 2] {
    match sequence % 2 {
        1 => [0, 8192],
        _ => [4096, 12288],
    }
}

impl TreeState {
    pub fn empty(id: u64) -> TreeState {
        TreeState { id, sequence: 1, end: DATA_START, root: None, entries: 0, payload_bytes: 0 }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(TREE_VERSION.to_le_bytes());
        out.extend([0; 6]);
        for number in [self.id, self.sequence, self.end, self.entries, self.payload_bytes] {
            out.extend(number.to_le_bytes());
        }
        match &self.root {
            Some(root) => root.put(&mut out),
            None => out.extend([0; NODE_REF_BYTES]),
        }
        out.resize(SUM_AT, 0);
        out.extend(xxh3_64(&out).to_le_bytes());
        out
    }

    /// The state in a copy; `None` if it is not whole.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<TreeState> {
        let is_ours = bytes.starts_with(&MAGIC) && version_of(bytes) == TREE_VERSION;
        if !is_ours || u64_at(bytes, SUM_AT) != xxh3_64(&bytes[..SUM_AT]) {
            return None;
        }
        let root = bytes[ROOT_AT..].first_chunk::<NODE_REF_BYTES>()?;
        let root = if *root == [0; NODE_REF_BYTES] { None } else { Some(NodeRef::take(root)?) };
        let number = |i: usize| u64_at(bytes, 16 + 8 * i);
        let [id, sequence, end, entries, payload_bytes] = [0, 1, 2, 3, 4].map(number);
        // Far from the end of the numbers, so that counting never overflows.
        let sane = (1..=MAX_SEQUENCE).contains(&sequence) && (DATA_START..1 << 60).contains(&end);
        sane.then_some(TreeState { id, sequence, end, root, entries, payload_bytes })
    }

    /// Writes both copies.
    pub fn write(&self, disk: &dyn Disk) -> io::Result<()> {
        let bytes = self.encode();
        copies_of(self.sequence).into_iter().try_for_each(|offset| disk.write_at(offset, &bytes))
    }

    /// Whether no commit can follow.
    pub fn is_last(&self) -> bool {
        self.sequence >= MAX_SEQUENCE
    }

    /// Whether each place of a state in the header is damaged. A process that was killed between
    /// two writes leaves an older state in the second; of the first state of a place, nothing.
    pub fn damaged_copies(&self, disk: &dyn Disk) -> [bool; 4] {
        let places = [0, 1].map(|back| copies_of(self.sequence + back));
        let is_current = |offset| places[0].contains(&offset);
        [places[0][0], places[0][1], places[1][0], places[1][1]].map(|offset| {
            let Ok(bytes) = read_copy(disk, offset) else { return true };
            if bytes == [0; HEADER_BYTES] {
                // Both copies of the state before were synced before this one was written.
                return self.sequence > if is_current(offset) { 2 } else { 1 };
            }
            if !is_current(offset) {
                // A write that was interrupted may have left anything.
                return false;
            }
            let is_older = |state: &TreeState| {
                state.id == self.id
                    && state.sequence < self.sequence
                    && copies_of(state.sequence).contains(&offset)
            };
            let state = TreeState::decode(&bytes);
            state.as_ref() != Some(self) && !state.as_ref().is_some_and(is_older)
        })
    }
}

fn version_of(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[8], bytes[9]])
}

fn read_copy(disk: &dyn Disk, offset: u64) -> Result<[u8; HEADER_BYTES], TreeError> {
    let mut bytes = [0; HEADER_BYTES];
    disk.read_at(offset, &mut bytes).map_err(TreeError::of_read)?;
    Ok(bytes)
}

/// Reads the newest states of a file.
pub(crate) fn read_header(disk: &dyn Disk) -> Result<HeaderStates, HeaderFault> {
    let mut states: Vec<TreeState> = Vec::new();
    let (mut newer, mut refused) = (None, None);
    let mut start = [0; MAGIC.len()];
    let mut is_world = disk.read_at(0, &mut start).is_ok() && start == MAGIC;
    for offset in [0, 4096, 8192, 12288] {
        let bytes = match read_copy(disk, offset) {
            Ok(bytes) => bytes,
            Err(TreeError::Io(error)) => {
                refused = Some(error);
                continue;
            }
            Err(_) => continue,
        };
        if bytes.starts_with(&MAGIC) {
            is_world = true;
            newer = newer.max(Some(version_of(&bytes)).filter(|&version| version > TREE_VERSION));
        }
        // Only where it belongs.
        let state = TreeState::decode(&bytes);
        states.extend(state.filter(|state| copies_of(state.sequence).contains(&offset)));
    }
    states.sort_by_key(|state| state.sequence);
    match (states.pop(), newer, refused) {
        (Some(current), ..) => {
            let is_previous = |state: &TreeState| {
                state.id == current.id && state.sequence + 1 == current.sequence
            };
            let previous = states.into_iter().rfind(is_previous);
            Ok(HeaderStates { current, previous })
        }
        (None, Some(version), _) => Err(HeaderFault::TooNew(version)),
        (None, None, Some(error)) => Err(HeaderFault::Io(error)),
        (None, None, None) if is_world => Err(HeaderFault::Damaged),
        (None, None, None) => Err(HeaderFault::Foreign),
    }
}
