//! Which edits count as dead: those that a rollback takes back, unless that was rolled back itself.
//!
//! A rollback is recorded by its filter and the newest entry that it had seen: it takes back all
//! entries up to there that the filter matches, in its region. Whether it is in force in a cell
//! depends on later rollbacks only, so the newest is decided first.
//!
//! Which rollbacks take back an edit is not stored: with many of each, that would be very many pairs.
//! A range of rollbacks that contains them is, and their filters are asked again.

use super::journal::{JournalEntry, JournalFilter, JournalKind, RollbackMark};
use super::rollback_cells::CellSet;
use crate::voxel::{ChunkPos, Region};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// A rollback in a journal, or the one that is planned.
struct Record {
    mark: Arc<RollbackMark>,
    author: Arc<str>,
    /// Of its first entry.
    time: u64,
    /// Numbers of its entries, ascending.
    numbers: Vec<u64>,
    /// The rollbacks that take it back are among these.
    taken_back_by: Range<u32>,
    /// Whether the journal still has all that it took back.
    is_whole: bool,
    /// Whether the planned rollback changes what is in force of it.
    is_affected: bool,
    /// Whether it was in force in all of its region before the planned one.
    was_in_force: bool,
    /// Whether it was taken back everywhere before the planned one.
    was_dead: bool,
}

impl Record {
    /// Whether it takes back an entry that is not of a rollback.
    fn takes_back(&self, entry: &JournalEntry) -> bool {
        entry.number <= self.mark.through && self.mark.filter.matches(entry)
    }

    /// Whether it takes back an earlier rollback: in its region, if it has one.
    fn takes_back_record(&self, other: &Record) -> bool {
        let filter = &self.mark.filter;
        other.numbers.first().is_some_and(|&first| first <= self.mark.through)
            && filter.matches_author(&other.author)
            && filter.matches_time(other.time)
            && filter.number.is_none_or(|number| other.numbers.binary_search(&number).is_ok())
    }

    /// Whether it had taken back all cells in a region before the planned one; `None`: all cells.
    fn had_taken_back(&self, region: Option<Region>) -> bool {
        let is_covered = |own: Region| region.is_some_and(|region| own.contains_region(region));
        self.was_in_force && self.mark.filter.region.is_none_or(is_covered)
    }
}

/// Extends a range to contain `number`, which is above all that it contains.
fn extend(range: &mut Range<u32>, number: u32) {
    if range.start == range.end {
        range.start = number;
    }
    range.end = number + 1;
}

/// What becomes of an entry in a rollback.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum EntryFate {
    /// No rollback takes it back: its cells stay.
    Stays,
    /// Rollbacks take it back, all of which are among these.
    TakenBack { by: Range<u32>, is_affected: bool },
    /// It was written by this rollback.
    OfRollback { record: u32, is_affected: bool },
}

impl EntryFate {
    /// Whether the planned rollback can change cells of the entry.
    pub fn is_affected(&self) -> bool {
        match self {
            EntryFate::Stays => false,
            EntryFate::TakenBack { is_affected, .. }
            | EntryFate::OfRollback { is_affected, .. } => *is_affected,
        }
    }
}

/// All rollbacks of a journal, oldest first, the planned one last.
pub(super) struct RollbackRecords {
    records: Vec<Record>,
    /// Where in `records` the rollbacks of the journal are.
    places: FxHashMap<Arc<RollbackMark>, u32>,
    /// How many entries and earlier rollbacks the planned one takes back, without those that were
    /// taken back whole before.
    pub matched: u64,
    /// How many entries it would take back, if they were not forgotten, by author.
    pub forgotten: BTreeMap<Arc<str>, u64>,
}

impl RollbackRecords {
    /// Reads the rollbacks of a journal, all of whose entries are given, and adds one that is
    /// planned.
    pub fn new(entries: &[JournalEntry], filter: JournalFilter) -> RollbackRecords {
        let through = entries.last().map_or(0, |entry| entry.number);
        let mark = Arc::new(RollbackMark { filter, through, from: None });
        let mut found = RollbackRecords {
            records: Vec::new(),
            places: FxHashMap::default(),
            matched: 0,
            forgotten: BTreeMap::new(),
        };
        found.read(entries);
        // Before it, it took nothing back.
        let planned =
            Record { was_dead: true, is_affected: true, ..Record::new(mark, "".into(), 0) };
        found.records.push(planned);
        found.link();
        found
    }

