//! Journals and rollbacks, against full copies of the world before each edit.

use super::*;
use crate::voxel::ChunkPos;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const AUTHORS: [&str; 3] = ["ada", "bob", "çelik"];

/// What an author does.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// One or two operations, as one stroke.
    Stroke(Vec<BrushOp>),
    Undo,
    Redo,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => proptest::collection::vec(brush_op(), 1..3).prop_map(Deed::Stroke),
        2 => Just(Deed::Undo),
        1 => Just(Deed::Redo),
    ]
}

pub(super) fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    proptest::collection::vec((0..3usize, deed()), 1..9)
}

fn corner() -> impl Strategy<Value = [i32; 3]> {
    proptest::array::uniform3(-12..8i32)
}

pub(super) fn filter() -> impl Strategy<Value = JournalFilter> {
    let authors = proptest::collection::vec(0..3usize, 0..3);
    let time = || proptest::option::of(90..140u64);
    let region = proptest::option::of((corner(), proptest::array::uniform3(1..20i32)));
    (authors, time(), time(), region).prop_map(|(authors, since, until, region)| JournalFilter {
        number: None,
        authors: authors.into_iter().map(|author| AUTHORS[author].to_owned()).collect(),
        since,
        until,
        region: region.map(|(min, size)| {
            let min = VoxelPos::from(min);
            Region { min, max: min + size.into() }
        }),
    })
}

fn keeper() -> JournalFilter {
    JournalFilter { authors: vec!["keeper".to_owned()], ..JournalFilter::default() }
}

/// Also what takes back rollbacks, all of them or in a region, and one entry by its place in the
/// journal.
fn filter_or_keeper() -> impl Strategy<Value = (JournalFilter, Option<prop::sample::Index>)> {
    let filter = prop_oneof![
        3 => filter(),
        2 => filter().prop_map(|filter| JournalFilter { region: filter.region, ..keeper() }),
        1 => (1000..1004u64).prop_map(|since| JournalFilter {
            since: Some(since), ..JournalFilter::default()
        }),
    ];
    let one = prop::option::weighted(0.25, any::<prop::sample::Index>());
    (filter, one).prop_map(|(filter, one)| match one {
        Some(_) => (JournalFilter { region: filter.region, ..JournalFilter::default() }, one),
        None => (filter, one),
    })
}

pub(super) type Touched = BTreeSet<[i32; 3]>;

/// An edit, with all cells before it.
pub(super) struct CopiedEdit {
    number: u64,
    pub author: usize,
    pub time: u64,
    after: DenseBox,
    pub touched: Touched,
}

/// A rollback, as the twin knows it.
struct CopiedRollback {
    filter: JournalFilter,
    time: u64,
    /// Its entries in the journal.
    numbers: Vec<u64>,
    /// How many edits and rollbacks there were before it.
    edits: usize,
    rollbacks: usize,
}

/// A world with its journal, and the slow twin of that.
pub(super) struct JournaledWorld {
    pub grid: VoxelGrid,
    /// All cells before the first edit.
    first: DenseBox,
    pub journal: Journal,
    histories: [History; 3],
    pub edits: Vec<CopiedEdit>,
    rollbacks: Vec<CopiedRollback>,
    /// Chunks that rollbacks left out.
    pub left_out: u64,
    /// Cells that the strokes of each author changed, for undo and redo.
    done: [Vec<Touched>; 3],
    undone: [Vec<Touched>; 3],
}

pub(super) type State = (Cell, Option<u8>);

pub(super) fn state(cells: &DenseBox, pos: VoxelPos) -> State {
    (cells.cell(pos), cells.water_at(pos))
}

