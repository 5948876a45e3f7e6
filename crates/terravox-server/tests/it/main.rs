//! Servers and clients over loopback sockets.

mod falling;
mod full_disk;
mod journal;
mod loopback;
mod shared_world;
mod slow_database;
mod taken_over;
mod thrown;
mod waves;
