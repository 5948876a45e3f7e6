//! Many operations over the borders of four columns, by seed, while servers are killed at any point, stand still until
//! others have their columns, and lose the replies to saves: without cells, sockets and a database.

use super::*;
use std::collections::HashMap;

/// Operations; `TERRAVOX_BORDER_FAULTS=SEED,OPERATIONS` asks for others.
fn seed_and_operations() -> (u64, usize) {
    let asked = std::env::var("TERRAVOX_BORDER_FAULTS").unwrap_or_default();
    let parsed = asked.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parsed.unwrap_or((1, 100_000))
}

/// A deterministic random number generator (xorshift64).
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// An application of an operation in a column.
#[derive(Clone, PartialEq, Eq, Hash)]
struct AppliedPart {
    target: Column,
    origin: Column,
    number: u64,
}

/// What is saved.
#[derive(Default)]
struct SavedBorders {
    records: BTreeMap<Column, BorderRecord>,
    /// How often each part is in the cells.
    cells: HashMap<AppliedPart, u32>,
    /// Which columns operations reach, by where they began and their number.
    begun: HashMap<(Column, u64), Vec<Column>>,
    epochs: BTreeMap<Column, u64>,
    owners: BTreeMap<Column, usize>,
}

#[derive(Default)]
struct FaultyServer {
    borders: Borders,
    held: BTreeMap<Column, u64>,
    /// What is applied and not saved: parts, and the operations that began.
    parts: Vec<AppliedPart>,
    begun: Vec<((Column, u64), Vec<Column>)>,
    /// Others may claim its columns; it does not know.
    is_late: bool,
}

fn corner_columns() -> [Column; 4] {
    [[-1, -1], [-1, 0], [0, -1], [0, 0]].map(|[x, z]| Column { x, z })
}

/// An operation that begins in a column, near the corner of all four or near a border of two.
fn operation(random: &mut Xorshift, origin: Column) -> EditOp {
    let near = |side: i32| if side < 0 { -1.0 } else { 1.0 };
    let (mut x, mut z) = (near(origin.x), near(origin.z));
    match random.below(3) {
        0 => x *= 60.0,
        1 => z *= 60.0,
        _ => {}
    }
    EditOp::dig_ball([x, random.below(900) as f64, z], 3.0 + random.below(4) as f64)
}

impl FaultyServer {
    fn columns(&self) -> BTreeSet<Column> {
        self.held.keys().copied().collect()
    }

    /// Reads records of some columns, as they are saved.
    fn read(&mut self, database: &SavedBorders, columns: impl IntoIterator<Item = Column>) {
        let saved = |column| Some((column, database.records.get(&column)?.clone()));
        let records = columns.into_iter().filter_map(saved).collect();
        self.borders.take(&self.columns(), records, BTreeSet::new());
    }

    /// Claims a column; the caller has checked that it is free.
    fn claim(&mut self, number: usize, database: &mut SavedBorders, column: Column) {
        let epoch = database.epochs.entry(column).or_default();
        *epoch += 1;
        self.read_claimed(column, *epoch, database);
        database.owners.insert(column, number);
    }

    fn read_claimed(&mut self, column: Column, epoch: u64, database: &SavedBorders) {
        let read = [column].into_iter().chain(neighbours(column));
        let known = read.filter(|column| !self.held.contains_key(column)).collect::<Vec<_>>();
        let saved = |column: &Column| Some((*column, database.records.get(column)?.clone()));
        let records = known.iter().filter_map(saved).collect();
        self.held.insert(column, epoch);
        self.borders.take(&self.columns(), records, BTreeSet::new());
    }

    /// A tick: parts of others, operations of guests, and the notes of both. Returns how many
    /// operations began. At the end no guest is left, and all is applied that is due.
    fn tick(&mut self, random: &mut Xorshift, is_end: bool) -> usize {
        let held = self.columns();
        let mut due = self.borders.due(|column| held.contains(&column));
        if !is_end {
            // Its time is over before.
            due.truncate(random.below(due.len() as u64 + 1) as usize);
        }
        for DuePart { origin, number, target, .. } in &due {
            self.parts.push(AppliedPart { target: *target, origin: *origin, number: *number });
        }
        let mut begun = 0;
        for _ in 0..if is_end { 0 } else { random.below(4) } {
            let origin = corner_columns()[random.below(4) as usize];
            let op = operation(random, origin);
            let region = op.region().expect("an operation");
            if !held.contains(&origin) || self.borders.backlog(origin, region).is_some() {
                continue;
            }
            assert_eq!(middle_of(region), origin);
            let noted = BorderOp::new(0, &op, region).expect("one that may reach over a border");
            let own = self.borders.allow(1, origin, noted);
            self.borders.begin(1, own, &op);
            let number = self.borders.held[&origin].record.last;
            self.begun.push(((origin, number), Column::touched_by(region).collect()));
            self.parts.push(AppliedPart { target: origin, origin, number });
            begun += 1;
        }
        self.borders.note_tried(&TriedParts::done(due));
        self.borders.end_tick();
        self.borders.forget_done(|column| held.contains(&column));
        begun
    }

