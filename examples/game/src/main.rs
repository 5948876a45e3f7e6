//! A small game without a screen: a player walks over hills, digs, builds and drops crates, is
//! killed in the middle of it, and goes on from the last save.
//!
//! ```text
//! game              all of it, in a temporary folder; fails if anything is off
//! game play DIR     plays in DIR/world.tvx until it is killed
//! game finish DIR   plays until everything was seen
//! game check DIR    compares DIR/world.tvx with what the games said (DIR/log.txt)
//! ```

mod bodies;
mod check;
mod jobs;
mod play;
mod save;
mod strokes;
mod world;

use check::Log;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use terravox::terrain::Placement;
use terravox_store::{Overwrite, Store, WorldInfo};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// File names in the folder of a game.
pub const WORLD: &str = "world.tvx";
pub const LOG: &str = "log.txt";

/// What the first game does before it is killed.
const SAVES: u32 = 3;
const STROKES: usize = 25;

pub fn ensure(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(what.into()) }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => tour(),
        ["play", folder] => play::play(Path::new(folder), true),
        ["finish", folder] => play::play(Path::new(folder), false),
        ["check", folder] => check::check(Path::new(folder)),
        _ => Err("usage: game [play|finish|check FOLDER]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A game that is killed, one that goes on from there, and a look at the file after each.
fn tour() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("terravox-game-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let info = WorldInfo::growing(Placement::default(), world::Land::generator());
    drop(Store::create(folder.join(WORLD), &info, Overwrite::No)?.finish()?);
    let mut said = Vec::new();
    // In the middle of a save, where most could go wrong.
    let kill_when = |log: &Log| {
        let is_saving = log.begun.last().is_some_and(|begun| begun.0 > log.saved);
        log.saved >= SAVES && log.strokes.len() >= STROKES && is_saving
    };
    for (what, kill) in [("play", true), ("check", false), ("finish", false), ("check", false)] {
        println!("game {what}{}", if kill { ", killed" } else { "" });
        said.extend(run(what, &folder, |log| kill && kill_when(log))?);
        fs::write(folder.join(LOG), said.join("\n"))?;
    }
    Ok(fs::remove_dir_all(&folder)?)
}

/// Runs this program on a folder and kills it when told to. Returns the lines that it said.
fn run(what: &str, folder: &Path, kill_when: impl Fn(&Log) -> bool) -> Result<Vec<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.arg(what).arg(folder).stdout(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let (mut log, mut lines, mut is_killed) = (Log::default(), Vec::new(), false);
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        // A kill may have cut off the last line; whole ones before it were said all the same.
        if let Some(whole) = line.strip_suffix('\n') {
            log.line(whole)?;
            lines.push(whole.to_owned());
        }
        line.clear();
        if !is_killed && kill_when(&log) {
            child.kill()?;
            is_killed = true;
        }
    }
    ensure(child.wait()?.success() != is_killed, &format!("game {what} failed"))?;
    Ok(lines)
}
