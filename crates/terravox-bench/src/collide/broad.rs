//! The bit broadphase: building masks and querying them, compared with a tree over block
//! boxes.

mod boxes;
mod huge;

use parry3d::bounding_volume::Aabb as ParryAabb;
use parry3d::math::Vector;
use parry3d::partitioning::{Bvh, BvhBuildStrategy};
use terravox::collide::{Broadphase, CollisionBlock, REACH, Surfaces};
use terravox::math::Aabb;
use terravox::voxel::{Changes, Region};

use crate::harness::{Budget, Entrant, Timing, contest};
use crate::report::{AreaReport, Better, detail};
use crate::worlds::World;
use crate::worlds::random::Rng;

/// Chunks, and boxes, in an item: one alone is too short for the clock.
const CHUNKS: usize = 64;
const BOXES: usize = 1024;

const RACE: Budget = Budget { min_rounds: 10, max_rounds: 100, seconds: 4.0, warm: true };

/// Measures this part.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let mut masks = Vec::new();
    let mut queries = Vec::new();
    for world in worlds {
        let broadphase = all_masks(world);
        masks.push((world.name, make_masks(report, world)));
        let boxes = boxes::near_surfaces(world, &broadphase);
        queries.push((world.name, ask(report, world.name, &broadphase, &boxes)));
    }
    let worst = |values: &[(&str, f64)]| {
        let note: Vec<String> = values.iter().map(|(name, v)| format!("{name} {v:.3}")).collect();
        (values.iter().map(|v| v.1).fold(0.0, f64::max), note.join(", "))
    };
    let (value, note) = worst(&masks);
    report.set("mask_block_ns", value, note);
    let ours: Vec<_> = queries.iter().map(|(name, [ours, _])| (*name, *ours)).collect();
    let (value, note) = worst(&ours);
    report.set("broad_query_ns", value, note);
    let slowest = queries.iter().min_by(|a, b| (a.1[1] / a.1[0]).total_cmp(&(b.1[1] / b.1[0])));
    if let Some((name, [ours, parry])) = slowest {
        let note = format!("{name}; baseline ns a query of parry's Bvh of block boxes");
        report.set_ratio("broad_query_vs_parry", parry / ours, *parry, note);
    }
    if let Some(world) = worlds.first() {
        huge::run(report, world);
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
    // A change of all but the hull is one of no other chunk.
    let regions: Vec<Region> = mixed.map(|chunk| chunk.region().grow(-1)).collect();
    let items: Vec<Changes> =
        regions.chunks_exact(CHUNKS).map(|some| Changes::Regions(some.to_vec())).collect();
    let blocks = (items.len() * CHUNKS * 64) as f64;
    let make = Entrant::new("chunks", |item| {
        broadphase.update(world.grid.as_snapshot(), &items[item]);
        0
    });
    let timings = contest(items.len(), RACE, vec![make]);
    let mut rebuilt = Broadphase::new();
    let rebuild = Entrant::new("world", |_| {
        rebuilt.update(world.grid.as_snapshot(), &Changes::Everything);
        0
    });
    let whole = contest(1, Budget { seconds: 2.0, ..RACE }, vec![rebuild]);
    let stats = all_masks(world).stats();
    let per_mixed = stats.bytes as f64 / stats.mixed_blocks as f64;
    report.details(
        format!("{}: masks of {} mixed chunks", world.name, regions.len()),
        vec![
            detail("a block of a mixed chunk", timings[0].min * 1e9 / blocks, "ns")
                .note(format!("median {:.1}", timings[0].median * 1e9 / blocks)),
            detail("the whole world anew", whole[0].min * 1e3, "ms"),
            detail("bytes a mixed block", per_mixed, "B")
                .note(format!("{} mixed blocks, {} masks", stats.mixed_blocks, stats.masks)),
        ],
    );
    timings[0].min * 1e9 / blocks
}

/// Blocks with a mask or a tag of water.
fn solid_blocks(broadphase: &Broadphase) -> Vec<CollisionBlock> {
    let mut blocks = Vec::new();
    let all = Aabb::new([-1e9; 3], [1e9; 3]);
    broadphase.blocks_in(&all, Surfaces::Solid, |block, _| blocks.push(block));
    blocks
}

fn parry_box(aabb: Aabb) -> ParryAabb {
    let vector = |p: [f64; 3]| Vector::new(p[0] as f32, p[1] as f32, p[2] as f32);
    ParryAabb::new(vector(aabb.min), vector(aabb.max))
}

/// Nanoseconds a box, of ours and of parry.
fn ask(report: &mut AreaReport, world: &str, broadphase: &Broadphase, boxes: &[Aabb]) -> [f64; 2] {
    let blocks = solid_blocks(broadphase);
    let leaves: Vec<ParryAabb> = blocks
        .iter()
        .map(|block| parry_box(Aabb::of_region(block.region()).grow(f64::from(REACH))))
        .collect();
    let tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves);
    let mut shuffled = boxes.to_vec();
    let mut rng = Rng::new(3);
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, rng.below(at as u32 + 1) as usize);
    }
    let near = race(broadphase, &tree, boxes);
    let far = race(broadphase, &tree, &shuffled);
    let ns = |timing: &Timing| timing.min * 1e9 / (boxes.len() / BOXES * BOXES) as f64;
    let line = |what: &str, of: &[Timing]| {
        let peer = ns(&of[2]);
        vec![
            detail(format!("solid, {what}"), ns(&of[0]), "ns").beside(peer),
            detail(format!("solid and water, {what}"), ns(&of[1]), "ns").beside(peer),
        ]
    };
    let mut rows = line("box after box near the last", &near);
    rows.extend(line("boxes all over the world", &far));
    report.details(format!("{world}: boxes, beside parry's Bvh of {} blocks", blocks.len()), rows);
    let what = format!("box query of the broadphase, {world}");
    report.compare(&what, "ns", Better::Less, ns(&near[0]), ("parry Bvh", ns(&near[2])));
    // Moving things are all over the world; the tree holds solid blocks only.
    [ns(&far[0]), ns(&far[2])]
}

fn race(broadphase: &Broadphase, tree: &Bvh, boxes: &[Aabb]) -> Vec<Timing> {
    let parry: Vec<ParryAabb> = boxes.iter().map(|&aabb| parry_box(aabb)).collect();
    let range = |item: usize| item * BOXES..(item + 1) * BOXES;
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
    let entrants = vec![
        Entrant::new("solid", ours(Surfaces::Solid)),
        Entrant::new("both", ours(Surfaces::Both)),
        Entrant::new("parry", |item| {
            let found = |aabb| tree.intersect_aabb(aabb).map(u64::from).sum::<u64>();
            parry[range(item)].iter().map(found).sum()
        }),
    ];
    contest(boxes.len() / BOXES, RACE, entrants)
}
