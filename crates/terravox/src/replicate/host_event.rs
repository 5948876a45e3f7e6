//! What happens at a host, for its game.

use super::reasons::LinkEndCode;
use crate::edit::{ChangedCells, EditOp, Volume};
use crate::voxel::Region;

/// What happened in a tick, for the game.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostEvent {
    /// A guest presented its access token, empty if it has none: call
    /// [`Host::admit`](super::Host::admit) or [`Host::disconnect`](super::Host::disconnect).
    Joining {
        /// Its number.
        guest: u64,
        /// Its token.
        token: Vec<u8>,
    },
    /// An operation of a guest, or of [`Host::edit`](super::Host::edit), was applied.
    Edited {
        /// The number of the guest; 0 for [`Host::edit`](super::Host::edit).
        guest: u64,
        /// The operation as it was applied, in voxels; `None` for undo and redo.
        op: Option<Box<EditOp>>,
        /// What changed, in voxels; empty if nothing did.
        region: Region,
        /// The part of the operation that was applied, in voxels, if not all of it was: see
        /// [`Verdict::Part`](super::Verdict::Part).
        within: Option<Region>,
        /// What was removed, by material.
        removed: Volume,
        /// What was added, by material.
        added: Volume,
        /// The changed cells as they were before, for a [`Journal`](crate::edit::Journal).
        before: ChangedCells,
    },
    /// A guest sent a message, by [`Guest::send_message`](super::Guest::send_message).
    Message {
        /// Its number.
        guest: u64,
        /// The message, at most 1,024 bytes. Check it: the guest may send anything.
        bytes: Vec<u8>,
    },
    /// A guest left, or was disconnected.
    Left {
        /// Its number.
        guest: u64,
        /// Why, for a program.
        code: LinkEndCode,
        /// Why, for a person to read.
        reason: String,
    },
}
