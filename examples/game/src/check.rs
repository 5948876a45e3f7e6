//! Whether a world file has what the game promised.

use crate::deeds::{Deed, hold};
use crate::save::State;
use crate::world::Land;
use crate::{HEARD, Result, WORLD, ensure};
use std::fs;
use std::path::Path;
use terravox::terrain::{Part, Terrain, TerrainOptions};
use terravox_store::Store;

/// What a game said.
#[derive(Default)]
pub struct Heard {
    pub deeds: Vec<Deed>,
    /// Saves that were begun: number, deeds, and where the player was.
    pub begun: Vec<(u32, u32, [f64; 3])>,
    /// The last save that was acknowledged.
    pub saved: u32,
}

impl Heard {
    pub fn line(&mut self, line: &str) -> Result<()> {
        let mut words = line.split(' ');
        let word = words.next();
        let numbers = words.map(str::parse::<f64>).collect::<std::result::Result<Vec<_>, _>>()?;
        match (word, &numbers[..]) {
            // What was done after the last save, before a kill, never happened.
            (Some("resumed"), &[deeds]) => self.deeds.truncate(deeds as usize),
            (Some("deed"), deed) => self.deeds.push(Deed::from_numbers(deed)?),
            (Some("saving"), &[save, deeds, x, y, z]) => {
                self.begun.push((save as u32, deeds as u32, [x, y, z]));
            }
            (Some("saved"), &[save]) => self.saved = save as u32,
            _ => return Err(format!("not understood: {line}").into()),
        }
        Ok(())
    }
}

/// Opens the world of a folder and compares it with what the generator and the deeds make.
pub fn check(folder: &Path) -> Result<()> {
    let mut heard = Heard::default();
    for line in fs::read_to_string(folder.join(HEARD))?.lines() {
        heard.line(line)?;
    }
    let (mut store, land) = (Store::open(folder.join(WORLD))?, Land::new());
    let state = State::load(&store)?.ok_or("nothing is saved")?;
    // One save more may be on disk than was acknowledged, and then all of it.
    ensure(heard.saved > 0 && state.save >= heard.saved, "a promised save is lost")?;
    let is_known = heard.begun.contains(&(state.save, state.deeds, state.player));
    ensure(is_known, "the player is not where he was saved")?;

    let deeds = &heard.deeds[..state.deeds as usize];
    let fill = |part: &mut Part<'_>| land.fill(part);
    let mut stored = store.terrain(TerrainOptions::default())?;
    hold(&mut stored, deeds, |part| store.fill(part, fill))?;
    let (mut expected, mut untouched) = (Terrain::default(), Terrain::default());
    hold(&mut expected, deeds, fill)?;
    hold(&mut untouched, deeds, fill)?;
    for deed in deeds {
        deed.apply(&mut expected, fill)?;
    }
    let is_same = |one: &Terrain, other: &Terrain| -> Result<bool> {
        Ok(one.grid().digest()? == other.grid().digest()?)
    };
    ensure(is_same(&stored, &expected)?, "the ground is not what was made of it")?;
    let strokes = stored.history_mut().stats();
    let known = expected.history_mut().stats();
    ensure((strokes.undo, strokes.redo) == (known.undo, known.redo), "the history differs")?;
    ensure(stored.undo()?.is_some(), "nothing can be undone")?;
    expected.undo()?;
    ensure(is_same(&stored, &expected)?, "undo makes something else")?;
    while stored.undo()?.is_some() {}
    ensure(is_same(&stored, &untouched)?, "the land is not as it was before all deeds")?;
    ensure(store.verify()?.bad.is_empty(), "the file is damaged")?;
    eprintln!("  save {}: {} deeds, {} can be undone", state.save, state.deeds, strokes.undo);
    Ok(())
}
