//! Saving on a thread of one's own while the game digs in every frame; the first save fails.
//! Nothing is lost, and the frames do not wait.
//!
//! `cargo run --release -p terravox-store --example autosave`

use std::error::Error;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::terrain::{FillRequest, Placement, Terrain, TerrainOptions, UnsavedChanges};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

const FRAMES: u32 = 380;

/// What the rest of a frame takes.
const FRAME: Duration = Duration::from_millis(2);

/// Edge of the place that is dug up, metres.
const EDGE: f64 = 120.0;

fn generate(request: &mut FillRequest<'_>) {
    if request.block().pos.y < 0 {
        request.cells().fill(8);
    }
}

/// Digs somewhere: a stroke in every frame.
fn dig(terrain: &mut Terrain, frame: u32) -> Result<(), Box<dyn Error>> {
    let along = |step: u32| f64::from(frame * step % 97) / 97.0 * (EDGE - 20.0) - EDGE / 2.0 + 10.0;
    let depth = 3.0 + 3.0 * f64::from(frame / 97);
    terrain.edit(&EditOp::dig_ball([along(7), -depth, along(31)], 4.0))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("autosave-{}.tvx", std::process::id()));
    let generator = Generator { name: "flat".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let store = Store::create(&path, &info, Overwrite::Yes)?.finish()?;
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    let mut terrain = store.terrain(TerrainOptions::default())?;
    let place = [[-EDGE / 2.0, -20.0, -EDGE / 2.0], [EDGE / 2.0, 10.0, EDGE / 2.0]];
    terrain.hold(place[0], place[1], fill)?;

    let (to_saver, unsaved_of_game) = mpsc::channel::<UnsavedChanges>();
    let (to_game, saved) = mpsc::channel::<(UnsavedChanges, Result<(), StoreError>)>();
    let (mut saves, mut failures, mut longest) = (0, 0, Duration::ZERO);
    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let store = &store;
        scope.spawn(move || {
            for (i, unsaved) in unsaved_of_game.into_iter().enumerate() {
                // The first time the generator fails, as if its server were down.
                let done = store.save(&unsaved, |request| match i {
                    0 => request.set_missing(),
                    _ => store.fill(request, generate),
                });
                if to_game.send((unsaved, done.map(drop))).is_err() {
                    return;
                }
            }
        });
        let mut waiting = false;
        for frame in 0..FRAMES {
            dig(&mut terrain, frame)?;
            if let Ok((unsaved, done)) = saved.try_recv() {
                waiting = false;
                match done {
                    Ok(()) => {
                        terrain.mark_saved(&unsaved);
                        saves += 1;
                    }
                    Err(error) => {
                        println!("{error}"); // all of it stays unsaved, and goes next time
                        failures += 1;
                    }
                }
            }
            if !waiting && !terrain.is_saved() {
                let start = Instant::now();
                to_saver.send(terrain.unsaved())?;
                longest = longest.max(start.elapsed());
                waiting = true;
            }
            std::thread::sleep(FRAME);
        }
        drop(to_saver);
        Ok(())
    })?;
    // The end of the game: what is left, here.
    let unsaved = terrain.unsaved();
    store.save(&unsaved, fill)?;
    terrain.mark_saved(&unsaved);
    println!("{FRAMES} strokes, {saves} saves meanwhile, {failures} failed");
    println!("handing over what is unsaved took {} µs at most", longest.as_micros());

    let mut again = store.terrain(TerrainOptions::default())?;
    again.hold(place[0], place[1], fill)?;
    assert_eq!(again.grid().digest()?, terrain.grid().digest()?, "not a cell is lost");
    let strokes = again.history_mut().stats().undoable;
    assert_eq!(strokes, terrain.history_mut().stats().undoable);
    println!("opened again: every cell is there, and {strokes} strokes to undo");
    drop(store);
    std::fs::remove_file(path)?;
    Ok(())
}
