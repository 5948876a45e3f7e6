//! Which blocks are built, and how long they stay.

use super::*;

#[test]
fn updates_keep_the_budget_and_queries_work_without_one() {
    let grid = world(4);
    let rays = rays_down();
    let all = collider_of(&grid);
    let expected: Vec<_> = rays.iter().map(|ray| all.ray(ray, &Filter::BOTH)).collect();
    for budget_bytes in [0, 5_000, usize::MAX] {
        let mut collider = Collider::new(ColliderOptions { budget_bytes });
        for _ in 0..3 {
            collider.update(&grid);
            assert!(collider.stats().built_bytes <= budget_bytes);
            let outcomes: Vec<_> =
                rays.iter().map(|ray| collider.ray(ray, &Filter::BOTH)).collect();
            assert!(outcomes == expected);
        }
        let stats = collider.stats();
        assert_eq!(stats.evictions > 0, budget_bytes < usize::MAX);
        assert_eq!(stats.builds, stats.built as u64 + stats.evictions);
        assert_eq!(collider.built_blocks().len(), stats.built);
    }
}

#[test]
fn what_was_used_last_stays() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [0, -8, 0], [256, 0, 8]);
    let down = |x: usize| Ray::new([8.0 * x as f64 + 4.0, 5.0, 4.0], [0.0, -1.0, 0.0], 9.0);
    let collider = collider_of(&grid);
    let one = {
        collider.ray(&down(0), &Filter::SOLID);
        collider.stats().built_bytes
    };
    let mut collider = Collider::new(ColliderOptions { budget_bytes: 12 * one });
    collider.update(&grid);
    let visit = |collider: &Collider, x| {
        assert!(collider.ray(&down(x), &Filter::SOLID).found.is_some());
    };
    (0..32).for_each(|x| visit(&collider, x));
    collider.update(&grid);
    (0..32).step_by(4).for_each(|x| visit(&collider, x));
    (1..10).for_each(|x| visit(&collider, x));
    collider.update(&grid);
    let built: Vec<i32> = collider.built_blocks().iter().map(|block| block.x).collect();
    assert!(built.iter().all(|x| x % 4 == 0 || *x < 10), "{built:?}");
    assert!(collider.stats().evictions > 0);
}

#[test]
fn a_place_that_is_edited_for_ever_is_listed_once() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [0, -8, 0], [16, 0, 8]);
    let mut collider = Collider::default();
    let down = Ray::new([4.0, 5.0, 4.0], [0.0, -1.0, 0.0], 20.0);
    for depth in 0..1000 {
        let mut hole = DenseBox::new(Region::new([3, -1 - depth % 2, 3], [6, 0, 6]));
        hole.fill(if depth % 3 == 0 { ROCK } else { 0 });
        grid.write(&hole).unwrap();
        collider.update(&grid);
        assert!(collider.ray(&down, &Filter::SOLID).found.is_some());
        assert!(collider.listed_blocks() < 100);
    }
}

#[test]
fn the_liquid_surface_of_a_block_is_built_when_a_query_asks_for_it() {
    let grid = world(3);
    let rays = rays_down();
    let both = collider_of(&grid);
    let expected: Vec<_> = rays.iter().map(|ray| both.ray(ray, &Filter::BOTH)).collect();
    let mut collider = Collider::new(ColliderOptions { budget_bytes: 0 });
    collider.update(&grid);
    let solid = rays.iter().filter(|ray| collider.ray(ray, &Filter::SOLID).found.is_some()).count();
    assert!(solid > 0);
    let solid_bytes = collider.stats().built_bytes;
    let refusing = Filter { unbuilt: BuildPolicy::Refuse, ..Filter::BOTH };
    let refused = rays.iter().map(|ray| collider.ray(ray, &refusing).missing);
    assert!(refused.into_iter().any(|missing| matches!(missing, Some(MissingData::NotBuilt(_)))));
    let found: Vec<_> = rays.iter().map(|ray| collider.ray(ray, &Filter::BOTH)).collect();
    assert!(found == expected);
    assert!(collider.stats().built_bytes > solid_bytes);
    // What was counted is what is taken away.
    collider.update(&grid);
    assert_eq!((collider.stats().built, collider.stats().built_bytes), (0, 0));
}

#[test]
fn a_refused_query_names_what_is_not_held_whatever_was_built() {
    let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
    let mut grid = VoxelGrid::new(options);
    let mut cells = DenseBox::new(Region::new([0, 0, 0], [32, 32, 32]));
    for voxel in cells.region().voxels().filter(|voxel| voxel.y < 4) {
        cells.set(voxel, Cell::full(if voxel.x < 4 { WATER } else { ROCK }));
    }
    grid.write(&cells).unwrap();
    let collider = collider_of(&grid);
    let rim = Aabb::around([4.0, 4.0, 4.0], [1.0; 3]);
    let missing = collider.triangles_in(&rim, &Filter::SOLID, |_| ());
    assert!(matches!(missing, Some(MissingData::NotHeld(_))));
    let refusing = Filter { unbuilt: BuildPolicy::Refuse, ..Filter::BOTH };
    let down = Ray::new([3.5, 20.0, 4.5], [0.0, -1.0, 0.0], 30.0);
    assert!(matches!(collider.ray(&down, &refusing).missing, Some(MissingData::NotHeld(_))));
}

#[test]
fn from_high_above_a_plain_few_blocks_are_built() {
    let mut grid = VoxelGrid::default();
    floor(&mut grid, [-300, -8, -300], [300, 0, 300]);
    for height in [20.0, 130.0, 1000.0, 1e5] {
        let collider = collider_of(&grid);
        let hit = collider.closest_point([3.2, height, -7.9], f64::INFINITY, &Filter::BOTH);
        let hit = hit.found.expect("there is a floor");
        assert!((hit.distance - height).abs() < height * 1e-6, "{height}: {hit:?}");
        let built = collider.stats().built;
        // A block's box reaches ¾ of a voxel above the floor, so those about 39 voxels around the
        // foot may be nearer than it, from a height of 1000.
        let most = if height < 1e4 { 100 } else { 5700 };
        assert!((1..=most).contains(&built), "{height}: {built} blocks");
        let collider = collider_of(&grid);
        let shape = Shape::Box { half: [200.0, 2.0, 200.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        assert!(collider.overlaps(&shape, [0.5, 1.0, 0.5], &Filter::BOTH).found);
        assert!(collider.stats().built < 64, "all after the first touch are left alone");
    }
}
