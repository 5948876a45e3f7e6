//! Damaged worlds: each read, verified, edited, read again and repaired, and compared with the
//! truth. Other processes do it, a share at a time, since one may abort.

use super::child;
use super::folder::BenchFolder;
use super::scratch::{ball, fill, mark_saved};
use crate::report::{AreaReport, detail};
use crate::worlds::random::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use terravox::terrain::UnsavedChanges;
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid};
use terravox_store::{BadPart, LoadedWorld, Overwrite, Store, StoreError, StoredPart, WorldInfo};

/// Worlds of a run, and of a full one.
const WORLDS: [u64; 2] = [4_000, 100_000];

/// Worlds of a process.
const SHARE: u64 = 2_000;

/// One in this many worlds is repaired.
const REPAIRED: u64 = 8;

/// Name of the extra data.
const NOTE: &str = "note";

/// What happened to damaged worlds, by numbers that a process prints.
#[derive(Clone, Copy, Debug, Default)]
struct DamageTally {
    worlds: u64,
    /// Not opened at all.
    refused: u64,
    /// Read without any loss.
    unhurt: u64,
    /// Read as an earlier state, whole or in part: the newest header is lost.
    older: u64,
    /// Written in spite of damage, or because it does no harm.
    written: u64,
    repaired: u64,
    /// Panics, and processes that ended.
    aborts: u64,
    /// Other cells or bytes than the true ones, without an error.
    silent: u64,
    /// Something could be read before the edit or the repair and not after it.
    worse: u64,
}

/// Measures `damaged_aborts`, `damaged_silent` and `damaged_worse`.
pub fn run(report: &mut AreaReport) {
    let worlds = WORLDS[usize::from(report.is_full)];
    match try_all(worlds) {
        Ok(tally) => {
            let note = format!("{} worlds", tally.worlds);
            report.set("damaged_aborts", tally.aborts as f64, &note);
            report.set("damaged_silent", tally.silent as f64, &note);
            report.set("damaged_worse", tally.worse as f64, &note);
            let rows = vec![
                detail("refused", tally.refused as f64, "worlds"),
                detail("nothing lost", tally.unhurt as f64, "worlds"),
                detail("an earlier state", tally.older as f64, "worlds"),
                detail("written", tally.written as f64, "worlds"),
                detail("repaired", tally.repaired as f64, "worlds"),
            ];
            report.details("damaged worlds", rows);
        }
        Err(why) => {
            for id in ["damaged_aborts", "damaged_silent", "damaged_worse"] {
                report.not_measured(id, &why);
            }
        }
    }
}

fn try_all(worlds: u64) -> Result<DamageTally, String> {
    let folder = BenchFolder::in_memory("damaged").map_err(|error| error.to_string())?;
    let path = folder.file("world.tvx");
    let path = path.to_str().ok_or("a folder that is not UTF-8")?;
    let mut all = DamageTally::default();
    let mut first = 0;
    while first < worlds {
        folder.clear();
        let end = (first + SHARE).min(worlds);
        let numbers = [first.to_string(), end.to_string()];
        let mut child = child::start(&["damaged", path, &numbers[0], &numbers[1]])
            .map_err(|error| error.to_string())?;
        let mut last = first;
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
            let line = line.map_err(|error| error.to_string())?;
            match (line.strip_prefix("world "), line.strip_prefix("tally ")) {
                (Some(world), _) => last = world.parse().unwrap_or(last),
                (_, Some(tally)) => all.add(tally),
                _ => println!("{line}"),
            }
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        first = end;
        if !status.success() {
            println!("world {last}: {status}");
            all.aborts += 1;
            first = last + 1;
        }
    }
    Ok(all)
}

impl DamageTally {
    fn fields(&mut self) -> [&mut u64; 9] {
        let DamageTally {
            worlds,
            refused,
            unhurt,
            older,
            written,
            repaired,
            aborts,
            silent,
            worse,
        } = self;
        [worlds, refused, unhurt, older, written, repaired, aborts, silent, worse]
    }

    /// Adds what [`DamageTally::print`] wrote.
    fn add(&mut self, text: &str) {
        for (field, number) in self.fields().into_iter().zip(text.split(' ')) {
            *field += number.parse::<u64>().unwrap_or(0);
        }
    }

    fn print(mut self) {
        let numbers = self.fields().map(|field| field.to_string());
        println!("tally {}", numbers.join(" "));
    }
}

