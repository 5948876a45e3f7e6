//! Worlds of [terravox](terravox_store) in S3, published and read in place.
//!
//! [`S3::publish`] uploads a world as packs of some megabytes; [`S3::open_read_only`] opens it at
//! once as a [`Store`](terravox_store::Store) that reads records on demand. The API is blocking;
//! each [`S3`] runs its requests on a thread of its own.
//!
//! ```no_run
//! use terravox_s3::{CollectOptions, S3, S3Options};
//! use terravox_store::Store;
//!
//! let world = S3::at("s3://worlds/hills", &S3Options::default())?;
//! world.publish(&Store::open_read_only("hills.tvx")?, |_done, _all| {})?;
//! let store = world.open_read_only()?;
//! println!("{} chunks", store.stats()?.chunks);
//! world.collect_garbage(&CollectOptions::default())?;
//! # Ok::<(), terravox_store::StoreError>(())
//! ```
//!
//! - Packs and the parts of the index are named after their SHA-256. One small manifest lists them
//!   and is replaced by compare-and-set, so readers see the state before or after, and keep the
//!   state that they opened.
//! - Publishing again only uploads what has changed. After a kill at any moment, the next run
//!   resumes.
//! - Every read is checked against hashes: bytes that differ from the published ones are an error.

mod address;
mod background;
mod cache;
mod client;
mod coding;
mod collect;
mod failure;
mod group;
mod leaf;
mod manifest;
mod pack;
mod publish;
mod records;
mod s3;
mod world;
mod world_objects;

pub use collect::{CollectOptions, CollectStats};
pub use publish::PublishStats;
pub use s3::{S3, S3Options};

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