    /// Reads the rollbacks of a journal.
    fn read(&mut self, entries: &[JournalEntry]) {
        let oldest = entries.first().map_or(u64::MAX, |entry| entry.number);
        for entry in entries {
            let JournalKind::Rollback(mark) = &entry.kind else { continue };
            let at = match self.places.entry(mark.clone()) {
                Entry::Occupied(place) => *place.get(),
                Entry::Vacant(place) => {
                    let mut record = Record::new(mark.clone(), entry.author.clone(), entry.time);
                    record.is_whole = mark.from.is_none_or(|from| from >= oldest);
                    self.records.push(record);
                    *place.insert(self.records.len() as u32 - 1)
                }
            };
            self.records[at as usize].numbers.push(entry.number);
        }
    }

    /// Finds which rollbacks may take back which, which were in force before the planned one, and
    /// which it affects: the newest first. Counts those that it takes back.
    fn link(&mut self) {
        let planned = self.records.len() - 1;
        for at in (0..planned).rev() {
            let (earlier, later) = self.records.split_at_mut(at + 1);
            let record = &mut earlier[at];
            record.was_in_force = true;
            for (number, other) in (at as u32 + 1..).zip(&*later) {
                if !other.takes_back_record(record) {
                    continue;
                }
                extend(&mut record.taken_back_by, number);
                record.is_affected |= other.is_affected;
                // One that was taken back itself, in a part, may be in force in the rest.
                record.was_in_force &= other.was_dead;
                // A rollback has no region of its own that another one would have to cover.
                record.was_dead |= other.had_taken_back(None);
            }
            let is_matched = record.taken_back_by.end as usize == planned + 1;
            self.matched += u64::from(is_matched && !record.was_dead);
        }
    }

    /// What becomes of an entry. Entries have to come oldest first.
    pub fn fate(&mut self, entry: &JournalEntry) -> EntryFate {
        if let JournalKind::Rollback(mark) = &entry.kind {
            let place = self.places.get(mark).copied();
            let record = place.expect("the records were read of the same entries");
            let is_affected = self.records[record as usize].is_affected;
            return EntryFate::OfRollback { record, is_affected };
        }
        if entry.is_forgotten() {
            self.note_forgotten(entry);
            return EntryFate::Stays;
        }
        let (mut by, mut is_affected, mut was_dead) = (0..0, false, false);
        for (number, record) in (0..).zip(&self.records) {
            if record.takes_back(entry) {
                extend(&mut by, number);
                is_affected |= record.is_affected;
                was_dead |= record.had_taken_back(Some(entry.region));
            }
        }
        if by.is_empty() {
            return EntryFate::Stays;
        }
        let is_matched = by.end as usize == self.records.len();
        self.matched += u64::from(is_matched && !was_dead);
        if is_affected {
            self.note_affected(entry.number);
        }
        EntryFate::TakenBack { by, is_affected }
    }

    /// Notes an entry that no rollback can take back or restore any more.
    fn note_forgotten(&mut self, entry: &JournalEntry) {
        for record in self.records.iter_mut().filter(|record| record.takes_back(entry)) {
            record.is_whole = false;
        }
        if self.records.last().is_some_and(|planned| planned.takes_back(entry)) {
            *self.forgotten.entry(entry.author.clone()).or_default() += 1;
        }
    }

    /// Notes where what the planned rollback takes back, or brings back, begins.
    fn note_affected(&mut self, number: u64) {
        if let Some(planned) = self.records.last_mut()
            && planned.mark.from.is_none()
        {
            Arc::make_mut(&mut planned.mark).from = Some(number);
        }
    }

    /// The planned rollback.
    pub fn planned(&self) -> &Arc<RollbackMark> {
        &self.records[self.records.len() - 1].mark
    }

    /// Whether cells that a rollback wrote, where it is in force, stay: the journal no longer has
    /// what lies below them.
    pub fn is_final(&self, record: u32) -> bool {
        !self.records[record as usize].is_whole
    }

