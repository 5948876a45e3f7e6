//! The indexes of a block: building them, their bytes, rays and boxes, beside the peers
//! on the same triangles.
//!
//! *Hot*: the questions of a block one after another. *Cold*: those of all blocks
//! shuffled, so that every question finds its block out of the nearest caches.

use fast_surface_nets::SurfaceNetsBuffer;

use super::blocks::{self, Block, QUERIES};
#[cfg(cpp_peers)]
use super::peers::{Bullet, Embree};
use super::peers::{
    Index, Kd, Obvhs2, ObvhsWide, ParryCubes, ParryEdges, ParryMesh, Quads, Triangle,
};
use crate::harness::{Budget, Entrant, Timing, contest};
use crate::report::{Better, Report, Row, detail};
use crate::worlds::World;
use crate::worlds::random::Lcg;

/// Blocks in an item: one alone is too short for the clock.
const GROUP: usize = 64;

const BUILD: Budget = Budget { min_rounds: 10, max_rounds: 60, seconds: 6.0, warm: true };
/// Questions come block by block, each once a round: a block is in the cache after its first,
/// but no branch predictor knows the answers by heart.
const ASK: Budget = Budget { min_rounds: 5, max_rounds: 30, seconds: 4.0, warm: false };

/// How far two indexes may disagree about a hit, voxels: those with half-width corners
/// included.
const AGREE: f32 = 0.005;

