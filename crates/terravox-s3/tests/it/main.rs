//! Published worlds, in memory and in a server that speaks the protocol of S3.

#[path = "../../../terravox-store/tests/it/suite/mod.rs"]
mod all_stores;
mod base;
mod damage;
mod garbage;
#[cfg(unix)]
mod moto;
mod objects;
#[cfg(unix)]
mod protocol;
mod publishing;
mod suite;
