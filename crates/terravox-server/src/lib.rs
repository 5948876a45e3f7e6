#![doc = include_str!("../README.md")]

mod access;
mod address;
mod link;
mod world;

pub use access::{AccessList, Right};
pub use address::{AddressError, DEFAULT_PORT, MAX_WORLD_NAME, Transport, WorldAddress};
pub use world::{Generate, ServedWorld};
