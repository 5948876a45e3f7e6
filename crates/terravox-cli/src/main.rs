//! The `terravox` command line.
//!
//! A command reads whole files into a world in memory, does its work and writes whole
//! files: they appear complete or not at all. What goes wrong is one line on standard
//! error and exit code 2.

mod args;
mod census;
mod commands;
mod console;
mod failure;
mod far;
mod octree;
mod output;
mod report;
mod triangles;
mod world;

use clap::error::ErrorKind;
use std::io::Write;
use std::process::ExitCode;

/// Exit code of everything that goes wrong.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    silence_caught_panics();
    let cli = match args::Cli::typed() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

/// Help and version go to standard output; what was mistyped is one line.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away is not an error.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            fail(&failure::Failure::new("no command; try: terravox --help"))
        }
        _ => {
            let text = error.to_string();
            let mut lines =
                text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage"));
            let first = lines.next().unwrap_or_default();
            let first = first.strip_prefix("error: ").unwrap_or(first);
            let rest = lines.filter(|line| !line.is_empty() && !line.starts_with("For more"));
            let rest: String = rest.map(|line| format!(" {line}")).collect();
            fail(&failure::Failure::new(format!("{first}{rest}; --help shows what can be typed")))
        }
    }
}

fn fail(failure: &failure::Failure) -> ExitCode {
    // If standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "terravox: {failure}");
    ExitCode::from(FAILED)
}

/// The database of world files panics on some damaged ones; the store catches that and
/// makes it an error, which is then the only line to show.
fn silence_caught_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !terravox_store::panics_are_caught() {
            default(info);
        }
    }));
}
