//! Whether an edge can collapse: topology, orientation, and distance of samples stay within
//! bounds.

use super::{ChangedTriangle, Collapse, CollapseAttempt, CollapseLimits, ProjectedSample, rotated};
use crate::simplify::borders::{VertexKind, border_neighbours};
use crate::simplify::triangle::PreparedTriangle;
use crate::simplify::triangle_grid::TriangleGrid;
use crate::simplify::triangle_mesh::NONE;
use glam::Vec3;

/// Costs up to this share of the squared error mean even ground, where checks between the samples
/// are unnecessary.
const EVEN_COST_SHARE: f32 = 0.1;

/// Least cosine between a triangle's normals before and after a collapse.
const MIN_TURN_COSINE: f32 = 0.25;

/// Triangles around both ends of an edge, together, beyond which it does not collapse: fans with
/// many triangles are slow, and thin.
const MAX_FAN_TRIANGLES: usize = 20;

impl Collapse {
    /// Whether `u` can collapse onto `v` at `cost`. Leaves the resulting changes in
    /// `self.attempt`.
    pub(super) fn can_collapse(
        &mut self,
        u: u32,
        v: u32,
        cost: f32,
        limits: CollapseLimits,
        input_grids: &[TriangleGrid; 2],
    ) -> bool {
        self.keeps_topology(u, v, limits)
            && self.keeps_orientation(u, v)
            && self.keeps_samples_near(u)
            && (cost <= limits.error * limits.error * EVEN_COST_SHARE
                || self.stays_near_input(v, limits, input_grids))
    }

    /// Whether the changed triangles are near the input at their centroids and at the midpoints of
    /// new edges.
    fn stays_near_input(
        &mut self,
        v: u32,
        limits: CollapseLimits,
        input_grids: &[TriangleGrid; 2],
    ) -> bool {
        let limit = limits.error * limits.error;
        let Collapse { attempt: CollapseAttempt { changed, morphed, .. }, verified, .. } = self;
        let near = |grid: &TriangleGrid, p: Vec3| grid.distance_squared(p, limit) <= limit;
        let holds = |grid: &TriangleGrid, vertices: &[u32; 3], triangle: &PreparedTriangle| {
            let [a, b, c] = triangle.corners;
            let at = vertices.iter().position(|w| *w == v).unwrap_or(0);
            let (own, next) = (triangle.corners[at], triangle.corners[(at + 1) % 3]);
            near(grid, (own + next) * 0.5) && near(grid, (a + b + c) / 3.0)
        };
        changed.iter().enumerate().all(|(at, c)| {
            let key = rotated(c.corners);
            verified.contains(&key)
                || holds(&input_grids[0], &c.corners, &c.triangle)
                    && morphed.get(at).is_none_or(|t| holds(&input_grids[1], &c.corners, t))
                    && verified.insert(key)
        })
    }

    /// The link condition: `u` and `v` share exactly the vertices across their edge. Also whether
    /// all new edges are allowed.
    fn keeps_topology(&self, u: u32, v: u32, limits: CollapseLimits) -> bool {
        let own = self.current.adjacency.of(u);
        let other = self.current.adjacency.of(v);
        if own.len() + other.len() > MAX_FAN_TRIANGLES {
            return false;
        }
        let has = |t: &u32, w: u32| self.current.triangles[*t as usize].contains(&w);
        let is_closed = self.borders.kinds[u as usize] == VertexKind::Manifold;
        let last = if is_closed { u } else { border_neighbours(&self.current, u)[1] };
        let mut common = 0;
        for w in self.current.link(u).map(|edge| edge[0]).chain([last]) {
            if w == v || w == u {
                continue;
            }
            if other.iter().any(|t| has(t, w)) {
                common += 1;
            } else if limits
                .block_size
                .is_some_and(|size| self.borders.may_clash([v, w], &self.positions, size))
            {
                return false;
            }
        }
        // Of three triangles one remains; it must not be there already, facing the other way.
        let mut across = self.current.link(u).filter(|edge| !edge.contains(&v));
        let is_same = |[a, b]: [u32; 2]| other.iter().any(|t| has(t, a) && has(t, b));
        let folds = own.len() == 3 && across.any(is_same);
        !folds && common == if is_closed { 2 } else { 1 }
    }

    /// Lists the triangles that change. Returns false if one turns too far or is forbidden.
    fn keeps_orientation(&mut self, u: u32, v: u32) -> bool {
        let CollapseAttempt { changed, morphed, .. } = &mut self.attempt;
        changed.clear();
        morphed.clear();
        for &index in self.current.adjacency.of(u) {
            let old = self.current.triangles[index as usize];
            if old.contains(&v) {
                continue;
            }
            let corners = old.map(|corner| if corner == u { v } else { corner });
            if !self.forbidden.is_empty() && self.forbidden.contains(&rotated(corners)) {
                return false;
            }
            let triangle = PreparedTriangle::new(corners.map(|v| self.positions[v as usize]));
            if triangle.normal.dot(self.current.normals[index as usize]) < MIN_TURN_COSINE {
                return false;
            }
            changed.push(ChangedTriangle { index, corners, triangle, sample_count: 0 });
            if !self.morph_positions.is_empty() {
                let corners = corners.map(|v| self.morph_positions[v as usize]);
                morphed.push(PreparedTriangle::new(corners));
            }
        }
        !changed.is_empty()
    }

    /// Projects `u` and the samples of all triangles around it onto the changed triangles.
    /// Returns false if one is beyond its tolerance.
    fn keeps_samples_near(&mut self, u: u32) -> bool {
        let mut projected = std::mem::take(&mut self.attempt.projected);
        projected.clear();
        let mut add = |sample: u32| {
            let projection = self.project(sample);
            let is_near = projection.is_some();
            projected.extend(projection);
            is_near
        };
        let mut all_near = add(u);
        for &t in self.current.adjacency.of(u) {
            let mut sample = self.first_sample[t as usize];
            while all_near && sample != NONE {
                all_near = add(sample);
                sample = self.next_sample[sample as usize];
            }
        }
        self.attempt.projected = projected;
        all_near
    }

    /// Returns the nearest changed triangle of a sample, if it is within tolerance.
    fn project(&self, sample: u32) -> Option<ProjectedSample> {
        let position = self.positions[sample as usize];
        let limit = self.tolerances_squared[sample as usize];
        let (mut distance, mut nearest) = (limit, None);
        for (at, changed) in self.attempt.changed.iter().enumerate() {
            let own = changed.triangle.distance_squared(position, distance);
            if own <= distance {
                (distance, nearest) = (own, Some(at));
                if changed.triangle.is_over(position) {
                    break;
                }
            }
        }
        let changed = nearest?;
        let ChangedTriangle { corners, triangle, .. } = &self.attempt.changed[changed];
        if (sample as usize) < self.vertex_count {
            let weights = triangle.weights(position);
            distance += self.attributes.difference_squared(sample, corners, weights);
        }
        let is_near_morphed = self.morph_positions.get(sample as usize).is_none_or(|position| {
            let near = |t: &PreparedTriangle| t.distance_squared(*position, limit) <= limit;
            self.attempt.morphed.iter().any(near)
        });
        let error_squared = distance;
        (distance <= limit && is_near_morphed).then_some(ProjectedSample {
            sample,
            changed,
            error_squared,
        })
    }
}
