//! Ground that ticks wait for.

#[path = "../../../terravox-store/tests/it/watched_records/mod.rs"]
mod watched_records;

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;
use terravox::terrain::{Placement, UnsavedChanges};
use terravox::voxel::{UnlistedChunks, VoxelGrid};
use terravox_store::{MemoryRecords, Records, WorldInfo, WorldRecord, Zone};
use watched_records::{RecordsCall, WatchedRecords};

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

/// A new world in a database, and how often that was asked for records. They wait while it is silent.
fn new_world(silence: &Silence) -> (Arc<Store>, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let (silence, count) = (silence.clone(), asked.clone());
    let database = WatchedRecords::new(Arc::default(), move |call| {
        if matches!(call, RecordsCall::Get) {
            count.fetch_add(1, Ordering::Relaxed);
            silence.wait();
        }
        Ok(())
    });
    let info = WorldInfo { unlisted: UnlistedChunks::Unknown, ..WorldInfo::default() };
    (Arc::new(Store::create_records(Arc::new(database), "world", &info).unwrap()), asked)
}

fn generate(request: &mut FillRequest<'_>) {
    request.fill(5);
}

/// Saves chunks full of a material.
fn save(store: &Store, chunks: &[ChunkPos], material: u8) {
    let mut grid = VoxelGrid::default();
    for chunk in chunks {
        let mut cells = DenseBox::new(chunk.region());
        cells.fill(material);
        grid.write(&cells).unwrap();
    }
    store.save(&UnsavedChanges::from(grid.unsaved()), generate).unwrap();
}

#[test]
fn a_silent_database_costs_one_moment_and_its_cells_come_later() {
    let silence = Silence::default();
    let (store, _) = new_world(&silence);
    save(&store, &[ChunkPos::new(1, 0, 0)], 8);
    let ground = StoredGround::new(store, || {});
    let mut cells = DenseBox::default();
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
    // Those that were just read are there, unless they were saved since.
    assert_eq!((fill(1), fill(2)), (Some(8), Some(5)));
    ground.note_save([1, 2].map(|x| ChunkPos::new(x, 0, 0)).into_iter());
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
    ground.note_save([ChunkPos::new(1, 0, 0)].into_iter());
    assert_eq!(fill(1), None);
    ground.note_save([ChunkPos::new(1, 0, 0)].into_iter());
    silence.set(false);
    let found = std::iter::repeat_with(|| fill(1)).find_map(|found| found);
    assert_eq!(found, Some(8));
}

/// Fills a block; false if it is missing.
fn fill(ground: &StoredGround, block: MipBlock, cells: &mut DenseBox) -> bool {
    let fill = |request: &mut FillRequest<'_>| ground.fill(request, generate);
    FillRequest::fill_block(cells, block, Placement::default(), fill)
}

