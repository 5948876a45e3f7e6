//! A terravox world in a browser: a [`PlayerWorld`] is a guest of a server, or has a host of its
//! own, and keeps the terrain that is shown. It runs in a Web Worker: bytes of the link go in and
//! come out, and meshes go to the page as buffers.
//!
//! The core is plain Rust and runs on any target; `bindings` is what JavaScript sees of it.
//!
//! ```
//! use terravox::edit::EditOp;
//! use terravox::terrain::Budget;
//! use terravox_web::{PlayerWorld, PlayerWorldOptions};
//!
//! let mut world = PlayerWorld::new_in_memory(7, PlayerWorldOptions { view_m: 200.0, ..PlayerWorldOptions::default() });
//! let eye_m = [0.0, 60.0, 0.0];
//! for frame in 0..100 {
//!     world.update(frame * 16_000, eye_m, Budget::Unlimited)?;
//! }
//! let hit = world.ray(eye_m, [0.0, -1.0, 0.0], 200.0).expect("there is ground below");
//! world.edit(&EditOp::dig_ball(hit.point_m, 3.0))?; // shown at once
//! let deeper = world.ray(eye_m, [0.0, -1.0, 0.0], 200.0).expect("and deeper");
//! assert!(deeper.distance_m > hit.distance_m + 2.0);
//! # Ok::<(), String>(())
//! ```

mod bindings;
mod clipboard;
mod host;
mod import;
mod opfs;
mod outbox;
mod player;
mod world;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use import::{ImportedWorld, import_world};
pub use player::{Player, Steering};
pub use world::{News, PlayerWorld, PlayerWorldOptions};
