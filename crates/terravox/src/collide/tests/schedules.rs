//! Queries that meet while blocks are built, in many orders.

use super::*;
use crate::collide::schedule;
use crate::collide::slots::{BuiltBlock, Slots};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

type Tasks<'a> = Vec<Box<dyn FnOnce() + Send + 'a>>;

const FILTERS: [Filter; 3] = [Filter::SOLID, Filter::LIQUID, Filter::BOTH];

#[test]
fn queries_in_any_order_build_each_block_once_and_count_it_once_slow() {
    let grid = world(5);
    let rays = rays_down();
    let alone = collider_of(&grid);
    let expected = FILTERS.map(|filter| rays.iter().map(|r| alone.ray(r, &filter)).collect());
    let expected: &[Vec<_>; 3] = &expected;
    for seed in 0..300 {
        let mut collider = Collider::new(ColliderOptions { budget_bytes: 0 });
        collider.update(&grid);
        let shared = &collider;
        let task = |task: u64| {
            let (rays, mut random) = (&rays, seed << 8 | task);
            Box::new(move || {
                for _ in 0..4 {
                    // Neighbours, which need the same blocks.
                    let ray = 16 + splitmix(&mut random) as usize % 6;
                    let filter = splitmix(&mut random) as usize % 3;
                    let found = shared.ray(&rays[ray], &FILTERS[filter]);
                    assert!(found == expected[filter][ray], "seed {seed}, ray {ray}");
                }
            }) as Box<dyn FnOnce() + Send>
        };
        schedule::run(seed, (0..3).map(task).collect());
        let (stats, built) = (collider.stats(), collider.built_blocks());
        assert!(stats.built > 0 && built.len() == stats.built, "{stats:?}");
        assert_eq!(stats.builds, stats.built as u64);
        assert_eq!(collider.listed_blocks(), stats.built, "none is listed twice");
        collider.update(&grid);
        let stats = collider.stats();
        assert_eq!((stats.built, stats.built_bytes), (0, 0), "all that was counted is evicted");
    }
}

#[test]
fn a_builder_that_panics_leaves_the_slot_to_the_next() {
    for seed in 0..300 {
        let slots = Slots::default();
        let built = AtomicUsize::new(0);
        let first = AtomicUsize::new(0);
        let build = |rank: usize| {
            schedule::pass();
            if first.fetch_add(1, Ordering::Relaxed) == 0 {
                resume_unwind(Box::new("the first builder")); // prints nothing
            }
            built.fetch_add(1, Ordering::Relaxed);
            schedule::pass();
            let block = BuiltBlock::new(None, None);
            block.touch(rank as u32);
            block
        };
        let get = |rank: usize| {
            let used = || slots.get_or_build(rank, 2, || build(rank)).used();
            if let Ok(used) = catch_unwind(AssertUnwindSafe(used)) {
                assert_eq!(used, rank as u32);
            }
        };
        let task = |ranks: [usize; 2]| Box::new(move || ranks.into_iter().for_each(get));
        let tasks: Tasks<'_> = vec![task([0, 1]), task([1, 0]), task([0, 1])];
        schedule::run(seed, tasks);
        assert_eq!(built.into_inner(), 2, "seed {seed}");
        assert!(slots.get(0).is_some() && slots.get(1).is_some());
    }
}