    /// Finds which rollbacks are in force in the cells of a chunk.
    pub fn in_chunk(&self, chunk: ChunkPos) -> RollbacksInChunk {
        let mut in_force = vec![CellSet::Nothing; self.records.len()];
        for (at, record) in self.records.iter().enumerate().rev() {
            // What it takes back lies in its region only.
            let mut own = CellSet::within(record.mark.filter.region, chunk);
            for other in record.taken_back_by.clone().rev().map(|other| other as usize) {
                if own == CellSet::Nothing {
                    break;
                }
                // Nearly always nothing or all, which is faster to find than who takes back whom.
                if in_force[other] != CellSet::Nothing
                    && self.records[other].takes_back_record(record)
                {
                    own.remove(&in_force[other]);
                }
            }
            in_force[at] = own;
        }
        RollbacksInChunk { in_force }
    }
}

impl Record {
    fn new(mark: Arc<RollbackMark>, author: Arc<str>, time: u64) -> Record {
        Record {
            mark,
            author,
            time,
            numbers: Vec::new(),
            taken_back_by: 0..0,
            is_whole: true,
            is_affected: false,
            was_in_force: false,
            was_dead: false,
        }
    }
}

/// The rollbacks of a journal, in the cells of one chunk.
pub(super) struct RollbacksInChunk {
    /// Where each of them is in force.
    in_force: Vec<CellSet>,
}

impl RollbacksInChunk {
    /// Where a rollback is in force.
    pub fn in_force(&self, record: u32) -> &CellSet {
        &self.in_force[record as usize]
    }

