//! Whether a collapse keeps what it must: how triangles hang together, which way they face, and
//! that nothing gets too far from where it was.

use super::{Attempt, Changed, Collapse, Limits, Under, sorted};
use crate::lod::simplify::fans::Around;
use crate::lod::simplify::grid::Grid;
use crate::lod::simplify::linked::NONE;
use crate::lod::simplify::triangle::Triangle;
use glam::Vec3;

/// The share of the squared error up to which a cost is that of even ground, where nothing is
/// far between points that are near.
const FLAT: f32 = 0.1;

/// The cosine by which a collapse may turn a triangle.
const TURN: f32 = 0.25;

/// Triangles around the two ends of an edge, together, with which it may collapse: around one
/// with many everything is slow, and thin.
const MOST_AROUND: usize = 20;

/// How far a vertex may lie from the side of its block that it belongs to, in cells, where
/// blocks of mips that differ by one touch.
const FROM_SIDE: f32 = 1.5;

impl Collapse {
    /// Whether `u` can be drawn onto `v` at a cost; what then changes is noted.
    pub(super) fn can_collapse(
        &mut self,
        u: u32,
        v: u32,
        cost: f32,
        limits: Limits,
        all: &[Grid; 2],
    ) -> bool {
        self.keeps_links(u, v, limits)
            && self.keeps_turns(u, v)
            && self.keeps_near(u)
            && (cost <= limits.error * limits.error * FLAT || self.is_near(v, limits, all))
    }

    /// Whether triangles that change are near the surface that was read: in their middle and
    /// that of new edges.
    fn is_near(&mut self, v: u32, limits: Limits, all: &[Grid; 2]) -> bool {
        let most = limits.error * limits.error;
        let Collapse { attempt: Attempt { changed, arrive, .. }, passed, .. } = self;
        let near = |grid: &Grid, p: Vec3| grid.distance_squared(p, most) <= most;
        let holds = |grid: &Grid, numbers: &[u32; 3], triangle: &Triangle| {
            let [a, b, c] = triangle.corners;
            let at = numbers.iter().position(|w| *w == v).unwrap_or(0);
            let (own, next) = (triangle.corners[at], triangle.corners[(at + 1) % 3]);
            near(grid, (own + next) * 0.5) && near(grid, (a + b + c) / 3.0)
        };
        changed.iter().enumerate().all(|(at, c)| {
            let known = sorted(c.corners);
            passed.contains(&known)
                || holds(&all[0], &c.corners, &c.triangle)
                    && arrive.get(at).is_none_or(|t| holds(&all[1], &c.corners, t))
                    && passed.insert(known)
        })
    }

    /// Whether only what closes up becomes the same: `u` and `v` have edges to both vertices
    /// across their edge, and to no other one. And whether new edges are between vertices
    /// that may have one.
    fn keeps_links(&self, u: u32, v: u32, limits: Limits) -> bool {
        let other = self.now.fans.of(v);
        if self.now.fans.of(u).len() + other.len() > MOST_AROUND {
            return false;
        }
        let has = |t: &u32, w: u32| self.now.triangles[*t as usize].contains(&w);
        let is_closed = self.around[u as usize] == Around::Closed;
        let last = if is_closed { u } else { self.now.ends(u)[1] };
        let mut common = 0;
        for w in self.now.edges(u).map(|edge| edge[0]).chain([last]) {
            if w == v || w == u {
                continue;
            }
            if other.iter().any(|t| has(t, w)) {
                common += 1;
            } else if self.is_chord(v, w, limits) {
                return false;
            }
        }
        // Of three triangles one would be left: is it there already, from the other side?
        let mut across = self.now.edges(u).filter(|edge| !edge.contains(&v));
        let is_same = |[a, b]: [u32; 2]| other.iter().any(|t| has(t, a) && has(t, b));
        let folds = self.now.fans.of(u).len() == 3 && across.any(is_same);
        !folds && common == if is_closed { 2 } else { 1 }
    }

    /// Whether an edge would lie along a side of the block from border to border: the block
    /// beyond may have the same one, and it would be used by four triangles.
    fn is_chord(&self, v: u32, w: u32, limits: Limits) -> bool {
        let Some(block) = limits.block else { return false };
        if !self.border[v as usize] || !self.border[w as usize] {
            return false;
        }
        let [p, q] = [v, w].map(|v| self.start[v as usize]);
        let (low, high) = (p.min(q), p.max(q));
        (0..3).any(|axis| high[axis] <= FROM_SIDE || block[axis] - low[axis] <= FROM_SIDE)
    }

    /// Lists the triangles that change; whether none turns far.
    fn keeps_turns(&mut self, u: u32, v: u32) -> bool {
        let Attempt { changed, arrive, .. } = &mut self.attempt;
        changed.clear();
        arrive.clear();
        for &number in self.now.fans.of(u) {
            let old = self.now.triangles[number as usize];
            if old.contains(&v) {
                continue;
            }
            let corners = old.map(|corner| if corner == u { v } else { corner });
            if !self.forbidden.is_empty() && self.forbidden.contains(&sorted(corners)) {
                return false;
            }
            let triangle = Triangle::new(corners.map(|v| self.start[v as usize]));
            if triangle.normal.dot(self.now.normals[number as usize]) < TURN {
                return false;
            }
            changed.push(Changed { number, corners, triangle, under: 0 });
            if !self.arrive.is_empty() {
                arrive.push(Triangle::new(corners.map(|v| self.arrive[v as usize])));
            }
        }
        !changed.is_empty()
    }

    /// Finds under which triangles those vertices will lie that lie under what changes or
    /// goes; whether all are near.
    fn keeps_near(&mut self, u: u32) -> bool {
        let mut under = std::mem::take(&mut self.attempt.under);
        under.clear();
        let mut add = |p: u32| {
            let found = self.find_over(p);
            let is_near = found.is_some();
            under.extend(found);
            is_near
        };
        let mut all_near = add(u);
        for &t in self.now.fans.of(u) {
            let mut p = self.first_under[t as usize];
            while all_near && p != NONE {
                all_near = add(p);
                p = self.next_under[p as usize];
            }
        }
        self.attempt.under = under;
        all_near
    }

    /// Which of the triangles that change a vertex lies under, if it is near enough.
    fn find_over(&self, p: u32) -> Option<Under> {
        let (place, most) = (self.start[p as usize], self.allowed[p as usize]);
        let (mut distance, mut found) = (most, None);
        for (at, changed) in self.attempt.changed.iter().enumerate() {
            let own = changed.triangle.distance_squared(place, distance);
            if own <= distance {
                (distance, found) = (own, Some(at));
                if changed.triangle.is_over(place) {
                    break;
                }
            }
        }
        let over = found?;
        let Changed { corners, triangle, .. } = &self.attempt.changed[over];
        if (p as usize) < self.vertex_count {
            distance += self.attributes.difference(p, corners, triangle.weights(place));
        }
        let arrived = self.arrive.get(p as usize).is_none_or(|place| {
            let near = |t: &Triangle| t.distance_squared(*place, most) <= most;
            self.attempt.arrive.iter().any(near)
        });
        (distance <= most && arrived).then_some(Under { point: p, over, distance })
    }
}
