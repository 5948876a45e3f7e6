//! The store from outside. One binary, as each would link the library anew; tests that kill a
//! process or limit its files start this binary again for one test.

mod creation;
mod failing_disk;
#[cfg(unix)]
mod full_disk;
mod golden;
mod grown;
mod held;
mod kill;
mod kills;
mod replay;
mod saving;
mod scratch;
mod session;
mod stores;
mod suite;
mod tunnel;
mod unsure;
mod watched_records;
mod world;
mod writers;