/// Damages worlds of these numbers, one after the other, at `path`, and prints what happened.
pub fn try_many(path: &Path, worlds: Range<u64>) {
    let truth = Truth::make(path);
    // A panic is counted, not shown a thousand times.
    std::panic::set_hook(Box::new(|_| ()));
    for world in worlds {
        println!("world {world}");
        let _ = std::io::stdout().flush();
        let mut tally = DamageTally { worlds: 1, ..DamageTally::default() };
        let tried = catch_unwind(AssertUnwindSafe(|| truth.try_one(path, world, &mut tally)));
        match tried {
            Ok(Ok(())) => {}
            Ok(Err(what)) => println!("world {world}: {what}"),
            Err(_) => {
                println!("world {world}: a panic");
                tally.aborts += 1;
            }
        }
        tally.print();
    }
}

/// A whole world: its file, earlier states of the file, and what they hold.
struct Truth {
    file: Vec<u8>,
    /// The file after earlier saves, the last one first.
    earlier: Vec<Vec<u8>>,
    /// A file of another world.
    other: Vec<u8>,
    /// What the file and the earlier ones hold. Damage to both copies of the newest header, or
    /// writes that were lost, leave an older one, whole.
    states: Vec<Contents>,
    /// The edit that is made to a damaged world.
    edit: UnsavedChanges,
    edited: BTreeSet<ChunkPos>,
    /// The states with the edit.
    after: Vec<Contents>,
}

/// The cells of a world by chunk.
struct Contents {
    chunks: BTreeMap<ChunkPos, DenseBox>,
    digest: Option<u128>,
}

/// What can be read of a damaged world.
#[derive(Default)]
struct Readable {
    chunks: BTreeSet<ChunkPos>,
    bad: Vec<BadPart>,
    has_note: bool,
    is_whole: bool,
}

impl Contents {
    fn of(grid: &VoxelGrid) -> Contents {
        let chunks = grid.chunks().into_iter().map(|chunk| (chunk, cells_of(grid, chunk)));
        Contents { chunks: chunks.collect(), digest: grid.digest().ok() }
    }

    /// These cells, with those of some chunks from another world.
    fn with(&self, other: &Contents, chunks: &BTreeSet<ChunkPos>) -> Contents {
        let mut all = self.chunks.clone();
        let others = chunks.iter().filter_map(|chunk| other.chunks.get_key_value(chunk));
        all.extend(others.map(|(&chunk, cells)| (chunk, cells.clone())));
        let mut grid = VoxelGrid::default();
        for cells in all.values() {
            grid.load(cells);
        }
        Contents { chunks: all, digest: grid.digest().ok() }
    }

    /// An error says what is other than it should be.
    fn compare(&self, loaded: &LoadedWorld) -> Result<(), String> {
        if loaded.bad.is_empty() && loaded.grid.digest().ok() == self.digest {
            return Ok(());
        }
        let chunks: BTreeSet<ChunkPos> = loaded.grid.chunks().into_iter().collect();
        let is_true =
            |chunk: &&ChunkPos| self.chunks.get(chunk) == Some(&cells_of(&loaded.grid, **chunk));
        if let Some(chunk) = chunks.iter().find(|chunk| !is_true(chunk)) {
            return Err(format!("other cells in chunk {chunk}"));
        }
        let is_named = |chunk| loaded.bad.iter().any(|bad| is_named(chunk, &bad.part));
        let mut missing = self.chunks.keys().filter(|&chunk| !chunks.contains(chunk));
        match missing.find(|&&chunk| !is_named(chunk)) {
            Some(chunk) => Err(format!("chunk {chunk} is missing: {:?}", loaded.bad)),
            None => Ok(()),
        }
    }
}

/// Reads a world that should hold one of these states, the likeliest first; returns what can be
/// read, and which states it may be.
fn read(store: &Store, states: &[Contents]) -> Result<(Range<usize>, Readable), String> {
    // What is read of coarse mips must not panic; `verify` compares them.
    let _ = store.cells(Region::new([0; 3], [20; 3]), 2, &mut DenseBox::default());
    let Ok(loaded) = store.load() else { return Ok((0..states.len(), Readable::default())) };
    let compared: Vec<_> = states.iter().map(|state| state.compare(&loaded)).collect();
    let Some(which) = compared.iter().position(Result::is_ok) else {
        return Err(compared.into_iter().find_map(Result::err).unwrap_or_default());
    };
    let has_note = match store.extra(NOTE) {
        Ok(Some(bytes)) if bytes == note(0) => true,
        Ok(_) => return Err("other extra data".to_owned()),
        Err(_) => false,
    };
    let chunks = loaded.grid.chunks().into_iter().collect();
    let is_whole = loaded.bad.is_empty() && has_note && which == 0;
    Ok((which..which + 1, Readable { chunks, bad: loaded.bad, has_note, is_whole }))
}

/// Whether a damaged part says that a chunk may be lost.
fn is_named(chunk: ChunkPos, part: &StoredPart) -> bool {
    match part {
        StoredPart::Chunk(named) => *named == chunk,
        StoredPart::Index | StoredPart::Listing(_) | StoredPart::Table(_) => true,
        _ => false,
    }
}

