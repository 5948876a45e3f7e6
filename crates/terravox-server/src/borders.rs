//! Operations that reach over a border between columns of different servers.
//!
//! The server of the column where an operation's middle lies decides about it, applies its part,
//! and notes the operation in that column's record, with a number; both are saved in one
//! transaction. The server of each other column reads the record, applies its part, and notes the
//! number in its own record, in one transaction with the cells. So each part is applied once,
//! whichever server is killed: a state that is lost is lost with its note. Operations of one column
//! are applied in the order of their numbers; among those of several columns and its own, the order
//! in a column is that of its server, which all others see.
//!
//! A tick allows operations first, applies them then, and notes at its end those that were applied.
//! What is allowed takes room at once; and while a tick has changed cells of which the notes are
//! missing, nothing may be saved.

use crate::border_record::{BORDER, BorderOp, BorderRecord, MAX_WAITING, MAX_WAITING_FOR_ONE};
use crate::log::error;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Host, HostWorld, Refusal, RefusalCode};
use terravox::voxel::{Region, VoxelPos};
use terravox_store::{Column, Store, StoreError};

/// Maximum number of parts that are applied in a tick.
const PARTS_PER_TICK: usize = 64;

/// Time for the parts of a tick, checked between them.
const TIME_PER_TICK: Duration = Duration::from_millis(20);

/// Extra data by name, for a save.
pub(crate) type NamedData = Vec<(String, Option<Vec<u8>>)>;

/// The record of a column that is held.
#[derive(Default)]
struct HeldRecord {
    record: BorderRecord,
    /// The state in which it changed last.
    changed: u64,
}

/// Where operations begin, and a column that they reach, in this order.
type ColumnPair = [Column; 2];

/// Why one more operation may not begin in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backlog {
    /// As many as may wait for this neighbour.
    Behind(Column),
    /// As many as may wait for all neighbours together.
    Full,
}

/// A part that is to be applied.
pub(crate) struct DuePart {
    /// Where the operation began.
    pub origin: Column,
    pub number: u64,
    /// Where it is to be applied.
    pub target: Column,
    pub op: Arc<EditOp>,
    /// What of it, in voxels.
    within: Region,
}

/// What came of the parts that were due.
#[derive(Default)]
pub(crate) struct TriedParts {
    /// Those that are done with.
    done: Vec<DuePart>,
    /// Where a part has to wait.
    late: BTreeSet<ColumnPair>,
    /// The columns of the last part that was tried.
    last: Option<ColumnPair>,
    /// Parts that cannot be applied here, although their operation began elsewhere.
    refused: u64,
}

/// An operation of a guest that was allowed in the tick that runs.
struct AllowedOp {
    guest: u64,
    origin: Column,
    /// What of it is applied here at once, in voxels.
    own: Region,
    /// Without its number.
    op: BorderOp,
}

/// Applies parts, those of one column in order: after one that has to wait, none. `met_damage` is set when
/// damaged ground is asked for: what needs that would wait for ever.
pub(crate) fn apply_parts(
    host: &mut Host,
    world: &mut HostWorld<'_>,
    due: Vec<DuePart>,
    met_damage: &Cell<bool>,
) -> TriedParts {
    let (mut tried, begin) = (TriedParts::default(), Instant::now());
    due.iter().for_each(|part| host.prefetch(world, &part.op));
    for part in due {
        if begin.elapsed() > TIME_PER_TICK {
            break;
        }
        let pair = [part.origin, part.target];
        if tried.late.contains(&pair) {
            continue;
        }
        tried.last = Some(pair);
        met_damage.set(false);
        match host.edit_within(world, &part.op, part.within) {
            Err(refusal) if refusal.code == RefusalCode::NotAvailable && !met_damage.get() => {
                tried.late.insert(pair);
                continue;
            }
            // It never can be, such as on damaged ground or with other limits for edits; the others do not
            // wait for it.
            Err(Refusal { reason, .. }) => {
                tried.refused += 1;
                let DuePart { number, origin, target, .. } = &part;
                error!("operation {number} of {origin} in {target} is left out: {reason}");
            }
            Ok(_) => {}
        }
        tried.done.push(part);
    }
    tried
}

