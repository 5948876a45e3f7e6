//! Casts over long paths, and through ground that is not held.

use super::*;

#[test]
fn casts_of_any_length_end_and_find_the_ground() {
    let shape = Shape::Sphere { radius: 0.5 };
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [-40, -8, -40], [40, 0, 40]);
    floor(&mut grid, [1 << 29, -8, 0], [(1 << 29) + 8, 8, 8]);
    let collider = collider_of(&grid);
    let cast =
        |from: [f64; 3], motion: [f64; 3]| collider.cast(&shape, from, motion, &Filter::SOLID);
    for length in [100.0, 1e4, 1e9, 1e12, 1e18, 1e150] {
        let down = cast([3.3, 20.0, 5.2], [0.0, -length, 0.0]);
        assert_eq!(down.found.map(|hit| hit.voxel), Some(VoxelPos::new(3, -1, 5)), "{length}");
        assert_eq!(cast([3.3, 20.0, 5.2], [0.0, length, 0.0]).found, None);
        assert_eq!(cast([3.3, 20.0, 5.2], [length, length, 3.0]).found, None);
    }
    // To the other floor, over what is empty.
    let along = cast([3.3, 4.0, 4.5], [1e9, 0.0, 0.0]).found.expect("it is in the way");
    assert!((along.distance - (f64::from(1 << 29) - 0.5 - 3.3)).abs() < 1e-3, "{}", along.distance);
    let from_afar = cast([3.3, 1e9, 5.2], [0.0, -2e9, 0.0]).found.expect("it is below");
    assert!((from_afar.distance - (1e9 - 0.5)).abs() < 1e-3);
    assert_eq!(VoxelGrid::default().chunks().len(), 0);
    let empty = collider_of(&VoxelGrid::default());
    assert_eq!(empty.cast(&shape, [0.0; 3], [1e150, 0.0, 0.0], &Filter::SOLID).found, None);
}

#[test]
fn casts_tell_what_is_unknown_on_their_way_and_nothing_else() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options.clone());
    for at in [[0, 0, 0], [64, 0, 0], [6400, 0, 0]] {
        let mut cells = DenseBox::new(Region::new(at, at.map(|v| v + 32)));
        cells.fill(0);
        grid.load(&cells);
    }
    let collider = collider_of(&grid);
    let shape = Shape::Sphere { radius: 0.5 };
    let missing = |from: [f64; 3], motion: [f64; 3]| {
        let outcome = collider.cast(&shape, from, motion, &Filter::SOLID);
        assert_eq!(outcome.found, None);
        outcome.missing
    };
    let known = missing([4.0, 16.0, 16.0], [24.0, 0.0, 0.0]);
    assert_eq!(known, None);
    for length in [40.0, 4000.0, 1e9, 1e18] {
        let Some(MissingData::NotHeld(chunk)) = missing([4.0, 16.0, 16.0], [length, 0.0, 0.0])
        else {
            panic!("{length}")
        };
        assert_eq!([chunk.y, chunk.z], [0, 0], "{length}: {chunk} is not on the way");
        assert!(chunk.x == 1 || chunk.x >= 3, "{length}: {chunk} is held");
    }
    // Along a diagonal all is held, but not beside it.
    let mut grid = VoxelGrid::new(options);
    for at in (0..12).map(|v| [32 * v, 0, 32 * v]) {
        for at in [at, [at[0] + 32, 0, at[2]], [at[0], 0, at[2] + 32]] {
            let mut cells = DenseBox::new(Region::new(at, at.map(|v| v + 32)));
            cells.fill(0);
            grid.load(&cells);
        }
    }
    let collider = collider_of(&grid);
    let diagonal = collider.cast(&shape, [4.0, 16.0, 4.0], [340.0, 0.0, 340.0], &Filter::SOLID);
    assert_eq!((diagonal.found, diagonal.missing), (None, None));
    let beyond = collider.cast(&shape, [4.0, 16.0, 4.0], [900.0, 0.0, 900.0], &Filter::SOLID);
    let Some(MissingData::NotHeld(chunk)) = beyond.missing else { panic!("all is held") };
    assert!((chunk.x - chunk.z).abs() <= 1 && chunk.x.max(chunk.z) >= 12, "{chunk}");
}

#[test]
fn before_and_behind_all_ground_casts_tell_what_is_unknown() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let mut cells = DenseBox::new(Region::new([0; 3], [32; 3]));
    cells.fill(0);
    grid.load(&cells);
    let collider = collider_of(&grid);
    let shape = Shape::Sphere { radius: 0.5 };
    let missing = |from, motion| collider.cast(&shape, from, motion, &Filter::SOLID).missing;
    assert!(missing([-1e6, 16.0, 16.0], [10.0, 0.0, 0.0]).is_some());
    assert!(missing([-1e6, 16.0, 16.0], [1e9, 0.0, 0.0]).is_some());
}

#[test]
fn long_rays_tell_a_gap_before_what_they_hit() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let wall = 1 << 29;
    for x in (0..8).map(|x| 32 * x).chain([wall]) {
        let mut cells = DenseBox::new(Region::new([x, 0, 0], [x + 32, 32, 32]));
        cells.fill(0);
        // The surface of what is beside unknown cells is unknown, too.
        for voxel in cells.region().voxels().filter(|voxel| voxel.x >= wall + 16) {
            cells.set(voxel, Cell::full(ROCK));
        }
        grid.load(&cells);
    }
    let collider = collider_of(&grid);
    let ray = |length: f64| {
        let along = Ray::new([4.0, 16.0, 16.0], [1.0, 0.0, 0.0], length);
        let outcome = collider.ray(&along, &Filter::SOLID);
        (outcome.found.map(|hit| hit.voxel.x), outcome.missing)
    };
    let gap = Some(MissingData::NotHeld(ChunkPos::new(8, 0, 0)));
    assert_eq!(ray(200.0), (None, None));
    assert_eq!(ray(1e5), (None, gap));
    assert_eq!(ray(1e8), (None, gap));
    assert_eq!(ray(1e9), (Some(wall + 16), gap));
    // Over what is empty, nothing is missing.
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [-8, -8, -8], [8, 8, 8]);
    floor(&mut grid, [wall, 0, 0], [wall + 32, 32, 32]);
    let collider = collider_of(&grid);
    let along = Ray::new([4.0, 16.0, 16.0], [1.0, 0.0, 0.0], 1e9);
    let outcome = collider.ray(&along, &Filter::SOLID);
    assert!(outcome.found.is_some() && outcome.missing.is_none());
}
