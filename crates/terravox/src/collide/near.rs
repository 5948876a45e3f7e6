//! What lies in a box, near a point, or in the way of a moving shape.

use super::collider::{Collider, Side};
use super::query::{Answer, Filter, Found, Hit, MaterialSet, Missing, TriangleId};
use super::shape::Shape;
use super::{Block, REACH};
use crate::math::Aabb;
use crate::voxel::{LIMIT, Region, Unlisted};
use glam::{DVec3, Vec3};

/// Where the search for the closest point starts, voxels; it doubles until it finds one.
const FIRST_SEARCH: f64 = 1.0;

/// Stretches of a motion that are looked at as a whole, voxels: long ones first, and those
/// that meet blocks in parts.
const STRIDES: [f64; 3] = [256.0, 32.0, 8.0];

/// A shape and its path, voxels.
struct Sweep<'a> {
    shape: &'a Shape<'a>,
    from: DVec3,
    /// Unit.
    direction: DVec3,
    length: f64,
    filter: &'a Filter,
    /// Box around the shape, about its origin.
    bounds: [DVec3; 2],
}

/// The first touch of a sweep.
struct Touched<'a> {
    distance: f64,
    side: Side<'a>,
    quad: u16,
    second: bool,
    point: [f64; 3],
    normal: Vec3,
}

impl Collider {
    /// Calls `visit` for every triangle whose bounding box meets `aabb`; answers what could
    /// not be looked at.
    pub fn triangles_in(
        &self,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(&Found),
    ) -> Option<Missing> {
        if !aabb.is_valid() {
            self.counters.refused();
            return None;
        }
        self.each_side(aabb, filter, |side| {
            let corner = corner_of(side.block);
            self.side_triangles(side, aabb, filter, |triangle| {
                let corners = triangle.corners.map(|p| (corner + DVec3::from(p.map(f64::from))).to_array());
                let (quad, second) = (triangle.quad, triangle.second);
                visit(&Found {
                    corners,
                    liquid: side.liquid,
                    voxel: side.voxel(quad),
                    block: side.block,
                    triangle: TriangleId { quad, second, vertices: triangle.vertices },
                });
            });
        })
    }

    /// The point of a surface that is closest to `point`, within `max_distance` voxels.
    /// The distance does not tell inside from outside.
    pub fn closest_point(
        &self,
        point: impl Into<[f64; 3]>,
        max_distance: f64,
        filter: &Filter,
    ) -> Answer<Option<Hit>> {
        let point = DVec3::from(point.into());
        if !(point.is_finite() && max_distance > 0.0) {
            self.counters.refused();
            return Answer::default();
        }
        // Nothing is farther than the world is wide.
        let most = max_distance.min(4.0 * f64::from(LIMIT));
        let mut radius = FIRST_SEARCH.min(most);
        loop {
            let answer = self.closest_within(point, radius, filter);
            if answer.found.is_some() || radius >= most || !self.has_more(point, radius) {
                return answer;
            }
            radius = (2.0 * radius).min(most);
        }
    }

    /// Whether there is anything, or may be, farther than `radius` from a point on an axis.
    fn has_more(&self, point: DVec3, radius: f64) -> bool {
        let searched = Aabb::around(point.to_array(), [radius; 3]);
        let pages = self.broadphase.page_bounds();
        let world = Aabb::of_region(pages.finer(8)).grow(REACH.into());
        let inside = (0..3).all(|i| searched.min[i] <= world.min[i] && searched.max[i] >= world.max[i]);
        !(inside || pages.is_empty())
    }

    fn closest_within(&self, point: DVec3, radius: f64, filter: &Filter) -> Answer<Option<Hit>> {
        let mut best: Option<Hit> = None;
        let aabb = Aabb::around(point.to_array(), [radius; 3]);
        let missing = self.each_side(&aabb, filter, |side| {
            let corner = corner_of(side.block);
            let local = (point - corner).as_vec3();
            let reach = best.map_or(radius, |best| best.distance) as f32;
            let accept = |quad: u16| self.sees(filter, side, quad);
            let near = side.tree.closest_point_where(local.to_array(), reach, accept);
            if let Some(near) = near.filter(|near| f64::from(near.distance) <= radius)
                && best.is_none_or(|best| f64::from(near.distance) < best.distance)
            {
                let mut hit = self.describe(side, near.quad, near.second, [0.0; 3]);
                let corners = side.tree.triangle(near.quad, near.second).corners.map(Vec3::from);
                hit.weights = weights_at(Vec3::from(near.point), corners);
                hit.distance = f64::from(near.distance);
                hit.point = (corner + Vec3::from(near.point).as_dvec3()).to_array();
                best = Some(hit);
            }
        });
        Answer { found: best, missing }
    }