/// The records of the columns that are held, and those of their neighbours as they were saved last.
#[derive(Default)]
pub(crate) struct Borders {
    held: BTreeMap<Column, HeldRecord>,
    others: BTreeMap<Column, BorderRecord>,
    /// Columns of which the record cannot be read. What was read of it before holds.
    damaged: BTreeSet<Column>,
    /// What the tick that runs has allowed and not noted yet.
    allowed: Vec<AllowedOp>,
    /// Whether parts were due in the tick that runs: they may be applied, and are not noted yet.
    has_due: bool,
    /// Where a part had to wait when it was tried last.
    late: BTreeSet<ColumnPair>,
    /// The columns of the last part that was tried: the next ones are first.
    turn: Option<ColumnPair>,
    /// Counts changes of the records that are held.
    state: u64,
    /// The state that is saved.
    saved: u64,
    /// Parts that could not be applied here.
    pub refused: u64,
}

impl Borders {
    /// What servers that shared a world left unfinished when all had ended, for the one that has all
    /// of it now.
    ///
    /// # Errors
    /// If a record cannot be read.
    pub fn of_store(store: &Store) -> Result<Borders, StoreError> {
        let (mut borders, mut records) = (Borders::default(), BTreeMap::new());
        for name in store.extra_names()? {
            let is_border = |column: &Column| column.data_name(BORDER) == name;
            let Some(column) = Column::of_data_name(&name).filter(is_border) else { continue };
            let bytes = store.extra(&name)?.unwrap_or_default();
            let record = BorderRecord::from_bytes(column, &bytes).map_err(|what| {
                let what = format!(
                    "the record of the borders of {column} is damaged: {what}; restore the extra data {name} from a backup"
                );
                StoreError::Refused { path: store.path().to_owned(), what }
            })?;
            records.insert(column, record);
        }
        let is_done = |record: &BorderRecord| record.waiting.is_empty();
        if !records.values().all(is_done) {
            let held = records.keys().flat_map(|&column| neighbours(column).chain([column]));
            borders.take(&held.collect(), records, BTreeSet::new());
        }
        Ok(borders)
    }

    /// Replaces the set of columns that are held, and takes the records that were read before a
    /// column was claimed, and the columns whose record cannot be read.
    pub fn take(
        &mut self,
        held: &BTreeSet<Column>,
        records: BTreeMap<Column, BorderRecord>,
        damaged: BTreeSet<Column>,
    ) {
        let lost: Vec<Column> =
            self.held.keys().filter(|column| !held.contains(column)).copied().collect();
        for column in lost {
            if let Some(ended) = self.held.remove(&column) {
                self.others.insert(column, ended.record);
            }
        }
        self.others
            .extend(records.into_iter().filter(|(column, _)| !self.held.contains_key(column)));
        for &column in held {
            if !self.held.contains_key(&column) {
                let record = self.others.remove(&column).unwrap_or_default();
                self.held.insert(column, HeldRecord { record, changed: 0 });
            }
        }
        self.others.retain(|column, _| neighbours(*column).any(|beside| held.contains(&beside)));
        let (held, others) = (&self.held, &self.others);
        self.late.retain(|[origin, target]| {
            held.contains_key(target) && (held.contains_key(origin) || others.contains_key(origin))
        });
        self.damaged = damaged;
    }

    /// Whether the record of a column cannot be read.
    pub fn is_damaged(&self, column: Column) -> bool {
        self.damaged.contains(&column)
    }

    /// Returns why one more operation that changes `region` may not begin in `origin`; `None` if it
    /// may. What the tick that runs has allowed counts as waiting.
    pub fn backlog(&self, origin: Column, region: Region) -> Option<Backlog> {
        let held = self.held.get(&origin)?;
        let allowed = self.allowed.iter().filter(|allowed| allowed.origin == origin);
        let allowed: Vec<&BorderOp> = allowed.map(|allowed| &allowed.op).collect();
        let behind =
            Column::touched_by(region).filter(|&column| column != origin).find(|&target| {
                let reaches = |op: &BorderOp| Borders::targets(origin, op).any(|to| to == target);
                let applied =
                    self.record(target).map_or(0, |record| record.applied_of(target, origin));
                let is_pending = |op: &&BorderOp| op.number > applied && reaches(op);
                let pending = held.record.waiting.iter().filter(is_pending).count();
                let more = allowed.iter().filter(|op| reaches(op)).count();
                pending + more >= MAX_WAITING_FOR_ONE
            });
        let is_full = held.record.waiting.len() + allowed.len() >= MAX_WAITING;
        behind.map(Backlog::Behind).or(is_full.then_some(Backlog::Full))
    }

