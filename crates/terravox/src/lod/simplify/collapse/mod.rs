//! Edge collapse, cheapest first, each only if nothing is lost by it.
//!
//! A vertex is drawn onto one that it has an edge to; the order is that of quadrics. Every
//! vertex that is gone keeps the triangle that it lies under, with those that came with it
//! (Cohen et al., "Simplification Envelopes", 1996, and Klein et al., "Mesh Reduction with
//! Error Control", 1996, bound what is lost in this way); a collapse that would take one of
//! them too far from its triangle, in place or in what is said of it, is not done. Nor is one
//! that turns a triangle over or joins what did not touch (the link condition of Dey et al.,
//! "Topology Preserving Edge Contraction", 1999): so a manifold stays one.

mod keeps;
mod log;

use super::attributes::Attributes;
use super::deviation::Far;
use super::fans::{Around, opposite};
use super::grid::Grid;
use super::linked::{Linked, NONE};
use super::triangle::{Triangle, normal_of};
use crate::mesh::Surface;
use glam::Vec3;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use log::{Log, Step};

/// Of what is allowed, what vertices that are gone may use: points between them may be a
/// little farther.
const OF_ERROR: f32 = 0.95;

/// What the square of an edge's length adds to its cost: of edges that cost nothing the
/// shortest goes first.
const LENGTH: f32 = 1e-5;

/// An edge is sharp if the vertex beyond is farther from the plane of the triangle before it
/// than this share of the error.
const SHARP: f32 = 0.3;

/// Points that a triangle keeps in any case, and the share of the squared error beyond which it
/// keeps all.
const MOST_UNDER: u32 = 12;
const LITTLE: f32 = 0.1;

/// Rings of vertices around a failure whose tolerance is tightened for the next run; more in the
/// last runs. Each ring has more done again: of a rough tile one ring is a third, two nearly all.
const RINGS: u32 = 1;
const LAST_RINGS: u32 = 2;

/// Vertices that one is tried to be drawn onto.
const TRIED: usize = 3;

/// What a collapse may not change.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// In cells.
    pub error: f32,
    /// The size of a block that others touch, if it is one.
    pub block: Option<[f32; 3]>,
}

/// A surface while its edges collapse. Vertices keep their numbers.
#[derive(Default)]
pub(super) struct Collapse {
    /// Where vertices are, then points in the middle of sharp edges.
    start: Vec<Vec3>,
    /// Where they arrive; none if they do not move.
    arrive: Vec<Vec3>,
    vertex_count: usize,
    /// A triangle of each sharp edge.
    sharp: Vec<u32>,
    attributes: Attributes,
    /// The surface that was read, and as it is.
    pub whole: Linked,
    now: Linked,
    around: Vec<Around>,
    /// Vertices that stay, and of those the ones that others may share.
    locked: Vec<bool>,
    border: Vec<bool>,
    /// How far each point may be from the triangle that it lies under: squared cells.
    allowed: Vec<f32>,
    /// Triangles that are not to be made, [`sorted`].
    forbidden: FxHashSet<[u32; 3]>,
    /// Those that were found near the surface that was read, sorted.
    passed: FxHashSet<[u32; 3]>,
    /// What each vertex' quadric is where it is.
    at_home: Vec<f64>,
    /// What each vertex costs by which it is queued; infinite if it is not.
    costs: Vec<f32>,
    /// Bits of costs, and vertices.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    /// The first point that lies under each triangle, and the next one after each point.
    first_under: Vec<u32>,
    next_under: Vec<u32>,
    attempt: Attempt,
    /// What the last run did.
    log: Log,
    /// Vertices that may not be used as they were in the last run.
    stale: Vec<bool>,
    /// A vertex at each place.
    places: FxHashMap<[u32; 3], u32>,
}

