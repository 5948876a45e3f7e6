//! Voxel worlds on disk: one file with the extension `.tvx`.
//!
//! Start with [`Store`]: [`Store::terrain`] opens a world for a game, [`Store::fill`] supplies its
//! cells near and far, [`Store::save`] writes what changed: chunks, channels, undo history, loose
//! bodies and the game's own bytes in one transaction, from any thread, whether the world is stored
//! completely or grows from a generator.
//!
//! ```
//! use terravox::edit::EditOp;
//! use terravox::terrain::{Budget, FillRequest, Placement, TerrainOptions, Viewer};
//! use terravox_store::{Generator, Overwrite, Store, WorldInfo};
//!
//! fn generate(request: &mut FillRequest<'_>) {
//!     request.fill_sdf(8, |p| 4.0 * (p[0] * 0.05).sin() - p[1]); // 8 is rock
//! }
//!
//! # let folder = std::env::temp_dir().join(format!("terravox-store-lib-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("world.tvx");
//! let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
//! let info = WorldInfo::growing(Placement::default(), generator);
//! let store = Store::create(&path, &info, Overwrite::No)?.finish()?;
//!
//! let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
//! let mut terrain = store.terrain(TerrainOptions::default())?;
//! terrain.hold([-8.0; 3], [8.0; 3], fill)?; // or update, in every frame
//! terrain.edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
//!
//! let unsaved = terrain.unsaved().with_data("player", *b"at home");
//! store.save(&unsaved, fill)?; // on any thread
//! terrain.mark_saved(&unsaved);
//! assert!(terrain.is_saved());
//!
//! let mut again = store.terrain(TerrainOptions::default())?;
//! again.hold([-8.0; 3], [8.0; 3], fill)?;
//! assert_eq!(again.grid().digest()?, terrain.grid().digest()?);
//! assert!(again.undo()?.is_some());
//! # drop(store);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file is a copy-on-write tree (`docs/format.md` has every byte) of the description of the
//! world, its cells in blocks of 32³ for each mip, and the listings of chunks.
//!
//! - A write is on disk when it returns; killing the process only loses what was not written yet.
//! - A new world is written to a partial file and renamed into place.
//! - Distant views read coarse mips without reading fine cells.
//! - Damage stays local: a flipped byte costs at most one chunk. [`Store::load`] reports damaged
//!   chunks and continues, [`Store::verify`] finds every changed byte that matters, and
//!   [`Store::repair`] keeps all undamaged data.
//! - [`Store::create_on`] takes a [`Disk`] where there are no files, such as in a browser.
//! - [`Store::create_records`] takes [`Records`]: a world in a database, such as PostgreSQL with
//!   `terravox-postgres`. [`Store::copy_to_file`] and [`Store::copy_to_records`] copy between the
//!   two.
//! - Any bytes are safe to open: reading terminates, in memory bounded by the length of the file.

mod backup;
mod bodies;
mod channels;
mod copy;
mod create;
mod database;
mod description;
mod disk;
mod error;
mod file_names;
mod findings;
mod finer;
mod in_records;
mod info;
mod key;
mod leases;
mod listing;
mod locked_file;
mod makeup;
mod on_disk;
mod open;
mod partial;
mod pyramid;
mod read;
mod reader;
mod rebuild;
mod records;
mod repair;
mod save;
mod store;
mod transfer;
mod tree;
mod value;
mod verify;
mod work;
mod write;
mod zone;

pub use bodies::MAX_BODIES;
pub use create::{Draft, Overwrite};
pub use disk::{Disk, MemoryDisk};
pub use error::{BadPart, StoreError, StoredPart};
pub use info::{FORMAT_VERSION, Generator, MAX_NAME_BYTES, WorldInfo};
pub use key::BlockKey;
pub use leases::{ColumnChanges, ColumnLeases, ColumnOwner};
pub use partial::remove_partial_files;
pub use read::{LoadedWorld, MAX_LOADED_BYTES};
pub use rebuild::RepairReport;
pub use records::{
    CommitFailure, LostRecords, MemoryRecords, RecordChanges, RecordTotals, Records, RecordsView,
    WorldRecord,
};
pub use store::{MAX_EXTRA_BYTES, Store, StoreStats};
pub use transfer::CopyStats;
pub use value::{MAX_VALUE_BYTES, ValueError};
pub use verify::Verification;
pub use write::SaveStats;
pub use zone::{Column, Zone};

// What unit tests and integration tests share names the crate.
#[cfg(test)]
extern crate self as terravox_store;

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod channel_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod repair_tests;
#[cfg(test)]
mod uniform_tests;
#[cfg(test)]
mod work_tests;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The code on the start page compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
struct StartPage;

/// The code on the page about channels compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/channels.md")]
struct ChannelsPage;

/// The code on the page about the level of detail compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/lod.md")]
struct LodPage;