/// What a world gave: name of the world, and of each entrant a value.
struct Found {
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

/// Measures this part; every figure is the worst of the worlds.
pub fn run(report: &mut Report, worlds: &[&World]) {
    let found: Vec<Found> = worlds.iter().map(|world| measure(report, world)).collect();
    let value = |list: &[(&str, f64)], name: &str| {
        list.iter().find(|(entrant, _)| *entrant == name).map_or(f64::NAN, |entry| entry.1)
    };
    let build = |f: &Found, name: &str| {
        let min = |name| f.build.iter().find(|t| t.name == name).map_or(f64::NAN, |t| t.min);
        min(name) / min(FSN)
    };
    worst(report, "index_build_vs_fsn", Better::Less, &found, |f| build(f, Quads::NAME));
    worst(report, "kd_build_vs_fsn", Better::Less, &found, |f| build(f, Kd::NAME));
    worst(report, "bytes_per_triangle", Better::Less, &found, |f| value(&f.bytes, Quads::NAME));
    worst(report, "kd_bytes_per_triangle", Better::Less, &found, |f| value(&f.bytes, Kd::NAME));
    worst(report, "ray_vs_parry", Better::More, &found, |f| {
        value(&f.rays, ParryMesh::NAME) / value(&f.rays, Quads::NAME)
    });
    worst(report, "box_vs_parry", Better::More, &found, |f| {
        value(&f.boxes, ParryMesh::NAME) / value(&f.boxes, Quads::NAME)
    });
    beside_embree(report, &found);
}

/// `ray_vs_embree`, if the peer was built in.
fn beside_embree(report: &mut Report, found: &[Found]) {
    #[cfg(cpp_peers)]
    worst(report, "ray_vs_embree", Better::More, found, |f| {
        let value = |name| f.rays.iter().find(|one| one.0 == name).map_or(f64::NAN, |one| one.1);
        value(Embree::NAME) / value(Quads::NAME)
    });
    #[cfg(not(cpp_peers))]
    {
        let _ = found;
        report.not_measured("ray_vs_embree", "needs --features cpp-peers and Embree's headers");
    }
}

const FSN: &str = "fast-surface-nets";

/// Sets a figure to the worst of the worlds, and notes each.
fn worst(
    report: &mut Report,
    id: &str,
    better: Better,
    found: &[Found],
    value: impl Fn(&Found) -> f64,
) {
    let all: Vec<(&str, f64)> = found.iter().map(|f| (f.world, value(f))).collect();
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

fn measure(report: &mut Report, world: &World) -> Found {
    let blocks = blocks::of(world);
    let triangles: usize = blocks.iter().map(|b| b.surface.indices.len() / 3).sum();
    let all = candidates(&blocks);
    let hot = Questions::by_block(&blocks);
    let cold = Questions::shuffled(&blocks);
    agree(&all, &hot);
    let build = race_build(&blocks, &all);
    let bytes: Vec<_> =
        all.iter().map(|one| (one.name(), one.bytes() as f64 / triangles as f64)).collect();
    let rays = [&hot, &cold].map(|questions| race_rays(&all, questions));
    let boxes = [&hot, &cold].map(|questions| race_boxes(&all, questions));
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
    let [hits, met] = [hot.segments.len(), hot.boxes.len()].map(|count| count as f64);
    let hits = all[0].closest(&hot).iter().flatten().count() as f64 / hits;
    let met = all[0].boxed(&hot).iter().sum::<usize>() as f64 / met;
    report.details(title(&format!("rays, {hits:.2} hit")), both(&rays, "ns/ray"));
    report.details(title(&format!("boxes, {met:.1} triangles each")), both(&boxes, "ns/box"));
    for (what, [hot, _]) in [("ray", &rays), ("box", &boxes)] {
        for peer in &hot[2..] {
            let what = format!("a {what}, in cache, {}", world.name);
            report.compare(&what, "ns", Better::Less, hot[0].1, *peer);
        }
    }
    let ([rays, _], [boxes, _]) = (rays, boxes);
    Found { world: world.name, build, bytes, rays, boxes }
}

/// Hot, with cold in the note, and each beside the first.
fn both([hot, cold]: &[Vec<(&'static str, f64)>; 2], unit: &'static str) -> Vec<Row> {
    let row = |(hot_one, cold_one): (&(&'static str, f64), &(&'static str, f64))| {
        let note = format!("cold {:.1}", cold_one.1);
        detail(hot_one.0, hot_one.1, unit).beside(hot[0].1).note(note)
    };
    hot.iter().zip(cold).map(row).collect()
}

/// Segments and boxes with their blocks, in some order.
struct Questions {
    segments: Vec<Question>,
    boxes: Vec<Question>,
}

/// Number of the block, and two corners.
type Question = (usize, [[f32; 3]; 2]);

impl Questions {
    fn by_block(blocks: &[Block]) -> Questions {
        let list = |of: fn(&Block) -> &Vec<[[f32; 3]; 2]>| {
            let of_block = |(at, block)| of(block).iter().map(move |q| (at, *q));
            blocks.iter().enumerate().flat_map(of_block).collect()
        };
        Questions { segments: list(|b| &b.segments), boxes: list(|b| &b.boxes) }
    }

    fn shuffled(blocks: &[Block]) -> Questions {
        let mut all = Questions::by_block(blocks);
        let mut random = Lcg(7);
        for list in [&mut all.segments, &mut all.boxes] {
            for i in (1..list.len()).rev() {
                list.swap(i, random.below(i + 1));
            }
        }
        all
    }
}

/// One item of questions.
fn group(questions: &[Question], item: usize) -> &[Question] {
    &questions[item * GROUP * QUERIES..][..GROUP * QUERIES]
}

/// An index of every block, of whatever kind.
trait Candidate {
    fn name(&self) -> &'static str;
    fn is_same_surface(&self) -> bool;
    fn has_boxes(&self) -> bool;
    /// Of all blocks.
    fn bytes(&self) -> usize;
    /// Where each segment hits.
    fn closest(&self, questions: &Questions) -> Vec<Option<f32>>;
    /// How many triangles each box meets.
    fn boxed(&self, questions: &Questions) -> Vec<usize>;
    fn building<'a>(&self, blocks: &'a [Block]) -> Entrant<'a>;
    fn casting<'a>(&'a self, questions: &'a Questions) -> Entrant<'a>;
    fn boxing<'a>(&'a self, questions: &'a Questions) -> Entrant<'a>;
}

impl<I: Index> Candidate for Vec<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn is_same_surface(&self) -> bool {
        I::SAME
    }

    fn has_boxes(&self) -> bool {
        I::BOXES
    }

    fn bytes(&self) -> usize {
        self.iter().map(I::bytes).sum()
    }

    fn closest(&self, questions: &Questions) -> Vec<Option<f32>> {
        questions.segments.iter().map(|(at, [from, to])| self[*at].closest(*from, *to)).collect()
    }

    fn boxed(&self, questions: &Questions) -> Vec<usize> {
        let count = |(at, [min, max]): &Question| {
            let mut out = Vec::new();
            self[*at].boxed(*min, *max, &mut out);
            out.len()
        };
        questions.boxes.iter().map(count).collect()
    }

    fn building<'a>(&self, blocks: &'a [Block]) -> Entrant<'a> {
        let build = |item: usize| {
            let built = blocks[item * GROUP..][..GROUP].iter().map(I::build);
            built.map(|index| index.bytes() as u64).sum()
        };
        Entrant::new(I::NAME, build).every(I::EVERY)
    }

