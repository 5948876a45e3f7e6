//! Rolling back: cells that some edits changed become what they were before, unless others changed
//! them later.
//!
//! Chunk by chunk, so that it can be spread over many ticks. In each chunk, the edits are walked
//! from the newest to the oldest. One that no rollback takes back claims its cells, which then stay
//! as they are; one that is taken back, now or before, writes what its cells were before it, unless
//! they are claimed. Cells that earlier rollbacks wrote are skipped: the edits that those took back are
//! walked as well. So each cell gets what the newest edit made of it that no rollback takes back, and the
//! order of rollbacks does not matter.

use super::changed::ChangedCells;
use super::journal::{Journal, JournalEntry, JournalFilter, JournalKind};
use super::patch::{ChangedRun, Patch, PatchScratch, bounds_of, changed_runs};
use super::rollback_cells::{CellSet, ChunkCellBits};
use super::rollback_records::{EntryFate, RollbackRecords, RollbacksInChunk};
use super::swap::cut_by_chunks;
use crate::voxel::{ChunkPos, DenseBox, NotHeld, Region, VoxelGrid, VoxelPos};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// Cells of a chunk.
const CELLS: usize = 32 * 32 * 32;

/// Cells and rows of edits, and rollbacks of each, that are looked at in a step, or one patch.
const WORK_PER_STEP: u64 = 1 << 17;

/// Patches with at least this many bytes of cells, in all and for each chunk, are split by chunks: to
/// decode a patch of a million cells takes 10 ms, and would be done for each of its chunks.
/// Tests have small patches.
const SPLIT_BYTES: usize = if cfg!(test) { 64 } else { 16 << 10 };
const SPLIT_BYTES_PER_CHUNK: u64 = if cfg!(test) { 8 } else { 1 << 10 };

/// So are patches over this many voxels, however few bytes they take.
const SPLIT_VOLUME: u64 = 1 << 18;

/// An edit, as the rollback sees it.
struct KnownEdit {
    entry: JournalEntry,
    fate: EntryFate,
}

/// The patches that reach into a chunk, oldest first: numbers of the edit and the patch.
type PatchList = Vec<(u32, u32)>;

/// A rollback that is under way: restores the cells that some edits of a [`Journal`] changed.
///
/// The example of [`Journal`] has it. It needs each chunk at mip 0 in the step that writes it.
pub struct Rollback {
    /// Where cells are restored.
    within: Option<Region>,
    /// Oldest first.
    edits: Vec<KnownEdit>,
    /// Chunks that are to be done; all patches there.
    lists: FxHashMap<ChunkPos, PatchList>,
    /// In this order.
    chunks: VecDeque<ChunkPos>,
    /// The newest entry that is known.
    last_number: u64,
    records: RollbackRecords,
    restored: u64,
    /// Chunks that were left out since edits there are not known.
    left_out: u64,
    current: Option<Box<ChunkWork>>,
    scratch: PatchScratch,
    old: DenseBox,
    new: DenseBox,
}

