//! Undo, redo, and histories as bytes.

use super::journaling::{differing, state};
use super::*;

/// Applies strokes of several operations each, and returns the digest before each.
fn draw(grid: &mut VoxelGrid, history: &mut History, strokes: &[Vec<BrushOp>]) -> Vec<u128> {
    let mut editor = Editor::default();
    let mut digests = Vec::new();
    for stroke in strokes {
        let before = digest(grid);
        let held = history.stats().undoable;
        history.begin_stroke();
        for op in stroke {
            editor.apply(grid, &op.clone().into(), &mut *history).expect("a sound edit");
        }
        history.end_stroke();
        // A stroke that changed nothing is not kept.
        if history.stats().undoable > held {
            digests.push(before);
        }
    }
    digests
}

fn strokes() -> impl Strategy<Value = Vec<Vec<BrushOp>>> {
    proptest::collection::vec(proptest::collection::vec(brush_op(), 1..4), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn undo_and_redo_are_exact_also_through_bytes(strokes in strokes(), wet: bool) {
        let mut grid = ground(6, wet);
        let mut history = History::default();
        let mut digests = draw(&mut grid, &mut history, &strokes);
        digests.push(digest(&grid));
        for back in (0..digests.len() - 1).rev() {
            prop_assert!(history.undo(&mut grid).expect("all is held").is_some());
            prop_assert_eq!(digest(&grid), digests[back]);
            let bytes = history.to_bytes();
            history = History::from_bytes(&bytes, 64 << 20).expect("our own bytes");
            prop_assert_eq!(history.to_bytes(), bytes);
        }
        prop_assert_eq!(history.undo(&mut grid), Ok(None));
        for &forth in &digests[1..] {
            history.redo(&mut grid).expect("all is held");
            prop_assert_eq!(digest(&grid), forth);
        }
        prop_assert_eq!(history.redo(&mut grid), Ok(None));
    }

    /// Undoing a stroke gives the cells that it changed what they had before it, whatever
    /// others wrote, and leaves every other cell alone; redoing gives back what was found.
    #[test]
    fn undo_under_another_users_edit_is_defined(
        own in brush_op(),
        other in brush_op(),
        wet: bool,
    ) {
        let mut grid = ground(7, wet);
        let before = grid.snapshot();
        let mut history = History::default();
        Editor::default().apply(&mut grid, &own.into(), &mut history).expect("a sound edit");
        let edited = grid.snapshot();
        apply(&mut grid, other);
        let found = grid.snapshot();
        let digest_found = digest(&grid);
        let undone = history.undo(&mut grid).expect("all is held").is_some();
        let [before, edited, found, now] =
            [&before, &edited, &found, grid.as_snapshot()].map(|snapshot| {
                let mut cells = DenseBox::default();
                let region = Region::new([-30; 3], [30; 3]);
                snapshot.read(region, 0, &mut cells).expect("all is held");
                cells
            });
        let touched = differing(&edited, &before);
        // All others are those that were found.
        for &p in touched.union(&differing(&now, &found)) {
            let expected = if touched.contains(&p) { &before } else { &found };
            prop_assert_eq!(state(&now, p.into()), state(expected, p.into()), "{:?}", p);
        }
        if undone {
            history.redo(&mut grid).expect("all is held");
        }
        prop_assert_eq!(digest(&grid), digest_found);
    }

    /// Bytes that are damaged but for their checksum: an error or a history, never more.
    #[test]
    fn damaged_histories_are_refused_or_harmless(
        strokes in strokes(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
        sealed: bool,
    ) {
        let mut grid = ground(8, true);
        let mut history = History::default();
        draw(&mut grid, &mut history, &strokes);
        let mut bytes = history.to_bytes();
        for (at, xor) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= xor;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if sealed && bytes.len() > 9 {
            bytes[0] = 1;
            let sum = xxhash_rust::xxh3::xxh3_64(&bytes[9..]);
            bytes[1..9].copy_from_slice(&sum.to_le_bytes());
        }
        match History::from_bytes(&bytes, 1 << 20) {
            Ok(mut history) => while matches!(history.undo(&mut grid), Ok(Some(_))) {},
            Err(error) => prop_assert!(error.offset <= bytes.len(), "{}", error),
        }
    }
}

#[test]
fn strokes_without_changes_are_refused() {
    // No stroke to undo, three to redo, each of no patches.
    let strokes = [0, 3, 0, 0, 0];
    let mut bytes = vec![1];
    bytes.extend(xxhash_rust::xxh3::xxh3_64(&strokes).to_le_bytes());
    bytes.extend(strokes);
    let error = History::from_bytes(&bytes, 1 << 20).map(drop).expect_err("empty strokes");
    assert_eq!(error, HistoryError { offset: 12, kind: HistoryErrorKind::EmptyStroke });
}

/// A history of one patch over 9 × 1 × 2 voxels.
fn history_of_rows(rows: &[u8], cells: &[u8]) -> Vec<u8> {
    let mut stroke = vec![0, 1, 1, 0, 0, 0, 9, 1, 2, rows.len() as u8];
    stroke.extend_from_slice(rows);
    stroke.push(cells.len() as u8);
    stroke.extend_from_slice(cells);
    let mut bytes = vec![1];
    bytes.extend(xxhash_rust::xxh3::xxh3_64(&stroke).to_le_bytes());
    bytes.extend(stroke);
    bytes
}

#[test]
fn patches_larger_than_their_changes_are_refused() {
    // A listed row: runs, then the gap before each and its cells.
    let (row, two_ends, nothing) = ([0xff, 1, 0, 9], [0xff, 2, 0, 1, 7, 1], 0xfe);
    let read = |bytes: &[u8]| History::from_bytes(bytes, 1 << 20).map(|h| h.stats().redoable);
    let both = [&row[..], &two_ends].concat();
    assert_eq!(read(&history_of_rows(&both, &[0, 0x82, 10])), Ok(1));
    let wrong = Err(HistoryError { offset: 19, kind: HistoryErrorKind::Rows });
    assert_eq!(read(&history_of_rows(&[nothing, nothing], &[0])), wrong);
    let first_only = [&row[..], &[nothing]].concat();
    assert_eq!(read(&history_of_rows(&first_only, &[0, 0x82, 8])), wrong);
    let one_short = [0xff, 1, 0, 8, 0xff, 1, 0, 1];
    assert_eq!(read(&history_of_rows(&one_short, &[0, 0x82, 8])), wrong);
}

#[test]
fn the_budget_is_kept_by_dropping_the_oldest() {
    let mut grid = VoxelGrid::default();
    let mut history = History::new(4000);
    let mut editor = Editor::default();
    let mut digests = vec![digest(&grid)];
    for i in 0..50 {
        let op = EditOp::fill_ball(8, [f64::from(i) * 3.0, 0.0, 0.0], 4.0);
        editor.apply(&mut grid, &op, &mut history).expect("a sound edit");
        digests.push(digest(&grid));
        assert!(history.stats().bytes <= 4000);
    }
    let stats = history.stats();
    assert!(stats.undoable > 3 && stats.undoable as u64 + stats.dropped == 50, "{stats:?}");
    // What is kept to redo may push out what was kept to undo.
    let mut back = 0;
    while history.undo(&mut grid).expect("all is held").is_some() {
        back += 1;
        assert_eq!(digest(&grid), digests[50 - back]);
        assert!(history.stats().bytes <= 4000);
    }
    assert!((3..=stats.undoable).contains(&back), "{back}");
    // A stroke that does not fit at all is dropped at once.
    let mut tiny = History::new(10);
    let op = EditOp::dig_ball([0.0; 3], 4.0);
    editor.apply(&mut grid, &op, &mut tiny).expect("a sound edit");
    assert_eq!((tiny.stats().undoable, tiny.stats().bytes, tiny.stats().dropped), (0, 0, 1));
}

#[test]
fn a_new_edit_forgets_what_was_undone() {
    let mut grid = VoxelGrid::default();
    let (mut editor, mut history) = (Editor::default(), History::default());
    for x in [0.0, 20.0] {
        let op = EditOp::fill_ball(8, [x, 0.0, 0.0], 4.0);
        editor.apply(&mut grid, &op, &mut history).expect("a sound edit");
    }
    history.undo(&mut grid).expect("all is held");
    assert_eq!((history.stats().undoable, history.stats().redoable), (1, 1));
    let nothing = EditOp::dig_ball([200.0, 0.0, 0.0], 4.0);
    editor.apply(&mut grid, &nothing, &mut history).expect("a sound edit");
    assert_eq!(history.stats().redoable, 1, "an edit that changes nothing is not kept");
    let op = EditOp::fill_ball(3, [40.0, 0.0, 0.0], 4.0);
    editor.apply(&mut grid, &op, &mut history).expect("a sound edit");
    assert_eq!((history.stats().undoable, history.stats().redoable), (2, 0));
}

/// The bytes that this version writes, for ever: see `docs/format.md`.
#[test]
fn the_golden_history_is_read_and_written() {
    let mut grid = VoxelGrid::default();
    let (mut editor, mut history) = (Editor::default(), History::default());
    let op = EditOp::fill_ball(8, [1.0; 3], 1.5);
    editor.apply(&mut grid, &op, &mut history).expect("a sound edit");
    editor
        .apply(&mut grid, &EditOp::paint_ball(100, [1.0, 1.0, 0.0], 1.0), &mut history)
        .expect("a sound edit");
    let bytes = history.to_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, GOLDEN);
    let mut read = History::from_bytes(&bytes, 1 << 20).expect("the golden bytes");
    read.undo(&mut grid).expect("all is held");
    read.undo(&mut grid).expect("all is held");
    assert_eq!(digest(&grid), digest(&VoxelGrid::default()));
}

const GOLDEN: &str = "01b29acd39607a622c02000101010104040410fe8a77fe7768778677687786fe7777fe03\
    00801f0100000102020204797777770f0442424242c800018801c800018801";

#[test]
fn strokes_in_a_region_are_dropped_and_the_others_can_be_undone() {
    let (mut grid, mut history) = (ground(6, false), History::default());
    let dig =
        |x: f64| BrushOp::new(Brush::Ball { centre: [x, 0.0, 0.0], radius: 3.0 }, Action::Dig);
    let strokes = [vec![dig(-12.0)], vec![dig(12.0)], vec![dig(-9.0), dig(9.0)], vec![dig(-5.0)]];
    draw(&mut grid, &mut history, &strokes);
    history.undo(&mut grid).expect("all is held");
    let bytes = history.stats().bytes;
    history.drop_strokes_in(Region::new([0, -99, -99], [99, 99, 99]));
    let stats = history.stats();
    assert_eq!((stats.undoable, stats.redoable), (1, 1), "those in the west");
    assert!(stats.bytes < bytes && stats.bytes > 0);
    let undone = history.undo(&mut grid).expect("all is held").expect("a stroke");
    assert!(undone.max.x < -8, "{undone:?}");
    history.redo(&mut grid).expect("all is held");
    history.drop_strokes_in(Region::new([-99; 3], [99; 3]));
    assert_eq!((history.stats().undoable, history.stats().bytes), (0, 0));
    assert_eq!(history.undo(&mut grid), Ok(None));
}
