//! Operations that reach over a border between columns of different servers.
//!
//! The server of the column where an operation's middle lies decides about it, applies its part, and notes the
//! operation in that column's record, with a number; both are saved in one transaction. The server of each other
//! column reads the record, applies its part, and notes the number in its own record, in one transaction with the
//! cells. So each part is applied once, whichever server is killed: a state that is lost is lost with its note. Operations
//! of one column are applied in the order of their numbers; among those of several columns and its own, the order in
//! a column is that of its server, which all others see.

use crate::border_record::{BORDER, BorderOp, BorderRecord, MAX_WAITING};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Host, HostWorld, Refusal, RefusalCode};
use terravox::voxel::{Region, VoxelPos};
use terravox_store::Column;
use tracing::warn;

/// Parts that are applied in a tick.
const PARTS_PER_TICK: usize = 64;

/// How long that may take, and one part longer.
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

/// A part that is to be applied.
pub(crate) struct DuePart {
    /// Where the operation began.
    pub origin: Column,
    pub number: u64,
    /// Where it is to be applied.
    pub target: Column,
    pub op: Arc<EditOp>,
}

/// Applies parts, those of one column in order: after one that has to wait, none. Returns those that are done with.
pub(crate) fn apply_parts(
    host: &mut Host,
    world: &mut HostWorld<'_>,
    due: Vec<DuePart>,
) -> Vec<DuePart> {
    let (mut late, mut done, begin) = (BTreeSet::new(), Vec::new(), Instant::now());
    for part in due {
        if begin.elapsed() > TIME_PER_TICK {
            break;
        }
        if late.contains(&(part.origin, part.target)) {
            continue;
        }
        match host.edit_within(world, &part.op, part.target.region()) {
            Err(refusal) if refusal.code == RefusalCode::NotAvailable => {
                late.insert((part.origin, part.target));
                continue;
            }
            // It never can be; the others do not wait for it.
            Err(Refusal { reason, .. }) => {
                warn!("operation {} of {} in {}: {reason}", part.number, part.origin, part.target);
            }
            Ok(_) => {}
        }
        done.push(part);
    }
    done
}

/// The records of the columns that are held, and those of their neighbours as they were saved last.
#[derive(Default)]
pub(crate) struct Borders {
    held: BTreeMap<Column, HeldRecord>,
    others: BTreeMap<Column, BorderRecord>,
    /// Counts changes of the records that are held.
    state: u64,
    /// The state that is saved.
    saved: u64,
}

impl Borders {
    /// Notes which columns are held, and records that were read: of a column that was claimed, after that.
    pub fn take(&mut self, held: &BTreeSet<Column>, records: BTreeMap<Column, BorderRecord>) {
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
    }

    /// Whether one more operation may begin in a column.
    pub fn has_room(&self, origin: Column) -> bool {
        self.held.get(&origin).is_some_and(|held| held.record.waiting.len() < MAX_WAITING)
    }

    /// Notes an operation of which the part in `origin` was applied.
    pub fn begin(&mut self, origin: Column, op: &EditOp) {
        let Some(held) = self.held.get_mut(&origin) else { return };
        if let Some(op) = BorderOp::new(held.record.last + 1, op) {
            self.state += 1;
            held.changed = self.state;
            held.record.last = op.number;
            held.record.waiting.push_back(op);
        }
    }

    fn record(&self, column: Column) -> Option<&BorderRecord> {
        let held = self.held.get(&column).map(|held| &held.record);
        held.or_else(|| self.others.get(&column))
    }

    /// The columns, besides its own, that an operation reaches.
    fn targets(origin: Column, op: &BorderOp) -> impl Iterator<Item = Column> {
        columns_of(op.region).filter(move |&column| column != origin)
    }

    /// Parts that are to be applied in columns that are held and may be changed, those of one column in order.
    pub fn due(&self, may_change: impl Fn(Column) -> bool) -> Vec<DuePart> {
        let origins = self.held.iter().map(|(column, held)| (*column, &held.record));
        let origins = origins.chain(self.others.iter().map(|(column, record)| (*column, record)));
        let mut due = Vec::new();
        for (origin, record) in origins {
            for waiting in &record.waiting {
                for target in Borders::targets(origin, waiting).filter(|&target| may_change(target))
                {
                    let Some(held) = self.held.get(&target) else { continue };
                    if held.record.applied_of(target, origin) < waiting.number {
                        let (number, op) = (waiting.number, waiting.op.clone());
                        due.push(DuePart { origin, number, target, op });
                    }
                }
            }
            if due.len() >= PARTS_PER_TICK {
                break;
            }
        }
        due.truncate(PARTS_PER_TICK);
        due
    }

    /// Notes that a part is applied.
    pub fn note_applied(&mut self, part: &DuePart) {
        let place = crate::border_record::offset(part.target, part.origin);
        if let (Some(held), Some(place)) = (self.held.get_mut(&part.target), place) {
            self.state += 1;
            held.changed = self.state;
            held.record.applied.insert(place, part.number);
        }
    }

    /// Forgets operations that all have applied, in columns that may be changed.
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
            let done = held.record.waiting.iter().take_while(|op| is_done(op)).count();
            if let Some(held) = self.held.get_mut(&origin).filter(|_| done > 0) {
                self.state += 1;
                held.changed = self.state;
                held.record.waiting.drain(..done);
            }
        }
    }

    /// The columns that are held in which operations wait for others, and the columns that they wait for.
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

