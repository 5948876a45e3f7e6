//! Edits, copies and undo: cells are equal exactly.

use super::scene::{EDGE, assert_equal_cells, cells, config, corner, inner_point, moved, pair};
use proptest::prelude::*;
use proptest::sample::select;
use terravox::edit::{
    Action, Blend, Brush, BrushOp, Clip, EditError, EditMask, EditOp, Editor, HalfSpace, History,
    PasteOp, PastePose,
};
use terravox::voxel::{Cell, DenseBox, GridOptions, LIMIT, Region, VoxelGrid, VoxelPos, WATER};

/// Brushes of every shape, relative to the scene.
fn brush() -> impl Strategy<Value = Brush> {
    let turned = [0.0, 0.382_683_432_365_089_8, 0.0, 0.923_879_532_511_286_7];
    (0..7u8, inner_point(), 1u8..6).prop_map(move |(shape, centre, size)| {
        let size = f64::from(size);
        let half = [size, 0.75 * size, 0.5 * size];
        match shape {
            0 => Brush::Ball { centre, radius: size },
            1 => Brush::Box { centre, half, rotation: turned },
            2 => Brush::Cylinder { centre, radius: size, half_height: 3.0, rotation: turned },
            3 => Brush::Wedge { centre, half, rotation: Brush::NO_ROTATION },
            4 => {
                let points = vec![centre, [30.0, 25.0, 40.0], [40.0, 30.0, 24.5]];
                Brush::Path { points, radius: size }
            }
            5 => {
                let heights = vec![2.0, 3.5, 1.0, 4.25, 2.0, 0.5];
                Brush::Heights { corner: centre, spacing: size, width: 3, heights }
            }
            _ => {
                let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
                let side = |sign: f64, normal: [f64; 3]| {
                    let along: f64 = (0..3).map(|i| normal[i] * centre[i]).sum();
                    HalfSpace { normal: normal.map(|v| sign * v), offset: sign * along + size }
                };
                let planes = axes.into_iter().flat_map(|n| [side(1.0, n), side(-1.0, n)]);
                Brush::Convex { planes: planes.collect() }
            }
        }
    })
}

fn action() -> impl Strategy<Value = Action> {
    select(vec![
        Action::Fill { material: 8 },
        Action::Dig,
        Action::Paint { material: 21 },
        Action::Replace { from: 2, to: 9 },
        Action::Smooth,
        Action::Flatten { point: [30.0, 24.25, 30.0], normal: [0.1, 1.0, 0.0], material: None },
        Action::Grow { amount: 0.75 },
        Action::Erode { amount: 0.5 },
        Action::Flood { material: WATER },
        Action::Drain,
    ])
}