/// Cells of one region that differ. Most rows are the same bytes, and not looked at cell by cell.
pub(super) fn differing(a: &DenseBox, b: &DenseBox) -> Touched {
    assert_eq!(a.region(), b.region());
    let width = a.region().size()[0];
    let is_row_same = |from: usize| {
        let row = from..from + width;
        let [held_a, held_b] = [a, b].map(|cells| {
            let [from, to] = [row.start, row.end]
                .map(|end| cells.water().partition_point(|entry| (entry.0 as usize) < end));
            &cells.water()[from..to]
        });
        a.materials()[row.clone()] == b.materials()[row.clone()]
            && a.occupancies()[row.clone()] == b.occupancies()[row]
            && held_a == held_b
    };
    let rows = (0..a.materials().len()).step_by(width.max(1)).filter(|&from| !is_row_same(from));
    let cells = rows.flat_map(|from| (from..from + width).map(|i| a.position(i as u32)));
    let differs = |pos: &VoxelPos| state(a, *pos) != state(b, *pos);
    cells.filter(differs).map(|pos| pos.to_array()).collect()
}

impl JournaledWorld {
    pub fn new(wet: bool) -> JournaledWorld {
        JournaledWorld {
            grid: ground(5, wet),
            first: reachable(&ground(5, wet)),
            journal: Journal::new(64 << 20),
            histories: [0, 1, 2].map(|author| History::new(if author == 0 { 0 } else { 64 << 20 })),
            edits: Vec::new(),
            rollbacks: Vec::new(),
            left_out: 0,
            done: Default::default(),
            undone: Default::default(),
        }
    }

    fn time(&self) -> u64 {
        100 + 3 * self.edits.len() as u64
    }

    /// Records the last change of an author in the journal and in the twin.
    fn note(&mut self, author: usize, touched: Touched) {
        let change = self.histories[author].take_last_change();
        assert_eq!(change.count(), touched.len() as u64);
        assert_eq!(change.is_empty(), touched.is_empty());
        if !change.is_empty() {
            let time = self.time();
            let number = self.journal.record(AUTHORS[author], time, change).expect("a change");
            let after = reachable(&self.grid);
            self.edits.push(CopiedEdit { number, author, time, after, touched });
        }
    }

    pub fn act(&mut self, author: usize, deed: &Deed) {
        match deed {
            Deed::Stroke(ops) => self.draw(author, ops),
            Deed::Undo => self.swap(author, false),
            Deed::Redo => self.swap(author, true),
        }
    }

    fn draw(&mut self, author: usize, ops: &[BrushOp]) {
        let mut stroke = Touched::new();
        self.histories[author].begin_stroke();
        for op in ops {
            let before = reachable(&self.grid);
            let history = &mut self.histories[author];
            Editor::default().apply(&mut self.grid, &op.clone().into(), history).expect("sound");
            let touched = differing(&before, &reachable(&self.grid));
            stroke.extend(&touched);
            if !touched.is_empty() {
                self.undone[author].clear();
            }
            self.note(author, touched);
        }
        self.histories[author].end_stroke();
        if !stroke.is_empty() {
            self.done[author].push(stroke);
        }
    }

    fn swap(&mut self, author: usize, is_redo: bool) {
        let history = &mut self.histories[author];
        let swapped =
            if is_redo { history.redo(&mut self.grid) } else { history.undo(&mut self.grid) };
        let (from, to) = match is_redo {
            true => (&mut self.undone[author], &mut self.done[author]),
            false => (&mut self.done[author], &mut self.undone[author]),
        };
        if swapped.expect("all is held").is_some() {
            let touched = from.pop().expect("the twin has it, too");
            to.push(touched.clone());
            // A cell of two operations of one stroke is there twice.
            let change = self.histories[author].take_last_change();
            assert!(change.count() >= touched.len() as u64);
            let time = self.time();
            let number = self.journal.record(AUTHORS[author], time, change).expect("a change");
            let after = reachable(&self.grid);
            self.edits.push(CopiedEdit { number, author, time, after, touched });
        } else {
            assert!(self.histories[author].take_last_change().is_empty());
        }
    }

    pub fn matches(author: &str, time: u64, filter: &JournalFilter) -> bool {
        (filter.authors.is_empty() || filter.authors.iter().any(|name| name == author))
            && filter.since.is_none_or(|since| time >= since)
            && filter.until.is_none_or(|until| time < until)
    }

