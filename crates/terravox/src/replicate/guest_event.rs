//! What happens to a guest, for its game.

use super::generator_id::GeneratorId;
use super::reasons::RefusalCode;
use crate::voxel::Region;

/// What happened in an update, for the game.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GuestEvent {
    /// The host let this guest in: call [`Guest::start`](super::Guest::start).
    Welcome {
        /// Its number, the author of its edits.
        guest: u64,
        /// What made the ground, if a generator did.
        generator: Option<GeneratorId>,
        /// Whether it is the host of the link before, which has not ended since. If not, and after a
        /// break, operations that were confirmed and not told to be saved may be lost.
        is_same_host: bool,
    },
    /// An operation of this guest is part of the world, or another that the game
    /// [replaced](super::Verdict::Replace) it by. If the host ends without saving, it is lost.
    Confirmed {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Whether it changed anything: digging in the air does not.
        has_changed: bool,
    },
    /// The operations of this guest from one to another are saved, but for those that were refused, and
    /// those that a break left without a reply ([`Guest::reconnect`](super::Guest::reconnect)): they
    /// outlive the host. Hosts that do not save give none. What an earlier host confirmed and did not say
    /// to be saved is never told: it may have ended without it.
    Saved {
        /// The number of the first that this host was sent, from [`Guest::edit`](super::Guest::edit).
        first: u64,
        /// The number of the last.
        last: u64,
    },
    /// An operation of this guest was refused; what it changed is as before.
    Refused {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Why, for a program.
        code: RefusalCode,
        /// Why, for a person to read.
        reason: String,
    },
    /// An operation of another was applied here, or one that the host applied instead of one of
    /// this guest. Others come as cells: [`GuestEvent::CellsChanged`].
    Edited {
        /// Who: the number of a guest, or 0 for the game.
        author: u64,
        /// What changed, in voxels.
        region: Region,
    },
    /// Cells that were here changed, without a word who did it: by large operations, undo, redo,
    /// rollbacks, falling pieces, and by operations that reach beyond what is held. One change can
    /// come in several parts, and at several mips; also after [`GuestEvent::Confirmed`] of an own
    /// operation.
    CellsChanged {
        /// Where, in voxels.
        region: Region,
    },
    /// An operation differed here from the host, whose cells are on their way.
    Corrected,
    /// The game at the host told this guest something:
    /// [`Host::send_message`](super::Host::send_message).
    Message {
        /// What it said, up to 1,024 bytes.
        bytes: Vec<u8>,
    },
    /// A body is seen now.
    BodyAdded {
        /// Its number, for [`Guest::bodies`](super::Guest::bodies).
        body: u64,
    },
    /// The bytes of a body changed.
    BodyChanged {
        /// Its number.
        body: u64,
    },
    /// A body is gone, or seen no longer.
    BodyRemoved {
        /// Its number.
        body: u64,
    },
}
