//! A small game without a screen: somebody walks over hills, digs, builds and drops crates, is
//! killed in the middle of it, and goes on from the last save.
//!
//! ```text
//! game              all of it, in a temporary folder; fails if anything is off
//! game play DIR     plays in DIR/world.tvx until it is killed
//! game finish DIR   plays until everything was seen
//! game check DIR    compares DIR/world.tvx with what the games said (DIR/heard.txt)
//! ```

mod bodies;
mod check;
mod deeds;
mod jobs;
mod play;
mod save;
mod world;

use check::Heard;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use terravox::terrain::Placement;
use terravox_store::{Overwrite, Store, WorldInfo};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Files of a folder.
pub const WORLD: &str = "world.tvx";
pub const HEARD: &str = "heard.txt";

/// What the first game does before it is killed.
const SAVES: u32 = 3;
const DEEDS: usize = 25;

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
    let kill_when = |heard: &Heard| {
        let is_saving = heard.begun.last().is_some_and(|begun| begun.0 > heard.saved);
        heard.saved >= SAVES && heard.deeds.len() >= DEEDS && is_saving
    };
    for (what, kill) in [("play", true), ("check", false), ("finish", false), ("check", false)] {
        println!("game {what}{}", if kill { ", killed" } else { "" });
        said.extend(run(what, &folder, |heard| kill && kill_when(heard))?);
        fs::write(folder.join(HEARD), said.join("\n"))?;
    }
    Ok(fs::remove_dir_all(&folder)?)
}

/// Runs this program on a folder and kills it when told to. Returns the lines that it said.
fn run(what: &str, folder: &Path, kill_when: impl Fn(&Heard) -> bool) -> Result<Vec<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.arg(what).arg(folder).stdout(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let (mut heard, mut lines, mut is_killed) = (Heard::default(), Vec::new(), false);
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        // A kill may have cut off the last line; whole ones before it were said all the same.
        if let Some(whole) = line.strip_suffix('\n') {
            heard.line(whole)?;
            lines.push(whole.to_owned());
        }
        line.clear();
        if !is_killed && kill_when(&heard) {
            child.kill()?;
            is_killed = true;
        }
    }
    ensure(child.wait()?.success() != is_killed, &format!("game {what} failed"))?;
    Ok(lines)
}
