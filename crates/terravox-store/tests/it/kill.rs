//! Killed with SIGKILL while it writes, at fifty moments: everything acknowledged is
//! there, nothing by halves.
//!
//! The writer is this test binary again, told by a variable to be the victim.

use crate::kills::{self, KillTally, acknowledge, change, kill_after};
use crate::scratch::{Folder, Numbers};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use terravox::voxel::VoxelGrid;
use terravox_store::{Overwrite, Store, WorldInfo};

const FILE: &str = "TERRAVOX_STORE_VICTIM_FILE";
const FROM: &str = "TERRAVOX_STORE_VICTIM_FROM";

/// Runs a test of this binary as another process.
fn start(test: &str, file: &Path, from: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(FILE, file).env(FROM, from.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command.spawn().unwrap()
}

#[test]
fn victim_that_saves_batches() {
    let (Ok(file), Ok(from)) = (std::env::var(FILE), std::env::var(FROM)) else { return };
    kills::save_batches(Path::new(&file), from.parse().unwrap());
}

#[test]
fn every_acknowledged_batch_survives_fifty_kills_and_none_is_halved() {
    let folder = Folder::new("kill");
    let path = folder.file("world.tvx");
    let start = |from| start("kill::victim_that_saves_batches", &path, from);
    let KillTally { batches, failed, slowest_open, .. } = kills::kill_many(&path, 50, start);
    println!("{batches} batches, slowest reopening {slowest_open:?}");
    assert_eq!(failed, 0);
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
        let child = start("kill::victim_that_replaces_a_world", &path, 0);
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
