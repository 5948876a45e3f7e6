//! What the game keeps beside the ground, and the thread that writes both.

use crate::Result;
use crate::world::Land;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use terravox::terrain::{Terrain, UnsavedChanges};
use terravox_store::{Store, StoreError};

/// Name of the game's bytes in the world file.
const NAME: &str = "game";

/// The state of the game without the ground; points are on the map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Number of the save.
    pub save: u32,
    /// Strokes so far.
    pub strokes: u32,
    pub player: [f64; 3],
    pub bodies: Vec<[f64; 3]>,
}

impl State {
    pub fn to_bytes(&self) -> Vec<u8> {
        let points = [self.player].into_iter().chain(self.bodies.iter().copied());
        let points = points.flatten().flat_map(f64::to_le_bytes);
        [self.save, self.strokes].into_iter().flat_map(u32::to_le_bytes).chain(points).collect()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<State> {
        let (numbers, points) = bytes.split_at_checked(8)?;
        let [save, strokes] = [0, 4].map(|i| std::array::from_fn(|j| numbers[i + j]));
        let number = |bytes: &[u8]| Some(f64::from_le_bytes(bytes.try_into().ok()?));
        let point = |bytes: &[u8]| {
            Some([number(&bytes[..8])?, number(&bytes[8..16])?, number(&bytes[16..])?])
        };
        let mut points =
            points.chunks(24).map(|bytes| (bytes.len() == 24).then(|| point(bytes))?);
        Some(State {
            save: u32::from_le_bytes(save),
            strokes: u32::from_le_bytes(strokes),
            player: points.next()??,
            bodies: points.collect::<Option<_>>()?,
        })
    }

    /// The state in a world file; `None` in a new world.
    pub fn load(store: &Store) -> Result<Option<State>> {
        let Some(bytes) = store.extra(NAME)? else { return Ok(None) };
        Ok(Some(State::from_bytes(&bytes).ok_or("the bytes of the game make no sense")?))
    }
}

/// Saves on a thread of its own, while the game goes on.
pub struct Saver {
    /// `None` once the thread shall end.
    work: Option<Sender<(u32, UnsavedChanges)>>,
    written: Receiver<(UnsavedChanges, std::result::Result<(), StoreError>)>,
    thread: Option<JoinHandle<()>>,
    pub is_busy: bool,
    pub completed: u32,
}

impl Saver {
    pub fn start(store: Arc<Store>, land: Land) -> Saver {
        let (work, to_save) = mpsc::channel::<(u32, UnsavedChanges)>();
        let (done, written) = mpsc::channel();
        let thread = thread::spawn(move || {
            for (number, unsaved) in to_save {
                let saved = store
                    .save(&unsaved, |request| store.fill(request, |request| land.fill(request)));
                if saved.is_ok() {
                    println!("saved {number}"); // a promise: no kill takes it away
                }
                if done.send((unsaved, saved.map(drop))).is_err() {
                    return;
                }
            }
        });
        Saver { work: Some(work), written, thread: Some(thread), is_busy: false, completed: 0 }
    }

    /// Starts to save the world as it is now.
    pub fn save(&mut self, terrain: &Terrain, state: &State) {
        let [x, y, z] = state.player;
        println!("saving {} {} {x} {y} {z}", state.save, state.strokes);
        let unsaved = terrain.unsaved().with_data(NAME, state.to_bytes());
        let work = self.work.as_ref().expect("there until dropped");
        work.send((state.save, unsaved)).expect("the thread goes on as long");
        self.is_busy = true;
    }

    /// Takes in what was written; waits for it if `wait`.
    pub fn poll(&mut self, terrain: &mut Terrain, wait: bool) -> Result<()> {
        let done = match self.is_busy && wait {
            true => self.written.recv().ok(),
            false => self.written.try_recv().ok(),
        };
        if let Some((unsaved, saved)) = done {
            saved?;
            terrain.mark_saved(&unsaved);
            self.is_busy = false;
            self.completed += 1;
        }
        Ok(())
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.work = None;
        self.thread.take().map(JoinHandle::join);
    }
}
