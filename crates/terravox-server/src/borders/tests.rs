//! Operations over borders, without servers.

use super::*;
use crate::server_options::ServerOptions;
use crate::world::ServedWorld;
use terravox::replicate::{HostOptions, Verdict};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{ChunkPos, DenseBox, GridOptions, MipBlock, UnlistedChunks, VoxelGrid};
use terravox_store::{MemoryDisk, WorldInfo};

impl TriedParts {
    /// All are done with.
    pub fn done(done: Vec<DuePart>) -> TriedParts {
        TriedParts { done, ..TriedParts::default() }
    }
}

impl Borders {
    /// Allows an operation to begin in a column, and begins it.
    pub fn begin_at(&mut self, origin: Column, op: &EditOp) {
        let op_here = BorderOp::new(0, op, op.region().expect("an operation"));
        let own = self.allow(1, origin, op_here.expect("one that may reach over a border"));
        self.begin(1, own, op);
        self.end_tick();
    }
}

fn at(x: i32, z: i32) -> Column {
    Column { x, z }
}

#[test]
fn a_region_touches_the_columns_that_hold_a_voxel_of_it() {
    let columns = |min: [i32; 3], max: [i32; 3]| -> Vec<[i32; 2]> {
        Column::touched_by(Region::new(min, max)).map(|column| [column.x, column.z]).collect()
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
        Some((*column, BorderRecord::from_bytes(*column, bytes.as_deref()?).unwrap()))
    };
    let read = columns.iter().filter_map(find).collect();
    from.note_saved(state);
    read
}

#[test]
fn a_part_is_applied_once_in_order_and_then_forgotten() {
    let (a, b) = (at(-1, 0), at(0, 0));
    let [mut west, mut east] = [Borders::default(), Borders::default()];
    west.take(&BTreeSet::from([a]), BTreeMap::new(), BTreeSet::new());
    east.take(&BTreeSet::from([b]), BTreeMap::new(), BTreeSet::new());
    let over = Region::new([-9, 0, 0], [9, 9, 9]);
    for radius in [3.0, 4.0, 5.0] {
        assert!(west.backlog(a, over).is_none());
        west.begin_at(a, &EditOp::dig_ball([-1.0, 0.0, 50.0], radius));
    }
    assert!(west.due(|_| true).is_empty(), "it has no other column");
    let read = save(&mut west, &[a, b]);
    assert!(west.to_save().1.is_empty());
    east.take(&BTreeSet::from([b]), read.clone(), BTreeSet::new());
    assert!(east.due(|_| false).is_empty());
    let due = east.due(|_| true);
    assert_eq!(due.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 2, 3]);
    east.note_applied(&due[0]);
    // It is read again, and the first one is not applied again.
    east.take(&BTreeSet::from([b]), read.clone(), BTreeSet::new());
    assert_eq!(east.due(|_| true).len(), 2);
    // It is killed, and what it did is lost with the note of it; the next one does it.
    let mut next = Borders::default();
    next.take(&BTreeSet::from([b]), read.clone(), BTreeSet::new());
    assert_eq!(next.due(|_| true).len(), 3);
    let mut saved = save(&mut east, &[b]);
    let mut next = Borders::default();
    saved.extend(read);
    next.take(&BTreeSet::from([b]), saved, BTreeSet::new());
    for part in next.due(|_| true) {
        assert!(part.number > 1);
        next.note_applied(&part);
    }
    west.forget_done(|_| true);
    assert_eq!(west.waiting(), [BTreeSet::from([a]), BTreeSet::from([b])]);
    west.take(&BTreeSet::from([a]), save(&mut next, &[b]), BTreeSet::new());
    west.forget_done(|_| false);
    assert_eq!(west.waiting()[0].len(), 1, "it is closing");
    west.forget_done(|_| true);
    assert_eq!(west.waiting(), [BTreeSet::new(), BTreeSet::new()]);
    // Numbers go on.
    west.begin_at(a, &EditOp::dig_ball([-1.0, 0.0, 50.0], 3.0));
    let read = save(&mut west, &[a]);
    assert_eq!((read[&a].last, read[&a].waiting.len()), (4, 1));
}

