//! Which edits count as dead: those that a rollback takes back, unless that was rolled back itself.
//!
//! A rollback is recorded by its filter and the newest entry that it had seen: it takes back all
//! entries up to there that the filter matches, in its region. Whether it is in force in a cell
//! depends on later rollbacks only, so the newest is decided first.

use super::journal::{JournalEntry, JournalFilter, JournalKind, RollbackMark};
use super::rollback_cells::CellSet;
use crate::voxel::{ChunkPos, Region};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rollback in a journal, or the one that is planned.
struct Record {
    mark: Arc<RollbackMark>,
    author: Arc<str>,
    /// Of its first entry.
    time: u64,
    /// Its entries.
    numbers: Vec<u64>,
    /// The later rollbacks that take it back.
    taken_back_by: Vec<u32>,
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
            && filter.number.is_none_or(|number| other.numbers.contains(&number))
    }
}

/// What becomes of an entry in a rollback.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryFate {
    /// No rollback takes it back: its cells stay.
    Stays,
    /// Some of these rollbacks may take it back.
    TakenBack { by: u32, is_affected: bool },
    /// It was written by this rollback.
    OfRollback { record: u32, is_affected: bool },
}

impl EntryFate {
    /// Whether the planned rollback can change cells of the entry.
    pub fn is_affected(self) -> bool {
        match self {
            EntryFate::Stays => false,
            EntryFate::TakenBack { is_affected, .. }
            | EntryFate::OfRollback { is_affected, .. } => is_affected,
        }
    }
}

/// All rollbacks of a journal, oldest first, the planned one last.
pub(super) struct RollbackRecords {
    records: Vec<Record>,
    /// Lists of rollbacks that take back some entry, each once.
    lists: Vec<Vec<u32>>,
    list_numbers: FxHashMap<Vec<u32>, u32>,
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
            records: read_records(entries),
            lists: Vec::new(),
            list_numbers: FxHashMap::default(),
            matched: 0,
            forgotten: BTreeMap::new(),
        };
        found.records.push(Record::new(mark, "".into(), 0));
        found.link();
        found.find_in_force();
        let planned = found.records.len() as u32 - 1;
        let taken_back = found.records.iter().filter(|r| r.taken_back_by.contains(&planned));
        // A rollback has no region of its own that another one would have to cover.
        let taken_back = taken_back.filter(|r| !found.were_dead(&r.taken_back_by, None));
        found.matched = taken_back.count() as u64;
        found
    }

    /// Finds which rollbacks were in force before the planned one, the newest first.
    fn find_in_force(&mut self) {
        let planned = self.records.len() - 1;
        for at in (0..planned).rev() {
            let mut others = self.records[at].taken_back_by.iter().map(|&other| other as usize);
            // One that was taken back itself, in a part, may be in force in the rest.
            let is_taken_back =
                others.any(|other| other < planned && !self.records[other].was_dead);
            self.records[at].was_in_force = !is_taken_back;
            self.records[at].was_dead = self.were_dead(&self.records[at].taken_back_by, None);
        }
    }

    /// Whether one of these rollbacks had taken back all cells in a region before the planned one;
    /// `None`: all cells.
    fn were_dead(&self, by: &[u32], region: Option<Region>) -> bool {
        by.iter().map(|&number| &self.records[number as usize]).any(|record| {
            let filter = &record.mark.filter;
            let is_covered =
                filter.region.is_none_or(|own| region.is_some_and(|r| own.contains_region(r)));
            record.was_in_force && is_covered
        })
    }

    /// Finds which rollback takes back which, and which of them the planned one affects.
    fn link(&mut self) {
        let count = self.records.len();
        for at in (0..count).rev() {
            let (earlier, later) = self.records.split_at_mut(at + 1);
            let Some(record) = earlier.last_mut() else { continue };
            record.is_affected = later.is_empty();
            for (other, number) in later.iter().zip(at as u32 + 1..) {
                if other.takes_back_record(record) {
                    record.taken_back_by.push(number);
                    record.is_affected |= other.is_affected;
                }
            }
        }
    }

    /// What becomes of an entry. Entries have to come oldest first.
    pub fn fate(&mut self, entry: &JournalEntry) -> EntryFate {
        if let JournalKind::Rollback(mark) = &entry.kind {
            let at = self.records.iter().position(|record| record.mark == *mark);
            let record = at.expect("the records were read of the same entries");
            let is_affected = self.records[record].is_affected;
            return EntryFate::OfRollback { record: record as u32, is_affected };
        }
        if entry.is_forgotten() {
            self.note_forgotten(entry);
            return EntryFate::Stays;
        }
        let mut list = Vec::new();
        let mut is_affected = false;
        for (number, record) in (0..).zip(&self.records) {
            if record.takes_back(entry) {
                list.push(number);
                is_affected |= record.is_affected;
            }
        }
        let Some(&last) = list.last() else { return EntryFate::Stays };
        let is_matched = last as usize + 1 == self.records.len();
        self.matched += u64::from(is_matched && !self.were_dead(&list, Some(entry.region)));
        if is_affected {
            self.note_affected(entry.number);
        }
        let next = self.lists.len() as u32;
        let by = *self.list_numbers.entry(list).or_insert_with_key(|list| {
            self.lists.push(list.clone());
            next
        });
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
            let mut taken_back = CellSet::Nothing;
            for &other in &record.taken_back_by {
                taken_back.add(&in_force[other as usize]);
            }
            // What it takes back lies in its region only.
            let mut own = CellSet::within(record.mark.filter.region, chunk);
            own.remove(&taken_back);
            in_force[at] = own;
        }
        RollbacksInChunk { in_force, dead: FxHashMap::default() }
    }

    fn list(&self, number: u32) -> &[u32] {
        &self.lists[number as usize]
    }
}