    /// Allows an operation of a guest to begin in a column. Returns which part of it, in voxels, is
    /// to be applied here at once.
    pub fn allow(&mut self, guest: u64, origin: Column, op: BorderOp) -> Region {
        let own = op.region.intersect(origin.region());
        self.allowed.push(AllowedOp { guest, origin, own, op });
        own
    }

    /// Notes an operation of a guest, a part of which was applied, if it was one that was allowed
    /// to begin in a column.
    pub fn begin(&mut self, guest: u64, own: Region, op: &EditOp) {
        let is_this = |allowed: &AllowedOp| {
            allowed.guest == guest && allowed.own == own && *allowed.op.op == *op
        };
        let Some(place) = self.allowed.iter().position(is_this) else { return };
        let AllowedOp { origin, mut op, .. } = self.allowed.remove(place);
        // A record that was restored is older than what its neighbours have applied: they would
        // skip its numbers.
        let applied = neighbours(origin)
            .filter_map(|beside| Some(self.record(beside)?.applied_of(beside, origin)));
        let applied = applied.max().unwrap_or(0);
        let Some(held) = self.held.get_mut(&origin) else { return };
        self.state += 1;
        held.changed = self.state;
        held.record.last = held.record.last.max(applied) + 1;
        op.number = held.record.last;
        held.record.waiting.push_back(op);
    }

    /// Whether cells may have changed of which the notes are missing: within a tick. They must not
    /// be saved then.
    pub fn lacks_notes(&self) -> bool {
        self.has_due || !self.allowed.is_empty()
    }

    /// Notes that all that was applied is noted, at the end of a tick.
    pub fn end_tick(&mut self) {
        self.has_due = false;
        self.allowed.clear();
    }

    fn record(&self, column: Column) -> Option<&BorderRecord> {
        let held = self.held.get(&column).map(|held| &held.record);
        held.or_else(|| self.others.get(&column))
    }

    /// The columns, besides its own, that an operation reaches.
    fn targets(origin: Column, op: &BorderOp) -> impl Iterator<Item = Column> {
        Column::touched_by(op.region).filter(move |&column| column != origin)
    }

    /// Returns parts to apply in columns that are held and may be changed, those of one column in
    /// order. Pairs of columns take turns. A pair that had to wait last time has one part, so that
    /// it cannot starve the others.
    pub fn due(&mut self, may_change: impl Fn(Column) -> bool) -> Vec<DuePart> {
        let held = self.held.iter().map(|(column, held)| (*column, &held.record));
        let origins = held.chain(self.others.iter().map(|(column, record)| (*column, record)));
        let origins = origins.filter(|(_, record)| !record.waiting.is_empty());
        let pairs =
            origins.flat_map(|(origin, _)| neighbours(origin).map(move |target| [origin, target]));
        let mut pairs: Vec<ColumnPair> = pairs.filter(|&[_, target]| may_change(target)).collect();
        let turn = self.turn;
        pairs.sort_by_key(|pair| (turn.is_some_and(|turn| *pair <= turn), *pair));
        let mut due = Vec::new();
        for pair in pairs {
            let left = PARTS_PER_TICK - due.len();
            let most = if self.late.contains(&pair) { left.min(1) } else { left };
            due.extend(self.parts_between(pair).take(most));
        }
        self.has_due |= !due.is_empty();
        due
    }

    /// Parts of the operations of a column that are to be applied in another one, which is held, in
    /// order.
    fn parts_between(&self, [origin, target]: ColumnPair) -> impl Iterator<Item = DuePart> {
        let applied = self.held.get(&target).map(|held| held.record.applied_of(target, origin));
        let waiting = self.record(origin).filter(|_| applied.is_some());
        let waiting = waiting.into_iter().flat_map(|record| &record.waiting);
        let due = waiting.filter(move |op| Some(op.number) > applied);
        due.filter_map(move |op| {
            let within = op.region.intersect(target.region());
            let part = DuePart { origin, number: op.number, target, op: op.op.clone(), within };
            (!within.is_empty()).then_some(part)
        })
    }

