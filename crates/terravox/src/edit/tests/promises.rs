//! What the documentation promises.

use super::*;

/// Stone with a flat top at y = 0, wide enough for every brush here.
fn plain(material: u8) -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::new(Region::new([-64, -64, -64], [64, 0, 64]));
    cells.fill(material);
    grid.write(&cells).expect("air is held");
    grid
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn digging_twice_is_digging_once(brush in brush(), falloff in 0.0..3.0f64, wet: bool) {
        let op = BrushOp { falloff, ..BrushOp::new(brush, Action::Dig) };
        let mut grid = ground(2, wet);
        apply(&mut grid, op.clone());
        let once = digest(&grid);
        let again = apply(&mut grid, op);
        prop_assert_eq!(again, EditSummary::default());
        prop_assert_eq!(digest(&grid), once);
    }

    #[test]
    fn digging_what_was_filled_leaves_nothing(brush in brush(), falloff in 0.0..3.0f64) {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let op = |action| BrushOp { falloff, ..BrushOp::new(brush.clone(), action) };
        let filled = apply(&mut grid, op(Action::Fill { material: 8 }));
        let dug = apply(&mut grid, op(Action::Dig));
        prop_assert_eq!(dug.removed, filled.added);
        prop_assert_eq!(digest(&grid), digest(&VoxelGrid::default()));
    }

    #[test]
    fn balls_blocks_and_cylinders_have_their_volume(
        radius in 3.0..7.0f64,
        centre in point(1.0),
        rotation in rotation(),
        kind in 0..3,
    ) {
        let (brush, ideal) = match kind {
            0 => (Brush::Ball { centre, radius }, 4.188_790_2 * radius.powi(3)),
            1 => (Brush::Box { centre, half: [radius; 3], rotation }, 8.0 * radius.powi(3)),
            _ => (
                Brush::Cylinder { centre, radius, half_height: radius, rotation },
                std::f64::consts::TAU * radius.powi(3),
            ),
        };
        let mut grid = VoxelGrid::default();
        let filled = apply(&mut grid, BrushOp::new(brush, Action::Fill { material: 8 }));
        let error = filled.added.voxels(8) / ideal - 1.0;
        prop_assert!(error.abs() < 0.01, "{}", error);
    }

    /// Large operations go chunk by chunk; the cells are those of one box.
    #[test]
    fn pieces_are_as_one_box(op in brush_op(), wet: bool) {
        let mut one = ground(3, wet);
        let mut many = ground(3, wet);
        let mut editor = Editor::default();
        editor.apply(&mut one, &op.clone().into(), None).expect("a sound edit");
        let edit = op.into();
        editor.apply_in_pieces(&mut many, &edit).expect("a sound edit");
        prop_assert_eq!(difference(&many, &one), None);
    }

    /// Two hosts each apply the part of an operation on their side of a border.
    #[test]
    fn parts_of_an_operation_are_what_the_whole_makes(op in brush_op(), wet: bool, x in -9..9i32) {
        let op = EditOp::from(op);
        let mut whole = ground(3, wet);
        apply(&mut whole, op.clone());
        let [west, east] =
            [Region::new([-99, -99, -99], [x, 99, 99]), Region::new([x, -99, -99], [99, 99, 99])];
        for part in [west, east] {
            let (mut grid, before) = (ground(3, wet), ground(3, wet));
            let mut editor = Editor::default();
            let summary = editor.apply_within(&mut grid, &op, part, None).expect("a sound edit");
            let changed = summary.region;
            prop_assert!(changed.is_empty() || changed == changed.intersect(part));
            let side = |grid: &VoxelGrid, side: Region| {
                let mut cells = DenseBox::default();
                grid.read(side.intersect(Region::new([-32; 3], [32; 3])), 0, &mut cells).unwrap();
                cells
            };
            let other = if part == west { east } else { west };
            prop_assert!(side(&grid, part) == side(&whole, part));
            prop_assert!(side(&grid, other) == side(&before, other));
        }
    }
}

/// Beside a chunk, too, a cell of new ground needs to be known before what is left beside it is
/// cleared.
#[test]
fn flattening_in_pieces_sees_new_ground_beside_a_chunk() {
    let path = Brush::Path {
        points: vec![
            [0.0, 3.24719587694253, -1.3325444639403963],
            [-3.784750966800947, -1.3383904016728208, -7.471066702673113],
        ],
        radius: 1.0633015919681224,
    };
    let action = Action::Flatten {
        point: [1.7454386901167585, 2.3631085839543515, -1.8864602024597623],
        normal: [-0.3266917381910958, 1.0, 0.0],
        material: None,
    };
    let op = EditOp::from(BrushOp::new(path, action));
    let (mut one, mut many) = (ground(3, false), ground(3, false));
    apply(&mut one, op.clone());
    Editor::default().apply_in_pieces(&mut many, &op).expect("a sound edit");
    assert_eq!(difference(&many, &one), None);
}