    /// Whether a shape at `at` touches a surface. One that lies wholly inside the ground
    /// touches none.
    pub fn overlaps(
        &self,
        shape: &Shape<'_>,
        at: impl Into<[f64; 3]>,
        filter: &Filter,
    ) -> Answer<bool> {
        let at = DVec3::from(at.into());
        if !(shape.is_valid() && at.is_finite()) {
            self.counters.refused();
            return Answer::default();
        }
        let aabb = moved(bounds_of(shape), at, at);
        let mut found = false;
        let missing = self.each_side(&aabb, filter, |side| {
            if found {
                return;
            }
            let local = (at - corner_of(side.block)).as_vec3();
            self.side_triangles(side, &aabb, filter, |triangle| {
                found = found || shape.overlaps(local, triangle.corners.map(Vec3::from));
            });
        });
        Answer { found, missing: missing.filter(|_| !found) }
    }

    /// What a shape first touches when it moves from `from` by `motion`, without turning.
    /// The hit's distance is along the motion, its normal points from the ground to the
    /// shape; a shape that touches at once answers 0.
    pub fn cast(
        &self,
        shape: &Shape<'_>,
        from: impl Into<[f64; 3]>,
        motion: impl Into<[f64; 3]>,
        filter: &Filter,
    ) -> Answer<Option<Hit>> {
        let (from, motion) = (DVec3::from(from.into()), DVec3::from(motion.into()));
        let length = motion.length();
        if !(shape.is_valid() && from.is_finite() && length > 0.0 && length.is_finite()) {
            self.counters.refused();
            return Answer::default();
        }
        let bounds = bounds_of(shape);
        let sweep = Sweep { shape, from, direction: motion / length, length, filter, bounds };
        let mut missing = None;
        let touched = self.sweep(&sweep, [0.0, length], &STRIDES, &mut missing);
        let found = touched.map(|touched| {
            let Touched { distance, side, quad, second, point, normal } = touched;
            let mut hit = self.describe(side, quad, second, [0.0; 3]);
            let corners = side.tree.triangle(quad, second).corners.map(Vec3::from);
            let local = (DVec3::from(point) - corner_of(side.block)).as_vec3();
            hit.weights = weights_at(local, corners);
            (hit.distance, hit.point, hit.normal) = (distance, point, normal.to_array());
            hit
        });
        Answer { found, missing }
    }