#[test]
fn one_server_with_both_sides_applies_what_waits_for_a_third() {
    let (a, b, c) = (at(0, 0), at(-1, 0), at(-1, -1));
    let mut both = Borders::default();
    both.take(&BTreeSet::from([a, b]), BTreeMap::new(), BTreeSet::new());
    both.begin_at(a, &EditOp::dig_ball([1.0, 0.0, 1.0], 4.0));
    let due = both.due(|_| true);
    assert_eq!(due.iter().map(|part| part.target).collect::<Vec<_>>(), [b]);
    due.iter().for_each(|part| both.note_applied(part));
    assert!(both.due(|_| true).is_empty());
    both.forget_done(|_| true);
    assert_eq!(both.waiting()[1], BTreeSet::from([b, c, at(0, -1)]));
    // It takes the others, too.
    both.take(&BTreeSet::from([a, b, c, at(0, -1)]), BTreeMap::new(), BTreeSet::new());
    let due = both.due(|_| true);
    assert_eq!(due.len(), 2);
    due.iter().for_each(|part| both.note_applied(part));
    both.forget_done(|_| true);
    assert_eq!(both.waiting()[0], BTreeSet::new());
}

/// Ten times as many as a tick applies, from the first column into the second, and one into the
/// third.
fn much_to_do() -> (Borders, [Column; 3]) {
    let (a, b, c) = (at(0, 0), at(-1, 0), at(0, 1));
    let mut home = Borders::default();
    home.take(&BTreeSet::from([a]), BTreeMap::new(), BTreeSet::new());
    for _ in 0..MAX_WAITING - 1 {
        home.begin_at(a, &EditOp::dig_ball([1.0, 0.0, 50.0], 3.0));
    }
    home.begin_at(a, &EditOp::dig_ball([90.0, 0.0, 8191.0], 3.0));
    let read = save(&mut home, &[a]);
    let mut next = Borders::default();
    next.take(&BTreeSet::from([b, c]), read, BTreeSet::new());
    (next, [a, b, c])
}

/// Tries what is due as if the first part between two columns had to wait, and all others were
/// applied.
fn try_all(borders: &mut Borders, stuck: Option<ColumnPair>) -> Vec<ColumnPair> {
    let mut tried = TriedParts::default();
    for part in borders.due(|_| true) {
        let pair = [part.origin, part.target];
        tried.last = Some(pair);
        match stuck == Some(pair) {
            true => drop(tried.late.insert(pair)),
            false => tried.done.push(part),
        }
    }
    borders.note_tried(&tried);
    borders.end_tick();
    tried.done.iter().map(|part| [part.origin, part.target]).collect()
}

#[test]
fn parts_that_have_to_wait_keep_no_others_from_their_turn() {
    let (mut east, [a, b, c]) = much_to_do();
    // Those into b come first, and as many as a tick applies.
    assert!(try_all(&mut east, Some([a, b])).is_empty());
    assert_eq!(try_all(&mut east, Some([a, b])), [[a, c]]);
    // It is tried again each time, with one part, and goes on when it can.
    assert_eq!(east.due(|_| true).len(), 1);
    assert!(try_all(&mut east, Some([a, b])).is_empty());
    assert_eq!(try_all(&mut east, None), [[a, b]]);
    assert_eq!(try_all(&mut east, None).len(), PARTS_PER_TICK);
}