impl Rollback {
    /// Plans to roll back those of the entries that a filter matches, earlier rollbacks among them;
    /// the others are left as they are. `entries` are all of a journal, oldest first. Takes some 50
    /// ns for each chunk of each edit, and 20 ns for each cell of large ones: with many, plan it on
    /// another thread. Entries that come later are left as they are.
    ///
    /// With very many earlier rollbacks it takes longer: the time grows with their square, to some seconds
    /// for 30,000 of them. Memory does not: each takes some 300 bytes, and up to 4 KiB while a chunk is
    /// restored.
    pub fn new(entries: impl IntoIterator<Item = JournalEntry>, filter: JournalFilter) -> Rollback {
        let within = filter.region;
        let entries = Vec::from_iter(entries);
        let last_number = entries.last().map_or(0, |entry| entry.number);
        let mut records = RollbackRecords::new(&entries, filter);
        let mut edits = Vec::new();
        for entry in entries {
            let fate = records.fate(&entry);
            // Entries before the first one that is rolled back do not matter.
            if fate != EntryFate::Stays || !edits.is_empty() {
                edits.push(KnownEdit { entry, fate });
            }
        }
        let mut scratch = PatchScratch::default();
        for edit in edits.iter_mut().filter(|edit: &&mut KnownEdit| edit.fate != EntryFate::Stays) {
            split(&mut edit.entry.before, &mut scratch);
        }
        let mut lists = FxHashMap::<ChunkPos, PatchList>::default();
        for edit in edits.iter().filter(|edit| edit.fate.is_affected()) {
            for (_, chunk) in edit.entry.before.chunks() {
                if within.is_none_or(|within| !within.intersect(chunk.region()).is_empty()) {
                    lists.entry(chunk).or_default();
                }
            }
        }
        let mut chunks = Vec::from_iter(lists.keys().copied());
        chunks.sort_unstable_by_key(|chunk| (chunk.y, chunk.z, chunk.x));
        let mut rollback = Rollback {
            within,
            edits: Vec::new(),
            lists,
            chunks: chunks.into(),
            last_number,
            records,
            restored: 0,
            left_out: 0,
            current: None,
            scratch,
            old: DenseBox::default(),
            new: DenseBox::default(),
        };
        edits.into_iter().for_each(|edit| rollback.add(edit));
        rollback
    }

    /// How many edits are rolled back; an earlier rollback counts as one. Those that were rolled
    /// back before do not count.
    pub fn edits(&self) -> u64 {
        self.records.matched
    }

    /// How many edits of which authors match, but are [forgotten](JournalEntry::is_forgotten): they
    /// are left as they are, and what lies below them, too.
    pub fn forgotten(&self) -> impl Iterator<Item = (&str, u64)> {
        self.records.forgotten.iter().map(|(author, &count)| (&**author, count))
    }

    /// The kind as which its steps are to be [recorded](Journal::record_as).
    pub fn kind(&self) -> JournalKind {
        JournalKind::Rollback(self.records.planned().clone())
    }

    /// How many cells were restored so far: those that differed.
    pub fn cells(&self) -> u64 {
        self.restored
    }

    /// How many chunks were left out since the journal has [dropped](Journal::newest_dropped) edits
    /// that the rollback did not see: it could overwrite them.
    pub fn chunks_left_out(&self) -> u64 {
        self.left_out
    }

    /// How many chunks are still to be done.
    pub fn chunks_left(&self) -> usize {
        self.chunks.len() + usize::from(self.current.is_some())
    }

    /// Works for up to a few milliseconds, and restores the cells of one chunk at the most. Returns
    /// them as they were before, perhaps none, to be [recorded](Journal::record_as) as
    /// [`Rollback::kind`]; `None` once all is done. Entries that the journal got meanwhile count as
    /// later edits of others; if it has dropped some of those already, the rest is
    /// [left out](Rollback::chunks_left_out).
    ///
    /// # Errors
    /// [`NotHeld`] if a chunk is not held at mip 0. Load it and call this again, or
    /// [leave it out](Rollback::skip_chunk).
    pub fn step(
        &mut self,
        journal: &Journal,
        grid: &mut VoxelGrid,
    ) -> Result<Option<ChangedCells>, NotHeld> {
        if journal.newest_dropped() > self.last_number {
            self.left_out += self.chunks_left() as u64;
            (self.current, self.chunks) = (None, VecDeque::new());
            return Ok(None);
        }
        for entry in journal.entries((Excluded(self.last_number), Unbounded)) {
            self.last_number = entry.number;
            self.add(KnownEdit { entry: entry.clone(), fate: EntryFate::Stays });
        }
        let Some(mut work) = self.current.take().or_else(|| self.begin_chunk()) else {
            return Ok(None);
        };
        let is_ready = work.walk_patches(&self.edits, &self.records, &mut self.scratch);
        let restored = match is_ready {
            true => self.finish(&work, grid),
            false => Ok(ChangedCells::default()),
        };
        if !is_ready || restored.is_err() {
            self.current = Some(work);
        }
        restored.map(Some)
    }

