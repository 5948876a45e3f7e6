//! Whether a world file has what the game promised.

use crate::save::State;
use crate::strokes::{Stroke, hold};
use crate::world::Land;
use crate::{LOG, Result, WORLD, ensure};
use std::fs;
use std::path::Path;
use terravox::terrain::{FillRequest, Terrain, TerrainOptions};
use terravox_store::Store;

/// What a game printed.
#[derive(Default)]
pub struct Log {
    pub strokes: Vec<Stroke>,
    /// Saves that were begun: number, strokes, and where the player was.
    pub begun: Vec<(u32, u32, [f64; 3])>,
    /// The last save that was acknowledged.
    pub saved: u32,
}

impl Log {
    pub fn line(&mut self, line: &str) -> Result<()> {
        let mut words = line.split(' ');
        let word = words.next();
        let numbers = words.map(str::parse::<f64>).collect::<std::result::Result<Vec<_>, _>>()?;
        match (word, &numbers[..]) {
            // What was done after the last save, before a kill, never happened.
            (Some("resumed"), &[strokes]) => self.strokes.truncate(strokes as usize),
            (Some("stroke"), stroke) => self.strokes.push(Stroke::from_numbers(stroke)?),
            (Some("saving"), &[save, strokes, x, y, z]) => {
                self.begun.push((save as u32, strokes as u32, [x, y, z]));
            }
            (Some("saved"), &[save]) => self.saved = save as u32,
            _ => return Err(format!("not understood: {line}").into()),
        }
        Ok(())
    }
}

/// Opens the world of a folder and compares it with what the generator and the strokes make.
pub fn check(folder: &Path) -> Result<()> {
    let mut log = Log::default();
    for line in fs::read_to_string(folder.join(LOG))?.lines() {
        log.line(line)?;
    }
    let (store, land) = (Store::open(folder.join(WORLD))?, Land::new());
    let state = State::load(&store)?.ok_or("nothing is saved")?;
    // One save more may be on disk than was acknowledged, and then all of it.
    ensure(log.saved > 0, "no save was acknowledged")?;
    ensure(state.save >= log.saved, "an acknowledged save is lost")?;
    let is_known = log.begun.contains(&(state.save, state.strokes, state.player));
    ensure(is_known, "the player is not where he was saved")?;

    let strokes = &log.strokes[..state.strokes as usize];
    let fill = |request: &mut FillRequest<'_>| land.fill(request);
    let mut stored = store.terrain(TerrainOptions::default())?;
    hold(&mut stored, strokes, |request| store.fill(request, fill))?;
    let (mut expected, mut untouched) = (Terrain::default(), Terrain::default());
    hold(&mut expected, strokes, fill)?;
    hold(&mut untouched, strokes, fill)?;
    for stroke in strokes {
        stroke.apply(&mut expected, fill)?;
    }
    let is_same = |one: &Terrain, other: &Terrain| -> Result<bool> {
        Ok(one.grid().digest()? == other.grid().digest()?)
    };
    ensure(is_same(&stored, &expected)?, "the ground is not what was made of it")?;
    let history = stored.history_mut().stats();
    let known = expected.history_mut().stats();
    ensure(
        (history.undoable, history.redoable) == (known.undoable, known.redoable),
        "the history differs",
    )?;
    ensure(stored.undo()?.is_some(), "nothing can be undone")?;
    expected.undo()?;
    ensure(is_same(&stored, &expected)?, "undo makes something else")?;
    while stored.undo()?.is_some() {}
    ensure(is_same(&stored, &untouched)?, "the land is not as it was before all strokes")?;
    ensure(store.verify()?.bad.is_empty(), "the file is damaged")?;
    eprintln!(
        "  save {}: {} strokes, {} can be undone",
        state.save, state.strokes, history.undoable
    );
    Ok(())
}
