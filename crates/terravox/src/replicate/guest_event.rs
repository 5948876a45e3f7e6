//! What happens to a guest, for its game.

use super::generator_id::GeneratorId;
use super::reasons::RefusalCode;
use crate::voxel::Region;

/// What happened in an update, for the game.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GuestEvent {
    /// The host admitted this guest: call [`Guest::start`](super::Guest::start).
    Welcome {
        /// The number of this guest, which is the author of its edits.
        guest: u64,
        /// The generator of the ground, if the world has one.
        generator: Option<GeneratorId>,
        /// Whether this is the same instance of the host as before the link broke. If it is not,
        /// operations that were confirmed but not reported as saved may be lost.
        is_same_host: bool,
    },
    /// An operation of this guest, or the one by which the game [replaced](super::Verdict::Replace)
    /// it, is part of the world. If the host ends without saving, it is lost.
    Confirmed {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Whether it changed anything: digging in the air does not.
        has_changed: bool,
    },
    /// The operations of this guest from `first` to `last` are saved, so they outlive the host.
    /// This excludes refused operations, and operations that a broken link left without a reply
    /// ([`Guest::reconnect`](super::Guest::reconnect)). Hosts that do not save never send this.
    /// Operations that an earlier instance of the host confirmed and did not report as saved are
    /// never reported: it may have ended without saving them.
    Saved {
        /// The number of the first operation, from [`Guest::edit`](super::Guest::edit).
        first: u64,
        /// The number of the last operation.
        last: u64,
    },
    /// An operation of this guest was refused; its prediction was reverted.
    Refused {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Why, for a program.
        code: RefusalCode,
        /// Why, for a person to read.
        reason: String,
    },
    /// An operation of another author was applied here, or one that the host applied in place of an
    /// operation of this guest. Other changes arrive as cells: [`GuestEvent::CellsChanged`].
    Edited {
        /// The author: the number of a guest, or 0 for the game.
        author: u64,
        /// What changed, in voxels.
        region: Region,
    },
    /// Cells that this guest holds changed, by an unknown author: by large operations, undo, redo,
    /// rollbacks, falling pieces, or operations that reach beyond what is held. A change can arrive
    /// in several parts and at several mips, even after [`GuestEvent::Confirmed`] of this guest's
    /// own operation.
    CellsChanged {
        /// Where, in voxels.
        region: Region,
    },
    /// An operation gave other cells here than on the host. The host's cells are on their way.
    Corrected,
    /// The game on the host sent a message, by [`Host::send_message`](super::Host::send_message).
    Message {
        /// The message, at most 1,024 bytes.
        bytes: Vec<u8>,
    },
    /// A body came into view.
    BodyAdded {
        /// Its number, for [`Guest::bodies`](super::Guest::bodies).
        body: u64,
    },
    /// The bytes of a body changed.
    BodyChanged {
        /// Its number.
        body: u64,
    },
    /// A body was removed, or is no longer in view.
    BodyRemoved {
        /// Its number.
        body: u64,
    },
}