    /// Saves all in one transaction. Returns whether it may go on: no other server has a column.
    fn save(&mut self, database: &mut SavedBorders) -> bool {
        if self.held.iter().any(|(column, epoch)| database.epochs[column] != *epoch) {
            return false;
        }
        let (state, data) = self.borders.to_save();
        for &column in self.held.keys() {
            let named = data.iter().find(|(name, _)| *name == column.data_name(BORDER));
            if let Some((_, Some(bytes))) = named {
                let record = BorderRecord::from_bytes(column, bytes).expect("what was written");
                database.records.insert(column, record);
            }
        }
        for part in self.parts.drain(..) {
            *database.cells.entry(part).or_default() += 1;
        }
        for (key, columns) in self.begun.drain(..) {
            assert_eq!(database.begun.insert(key, columns), None, "one number, two operations");
        }
        self.borders.note_saved(state);
        true
    }
}

/// Counts what happened to servers.
#[derive(Debug, Default)]
struct ServerFaults {
    kills: usize,
    lost_replies: usize,
    fenced: usize,
}

/// Lets a server do some things. `faults`: also lets it fail. Returns how many operations began.
fn turn(
    servers: &mut [FaultyServer],
    at: usize,
    database: &mut SavedBorders,
    random: &mut Xorshift,
    mut faults: Option<&mut ServerFaults>,
) -> usize {
    for column in corner_columns() {
        let owner = database.owners.get(&column).copied();
        let is_free = owner.is_none_or(|owner| owner != at && servers[owner].is_late);
        if is_free && !servers[at].is_late && random.one_in(3) {
            servers[at].claim(at, database, column);
        }
    }
    let server = &mut servers[at];
    // Not all at once, and late.
    let read: Vec<Column> = corner_columns().into_iter().filter(|_| random.one_in(2)).collect();
    server.read(database, read);
    let begun = server.tick(random, faults.is_none());
    let mut may_go_on = true;
    if random.one_in(2) {
        may_go_on = server.save(database);
        if let Some(faults) = faults.as_deref_mut().filter(|_| !may_go_on) {
            faults.fenced += 1;
        }
    }
    if let Some(faults) = faults {
        server.is_late |= random.one_in(60);
        if may_go_on && random.one_in(40) {
            may_go_on = false;
            faults.kills += 1;
            if random.one_in(2) && server.save(database) {
                faults.lost_replies += 1;
            }
        }
    } else {
        may_go_on &= !server.is_late;
    }
    if !may_go_on {
        // It is gone with what it had not saved, and another one is started in its place.
        database.owners.retain(|_, owner| *owner != at);
        servers[at] = FaultyServer::default();
    }
    begun
}

#[test]
fn operations_over_borders_are_applied_once_by_seed_whatever_fails_slow() {
    let (seed, operations) = seed_and_operations();
    let (mut random, mut database) = (Xorshift(seed.max(1)), SavedBorders::default());
    let mut servers: Vec<FaultyServer> = (0..3).map(|_| FaultyServer::default()).collect();
    let (mut made, mut faults) = (0, ServerFaults::default());
    while made < operations {
        let at = random.below(3) as usize;
        made += turn(&mut servers, at, &mut database, &mut random, Some(&mut faults));
    }
    for _ in 0..20_000 {
        let at = random.below(3) as usize;
        turn(&mut servers, at, &mut database, &mut random, None);
    }
    let waiting: usize = database.records.values().map(|record| record.waiting.len()).sum();
    let asked: usize = database.begun.values().map(Vec::len).sum();
    let mut wrong = 0;
    for (&(origin, number), columns) in &database.begun {
        for &target in columns {
            let times = database.cells.get(&AppliedPart { target, origin, number });
            wrong += usize::from(times != Some(&1));
        }
    }
    let applied: u32 = database.cells.values().sum();
    eprintln!(
        "seed {seed}: {made} operations, {} saved, in {asked} parts; {faults:?}; {waiting} wait; doubled or missing: {wrong}",
        database.begun.len()
    );
    assert_eq!((wrong, waiting, applied as usize), (0, 0, asked));
    assert!(faults.kills > 100 && faults.fenced > 20 && faults.lost_replies > 20);
}
