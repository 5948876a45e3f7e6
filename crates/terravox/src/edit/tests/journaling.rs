//! Journals and rollbacks, against full copies of the world before each edit.

use super::*;
use crate::voxel::ChunkPos;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

const AUTHORS: [&str; 3] = ["ada", "bob", "çelik"];

/// What an author does.
#[derive(Clone, Debug)]
enum Deed {
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

fn deeds() -> impl Strategy<Value = Vec<(usize, Deed)>> {
    proptest::collection::vec((0..3usize, deed()), 1..9)
}

fn corner() -> impl Strategy<Value = [i32; 3]> {
    proptest::array::uniform3(-12..8i32)
}

fn filter() -> impl Strategy<Value = JournalFilter> {
    let authors = proptest::collection::vec(0..3usize, 0..3);
    let time = || proptest::option::of(90..140u64);
    let region = proptest::option::of((corner(), proptest::array::uniform3(1..20i32)));
    (authors, time(), time(), region).prop_map(|(authors, since, until, region)| JournalFilter {
        authors: authors.into_iter().map(|author| AUTHORS[author].to_owned()).collect(),
        since,
        until,
        region: region.map(|(min, size)| {
            let min = VoxelPos::from(min);
            Region { min, max: min + size.into() }
        }),
    })
}

type Touched = BTreeSet<[i32; 3]>;

/// An edit, with all cells before it.
struct CopiedEdit {
    author: usize,
    time: u64,
    before: DenseBox,
    touched: Touched,
}

/// A world with its journal, and the slow twin of that.
struct JournaledWorld {
    grid: VoxelGrid,
    journal: Journal,
    histories: [History; 3],
    edits: Vec<CopiedEdit>,
    /// Cells that the strokes of each author changed, for undo and redo.
    done: [Vec<Touched>; 3],
    undone: [Vec<Touched>; 3],
}

type State = (Cell, Option<u8>);

fn state(cells: &DenseBox, pos: VoxelPos) -> State {
    (cells.cell(pos), cells.water_at(pos))
}

fn differing(a: &DenseBox, b: &DenseBox) -> Touched {
    let differs = |pos: &VoxelPos| state(a, *pos) != state(b, *pos);
    a.region().voxels().filter(differs).map(|pos| pos.to_array()).collect()
}

impl JournaledWorld {
    fn new(wet: bool) -> JournaledWorld {
        JournaledWorld {
            grid: ground(5, wet),
            journal: Journal::new(64 << 20),
            histories: [0, 1, 2].map(|author| History::new(if author == 0 { 0 } else { 64 << 20 })),
            edits: Vec::new(),
            done: Default::default(),
            undone: Default::default(),
        }
    }

    fn time(&self) -> u64 {
        100 + 3 * self.edits.len() as u64
    }

    /// Records the last change of an author in the journal and in the twin.
    fn note(&mut self, author: usize, before: DenseBox, touched: Touched) {
        let change = self.histories[author].take_last_change();
        assert_eq!(change.count(), touched.len() as u64);
        assert_eq!(change.is_empty(), touched.is_empty());
        if !change.is_empty() {
            let time = self.time();
            self.journal.record(AUTHORS[author], time, change).expect("a change");
            self.edits.push(CopiedEdit { author, time, before, touched });
        }
    }

    fn act(&mut self, author: usize, deed: &Deed) {
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
            self.note(author, before, touched);
        }
        self.histories[author].end_stroke();
        if !stroke.is_empty() {
            self.done[author].push(stroke);
        }
    }

    fn swap(&mut self, author: usize, is_redo: bool) {
        let before = reachable(&self.grid);
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
            self.journal.record(AUTHORS[author], time, change).expect("a change");
            self.edits.push(CopiedEdit { author, time, before, touched });
        } else {
            assert!(self.histories[author].take_last_change().is_empty());
        }
    }

    fn matches(&self, edit: &CopiedEdit, filter: &JournalFilter) -> bool {
        let is_by = |author: &String| author == AUTHORS[edit.author];
        (filter.authors.is_empty() || filter.authors.iter().any(is_by))
            && filter.since.is_none_or(|since| edit.time >= since)
            && filter.until.is_none_or(|until| edit.time < until)
    }

    /// All cells after a rollback, cell by cell.
    fn rolled_back(&self, filter: &JournalFilter) -> DenseBox {
        let now = reachable(&self.grid);
        let mut after = now.clone();
        for pos in now.region().voxels() {
            if filter.region.is_some_and(|region| !region.contains(pos)) {
                continue;
            }
            let touching = self.edits.iter().rev().filter(|e| e.touched.contains(&pos.to_array()));
            let own = touching.take_while(|edit| self.matches(edit, filter));
            if let Some(oldest) = own.last() {
                let (cell, water) = state(&oldest.before, pos);
                after.set(pos, cell);
                after.set_water(pos, water);
            }
        }
        after
    }

    /// Rolls back; `meanwhile` is called before each step. Returns how many edits matched.
    fn roll_back(
        &mut self,
        filter: &JournalFilter,
        mut meanwhile: impl FnMut(&mut JournaledWorld, usize),
    ) -> u64 {
        let mut job = Rollback::new(self.journal.entries(..).cloned(), filter.clone());
        let (mut step, mut changed) = (0, ChangedCells::default());
        loop {
            meanwhile(self, step);
            step += 1;
            match job.step(&self.journal, &mut self.grid).expect("all is held") {
                None => break,
                Some(cells) => changed.append(cells),
            }
        }
        assert_eq!(job.chunks_left(), 0);
        assert_eq!(job.cells(), changed.count());
        self.journal.record("keeper", 1000, changed);
        job.edits()
    }
}

fn first_difference(a: &DenseBox, b: &DenseBox) -> Option<String> {
    let pos = VoxelPos::from(differing(a, b).first().copied()?);
    Some(format!("{pos}: {:?}, twin {:?}", state(a, pos), state(b, pos)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

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
        let matching = world.edits.iter().filter(|edit| world.matches(edit, &filter));
        let no_more = matching.count() as u64;
        let count = world.roll_back(&filter, |_, _| {});
        prop_assert_eq!(first_difference(&reachable(&world.grid), &expected), None);
        prop_assert!(count <= no_more && (filter.region.is_some() || count == no_more));

        let keeper = JournalFilter { authors: vec!["keeper".to_owned()], ..JournalFilter::default() };
        world.roll_back(&keeper, |_, _| {});
        prop_assert_eq!(first_difference(&reachable(&world.grid), &before), None);
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

#[test]
fn entries_are_written_as_the_documentation_of_the_format_says() {
    let (_, journal) = small_journal();
    let hex: String =
        Journal::encode(journal.entries(..)).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN);
}

const GOLDEN: &str = "017484eeb491ee68480201808292c906036164610101010102020204797777770300800701bc8292c906033a3a3101000000\
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
