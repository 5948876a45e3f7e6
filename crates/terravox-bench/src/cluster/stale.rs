//! Writers that stand still, or are cut off, until another one has taken over: what they write
//! when they come back.

use super::server::Server;
use super::takeovers::{self, TakeoverCounts, Written};
use crate::report::AreaReport;
use crate::trust::child;
use std::process::Child;
use terravox_store::StoreError;

/// Takeovers of each kind: of a quick run, and of a full run.
const TAKEOVERS: [u64; 2] = [30, 500];

fn start(address: &str, written: &str, first: u64) -> Child {
    let started = child::start(&["write", address, written, &first.to_string()]);
    started.unwrap_or_else(|error| panic!("the writer does not start: {error}"))
}

/// Measures `stale_writes`.
pub fn run(report: &mut AreaReport, server: &mut Server) -> Result<(), StoreError> {
    let takeovers = TAKEOVERS[usize::from(report.is_full)];
    let counts = [Written::World, Written::Column]
        .map(|written| takeovers::run(server, written, takeovers, start));
    let sum = |count: fn(&TakeoverCounts) -> u64| counts.iter().map(count).sum::<u64>();
    let note = format!(
        "{} takeovers, half of them of a column, from writers that were stopped, whose network stalled, or that \
         were cut off, in turn; {} saves, of which {} were lost; 1,000 with --full",
        sum(|counts| counts.takeovers),
        sum(|counts| counts.saved),
        sum(|counts| counts.lost)
    );
    // A lost save is no stale write, but as bad.
    let wrong = sum(|counts| counts.stale_writes) + sum(|counts| counts.lost);
    report.set("stale_writes", wrong as f64, note);
    Ok(())
}
