//! What happens to a guest, for its game.

use super::message::GeneratorId;
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
    },
    /// An operation of this guest is part of the world.
    Confirmed {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Whether it changed anything: digging in the air does not.
        has_changed: bool,
    },
    /// An operation of this guest was refused; what it changed is as before.
    Refused {
        /// Its number, from [`Guest::edit`](super::Guest::edit).
        number: u64,
        /// Why, for a person to read.
        reason: String,
    },
    /// An operation of another was applied here, or one that the host applied instead of one of this
    /// guest. Changes that come as cells give no event: of large operations, undo and redo, and of those
    /// that reach beyond what is held.
    Edited {
        /// Who: the number of a guest, or 0 for the game.
        author: u64,
        /// What changed, in voxels.
        region: Region,
    },
    /// An operation differed here from the host, whose cells are on their way.
    Corrected,
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