    /// Whether a rollback is in force in a cell: no later one that is takes it back.
    fn is_in_force(&self, at: usize, pos: VoxelPos) -> bool {
        let time = self.rollbacks[at].time;
        !(at + 1..self.rollbacks.len()).any(|later| {
            let CopiedRollback { filter, rollbacks, .. } = &self.rollbacks[later];
            at < *rollbacks
                && JournaledWorld::matches("keeper", time, filter)
                && filter.number.is_none_or(|number| self.rollbacks[at].numbers.contains(&number))
                && filter.region.is_none_or(|region| region.contains(pos))
                && self.is_in_force(later, pos)
        })
    }

    fn is_dead(&self, at: usize, pos: VoxelPos) -> bool {
        let CopiedEdit { number, author, time, .. } = self.edits[at];
        (0..self.rollbacks.len()).any(|later| {
            let CopiedRollback { filter, edits, .. } = &self.rollbacks[later];
            at < *edits
                && JournaledWorld::matches(AUTHORS[author], time, filter)
                && filter.number.is_none_or(|wanted| wanted == number)
                && filter.region.is_none_or(|region| region.contains(pos))
                && self.is_in_force(later, pos)
        })
    }

    /// All cells as the newest edits made them that are not dead.
    fn expected(&self) -> DenseBox {
        let mut after = self.first.clone();
        let touched: Touched = self.edits.iter().flat_map(|edit| &edit.touched).copied().collect();
        for pos in touched.into_iter().map(VoxelPos::from) {
            let touches = |at: &usize| self.edits[*at].touched.contains(&pos.to_array());
            let mut touching = (0..self.edits.len()).rev().filter(touches);
            if let Some(at) = touching.find(|&at| !self.is_dead(at, pos)) {
                let (cell, water) = state(&self.edits[at].after, pos);
                after.set(pos, cell);
                after.set_water(pos, water);
            }
        }
        after
    }

    /// Adds a rollback to the twin, and returns all cells after it.
    pub fn rolled_back(&mut self, filter: &JournalFilter) -> DenseBox {
        let (edits, rollbacks) = (self.edits.len(), self.rollbacks.len());
        let (filter, time) = (filter.clone(), 1000 + rollbacks as u64);
        let numbers = Vec::new();
        self.rollbacks.push(CopiedRollback { filter, time, numbers, edits, rollbacks });
        self.expected()
    }

    /// Rolls back; `meanwhile` is called before each step. Returns how many edits matched.
    pub fn roll_back(
        &mut self,
        filter: &JournalFilter,
        mut meanwhile: impl FnMut(&mut JournaledWorld, usize),
    ) -> u64 {
        let mut job = Rollback::new(self.journal.entries(..).cloned(), filter.clone());
        let (mut step, mut changed) = (0, 0);
        let time = 999 + self.rollbacks.len() as u64;
        loop {
            meanwhile(self, step);
            step += 1;
            match job.step(&self.journal, &mut self.grid).expect("all is held") {
                None => break,
                Some(cells) => {
                    changed += cells.count();
                    let number = self.journal.record_as(job.kind(), "keeper", time, cells);
                    if let Some(rollback) = self.rollbacks.last_mut() {
                        rollback.numbers.extend(number);
                    }
                }
            }
        }
        assert_eq!(job.chunks_left(), 0);
        assert_eq!(job.cells(), changed);
        self.left_out += job.chunks_left_out();
        job.edits()
    }
}

