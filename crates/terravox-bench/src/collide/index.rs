//! The indexes of a block: building them, their bytes, rays and boxes, beside the peers
//! on the same triangles.
//!
//! *Hot*: the questions of a block one after another. *Cold*: those of all blocks
//! shuffled, so that every question finds its block out of the nearest caches.

use fast_surface_nets::SurfaceNetsBuffer;

use super::blocks::{self, Block, QUERIES, Random};
use super::peers::{Index, Kd, Obvhs2, ObvhsWide, ParryCubes, ParryEdges, ParryMesh, Triangle};
use crate::harness::{Budget, Entrant, Timing, contest};
use crate::report::{Better, Report, Row, detail};
use crate::worlds::World;

/// Blocks in an item: one alone is too short for the clock.
const GROUP: usize = 64;

const BUILD: Budget = Budget { min_rounds: 10, max_rounds: 60, seconds: 6.0, warm: true };
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
    worst(report, "kd_build_vs_fsn", Better::Less, &found, |f| {
        let min = |name| f.build.iter().find(|t| t.name == name).map_or(f64::NAN, |t| t.min);
        min(Kd::NAME) / min(FSN)
    });
    worst(report, "kd_bytes_per_triangle", Better::Less, &found, |f| value(&f.bytes, Kd::NAME));
    worst(report, "ray_vs_parry", Better::More, &found, |f| {
        value(&f.rays, ParryMesh::NAME) / value(&f.rays, Kd::NAME)
    });
    worst(report, "box_vs_parry", Better::More, &found, |f| {
        value(&f.boxes, ParryMesh::NAME) / value(&f.boxes, Kd::NAME)
    });
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
    let indexes = Indexes::build(&blocks);
    indexes.agree(&blocks);
    let build = race_build(&blocks);
    let bytes = indexes.bytes(triangles as f64);
    let hot = Questions::by_block(&blocks);
    let cold = Questions::shuffled(&blocks);
    let rays = indexes.race_rays(&hot);
    let cold_rays = indexes.race_rays(&cold);
    let boxes = indexes.race_boxes(&hot);
    let cold_boxes = indexes.race_boxes(&cold);
    let title = |what: &str| {
        format!("{what}, {}, {} blocks, {triangles} triangles", world.name, blocks.len())
    };
    let fsn = build[0].min * 1e9 / triangles as f64;
    let line = |t: &Timing| {
        let ns = |seconds: f64| seconds * 1e9 / triangles as f64;
        let note = format!("median {:.2}", ns(t.median));
        detail(t.name, ns(t.min), "ns/triangle").beside(fsn).note(note)
    };
    report.details(title("building"), build.iter().map(line).collect());
    let rows = |list: &[(&'static str, f64)], unit| {
        list.iter().map(|(n, v)| detail(*n, *v, unit)).collect()
    };
    report.details(title("bytes"), rows(&bytes, "B/triangle"));
    let hits = format!("rays, {:.2} hit", indexes.hit_share(&blocks));
    report.details(title(&hits), both(&rays, &cold_rays, "ns/ray"));
    let met = format!("boxes, {:.1} triangles each", indexes.met_mean(&blocks));
    report.details(title(&met), both(&boxes, &cold_boxes, "ns/box"));
    for (what, list) in [("ray", &rays), ("box", &boxes)] {
        for peer in &list[1..] {
            let what = format!("a {what}, in cache, {}", world.name);
            report.compare(&what, "ns", Better::Less, list[0].1, (peer.0, peer.1));
        }
    }
    Found { world: world.name, build, bytes, rays, boxes }
}

/// Hot beside cold, and each beside the first.
fn both(hot: &[(&'static str, f64)], cold: &[(&'static str, f64)], unit: &'static str) -> Vec<Row> {
    let row = |(hot_one, cold_one): (&(&'static str, f64), &(&'static str, f64))| {
        let note = format!("cold {:.1}", cold_one.1);
        detail(hot_one.0, hot_one.1, unit).beside(hot[0].1).note(note)
    };
    hot.iter().zip(cold).map(row).collect()
}

fn race_build(blocks: &[Block]) -> Vec<Timing> {
    fn entrant<I: Index>(blocks: &[Block]) -> Entrant<'_> {
        Entrant::new(I::NAME, |item| {
            let built = blocks[item * GROUP..][..GROUP].iter().map(I::build);
            built.map(|index| index.bytes() as u64).sum()
        })
    }
    let mut buffer = SurfaceNetsBuffer::default();
    let fsn = Entrant::new(FSN, |item| {
        let mesh = |block: &Block| {
            block.fsn.mesh(&mut buffer);
            buffer.indices.len() as u64
        };
        blocks[item * GROUP..][..GROUP].iter().map(mesh).sum()
    });
    let entrants = vec![
        fsn,
        entrant::<Kd>(blocks),
        entrant::<ParryMesh>(blocks).every(4),
        entrant::<ParryEdges>(blocks).every(8),
        entrant::<ParryCubes>(blocks).every(4),
        entrant::<Obvhs2>(blocks).every(4),
        entrant::<ObvhsWide>(blocks).every(4),
    ];
    contest(blocks.len() / GROUP, BUILD, entrants)
}

/// Segments and boxes with their blocks, in some order.
struct Questions {
    segments: Vec<(usize, [[f32; 3]; 2])>,
    boxes: Vec<(usize, [[f32; 3]; 2])>,
}

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
        let mut random = Random(7);
        for list in [&mut all.segments, &mut all.boxes] {
            for i in (1..list.len()).rev() {
                list.swap(i, random.below(i + 1));
            }
        }
        all
    }
}

