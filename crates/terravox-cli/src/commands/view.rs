//! `view`: starts `terravox-studio`, the window, which is a program of its own.

use crate::args::ViewerArgs;
use crate::failure::{CliResult, Failure};
use crate::report::Report;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of the program.
const STUDIO: &str = "terravox-studio";

/// How to get it.
const HOW: &str = "terravox-studio is not installed; build it in a checkout with: cd \
                   integrations/bevy_terravox && cargo build --release -p terravox-studio, and put \
                   target/release/terravox-studio beside terravox or in a folder of PATH";

pub fn run(args: &ViewerArgs) -> CliResult<Report> {
    let studio = find().ok_or_else(|| Failure::new(HOW))?;
    let mut command = Command::new(&studio);
    command.args(&args.world).args(&args.options).stdin(Stdio::null());
    let fault = |error: std::io::Error| Failure::of(&studio, format!("cannot be started: {error}"));
    let status = command.status().map_err(fault)?;
    if !status.success() {
        // It said why on standard error.
        let code = status.code().map_or("a signal".to_owned(), |code| format!("code {code}"));
        return Err(Failure::new(format!("{STUDIO} ended with {code}")));
    }
    let mut report = Report::new("view");
    report.hidden("studio", studio.display().to_string());
    Ok(report)
}

/// The program beside this one, or in a folder of `PATH`.
fn find() -> Option<PathBuf> {
    let name = format!("{STUDIO}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
}
