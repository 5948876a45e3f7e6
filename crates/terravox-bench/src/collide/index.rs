//! The indexes of a block: building, bytes, rays and boxes, compared with the peers on the same
//! triangles.
//!
//! *Hot*: the queries of a block in succession. *Cold*: those of all blocks shuffled, so that
//! the block of every query is outside of the nearest caches.

use fast_surface_nets::SurfaceNetsBuffer;

use super::blocks::{self, QUERIES, SurfaceBlock};
#[cfg(cpp_peers)]
use super::peers::{Bullet, Embree};
use super::peers::{
    Index, Kd, Obvhs2, ObvhsWide, ParryCubes, ParryEdges, ParryMesh, Quads, Triangle,
};
use crate::harness::{Entrant, RoundBudget, Timing, contest_all};
use crate::report::{AreaReport, Better, ReportRow, detail};
use crate::worlds::World;
use crate::worlds::random::Lcg;

/// Blocks in an item: one alone is too short for the clock.
const GROUP: usize = 64;

const BUILD: RoundBudget = RoundBudget { min_rounds: 10, max_rounds: 60, seconds: 6.0, warm: true };
/// Queries come block by block, each once a round: a block is in the cache after its first, but no
/// branch predictor learns the results.
const QUERY: RoundBudget = RoundBudget { min_rounds: 5, max_rounds: 30, seconds: 4.0, warm: false };

/// Tolerance of hits between two indexes, voxels, including those that store corners with half
/// the bits.
const HIT_TOLERANCE_VOXELS: f32 = 0.005;

