//! Moving shapes: when one first touches a surface.
//!
//! The path is clipped to the ground there is, and searched in strides, long ones first; only
//! strides whose swept box meets blocks are searched in shorter ones.

use super::block::BlockTriangle;
use super::overlap::{local_bounds, swept_bounds};
use super::query::{Filter, Hit, MissingData, QueryOutcome};
use super::walk::{RayPath, RaySpan};
use super::world::{BlockSurface, CollisionWorld, min_corner, weights_at};
use crate::geometry::{CastHit, Shape, ShapeCore};
use crate::math::Aabb;
use glam::DVec3;

/// Lengths of the strides, voxels.
const STRIDES: [f64; 7] = [16_777_216.0, 1_048_576.0, 65_536.0, 4096.0, 256.0, 32.0, LAST_STRIDE];

/// Length of the strides in which triangles are touched.
const LAST_STRIDE: f64 = 8.0;

/// A shape and its path, voxels.
struct Sweep<'a> {
    world: &'a CollisionWorld,
    shape: ShapeCore<'a>,
    from: DVec3,
    /// Unit.
    direction: DVec3,
    filter: &'a Filter,
    /// Box around the shape, about its origin.
    bounds: [DVec3; 2],
}

/// The first touch of a sweep.
struct SweepHit<'a> {
    /// Voxels along the path.
    distance: f64,
    surface: BlockSurface<'a>,
    triangle: BlockTriangle,
    /// Voxels from the block's corner.
    point: [f32; 3],
    normal: [f32; 3],
}

/// Returns the first touch of a shape that moves from `from` by `motion`, without turning.
pub(super) fn cast(
    world: &CollisionWorld,
    shape: &Shape<'_>,
    from: DVec3,
    motion: DVec3,
    filter: &Filter,
) -> QueryOutcome<Option<Hit>> {
    let length = motion.length();
    let valid = from.is_finite() && length > 0.0 && length.is_finite();
    let Some(shape) = ShapeCore::new(shape).filter(|_| valid) else {
        world.count_refused();
        return QueryOutcome::default();
    };
    let bounds = local_bounds(&shape);
    let sweep = Sweep { world, shape, from, direction: motion / length, filter, bounds };
    let mut missing = None;
    let touch = sweep.first_touch_on_path(length, &mut missing);
    let found = touch.map(|touch| {
        let SweepHit { distance, surface, triangle, point, normal } = touch;
        let weights = weights_at(point, triangle.corners);
        let mut hit = world.hit(surface, triangle.quad, triangle.second, weights);
        hit.point = surface.world_from_local(point);
        (hit.distance, hit.normal) = (distance, normal);
        hit
    });
    QueryOutcome { found, missing }
}

impl<'a> Sweep<'a> {
    fn at(&self, distance: f64) -> DVec3 {
        self.from + self.direction * distance
    }

    /// The box that the shape sweeps between two distances.
    fn swept(&self, [start, end]: [f64; 2]) -> Aabb {
        swept_bounds(self.bounds, self.at(start), self.at(end))
    }

    /// Returns the first touch on the path.
    fn first_touch_on_path(
        &self,
        length: f64,
        missing: &mut Option<MissingData>,
    ) -> Option<SweepHit<'a>> {
        let [start, end] = self.near_ground(length).unwrap_or([length, length]);
        // Before and behind the ground either all is air or all is unknown.
        if start > 0.0 {
            *missing = self.world.unknown_in(&self.swept([0.0, start.min(LAST_STRIDE)]));
        }
        // A longer stride than the path has the box of the whole path, too.
        let longer = STRIDES.partition_point(|&stride| stride >= end - start);
        let touch = self.first_touch([start, end], &STRIDES[longer..], missing);
        if touch.is_none() && missing.is_none() && end < length {
            *missing = self.world.unknown_in(&self.swept([end, length.min(end + LAST_STRIDE)]));
        }
        touch
    }

    /// Returns the distances between which the shape may touch ground, in whole strides.
    fn near_ground(&self, length: f64) -> Option<[f64; 2]> {
        let ground = self.world.ground_bounds()?;
        let path = RayPath::new(self.from.to_array(), self.direction.to_array(), length)?;
        let low = DVec3::from(ground.min) - self.bounds[1];
        let high = DVec3::from(ground.max) - self.bounds[0];
        let RaySpan { enter, leave } =
            path.clip(low, high, RaySpan { enter: 0.0, leave: length })?;
        let stride = LAST_STRIDE;
        let (start, end) = ((enter / stride).floor() * stride, (leave / stride).ceil() * stride);
        (start <= end).then(|| [start, end.min(length)])
    }

    /// Returns the first touch between two distances, searched in `strides`.
    fn first_touch(
        &self,
        [start, end]: [f64; 2],
        strides: &[f64],
        missing: &mut Option<MissingData>,
    ) -> Option<SweepHit<'a>> {
        let Some((&stride, finer)) = strides.split_first() else {
            return self.first_touch_in_stride([start, end], missing);
        };
        let mut at = start;
        while at < end {
            let next = (at + stride).min(end);
            if next == at {
                // So far away that a stride is lost in rounding.
                return None;
            }
            let swept = self.swept([at, next]);
            let meets = self.world.broadphase.meets(&swept, self.filter.surfaces);
            // Its unknown chunks need not be on the path: look closer.
            let has_unknown = || missing.is_none() && self.world.unknown_in(&swept).is_some();
            if (meets || has_unknown())
                && let Some(touch) = self.first_touch([at, next], finer, missing)
            {
                return Some(touch);
            }
            at = next;
        }
        None
    }

    fn first_touch_in_stride(
        &self,
        [start, end]: [f64; 2],
        missing: &mut Option<MissingData>,
    ) -> Option<SweepHit<'a>> {
        let world = self.world;
        let mut first: Option<SweepHit<'a>> = None;
        let swept = self.swept([start, end]);
        let missing_here = world.surfaces_in(&swept, self.filter, |surface| {
            let corner = min_corner(surface.block);
            let local = (self.at(start) - corner).as_vec3().to_array();
            let direction = self.direction.as_vec3().to_array();
            world.triangles_of(surface, &swept, self.filter, |triangle| {
                let limit = first.as_ref().map_or(end, |first| first.distance) - start;
                let cast = self.shape.cast(local, direction, &triangle.corners, limit as f32);
                if let Some(CastHit { t, point, normal }) = cast {
                    let distance = start + f64::from(t);
                    first =
                        Some(SweepHit { distance, surface, triangle: *triangle, point, normal });
                }
            });
        });
        if missing.is_none() {
            *missing = missing_here;
        }
        first
    }
}
