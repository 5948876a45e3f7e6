//! Refused edits: a named error, and an unchanged world.

use super::*;
use crate::voxel::Kind;

fn refused(grid: &mut VoxelGrid, op: impl Into<EditOp>) -> EditError {
    let before = grid.digest().ok();
    let mut history = History::default();
    let outcome = Editor::default().apply(grid, &op.into(), &mut history);
    assert_eq!(grid.digest().ok(), before);
    assert_eq!(history.stats().undoable, 0);
    outcome.expect_err("the operation is invalid")
}

fn dig(brush: Brush) -> BrushOp {
    BrushOp::new(brush, Action::Dig)
}

#[test]
fn invalid_sizes_and_positions() {
    let mut grid = ground(0, true);
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let op = dig(Brush::Ball { centre: [0.0; 3], radius });
        let error = refused(&mut grid, op);
        assert!(error.to_string().contains("radius"), "{error}");
    }
    for bad in [f64::NAN, f64::INFINITY, -1e30] {
        let op = dig(Brush::Ball { centre: [0.0, bad, 0.0], radius: 3.0 });
        assert!(refused(&mut grid, op).to_string().contains("centre"));
    }
    let far = dig(Brush::Ball { centre: [1_073_741_823.0, 0.0, 0.0], radius: 3.0 });
    assert!(matches!(refused(&mut grid, far), EditError::BeyondLimits(_)));
    let huge = dig(Brush::Ball { centre: [0.0; 3], radius: 100_000.0 });
    assert!(matches!(refused(&mut grid, huge), EditError::TooLarge { .. }));
    for half in [[0.0, 1.0, 1.0], [1.0, f64::NAN, 1.0], [1.0, 1.0, -2.0]] {
        refused(
            &mut grid,
            dig(Brush::Box { centre: [0.0; 3], half, rotation: Brush::NO_ROTATION }),
        );
    }
    for rotation in [[0.0; 4], [f64::NAN, 0.0, 0.0, 1.0]] {
        refused(&mut grid, dig(Brush::Box { centre: [0.0; 3], half: [1.0; 3], rotation }));
    }
    refused(&mut grid, dig(Brush::Path { points: vec![], radius: 1.0 }));
    let soft = BrushOp { falloff: f64::NAN, ..dig(Brush::Ball { centre: [0.0; 3], radius: 2.0 }) };
    assert!(refused(&mut grid, soft).to_string().contains("falloff"));
    let strong = BrushOp { strength: 1.5, ..dig(Brush::Ball { centre: [0.0; 3], radius: 2.0 }) };
    assert!(refused(&mut grid, strong).to_string().contains("strength"));
}

#[test]
fn invalid_shapes() {
    let mut grid = ground(0, false);
    let Brush::Mesh { vertices, mut triangles } = octahedron_mesh([0.0; 3], 4.0) else {
        unreachable!("it is a mesh")
    };
    triangles.pop();
    let open = dig(Brush::Mesh { vertices: vertices.clone(), triangles });
    assert!(refused(&mut grid, open).to_string().contains("not closed"));
    refused(
        &mut grid,
        dig(Brush::Mesh { vertices: vertices.clone(), triangles: vec![[0, 2, 99]] }),
    );
    refused(&mut grid, dig(Brush::Mesh { vertices, triangles: vec![] }));
    for axis in 0..3 {
        let mut corners = [[0.0; 3], [8.0, 0.0, 0.0], [0.0, 8.0, 0.0]];
        corners.iter_mut().for_each(|corner| corner.rotate_right(axis));
        let flat = Brush::Mesh { vertices: corners.into(), triangles: vec![[0, 1, 2], [0, 2, 1]] };
        let done = Editor::default().apply(&mut grid, &dig(flat).into(), None);
        assert!(done.is_ok_and(|summary| summary.region.is_empty()));
    }
    let Brush::Convex { mut planes } = octahedron([0.0; 3], 4.0) else {
        unreachable!("it is convex")
    };
    planes.truncate(4);
    assert!(refused(&mut grid, dig(Brush::Convex { planes })).to_string().contains("bound"));
    let heights =
        |width, heights| Brush::Heights { corner: [0.0; 3], spacing: 1.0, width, heights };
    refused(&mut grid, dig(heights(3, vec![0.0; 7])));
    refused(&mut grid, dig(heights(0, vec![])));
    refused(&mut grid, dig(heights(2, vec![0.0, 1.0, f32::NAN, 2.0])));
}

