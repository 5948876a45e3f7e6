//! Journals that forget: what they no longer know is never overwritten.

use super::journaling::{AUTHORS, JournaledWorld, deeds, differing, filter, first_difference};
use super::*;

fn by(author: &str) -> JournalFilter {
    JournalFilter { authors: vec![author.to_owned()], ..JournalFilter::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_rollback_never_overwrites_an_edit_that_it_does_not_know_of_slow(
        deeds in deeds(), filter in filter(), again in filter(), kept in 0.1..1.1f64,
    ) {
        let mut world = JournaledWorld::new(true);
        deeds.iter().for_each(|(author, deed)| world.act(*author, deed));
        let mut small = Journal::new((kept * world.journal.bytes() as f64) as usize);
        small.restore(world.journal.entries(..).cloned());
        let first_number = |journal: &Journal| journal.entries(..).next().map(|entry| entry.number);
        let first = first_number(&world.journal);
        // As a server that was started again.
        let entries = Journal::decode(&Journal::encode(small.entries(..))).expect("our own bytes");
        prop_assert!(small.entries(..).eq(entries.iter()));
        world.journal = small;

        for (round, filter) in [filter, again].iter().enumerate() {
            // The first rollback is an entry, for which others may have been forgotten.
            let is_whole = first_number(&world.journal) == first
                && !world.journal.entries(..).any(JournalEntry::is_forgotten);
            let before = reachable(&world.grid);
            let expected = world.rolled_back(filter);
            world.roll_back(filter, |_, _| {});
            let after = reachable(&world.grid);
            // One that has no room for the rollback's own entry drops it at once.
            if is_whole && world.left_out == 0 {
                prop_assert_eq!(first_difference(&after, &expected), None);
            }
            if round > 0 {
                // The newest edits may be dead already.
                break;
            }
            for pos in differing(&before, &after) {
                let newest = world.edits.iter().rfind(|edit| edit.touched.contains(&pos));
                let newest = newest.expect("only cells of edits are restored");
                let is_meant = JournaledWorld::matches(AUTHORS[newest.author], newest.time, filter);
                prop_assert!(is_meant, "{:?}", pos);
            }
        }
    }
}

/// Records what an operation changed.
fn record(grid: &mut VoxelGrid, journal: &mut Journal, author: &str, op: impl Into<EditOp>) -> u64 {
    let mut history = History::new(0);
    Editor::default().apply(grid, &op.into(), &mut history).expect("a sound edit");
    journal.record(author, 7, history.take_last_change()).expect("it changes something")
}

/// Noise, which takes a byte a cell and more.
fn noise(seed: u32) -> EditOp {
    let mut cells = DenseBox::new(Region::new([0; 3], [24; 3]));
    let mut random = seed;
    for pos in cells.region().voxels() {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [material, occupancy] = [random >> 24, random >> 16].map(|v| v as u8);
        cells.set(pos, Cell::new(2 + material % 40, occupancy));
    }
    let clip = Clip::new(cells).expect("it is small");
    let at = [100, 0, 0];
    let pose = PastePose { at, blend: Blend::Replace, ..PastePose::default() };
    EditOp::Paste(PasteOp { clip, pose })
}

#[test]
fn who_edits_much_loses_what_it_did_first_and_not_what_others_did() {
    let (mut grid, mut journal) = (VoxelGrid::new(GridOptions::default()), Journal::new(1 << 20));
    let house = EditOp::fill_ball(8, [0.5; 3], 9.0);
    let built = record(&mut grid, &mut journal, "ada", house);
    // In the middle of all, Eve digs into the house.
    let mut dug = 0;
    for seed in 0..200 {
        record(&mut grid, &mut journal, "eve", noise(seed));
        if seed == 10 {
            dug = record(&mut grid, &mut journal, "eve", EditOp::dig_ball([0.5, 9.0, 0.5], 3.0));
        }
    }
    assert!(journal.bytes() <= 1 << 20);
    let entry = |number: u64| journal.entries(number..=number).next().cloned();
    let forgotten = |number: u64| entry(number).map(|entry| entry.is_forgotten());
    assert_eq!([forgotten(built), forgotten(dug)], [Some(false), Some(true)]);
    assert_eq!(entry(dug).expect("it is there").cells, entry(dug).expect("it is").before.count());
    assert!(journal.take_forgotten().contains(&dug));
    assert!(journal.take_forgotten().is_empty());

    let rubble = reachable_around(&grid);
    let mut job = Rollback::new(journal.entries(..).cloned(), by("eve"));
    let forgotten =
        Vec::from_iter(job.forgotten().map(|(author, count)| (author.to_owned(), count)));
    assert!(matches!(&forgotten[..], [(eve, 100..200)] if eve == "eve"), "{forgotten:?}");
    assert!(job.edits() >= 10, "{}", job.edits());
    while job.step(&journal, &mut grid).expect("all is held").is_some() {}
    assert_eq!(reachable_around(&grid), rubble, "what Eve dug is forgotten, and stays");

    let mut job = Rollback::new(journal.entries(..).cloned(), by("ada"));
    assert_eq!((job.edits(), job.forgotten().count()), (1, 0));
    while job.step(&journal, &mut grid).expect("all is held").is_some() {}
    // All of the house is gone; the hole was air before.
    let left = reachable_around(&grid).materials().iter().filter(|&&m| m != AIR).count();
    let within_the_hole = journal.entries(dug..=dug).next().map_or(0, |entry| entry.cells);
    assert!((left as u64) < within_the_hole, "{left} cells of the house are left");
}

#[test]
fn very_many_small_digs_cost_the_oldest_edits_and_never_the_newest() {
    let (mut grid, mut journal) = (VoxelGrid::new(GridOptions::default()), Journal::new(1 << 18));
    record(&mut grid, &mut journal, "ada", EditOp::fill_ball(8, [0.5; 3], 40.0));
    record(&mut grid, &mut journal, "ada", noise(1));
    let mut fewest = usize::MAX;
    for i in 0..6000_u32 {
        let at = [i % 40, i / 40 % 40, i / 1600].map(|v| f64::from(v) - 18.5);
        let author = if i % 100 == 0 { "bob" } else { "eve" };
        let change = Action::Paint { material: 9 + (i % 2) as u8 };
        let paint = BrushOp::new(Brush::Ball { centre: at, radius: 0.9 }, change);
        record(&mut grid, &mut journal, author, paint);
        assert!(journal.bytes() <= 1 << 18);
        // At least half of the budget is of entries that can be rolled back, the newest among them.
        let newest = journal.entries(..).rev().take_while(|entry| !entry.is_forgotten());
        if journal.newest_dropped() > 0 {
            fewest = fewest.min(newest.map(JournalEntry::bytes).sum());
        }
    }
    assert!((1 << 17..1 << 18).contains(&fewest), "{fewest} bytes");
}

#[test]
fn edits_that_were_dropped_between_two_steps_of_a_rollback_are_not_overwritten() {
    let (mut grid, mut journal) = (VoxelGrid::new(GridOptions::default()), Journal::new(1 << 17));
    record(&mut grid, &mut journal, "ada", EditOp::fill_ball(8, [0.5; 3], 9.0));
    let mut job = Rollback::new(journal.entries(..).cloned(), by("ada"));
    let chunks = job.chunks_left();
    assert_eq!(chunks, 8);
    job.step(&journal, &mut grid).expect("all is held").expect("there is more to do");
    let all = EditOp::fill_ball(9, [0.5; 3], 8.0);
    let newest = record(&mut grid, &mut journal, "eve", all);
    let rebuilt = reachable_around(&grid);

    for seed in 0.. {
        if journal.newest_dropped() >= newest {
            break;
        }
        record(&mut grid, &mut journal, "bob", noise(seed));
        assert!(seed < 1000, "the journal keeps its budget");
    }
    while job.step(&journal, &mut grid).expect("all is held").is_some() {}
    assert_eq!(job.chunks_left_out(), chunks as u64 - 1);
    assert_eq!(reachable_around(&grid), rebuilt);
}

/// All cells of the house.
fn reachable_around(grid: &VoxelGrid) -> DenseBox {
    let mut cells = DenseBox::default();
    grid.read(Region::new([-12; 3], [14; 3]), 0, &mut cells).expect("all is held");
    cells
}