    fn casting<'a>(&'a self, questions: &'a Questions) -> Entrant<'a> {
        Entrant::new(I::NAME, |item| {
            let asked = group(&questions.segments, item).iter();
            asked.filter_map(|(at, [from, to])| self[*at].closest(*from, *to)).count() as u64
        })
    }

    fn boxing<'a>(&'a self, questions: &'a Questions) -> Entrant<'a> {
        let mut out: Vec<Triangle> = Vec::new();
        Entrant::new(I::NAME, move |item| {
            let mut met = 0;
            for (at, [min, max]) in group(&questions.boxes, item) {
                out.clear();
                self[*at].boxed(*min, *max, &mut out);
                met += out.len() as u64;
            }
            met
        })
    }
}

/// Ours first, the default before the kD tree.
fn candidates(blocks: &[Block]) -> Vec<Box<dyn Candidate>> {
    fn all<I: Index + 'static>(blocks: &[Block]) -> Box<dyn Candidate> {
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

/// All of the same surface give the same answers, within [`AGREE`] and but for a few rays
/// along edges.
fn agree(all: &[Box<dyn Candidate>], questions: &Questions) {
    let (rays, boxes) = (all[0].closest(questions), all[0].boxed(questions));
    let lengths = questions
        .segments
        .iter()
        .map(|(_, [from, to])| (0..3).map(|i| (to[i] - from[i]).powi(2)).sum::<f32>().sqrt());
    let lengths: Vec<f32> = lengths.collect();
    for one in all[1..].iter().filter(|one| one.is_same_surface()) {
        let same = |at: usize, theirs: Option<f32>| match (rays[at], theirs) {
            (Some(a), Some(b)) => (a - b).abs() * lengths[at] <= AGREE,
            (a, b) => a == b,
        };
        let theirs = one.closest(questions).into_iter().enumerate();
        let differ = theirs.filter(|(at, theirs)| !same(*at, *theirs)).count();
        println!("{}: {differ} of {} rays differ", one.name(), rays.len());
        assert!(differ * 1000 <= rays.len(), "{} disagrees", one.name());
        if one.has_boxes() {
            let theirs = one.boxed(questions);
            let differ = theirs.iter().zip(&boxes).filter(|(a, b)| a != b).count();
            println!("{}: {differ} of {} boxes differ", one.name(), boxes.len());
            assert!(differ * 1000 <= boxes.len(), "{} disagrees", one.name());
        }
    }
}

fn race_build(blocks: &[Block], all: &[Box<dyn Candidate>]) -> Vec<Timing> {
    let mut buffer = SurfaceNetsBuffer::default();
    let fsn = Entrant::new(FSN, |item| {
        let mesh = |block: &Block| {
            block.fsn.mesh(&mut buffer);
            buffer.indices.len() as u64
        };
        blocks[item * GROUP..][..GROUP].iter().map(mesh).sum()
    });
    let ours = all.iter().map(|one| one.building(blocks));
    contest(blocks.len() / GROUP, BUILD, [fsn].into_iter().chain(ours).collect())
}

/// Nanoseconds a segment.
fn race_rays(all: &[Box<dyn Candidate>], questions: &Questions) -> Vec<(&'static str, f64)> {
    by_question(all.iter().map(|one| one.casting(questions)).collect(), questions.segments.len())
}

/// Nanoseconds a box.
fn race_boxes(all: &[Box<dyn Candidate>], questions: &Questions) -> Vec<(&'static str, f64)> {
    let able = all.iter().filter(|one| one.has_boxes());
    by_question(able.map(|one| one.boxing(questions)).collect(), questions.boxes.len())
}

fn by_question(entrants: Vec<Entrant<'_>>, count: usize) -> Vec<(&'static str, f64)> {
    let items = count / (GROUP * QUERIES);
    let asked = (items * GROUP * QUERIES) as f64;
    let timings = contest(items, ASK, entrants);
    timings.iter().map(|t| (t.name, t.min * 1e9 / asked)).collect()
}