    /// The first touch between two distances of a sweep.
    fn sweep(
        &self,
        sweep: &Sweep<'_>,
        [start, end]: [f64; 2],
        strides: &[f64],
        missing: &mut Option<Missing>,
    ) -> Option<Touched<'_>> {
        let Some((&stride, finer)) = strides.split_first() else {
            return self.sweep_part(sweep, [start, end], missing);
        };
        let mut at = start;
        while at < end {
            let next = (at + stride).min(end);
            let swept = sweep.swept([at, next]);
            if self.broadphase.meets(&swept, sweep.filter.surfaces)
                && let Some(touched) = self.sweep(sweep, [at, next], finer, missing)
            {
                return Some(touched);
            }
            if missing.is_none() {
                *missing = self.unknown_in(&swept);
            }
            at = next;
        }
        None
    }

    fn sweep_part(
        &self,
        sweep: &Sweep<'_>,
        [start, end]: [f64; 2],
        missing: &mut Option<Missing>,
    ) -> Option<Touched<'_>> {
        let mut first: Option<Touched<'_>> = None;
        let swept = sweep.swept([start, end]);
        let not_seen = self.each_side(&swept, sweep.filter, |side| {
            let corner = corner_of(side.block);
            let local = (sweep.at(start) - corner).as_vec3();
            let direction = sweep.direction.as_vec3();
            self.side_triangles(side, &swept, sweep.filter, |triangle| {
                let limit = first.as_ref().map_or(end, |first| first.distance) - start;
                let corners = triangle.corners.map(Vec3::from);
                let cast = sweep.shape.cast(local, direction, corners, limit as f32);
                if let Some(hit) = cast {
                    first = Some(Touched {
                        distance: start + f64::from(hit.t),
                        side,
                        quad: triangle.quad,
                        second: triangle.second,
                        point: (corner + Vec3::from(hit.point).as_dvec3()).to_array(),
                        normal: Vec3::from(hit.normal),
                    });
                }
            });
        });
        if missing.is_none() {
            *missing = not_seen;
        }
        first
    }

    /// Calls `visit` for the surfaces of all blocks that a box may meet; answers what could
    /// not be looked at. The box is valid.
    fn each_side<'a>(
        &'a self,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(Side<'a>),
    ) -> Option<Missing> {
        let (mut hits, mut missing) = (0, None);
        self.broadphase.records_in(aabb, filter.surfaces, |block, chunk| {
            match self.sides(block, chunk, filter, &mut hits) {
                Ok(sides) => sides.into_iter().flatten().flatten().for_each(&mut visit),
                Err(what) => drop(missing.get_or_insert(what)),
            }
        });
        self.counters.hits(hits);
        missing.or_else(|| self.unknown_in(aabb))
    }

    /// Calls `visit` for the triangles of one surface that a box meets and the filter sees.
    fn side_triangles(
        &self,
        side: Side<'_>,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(&super::block::Triangle),
    ) {
        let corner = corner_of(side.block);
        let local = |v: [f64; 3]| (DVec3::from(v) - corner).as_vec3().to_array();
        side.tree.triangles_in(local(aabb.min), local(aabb.max), |triangle| {
            if self.sees(filter, side, triangle.quad) {
                visit(&triangle);
            }
        });
    }

    fn sees(&self, filter: &Filter, side: Side<'_>, quad: u16) -> bool {
        filter.materials == MaterialSet::ALL
            || filter.materials.contains(self.material(side, quad))
    }

    /// A chunk that a box, grown by the reach, meets and that is not held at mip 0.
    fn unknown_in(&self, aabb: &Aabb) -> Option<Missing> {
        if !self.broadphase.has_unknown() {
            return None;
        }
        let pages = self.broadphase.page_bounds();
        let chunks = aabb.grow(REACH.into()).voxels().coarser(5);
        let listed = Region { min: pages.min, max: pages.max }.finer(3);
        let inside = chunks.intersect(listed);
        if self.snapshot.unlisted() == Unlisted::Unknown && inside != chunks {
            let p = if listed.contains(chunks.min) { chunks.max - crate::voxel::VoxelPos::splat(1) } else { chunks.min };
            return Some(Missing::NotHeld(crate::voxel::ChunkPos::new(p.x, p.y, p.z)));
        }
        let mut chunks = inside.voxels().map(|p| crate::voxel::ChunkPos::new(p.x, p.y, p.z));
        chunks.find(|&chunk| self.broadphase.is_unknown(chunk)).map(Missing::NotHeld)
    }
}

impl Sweep<'_> {
    fn at(&self, distance: f64) -> DVec3 {
        self.from + self.direction * distance
    }

    /// The box that the shape sweeps between two distances.
    fn swept(&self, [start, end]: [f64; 2]) -> Aabb {
        moved(self.bounds, self.at(start), self.at(end))
    }
}

fn bounds_of(shape: &Shape<'_>) -> [DVec3; 2] {
    let (low, high) = shape.bounds();
    [low, high].map(|v| Vec3::from(v).as_dvec3())
}

/// The box around `bounds` moved from `a` to `b`.
fn moved([low, high]: [DVec3; 2], a: DVec3, b: DVec3) -> Aabb {
    Aabb { min: (a.min(b) + low).to_array(), max: (a.max(b) + high).to_array() }
}

/// The lowest corner of a block, voxels.
fn corner_of(block: Block) -> DVec3 {
    DVec3::from(block.min_voxel().to_array().map(f64::from))
}

/// Weights of a triangle's corners at a point of it; those of its first corner where the
/// triangle has no area.
fn weights_at(point: Vec3, [a, b, c]: [Vec3; 3]) -> [f32; 3] {
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    if area <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let part = |from: Vec3, to: Vec3| (from - point).cross(to - point).dot(normal) / area;
    let (u, v) = (part(c, a).clamp(0.0, 1.0), part(a, b).clamp(0.0, 1.0));
    [(1.0 - u - v).max(0.0), u, v]
}