/// Every index of every block.
struct Indexes {
    kd: Vec<Kd>,
    parry: Vec<ParryMesh>,
    cubes: Vec<ParryCubes>,
    obvhs: Vec<Obvhs2>,
    wide: Vec<ObvhsWide>,
    edges: Vec<ParryEdges>,
}

impl Indexes {
    fn build(blocks: &[Block]) -> Indexes {
        fn all<I: Index>(blocks: &[Block]) -> Vec<I> {
            blocks.iter().map(I::build).collect()
        }
        Indexes {
            kd: all(blocks),
            parry: all(blocks),
            cubes: all(blocks),
            obvhs: all(blocks),
            wide: all(blocks),
            edges: all(blocks),
        }
    }

    fn bytes(&self, triangles: f64) -> Vec<(&'static str, f64)> {
        fn of<I: Index>(indexes: &[I], triangles: f64) -> (&'static str, f64) {
            let bytes: usize = indexes.iter().map(I::bytes).sum();
            (I::NAME, bytes as f64 / triangles)
        }
        vec![
            of(&self.kd, triangles),
            of(&self.parry, triangles),
            of(&self.edges, triangles),
            of(&self.cubes, triangles),
            of(&self.obvhs, triangles),
            of(&self.wide, triangles),
        ]
    }

    /// All but the cubes give the same answers, within [`AGREE`] and but for a few rays
    /// along edges.
    fn agree(&self, blocks: &[Block]) {
        fn check<I: Index>(ours: &[Kd], theirs: &[I], blocks: &[Block], boxes: bool) {
            let (mut asked, mut differ, mut out) = (0, 0, [Vec::new(), Vec::new()]);
            for ((ours, theirs), block) in ours.iter().zip(theirs).zip(blocks) {
                for &[from, to] in &block.segments {
                    let far = (0..3).map(|i| (to[i] - from[i]).powi(2)).sum::<f32>().sqrt();
                    let same = match (ours.closest(from, to), theirs.closest(from, to)) {
                        (Some(a), Some(b)) => (a - b).abs() * far <= AGREE,
                        (a, b) => a == b,
                    };
                    (asked, differ) = (asked + 1, differ + usize::from(!same));
                }
                for &[min, max] in block.boxes.iter().filter(|_| boxes) {
                    out.iter_mut().for_each(Vec::clear);
                    ours.boxed(min, max, &mut out[0]);
                    theirs.boxed(min, max, &mut out[1]);
                    (asked, differ) =
                        (asked + 1, differ + usize::from(out[0].len() != out[1].len()));
                }
            }
            println!("{}: {differ} of {asked} answers differ from those of the kD tree", I::NAME);
            assert!(differ * 2000 <= asked, "{} disagrees", I::NAME);
        }
        check(&self.kd, &self.parry, blocks, true);
        check(&self.kd, &self.obvhs, blocks, true);
        check(&self.kd, &self.wide, blocks, false);
    }

    fn hit_share(&self, blocks: &[Block]) -> f64 {
        let hits = |(kd, block): (&Kd, &Block)| {
            block.segments.iter().filter(|[from, to]| kd.closest(*from, *to).is_some()).count()
        };
        let hits: usize = self.kd.iter().zip(blocks).map(hits).sum();
        hits as f64 / (blocks.len() * QUERIES) as f64
    }

    fn met_mean(&self, blocks: &[Block]) -> f64 {
        let mut out = Vec::new();
        for (kd, block) in self.kd.iter().zip(blocks) {
            block.boxes.iter().for_each(|[min, max]| kd.boxed(*min, *max, &mut out));
        }
        out.len() as f64 / (blocks.len() * QUERIES) as f64
    }

    /// Nanoseconds a segment.
    fn race_rays(&self, questions: &Questions) -> Vec<(&'static str, f64)> {
        fn entrant<'a, I: Index>(indexes: &'a [I], questions: &'a Questions) -> Entrant<'a> {
            Entrant::new(I::NAME, |item| {
                let asked = questions.segments[item * GROUP * QUERIES..][..GROUP * QUERIES].iter();
                asked.filter_map(|(at, [from, to])| indexes[*at].closest(*from, *to)).count() as u64
            })
        }
        let entrants = vec![
            entrant(&self.kd, questions),
            entrant(&self.parry, questions),
            entrant(&self.cubes, questions),
            entrant(&self.obvhs, questions),
            entrant(&self.wide, questions),
        ];
        by_question(questions.segments.len(), entrants)
    }

    /// Nanoseconds a box.
    fn race_boxes(&self, questions: &Questions) -> Vec<(&'static str, f64)> {
        fn entrant<'a, I: Index>(indexes: &'a [I], questions: &'a Questions) -> Entrant<'a> {
            let mut out: Vec<Triangle> = Vec::new();
            Entrant::new(I::NAME, move |item| {
                let mut met = 0;
                for (at, [min, max]) in
                    &questions.boxes[item * GROUP * QUERIES..][..GROUP * QUERIES]
                {
                    out.clear();
                    indexes[*at].boxed(*min, *max, &mut out);
                    met += out.len() as u64;
                }
                met
            })
        }
        let entrants = vec![
            entrant(&self.kd, questions),
            entrant(&self.parry, questions),
            entrant(&self.obvhs, questions),
        ];
        by_question(questions.boxes.len(), entrants)
    }
}

/// Runs a contest of `count` questions in groups; nanoseconds a question.
fn by_question(count: usize, entrants: Vec<Entrant<'_>>) -> Vec<(&'static str, f64)> {
    let items = count / (GROUP * QUERIES);
    let asked = (items * GROUP * QUERIES) as f64;
    let timings = contest(items, ASK, entrants);
    timings.iter().map(|t| (t.name, t.min * 1e9 / asked)).collect()
}