    /// Leaves out the chunk that [`Rollback::step`] needs next.
    pub fn skip_chunk(&mut self) {
        self.current = None;
    }

    /// Lists an edit in the chunks that are still to be done.
    fn add(&mut self, edit: KnownEdit) {
        let number = self.edits.len() as u32;
        let mut is_listed = false;
        for (patch, chunk) in edit.entry.before.chunks() {
            if let Some(list) = self.lists.get_mut(&chunk) {
                list.push((number, patch as u32));
                is_listed = true;
            } else if let Some(work) = self.current.as_mut().filter(|work| work.chunk == chunk) {
                work.claim_later(&edit.entry.before.patches[patch]);
            }
        }
        if is_listed {
            self.edits.push(edit);
        }
    }

    fn begin_chunk(&mut self) -> Option<Box<ChunkWork>> {
        let chunk = self.chunks.pop_front()?;
        let within = self.within.map_or(chunk.region(), |within| within.intersect(chunk.region()));
        let left = self.lists.remove(&chunk).unwrap_or_default();
        let rollbacks = self.records.in_chunk(chunk);
        Some(Box::new(ChunkWork::new(chunk, within, left, rollbacks)))
    }

    /// Writes the cells of a chunk; returns what they were before.
    fn finish(&mut self, work: &ChunkWork, grid: &mut VoxelGrid) -> Result<ChangedCells, NotHeld> {
        let region = work.chunk.region();
        grid.read(region, 0, &mut self.old)?;
        self.new.clone_from(&self.old);
        work.restore(&mut self.new);
        let mut runs = std::mem::take(&mut self.scratch.runs);
        changed_runs(&self.old, &self.new, region, &mut runs);
        let bounds = bounds_of(&runs, region);
        let mut before = ChangedCells::default();
        if !bounds.is_empty() {
            let mut patch = Patch::of(&self.new, &runs, bounds, &mut self.scratch);
            patch.swap(grid, &mut self.scratch)?;
            before.patches = Arc::new(vec![patch]);
            self.restored += runs.iter().map(|run| run.cells as u64).sum::<u64>();
        }
        self.scratch.runs = runs;
        Ok(before)
    }
}

/// Splits large patches by chunks.
fn split(cells: &mut ChangedCells, s: &mut PatchScratch) {
    let is_large = |patch: &Patch| {
        let least = patch.region.coarser(5).volume() * SPLIT_BYTES_PER_CHUNK;
        let is_coded_large = patch.cells.len() >= SPLIT_BYTES && patch.cells.len() as u64 >= least;
        is_coded_large || patch.region.volume() >= SPLIT_VOLUME
    };
    if cells.patches.iter().any(is_large) {
        let patches = cells.patches.iter().flat_map(|patch| match is_large(patch) {
            true => split_patch(patch, s),
            false => vec![patch.clone()],
        });
        cells.patches = Arc::new(patches.collect());
    }
}

fn split_patch(patch: &Patch, s: &mut PatchScratch) -> Vec<Patch> {
    let region = patch.region;
    let mut runs = Vec::new();
    patch.runs(|run| runs.push(run));
    let mut cells = DenseBox::new(region);
    patch.scatter(&mut cells, &runs, s);
    let mut parts = BTreeMap::<[i32; 3], Vec<ChangedRun>>::new();
    cut_by_chunks(&runs, region, |chunk, part| parts.entry(chunk).or_default().push(part));
    let parts = parts.into_values();
    parts.map(|runs| Patch::of(&cells, &runs, bounds_of(&runs, region), s)).collect()
}