#[test]
fn a_large_ball_is_filled_and_dug_and_undone_by_chunks_slow() {
    let mut grid = VoxelGrid::default();
    let (mut editor, mut history) = (Editor::default(), History::default());
    let ball = |action| {
        let brush = Brush::Ball { centre: [10.0, -3.0, 7.5], radius: 80.0 };
        EditOp::Brush(BrushOp::new(brush, action))
    };
    let fill = ball(Action::Fill { material: 8 });
    let filled = editor.apply(&mut grid, &fill, &mut history).expect("a sound edit");
    let ideal = 4.188_790_2 * 80f64.powi(3);
    assert!((filled.added.voxels(8) / ideal - 1.0).abs() < 1e-4);
    let full = digest(&grid);
    let dug = editor.apply(&mut grid, &ball(Action::Dig), &mut history).expect("a sound edit");
    assert_eq!(dug.removed, filled.added);
    assert_eq!(digest(&grid), digest(&VoxelGrid::default()));
    history.undo(&mut grid).expect("all is held");
    assert_eq!(digest(&grid), full);
}

#[test]
fn grow_and_erode_and_smooth_leave_planes_planes() {
    let about = |action| {
        let brush =
            Brush::Box { centre: [0.5, 0.0, 0.5], half: [12.0; 3], rotation: Brush::NO_ROTATION };
        BrushOp::new(brush, action)
    };
    let column = |grid: &VoxelGrid| {
        [-2, -1, 0, 1].map(|y| grid.cell(VoxelPos::new(0, y, 0)).map_or(0, Cell::units))
    };
    let mut grid = plain(8);
    apply(&mut grid, about(Action::Smooth));
    assert_eq!(column(&grid), [256, 256, 0, 0]);
    apply(&mut grid, about(Action::Grow { amount: 0.25 }));
    assert_eq!(column(&grid), [256, 256, 64, 0]);
    apply(&mut grid, about(Action::Smooth));
    assert_eq!(column(&grid), [256, 256, 64, 0]);
    apply(&mut grid, about(Action::Grow { amount: 0.875 }));
    assert_eq!(column(&grid), [256, 256, 256, 32]);
    apply(&mut grid, about(Action::Erode { amount: 0.875 }));
    assert_eq!(column(&grid), [256, 256, 64, 0]);
    apply(&mut grid, about(Action::Erode { amount: 0.5 }));
    assert_eq!(column(&grid), [256, 192, 0, 0]);
}

#[test]
fn smoothing_takes_bumps_down_and_fills_dents() {
    let mut grid = plain(8);
    apply(&mut grid, EditOp::fill_ball(8, [0.0, 0.0, 0.0], 3.0));
    apply(&mut grid, EditOp::dig_ball([20.0, 0.0, 0.0], 3.0));
    let over = |grid: &VoxelGrid, x: i32| {
        let region = Region::new([x - 6, -6, -6], [x + 6, 6, 6]);
        let units = region.voxels().map(|p| grid.cell(p).map_or(0, Cell::units)).sum::<u32>();
        (units as f32 / 256.0 - 6.0 * 144.0).abs()
    };
    let (bump, dent) = (over(&grid, 0), over(&grid, 20));
    for _ in 0..16 {
        apply(&mut grid, EditOp::smooth_ball([10.0, 0.0, 0.0], 30.0, 1.0));
    }
    assert!(over(&grid, 0) < 0.85 * bump && over(&grid, 20) < 0.85 * dent);
}

