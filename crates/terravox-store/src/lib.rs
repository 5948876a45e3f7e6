//! Voxel worlds on disk: one file with the extension `.tvx`.
//!
//! [`Store`] is the way in: create, open, read chunks and far cells, write what changed.
//! Under it is a [redb] database with three tables (`docs/format.md` has every
//! byte): what the world is, its cells in blocks of 32³ for each mip, and which chunks
//! there are.
//!
//! - What a write acknowledged is on disk; a process that is killed loses nothing else.
//! - A new world is written beside its place and put there in one step.
//! - Far views read coarse mips without touching fine cells.
//! - A bad chunk costs that chunk, never the world: [`Store::load`] says what is bad and
//!   goes on, [`Store::verify`] walks everything.

mod backend;
mod create;
mod database;
mod dirty;
mod error;
mod guard;
mod info;
mod key;
mod listing;
mod pyramid;
mod read;
mod store;
mod value;
mod verify;
mod write;

pub use create::{Draft, Overwrite};
pub use dirty::Dirty;
pub use error::{BadPart, Part, StoreError};
pub use guard::panics_are_caught;
pub use info::{FORMAT_VERSION, Generator, MAX_NAME_BYTES, WorldInfo};
pub use key::BlockKey;
pub use read::{Loaded, MAX_LOADED_BYTES};
pub use store::{MAX_EXTRA_BYTES, Store, StoreStats};
pub use value::{MAX_VALUE_BYTES, ValueError};
pub use verify::Verification;
pub use write::WriteStats;