fn operations() -> impl Strategy<Value = Vec<EditOp>> {
    let one = (brush(), action(), select(vec![0.0, 2.0]), select(vec![1.0, 0.5]), any::<bool>());
    let one = one.prop_map(|(brush, action, falloff, strength, is_masked)| {
        let heights = is_masked.then_some([20.0, 31.5]);
        let mask = EditMask { heights, ..EditMask::default() };
        EditOp::from(BrushOp { falloff, strength, mask, ..BrushOp::new(brush, action) })
    });
    prop::collection::vec(one, 1..6)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn brushes_change_the_cells_that_they_change_at_the_origin(
        seed: u8, at in corner(EDGE), operations in operations(),
    ) {
        let [mut origin, mut far] = pair(seed, at);
        let [mut here, mut there] = [History::default(), History::default()];
        let offset = at.to_array().map(f64::from);
        let mut editor = Editor::default();
        let before = far.digest();
        for op in &operations {
            let near = editor.apply(&mut origin, op, &mut here).expect("inside");
            let op = op.scaled(1.0, offset);
            let done = editor.apply(&mut far, &op, &mut there).expect("inside");
            prop_assert_eq!(&near.removed, &done.removed);
            prop_assert_eq!(&near.added, &done.added);
            if !near.region.is_empty() {
                prop_assert_eq!(moved(near.region, at), done.region);
            }
            assert_equal_cells(&origin, &far, at);
        }
        let saved = there.copy().to_bytes(64 << 20);
        let mut there = History::from_bytes(&saved, 64 << 20).expect("just written");
        while there.undo(&mut far).expect("all is held").is_some() {}
        prop_assert_eq!(far.digest(), before);
        while there.redo(&mut far).expect("all is held").is_some() {}
        assert_equal_cells(&origin, &far, at);
    }

    #[test]
    fn copies_are_pasted_as_at_the_origin(
        seed: u8, at in corner(EDGE),
        from in prop::array::uniform3(0..40i32), size in prop::array::uniform3(1..24i32),
        turns in prop::array::uniform3(0..4u8), mirror in prop::array::uniform3(any::<bool>()),
        scale in select(vec![1, 2, -2]), blend in select(vec![Blend::Over, Blend::Replace, Blend::Add]),
    ) {
        let [mut origin, mut far] = pair(seed, at);
        let region = Region::new(from, [0, 1, 2].map(|i| from[i] + size[i]));
        let pose = PastePose { at: [4, 6, 2], mirror, quarter_turns: turns, scale, blend };
        let mut editor = Editor::default();
        let copy = |by: VoxelPos| {
            let region = moved(region, by);
            let EditOp::Copy(op) = EditOp::copy(region, VoxelPos::ZERO) else { unreachable!() };
            let at = (VoxelPos::from(pose.at) + by).to_array();
            EditOp::Copy(terravox::edit::CopyOp { pose: PastePose { at, ..pose }, ..op })
        };
        editor.apply(&mut origin, &copy(VoxelPos::ZERO), None).expect("inside");
        editor.apply(&mut far, &copy(at), None).expect("inside");
        assert_equal_cells(&origin, &far, at);
    }
}

#[test]
fn pastes_end_at_the_limits() {
    let size = 16;
    let mut corner = DenseBox::new(Region::new([0; 3], [size; 3]));
    let all = cells(5);
    corner.region().voxels().for_each(|voxel| corner.set(voxel, all.cell(voxel)));
    let clip = Clip::new(corner).expect("small enough");
    for axis in 0..3 {
        for (last, is_inside) in
            [(LIMIT - size, true), (LIMIT - size + 1, false), (i32::MAX, false)]
        {
            let mut at = [0; 3];
            at[axis] = last;
            let mut grid = VoxelGrid::new(GridOptions::default());
            let op = EditOp::write(clip.clone(), at.into());
            let done = Editor::default().apply(&mut grid, &op, None);
            match is_inside {
                true => {
                    done.expect("within the limits");
                    let read =
                        Clip::copy(grid.as_snapshot(), moved(clip.cells().region(), at.into()));
                    assert_eq!(read.expect("within the limits"), clip);
                }
                false => {
                    assert!(matches!(done, Err(EditError::BeyondLimits(_))), "{done:?}");
                    assert!(grid.is_empty());
                }
            }
        }
        for (first, is_inside) in [(-LIMIT, true), (-LIMIT - 1, false), (i32::MIN, false)] {
            let mut at = [0; 3];
            at[axis] = first;
            let mut grid = VoxelGrid::new(GridOptions::default());
            let turned =
                PastePose { at, scale: -2, quarter_turns: [1, 2, 3], ..PastePose::default() };
            let op = EditOp::Paste(PasteOp { clip: clip.clone(), pose: turned });
            let done = Editor::default().apply(&mut grid, &op, None);
            assert_eq!(done.is_ok(), is_inside, "{at:?}: {done:?}");
        }
    }
}

#[test]
fn a_clip_of_cells_from_beyond_the_limits_is_a_clip_like_any_other() {
    for corner in [i32::MAX - 4, i32::MIN, LIMIT] {
        let min = VoxelPos::splat(corner);
        let mut cells = DenseBox::new(Region { min, max: min + VoxelPos::splat(4) });
        cells.set(min, Cell::full(8));
        let clip = Clip::new(cells).expect("small");
        assert_eq!(clip.cells().region(), Region::new([0; 3], [4; 3]));
        assert_eq!(clip.cells().cell(VoxelPos::ZERO), Cell::full(8));
    }
}
