//! What strangers' files cost, and what damage, kills and faults lose.
//!
//! Hostile files, damaged worlds and writers that are killed run in processes of their own, which
//! are this program again.

pub mod child;
mod damaged;
mod estimate;
mod faults;
mod flips;
pub mod folder;
mod forged;
mod hostile;
mod importers;
mod kills;
mod reopen;
mod sizes;

pub use child::CHILD;

use crate::report::AreaPart;
use std::path::Path;
use std::process::ExitCode;

/// What the store's own tests store.
#[path = "../../../terravox-store/tests/it/scratch/mod.rs"]
mod scratch;

/// The kills of the store's own tests.
#[path = "../../../terravox-store/tests/it/kills/mod.rs"]
mod killing;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("hostile", hostile::run),
    AreaPart::new("damaged", damaged::run),
    AreaPart::new("flips", flips::run),
    AreaPart::new("sizes", sizes::run),
    AreaPart::new("reopen", reopen::run),
    AreaPart::new("estimate", estimate::run),
    AreaPart::new("faults", faults::run),
    AreaPart::new("kills", kills::run),
];

/// Does what the arguments after [`CHILD`] say, in a process of its own.
pub fn run_child(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["import", kind, path] => child::report_cost(|| hostile::import(kind, Path::new(path))),
        ["store", operation, path] => {
            child::report_cost(|| hostile::use_world(operation, Path::new(path)));
        }
        ["damaged", path, first, end] => {
            damaged::try_many(Path::new(path), number(first)..number(end));
        }
        ["batches", path, from] => killing::save_batches(Path::new(path), number(from)),
        ["serve", folder] => crate::net::killed::serve(Path::new(folder)),
        #[cfg(feature = "cluster")]
        ["serve-database", address, folder] => {
            crate::cluster::takeover::serve(address, Path::new(folder));
        }
        #[cfg(feature = "cluster")]
        ["serve-shared", address, name, folder, lease_ms] => {
            let lease = std::time::Duration::from_millis(number(lease_ms));
            crate::cluster::border::serve(address, name, Path::new(folder), lease);
        }
        #[cfg(feature = "cluster")]
        ["write", address, written, first] => {
            crate::cluster::takeovers::write_until_that_fails(address, written, number(first));
        }
        ["saves", path] => reopen::save_for_ever(Path::new(path)),
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or(0)
}