/// A collapse that is looked at.
#[derive(Default)]
struct Attempt {
    /// What a vertex may be drawn onto, and the cost.
    targets: Vec<(f32, u32)>,
    /// Triangles that change, as they will be.
    changed: Vec<Changed>,
    /// Where they arrive.
    arrive: Vec<Triangle>,
    /// Points that lie under triangles that change or go, and under which they will.
    under: Vec<Under>,
    /// Triangles around a vertex.
    fan: Vec<u32>,
    /// Points that lie under triangles then.
    points: Vec<[u32; 2]>,
}

/// Which triangle a point lies under, by its place among those that change.
struct Under {
    point: u32,
    over: usize,
    /// Squared, with what is said of them.
    distance: f32,
}

/// A triangle that changes: its number, what it will be, and the points that it will keep.
struct Changed {
    number: u32,
    corners: [u32; 3],
    triangle: Triangle,
    under: u32,
}

impl Collapse {
    /// Begins with a surface.
    pub fn read(&mut self, surface: &Surface, error: f32, free_border: bool) {
        self.start.clear();
        self.start.extend(surface.positions.iter().map(|p| Vec3::from(*p)));
        self.arrive.clear();
        self.arrive.extend(surface.targets.positions.iter().map(|p| Vec3::from(*p)));
        self.vertex_count = self.start.len();
        self.attributes.read(surface);
        self.whole.read(surface, &self.start);
        let vertices = 0..self.vertex_count as u32;
        self.around.clear();
        self.around.extend(vertices.clone().map(|v| self.whole.around(v)));
        if free_border {
            let open = |v: &u32| self.around[*v as usize] == Around::Open;
            vertices.filter(open).for_each(|v| self.whole.add_rim(v, &self.start));
        }
        self.lock_fixed(surface, free_border);
        self.forbidden.clear();
        self.passed.clear();
        self.log.clear();
        self.stale.clear();
        self.stale.resize(self.vertex_count, true);
        self.find_sharp(error, free_border);
        self.allowed.clear();
        self.allowed.resize(self.start.len(), (error * OF_ERROR) * (error * OF_ERROR));
    }

    /// Locks vertices of the border, those whose triangles touch in another way than those of
    /// a manifold, and those that are where another one is.
    fn lock_fixed(&mut self, surface: &Surface, free_border: bool) {
        let stays = |around: &Around| match around {
            Around::Closed => false,
            Around::Open => !free_border,
            Around::Mixed => true,
        };
        self.locked.clear();
        self.locked.extend(self.around.iter().map(stays));
        self.places.clear();
        for (v, place) in (0..).zip(&surface.positions) {
            let first = *self.places.entry(place.map(f32::to_bits)).or_insert(v);
            if first != v {
                self.locked[first as usize] = true;
                self.locked[v as usize] = true;
            }
        }
        self.border.clone_from(&self.locked);
    }

    /// Adds points in the middle of edges that are sharp, and of the border if it may go: all
    /// vertices about may be near though such an edge is not.
    fn find_sharp(&mut self, error: f32, free_border: bool) {
        self.sharp.clear();
        let Collapse { start, arrive, whole, sharp, .. } = self;
        for (at, t) in (0..).zip(&whole.triangles) {
            for k in 0..3 {
                let [a, b] = [t[k], t[(k + 1) % 3]];
                let is_sharp = match whole.beyond(at, k) {
                    // Each edge once.
                    Some((_, beyond)) => {
                        let way = start[beyond as usize] - start[a as usize];
                        a < b && whole.normals[at as usize].dot(way).abs() > SHARP * error
                    }
                    None => free_border,
                };
                if is_sharp {
                    sharp.push(at);
                    start.push((start[a as usize] + start[b as usize]) * 0.5);
                    if !arrive.is_empty() {
                        arrive.push((arrive[a as usize] + arrive[b as usize]) * 0.5);
                    }
                }
            }
        }
    }

