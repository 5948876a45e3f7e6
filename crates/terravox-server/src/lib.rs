#![doc = include_str!("../README.md")]

mod access;
mod address;
mod certificate;
mod client;
mod error;
mod falling;
mod gate;
mod http;
mod link;
mod quic;
mod saver;
mod server;
mod world;

pub use access::{AccessList, Right};
pub use address::{AddressError, DEFAULT_PORT, MAX_WORLD_NAME, Transport, WorldAddress};
pub use client::{Client, ClientError, ClientOptions};
pub use error::ServerError;
pub use saver::Generate;
pub use server::{Server, ServerOptions};
pub use world::{Decide, ServedWorld};