/// Lets ticks pass until blocks are at hand; returns the longest of them.
fn pass_ticks(ground: &StoredGround, blocks: &[MipBlock]) -> Duration {
    let (begin, mut longest) = (Instant::now(), Duration::ZERO);
    loop {
        let tick = Instant::now();
        ground.begin_tick();
        let is_at_hand = ground.prefetch(blocks);
        ground.end_tick();
        longest = longest.max(tick.elapsed());
        if is_at_hand {
            return longest;
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn many_blocks_are_one_request_and_are_what_a_store_without_requests_has() {
    let silence = Silence::default();
    let (store, asked) = new_world(&silence);
    let stored = (0..40).map(|x| ChunkPos::new(x * 3, x % 2, -1));
    save(&store, &Vec::from_iter(stored), 9);
    save(&store, &[ChunkPos::new(3, 1, -1), ChunkPos::new(-2, 7, 7)], 11);
    let ground = StoredGround::new(store.clone(), || {});
    // Of all mips, also where nothing is stored.
    let chunks = (0..100).map(|x| MipBlock::from(ChunkPos::new(x, x % 2, -1)));
    let coarse = (1..=12).flat_map(|mip| (-2..2).map(move |x| MipBlock::new(mip, [x, 0, -1])));
    let blocks: Vec<MipBlock> = chunks.chain(coarse).collect();
    let before = asked.load(Ordering::Relaxed);
    // A slow database: ticks go on.
    silence.set(true);
    ground.begin_tick();
    assert!(!ground.prefetch(&blocks));
    ground.end_tick();
    for _ in 0..20 {
        let tick = Instant::now();
        ground.begin_tick();
        assert!(!ground.prefetch(&blocks));
        ground.end_tick();
        assert!(tick.elapsed() < MAX_WAIT / 4, "{:?}", tick.elapsed());
    }
    silence.set(false);
    pass_ticks(&ground, &blocks);
    assert_eq!(asked.load(Ordering::Relaxed) - before, 1, "{} blocks", blocks.len());
    let (mut cells, mut twin) = (DenseBox::default(), DenseBox::default());
    for &block in &blocks {
        assert!(fill(&ground, block, &mut cells));
        let slow = |request: &mut FillRequest<'_>| store.fill(request, generate);
        assert!(FillRequest::fill_block(&mut twin, block, Placement::default(), slow));
        assert!(cells == twin, "{block}");
    }
    // What needs more than one tick at once waits for one request, too.
    let before = asked.load(Ordering::Relaxed);
    let others: Vec<MipBlock> = (0..50).map(|y| MipBlock::new(0, [0, y, 5])).collect();
    ground.begin_tick();
    ground.prefetch(&others);
    assert!(others.iter().all(|&block| fill(&ground, block, &mut cells)));
    assert_eq!(asked.load(Ordering::Relaxed) - before, 1);
}

#[test]
fn requests_do_not_pile_up_while_a_database_is_silent() {
    let silence = Silence::default();
    let (store, asked) = new_world(&silence);
    let ground = StoredGround::new(store, || {});
    let mut cells = DenseBox::default();
    silence.set(true);
    for tick in 0..100 {
        ground.begin_tick();
        for x in 0..100 {
            assert!(!fill(&ground, MipBlock::new(0, [x, tick, 0]), &mut cells));
        }
        ground.end_tick();
    }
    let waiting = ground.reader.as_ref().unwrap().asked.borrow().len();
    assert!((MAX_ASKED..MAX_ASKED + 8).contains(&waiting), "{waiting}");
    silence.set(false);
    let (before, new) = (asked.load(Ordering::Relaxed), MipBlock::new(0, [7, 7, 7]));
    let begin = Instant::now();
    while !fill(&ground, new, &mut cells) {
        assert!(begin.elapsed() < Duration::from_secs(60));
        ground.begin_tick();
    }
    // The first one was under way; those after it were read together.
    let requests = asked.load(Ordering::Relaxed) - before;
    assert!(requests < 8, "{requests}");
}

#[test]
fn ground_that_is_damaged_is_told_from_ground_that_is_late() {
    let (records, chunk) = (Arc::new(MemoryRecords::default()), ChunkPos::new(3, 0, 0));
    let info = WorldInfo { unlisted: UnlistedChunks::Unknown, ..WorldInfo::default() };
    let store = Arc::new(Store::create_records(records.clone(), "world", &info).unwrap());
    save(&store, &[chunk], 9);
    let stored = records.view().unwrap().scan(&[], None, 100, false).unwrap();
    let is_its = |record: &&WorldRecord| Zone::chunk_of_record(&record.key) == Some(chunk);
    let key = stored.iter().find(is_its).unwrap().key.clone();
    assert!(records.damage(&key, |value| value[0] ^= 1));
    let ground = StoredGround::new(store, || {});
    let (mut cells, begin) = (DenseBox::default(), Instant::now());
    while !fill(&ground, ChunkPos::new(4, 0, 0).into(), &mut cells) {
        assert!(begin.elapsed() < Duration::from_secs(60) && !ground.met_damage.take());
        ground.begin_tick();
    }
    assert!(!ground.met_damage.take());
    while !ground.met_damage.take() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        ground.begin_tick();
        assert!(!fill(&ground, chunk.into(), &mut cells));
    }
}

#[test]
fn nothing_that_was_read_before_a_change_is_there_after_it() {
    let silence = Silence::default();
    let (store, _) = new_world(&silence);
    let ground = StoredGround::new(store.clone(), || {});
    let chunks = [0, 1, 2].map(|x| ChunkPos::new(x, 0, 0));
    let (mut cells, mut state) = (DenseBox::default(), 1u64);
    let mut below = |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let (mut newest, mut compared, mut saved_at_once) = ([5; 3], 0, 0);
    for round in 0..1500 {
        let at = below(3) as usize;
        let block = MipBlock::from(chunks[at]);
        match below(8) {
            0 | 1 => {
                silence.set(below(2) == 0);
                let next = 20 + (round % 200) as u8;
                // As when another program saves, and as here: told before, and once it is done.
                let is_own = below(2) == 0;
                if is_own {
                    ground.note_save([chunks[at]].into_iter());
                    // It may be requested while the save runs.
                    ground.prefetch(&[block]);
                    ground.end_tick();
                    saved_at_once += 1;
                }
                silence.set(false);
                save(&store, &[chunks[at]], next);
                ground.note_save([chunks[at]].into_iter());
                newest[at] = next;
            }
            2 | 3 => {
                ground.prefetch(&chunks.map(MipBlock::from));
            }
            4 => ground.end_tick(),
            5 => ground.begin_tick(),
            _ => {
                ground.begin_tick();
                if fill(&ground, block, &mut cells) {
                    assert_eq!(cells.materials()[0], newest[at], "round {round}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 150 && saved_at_once > 50, "{compared} and {saved_at_once}");
}