    /// Has later runs not make those triangles that are far, and stay nearer around both: at
    /// half the distance, or where they were if that was too far, too.
    pub fn forbid(&mut self, far: &Far, stay: bool) {
        self.forbidden.extend(far.few.iter().map(|t| sorted(*t)));
        let mut found: Vec<u32> = far.all.iter().chain(&far.few).flatten().copied().collect();
        for _ in 0..if stay { LAST_RINGS } else { RINGS } {
            let around = found.iter().flat_map(|&v| self.whole.edges(v).flatten());
            found = around.collect();
            found.sort_unstable();
            found.dedup();
        }
        self.stale.fill(false);
        for &v in &found {
            self.stale[v as usize] = true;
            self.allowed[v as usize] *= 0.25;
            self.locked[v as usize] |= stay;
        }
        let (_, middles) = self.allowed.split_at_mut(self.vertex_count);
        for (allowed, &t) in middles.iter_mut().zip(&self.sharp) {
            let corners = &self.whole.triangles[t as usize];
            if corners.iter().any(|v| found.binary_search(v).is_ok()) {
                corners.iter().for_each(|v| self.stale[*v as usize] = true);
                *allowed *= 0.25;
            }
        }
    }

    /// Collapses what can be; the triangles that are left.
    pub fn run(&mut self, limits: Limits, all: &[Grid; 2], kept: &mut Vec<[u32; 3]>) {
        self.begin(limits);
        while let Some(Reverse((cost, u))) = self.queue.pop() {
            let cost = f32::from_bits(cost);
            if self.costs[u as usize] != cost {
                continue;
            }
            self.costs[u as usize] = f32::INFINITY;
            self.find_targets(u, limits);
            let Some(&(least, _)) = self.attempt.targets.first() else { continue };
            if least > cost {
                self.push(u, least);
                continue;
            }
            for at in 0..self.attempt.targets.len().min(TRIED) {
                let (cost, target) = self.attempt.targets[at];
                if self.can_collapse(u, target, cost, limits, all) {
                    self.collapse(u, target, limits);
                    break;
                }
            }
        }
        kept.clear();
        kept.extend(self.now.triangles.iter().filter(|t| t[0] != NONE));
    }

    /// As the surface was, with all that may go queued.
    fn begin(&mut self, limits: Limits) {
        self.now.clone_from(&self.whole);
        self.first_under.clear();
        self.first_under.resize(self.now.triangles.len(), NONE);
        self.next_under.clear();
        self.next_under.resize(self.start.len(), NONE);
        self.at_home.clear();
        self.at_home.extend(self.now.quadrics.iter().zip(&self.start).map(|(q, p)| q.at(*p)));
        self.costs.clear();
        self.costs.resize(self.start.len(), f32::INFINITY);
        self.queue.clear();
        for (p, &t) in (self.vertex_count as u32..).zip(&self.sharp) {
            self.next_under[p as usize] = self.first_under[t as usize];
            self.first_under[t as usize] = p;
        }
        self.replay();
        for u in 0..self.vertex_count as u32 {
            let is_stale = |v: &u32| self.stale[*v as usize];
            if is_stale(&u) || self.now.edges(u).flatten().any(|v| is_stale(&v)) {
                self.enqueue(u, limits);
            }
        }
    }

    /// Does again what the last run did, but for what began with other vertices or triangles
    /// around: those are stale, and from then on what is around them.
    fn replay(&mut self) {
        let last = std::mem::take(&mut self.log);
        for (Step { gone, onto, .. }, points) in last.steps() {
            if self.stale[gone as usize] || self.stale[onto as usize] {
                let around = self.now.edges(gone).flatten().chain([gone, onto]);
                around.for_each(|v| self.stale[v as usize] = true);
            } else {
                self.draw(gone, onto, points);
                self.log.push(gone, onto, points);
            }
        }
    }

    fn push(&mut self, u: u32, cost: f32) {
        self.costs[u as usize] = cost;
        self.queue.push(Reverse((cost.to_bits(), u)));
    }

    fn enqueue(&mut self, u: u32, limits: Limits) {
        self.find_targets(u, limits);
        if let Some(&(cost, _)) = self.attempt.targets.first() {
            self.push(u, cost);
        }
    }

