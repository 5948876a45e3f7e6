//! Edge collapse, cheapest first, as long as the error stays within bounds.
//!
//! A vertex collapses onto a neighbour; quadrics give the order. Every removed vertex becomes a
//! *sample* that stays assigned to the triangle it projects onto (Cohen et al., "Simplification
//! Envelopes", 1996, and Klein et al., "Mesh Reduction with Error Control", 1996, bound the error
//! in this way). A collapse is rejected if a sample would get too far from its triangle, in
//! position or attributes, if it flips a triangle, or if it violates the link condition (Dey et
//! al., "Topology Preserving Edge Contraction", 1999), so manifolds stay manifold.

mod checks;
mod log;

use super::adjacency::opposite_edge;
use super::attributes::Attributes;
use super::borders::{Borders, VertexKind, border_neighbours};
use super::triangle::{PreparedTriangle, normal_of};
use super::triangle_grid::TriangleGrid;
use super::triangle_mesh::{NONE, TriangleMesh};
use super::verify::Failures;
use crate::mesh::Surface;
use glam::Vec3;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use log::{CollapseLog, CollapseStep, SampleMove};

/// The share of the error that samples may use: points between them may be a little farther.
const SAMPLE_ERROR_SHARE: f32 = 0.95;

/// Cost per squared length of an edge: of edges that cost nothing the shortest goes first.
const LENGTH_COST: f32 = 1e-5;

/// An edge is sharp if the vertex across is farther from the plane of its triangle than this share
/// of the error.
const SHARP_EDGE_SHARE: f32 = 0.3;

/// Samples that a triangle always keeps.
const MIN_SAMPLES_KEPT: u32 = 12;

/// Beyond those, samples whose squared error is below this share of the limit are dropped.
const NEGLIGIBLE_SHARE: f32 = 0.1;

/// Rings of vertices around a failure whose tolerance is tightened for the next run; more in the
/// last runs. On rough tiles, one ring redoes a third of the work, two nearly all of it.
const RETRY_RINGS: u32 = 1;
const LATE_RETRY_RINGS: u32 = 2;

/// Targets that are tried for each vertex.
const MAX_TARGETS_TRIED: usize = 3;

#[derive(Clone, Copy)]
pub(super) struct CollapseLimits {
    /// In cells.
    pub error: f32,
    /// In cells, if neighbouring blocks must still fit.
    pub block_size: Option<[f32; 3]>,
}

/// A surface whose edges collapse. Vertices keep their indices. Samples are vertices, then
/// midpoints of sharp edges.
#[derive(Default)]
pub(super) struct Collapse {
    /// By sample.
    positions: Vec<Vec3>,
    /// By sample: the morph target; empty if the surface has none.
    morph_positions: Vec<Vec3>,
    vertex_count: usize,
    /// A triangle of each sharp edge.
    sharp_triangles: Vec<u32>,
    attributes: Attributes,
    pub input: TriangleMesh,
    current: TriangleMesh,
    borders: Borders,
    /// By sample: squared cells that it may be from its triangle.
    tolerances_squared: Vec<f32>,
    /// Triangles that must not be made, [`rotated`].
    forbidden: FxHashSet<[u32; 3]>,
    /// Triangles found near the input at extra points, [`rotated`].
    verified: FxHashSet<[u32; 3]>,
    /// By vertex: its quadric at its own position.
    own_quadric_errors: Vec<f64>,
    /// By vertex: the cost it is queued with; infinite if it is not.
    queued_costs: Vec<f32>,
    /// Bits of costs, and vertices. Entries with another cost than `queued_costs` are stale.
    queue: BinaryHeap<Reverse<(u32, u32)>>,
    /// By triangle: its first sample; by sample: the next one of the same triangle.
    first_sample: Vec<u32>,
    next_sample: Vec<u32>,
    attempt: CollapseAttempt,
    /// The collapses of the last run.
    log: CollapseLog,
    /// By vertex: whether its part of the last run must not be replayed.
    stale: Vec<bool>,
}

