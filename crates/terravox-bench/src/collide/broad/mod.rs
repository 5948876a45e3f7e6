//! The bit broadphase: building masks and querying them, compared with a tree over block
//! boxes.

mod billion;
mod boxes;

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};
use terravox::collide::{Broadphase, CollisionBlock, REACH, Surfaces};
use terravox::math::Aabb;
use terravox::voxel::{Changes, Region};

use crate::harness::{Entrant, RoundBudget, Timing, contest};
use crate::report::{AreaReport, Better, detail};
use crate::worlds::World;
use crate::worlds::random::Rng;

/// Chunks in an item: one alone is too short for the clock.
const CHUNKS_PER_ITEM: usize = 64;

/// Boxes in an item.
const BOXES_PER_ITEM: usize = 1024;

/// Blocks of a chunk.
const CHUNK_BLOCKS: usize = 64;

const RACE: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 100, seconds: 4.0, warm: true };

/// Nanoseconds of a query of boxes all over a world.
struct QueryTimes {
    world: &'static str,
    ours_ns: f64,
    parry_ns: f64,
}

/// Measures `mask_block_ns`, `broad_query_ns`, `broad_query_vs_parry` and, on copies of the first
/// world, `billion_cell_mask_bytes_ratio`.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let mut masks = Vec::new();
    let mut queries = Vec::new();
    for world in worlds {
        let broadphase = all_masks(world);
        masks.push((world.name, make_masks(report, world)));
        queries.push(query_boxes(report, world, &broadphase));
    }
    let worst = |values: &[(&str, f64)]| {
        let note: Vec<String> = values.iter().map(|(name, v)| format!("{name} {v:.3}")).collect();
        (values.iter().map(|v| v.1).fold(0.0, f64::max), note.join(", "))
    };
    let (value, note) = worst(&masks);
    report.set("mask_block_ns", value, note);
    let ours: Vec<_> = queries.iter().map(|query| (query.world, query.ours_ns)).collect();
    let (value, note) = worst(&ours);
    report.set("broad_query_ns", value, note);
    let ratio = |query: &QueryTimes| query.parry_ns / query.ours_ns;
    if let Some(query) = queries.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b))) {
        let note = format!("{}; baseline ns a query of parry's Bvh of block boxes", query.world);
        report.set_ratio("broad_query_vs_parry", ratio(query), query.parry_ns, note);
    }
    if let Some(world) = worlds.first() {
        billion::run(report, world);
    }
}

fn all_masks(world: &World) -> Broadphase {
    let mut broadphase = Broadphase::new();
    broadphase.update(world.grid.as_snapshot(), &Changes::Everything);
    broadphase
}

/// Nanoseconds a block of mixed chunks, rows read and records replaced.
fn make_masks(report: &mut AreaReport, world: &World) -> f64 {
    let mut broadphase = all_masks(world);
    let mixed = world.chunks.iter().filter(|&&chunk| {
        let view = world.grid.chunk(chunk);
        view.is_ok_and(|view| view.uniform_material().is_none())
    });
    // A change of all but the boundary is one of no other chunk.
    let regions: Vec<Region> = mixed.map(|chunk| chunk.region().grow(-1)).collect();
    let items: Vec<Changes> =
        regions.chunks_exact(CHUNKS_PER_ITEM).map(|some| Changes::Regions(some.to_vec())).collect();
    let blocks = (items.len() * CHUNKS_PER_ITEM * CHUNK_BLOCKS) as f64;
    let make = Entrant::new("chunks", |item| {
        broadphase.update(world.grid.as_snapshot(), &items[item]);
        0
    });
    let [chunks] = contest(items.len(), RACE, [make]);
    let mut rebuilt = Broadphase::new();
    let rebuild = Entrant::new("world", |_| {
        rebuilt.update(world.grid.as_snapshot(), &Changes::Everything);
        0
    });
    let [whole] = contest(1, RoundBudget { seconds: 2.0, ..RACE }, [rebuild]);
    let stats = all_masks(world).stats();
    let per_mixed = stats.bytes as f64 / stats.mixed_blocks as f64;
    report.details(
        format!("{}: masks of {} mixed chunks", world.name, regions.len()),
        vec![
            detail("a block of a mixed chunk", chunks.min * 1e9 / blocks, "ns")
                .note(format!("median {:.1}", chunks.median * 1e9 / blocks)),
            detail("the whole world anew", whole.min * 1e3, "ms"),
            detail("bytes a mixed block", per_mixed, "B")
                .note(format!("{} mixed blocks, {} masks", stats.mixed_blocks, stats.masks)),
        ],
    );
    chunks.min * 1e9 / blocks
}

