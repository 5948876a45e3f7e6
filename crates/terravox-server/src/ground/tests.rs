//! Ground that ticks wait for.

use super::*;
use std::sync::{Condvar, Mutex};
use std::time::Instant;
use terravox::terrain::{Placement, UnsavedChanges};
use terravox::voxel::{UnlistedChunks, VoxelGrid};
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
        ground.begin_tick();
        let fill = |request: &mut FillRequest<'_>| ground.fill(request, generate);
        FillRequest::fill_block(&mut cells, block, Placement::default(), fill)
            .then(|| cells.materials()[0])
    };
    // On a machine that is busy, an answer may take longer than a moment.
    let first = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
    let second = std::iter::repeat_with(|| fill(2)).find_map(|found| found);
    assert_eq!((first, second), (Some(8), Some(5)));
    silence.set(true);
    let start = Instant::now();
    assert!((0..1000).all(|_| fill(1).is_none() && fill(2).is_none() && fill(3).is_none()));
    // Not one for each of a thousand ticks.
    assert!(start.elapsed() < 300 * MAX_WAIT, "{:?}", start.elapsed());
    silence.set(false);
    let found = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
    let second = std::iter::repeat_with(|| fill(2)).find_map(|found| found);
    assert_eq!((found, second), (Some(8), Some(5)));
    assert_eq!(std::iter::repeat_with(|| fill(1)).find_map(|found| found), Some(8));
    while fill(3).is_none() {}
    // What comes after a save began is read again.
    silence.set(true);
    assert_eq!(fill(1), None);
    ground.note_save([ChunkPos::new(1, 0, 0)].into_iter());
    silence.set(false);
    let found = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
    assert_eq!(found, Some(8));
}
