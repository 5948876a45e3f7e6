//! Worlds of [terravox](terravox_store) in PostgreSQL.
//!
//! [`Postgres`] opens or makes a world in a database and returns a
//! [`Store`](terravox_store::Store), which is used like that of a file. The API is blocking. Each
//! store has a thread of its own for its connections, and can be used from any thread, also from
//! the threads of an async runtime.
//!
//! ```no_run
//! use terravox_postgres::{Postgres, PostgresOptions};
//!
//! let options = PostgresOptions::default();
//! let store = Postgres::open("postgres://me@localhost/worlds#caves", &options)?;
//! println!("{} chunks", store.stats()?.chunks);
//! # Ok::<(), terravox_store::StoreError>(())
//! ```
//!
//! - A save is on the server's disk when it returns. Transient failures (a restart, a failover, two
//!   conflicting transactions) are retried; a commit whose reply was lost is looked up.
//! - One program writes a world at a time. Each zone of 8,192 voxels along each axis has a row with
//!   an epoch, and every transaction names the epoch in which it writes: once another program has
//!   taken the world over, a program that was cut off or stopped can no longer write
//!   ([`StoreError::Fenced`](terravox_store::StoreError::Fenced)).
//! - Or several servers share a world ([`Postgres::share`]): each writes the columns of 8,192 ×
//!   8,192 voxels that it has claimed, fenced in the same way.
//! - Every record has a hash: damage in the database is found, and costs at most one chunk.

mod address;
mod background;
mod batch;
mod connection;
mod failure;
mod lease;
mod log;
mod postgres;
mod random;
mod retry;
mod schema;
mod share;
mod sharing;
mod view;
mod world_share;
mod writer;

pub use postgres::{LogEntry, Postgres, PostgresOptions};
pub use world_share::WorldShare;
