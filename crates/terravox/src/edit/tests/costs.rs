//! What operations cost: counted beside what they do, and refused beyond the limits.

use super::*;

fn estimate(grid: &VoxelGrid, op: &EditOp) -> Result<EditCost, EditError> {
    Editor::default().estimate(grid, op)
}

fn block(half: [f64; 3], action: Action) -> EditOp {
    let brush = Brush::Box { centre: [0.5; 3], half, rotation: Brush::NO_ROTATION };
    BrushOp::new(brush, action).into()
}

/// Refused by `limits`; the world and its history stay as they were.
fn refusal(grid: &mut VoxelGrid, op: &EditOp, limits: EditLimits) -> EditError {
    let (before, mut history) = (digest(grid), History::default());
    let refused = Editor::new(limits).apply(grid, op, &mut history);
    assert_eq!(digest(grid), before);
    assert_eq!(history.stats().undoable, 0);
    refused.expect_err("it is beyond the limits")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_operation_changes_more_cells_or_chunks_than_estimated(
        op in brush_op(), seed in 0..4u64, wet in any::<bool>(),
    ) {
        let mut grid = ground(seed, wet);
        let op = EditOp::from(op);
        let cost = estimate(&grid, &op).expect("a sound edit");
        if let Some(bound) = cost::upper_bound(&op) {
            let EditCost { cells, chunks, work } = bound;
            prop_assert!((cells, chunks) == (cost.cells, cost.chunks) && work >= cost.work);
        }
        let before = grid.snapshot();
        let region = apply(&mut grid, op).region;
        let changed = |pos: &VoxelPos| {
            grid.cell(*pos) != before.cell(*pos) || grid.water(*pos) != before.water(*pos)
        };
        let changed: Vec<VoxelPos> = region.voxels().filter(changed).collect();
        let chunks: std::collections::BTreeSet<_> = changed.iter().map(|pos| pos.chunk()).collect();
        prop_assert!(changed.len() as u64 <= cost.cells);
        prop_assert!(region.volume() <= cost.cells);
        prop_assert!(chunks.len() as u64 <= cost.chunks);
        prop_assert!(cost.work >= cost.chunks);
    }
}

#[test]
fn estimates_are_the_same_on_every_thread_and_for_every_history_of_a_world() {
    let grid = ground(3, true);
    let ops = [
        EditOp::dig_ball([1.5, 0.0, 2.0], 9.0),
        EditOp::smooth_ball([0.0; 3], 12.0, 0.5),
        EditOp::copy(Region::new([-9; 3], [9; 3]), VoxelPos::new(4, 4, 4)),
    ];
    let costs = || ops.each_ref().map(|op| estimate(&grid, op).expect("a sound edit"));
    let here = costs();
    let there = std::thread::scope(|scope| {
        [(); 4].map(|()| scope.spawn(costs)).map(|thread| thread.join().expect("no panic"))
    });
    assert!(there.iter().all(|costs| *costs == here));
    let mut dug = VoxelGrid::from_snapshot(&grid.snapshot());
    let mut history = History::default();
    Editor::default().apply(&mut dug, &ops[0], &mut history).expect("a sound edit");
    history.undo(&mut dug).expect("all is held");
    assert_eq!(estimate(&dug, &ops[1]), estimate(&grid, &ops[1]));
}

#[test]
fn each_limit_holds_exactly() {
    let mut grid = ground(1, true);
    let copy = EditOp::copy(Region::new([-9; 3], [9; 3]), VoxelPos::new(4, 4, 4));
    for op in [EditOp::dig_ball([0.0; 3], 7.0), copy] {
        let EditCost { cells, chunks, work } = estimate(&grid, &op).expect("a sound edit");
        let exact = EditLimits { max_cells: cells, max_chunks: chunks, max_work: work };
        for (limits, word) in [
            (EditLimits { max_cells: cells - 1, ..exact }, "cells"),
            (EditLimits { max_chunks: chunks - 1, ..exact }, "chunks"),
            (EditLimits { max_work: work - 1, ..exact }, "units of work"),
        ] {
            let error = refusal(&mut grid, &op, limits);
            let cost = EditCost { cells, chunks, work };
            assert_eq!(error, EditError::TooCostly { cost, limits });
            assert!(error.to_string().contains(word), "{error}");
        }
        Editor::new(exact).apply(&mut grid, &op, None).expect("it is within the limits");
    }
}

