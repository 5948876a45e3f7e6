//! Killed with SIGKILL while it writes, at twenty moments: everything acknowledged is
//! there, nothing by halves.
//!
//! The writer is this test binary again, told by a variable to be the victim.

mod scratch;

use scratch::{Folder, Numbers, fill};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{Cell, ChunkPos, DenseBox, VoxelGrid, VoxelPos};
use terravox_store::{Overwrite, Store, WorldInfo};

const FILE: &str = "TERRAVOX_STORE_VICTIM_FILE";
const FROM: &str = "TERRAVOX_STORE_VICTIM_FROM";

/// Extra data that says which batch the cells are of.
const BATCH: &str = "batch";

/// Changes some chunks, always the same for the same batch; each shows its number.
fn change(grid: &mut VoxelGrid, batch: u64) {
    let mut numbers = Numbers(batch);
    for _ in 0..1 + numbers.below(6) {
        let [x, y, z] = [0; 3].map(|_| numbers.below(5) - 2);
        let chunk = ChunkPos::new(x, y, z);
        match numbers.below(4) {
            0 => assert!(grid.forget(chunk)),
            1 => fill(grid, chunk.region(), 2 + (batch % 20) as u8),
            _ => {
                let mut cells = DenseBox::new(chunk.region());
                for i in 0..200 {
                    let at = chunk.min_voxel() + VoxelPos::new(i % 32, numbers.below(32), i / 32);
                    cells.set(at, Cell::new(1 + (batch % 250) as u8, (batch >> (i % 9)) as u8));
                }
                grid.write(&cells).unwrap();
            }
        }
    }
    // Every batch leaves something new, so that no two states are alike.
    let mut one = DenseBox::new(terravox::voxel::Region::one(VoxelPos::ZERO));
    one.set(VoxelPos::ZERO, Cell::new(2 + (batch % 200) as u8, (batch / 200) as u8));
    if grid.is_listed(ChunkPos::new(0, 0, 0)) {
        grid.write(&one).unwrap();
    } else {
        fill(grid, ChunkPos::new(0, 0, 0).region(), 7);
        grid.write(&one).unwrap();
    }
}

/// Runs a test of this binary as another process.
fn start(test: &str, file: &Path, from: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(FILE, file).env(FROM, from.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.spawn().unwrap()
}

fn acknowledge(batch: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsaved {batch}").unwrap();
    out.flush().unwrap();
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("saved ").and_then(|number| number.trim().parse().ok())
}

/// Waits for `lines` acknowledgements and then `more` time, kills, and returns the last
/// batch that was acknowledged.
fn kill_after(mut child: Child, lines: u64, more: Duration) -> Option<u64> {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut seen, mut last) = (0, None);
    let mut line = String::new();
    while seen < lines {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the writer ended by itself");
        if let Some(batch) = acknowledged(&line) {
            (seen, last) = (seen + 1, Some(batch));
        }
    }
    let started = Instant::now();
    while started.elapsed() < more {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // A line that was cut off by the kill was not acknowledged in full.
    let complete = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
    complete.lines().filter_map(acknowledged).next_back().or(last)
}

#[test]
fn victim_that_saves_batches() {
    let (Ok(file), Ok(from)) = (std::env::var(FILE), std::env::var(FROM)) else { return };
    let store = Store::open(file).unwrap();
    let mut grid = store.load().unwrap().grid;
    for batch in from.parse().unwrap().. {
        change(&mut grid, batch);
        let unsaved =
            UnsavedChanges::from(grid.unsaved()).with_data(BATCH, u64::to_le_bytes(batch));
        store.save(&unsaved, |_| {}).unwrap();
        grid.mark_saved(&unsaved.chunks);
        acknowledge(batch);
    }
}

#[test]
fn every_acknowledged_batch_survives_twenty_kills_and_none_is_halved() {
    let folder = Folder::new("kill");
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No).unwrap();
    drop(draft.finish().unwrap());
    let mut model = VoxelGrid::default();
    let mut done = 0;
    let mut numbers = Numbers(20);
    let mut slowest = Duration::ZERO;
    for kill in 0..20 {
        let child = start("victim_that_saves_batches", &path, done + 1);
        let lines = 1 + numbers.below(4) as u64;
        let more = Duration::from_micros(numbers.below(6000) as u64);
        let last = kill_after(child, lines, more).unwrap();
        for batch in done + 1..=last {
            change(&mut model, batch);
        }
        done = last;
        let started = Instant::now();
        let store = Store::open(&path).unwrap();
        slowest = slowest.max(started.elapsed());
        let loaded = store.load().unwrap();
        assert_eq!(loaded.bad, []);
        if loaded.grid.digest() != model.digest() || loaded.grid.chunks() != model.chunks() {
            // The batch after it may be on disk without having been acknowledged; whole.
            done += 1;
            change(&mut model, done);
        }
        assert_eq!(loaded.grid.digest(), model.digest(), "kill {kill} after batch {last}");
        assert_eq!(loaded.grid.chunks(), model.chunks());
        let extra = store.extra(BATCH).unwrap();
        assert_eq!(extra, Some(done.to_le_bytes().to_vec()), "it goes with its cells");
        if kill % 5 == 4 {
            assert_eq!(store.verify().unwrap().bad, []);
        }
    }
    println!("{done} batches, 20 kills, slowest reopening {slowest:?}");
}

#[test]
fn victim_that_replaces_a_world() {
    let (Ok(file), Ok(_)) = (std::env::var(FILE), std::env::var(FROM)) else { return };
    let mut grid = VoxelGrid::default();
    for batch in 1.. {
        (0..5).for_each(|i| change(&mut grid, batch * 5 + i));
        let draft = Store::create(&file, &WorldInfo::default(), Overwrite::Yes).unwrap();
        draft.set_extra("batch", Some(&batch.to_le_bytes())).unwrap();
        draft.write_all(grid.as_snapshot(), |_, _| {}).unwrap();
        draft.set_extra("digest", Some(&grid.digest().unwrap().to_le_bytes())).unwrap();
        drop(draft.finish().unwrap());
        acknowledge(batch);
    }
}

#[test]
fn a_world_that_is_being_replaced_is_the_old_or_the_new_one() {
    let folder = Folder::new("kill-replace");
    let path = folder.file("world.tvx");
    let mut numbers = Numbers(3);
    for _ in 0..6 {
        let child = start("victim_that_replaces_a_world", &path, 0);
        let more = Duration::from_micros(numbers.below(12_000) as u64);
        let last = kill_after(child, 1 + numbers.below(2) as u64, more).unwrap();
        let store = Store::open(&path).unwrap();
        let batch = store.extra("batch").unwrap().unwrap();
        let batch = u64::from_le_bytes(batch.try_into().unwrap());
        assert!(batch == last || batch == last + 1, "{batch} after {last}");
        let digest = store.extra("digest").unwrap().unwrap();
        let digest = u128::from_le_bytes(digest.try_into().unwrap());
        assert_eq!(store.load().unwrap().grid.digest(), Ok(digest));
    }
}