/// What was measured in one world, by entrant.
struct IndexResult {
    world: &'static str,
    /// Seconds for all blocks.
    build: Vec<Timing>,
    /// Bytes a triangle.
    bytes: Vec<(&'static str, f64)>,
    /// Nanoseconds a segment.
    rays: Vec<(&'static str, f64)>,
    /// Nanoseconds a box.
    boxes: Vec<(&'static str, f64)>,
}

/// Measures building, bytes, rays and boxes; every figure is the worst of the worlds.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let results: Vec<IndexResult> = worlds.iter().map(|world| measure(report, world)).collect();
    let value = |list: &[(&str, f64)], name: &str| {
        list.iter().find(|(entrant, _)| *entrant == name).map_or(f64::NAN, |entry| entry.1)
    };
    let build = |f: &IndexResult, name: &str| {
        let min = |name| f.build.iter().find(|t| t.name == name).map_or(f64::NAN, |t| t.min);
        min(name) / min(FSN)
    };
    worst(report, "index_build_vs_fsn", Better::Less, &results, |f| build(f, Quads::NAME));
    worst(report, "kd_build_vs_fsn", Better::Less, &results, |f| build(f, Kd::NAME));
    worst(report, "bytes_per_triangle", Better::Less, &results, |f| value(&f.bytes, Quads::NAME));
    worst(report, "kd_bytes_per_triangle", Better::Less, &results, |f| value(&f.bytes, Kd::NAME));
    worst(report, "ray_vs_parry", Better::More, &results, |f| {
        value(&f.rays, ParryMesh::NAME) / value(&f.rays, Quads::NAME)
    });
    worst(report, "box_vs_parry", Better::More, &results, |f| {
        value(&f.boxes, ParryMesh::NAME) / value(&f.boxes, Quads::NAME)
    });
    beside_embree(report, &results);
}

/// `ray_vs_embree`, if the peer was built in.
fn beside_embree(report: &mut AreaReport, results: &[IndexResult]) {
    #[cfg(cpp_peers)]
    worst(report, "ray_vs_embree", Better::More, results, |f| {
        let value = |name| f.rays.iter().find(|one| one.0 == name).map_or(f64::NAN, |one| one.1);
        value(Embree::NAME) / value(Quads::NAME)
    });
    #[cfg(not(cpp_peers))]
    {
        let _ = results;
        report.not_measured("ray_vs_embree", "needs --features cpp-peers and Embree's headers");
    }
}

const FSN: &str = "fast-surface-nets";

/// Sets a figure to the worst of the worlds, and notes each.
fn worst(
    report: &mut AreaReport,
    id: &str,
    better: Better,
    results: &[IndexResult],
    value: impl Fn(&IndexResult) -> f64,
) {
    let all: Vec<(&str, f64)> = results.iter().map(|f| (f.world, value(f))).collect();
    let values = all.iter().map(|entry| entry.1);
    let worst = match better {
        Better::Less => values.max_by(f64::total_cmp),
        Better::More => values.min_by(f64::total_cmp),
    };
    let notes: Vec<String> = all.iter().map(|(name, v)| format!("{name} {v:.3}")).collect();
    match worst {
        Some(worst) => report.set(id, worst, notes.join(", ")),
        None => report.not_measured(id, "no world to measure it on"),
    }
}

fn measure(report: &mut AreaReport, world: &World) -> IndexResult {
    let blocks = blocks::of(world);
    let triangles: usize = blocks.iter().map(|b| b.surface.indices.len() / 3).sum();
    let all = candidates(&blocks);
    let hot = IndexQueries::by_block(&blocks);
    let cold = IndexQueries::shuffled(&blocks);
    check_agreement(&all, &hot);
    let build = race_build(&blocks, &all);
    let bytes: Vec<_> =
        all.iter().map(|one| (one.name(), one.bytes() as f64 / triangles as f64)).collect();
    let rays = [&hot, &cold].map(|queries| race_rays(&all, queries));
    let boxes = [&hot, &cold].map(|queries| race_boxes(&all, queries));
    let title = |what: &str| {
        format!("{what}, {}, {} blocks, {triangles} triangles", world.name, blocks.len())
    };
    let per_triangle = |seconds: f64| seconds * 1e9 / triangles as f64;
    let fsn = per_triangle(build[0].min);
    let line = |t: &Timing| {
        let note = format!("median {:.2}", per_triangle(t.median));
        detail(t.name, per_triangle(t.min), "ns/triangle").beside(fsn).note(note)
    };
    report.details(title("building"), build.iter().map(line).collect());
    let of_bytes = |(name, value): &(&'static str, f64)| detail(*name, *value, "B/triangle");
    report.details(title("bytes"), bytes.iter().map(of_bytes).collect());
    let hits = all[0].closest(&hot).iter().flatten().count() as f64 / hot.segments.len() as f64;
    let in_box = all[0].in_box(&hot).iter().sum::<usize>() as f64 / hot.boxes.len() as f64;
    report.details(title(&format!("rays, {hits:.2} hit")), both(&rays, "ns/ray"));
    report.details(title(&format!("boxes, {in_box:.1} triangles each")), both(&boxes, "ns/box"));
    for (what, [hot, _]) in [("ray", &rays), ("box", &boxes)] {
        for peer in &hot[2..] {
            let what = format!("a {what}, in cache, {}", world.name);
            report.compare(&what, "ns", Better::Less, hot[0].1, *peer);
        }
    }
    let ([rays, _], [boxes, _]) = (rays, boxes);
    IndexResult { world: world.name, build, bytes, rays, boxes }
}

/// Returns rows of hot times, with cold in the note, relative to the first.
fn both([hot, cold]: &[Vec<(&'static str, f64)>; 2], unit: &'static str) -> Vec<ReportRow> {
    let row = |(hot_one, cold_one): (&(&'static str, f64), &(&'static str, f64))| {
        let note = format!("cold {:.1}", cold_one.1);
        detail(hot_one.0, hot_one.1, unit).beside(hot[0].1).note(note)
    };
    hot.iter().zip(cold).map(row).collect()
}

/// Segments and boxes with their blocks, in some order.
struct IndexQueries {
    segments: Vec<IndexQuery>,
    boxes: Vec<IndexQuery>,
}

/// A query of one block.
#[derive(Clone, Copy)]
struct IndexQuery {
    /// Index of the block.
    block: usize,
    /// Start and end of a segment; min and max corner of a box.
    ends: [[f32; 3]; 2],
}

impl IndexQueries {
    fn by_block(blocks: &[SurfaceBlock]) -> IndexQueries {
        let list = |of: fn(&SurfaceBlock) -> &Vec<[[f32; 3]; 2]>| {
            let of_block = |(index, block)| {
                of(block).iter().map(move |&ends| IndexQuery { block: index, ends })
            };
            blocks.iter().enumerate().flat_map(of_block).collect()
        };
        IndexQueries { segments: list(|b| &b.segments), boxes: list(|b| &b.boxes) }
    }

    fn shuffled(blocks: &[SurfaceBlock]) -> IndexQueries {
        let mut all = IndexQueries::by_block(blocks);
        let mut random = Lcg(7);
        for list in [&mut all.segments, &mut all.boxes] {
            for i in (1..list.len()).rev() {
                list.swap(i, random.below(i + 1));
            }
        }
        all
    }
}

/// The queries of one item.
fn group(queries: &[IndexQuery], item: usize) -> &[IndexQuery] {
    &queries[item * GROUP * QUERIES..][..GROUP * QUERIES]
}

/// The indexes of all blocks, of one kind.
trait Candidate {
    fn name(&self) -> &'static str;
    fn is_exact(&self) -> bool;
    fn has_boxes(&self) -> bool;
    /// Bytes of all indexes.
    fn bytes(&self) -> usize;
    /// Returns the hit of each segment.
    fn closest(&self, queries: &IndexQueries) -> Vec<Option<f32>>;
    /// Returns the number of triangles in each box.
    fn in_box(&self, queries: &IndexQueries) -> Vec<usize>;
    fn building<'a>(&self, blocks: &'a [SurfaceBlock]) -> Entrant<'a>;
    fn casting<'a>(&'a self, queries: &'a IndexQueries) -> Entrant<'a>;
    fn boxing<'a>(&'a self, queries: &'a IndexQueries) -> Entrant<'a>;
}

impl<I: Index> Candidate for Vec<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn is_exact(&self) -> bool {
        I::IS_EXACT
    }

    fn has_boxes(&self) -> bool {
        I::HAS_BOXES
    }

    fn bytes(&self) -> usize {
        self.iter().map(I::bytes).sum()
    }

    fn closest(&self, queries: &IndexQueries) -> Vec<Option<f32>> {
        queries.segments.iter().map(|query| cast(self, query)).collect()
    }

    fn in_box(&self, queries: &IndexQueries) -> Vec<usize> {
        let count = |query: &IndexQuery| {
            let mut out = Vec::new();
            let [min, max] = query.ends;
            self[query.block].in_box(min, max, &mut out);
            out.len()
        };
        queries.boxes.iter().map(count).collect()
    }

    fn building<'a>(&self, blocks: &'a [SurfaceBlock]) -> Entrant<'a> {
        let build = |item: usize| {
            let built = blocks[item * GROUP..][..GROUP].iter().map(I::build);
            built.map(|index| index.bytes() as u64).sum()
        };
        Entrant::new(I::NAME, build).every(I::BUILD_INTERVAL_ROUNDS)
    }

    fn casting<'a>(&'a self, queries: &'a IndexQueries) -> Entrant<'a> {
        Entrant::new(I::NAME, |item| {
            let segments = group(&queries.segments, item).iter();
            segments.filter_map(|query| cast(self, query)).count() as u64
        })
    }

    fn boxing<'a>(&'a self, queries: &'a IndexQueries) -> Entrant<'a> {
        let mut out: Vec<Triangle> = Vec::new();
        Entrant::new(I::NAME, move |item| {
            let mut count = 0;
            for query in group(&queries.boxes, item) {
                out.clear();
                let [min, max] = query.ends;
                self[query.block].in_box(min, max, &mut out);
                count += out.len() as u64;
            }
            count
        })
    }
}

/// Casts a segment.
fn cast<I: Index>(indexes: &[I], query: &IndexQuery) -> Option<f32> {
    let [from, to] = query.ends;
    indexes[query.block].closest(from, to)
}

/// Ours first, the default before the k-d tree.
fn candidates(blocks: &[SurfaceBlock]) -> Vec<Box<dyn Candidate>> {
    fn all<I: Index + 'static>(blocks: &[SurfaceBlock]) -> Box<dyn Candidate> {
        Box::new(blocks.iter().map(I::build).collect::<Vec<I>>())
    }
    vec![
        all::<Quads>(blocks),
        all::<Kd>(blocks),
        all::<ParryMesh>(blocks),
        all::<ParryEdges>(blocks),
        all::<ParryCubes>(blocks),
        all::<Obvhs2>(blocks),
        all::<ObvhsWide>(blocks),
        #[cfg(cpp_peers)]
        all::<Embree>(blocks),
        #[cfg(cpp_peers)]
        all::<Bullet>(blocks),
    ]
}