/// Buffers of the collapse under consideration.
#[derive(Default)]
struct CollapseAttempt {
    targets: Vec<CollapseTarget>,
    /// Triangles that change, as they will be.
    changed: Vec<ChangedTriangle>,
    /// The same at their morph targets; empty if the surface has none.
    morphed: Vec<PreparedTriangle>,
    /// Samples of triangles that change or go.
    projected: Vec<ProjectedSample>,
    /// Triangles around a vertex.
    fan: Vec<u32>,
    moves: Vec<SampleMove>,
}

/// A vertex onto which another can collapse, and the cost in squared cells.
#[derive(Clone, Copy)]
struct CollapseTarget {
    cost: f32,
    vertex: u32,
}

/// A sample and the index of the triangle in [`CollapseAttempt::changed`] that it projects onto.
struct ProjectedSample {
    sample: u32,
    changed: usize,
    /// Of position and attributes.
    error_squared: f32,
}

struct ChangedTriangle {
    index: u32,
    corners: [u32; 3],
    triangle: PreparedTriangle,
    sample_count: u32,
}

impl Collapse {
    /// Starts with a surface.
    pub fn read(&mut self, surface: &Surface, error: f32, free_border: bool) {
        self.positions.clear();
        self.positions.extend(surface.positions.iter().map(|p| Vec3::from(*p)));
        self.morph_positions.clear();
        self.morph_positions.extend(surface.targets.positions.iter().map(|p| Vec3::from(*p)));
        self.vertex_count = self.positions.len();
        self.attributes.read(surface);
        self.input.read(surface, &self.positions);
        self.borders.read(surface, &mut self.input, &self.positions, free_border);
        self.forbidden.clear();
        self.verified.clear();
        self.log.clear();
        self.stale.clear();
        self.stale.resize(self.vertex_count, true);
        self.add_edge_samples(error, free_border);
        self.tolerances_squared.clear();
        let tolerance = error * SAMPLE_ERROR_SHARE;
        self.tolerances_squared.resize(self.positions.len(), tolerance * tolerance);
    }

    /// Adds midpoints of sharp edges and of free border edges as samples: all vertices around
    /// such an edge may be near though the edge is not.
    fn add_edge_samples(&mut self, error: f32, free_border: bool) {
        self.sharp_triangles.clear();
        let Collapse { positions, morph_positions, input, sharp_triangles, .. } = self;
        for (at, t) in (0..).zip(&input.triangles) {
            for k in 0..3 {
                let [a, b] = [t[k], t[(k + 1) % 3]];
                let is_sharp = match input.across(at, k) {
                    // Each edge once.
                    Some((_, corner)) => {
                        let to_corner = positions[corner as usize] - positions[a as usize];
                        let height = input.normals[at as usize].dot(to_corner).abs();
                        a < b && height > SHARP_EDGE_SHARE * error
                    }
                    None => free_border,
                };
                if is_sharp {
                    sharp_triangles.push(at);
                    for positions in [&mut *positions, &mut *morph_positions] {
                        if !positions.is_empty() {
                            positions.push((positions[a as usize] + positions[b as usize]) * 0.5);
                        }
                    }
                }
            }
        }
    }

    /// Forbids the failed triangles in later runs and tightens the tolerance around all failures:
    /// to half the distance, and with `lock` vertices stay where they are.
    pub fn tighten(&mut self, failures: &Failures, lock: bool) {
        self.forbidden.extend(failures.simplified.iter().map(|t| rotated(*t)));
        let failed = failures.input.iter().chain(&failures.simplified);
        let mut vertices: Vec<u32> = failed.flatten().copied().collect();
        for _ in 0..if lock { LATE_RETRY_RINGS } else { RETRY_RINGS } {
            // Vertices of one triangle are in each other's links, and so stay among them.
            let ring = vertices.iter().flat_map(|&v| self.input.link(v).flatten());
            vertices = ring.collect();
            vertices.sort_unstable();
            vertices.dedup();
        }
        self.stale.fill(false);
        for &v in &vertices {
            self.stale[v as usize] = true;
            self.tolerances_squared[v as usize] *= 0.25;
            self.borders.locked[v as usize] |= lock;
        }
        let (_, midpoints) = self.tolerances_squared.split_at_mut(self.vertex_count);
        for (tolerance, &t) in midpoints.iter_mut().zip(&self.sharp_triangles) {
            let corners = &self.input.triangles[t as usize];
            if corners.iter().any(|v| vertices.binary_search(v).is_ok()) {
                corners.iter().for_each(|v| self.stale[*v as usize] = true);
                *tolerance *= 0.25;
            }
        }
    }