fn parry_box(aabb: Aabb) -> ParryAabb {
    let vector = |p: [f64; 3]| Vector::new(p[0] as f32, p[1] as f32, p[2] as f32);
    ParryAabb::new(vector(aabb.min), vector(aabb.max))
}

/// All blocks with solid faces.
fn solid_blocks(broadphase: &Broadphase) -> Vec<CollisionBlock> {
    let mut blocks = Vec::new();
    let everywhere = Aabb::new([-1e9; 3], [1e9; 3]);
    broadphase.blocks_in(&everywhere, Surfaces::Solid, |block, _| blocks.push(block));
    blocks
}

/// Queries boxes near surfaces, neighbours one after another and in random order.
fn query_boxes(report: &mut AreaReport, world: &World, broadphase: &Broadphase) -> QueryTimes {
    let blocks = solid_blocks(broadphase);
    let boxes = boxes::near_surfaces(world, &blocks);
    let leaves: Vec<ParryAabb> = blocks
        .iter()
        .map(|block| parry_box(Aabb::of_region(block.region()).grow(f64::from(REACH))))
        .collect();
    let tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves);
    let mut shuffled = boxes.clone();
    let mut rng = Rng::new(3);
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, rng.below(at as u32 + 1) as usize);
    }
    let near = race(broadphase, &tree, &boxes);
    let far = race(broadphase, &tree, &shuffled);
    let ns =
        |timing: &Timing| timing.min * 1e9 / (boxes.len() / BOXES_PER_ITEM * BOXES_PER_ITEM) as f64;
    let rows_of = |what: &str, timings: &QueryTimings| {
        let peer = ns(&timings.parry);
        [
            detail(format!("solid, {what}"), ns(&timings.solid), "ns").beside(peer),
            detail(format!("solid and water, {what}"), ns(&timings.both), "ns").beside(peer),
        ]
    };
    let mut rows = rows_of("box after box near the last", &near).to_vec();
    rows.extend(rows_of("boxes all over the world", &far));
    report.details(
        format!("{}: boxes, beside parry's Bvh of {} blocks", world.name, blocks.len()),
        rows,
    );
    let what = format!("box query of the broadphase, {}", world.name);
    report.compare(&what, "ns", Better::Less, ns(&near.solid), ("parry Bvh", ns(&near.parry)));
    // Moving things are all over the world; the tree holds solid blocks only.
    QueryTimes { world: world.name, ours_ns: ns(&far.solid), parry_ns: ns(&far.parry) }
}

/// Times of the same boxes.
struct QueryTimings {
    solid: Timing,
    both: Timing,
    /// Parry's tree, which holds solid blocks only.
    parry: Timing,
}

fn race(broadphase: &Broadphase, tree: &Bvh, boxes: &[Aabb]) -> QueryTimings {
    let parry: Vec<ParryAabb> = boxes.iter().map(|&aabb| parry_box(aabb)).collect();
    let range = |item: usize| item * BOXES_PER_ITEM..(item + 1) * BOXES_PER_ITEM;
    let ours = |surfaces: Surfaces| {
        move |item: usize| {
            let mut count = 0;
            for aabb in &boxes[range(item)] {
                broadphase.blocks_in(aabb, surfaces, |block, touch| {
                    count += block.x as u64 + u64::from(touch.solid);
                });
            }
            count
        }
    };
    let entrants = [
        Entrant::new("solid", ours(Surfaces::Solid)),
        Entrant::new("both", ours(Surfaces::Both)),
        Entrant::new("parry", |item| {
            let query = |aabb| tree.intersect_aabb(aabb).map(u64::from).sum::<u64>();
            parry[range(item)].iter().map(query).sum()
        }),
    ];
    let [solid, both, parry] = contest(boxes.len() / BOXES_PER_ITEM, RACE, entrants);
    QueryTimings { solid, both, parry }
}