#[test]
fn a_rod_of_three_million_voxels_is_refused_unseen() {
    let mut grid = ground(0, false);
    let rod = block([1_500_000.0, 0.5, 0.5], Action::Fill { material: 8 });
    let error = refusal(&mut grid, &rod, EditLimits::default());
    let line = "the operation would cost 93751 chunks, more than the 16384 allowed, so split it";
    assert_eq!(error.to_string(), line);
    let longest = block([1_000_000_000.0 / 2.0, 0.5, 0.5], Action::Fill { material: 8 });
    assert!(matches!(
        refusal(&mut grid, &longest, EditLimits::default()),
        EditError::TooCostly { .. }
    ));
}

#[test]
fn estimates_refuse_what_edits_refuse() {
    let mut grid = ground(0, false);
    for op in [
        EditOp::dig_ball([0.0; 3], 0.0),
        EditOp::dig_ball([1_073_741_823.0, 0.0, 0.0], 3.0),
        EditOp::dig_ball([0.0; 3], 100_000.0),
        EditOp::copy(Region::new([0; 3], [0, 4, 4]), VoxelPos::ZERO),
        EditOp::copy(Region::new([0; 3], [4; 3]), VoxelPos::new(i32::MAX, 0, 0)),
    ] {
        let error = estimate(&grid, &op).expect_err("it is invalid");
        let refused = Editor::default().apply(&mut grid, &op, None);
        assert_eq!(refused.map(|_| ()), Err(error), "{op:?}");
    }
}

#[test]
fn chunks_of_one_material_cost_less_and_undo_has_no_limit() {
    let mut grid = VoxelGrid::default();
    let fill = block([96.0; 3], Action::Fill { material: 8 });
    let dig = block([96.0; 3], Action::Dig);
    let empty = estimate(&grid, &dig).expect("a sound edit").work;
    let mut history = History::default();
    Editor::default().apply(&mut grid, &fill, &mut history).expect("within the default");
    assert!(empty < estimate(&grid, &dig).expect("a sound edit").work);
    let none = EditLimits { max_cells: 0, max_chunks: 0, max_work: 0 };
    assert!(Editor::new(none).apply(&mut grid, &dig, &mut history).is_err());
    history.undo(&mut grid).expect("all is held");
    assert_eq!(digest(&grid), digest(&VoxelGrid::default()));
    history.redo(&mut grid).expect("all is held");
}

#[test]
fn a_factor_multiplies_every_limit() {
    let limits = EditLimits { max_cells: 2, max_chunks: 3, max_work: u64::MAX };
    let more = EditLimits { max_cells: 8, max_chunks: 12, max_work: u64::MAX };
    assert_eq!(limits.times(4), more);
}

#[test]
fn a_path_that_stays_in_one_place_costs_what_its_cells_look_at() {
    let grid = ground(2, false);
    let cost = |points: Vec<[f64; 3]>, radius: f64| {
        let brush = Brush::Path { points, radius };
        estimate(&grid, &BrushOp::new(brush, Action::Dig).into()).expect("a sound edit").work
    };
    let crowded = (0..2000).map(|i| [f64::from(i % 13) * 1e-7, f64::from(i % 7) * 1e-7, 0.0]);
    let circle =
        (0..2000).map(|i| f64::from(i) * 0.01).map(|a| [20.0 * a.cos(), 20.0 * a.sin(), 0.0]);
    let (crowded, circle) = (cost(crowded.collect(), 20.0), cost(circle.collect(), 4.0));
    assert!(crowded > 5 * circle, "{crowded}, {circle} for a circle");
    // A pen that rests is one point.
    let resting = cost(vec![[0.0; 3]; 2000], 20.0);
    assert!(5 * resting < crowded, "{resting}, {crowded} for a crowd");
}
