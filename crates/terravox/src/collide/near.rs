//! What lies in a box, near a point, or in the way of a moving shape.

use super::block::{LocalPoint, Triangle};
use super::collider::{Collider, Side};
use super::query::{Answer, Filter, Found, Hit, MaterialSet, Missing, TriangleId};
use super::{Block, REACH};
use crate::geometry::{CastHit, Shape, ShapeCore, closest_on_triangle};
use crate::math::Aabb;
use crate::voxel::{ChunkPos, LIMIT, Unlisted, VoxelPos};
use glam::{DVec3, Vec3};

/// Where the search for the closest point starts, voxels; it doubles until it finds one.
const FIRST_SEARCH: f64 = 1.0;

/// Stretches of a motion that are looked at as a whole, voxels: long ones first, and those
/// that meet blocks in parts.
const STRIDES: [f64; 3] = [256.0, 32.0, 8.0];

/// A shape and its path, voxels.
struct Sweep<'a> {
    shape: ShapeCore<'a>,
    from: DVec3,
    /// Unit.
    direction: DVec3,
    filter: &'a Filter,
    /// Box around the shape, about its origin.
    bounds: [DVec3; 2],
}

/// The first touch of a sweep.
struct Touched<'a> {
    distance: f64,
    side: Side<'a>,
    triangle: Triangle,
    /// Voxels from the block's corner.
    point: [f32; 3],
    normal: [f32; 3],
}

