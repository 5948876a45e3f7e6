//! The `terravox` command line.
//!
//! A command reads files, does its work and writes whole files, which appear complete or not at
//! all. An error is one line on standard error and exit code 2, or 3 if a world is changed, or may
//! be; with `--json` it is one JSON object on standard output, in place of the report.

mod args;
mod census;
mod commands;
mod console;
mod export_limits;
mod failure;
mod growth;
mod heightmap_input;
mod heights;
mod import_limits;
mod interrupts;
mod lod_view;
#[cfg(feature = "server")]
mod log;
mod mesh_input;
mod octree;
mod output;
mod region_input;
mod report;
mod secrets;
mod triangles;
mod vox_scene;
mod world;
mod world_store;

use clap::error::ErrorKind;
use failure::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::Cli::from_process() {
        Ok(cli) => match commands::run(&cli) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => fail(&failure, cli.json, Some(cli.command.name())),
        },
        Err(error) => usage(&error),
    }
}

/// Prints help and version to standard output; anything else is a failure.
fn usage(error: &clap::Error) -> ExitCode {
    // Nothing was parsed, so the raw arguments are searched.
    let words: Vec<OsString> =
        std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let json = words.iter().any(|word| word == "--json");
    let command = words.iter().find_map(|word| args::Command::known(word.to_str()?));
    let failure = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed pipe is not an error.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::new("no command given; see terravox --help")
        }
        _ => Failure::new(usage_line(&error.to_string(), command)),
    };
    fail(&failure, json, command)
}

/// Returns the message of a usage error as one line: without the usage and with the help to see.
fn usage_line(message: &str, command: Option<&str>) -> String {
    let lines = message.lines().map(str::trim).take_while(|line| !line.starts_with("Usage"));
    // The help to see is named at the end.
    let is_said = |line: &&str| {
        !["tip: to pass", "For more information"].iter().any(|start| line.starts_with(start))
    };
    let lines = lines.filter(|line| !line.is_empty()).filter(is_said);
    let mut text = String::new();
    for line in lines {
        if let Some(tip) = line.strip_prefix("tip: ") {
            text += "; ";
            text += tip;
        } else {
            text += " ";
            text += line.strip_prefix("error: ").unwrap_or(line);
        }
    }
    let text = text
        .replace("the following required arguments were not provided:", "missing")
        .replace("subcommand", "command");
    let command = command.map(|command| format!("{command} ")).unwrap_or_default();
    format!("{text}; see terravox {command}--help")
}

/// Prints a failure: as text on standard error, or as JSON on standard output.
fn fail(failure: &Failure, json: bool, command: Option<&str>) -> ExitCode {
    let is_printed = json && writeln!(std::io::stdout(), "{}", failure.json(command)).is_ok();
    if !is_printed {
        // Closed pipes on both cannot be reported.
        let _ = writeln!(std::io::stderr(), "terravox: {failure}");
    }
    ExitCode::from(failure.exit_code())
}
