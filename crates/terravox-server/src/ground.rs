//! The ground of a world that grows, as its ticks ask for it: what is stored, else what the generator
//! makes. A database that is silent must not stop the ticks, so what it stores is read by a thread, which
//! a tick waits for only a moment.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use terravox::terrain::FillRequest;
use terravox::voxel::{DenseBox, MipBlock};
use terravox_store::{Store, StoreError};
use tracing::warn;

/// How long a tick waits for one block. After that, all stored blocks are missing until the answer is here.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// The stored cells of a block; `None` if there are none.
type StoredBlock = Result<Option<DenseBox>, StoreError>;

/// What is stored of a world.
pub(crate) struct StoredGround {
    store: Arc<Store>,
    /// Of a world in a database.
    reader: Option<GroundReader>,
}

impl StoredGround {
    pub fn new(store: Arc<Store>) -> StoredGround {
        let reader = store.is_in_records().then(|| GroundReader::start(store.clone()));
        let reader = reader.and_then(|started| {
            started.inspect_err(|error| warn!("a silent database delays the world: {error}")).ok()
        });
        StoredGround { store, reader }
    }

    /// Notes that a save begins.
    pub fn note_save(&self) {
        if let Some(reader) = &self.reader {
            reader.saves.set(reader.saves.get() + 1);
        }
    }

    /// [`Store::fill`]; a block that does not come at once is missing, and is asked for again later.
    pub fn fill(&self, request: &mut FillRequest<'_>, generate: impl FnOnce(&mut FillRequest<'_>)) {
        let Some(reader) = &self.reader else { return self.store.fill(request, generate) };
        match reader.read(request.block()) {
            Some(Ok(Some(cells))) => request.cells().clone_from(&cells),
            Some(Ok(None)) if self.store.info().grows() => generate(request),
            Some(Ok(None)) => drop(request.cells()),
            Some(Err(_)) | None => request.set_missing(),
        }
    }
}

/// The thread that reads.
struct GroundReader {
    /// Taken at the end, which ends the thread.
    wanted: Option<Sender<MipBlock>>,
    read: Receiver<(MipBlock, StoredBlock)>,
    /// How many saves were begun.
    saves: Cell<u64>,
    /// Before which save a block was asked for that has not come.
    waiting_since: Cell<Option<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl GroundReader {
    /// # Errors
    /// If the system has no thread left.
    fn start(store: Arc<Store>) -> io::Result<GroundReader> {
        let (wanted, blocks) = mpsc::channel::<MipBlock>();
        let (sender, read) = mpsc::channel();
        let thread =
            thread::Builder::new().name("terravox-ground".to_owned()).spawn(move || {
                for block in blocks {
                    let mut cells = DenseBox::default();
                    let found =
                        store.block(block, &mut cells).map(|stored| stored.then_some(cells));
                    if sender.send((block, found)).is_err() {
                        return;
                    }
                }
            })?;
        let (wanted, thread) = (Some(wanted), Some(thread));
        let (saves, waiting_since) = (Cell::new(0), Cell::new(None));
        Ok(GroundReader { wanted, read, saves, waiting_since, thread })
    }

    /// Reads a block; `None` if that takes too long, or an earlier one still does.
    fn read(&self, block: MipBlock) -> Option<StoredBlock> {
        if let Some(since) = self.waiting_since.get() {
            let (late, found) = self.read.try_recv().ok()?;
            self.waiting_since.set(None);
            // What was saved meanwhile may not be in it.
            if late == block && since == self.saves.get() {
                return Some(found);
            }
        }
        self.wanted.as_ref()?.send(block).ok()?;
        match self.read.recv_timeout(MAX_WAIT) {
            Ok((_, found)) => Some(found),
            Err(RecvTimeoutError::Timeout) => {
                self.waiting_since.set(Some(self.saves.get()));
                None
            }
            // A panic was reported when it happened.
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }
}

/// Waits until the world is closed, unless the database is silent.
impl Drop for GroundReader {
    fn drop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take().filter(|_| self.waiting_since.get().is_none()) {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};
    use std::time::Instant;
    use terravox::terrain::{Placement, UnsavedChanges};
    use terravox::voxel::{ChunkPos, UnlistedChunks, VoxelGrid};
    use terravox_store::{
        CommitFailure, MemoryRecords, RecordChanges, RecordTotals, Records, RecordsView, WorldInfo,
        WorldRecord,
    };

    /// Whether a database is silent.
    #[derive(Clone, Default)]
    struct Silence(Arc<(Mutex<bool>, Condvar)>);

    impl Silence {
        fn set(&self, is_silent: bool) {
            *self.0.0.lock().unwrap() = is_silent;
            self.0.1.notify_all();
        }

        fn wait(&self) {
            drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |is_silent| *is_silent).unwrap());
        }
    }

    /// Records of a database, and what they are while it is silent.
    struct Database(MemoryRecords, Silence);

    struct View(Box<dyn RecordsView>, Silence);

    impl Records for Database {
        fn view(&self) -> io::Result<Box<dyn RecordsView>> {
            Ok(Box::new(View(self.0.view()?, self.1.clone())))
        }

        fn commit(&self, changes: RecordChanges) -> Result<(), CommitFailure> {
            self.0.commit(changes)
        }
    }

    impl RecordsView for View {
        fn get(&self, keys: &[&[u8]]) -> io::Result<Vec<WorldRecord>> {
            self.1.wait();
            self.0.get(keys)
        }

        fn scan(
            &self,
            low: &[u8],
            high: Option<&[u8]>,
            limit: usize,
            with_values: bool,
        ) -> io::Result<Vec<WorldRecord>> {
            self.0.scan(low, high, limit, with_values)
        }

        fn totals(&self) -> io::Result<RecordTotals> {
            self.0.totals()
        }
    }

    #[test]
    fn a_silent_database_costs_one_moment_and_its_cells_come_later() {
        let silence = Silence::default();
        let database = Arc::new(Database(MemoryRecords::default(), silence.clone()));
        let info = WorldInfo { unlisted: UnlistedChunks::Unknown, ..WorldInfo::default() };
        let store = Arc::new(Store::create_records(database, "world", &info).unwrap());
        let mut grid = VoxelGrid::default();
        let mut cells = DenseBox::new(ChunkPos::new(1, 0, 0).region());
        cells.fill(8);
        grid.write(&cells).unwrap();
        let generate = |request: &mut FillRequest<'_>| request.fill(5);
        store.save(&UnsavedChanges::from(grid.unsaved()), generate).unwrap();
        let ground = StoredGround::new(store);
        let mut fill = |x: i32| {
            let block = ChunkPos::new(x, 0, 0).into();
            let fill = |request: &mut FillRequest<'_>| ground.fill(request, generate);
            FillRequest::fill_block(&mut cells, block, Placement::default(), fill)
                .then(|| cells.materials()[0])
        };
        assert_eq!([fill(1), fill(2)], [Some(8), Some(5)]);
        silence.set(true);
        let start = Instant::now();
        assert!((0..1000).all(|_| fill(1).is_none() && fill(2).is_none()));
        assert!(start.elapsed() < 20 * MAX_WAIT, "{:?}", start.elapsed());
        silence.set(false);
        let found = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
        assert_eq!((found, fill(2), fill(1)), (Some(8), Some(5), Some(8)));
        // What comes after a save began is read again.
        silence.set(true);
        assert_eq!(fill(1), None);
        ground.note_save();
        silence.set(false);
        let found = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
        assert_eq!(found, Some(8));
    }
}