    /// Where an entry is dead, which some rollbacks among `by` take back.
    pub fn dead(&self, records: &RollbackRecords, entry: &JournalEntry, by: Range<u32>) -> CellSet {
        let mut dead = CellSet::Nothing;
        for at in by.rev().map(|at| at as usize) {
            if dead == CellSet::All {
                break;
            }
            if self.in_force[at] != CellSet::Nothing && records.records[at].takes_back(entry) {
                dead.add(&self.in_force[at]);
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::ChangedCells;
    use crate::voxel::VoxelPos;
    use proptest::prelude::*;
    use proptest::sample::select;

    const AUTHORS: [&str; 3] = ["ada", "bob", "keeper"];

    fn chunk() -> ChunkPos {
        ChunkPos::new(-1, 0, 2)
    }

    /// A voxel of the chunk.
    fn voxel() -> impl Strategy<Value = VoxelPos> {
        prop::array::uniform3(0..32)
            .prop_map(|off: [i32; 3]| chunk().min_voxel() + VoxelPos::from(off))
    }

    fn region() -> impl Strategy<Value = Region> {
        (voxel(), prop::array::uniform3(1..60)).prop_map(|(middle, size): (_, [i32; 3])| {
            let size = VoxelPos::from(size);
            Region { min: middle - VoxelPos::new(size.x / 2, 0, size.z), max: middle + size }
        })
    }

    fn filter() -> impl Strategy<Value = JournalFilter> {
        let authors = prop::collection::vec(select(&AUTHORS[..]).prop_map(str::to_owned), 0..3);
        let time = || prop::option::weighted(0.2, 0..12u64);
        let number = prop::option::weighted(0.3, 1..12u64);
        let region = prop::option::of(region());
        (authors, time(), time(), region, number).prop_map(
            |(authors, since, until, region, number)| JournalFilter {
                authors,
                since,
                until,
                region,
                number,
            },
        )
    }

    #[derive(Clone, Debug)]
    enum Deed {
        Edit,
        /// Takes back entries except some of the newest.
        Rollback(JournalFilter, u64),
        /// Another entry of the last rollback.
        Continuation,
    }

    fn entries() -> impl Strategy<Value = Vec<JournalEntry>> {
        let deed = prop_oneof![
            2 => Just(Deed::Edit),
            3 => (filter(), 0..3u64).prop_map(|(filter, left)| Deed::Rollback(filter, left)),
            1 => Just(Deed::Continuation),
        ];
        let entry = (select(&AUTHORS[..]), 0..12u64, region(), deed);
        prop::collection::vec(entry, 0..12).prop_map(|made| {
            let mut last = JournalKind::Edit;
            let made = made.into_iter().zip(1..).map(|((author, time, region, deed), number)| {
                let kind = match deed {
                    Deed::Edit => JournalKind::Edit,
                    Deed::Continuation => last.clone(),
                    Deed::Rollback(filter, left) => {
                        let through = (number - 1_u64).saturating_sub(left);
                        let mark = RollbackMark { filter, through, from: None };
                        last = JournalKind::Rollback(mark.into());
                        last.clone()
                    }
                };
                let (author, before) = (author.into(), ChangedCells::default());
                JournalEntry { number, author, kind, time, region, cells: 1, before }
            });
            made.collect()
        })
    }

    fn has(set: &CellSet, pos: VoxelPos) -> bool {
        let off = pos - chunk().min_voxel();
        set.row((off.z + 32 * off.y) as usize) >> off.x & 1 == 1
    }

    /// The slow twin: asks all later rollbacks, for one cell.
    fn is_in_force(records: &[Record], at: usize, pos: VoxelPos) -> bool {
        let mut later = at + 1..records.len();
        records[at].mark.filter.region.is_none_or(|region| region.contains(pos))
            && !later.any(|later| {
                records[later].takes_back_record(&records[at]) && is_in_force(records, later, pos)
            })
    }

    fn was_in_force(before: &[Record], at: usize) -> bool {
        let mut later = at + 1..before.len();
        !later.any(|later| before[later].takes_back_record(&before[at]) && !was_dead(before, later))
    }

    fn was_dead(before: &[Record], at: usize) -> bool {
        (at + 1..before.len()).any(|later| {
            let is_everywhere = before[later].mark.filter.region.is_none();
            before[later].takes_back_record(&before[at])
                && is_everywhere
                && was_in_force(before, later)
        })
    }

    proptest! {
        #[test]
        fn what_is_in_force_and_dead_is_what_the_slow_twin_says(
            entries in entries(), planned in filter(), voxels in prop::collection::vec(voxel(), 1..20),
        ) {
            let mut records = RollbackRecords::new(&entries, planned);
            let fates = Vec::from_iter(entries.iter().map(|entry| records.fate(entry)));
            let in_chunk = records.in_chunk(chunk());
            let (all, last) = (&records.records[..], records.records.len() - 1);
            for (at, pos) in (0..=last).flat_map(|at| voxels.iter().map(move |&pos| (at, pos))) {
                let set = in_chunk.in_force(at as u32);
                prop_assert_eq!(has(set, pos), is_in_force(all, at, pos), "{} {}", at, pos);
            }
            let mut matched = (0..last)
                .filter(|&at| all[last].takes_back_record(&all[at]) && !was_dead(&all[..last], at))
                .count() as u64;
            for (entry, fate) in entries.iter().zip(&fates) {
                if matches!(fate, EntryFate::OfRollback { .. }) {
                    continue;
                }
                let dead = match fate {
                    EntryFate::TakenBack { by, .. } => in_chunk.dead(&records, entry, by.clone()),
                    _ => CellSet::Nothing,
                };
                for &pos in &voxels {
                    let mut by = (0..=last).filter(|&at| all[at].takes_back(entry));
                    let is_dead = by.any(|at| is_in_force(all, at, pos));
                    prop_assert_eq!(has(&dead, pos), is_dead, "{} {}", entry.number, pos);
                }
                let had_been = (0..last).any(|at| {
                    let own = all[at].mark.filter.region;
                    all[at].takes_back(entry)
                        && was_in_force(&all[..last], at)
                        && own.is_none_or(|own| own.contains_region(entry.region))
                });
                matched += u64::from(all[last].takes_back(entry) && !had_been);
            }
            prop_assert_eq!(records.matched, matched);
        }
    }

    #[test]
    fn each_of_many_rollbacks_brings_back_what_the_one_before_it_took() {
        for count in [1, 2, 999, 1000] {
            let edit = JournalEntry {
                number: 1,
                author: "ada".into(),
                kind: JournalKind::Edit,
                time: 1,
                region: chunk().region(),
                cells: 1,
                before: ChangedCells::default(),
            };
            let by_number = |number| JournalFilter { number: Some(number), ..Default::default() };
            let rollbacks = (1..count).map(|number| {
                let mark =
                    RollbackMark { filter: by_number(number), through: number, from: Some(1) };
                JournalEntry {
                    number: number + 1,
                    kind: JournalKind::Rollback(mark.into()),
                    ..edit.clone()
                }
            });
            let entries = Vec::from_iter([edit.clone()].into_iter().chain(rollbacks));
            let mut records = RollbackRecords::new(&entries, by_number(count));
            let EntryFate::TakenBack { by, .. } = records.fate(&edit) else {
                panic!("the first rollback takes it back");
            };
            let dead = records.in_chunk(chunk()).dead(&records, &edit, by);
            let expected = if count % 2 == 1 { CellSet::All } else { CellSet::Nothing };
            assert_eq!((dead, records.matched), (expected, 1), "{count}");
        }
    }
}