/// The columns that a region, in voxels, touches.
pub(crate) fn columns_of(region: Region) -> impl Iterator<Item = Column> {
    let (low, last) = match region.is_empty() {
        true => (Column { x: 0, z: 0 }, Column { x: -1, z: -1 }),
        false => {
            let last = region.max - VoxelPos::new(1, 1, 1);
            (Column::of_voxel(region.min), Column::of_voxel(last))
        }
    };
    (low.z..=last.z).flat_map(move |z| (low.x..=last.x).map(move |x| Column { x, z }))
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
mod tests {
    use super::*;

    fn at(x: i32, z: i32) -> Column {
        Column { x, z }
    }

    #[test]
    fn a_region_touches_the_columns_that_hold_a_voxel_of_it() {
        let columns = |min: [i32; 3], max: [i32; 3]| -> Vec<[i32; 2]> {
            columns_of(Region::new(min, max)).map(|column| [column.x, column.z]).collect()
        };
        assert_eq!(columns([0, -9, 0], [8192, 9, 1]), [[0, 0]]);
        assert_eq!(columns([-1, 0, 8191], [1, 1, 8193]), [[-1, 0], [0, 0], [-1, 1], [0, 1]]);
        assert_eq!(columns([5, 5, 5], [5, 9, 9]), [[0; 2]; 0]);
        assert_eq!(middle_of(Region::new([-3, 0, 8190], [2, 1, 8193])), at(-1, 0));
        assert_eq!(neighbours(at(5, 5)).count(), 8);
    }

    /// Saves what changed, and reads it as the other server does.
    fn save(from: &mut Borders, columns: &[Column]) -> BTreeMap<Column, BorderRecord> {
        let (state, data) = from.to_save();
        let find = |column: &Column| {
            let (_, bytes) = data.iter().find(|(name, _)| *name == column.data_name(BORDER))?;
            Some((*column, BorderRecord::from_bytes(bytes.as_deref()?).unwrap()))
        };
        let read = columns.iter().filter_map(find).collect();
        from.note_saved(state);
        read
    }

    #[test]
    fn a_part_is_applied_once_in_order_and_then_forgotten() {
        let (a, b) = (at(-1, 0), at(0, 0));
        let [mut west, mut east] = [Borders::default(), Borders::default()];
        west.take(&BTreeSet::from([a]), BTreeMap::new());
        east.take(&BTreeSet::from([b]), BTreeMap::new());
        for radius in [3.0, 4.0, 5.0] {
            assert!(west.has_room(a) && !west.has_room(b));
            west.begin(a, &EditOp::dig_ball([-1.0, 0.0, 50.0], radius));
        }
        assert!(west.due(|_| true).is_empty(), "it has no other column");
        let read = save(&mut west, &[a, b]);
        assert!(west.to_save().1.is_empty());
        east.take(&BTreeSet::from([b]), read.clone());
        assert!(east.due(|_| false).is_empty());
        let due = east.due(|_| true);
        assert_eq!(due.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 2, 3]);
        east.note_applied(&due[0]);
        // It is read again, and the first one is not applied again.
        east.take(&BTreeSet::from([b]), read.clone());
        assert_eq!(east.due(|_| true).len(), 2);
        // It is killed, and what it did is lost with the note of it; the next one does it.
        let mut next = Borders::default();
        next.take(&BTreeSet::from([b]), read.clone());
        assert_eq!(next.due(|_| true).len(), 3);
        let mut saved = save(&mut east, &[b]);
        let mut next = Borders::default();
        saved.extend(read);
        next.take(&BTreeSet::from([b]), saved);
        for part in next.due(|_| true) {
            assert!(part.number > 1);
            next.note_applied(&part);
        }
        west.forget_done(|_| true);
        assert_eq!(west.waiting(), [BTreeSet::from([a]), BTreeSet::from([b])]);
        west.take(&BTreeSet::from([a]), save(&mut next, &[b]));
        west.forget_done(|_| false);
        assert_eq!(west.waiting()[0].len(), 1, "it is closing");
        west.forget_done(|_| true);
        assert_eq!(west.waiting(), [BTreeSet::new(), BTreeSet::new()]);
        // Numbers go on.
        west.begin(a, &EditOp::dig_ball([-1.0, 0.0, 50.0], 3.0));
        let read = save(&mut west, &[a]);
        assert_eq!((read[&a].last, read[&a].waiting.len()), (4, 1));
    }

    #[test]
    fn one_server_with_both_sides_applies_what_waits_for_a_third() {
        let (a, b, c) = (at(0, 0), at(-1, 0), at(-1, -1));
        let mut both = Borders::default();
        both.take(&BTreeSet::from([a, b]), BTreeMap::new());
        both.begin(a, &EditOp::dig_ball([1.0, 0.0, 1.0], 4.0));
        let due = both.due(|_| true);
        assert_eq!(due.iter().map(|part| part.target).collect::<Vec<_>>(), [b]);
        due.iter().for_each(|part| both.note_applied(part));
        assert!(both.due(|_| true).is_empty());
        both.forget_done(|_| true);
        assert_eq!(both.waiting()[1], BTreeSet::from([b, c, at(0, -1)]));
        // It takes the others, too.
        both.take(&BTreeSet::from([a, b, c, at(0, -1)]), BTreeMap::new());
        let due = both.due(|_| true);
        assert_eq!(due.len(), 2);
        due.iter().for_each(|part| both.note_applied(part));
        both.forget_done(|_| true);
        assert_eq!(both.waiting()[0], BTreeSet::new());
    }
}
