//! Voxel worlds on disk: one file with the extension `.tvx`.
//!
//! [`Store`] is the way in. [`Store::terrain`] opens a world for a game, [`Store::fill`] gives
//! it cells near and far, [`Store::save`] writes what changed: chunks, what can be undone, loose
//! bodies and the game's own bytes in one transaction, from any thread, whether the world is
//! stored whole or grows from a generator.
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
mod bodies;
mod create;
mod database;
mod error;
mod guard;
mod info;
mod key;
mod listing;
mod open;
mod pyramid;
mod read;
mod save;
mod store;
mod value;
mod verify;
mod write;

pub use bodies::MAX_BODIES;
pub use create::{Draft, Overwrite};
pub use error::{BadPart, StoreError, StoredPart};
pub use guard::panics_are_caught;
pub use info::{FORMAT_VERSION, Generator, MAX_NAME_BYTES, WorldInfo};
pub use key::BlockKey;
pub use read::{Loaded, MAX_LOADED_BYTES};
pub use store::{MAX_EXTRA_BYTES, Store, StoreStats};
pub use value::{MAX_VALUE_BYTES, ValueError};
pub use verify::Verification;
pub use write::SaveStats;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The code on the start page compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start.md")]
struct StartPage;

/// And that of the page about the level of detail.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/lod.md")]
struct LodPage;