    /// Collapses all edges that can be, from the input again. Leaves the remaining triangles in
    /// `triangles`.
    pub fn run(
        &mut self,
        limits: CollapseLimits,
        input_grids: &[TriangleGrid; 2],
        triangles: &mut Vec<[u32; 3]>,
    ) {
        self.begin(limits);
        while let Some(Reverse((cost, u))) = self.queue.pop() {
            let cost = f32::from_bits(cost);
            if self.queued_costs[u as usize] != cost {
                continue;
            }
            self.queued_costs[u as usize] = f32::INFINITY;
            self.find_targets(u, limits);
            let Some(&CollapseTarget { cost: least, .. }) = self.attempt.targets.first() else {
                continue;
            };
            if least > cost {
                self.push(u, least);
                continue;
            }
            for at in 0..self.attempt.targets.len().min(MAX_TARGETS_TRIED) {
                let CollapseTarget { cost, vertex } = self.attempt.targets[at];
                if self.can_collapse(u, vertex, cost, limits, input_grids) {
                    self.collapse(u, vertex, limits);
                    break;
                }
            }
        }
        triangles.clear();
        triangles.extend(self.current.triangles.iter().filter(|t| t[0] != NONE));
    }

    /// Resets to the input, replays the last run and queues the rest.
    fn begin(&mut self, limits: CollapseLimits) {
        self.current.clone_from(&self.input);
        self.first_sample.clear();
        self.first_sample.resize(self.current.triangles.len(), NONE);
        self.next_sample.clear();
        self.next_sample.resize(self.positions.len(), NONE);
        self.own_quadric_errors.clear();
        let errors = self.current.quadrics.iter().zip(&self.positions).map(|(q, p)| q.at(*p));
        self.own_quadric_errors.extend(errors);
        self.queued_costs.clear();
        self.queued_costs.resize(self.positions.len(), f32::INFINITY);
        self.queue.clear();
        for (sample, &t) in (self.vertex_count as u32..).zip(&self.sharp_triangles) {
            self.next_sample[sample as usize] = self.first_sample[t as usize];
            self.first_sample[t as usize] = sample;
        }
        self.replay();
        for u in 0..self.vertex_count as u32 {
            let is_stale = |v: &u32| self.stale[*v as usize];
            if is_stale(&u) || self.current.link(u).flatten().any(|v| is_stale(&v)) {
                self.enqueue(u, limits);
            }
        }
    }

    /// Repeats the collapses of the last run, except those with a stale end; the vertices around
    /// such an edge become stale, too.
    fn replay(&mut self) {
        let last = std::mem::take(&mut self.log);
        for (CollapseStep { from, onto, .. }, moves) in last.steps() {
            if self.stale[from as usize] || self.stale[onto as usize] {
                let around = self.current.link(from).flatten().chain([from, onto]);
                around.for_each(|v| self.stale[v as usize] = true);
            } else {
                self.apply(from, onto, moves);
                self.log.push(from, onto, moves);
            }
        }
    }

    fn push(&mut self, u: u32, cost: f32) {
        self.queued_costs[u as usize] = cost;
        self.queue.push(Reverse((cost.to_bits(), u)));
    }

    fn enqueue(&mut self, u: u32, limits: CollapseLimits) {
        self.find_targets(u, limits);
        if let Some(&CollapseTarget { cost, .. }) = self.attempt.targets.first() {
            self.push(u, cost);
        }
    }

    /// Returns the cost of collapsing `u` onto `v`, in squared cells.
    fn cost(&self, u: u32, v: u32) -> f32 {
        let [from, to] = [u, v].map(|v| self.positions[v as usize]);
        let [own, other] = [u, v].map(|v| &self.current.quadrics[v as usize]);
        let sum = (own.at(to) + self.own_quadric_errors[v as usize]).max(0.0);
        let mean = sum / (own.weight + other.weight).max(f64::MIN_POSITIVE);
        mean as f32 + LENGTH_COST * from.distance_squared(to)
    }

