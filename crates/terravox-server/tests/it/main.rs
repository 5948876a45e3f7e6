//! Servers and clients over loopback sockets.

mod log;
mod loopback;
mod waves;
