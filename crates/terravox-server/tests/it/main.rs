//! Servers and clients over loopback sockets.

#[path = "../../../terravox-store/tests/it/failing_disk/mod.rs"]
mod failing_disk;
mod falling;
mod full_disk;
mod journal;
mod loopback;
mod shared_world;
mod slow_database;
mod taken_over;
mod thrown;
#[path = "../../../terravox-store/tests/it/watched_records/mod.rs"]
mod watched_records;
mod waves;