/// Asserts that all indexes of the same surface give the same results, within
/// [`HIT_TOLERANCE_VOXELS`], except for a few rays along edges.
fn check_agreement(all: &[Box<dyn Candidate>], queries: &IndexQueries) {
    let (rays, boxes) = (all[0].closest(queries), all[0].in_box(queries));
    let lengths = queries.segments.iter().map(|query| {
        let [from, to] = query.ends;
        (0..3).map(|i| (to[i] - from[i]).powi(2)).sum::<f32>().sqrt()
    });
    let lengths: Vec<f32> = lengths.collect();
    for one in all[1..].iter().filter(|one| one.is_exact()) {
        let same = |at: usize, theirs: Option<f32>| match (rays[at], theirs) {
            (Some(a), Some(b)) => (a - b).abs() * lengths[at] <= HIT_TOLERANCE_VOXELS,
            (a, b) => a == b,
        };
        let theirs = one.closest(queries).into_iter().enumerate();
        let differ = theirs.filter(|(at, theirs)| !same(*at, *theirs)).count();
        println!("{}: {differ} of {} rays differ", one.name(), rays.len());
        assert!(differ * 1000 <= rays.len(), "{} disagrees", one.name());
        if one.has_boxes() {
            let theirs = one.in_box(queries);
            let differ = theirs.iter().zip(&boxes).filter(|(a, b)| a != b).count();
            println!("{}: {differ} of {} boxes differ", one.name(), boxes.len());
            assert!(differ * 1000 <= boxes.len(), "{} disagrees", one.name());
        }
    }
}