    /// What it costs to draw a vertex onto another: squared cells.
    fn cost(&self, u: u32, v: u32) -> f32 {
        let [from, to] = [u, v].map(|v| self.start[v as usize]);
        let [own, other] = [u, v].map(|v| &self.now.quadrics[v as usize]);
        let sum = (own.at(to) + self.at_home[v as usize]).max(0.0);
        let mean = sum / (own.weight + other.weight).max(f64::MIN_POSITIVE);
        mean as f32 + LENGTH * from.distance_squared(to)
    }

    /// Lists what a vertex may be drawn onto, cheapest first.
    fn find_targets(&mut self, u: u32, limits: Limits) {
        let mut targets = std::mem::take(&mut self.attempt.targets);
        targets.clear();
        if !self.locked[u as usize] {
            if self.around[u as usize] == Around::Closed {
                targets.extend(self.now.edges(u).map(|[v, _]| (self.cost(u, v), v)));
            } else {
                targets.extend(self.now.ends(u).map(|v| (self.cost(u, v), v)));
            }
            let most = limits.error * limits.error;
            targets.retain(|target| target.0 <= most);
            targets.sort_unstable_by_key(|&(cost, v)| (cost.to_bits(), v));
        }
        self.attempt.targets = targets;
    }

    /// Draws `u` onto `v`, as it was looked at last.
    fn collapse(&mut self, u: u32, v: u32, limits: Limits) {
        let mut points = std::mem::take(&mut self.attempt.points);
        points.clear();
        let little = limits.error * limits.error * LITTLE;
        let Attempt { changed, under, .. } = &mut self.attempt;
        for &Under { point, over, distance } in under.iter() {
            let Changed { number, under, .. } = &mut changed[over];
            if *under < MOST_UNDER || distance > little {
                *under += 1;
                points.push([point, *number]);
            }
        }
        self.draw(u, v, &points);
        self.log.push(u, v, &points);
        self.attempt.points = points;
        self.look_again(v, limits);
    }

    /// Draws `u` onto `v`; these points then lie under these triangles.
    fn draw(&mut self, u: u32, v: u32, points: &[[u32; 2]]) {
        let Linked { triangles, normals, fans, quadrics } = &mut self.now;
        let fan = &mut self.attempt.fan;
        fan.clear();
        fan.extend_from_slice(fans.of(u));
        for &t in fan.iter() {
            self.first_under[t as usize] = NONE;
            let corners = &mut triangles[t as usize];
            if corners.contains(&v) {
                let gone = std::mem::replace(corners, [NONE; 3]);
                gone.iter().filter(|w| **w != u).for_each(|&w| fans.remove(w, t));
            } else {
                *corners = corners.map(|corner| if corner == u { v } else { corner });
                normals[t as usize] = normal_of(corners.map(|corner| self.start[corner as usize]));
            }
        }
        fan.retain(|t| triangles[*t as usize][0] != NONE);
        fan.extend_from_slice(fans.of(v));
        fans.set(u, &[]);
        fans.set(v, fan);
        for &[point, over] in points {
            self.next_under[point as usize] = self.first_under[over as usize];
            self.first_under[over as usize] = point;
        }
        let gone = quadrics[u as usize];
        quadrics[v as usize].add(&gone);
        self.at_home[v as usize] = quadrics[v as usize].at(self.start[v as usize]);
    }

    /// Queues what may cost less now.
    fn look_again(&mut self, v: u32, limits: Limits) {
        let fan = std::mem::take(&mut self.attempt.fan);
        let most = limits.error * limits.error;
        let both = self.around[v as usize] != Around::Closed;
        for &t in &fan {
            let ends = opposite(self.now.triangles[t as usize], v);
            for &w in if both { &ends[..] } else { &ends[..1] } {
                if !self.locked[w as usize] {
                    let cost = self.cost(w, v);
                    if cost < self.costs[w as usize].min(most) {
                        self.push(w, cost);
                    }
                }
            }
        }
        self.attempt.fan = fan;
        self.enqueue(v, limits);
    }
}

/// The same corners, the lowest first.
fn sorted([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a < b && a < c {
        [a, b, c]
    } else if b < c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}