impl Record {
    fn new(mark: Arc<RollbackMark>, author: Arc<str>, time: u64) -> Record {
        Record {
            mark,
            author,
            time,
            numbers: Vec::new(),
            taken_back_by: Vec::new(),
            is_whole: true,
            is_affected: false,
            was_in_force: false,
            was_dead: false,
        }
    }
}

fn read_records(entries: &[JournalEntry]) -> Vec<Record> {
    let oldest = entries.first().map_or(u64::MAX, |entry| entry.number);
    let mut records = Vec::<Record>::new();
    let mut seen = FxHashSet::default();
    for entry in entries {
        let JournalKind::Rollback(mark) = &entry.kind else { continue };
        if seen.insert(mark.clone()) {
            let mut record = Record::new(mark.clone(), entry.author.clone(), entry.time);
            record.is_whole = mark.from.is_none_or(|from| from >= oldest);
            records.push(record);
        }
        // Nearly always the last one.
        if let Some(record) = records.iter_mut().rev().find(|record| record.mark == *mark) {
            record.numbers.push(entry.number);
        }
    }
    records
}

/// The rollbacks of a journal, in the cells of one chunk.
pub(super) struct RollbacksInChunk {
    /// Where each of them is in force.
    in_force: Vec<CellSet>,
    /// Where entries with some list of rollbacks are dead.
    dead: FxHashMap<u32, CellSet>,
}

impl RollbacksInChunk {
    /// Where a rollback is in force.
    pub fn in_force(&self, record: u32) -> &CellSet {
        &self.in_force[record as usize]
    }

    /// Where entries with this list of rollbacks are dead.
    pub fn dead(&mut self, records: &RollbackRecords, list: u32) -> &CellSet {
        let in_force = &self.in_force;
        self.dead.entry(list).or_insert_with(|| {
            let mut dead = CellSet::Nothing;
            records.list(list).iter().for_each(|&at| dead.add(&in_force[at as usize]));
            dead
        })
    }
}