    /// Lists the vertices onto which `u` can collapse, cheapest first.
    fn find_targets(&mut self, u: u32, limits: CollapseLimits) {
        let mut targets = std::mem::take(&mut self.attempt.targets);
        targets.clear();
        if !self.borders.locked[u as usize] {
            let target = |vertex: u32| CollapseTarget { cost: self.cost(u, vertex), vertex };
            if self.borders.kinds[u as usize] == VertexKind::Manifold {
                targets.extend(self.current.link(u).map(|[v, _]| target(v)));
            } else {
                targets.extend(border_neighbours(&self.current, u).map(target));
            }
            let limit = limits.error * limits.error;
            targets.retain(|target| target.cost <= limit);
            targets.sort_unstable_by_key(|target| (target.cost.to_bits(), target.vertex));
        }
        self.attempt.targets = targets;
    }

    /// Collapses `u` onto `v`, as checked last.
    fn collapse(&mut self, u: u32, v: u32, limits: CollapseLimits) {
        let mut moves = std::mem::take(&mut self.attempt.moves);
        moves.clear();
        let negligible = limits.error * limits.error * NEGLIGIBLE_SHARE;
        let CollapseAttempt { changed, projected, .. } = &mut self.attempt;
        for &ProjectedSample { sample, changed: at, error_squared } in projected.iter() {
            let ChangedTriangle { index, sample_count, .. } = &mut changed[at];
            if *sample_count < MIN_SAMPLES_KEPT || error_squared > negligible {
                *sample_count += 1;
                moves.push(SampleMove { sample, triangle: *index });
            }
        }
        self.apply(u, v, &moves);
        self.log.push(u, v, &moves);
        self.attempt.moves = moves;
        self.requeue_around(v, limits);
    }

    /// Collapses `u` onto `v` and moves these samples.
    fn apply(&mut self, u: u32, v: u32, moves: &[SampleMove]) {
        let TriangleMesh { triangles, normals, adjacency, quadrics } = &mut self.current;
        let fan = &mut self.attempt.fan;
        fan.clear();
        fan.extend_from_slice(adjacency.of(u));
        for &t in fan.iter() {
            self.first_sample[t as usize] = NONE;
            let corners = &mut triangles[t as usize];
            if corners.contains(&v) {
                let removed = std::mem::replace(corners, [NONE; 3]);
                removed.iter().filter(|w| **w != u).for_each(|&w| adjacency.remove(w, t));
            } else {
                *corners = corners.map(|corner| if corner == u { v } else { corner });
                let positions = corners.map(|corner| self.positions[corner as usize]);
                normals[t as usize] = normal_of(positions);
            }
        }
        fan.retain(|t| triangles[*t as usize][0] != NONE);
        fan.extend_from_slice(adjacency.of(v));
        adjacency.set(u, &[]);
        adjacency.set(v, fan);
        for &SampleMove { sample, triangle } in moves {
            self.next_sample[sample as usize] = self.first_sample[triangle as usize];
            self.first_sample[triangle as usize] = sample;
        }
        let removed = quadrics[u as usize];
        quadrics[v as usize].add(&removed);
        self.own_quadric_errors[v as usize] = quadrics[v as usize].at(self.positions[v as usize]);
    }

    /// Queues `v` and the vertices around it whose cost fell.
    fn requeue_around(&mut self, v: u32, limits: CollapseLimits) {
        let fan = std::mem::take(&mut self.attempt.fan);
        let limit = limits.error * limits.error;
        let is_open = self.borders.kinds[v as usize] != VertexKind::Manifold;
        for &t in &fan {
            let ends = opposite_edge(self.current.triangles[t as usize], v);
            for &w in if is_open { &ends[..] } else { &ends[..1] } {
                if !self.borders.locked[w as usize] {
                    let cost = self.cost(w, v);
                    if cost < self.queued_costs[w as usize].min(limit) {
                        self.push(w, cost);
                    }
                }
            }
        }
        self.attempt.fan = fan;
        self.enqueue(v, limits);
    }
}

/// Returns the corners rotated so that the lowest comes first.
fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a < b && a < c {
        [a, b, c]
    } else if b < c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}
