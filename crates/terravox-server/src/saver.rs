//! The thread that saves a world in the background.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::replicate::SavePoint;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox_store::{Store, StoreError};
use tokio::sync::oneshot;

/// Between the end of a save and the next.
pub(crate) const SAVE_PAUSE: Duration = Duration::from_secs(2);

/// The same in a world that servers share: they see what is saved.
pub(crate) const SHARED_SAVE_PAUSE: Duration = Duration::from_millis(20);

/// Makes the cells of a block, as the generator of a world.
pub type Generate = Arc<dyn Fn(&mut FillRequest<'_>) + Send + Sync>;

/// Tells that a save ended, and how.
pub(crate) type SavedSender = oneshot::Sender<Result<(), String>>;

/// What is to be saved.
pub(crate) struct SaveJob {
    pub unsaved: UnsavedChanges,
    /// Edits before it began.
    pub edits: u64,
    /// The state of the falling pieces in it.
    pub pieces: u64,
    /// Edits of guests that it has.
    pub point: SavePoint,
    /// Who waits for it.
    pub waiting: Vec<SavedSender>,
}

/// A save that has ended.
pub(crate) struct FinishedSave {
    pub job: SaveJob,
    pub result: Result<(), StoreError>,
}

/// The thread that writes.
pub(crate) struct Saver {
    /// Taken at the end, which ends the thread.
    to_thread: Option<Sender<SaveJob>>,
    thread: Option<JoinHandle<()>>,
    finished: Receiver<FinishedSave>,
    is_busy: bool,
    is_dead: bool,
    rests_since: Instant,
    pause: Duration,
}

impl Saver {
    /// `pause`: between the end of a save and the next.
    pub fn start(store: Arc<Store>, generate: Generate, pause: Duration) -> Saver {
        let (to_thread, jobs) = mpsc::channel::<SaveJob>();
        let (done, finished) = mpsc::channel();
        let named = thread::Builder::new().name("terravox-save".to_owned());
        let run = move || {
            for job in jobs {
                let fill = |request: &mut FillRequest<'_>| store.fill(request, &*generate);
                let result = store.save(&job.unsaved, fill).map(drop);
                if done.send(FinishedSave { job, result }).is_err() {
                    return;
                }
            }
        };
        // Without a thread, it counts as dead, and the next one is tried.
        let thread = named.spawn(run).ok();
        let to_thread = Some(to_thread);
        Saver {
            to_thread,
            thread,
            finished,
            is_busy: false,
            is_dead: false,
            rests_since: Instant::now(),
            pause,
        }
    }

    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Whether the next save may begin; one that is urgent does not wait for a pause.
    pub fn is_ready(&self, is_urgent: bool) -> bool {
        !self.is_busy && (is_urgent || self.rests_since.elapsed() >= self.pause)
    }

    pub fn begin(&mut self, job: SaveJob) {
        if let Some(thread) = &self.to_thread {
            self.is_busy = thread.send(job).is_ok();
        }
    }

    /// Returns the save that has ended since the last call, if one has.
    pub fn finished(&mut self) -> Option<FinishedSave> {
        let finished = self.finished.try_recv();
        self.is_dead = matches!(finished, Err(TryRecvError::Disconnected));
        self.note_rest(finished.ok())
    }

    /// Waits for the save that was begun, if there is one, and returns what was saved.
    pub fn wait(&mut self) -> Option<FinishedSave> {
        let finished = if self.is_busy { self.finished.recv().ok() } else { None };
        self.is_dead = self.is_busy && finished.is_none();
        self.note_rest(finished)
    }

    fn note_rest(&mut self, finished: Option<FinishedSave>) -> Option<FinishedSave> {
        if finished.is_some() {
            (self.is_busy, self.rests_since) = (false, Instant::now());
        }
        finished
    }

    /// Whether the thread ended without being told to, as of the last look at what it finished.
    pub fn has_died(&self) -> bool {
        self.is_dead
    }
}

/// Waits until the file is closed, so that it can be opened again.
impl Drop for Saver {
    fn drop(&mut self) {
        self.to_thread = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Tells all who waited for a save. Who went away meanwhile need not know.
pub(crate) fn tell(waiting: Vec<SavedSender>, result: &Result<(), String>) {
    for sender in waiting {
        let _ = sender.send(result.clone());
    }
}
