//! The thread that saves a world in the background.

use crate::log::warn;
use std::io;
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

/// After a save that failed, at least; twice as long after each further one, up to the second time.
const FIRST_FAILURE_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_FAILURE_PAUSE: Duration = Duration::from_secs(20);

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
    /// The state of the records of borders in it.
    pub borders: u64,
    /// Edits of guests that it has.
    pub point: SavePoint,
    /// Who waits for it.
    pub waiting: Vec<SavedSender>,
}

/// A save that has ended.
pub(crate) struct FinishedSave {
    pub job: SaveJob,
    pub result: Result<(), StoreError>,
    pub took: Duration,
}

/// The thread that writes. If none can be started, the caller's writes.
pub(crate) struct Saver {
    store: Arc<Store>,
    generate: Generate,
    thread: Option<SaverThread>,
    /// A save that the caller's thread made.
    made_here: Option<FinishedSave>,
    is_busy: bool,
    /// When the last save began.
    began: Instant,
    is_dead: bool,
    rests_since: Instant,
    pause: Duration,
    /// Saves that failed since the last one that did not.
    failures: u32,
}

struct SaverThread {
    /// Taken at the end, which ends the thread.
    jobs: Option<Sender<SaveJob>>,
    handle: Option<JoinHandle<()>>,
    finished: Receiver<FinishedSave>,
}

impl SaverThread {
    /// # Errors
    /// If the system has no thread left.
    fn start(store: Arc<Store>, generate: Generate) -> io::Result<SaverThread> {
        let (to_thread, jobs) = mpsc::channel::<SaveJob>();
        let (done, finished) = mpsc::channel();
        let named = thread::Builder::new().name("terravox-save".to_owned());
        let handle = named.spawn(move || {
            for job in jobs {
                if done.send(save(&store, &generate, job)).is_err() {
                    return;
                }
            }
        })?;
        Ok(SaverThread { jobs: Some(to_thread), handle: Some(handle), finished })
    }
}

fn save(store: &Store, generate: &Generate, job: SaveJob) -> FinishedSave {
    let begin = Instant::now();
    let fill = |request: &mut FillRequest<'_>| store.fill(request, &**generate);
    let result = store.save(&job.unsaved, fill).map(drop);
    FinishedSave { job, result, took: begin.elapsed() }
}

impl Saver {
    /// `pause`: between the end of a save and the next.
    pub fn start(store: Arc<Store>, generate: Generate, pause: Duration) -> Saver {
        let thread = SaverThread::start(store.clone(), generate.clone());
        let thread = thread.inspect_err(|error| warn!("saves delay the world: {error}")).ok();
        Saver::with_thread(store, generate, pause, thread)
    }

    fn with_thread(
        store: Arc<Store>,
        generate: Generate,
        pause: Duration,
        thread: Option<SaverThread>,
    ) -> Saver {
        Saver {
            store,
            generate,
            thread,
            made_here: None,
            is_busy: false,
            began: Instant::now(),
            is_dead: false,
            rests_since: Instant::now(),
            pause,
            failures: 0,
        }
    }

    /// Starts another thread, after the last one died in a save.
    pub fn restart(&mut self) {
        let failures = self.failures + 1;
        *self = Saver::start(self.store.clone(), self.generate.clone(), self.pause);
        self.failures = failures;
    }

    /// Time between the end of the last save and the next. What failed may fail for long, and each time all
    /// that is unsaved is encoded.
    fn rest(&self) -> Duration {
        let Some(doublings) = self.failures.checked_sub(1) else { return self.pause };
        let longer = FIRST_FAILURE_PAUSE * (1 << doublings.min(5));
        self.pause.max(longer.min(LONGEST_FAILURE_PAUSE))
    }

    /// Whether the next save may begin; one that is urgent does not wait for a pause.
    pub fn is_ready(&self, is_urgent: bool) -> bool {
        !self.is_busy && (is_urgent || self.rests_since.elapsed() >= self.rest())
    }

    pub fn begin(&mut self, job: SaveJob) {
        (self.is_busy, self.began) = (true, Instant::now());
        match self.thread.as_ref().and_then(|thread| thread.jobs.as_ref()) {
            // One that has died is seen at the next look.
            Some(jobs) => drop(jobs.send(job)),
            None => self.made_here = Some(save(&self.store, &self.generate, job)),
        }
    }

    /// When the save began that is under way, if one is.
    pub fn busy_since(&self) -> Option<Instant> {
        self.is_busy.then_some(self.began)
    }

    /// Returns the save that has ended since the last call, if one has.
    pub fn finished(&mut self) -> Option<FinishedSave> {
        let finished = match &self.thread {
            Some(thread) => thread.finished.try_recv(),
            None => self.made_here.take().ok_or(TryRecvError::Empty),
        };
        self.is_dead = matches!(finished, Err(TryRecvError::Disconnected));
        self.note_rest(finished.ok())
    }