#[test]
fn water_stays_when_ground_goes_and_is_displaced_when_it_comes() {
    let mut grid = VoxelGrid::default();
    let flood = |min: [f64; 3], max: [f64; 3], action| {
        let centre = [0, 1, 2].map(|i| (min[i] + max[i]) / 2.0);
        let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
        BrushOp::new(Brush::Box { centre, half, rotation: Brush::NO_ROTATION }, action)
    };
    let lake = apply(&mut grid, flood([0.0; 3], [8.0; 3], Action::Flood { material: WATER }));
    assert_eq!(lake.added.units(WATER), 512 * 256);
    let rock = apply(&mut grid, flood([2.0; 3], [4.0, 4.0, 4.5], Action::Fill { material: 8 }));
    assert_eq!(rock.added.units(8), 10 * 256);
    // Full cells displace their water; half full ones hold it.
    assert_eq!(rock.removed.units(WATER), 8 * 256);
    let at = VoxelPos::new(2, 2, 4);
    assert_eq!(grid.cell(at), Ok(Cell::new(8, 127)));
    assert_eq!(grid.water(at), Ok(Some(255)));
    let dug = apply(&mut grid, flood([2.0; 3], [4.0, 4.0, 4.5], Action::Dig));
    assert_eq!((dug.removed.units(8), dug.removed.units(WATER)), (10 * 256, 0));
    assert_eq!(grid.cell(at), Ok(Cell::full(WATER)));
    assert_eq!(grid.cell(VoxelPos::splat(2)), Ok(Cell::AIR));
    apply(&mut grid, flood([-1.0; 3], [9.0; 3], Action::Drain));
    assert_eq!(digest(&grid), digest(&VoxelGrid::default()));
}

#[test]
fn masks_keep_what_they_name_and_slopes_are_those_of_the_ground() {
    let mut grid = plain(8);
    let ball = Brush::Ball { centre: [0.0; 3], radius: 10.0 };
    let paint =
        |mask| BrushOp { mask, ..BrushOp::new(ball.clone(), Action::Paint { material: 2 }) };
    let heights = EditMask { heights: Some([-3.0, -1.0]), ..EditMask::default() };
    let painted = apply(&mut grid, paint(heights));
    assert_eq!((painted.region.min.y, painted.region.max.y), (-3, -1));
    let flat = EditMask { slope: Some([0.0, 0.1]), ..EditMask::default() };
    let grass = apply(&mut grid, paint(flat));
    assert_eq!((grass.region.min.y, grass.region.max.y), (-1, 0), "the surface, nothing below");
    let steep = EditMask { slope: Some([0.5, 9.0]), ..EditMask::default() };
    assert_eq!(apply(&mut grid, paint(steep)), EditSummary::default());
    let only = EditMask { materials: vec![7], ..EditMask::default() };
    assert_eq!(apply(&mut grid, paint(only)), EditSummary::default());
}

#[test]
fn ten_thousand_tiny_strokes_leave_no_fragmented_rows_slow() {
    let mut grid = plain(8);
    let mut editor = Editor::default();
    for i in 0..10_000u32 {
        let spread = |by: u32| f64::from(i.wrapping_mul(by) >> 7 & 0x3ff) / 16.0 - 32.0;
        let centre = [spread(2_654_435_761), spread(1_640_531_527) / 16.0, spread(97_003_001)];
        let action = if i % 3 == 0 { Action::Fill { material: 8 } } else { Action::Dig };
        let brush = Brush::Ball { centre, radius: 1.2 };
        editor.apply(&mut grid, &BrushOp::new(brush, action).into(), None).expect("a sound edit");
    }
    // The same cells, written once.
    let mut fresh = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for chunk in grid.chunks() {
        grid.read(chunk.region(), 0, &mut cells).expect("all is held");
        fresh.write(&cells).expect("air is held");
    }
    assert_eq!(digest(&fresh), digest(&grid));
    assert_eq!(grid.memory().stored_rows, fresh.memory().stored_rows);
    assert_eq!(grid.memory().mip_0, fresh.memory().mip_0);
}

#[test]
fn the_same_stream_gives_the_same_digest_on_many_threads() {
    let run = || {
        let mut grid = ground(5, true);
        let mut editor = Editor::default();
        for i in 0..40 {
            let p = [f64::from(i % 7) - 3.0, f64::from(i % 5) - 2.0, f64::from(i % 11) - 5.0];
            let brush = Brush::Ball { centre: p, radius: 2.0 + f64::from(i % 3) };
            let action = match i % 4 {
                0 => Action::Dig,
                1 => Action::Smooth,
                2 => Action::Roughen { amount: 0.8, size: 3.0, seed: 4 },
                _ => Action::Fill { material: 3 },
            };
            let op = BrushOp::new(brush, action).into();
            editor.apply(&mut grid, &op, None).expect("a sound edit");
        }
        digest(&grid)
    };
    let alone = run();
    // The figure is part of the format: worlds are replayed on other machines.
    assert_eq!(alone, REPLAYED, "{alone:#x}");
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        all.into_iter().for_each(|other| assert_eq!(other.join().ok(), Some(alone)));
    });
}

const REPLAYED: u128 = 0xa9ea_708a_2f8d_8dfe_5e90_11c6_0f04_fe51;