#[test]
fn invalid_actions() {
    let mut grid = ground(0, true);
    let with = |action| BrushOp::new(Brush::Ball { centre: [0.0; 3], radius: 3.0 }, action);
    refused(&mut grid, with(Action::Fill { material: AIR }));
    let paint = refused(&mut grid, with(Action::Paint { material: WATER }));
    assert_eq!(paint, EditError::WrongKind { material: WATER, needed: Kind::Solid });
    refused(&mut grid, with(Action::Flood { material: 8 }));
    refused(&mut grid, with(Action::Replace { from: AIR, to: 8 }));
    refused(&mut grid, with(Action::Grow { amount: 1.5 }));
    refused(&mut grid, with(Action::Erode { amount: f64::NAN }));
    refused(&mut grid, with(Action::Roughen { amount: 0.5, size: 0.0, seed: 1 }));
    let flat = |normal| Action::Flatten { point: [0.0; 3], normal, material: None };
    refused(&mut grid, with(flat([0.0; 3])));
    let upside_down = EditMask { heights: Some([3.0, 1.0]), ..EditMask::default() };
    refused(&mut grid, BrushOp { mask: upside_down, ..with(Action::Dig) });
}

#[test]
fn the_estimate_names_a_region_that_is_beyond_the_limits() {
    let grid = ground(0, true);
    // Some reach beyond the limits only with what is read around them.
    let mut named = 0;
    for beyond in 1..12 {
        let centre = [f64::from(crate::voxel::LIMIT - beyond), 0.0, 0.0];
        let op = dig(Brush::Ball { centre, radius: 4.0 }).into();
        if let Err(EditError::BeyondLimits(region)) = Editor::default().estimate(&grid, &op) {
            assert!(!region.within_limits(), "{region} is within the limits");
            named += 1;
        }
    }
    assert!(named > 0, "none was beyond the limits");
}

#[test]
fn copies_beyond_the_limits() {
    let mut grid = ground(0, false);
    let whole = Region::new([0; 3], [300; 3]);
    assert!(matches!(
        refused(&mut grid, EditOp::copy(whole, VoxelPos::ZERO)),
        EditError::TooLarge { .. }
    ));
    refused(&mut grid, EditOp::copy(Region::default(), VoxelPos::ZERO));
    let small = Region::new([0; 3], [40; 3]);
    let clip = Clip::copy(grid.as_snapshot(), small).expect("it is held");
    let far = VoxelPos::splat(i32::MAX - 3);
    assert!(matches!(
        refused(&mut grid, EditOp::write(clip.clone(), far)),
        EditError::BeyondLimits(_)
    ));
    for (axis, at) in
        (0..3).flat_map(|axis| [i32::MAX, i32::MAX - 1, i32::MIN].map(|at| (axis, at)))
    {
        let mut far = [0; 3];
        far[axis] = at;
        let write = EditOp::write(clip.clone(), far.into());
        let copy = EditOp::copy(Region::new([0; 3], [2; 3]), far.into());
        for op in [write, copy] {
            assert!(matches!(refused(&mut grid, op), EditError::BeyondLimits(_)), "{far:?}");
        }
    }
    let edge = VoxelPos::splat((1 << 30) - 3);
    assert!(matches!(
        refused(&mut grid, EditOp::write(clip.clone(), edge)),
        EditError::BeyondLimits(_)
    ));
    for scale in [16, -1, 17, i32::MIN] {
        let place = PastePose { scale, ..PastePose::default() };
        refused(&mut grid, EditOp::Paste(PasteOp { clip: clip.clone(), pose: place }));
    }
}

#[test]
fn edits_over_chunks_not_held_change_nothing() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]));
    cells.fill(8);
    grid.write(&cells).expect("a whole chunk");
    for action in [Action::Dig, Action::Fill { material: 3 }, Action::Smooth] {
        let brush = Brush::Ball { centre: [30.0, 16.0, 16.0], radius: 6.0 };
        let error = refused(&mut grid, BrushOp::new(brush, action));
        assert!(matches!(error, EditError::NotHeld(_)), "{error}");
        let large = Brush::Ball { centre: [16.0; 3], radius: 90.0 };
        assert!(matches!(refused(&mut grid, dig(large)), EditError::NotHeld(_)));
    }
    let mut history = History::default();
    let op = EditOp::dig_ball([16.0; 3], 6.0);
    Editor::default().apply(&mut grid, &op, &mut history).expect("it is held");
    let dug = digest(&grid);
    // The chunk leaves: the stroke stays until it is back.
    let chunk = VoxelPos::ZERO.chunk();
    grid.read(chunk.region(), 0, &mut cells).expect("it is held");
    grid.mark_saved(&grid.unsaved());
    assert!(grid.forget(chunk));
    let (saved, stats) = (history.stamp().clone(), history.stats());
    assert!(matches!(history.undo(&mut grid), Err(EditError::NotHeld(_))));
    assert!(saved.is_same_or_later(history.stamp()), "there is nothing new to save");
    assert_eq!(history.stats(), stats);
    grid.write(&cells).expect("a whole chunk");
    assert_eq!(digest(&grid), dug);
    assert!(matches!(history.undo(&mut grid), Ok(Some(_))));
}