/// A chunk that is being rolled back.
struct ChunkWork {
    chunk: ChunkPos,
    /// The part of it where cells are restored.
    within: Region,
    /// The patches that are still to be walked, the newest last.
    left: PatchList,
    /// Cells that stay as they are, by edits before the rollback and in it.
    claimed: ChunkCellBits,
    claimed_later: ChunkCellBits,
    /// Cells that the rollback can change.
    affected: ChunkCellBits,
    rollbacks: RollbacksInChunk,
    /// Cells for which `material`, `occupancy` and `water` are set.
    restored: ChunkCellBits,
    material: Vec<u8>,
    occupancy: Vec<u8>,
    /// Stored water and 1; 0: none.
    water: Vec<u16>,
}

impl ChunkWork {
    fn new(
        chunk: ChunkPos,
        within: Region,
        left: PatchList,
        rollbacks: RollbacksInChunk,
    ) -> ChunkWork {
        ChunkWork {
            chunk,
            within,
            left,
            claimed: [0; CELLS / 32],
            claimed_later: [0; CELLS / 32],
            affected: [0; CELLS / 32],
            rollbacks,
            restored: [0; CELLS / 32],
            material: vec![0; CELLS],
            occupancy: vec![0; CELLS],
            water: vec![0; CELLS],
        }
    }

    /// Walks some patches; returns whether all are done.
    fn walk_patches(
        &mut self,
        edits: &[KnownEdit],
        records: &RollbackRecords,
        s: &mut PatchScratch,
    ) -> bool {
        let mut spent = 0;
        while spent < WORK_PER_STEP {
            let Some((edit, patch)) = self.left.pop() else { return true };
            let KnownEdit { entry, fate } = &edits[edit as usize];
            let patch = &entry.before.patches[patch as usize];
            let [_, high, deep] = patch.region.size();
            spent += (high * deep) as u64;
            if fate.is_affected() {
                self.note_affected(patch);
            }
            let (taken, claimed) = match fate {
                EntryFate::Stays => (CellSet::Nothing, CellSet::All),
                EntryFate::TakenBack { by, .. } => {
                    spent += by.len() as u64;
                    let dead = self.rollbacks.dead(records, entry, by.clone());
                    let mut alive = CellSet::All;
                    alive.remove(&dead);
                    (dead, alive)
                }
                &EntryFate::OfRollback { record, .. } => {
                    let in_force = self.rollbacks.in_force(record).clone();
                    let mut taken_back = CellSet::All;
                    taken_back.remove(&in_force);
                    let claimed =
                        if records.is_final(record) { in_force } else { CellSet::Nothing };
                    (taken_back, claimed)
                }
            };
            if taken != CellSet::Nothing {
                spent += self.take(patch, &taken, s);
            }
            if claimed != CellSet::Nothing {
                claim(patch, self.chunk, &claimed, &mut self.claimed);
            }
        }
        false
    }

    /// Notes the cells of a patch that are not claimed.
    fn note_affected(&mut self, patch: &Patch) {
        let part = patch.region.intersect(self.within);
        patch.runs(|run| {
            if let Some(bits) = clip(run, patch.region, part, self.chunk) {
                self.affected[bits.row] |= bits.mask & !self.claimed[bits.row];
            }
        });
    }

    /// Keeps what an edit during the rollback wrote.
    fn claim_later(&mut self, patch: &Patch) {
        claim(patch, self.chunk, &CellSet::All, &mut self.claimed_later);
    }

    /// Takes those cells of a patch that are in a set and not claimed. Returns how many were read.
    fn take(&mut self, patch: &Patch, set: &CellSet, s: &mut PatchScratch) -> u64 {
        let part = patch.region.intersect(self.within);
        let (mut count, mut is_wanted) = (0, false);
        let mut runs = std::mem::take(&mut s.runs);
        runs.clear();
        patch.runs(|run| {
            count += run.cells;
            runs.push(run);
            is_wanted |= clip(run, patch.region, part, self.chunk)
                .is_some_and(|bits| bits.mask & set.row(bits.row) & !self.claimed[bits.row] != 0);
        });
        if is_wanted {
            patch.decode(count, s);
            let mut first = 0;
            for &run in &runs {
                if let Some(bits) = clip(run, patch.region, part, self.chunk) {
                    self.copy(bits, set, first, s);
                }
                first += run.cells;
            }
        }
        s.runs = runs;
        if is_wanted { count as u64 } else { 0 }
    }