    /// Waits for the save that was begun, if there is one, and returns what was saved.
    pub fn wait(&mut self) -> Option<FinishedSave> {
        let finished = match &self.thread {
            Some(thread) if self.is_busy => thread.finished.recv().ok(),
            Some(_) => None,
            None => self.made_here.take(),
        };
        self.is_dead = self.is_busy && finished.is_none();
        self.note_rest(finished)
    }

    fn note_rest(&mut self, finished: Option<FinishedSave>) -> Option<FinishedSave> {
        if let Some(FinishedSave { result, .. }) = &finished {
            (self.is_busy, self.rests_since) = (false, Instant::now());
            self.failures = if result.is_ok() { 0 } else { self.failures + 1 };
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
        let Some(thread) = &mut self.thread else { return };
        thread.jobs = None;
        if let Some(handle) = thread.handle.take() {
            // A panic was reported when it happened.
            let _ = handle.join();
        }
    }
}

/// Tells all who waited for a save. Dropped receivers are ignored.
pub(crate) fn tell(waiting: Vec<SavedSender>, result: &Result<(), String>) {
    for sender in waiting {
        let _ = sender.send(result.clone());
    }
}

#[cfg(test)]
#[path = "../../terravox-store/tests/it/failing_disk/mod.rs"]
mod failing_disk;

#[cfg(test)]
mod tests {
    use super::failing_disk::FullDisk;
    use super::*;
    use terravox::terrain::Placement;
    use terravox::voxel::{ChunkPos, DenseBox, VoxelGrid};
    use terravox_store::{MemoryDisk, WorldInfo};

    fn world() -> Arc<Store> {
        let info = WorldInfo::complete(Placement::default());
        Arc::new(Store::create_on(Arc::new(MemoryDisk::default()), "world", &info).unwrap())
    }

    /// Saves a chunk; returns whether the saver said that it is saved.
    fn saves_a_chunk(saver: &mut Saver, x: i32) -> bool {
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(ChunkPos::new(x, 0, 0).region());
        cells.fill(8);
        grid.write(&cells).unwrap();
        let unsaved = UnsavedChanges::from(grid.unsaved());
        let point = SavePoint::default();
        assert!(saver.is_ready(true) && saver.wait().is_none() && !saver.has_died());
        saver.begin(SaveJob {
            unsaved,
            edits: 1,
            pieces: 0,
            borders: 0,
            point,
            waiting: Vec::new(),
        });
        assert!(!saver.is_ready(true) && saver.busy_since().is_some());
        let finished = saver.wait();
        assert!(saver.wait().is_none() && saver.finished().is_none());
        assert!(finished.is_none() || saver.busy_since().is_none());
        finished.is_some_and(|finished| finished.result.is_ok())
    }

    #[test]
    fn without_a_thread_saves_are_made_by_the_caller() {
        let (store, generate): (_, Generate) = (world(), Arc::new(|_| {}));
        let mut saver = Saver::with_thread(store.clone(), generate.clone(), SAVE_PAUSE, None);
        assert!(saves_a_chunk(&mut saver, 1) && saves_a_chunk(&mut saver, 2));
        assert!(!saver.has_died());
        let mut saver = Saver::start(store.clone(), generate, SAVE_PAUSE);
        assert!(saves_a_chunk(&mut saver, 3));
        assert_eq!(store.chunks().unwrap().len(), 3);
    }

    #[test]
    fn a_thread_that_died_before_a_save_is_seen_when_that_is_waited_for() {
        let (store, generate): (_, Generate) = (world(), Arc::new(|_| {}));
        let mut saver = Saver::start(store, generate, SAVE_PAUSE);
        let thread = saver.thread.as_mut().unwrap();
        let (jobs, finished) = (mpsc::channel().0, mpsc::channel().1);
        (thread.jobs, thread.finished) = (Some(jobs), finished);
        assert!(!saves_a_chunk(&mut saver, 1));
        // It is said until another thread is started.
        assert!(saver.has_died());
        saver.restart();
        assert_eq!(saver.rest(), SAVE_PAUSE.max(FIRST_FAILURE_PAUSE));
        assert!(saves_a_chunk(&mut saver, 1) && saver.rest() == SAVE_PAUSE);
    }

    #[test]
    fn saves_that_fail_are_repeated_ever_more_rarely() {
        let disk = Arc::new(FullDisk::default());
        let info = WorldInfo::complete(Placement::default());
        let store = Arc::new(Store::create_on(disk.clone(), "world", &info).unwrap());
        let mut saver = Saver::start(store, Arc::new(|_| {}), SHARED_SAVE_PAUSE);
        assert_eq!(saver.rest(), SHARED_SAVE_PAUSE);
        disk.fail(0, u64::MAX);
        let rests = [1, 2, 4, 8, 16, 20, 20, 20].map(Duration::from_secs);
        for (x, rest) in rests.into_iter().enumerate() {
            assert!(!saves_a_chunk(&mut saver, x as i32));
            assert_eq!(saver.rest(), rest);
        }
        disk.fail(0, 0);
        assert!(saves_a_chunk(&mut saver, 9) && saver.rest() == SHARED_SAVE_PAUSE);
    }
}