fn cells_of(grid: &VoxelGrid, chunk: ChunkPos) -> DenseBox {
    let mut cells = DenseBox::default();
    if let Err(error) = grid.read(chunk.region(), 0, &mut cells) {
        panic!("{error}");
    }
    cells
}

/// Rock and two balls on one side of the origin, where each coarse mip is one block or two: many
/// worlds are tried.
fn small() -> VoxelGrid {
    let mut grid = VoxelGrid::default();
    fill(&mut grid, Region::new([0; 3], [64, 32, 64]), 8);
    ball(&mut grid, [33, 34, 30], 12, 2);
    ball(&mut grid, [110, 16, 16], 9, 100);
    grid
}

/// A file and what it holds.
type FileState = (Vec<u8>, Contents);

/// Makes a world at `path` and saves to it a few times; returns its states, the last one first.
fn make_states(path: &Path, salt: i32) -> Result<(Vec<FileState>, VoxelGrid), StoreError> {
    let mut grid = small();
    let draft = Store::create(path, &WorldInfo::default(), Overwrite::Yes)?;
    draft.write_all(grid.as_snapshot(), |_, _| {})?;
    draft.set_extra(NOTE, Some(&note(salt)))?;
    let store = draft.finish()?;
    mark_saved(&mut grid);
    let mut states = Vec::new();
    for i in 0..4 {
        ball(&mut grid, [7 * i + 9, 30, 28 + salt], 7 + i, 3 + i as u8);
        let unsaved = UnsavedChanges::from(grid.unsaved());
        store.save(&unsaved, |_| {})?;
        grid.mark_saved(&unsaved.chunks);
        states.insert(0, (std::fs::read(path).unwrap_or_default(), Contents::of(&grid)));
    }
    Ok((states, grid))
}

fn note(salt: i32) -> Vec<u8> {
    vec![3 + salt as u8; 300]
}

impl Truth {
    fn make(path: &Path) -> Truth {
        let made = |salt| make_states(path, salt).unwrap_or_else(|error| panic!("{error}"));
        let other = made(1).0.remove(0).0;
        let (states, mut grid) = made(0);
        let (mut files, states): (Vec<_>, Vec<_>) = states.into_iter().unzip();
        let file = files.remove(0);
        ball(&mut grid, [20, 29, 24], 6, 5);
        let edit = UnsavedChanges::from(grid.unsaved());
        let edited = edit.chunks.chunks().collect();
        let edited_world = Contents::of(&grid);
        let after = states.iter().map(|state| state.with(&edited_world, &edited)).collect();
        Truth { file, earlier: files, other, states, edit, edited, after }
    }

    fn try_one(&self, path: &Path, world: u64, tally: &mut DamageTally) -> Result<(), String> {
        let written = std::fs::write(path, self.damaged(world));
        written.map_err(|error| error.to_string())?;
        let store = match Store::open_read_only(path) {
            Ok(store) => store,
            Err(error) => {
                tally.refused += 1;
                return is_one_line(&error);
            }
        };
        let read = read(&store, &self.states);
        let (which, readable) = read.inspect_err(|_| tally.silent += 1)?;
        let found = store.verify().map_err(|error| error.to_string())?.bad;
        drop(store);
        tally.unhurt += u64::from(readable.is_whole);
        tally.older += u64::from(which.start > 0);
        if which.start == 0 && !readable.is_whole && found.is_empty() {
            tally.silent += 1;
            return Err("verify finds nothing".to_owned());
        }
        let expected = &self.edit(path, tally)?[which];
        self.check_after(path, expected, &readable, tally)?;
        match world.is_multiple_of(REPAIRED) {
            true => self.repair(path, expected, &readable, tally),
            false => Ok(()),
        }
    }

    /// Edits the world; returns the states that it may be in then.
    fn edit(&self, path: &Path, tally: &mut DamageTally) -> Result<&[Contents], String> {
        let saved = Store::open(path).and_then(|store| store.save(&self.edit, |_| {}));
        match saved {
            Ok(_) => {
                tally.written += 1;
                Ok(&self.after)
            }
            Err(error) => is_one_line(&error).map(|()| &*self.states),
        }
    }

