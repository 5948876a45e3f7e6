//! One changed byte: whether it is found, and what is lost.

use super::folder::BenchFolder;
use super::scratch::few_chunks;
use crate::report::AreaReport;
use std::path::Path;
use terravox::voxel::VoxelGrid;
use terravox_store::{Overwrite, Store, StoreError, StoredPart, WorldInfo};

/// Of this many bytes one is changed, and in a full run. Odd, so that all kinds of bytes come up.
const STRIDE: [usize; 2] = [61, 5];

/// Sizes of the header's copies, and what of each is used: zeros follow.
const HEADER: [usize; 3] = [16384, 4096, 96];

/// What changed bytes did.
#[derive(Default)]
struct FlipTally {
    tried: u64,
    /// Bytes that change what is read or lost.
    matter: u64,
    /// Of these, how many `verify` found.
    found: u64,
    /// The most chunks that a byte cost.
    worst: usize,
}

/// Measures `verify_found` and `repair_lost_chunks`.
pub fn run(report: &mut AreaReport) {
    match flip(STRIDE[usize::from(report.is_full)]) {
        Ok(FlipTally { tried, matter, found, worst }) => {
            let note = format!("{found} of {matter} that matter, of {tried} changed bytes");
            report.set("verify_found", found as f64 / matter as f64, &note);
            report.set("repair_lost_chunks", worst as f64, note);
        }
        Err(why) => {
            report.not_measured("verify_found", &why);
            report.not_measured("repair_lost_chunks", why);
        }
    }
}

fn flip(stride: usize) -> Result<FlipTally, String> {
    let folder = BenchFolder::in_memory("flips").map_err(|error| error.to_string())?;
    let path = folder.file("world.tvx");
    let grid = few_chunks();
    let whole = make(&path, &grid).map_err(|error| error.to_string())?;
    let [header, copy, used] = HEADER;
    let mut tally = FlipTally::default();
    for at in (0..whole.len()).filter(|at| at % copy < used || *at >= header).step_by(stride) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        folder.clear();
        std::fs::write(&path, &bytes).map_err(|error| error.to_string())?;
        let flipped = try_flip(&path, &grid, &mut tally);
        flipped.map_err(|error| format!("byte {at}: {error}"))?;
    }
    Ok(tally)
}

fn make(path: &Path, grid: &VoxelGrid) -> Result<Vec<u8>, StoreError> {
    let draft = Store::create(path, &WorldInfo::default(), Overwrite::Yes)?;
    draft.write_all(grid.as_snapshot(), |_, _| {})?;
    draft.set_extra("note", Some(&[3; 300]))?;
    drop(draft.finish()?);
    Ok(std::fs::read(path).unwrap_or_default())
}

fn try_flip(path: &Path, grid: &VoxelGrid, tally: &mut FlipTally) -> Result<(), StoreError> {
    let store = Store::open(path)?;
    let loaded = store.load()?;
    let is_found = !store.verify()?.bad.is_empty();
    let extra = store.extra("note");
    drop(store);
    let is_whole = loaded.bad.is_empty()
        && loaded.grid.digest() == grid.digest()
        && matches!(extra, Ok(Some(bytes)) if bytes == [3; 300]);
    let report = Store::repair(path, |request| request.set_missing())?;
    let is_chunk = |part: &StoredPart| matches!(part, StoredPart::Chunk(_) | StoredPart::Index);
    let named = report.lost.iter().filter(|bad| is_chunk(&bad.part)).count();
    let left = Store::open(path)?.load()?.grid;
    let lost = grid.chunks().len() - left.chunks().len();
    tally.tried += 1;
    tally.matter += u64::from(!is_whole);
    tally.found += u64::from(!is_whole && is_found);
    tally.worst = tally.worst.max(lost).max(named);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_bytes_that_matter_are_found() {
        let FlipTally { tried, matter, found, worst } = flip(2999).unwrap();
        assert!(tried > 4 && matter == found && worst <= 1, "{tried} {matter} {found} {worst}");
    }
}
