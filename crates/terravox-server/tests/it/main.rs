//! Servers and clients over loopback sockets.

mod falling;
mod log;
mod loopback;
mod thrown;
mod waves;