    /// Copies the cells of a run, the first of which is the cell `first` of the patch.
    fn copy(&mut self, bits: RowBits, set: &CellSet, first: usize, s: &PatchScratch) {
        let wanted = bits.mask & set.row(bits.row) & !self.claimed[bits.row];
        self.restored[bits.row] |= wanted;
        let from = (first + bits.skipped) as u32;
        let mut water = s.water.partition_point(|entry| entry.0 < from);
        for at in 0..bits.mask.count_ones() {
            let cell = from + at;
            let held = s.water.get(water).filter(|entry| entry.0 == cell).map(|entry| entry.1);
            water += usize::from(held.is_some());
            let x = bits.mask.trailing_zeros() + at;
            if wanted >> x & 1 == 1 {
                let to = bits.row * 32 + x as usize;
                self.material[to] = s.material[cell as usize];
                self.occupancy[to] = s.occupancy[cell as usize];
                self.water[to] = held.map_or(0, |held| u16::from(held) + 1);
            }
        }
    }

    /// Writes the restored cells over those of a box over the chunk.
    fn restore(&self, cells: &mut DenseBox) {
        let restored = |at: usize| {
            let row = self.restored[at / 32] & self.affected[at / 32];
            let row = row & !self.claimed_later[at / 32];
            row >> (at % 32) & 1 == 1
        };
        let (material, occupancy) = cells.arrays_mut();
        for at in (0..CELLS).filter(|&at| restored(at)) {
            (material[at], occupancy[at]) = (self.material[at], self.occupancy[at]);
        }
        let kept = cells.water().iter().filter(|entry| !restored(entry.0 as usize)).copied();
        let mut water = Vec::from_iter(kept);
        let wet = (0..CELLS).filter(|&at| self.water[at] > 0 && restored(at));
        water.extend(wet.map(|at| (at as u32, (self.water[at] - 1) as u8)));
        cells.set_all_water(water);
    }
}

/// The part of a run that lies in a chunk: some bits of one of its rows.
#[derive(Clone, Copy)]
struct RowBits {
    row: usize,
    mask: u32,
    /// Cells of the run before the part.
    skipped: usize,
}

/// The part of a run, of a box over `region`, in `part`, which lies in the chunk.
fn clip(run: ChangedRun, region: Region, part: Region, chunk: ChunkPos) -> Option<RowBits> {
    let [width, _, depth] = region.size();
    let (x, row) = (run.at % width, run.at / width);
    let at = [x, row / depth, row % depth].map(|v| v as i32);
    let first = region.min + VoxelPos::from(at);
    let (from, to) = (first.x.max(part.min.x), (first.x + run.cells as i32).min(part.max.x));
    let is_in = |v: i32, min: i32, max: i32| min <= v && v < max;
    if from >= to
        || !is_in(first.y, part.min.y, part.max.y)
        || !is_in(first.z, part.min.z, part.max.z)
    {
        return None;
    }
    let off = VoxelPos::new(from, first.y, first.z) - chunk.min_voxel();
    let mask = (u32::MAX >> (32 - (to - from))) << off.x;
    let row = (off.z + 32 * off.y) as usize;
    Some(RowBits { row, mask, skipped: (from - first.x) as usize })
}

/// Claims those cells of a patch that lie in a chunk and in a set.
fn claim(patch: &Patch, chunk: ChunkPos, set: &CellSet, claimed: &mut ChunkCellBits) {
    let part = patch.region.intersect(chunk.region());
    patch.runs(|run| {
        if let Some(bits) = clip(run, patch.region, part, chunk) {
            claimed[bits.row] |= bits.mask & set.row(bits.row);
        }
    });
}