    /// Compares the world with what it should hold, and with what could be read before.
    fn check_after(
        &self,
        path: &Path,
        expected: &[Contents],
        before: &Readable,
        tally: &mut DamageTally,
    ) -> Result<(), String> {
        let store = Store::open_read_only(path).map_err(|error| {
            tally.worse += 1;
            format!("after the edit: {error}")
        })?;
        let (_, after) = read(&store, expected).map_err(|what| {
            tally.silent += 1;
            format!("after the edit: {what}")
        })?;
        let kept = |chunk: &ChunkPos| self.edited.contains(chunk) || after.chunks.contains(chunk);
        let lost = before.chunks.iter().find(|chunk| !kept(chunk));
        if lost.is_some() || (before.has_note && !after.has_note) {
            tally.worse += 1;
            return Err(format!("after the edit {lost:?} is lost: {:?}", after.bad));
        }
        Ok(())
    }

    fn repair(
        &self,
        path: &Path,
        expected: &[Contents],
        before: &Readable,
        tally: &mut DamageTally,
    ) -> Result<(), String> {
        let report = match Store::repair(path, |request| request.set_missing()) {
            Ok(report) => report,
            Err(error) => return is_one_line(&error),
        };
        tally.repaired += u64::from(report.backup.is_some());
        report.backup.iter().for_each(|backup| drop(std::fs::remove_file(backup)));
        let store = Store::open(path).map_err(|error| error.to_string())?;
        let loaded = store.load().map_err(|error| error.to_string())?;
        let chunks: BTreeSet<ChunkPos> = loaded.grid.chunks().into_iter().collect();
        let is_true = |state: &Contents, chunk: &ChunkPos| {
            state.chunks.get(chunk) == Some(&cells_of(&loaded.grid, *chunk))
        };
        let is_state = |state: &Contents| chunks.iter().all(|chunk| is_true(state, chunk));
        if !expected.iter().any(is_state) {
            tally.silent += 1;
            return Err("other cells after the repair".to_owned());
        }
        let is_lost = |chunk: &&ChunkPos| !self.edited.contains(chunk) && !chunks.contains(chunk);
        if let Some(chunk) = before.chunks.iter().find(is_lost) {
            tally.worse += 1;
            return Err(format!("{chunk} is lost after the repair: {:?}", report.lost));
        }
        match store.verify() {
            Ok(found) if found.bad.is_empty() && loaded.bad.is_empty() => Ok(()),
            found => {
                tally.worse += 1;
                Err(format!("damaged after the repair: {found:?}"))
            }
        }
    }

    /// The file, damaged in a way that the number says.
    fn damaged(&self, world: u64) -> Vec<u8> {
        let mut rng = Rng::new(world);
        let mut bytes = self.file.clone();
        let length = bytes.len() as u32;
        match world % 8 {
            0 => bytes.truncate(rng.below(length) as usize),
            1 => {
                let at = rng.below(512) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            2 => self.mix(&mut bytes, &self.other, 1, &mut rng),
            // Writes that never reached the disk, and some that did.
            3 => {
                let earlier = &self.earlier[rng.below(self.earlier.len() as u32) as usize];
                let places = 1 + rng.below(12);
                self.mix(&mut bytes, earlier, places, &mut rng);
            }
            4 => {
                let (from, to) = (rng.below(length / 64), rng.below(length / 64));
                let span = 64 << rng.below(7);
                let [from, to] = [from, to].map(|at| at as usize * 64);
                let span = span.min(bytes.len() - from).min(bytes.len() - to);
                bytes.copy_within(from..from + span, to);
            }
            5 => {
                let at = rng.below(length) as usize;
                let end = (at + (1 << rng.below(14))).min(bytes.len());
                bytes[at..end].fill(0);
            }
            _ => {
                for _ in 0..1 + rng.below(8) {
                    bytes[rng.below(length) as usize] = rng.bits() as u8;
                }
            }
        }
        bytes
    }

    /// Puts sectors of another file in their places.
    fn mix(&self, bytes: &mut [u8], other: &[u8], places: u32, rng: &mut Rng) {
        let length = bytes.len().min(other.len());
        for _ in 0..places {
            let at = rng.below((length / 512) as u32) as usize * 512;
            let end = (at + (512 << rng.below(5))).min(length);
            bytes[at..end].copy_from_slice(&other[at..end]);
        }
    }
}

/// Errors name the file in one line.
fn is_one_line(error: &StoreError) -> Result<(), String> {
    let text = error.to_string();
    match text.lines().count() == 1 && text.contains("world.tvx") {
        true => Ok(()),
        false => Err(format!("an error of more than a line: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_worlds_never_lie_and_never_get_worse() {
        let folder = BenchFolder::in_memory("damaged-test").unwrap();
        let path = folder.file("world.tvx");
        let truth = Truth::make(&path);
        let mut tally = DamageTally::default();
        for world in 0..24 {
            truth.try_one(&path, world, &mut tally).unwrap();
        }
        assert!(tally.refused > 0 && tally.unhurt > 0 && tally.written > 0, "{tally:?}");
        assert_eq!((tally.silent, tally.worse), (0, 0));
    }
}
