//! Moving shapes: when one first touches a surface.
//!
//! The path is searched in strides, long ones first; only strides whose swept box meets
//! blocks are searched in shorter ones.

use super::block::BlockTriangle;
use super::overlap::{local_bounds, swept_bounds};
use super::query::{Filter, Hit, MissingData, QueryOutcome};
use super::world::{BlockSurface, CollisionWorld, min_corner, weights_at};
use crate::geometry::{CastHit, Shape, ShapeCore};
use crate::math::Aabb;
use glam::DVec3;

/// Lengths of the strides, voxels.
const STRIDES: [f64; 3] = [256.0, 32.0, 8.0];

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
    let touch = sweep.first_touch([0.0, length], &STRIDES, &mut missing);
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
            let swept = self.swept([at, next]);
            if self.world.broadphase.meets(&swept, self.filter.surfaces)
                && let Some(touch) = self.first_touch([at, next], finer, missing)
            {
                return Some(touch);
            }
            if missing.is_none() {
                *missing = self.world.unknown_in(&swept);
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