impl Collider {
    /// Calls `visit` for every triangle whose bounding box meets `aabb`; returns what could
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
            self.side_triangles(side, aabb, filter, |triangle| {
                let corners = triangle.corners.map(|p| world_from_block(side.block, p));
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
        let inside =
            (0..3).all(|i| searched.min[i] <= world.min[i] && searched.max[i] >= world.max[i]);
        !(inside || pages.is_empty())
    }

    fn closest_within(&self, point: DVec3, radius: f64, filter: &Filter) -> Answer<Option<Hit>> {
        let mut best: Option<Hit> = None;
        let aabb = Aabb::around(point.to_array(), [radius; 3]);
        let missing = self.each_side(&aabb, filter, |side| {
            let reach = best.map_or(radius, |best: Hit| best.distance);
            let Some(near) = self.closest_on_side(side, point, reach, filter) else { return };
            let distance = f64::from(near.distance);
            if best.is_none_or(|best| distance < best.distance) {
                let Triangle { corners, quad, second, .. } = near.triangle;
                let mut hit = self.describe(side, quad, second, weights_at(near.point, corners));
                hit.distance = distance;
                hit.point = world_from_block(side.block, near.point);
                best = Some(hit);
            }
        });
        Answer { found: best, missing }
    }

    /// The closest point of one surface within `reach` voxels that the filter sees.
    fn closest_on_side(
        &self,
        side: Side<'_>,
        point: DVec3,
        reach: f64,
        filter: &Filter,
    ) -> Option<LocalPoint> {
        let local = (point - corner_of(side.block)).as_vec3();
        if filter.materials == MaterialSet::ALL {
            return side.tree.closest_point(local.to_array(), reach as f32);
        }
        let mut best: Option<LocalPoint> = None;
        let aabb = Aabb::around(point.to_array(), [reach; 3]);
        self.side_triangles(side, &aabb, filter, |triangle| {
            let near = closest_on_triangle(local.to_array(), &triangle.corners);
            let distance = local.distance(Vec3::from(near));
            let limit = best.map_or(reach as f32, |best| best.distance);
            if distance < limit || (distance == limit && best.is_none()) {
                best = Some(LocalPoint { distance, point: near, triangle: *triangle });
            }
        });
        best
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
        let Some(shape) = ShapeCore::new(shape).filter(|_| at.is_finite()) else {
            self.counters.refused();
            return Answer::default();
        };
        let aabb = moved(bounds_of(&shape), at, at);
        let mut found = false;
        let missing = self.each_side(&aabb, filter, |side| {
            if found {
                return;
            }
            let local = (at - corner_of(side.block)).as_vec3().to_array();
            self.side_triangles(side, &aabb, filter, |triangle| {
                found = found || shape.overlaps(local, &triangle.corners);
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
        let valid = from.is_finite() && length > 0.0 && length.is_finite();
        let Some(shape) = ShapeCore::new(shape).filter(|_| valid) else {
            self.counters.refused();
            return Answer::default();
        };
        let bounds = bounds_of(&shape);
        let sweep = Sweep { shape, from, direction: motion / length, filter, bounds };
        let mut missing = None;
        let touched = self.sweep(&sweep, [0.0, length], &STRIDES, &mut missing);
        let found = touched.map(|touched| {
            let Touched { distance, side, triangle, point, normal } = touched;
            let weights = weights_at(point, triangle.corners);
            let mut hit = self.describe(side, triangle.quad, triangle.second, weights);
            hit.point = world_from_block(side.block, point);
            (hit.distance, hit.normal) = (distance, normal);
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
            let local = (sweep.at(start) - corner).as_vec3().to_array();
            let direction = sweep.direction.as_vec3().to_array();
            self.side_triangles(side, &swept, sweep.filter, |triangle| {
                let limit = first.as_ref().map_or(end, |first| first.distance) - start;
                let cast = sweep.shape.cast(local, direction, &triangle.corners, limit as f32);
                if let Some(CastHit { t, point, normal }) = cast {
                    let distance = start + f64::from(t);
                    first = Some(Touched { distance, side, triangle: *triangle, point, normal });
                }
            });
        });
        if missing.is_none() {
            *missing = not_seen;
        }
        first
    }

    /// Calls `visit` for the surfaces of all blocks that a box may meet; returns what could
    /// not be looked at. The box is valid.
    pub(crate) fn each_side<'a>(
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
    pub(crate) fn side_triangles(
        &self,
        side: Side<'_>,
        aabb: &Aabb,
        filter: &Filter,
        mut visit: impl FnMut(&Triangle),
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
        filter.materials == MaterialSet::ALL || filter.materials.contains(self.material(side, quad))
    }

    /// A chunk whose cells could shape ground that a box meets (voxels, grown by
    /// [`REACH`]) and that is not held at mip 0. `None` if the ground there is known: what
    /// looks like air is air.
    pub fn unknown_in(&self, aabb: &Aabb) -> Option<Missing> {
        if !self.broadphase.has_unknown() {
            return None;
        }
        let listed = self.broadphase.page_bounds().finer(3);
        let chunks = aabb.grow(REACH.into()).voxels().coarser(5);
        let inside = chunks.intersect(listed);
        let chunk = |p: VoxelPos| ChunkPos::new(p.x, p.y, p.z);
        if self.snapshot.unlisted() == Unlisted::Unknown && inside != chunks {
            let last = chunks.max - VoxelPos::splat(1);
            let outside = if listed.contains(chunks.min) { last } else { chunks.min };
            return Some(Missing::NotHeld(chunk(outside)));
        }
        let mut chunks = inside.voxels().map(chunk);
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

/// The point of the world at a point of a block.
fn world_from_block(block: Block, point: [f32; 3]) -> [f64; 3] {
    (corner_of(block) + Vec3::from(point).as_dvec3()).to_array()
}

fn bounds_of(shape: &ShapeCore<'_>) -> [DVec3; 2] {
    let (low, high) = shape.bounds();
    [low, high].map(|v| Vec3::from(v).as_dvec3())
}

/// The box around `bounds` moved from `a` to `b`.
fn moved([low, high]: [DVec3; 2], a: DVec3, b: DVec3) -> Aabb {
    Aabb { min: (a.min(b) + low).to_array(), max: (a.max(b) + high).to_array() }
}

/// The lowest corner of a block, voxels.
pub(crate) fn corner_of(block: Block) -> DVec3 {
    DVec3::from(block.min_voxel().to_array().map(f64::from))
}

/// Weights of a triangle's corners at a point of it; those of its first corner where the
/// triangle has no area.
fn weights_at(point: [f32; 3], corners: [[f32; 3]; 3]) -> [f32; 3] {
    let (point, [a, b, c]) = (Vec3::from(point), corners.map(Vec3::from));
    let normal = (b - a).cross(c - a);
    let area = normal.length_squared();
    if area <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let part = |from: Vec3, to: Vec3| (from - point).cross(to - point).dot(normal) / area;
    let (u, v) = (part(c, a).clamp(0.0, 1.0), part(a, b).clamp(0.0, 1.0));
    [(1.0 - u - v).max(0.0), u, v]
}
