#![doc = include_str!("../README.md")]

mod access;
mod address;
mod certificate;
mod client;
mod edit_rules;
mod error;
mod falling;
mod gate;
mod http;
mod journal;
mod journal_requests;
mod link;
mod log_query;
mod page;
mod patient_stream;
mod physics;
mod quic;
mod request_checks;
mod rollback;
mod saver;
mod server;
mod server_options;
mod thrown;
mod ticker;
mod world;

pub use access::{AccessList, Right};
pub use address::{AddressError, DEFAULT_PORT, MAX_WORLD_NAME, Transport, WorldAddress};
pub use client::{Client, ClientError, ClientOptions, LoggedEdit};
pub use edit_rules::Decide;
pub use error::ServerError;
pub use log_query::LogQuery;
pub use rollback::RolledBack;
pub use saver::Generate;
pub use server::Server;
pub use server_options::ServerOptions;
pub use world::ServedWorld;
