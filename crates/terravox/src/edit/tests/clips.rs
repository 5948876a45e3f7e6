//! Copies: turned, mirrored, scaled, pasted.

use super::*;

fn cells_of(grid: &VoxelGrid, region: Region) -> DenseBox {
    let mut cells = DenseBox::default();
    grid.read(region, 0, &mut cells).expect("all is held");
    cells
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn turns_and_mirrors_are_those_of_the_positions(
        turn in proptest::array::uniform3(0u8..4),
        mirror: [bool; 3],
    ) {
        let grid = ground(9, true);
        let clip = Clip::copy(grid.as_snapshot(), Region::new([-3, -4, -5], [4, 2, 6])).expect("it is held");
        let placed = clip.placed(&PastePose { mirror, quarter_turns: turn, ..PastePose::default() }).expect("it fits");
        // Where a cell goes, by hand: about the middle, in half voxels.
        let size = clip.cells().region().max.to_array();
        let new_size = placed.cells().region().max.to_array();
        for pos in clip.cells().region().voxels() {
            let at = pos.to_array();
            let mut p = [0, 1, 2].map(|i| 2 * at[i] + 1 - size[i]);
            for axis in 0..3 {
                if mirror[axis] {
                    p[axis] = -p[axis];
                }
            }
            for axis in 0..3 {
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                for _ in 0..turn[axis] {
                    (p[b], p[c]) = (-p[c], p[b]);
                }
            }
            let to = VoxelPos::from([0, 1, 2].map(|i| (p[i] + new_size[i] - 1) / 2));
            prop_assert_eq!(placed.cells().cell(to), clip.cells().cell(pos));
            prop_assert_eq!(placed.cells().water_at(to), clip.cells().water_at(pos));
        }
    }

    #[test]
    fn a_raw_write_is_a_write_and_is_undone(seed in 0u64..9, at in proptest::array::uniform3(-9i32..9)) {
        let source = ground(seed, true);
        let region = Region::new([-8; 3], [8; 3]);
        let mut grid = ground(seed + 1, true);
        let before = digest(&grid);
        let clip = Clip::copy(source.as_snapshot(), region).expect("it is held");
        let mut history = History::default();
        let op = EditOp::write(clip, at.into());
        Editor::default().apply(&mut grid, &op, &mut history).expect("a sound edit");
        let mut expected = cells_of(&source, region);
        expected.move_to(at.into());
        prop_assert_eq!(cells_of(&grid, expected.region()), expected);
        history.undo(&mut grid).expect("all is held");
        prop_assert_eq!(digest(&grid), before);
    }
}

#[test]
fn copies_leave_what_is_there_where_they_are_air_or_less() {
    let mut grid = ground(3, false);
    let region = Region::new([-6, -6, -6], [6, 6, 6]);
    for (blend, at) in [(Blend::Over, 0), (Blend::Add, 1), (Blend::Replace, 2)] {
        let mut grid = ground(3, false);
        let clip = Clip::copy(grid.as_snapshot(), region).expect("it is held");
        let place = PastePose { at: [at, 3, at], blend, ..PastePose::default() };
        let target = Region::new([at, 3, at], [at + 12, 15, at + 12]);
        let old = cells_of(&grid, target);
        apply(&mut grid, EditOp::Paste(PasteOp { clip: clip.clone(), pose: place }));
        for pos in target.voxels() {
            let (was, put) = (old.cell(pos), clip.cells().cell(pos - target.min));
            let expected = match blend {
                Blend::Over if put.is_air() => was,
                Blend::Add if put.units() <= was.units() => was,
                _ => put,
            };
            assert_eq!(grid.cell(pos), Ok(expected), "{blend:?} at {pos}");
        }
    }
    // Within the world: the same as a copy that is brought along.
    let mut other = ground(3, false);
    let clip = Clip::copy(grid.as_snapshot(), region).expect("it is held");
    apply(&mut grid, EditOp::copy(region, VoxelPos::new(2, 3, -5)));
    let place = PastePose { at: [2, 3, -5], ..PastePose::default() };
    apply(&mut other, EditOp::Paste(PasteOp { clip, pose: place }));
    assert_eq!(digest(&grid), digest(&other));
}

#[test]
fn scaled_balls_are_balls() {
    let mut grid = VoxelGrid::default();
    apply(&mut grid, EditOp::fill_ball(8, [8.0; 3], 5.0));
    let region = Region::new([0; 3], [16; 3]);
    let clip = Clip::copy(grid.as_snapshot(), region).expect("it is held");
    let volume = |clip: &Clip| -> f64 {
        let cells = clip.cells();
        let all = cells.materials().iter().zip(cells.occupancies());
        all.map(|(&m, &o)| f64::from(Cell::new(m, o).units()) / 256.0).sum()
    };
    let own = volume(&clip);
    for (scale, factor) in [(2, 8.0), (3, 27.0), (-2, 1.0 / 8.0)] {
        let scaled = clip.placed(&PastePose { scale, ..PastePose::default() }).expect("it fits");
        let share = volume(&scaled) / (own * factor);
        assert!((share - 1.0).abs() < 0.04, "{scale}: {share}");
        let partial = scaled.cells().occupancies().iter().filter(|&&o| o > 0 && o < 255).count();
        let surface = 4.0 * std::f64::consts::PI * 25.0 * factor.powf(2.0 / 3.0);
        assert!((partial as f64) < 2.5 * surface, "a sharp surface: {partial} cells");
    }
}