#[test]
fn a_part_on_damaged_ground_keeps_no_later_ones_waiting() {
    let (a, b) = (at(-1, 0), at(0, 0));
    let [mut west, mut east] = [Borders::default(), Borders::default()];
    west.take(&BTreeSet::from([a]), BTreeMap::new(), BTreeSet::new());
    for z in [48.0, 148.0, 248.0, 348.0] {
        west.begin_at(a, &EditOp::dig_ball([-1.0, 16.0, z], 4.0));
    }
    east.take(&BTreeSet::from([b]), save(&mut west, &[a]), BTreeSet::new());
    // One chunk is damaged, and one has not arrived.
    let has_met = Cell::new(false);
    let ground = |request: &mut FillRequest<'_>| match request.block() {
        MipBlock { mip: 0, pos } if pos.z == 1 => {
            has_met.set(true);
            request.set_missing();
        }
        MipBlock { mip: 0, pos } if pos.z == 7 => request.set_missing(),
        _ => request.fill(5),
    };
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let mut world = HostWorld {
        grid: &mut grid,
        placement: Placement::default(),
        ground: &ground,
        generated: &|request| request.fill(5),
        prefetch: &|_| true,
        decide: &mut |_, _| Verdict::Accept,
    };
    let mut host = Host::new(HostOptions { max_mip: 8, ..HostOptions::default() });
    let due = east.due(|_| true);
    assert_eq!(due.len(), 4);
    let tried = apply_parts(&mut host, &mut world, due, &has_met);
    let done: Vec<u64> = tried.done.iter().map(|part| part.number).collect();
    assert_eq!((done, tried.refused), (vec![1, 2], 1));
    assert_eq!(tried.late, BTreeSet::from([[a, b]]));
    east.note_tried(&tried);
    east.end_tick();
    assert_eq!((east.refused, east.due(|_| true)[0].number), (1, 3));
}

#[test]
fn parts_between_two_columns_keep_no_others_from_their_turn() {
    let (mut east, [a, b, c]) = much_to_do();
    assert_eq!(try_all(&mut east, None), [[a, b]; PARTS_PER_TICK]);
    let second = try_all(&mut east, None);
    assert_eq!((second[0], second[1]), ([a, c], [a, b]));
    let mut tries = 2;
    while !try_all(&mut east, None).is_empty() {
        tries += 1;
    }
    assert_eq!(tries, MAX_WAITING / PARTS_PER_TICK);
    assert_eq!(east.held[&b].record.applied_of(b, a), MAX_WAITING as u64 - 1);
}

#[test]
fn an_operation_that_waits_keeps_no_room_for_later_ones_that_are_done() {
    let (a, b, c) = (at(0, 0), at(-1, 0), at(0, -1));
    let mut own = Borders::default();
    own.take(&BTreeSet::from([a]), BTreeMap::new(), BTreeSet::new());
    own.begin_at(a, &EditOp::dig_ball([1.0, 0.0, 60.0], 4.0));
    own.begin_at(a, &EditOp::dig_ball([60.0, 0.0, 1.0], 4.0));
    let applied = BTreeMap::from([([0, 1], 2)]);
    let north = BorderRecord { applied, ..BorderRecord::default() };
    own.take(&BTreeSet::from([a]), BTreeMap::from([(c, north)]), BTreeSet::new());
    own.forget_done(|_| true);
    assert_eq!(own.waiting()[1], BTreeSet::from([b]));
    assert_eq!(own.held[&a].record.waiting.len(), 1);
}

#[test]
fn a_record_that_was_restored_goes_on_behind_what_its_neighbours_have_applied() {
    let (a, b) = (at(0, 0), at(-1, 0));
    let record = |last, applied| BorderRecord { last, applied, ..BorderRecord::default() };
    let read = [(a, record(3, BTreeMap::new())), (b, record(0, BTreeMap::from([([1, 0], 40)])))];
    let mut own = Borders::default();
    own.take(&BTreeSet::from([a]), read.into(), BTreeSet::new());
    own.begin_at(a, &EditOp::dig_ball([1.0, 0.0, 60.0], 4.0));
    own.begin_at(a, &EditOp::dig_ball([60.0, 0.0, 1.0], 4.0));
    let numbers: Vec<u64> = own.held[&a].record.waiting.iter().map(|op| op.number).collect();
    assert_eq!(numbers, [41, 42]);
}

