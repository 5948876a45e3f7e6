//! `journal` and `rollback`: who changed what in a world that is served, and rolling it back.

use crate::args::{EditSelection, JournalArgs, RollbackArgs, utc_text};
use crate::failure::{CliResult, Failure};
use crate::report::{Report, grouped};
use serde_json::json;
use terravox_server::{Client, ClientOptions, JournalQuery};

/// Prints edits, the newest first.
pub fn list(args: &JournalArgs) -> CliResult<Report> {
    let query = JournalQuery { limit: Some(args.limit), ..query(&args.which) };
    let edits =
        Client::journal(&args.address, &options(&args.token), &query).map_err(Failure::new)?;
    let mut report = Report::new("journal");
    let values = edits.iter().map(|edit| {
        let [min_m, max_m] = [0, 1].map(|corner| edit.region_m.map(|region| region[corner]));
        json!({ "number": edit.number, "time": utc_text(edit.time), "unix_time": edit.time,
            "author": edit.author, "kind": edit.kind, "min_m": min_m, "max_m": max_m, "cells": edit.cells,
            "bytes": edit.bytes })
    });
    report.hidden("edits", Vec::from_iter(values));
    for edit in &edits {
        let place = edit.region_m.map_or_else(String::new, |[[a, b, c], [d, e, f]]| {
            format!("{a},{b},{c} to {d},{e},{f}  ")
        });
        let cells = grouped(edit.cells);
        let (author, kind) = (&edit.author, &edit.kind);
        let text = format!("{author}  {kind}  {place}{cells} cells");
        report.text_only(&format!("{} {}", utc_text(edit.time), edit.number), &text);
    }
    if edits.is_empty() {
        report.text_only("edits", "none of this kind");
    }
    Ok(report)
}

/// Takes edits back.
pub fn roll_back(args: &RollbackArgs) -> CliResult<Report> {
    if args.cancel {
        return cancel(args);
    }
    let query = JournalQuery { number: args.number, ..query(&args.which) };
    if query == JournalQuery::default() {
        let what =
            "say what is to be rolled back: give --author, --since, --until, --in or --number";
        return Err(Failure::new(what));
    }
    let done = Client::roll_back(&args.address, &options(&args.token), &query);
    let done = done.map_err(|error| match error.is_undecided() {
        true => Failure::new(format!("{error}; see terravox journal")).after_change(),
        false => Failure::new(error),
    })?;
    let mut report = Report::new("rollback");
    report.count("edits", "edits", done.edits);
    if done.edits == 0 && done.cells == 0 && !done.is_cancelled {
        let note = "nothing to restore: no edit matches that was not rolled back before; \
                    terravox journal shows which there are";
        report.text_only("note", note);
    }
    report.count("cells", "cells restored", done.cells);
    match done.chunks_left_out {
        0 => report.hidden("chunks_left_out", 0),
        count => report.count("chunks_left_out", "chunks that were left out", count),
    }
    let forgotten = done.forgotten.iter();
    let forgotten = forgotten.map(|(author, edits)| json!({ "author": author, "edits": edits }));
    report.hidden("forgotten", Vec::from_iter(forgotten));
    for (author, count) in &done.forgotten {
        let text =
            format!("{} edits of {author}: the journal has no room for them", grouped(*count));
        report.text_only("not rolled back", &text);
    }
    if done.is_cancelled {
        report.text_only("cancelled", "what it had restored was reverted");
    }
    Ok(report)
}

/// Cancels the rollback that runs.
fn cancel(args: &RollbackArgs) -> CliResult<Report> {
    let cells = Client::cancel_rollback(&args.address, &options(&args.token));
    let mut report = Report::new("rollback");
    report.count("cells", "cells reverted", cells.map_err(Failure::new)?);
    Ok(report)
}

fn query(which: &EditSelection) -> JournalQuery {
    let EditSelection { authors, since, until, region_m } = which.clone();
    JournalQuery { authors, since, until, region_m, ..JournalQuery::default() }
}

fn options(token: &str) -> ClientOptions {
    ClientOptions { token: token.into(), ..ClientOptions::default() }
}