    /// Notes what came of the parts that were due, at the end of a tick, and forgets operations that
    /// are done, in columns that may be changed.
    pub fn note_parts(&mut self, tried: &TriedParts, may_change: impl Fn(Column) -> bool) {
        self.note_tried(tried);
        self.end_tick();
        self.forget_done(may_change);
    }

    /// Notes what came of the parts that were due.
    pub fn note_tried(&mut self, tried: &TriedParts) {
        self.turn = tried.last.or(self.turn);
        self.refused += tried.refused;
        for part in &tried.done {
            self.late.remove(&[part.origin, part.target]);
            self.note_applied(part);
        }
        self.late.extend(&tried.late);
    }

    fn note_applied(&mut self, part: &DuePart) {
        let place = crate::border_record::offset(part.target, part.origin);
        if let (Some(held), Some(place)) = (self.held.get_mut(&part.target), place) {
            self.state += 1;
            held.changed = self.state;
            held.record.applied.insert(place, part.number);
        }
    }

    /// Forgets operations that all have applied, in columns that may be changed. One that still
    /// waits does not keep later ones.
    pub fn forget_done(&mut self, may_change: impl Fn(Column) -> bool) {
        let origins: Vec<Column> = self.held.keys().copied().collect();
        for origin in origins.into_iter().filter(|&origin| may_change(origin)) {
            let is_done = |op: &BorderOp| {
                Borders::targets(origin, op).all(|target| {
                    let record = self.record(target);
                    record.is_some_and(|record| record.applied_of(target, origin) >= op.number)
                })
            };
            let Some(held) = self.held.get(&origin) else { continue };
            let done = held.record.waiting.iter().filter(|op| is_done(op)).map(|op| op.number);
            let done: BTreeSet<u64> = done.collect();
            if let Some(held) = self.held.get_mut(&origin).filter(|_| !done.is_empty()) {
                self.state += 1;
                held.changed = self.state;
                held.record.waiting.retain(|op| !done.contains(&op.number));
            }
        }
    }

    /// The columns that are held in which operations wait for others, and the columns that they
    /// wait for.
    pub fn waiting(&self) -> [BTreeSet<Column>; 2] {
        let [mut origins, mut targets] = [BTreeSet::new(), BTreeSet::new()];
        for (&origin, held) in &self.held {
            for op in &held.record.waiting {
                origins.insert(origin);
                targets.extend(Borders::targets(origin, op));
            }
        }
        [origins, targets]
    }

    /// Operations that began in columns that are held, and that some other column has not applied
    /// yet.
    pub fn waiting_operations(&self) -> usize {
        self.held.values().map(|held| held.record.waiting.len()).sum()
    }

    /// A number that differs after each change, and that of the state that is saved.
    pub fn states(&self) -> [u64; 2] {
        [self.state, self.saved]
    }

    /// The state, and the records that changed since the one that is saved, as extra data.
    pub fn to_save(&self) -> (u64, NamedData) {
        let changed = self.held.iter().filter(|(_, held)| held.changed > self.saved);
        let data =
            changed.map(|(column, held)| (column.data_name(BORDER), Some(held.record.to_bytes())));
        (self.state, data.collect())
    }

    /// Notes that a state is saved.
    pub fn note_saved(&mut self, state: u64) {
        self.saved = self.saved.max(state);
    }
}

/// The eight columns beside one.
pub(crate) fn neighbours(column: Column) -> impl Iterator<Item = Column> {
    let Column { x, z } = column;
    let all = (-1..=1).flat_map(|dz| (-1..=1).map(move |dx| [dx, dz]));
    all.filter(|&beside| beside != [0, 0]).map(move |[dx, dz]| Column { x: x + dx, z: z + dz })
}

/// The column in which the middle of a region, in voxels, lies.
pub(crate) fn middle_of(region: Region) -> Column {
    let middle = |a: i32, b: i32| ((i64::from(a) + i64::from(b)).div_euclid(2)) as i32;
    let [low, high] = [region.min, region.max];
    Column::of_voxel(VoxelPos::new(
        middle(low.x, high.x),
        middle(low.y, high.y),
        middle(low.z, high.z),
    ))
}

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