#[test]
fn a_neighbour_that_is_behind_leaves_room_for_the_others() {
    let (a, b, c) = (at(0, 0), at(-1, 0), at(0, -1));
    let held = BTreeSet::from([a]);
    let mut own = Borders::default();
    own.take(&held, BTreeMap::new(), BTreeSet::from([b]));
    let (west, north) = ([1.0, 0.0, 60.0], [60.0, 0.0, 1.0]);
    let [west, north] = [west, north].map(|centre| EditOp::dig_ball(centre, 4.0));
    let [to_west, to_north] = [&west, &north].map(|op| op.region().unwrap());
    let fill = |own: &mut Borders, op: &EditOp| {
        let count = (0..).take_while(|_| {
            let is_open = own.backlog(a, op.region().unwrap()).is_none();
            is_open.then(|| own.begin_at(a, op)).is_some()
        });
        count.count()
    };
    let counts = [&west, &north].map(|op| fill(&mut own, op));
    assert_eq!(counts, [MAX_WAITING_FOR_ONE, MAX_WAITING - MAX_WAITING_FOR_ONE]);
    assert_eq!(own.backlog(a, to_west), Some(Backlog::Behind(b)));
    assert_eq!(own.backlog(a, to_north), Some(Backlog::Full));
    // What was read of a record before it was damaged holds.
    let applied = BTreeMap::from([([1, 0], 100)]);
    let record = BorderRecord { applied, ..BorderRecord::default() };
    own.take(&held, BTreeMap::from([(b, record)]), BTreeSet::new());
    own.take(&held, BTreeMap::new(), BTreeSet::from([b]));
    own.forget_done(|_| true);
    assert_eq!(own.held[&a].record.waiting.len(), MAX_WAITING - 100);
    assert_eq!((fill(&mut own, &west), fill(&mut own, &north)), (100, 0));
    assert_eq!(own.waiting()[1], BTreeSet::from([b, c]));
}

/// A world that grows, in memory, with the record of an operation that began in a column and that
/// the one east of it has not applied.
fn left_by_servers(disk: &Arc<MemoryDisk>, from: Column, op: &EditOp) -> Store {
    let info = WorldInfo { unlisted: UnlistedChunks::Unknown, ..WorldInfo::default() };
    let store = Store::create_on(disk.clone(), "world", &info).unwrap();
    let mut borders = Borders::default();
    borders.take(&BTreeSet::from([from]), BTreeMap::new(), BTreeSet::new());
    borders.begin_at(from, op);
    for (name, bytes) in borders.to_save().1 {
        store.set_extra(&name, bytes.as_deref()).unwrap();
    }
    store
}

#[test]
fn a_server_that_has_all_of_a_world_ends_what_servers_left_unfinished() {
    let (west, disk) = (at(-1, 0), Arc::new(MemoryDisk::default()));
    let store = left_by_servers(&disk, west, &EditOp::dig_ball([-1.0, 0.0, 50.0], 5.0));
    // Extra data of a game does not concern it.
    store.set_extra("column 0,0/state", Some(b"border")).unwrap();
    let served = ServedWorld {
        name: "world".to_owned(),
        store,
        generate: Some(Arc::new(|request| request.fill(5))),
        protected: Vec::new(),
        decide: None,
        share: None,
    };
    let options = ServerOptions { pieces_fall: false, ..ServerOptions::default() };
    let (world, thread) = crate::ticker::start(served, &options).unwrap();
    world.end();
    assert!(thread.join().unwrap(), "all is saved");
    drop(world);
    let store = Store::open_on(disk, "world").unwrap();
    let mut cells = DenseBox::default();
    assert!(store.block(ChunkPos::new(0, 0, 1).into(), &mut cells).unwrap(), "it is dug");
    assert!(cells.materials().contains(&0) && cells.materials().contains(&5));
    assert!(!store.block(ChunkPos::new(-1, 0, 1).into(), &mut cells).unwrap(), "that was done");
    let left = Borders::of_store(&store).unwrap();
    assert_eq!(left.waiting_operations(), 0);
    // It is read once only, and what cannot be read is not served.
    store.set_extra(&west.data_name(BORDER), Some(b"?")).unwrap();
    let error = Borders::of_store(&store).err().unwrap().to_string();
    assert!(error.contains("column -1, 0 is damaged"), "{error}");
}