pub(super) fn first_difference(a: &DenseBox, b: &DenseBox) -> Option<String> {
    let pos = VoxelPos::from(differing(a, b).first().copied()?);
    Some(format!("{pos}: {:?}, twin {:?}", state(a, pos), state(b, pos)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_rollback_does_what_the_slow_twin_does_and_can_be_rolled_back_slow(
        deeds in deeds(), filter in filter(), wet: bool,
    ) {
        let mut world = JournaledWorld::new(wet);
        deeds.iter().for_each(|(author, deed)| world.act(*author, deed));
        // As a server that was started again.
        let bytes = Journal::encode(world.journal.entries(..));
        let entries = Journal::decode(&bytes).expect("our own bytes");
        prop_assert!(world.journal.entries(..).eq(entries.iter()));
        world.journal = Journal::new(64 << 20);
        world.journal.restore(entries);

        let (before, expected) = (reachable(&world.grid), world.rolled_back(&filter));
        let matching = world.edits.iter().filter(|edit| {
            JournaledWorld::matches(AUTHORS[edit.author], edit.time, &filter)
        });
        let no_more = matching.count() as u64;
        let count = world.roll_back(&filter, |_, _| {});
        prop_assert_eq!(first_difference(&reachable(&world.grid), &expected), None);
        prop_assert!(count <= no_more && (filter.region.is_some() || count == no_more));

        world.rolled_back(&keeper());
        world.roll_back(&keeper(), |_, _| {});
        prop_assert_eq!(first_difference(&reachable(&world.grid), &before), None);
    }

    #[test]
    fn the_order_of_rollbacks_does_not_matter_slow(
        deeds in deeds(), between in deeds(), filters in proptest::collection::vec(filter_or_keeper(), 1..5),
        wet: bool,
    ) {
        let mut world = JournaledWorld::new(wet);
        deeds.iter().for_each(|(author, deed)| world.act(*author, deed));
        let mut between = between.chunks(2);
        for (filter, at) in &filters {
            let numbers = Vec::from_iter(world.journal.entries(..).map(|entry| entry.number));
            let number = at.filter(|_| !numbers.is_empty()).map(|at| numbers[at.index(numbers.len())]);
            let filter = &JournalFilter { number, ..filter.clone() };
            let expected = world.rolled_back(filter);
            world.roll_back(filter, |_, _| {});
            prop_assert_eq!(first_difference(&reachable(&world.grid), &expected), None);
            for (author, deed) in between.next().unwrap_or_default() {
                world.act(*author, deed);
            }
            // As a server that was started again.
            let bytes = Journal::encode(world.journal.entries(..));
            let entries = Journal::decode(&bytes).expect("our own bytes");
            prop_assert!(world.journal.entries(..).eq(entries.iter()));
            world.journal = Journal::new(64 << 20);
            world.journal.restore(entries);
        }
    }

    #[test]
    fn people_who_fought_over_a_place_are_rolled_back_one_after_the_other_or_together_slow(
        deeds in deeds(), wet: bool, is_reversed: bool,
    ) {
        let by = |authors: &[usize]| JournalFilter {
            authors: authors.iter().map(|&author| AUTHORS[author].to_owned()).collect(),
            ..JournalFilter::default()
        };
        let [one, both] = [[0, 1], [1, 0]].map(|pair| {
            let mut world = JournaledWorld::new(wet);
            deeds.iter().for_each(|(author, deed)| world.act(*author, deed));
            match pair[0] == 0 {
                true => drop(world.roll_back(&by(&[0, 1]), |_, _| {})),
                false => {
                    let [first, second] = if is_reversed { [1, 0] } else { [0, 1] };
                    world.roll_back(&by(&[first]), |_, _| {});
                    world.roll_back(&by(&[second]), |_, _| {});
                }
            }
            reachable(&world.grid)
        });
        prop_assert_eq!(first_difference(&one, &both), None);
    }

    #[test]
    fn what_is_edited_during_a_rollback_stays_slow(
        deeds in deeds(), own in 0..3usize, later in proptest::collection::vec((0..9usize, brush_op()), 1..3),
        wet: bool,
    ) {
        let mut world = JournaledWorld::new(wet);
        deeds.iter().for_each(|(author, deed)| world.act(*author, deed));
        let filter = JournalFilter {
            authors: vec![AUTHORS[own].to_owned()], ..JournalFilter::default()
        };
        let mut expected = world.rolled_back(&filter);
        // Also of the author whose edits are rolled back.
        world.roll_back(&filter, |world, step| {
            for (_, op) in later.iter().filter(|(at, _)| *at == step) {
                let before = reachable(&world.grid);
                world.draw(own, std::slice::from_ref(op));
                let after = reachable(&world.grid);
                for pos in differing(&before, &after).into_iter().map(VoxelPos::from) {
                    let (cell, water) = state(&after, pos);
                    expected.set(pos, cell);
                    expected.set_water(pos, water);
                }
            }
        });
        prop_assert_eq!(first_difference(&reachable(&world.grid), &expected), None);
    }

    #[test]
    fn damaged_entries_are_refused_or_read_and_never_panic(
        deeds in deeds(), at: prop::sample::Index, flip in 1..=255u8, cut: prop::sample::Index,
        is_sealed: bool,
    ) {
        let mut world = JournaledWorld::new(true);
        deeds.iter().take(3).for_each(|(author, deed)| world.act(*author, deed));
        let mut bytes = Journal::encode(world.journal.entries(..));
        let reseal = |bytes: &mut Vec<u8>| {
            if bytes.len() >= 9 {
                let sum = xxh3_64(&bytes[9..]);
                bytes[1..9].copy_from_slice(&sum.to_le_bytes());
            }
        };
        let mut short = bytes[..cut.index(bytes.len())].to_vec();
        if is_sealed {
            reseal(&mut short);
        }
        let error = Journal::decode(&short).expect_err("it ends early");
        prop_assert!(error.offset <= short.len() && !error.to_string().contains('\n'), "{}", error);
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        if is_sealed && !(1..9).contains(&at) {
            reseal(&mut bytes);
        }
        match Journal::decode(&bytes) {
            Ok(entries) => {
                prop_assert!(is_sealed);
                let encoded = Journal::encode(&entries);
                let again = Journal::decode(&encoded).expect("our own bytes");
                prop_assert_eq!(&again, &entries);
                // What is read can be rolled back.
                let mut job = Rollback::new(entries, JournalFilter::default());
                while let Ok(Some(_)) = job.step(&Journal::new(0), &mut world.grid) {}
            }
            Err(error) => prop_assert!(error.offset <= bytes.len(), "{}", error),
        }
    }
}

/// A journal of two entries in a small world.
fn small_journal() -> (VoxelGrid, Journal) {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let (mut history, mut journal) = (History::new(0), Journal::new(1 << 20));
    for (author, time, op) in [
        ("ada", 1_764_000_000, EditOp::fill_ball(8, [0.0; 3], 1.0)),
        ("::1", 1_764_000_060, EditOp::dig_ball([0.5, 0.5, 0.5], 0.9)),
    ] {
        Editor::default().apply(&mut grid, &op, &mut history).expect("a sound edit");
        journal.record(author, time, history.take_last_change());
    }
    (grid, journal)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn entries_are_written_as_the_documentation_of_the_format_says() {
    let (_, journal) = small_journal();
    assert_eq!(hex(&Journal::encode(journal.entries(..))), GOLDEN);
}

const GOLDEN: &str = "0388215e8e81ebb7870201808292c90603616461000101010102020204797777770300800701bc8292c906033a3a31\
    000100000001010101780401884800";

#[test]
fn a_rollback_is_written_as_the_documentation_of_the_format_says() {
    let mut journal = Journal::new(1 << 20);
    let filter = JournalFilter {
        authors: vec!["bob".to_owned()],
        since: Some(200),
        until: None,
        region: Some(Region::new([-1, 0, 2], [3, 5, 300])),
        number: Some(9),
    };
    let mark = RollbackMark { filter, through: 12, from: Some(9) };
    journal.number_after(12);
    let kind = JournalKind::Rollback(mark.into());
    // Once, though nothing changed.
    for _ in 0..2 {
        journal.record_as(kind.clone(), "ada", 7, ChangedCells::default());
    }
    let bytes = Journal::encode(journal.entries(..));
    assert_eq!(hex(&bytes), GOLDEN_ROLLBACK);
    let entries = Journal::decode(&bytes).expect("our own bytes");
    assert!(entries.iter().eq(journal.entries(..)));
}

const GOLDEN_ROLLBACK: &str =
    "037c888a61d984d8a6010d0703616461031d0c0103626f62c80109090100040405aa0200";

#[test]
fn entries_of_the_versions_before_are_read() {
    let (_, journal) = small_journal();
    let version_2 = format!("02{}", &GOLDEN[2..]);
    for golden in [GOLDEN_1, &version_2] {
        let digits = (0..golden.len()).step_by(2).map(|at| &golden[at..at + 2]);
        let bytes = digits.map(|two| u8::from_str_radix(two, 16).expect("two digits"));
        let entries = Journal::decode(&Vec::from_iter(bytes)).expect("bytes of an old version");
        assert!(entries.iter().eq(journal.entries(..)));
    }
}

const GOLDEN_1: &str = "017484eeb491ee68480201808292c906036164610101010102020204797777770300800701bc8292c906033a3a3101000000\
    01010101780401884800";

#[test]
fn the_oldest_entries_are_dropped_beyond_the_budget() {
    let (_, journal) = small_journal();
    let change = journal.entries(..).next().expect("two entries").before.clone();
    let mut small = Journal::new(10 * journal.bytes());
    for number in 1..1000 {
        assert_eq!(small.record("ada", number, change.clone()), Some(number));
        assert!(small.bytes() <= 10 * journal.bytes());
    }
    let numbers = Vec::from_iter(small.entries(..).map(|entry| entry.number));
    assert!(numbers.len() > 9 && numbers.ends_with(&[998, 999]), "{numbers:?}");
    assert_eq!(small.entries(998..).count(), 2);
    assert_eq!(small.entries(..=numbers[0]).count(), 1);
    assert_eq!(Journal::new(0).record("ada", 1, ChangedCells::default()), None);
    small.number_after(5000);
    assert_eq!(small.record("ada", 9, change.clone()), Some(5001));
    // Names are cut at a character.
    small.record(&"é".repeat(40), 9, change);
    let last = small.entries(..).next_back().expect("an entry");
    assert_eq!(&*last.author, "é".repeat(32));
    // An entry that comes late is left out.
    small.restore([JournalEntry { number: 7, ..last.clone() }]);
    assert_eq!(small.entries(..5001).next_back().expect("an entry").number, 999);
}

#[test]
fn a_rollback_names_the_chunk_that_it_needs_and_goes_on_once_it_is_held() {
    let unlisted = UnlistedChunks::Unknown;
    let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let ground = DenseBox::new(Region::new([-32; 3], [32; 3]));
    let around = |chunk: ChunkPos| DenseBox::new(chunk.region());
    grid.load(&ground);
    let (mut history, mut journal) = (History::new(0), Journal::new(1 << 20));
    let op = EditOp::fill_ball(8, [0.0; 3], 3.0);
    Editor::default().apply(&mut grid, &op, &mut history).expect("a sound edit");
    journal.record("ada", 1, history.take_last_change());
    let snapshot = grid.snapshot();
    let mut other = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
    let mut job = Rollback::new(journal.entries(..).cloned(), JournalFilter::default());
    let (mut needed, mut skipped) = (0, 0);
    loop {
        match job.step(&journal, &mut other) {
            Ok(None) => break,
            Ok(Some(_)) => {}
            Err(missing) if missing.chunk == ChunkPos::new(0, 0, 0) => {
                job.skip_chunk();
                skipped += 1;
            }
            Err(missing) => {
                let mut cells = around(missing.chunk);
                snapshot.read(missing.chunk.region(), 0, &mut cells).expect("it is held there");
                other.load(&cells);
                needed += 1;
            }
        }
    }
    assert_eq!((needed, skipped, job.edits()), (7, 1, 1));
    assert!(other.cell(VoxelPos::new(-1, -1, -1)).expect("it is held").is_air());
}
