//! `copy`: a world from one store to another: files, databases, S3.

use crate::args::CopyArgs;
use crate::console::Console;
use crate::failure::CliResult;
use crate::report::Report;
use crate::world_store::{self, CopyCounts};
use terravox_store::Store;

/// Copies a world; resumes a copy that was interrupted.
pub fn run(args: &CopyArgs, console: &Console) -> CliResult<Report> {
    let from = world_store::open_read_only(&args.from)?;
    let bar = console.bar("copying", 1);
    let progress = |done: u64, all: u64| bar.set(done as usize, all as usize);
    let (to, stats) = world_store::copy(&from, &args.to, args.rewrite, progress)?;
    drop(bar);
    Ok(report(&from, &to, stats))
}

fn report(from: &Store, to: &Store, stats: CopyCounts) -> Report {
    // The paths of stores have no passwords.
    let mut report = Report::of_change("copy", to.path());
    report.text_line("from", "from", from.path().display().to_string());
    report.text_line("to", "to", to.path().display().to_string());
    report.count("records", "records", stats.records);
    report.count("kept", "there before", stats.kept);
    report.bytes("written_bytes", "written", stats.written_bytes);
    report
}
