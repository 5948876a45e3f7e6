//! Worlds in a real PostgreSQL.

#![cfg(unix)]

#[path = "../../../terravox-store/tests/it/suite/mod.rs"]
mod all_stores;
mod errors;
mod fencing;
mod game;
mod kills;
mod lost_answers;
mod proxy;
mod server;
mod share;
mod share_log;
mod share_rows;
mod stale;
mod suite;
mod takeovers;