fn race_build(blocks: &[SurfaceBlock], all: &[Box<dyn Candidate>]) -> Vec<Timing> {
    let mut buffer = SurfaceNetsBuffer::default();
    let fsn = Entrant::new(FSN, |item| {
        let mesh = |block: &SurfaceBlock| {
            block.fsn.mesh(&mut buffer);
            buffer.indices.len() as u64
        };
        blocks[item * GROUP..][..GROUP].iter().map(mesh).sum()
    });
    let ours = all.iter().map(|one| one.building(blocks));
    contest_all(blocks.len() / GROUP, BUILD, [fsn].into_iter().chain(ours).collect())
}

/// Nanoseconds a segment.
fn race_rays(all: &[Box<dyn Candidate>], queries: &IndexQueries) -> Vec<(&'static str, f64)> {
    race_queries(all.iter().map(|one| one.casting(queries)).collect(), queries.segments.len())
}

/// Nanoseconds a box.
fn race_boxes(all: &[Box<dyn Candidate>], queries: &IndexQueries) -> Vec<(&'static str, f64)> {
    let able = all.iter().filter(|one| one.has_boxes());
    race_queries(able.map(|one| one.boxing(queries)).collect(), queries.boxes.len())
}

fn race_queries(entrants: Vec<Entrant<'_>>, count: usize) -> Vec<(&'static str, f64)> {
    let items = count / (GROUP * QUERIES);
    let queries = (items * GROUP * QUERIES) as f64;
    let timings = contest_all(items, QUERY, entrants);
    timings.iter().map(|t| (t.name, t.min * 1e9 / queries)).collect()
}
