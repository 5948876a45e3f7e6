//! The point of a surface that is closest to a point: boxes of doubling size are searched
//! until one holds a surface, in each the nearest block first. Its surface bounds how far away
//! others are of interest, so that from far above a plain few blocks are built.

use super::block::{BlockTriangle, LocalPoint};
use super::broadphase::ChunkBlocks;
use super::query::{Filter, Hit, MaterialSet, MissingData, QueryOutcome, REACH};
use super::world::{BlockSurface, CollisionWorld, min_corner, weights_at};
use crate::bits::CollisionBlock;
use crate::geometry::closest_on_triangle;
use crate::math::Aabb;
use crate::voxel::LIMIT;
use glam::{DVec3, Vec3};

/// Radius of the first search, voxels; it doubles until it finds a surface.
const FIRST_RADIUS: f64 = 1.0;

/// Returns the point of a surface that is closest to `point`, within `max_distance` voxels.
pub(super) fn closest_point(
    world: &CollisionWorld,
    point: DVec3,
    max_distance: f64,
    filter: &Filter,
) -> QueryOutcome<Option<Hit>> {
    if !(point.is_finite() && max_distance > 0.0) {
        world.count_refused();
        return QueryOutcome::default();
    }
    // No distance exceeds the size of the world.
    let max_radius = max_distance.min(4.0 * f64::from(LIMIT));
    let mut radius = FIRST_RADIUS.min(max_radius);
    loop {
        let outcome = closest_within(world, point, radius, filter);
        if outcome.found.is_some() || radius >= max_radius || !has_more(world, point, radius) {
            return outcome;
        }
        radius = (2.0 * radius).min(max_radius);
    }
}

/// Whether there is, or may be, a surface farther than `radius` from a point.
fn has_more(world: &CollisionWorld, point: DVec3, radius: f64) -> bool {
    let Some(bounds) = world.ground_bounds() else { return false };
    let (low, high) = (point - DVec3::from(bounds.min), DVec3::from(bounds.max) - point);
    low.abs().max(high.abs()).length() > radius
}

/// As [`closest_point`], of the surfaces within `radius` voxels.
fn closest_within(
    world: &CollisionWorld,
    point: DVec3,
    radius: f64,
    filter: &Filter,
) -> QueryOutcome<Option<Hit>> {
    let around = |radius: f64| Aabb::around(point.to_array(), [radius; 3]);
    let mut search = ClosestSearch { world, point, filter, radius, best: None, missing: None };
    let mut nearest: Option<(f64, CollisionBlock, &ChunkBlocks)> = None;
    world.broadphase.records_in(&around(radius), filter.surfaces, |block, record| {
        let distance = search.distance_to(block);
        if distance <= radius && nearest.is_none_or(|(least, ..)| distance < least) {
            nearest = Some((distance, block, record));
        }
    });
    if let Some((_, first, record)) = nearest {
        search.visit(first, record);
        world.broadphase.records_in(&around(search.radius), filter.surfaces, |block, record| {
            if block != first && search.distance_to(block) <= search.radius {
                search.visit(block, record);
            }
        });
    }
    let missing = search.missing.or_else(|| world.unknown_in(&around(search.radius)));
    QueryOutcome { found: search.best, missing }
}

/// What was found of a search.
struct ClosestSearch<'a> {
    world: &'a CollisionWorld,
    point: DVec3,
    filter: &'a Filter,
    /// Distance of the best, voxels; before there is one, that of the search.
    radius: f64,
    best: Option<Hit>,
    missing: Option<MissingData>,
}

impl<'a> ClosestSearch<'a> {
    /// A lower bound of the distance to the triangles of a block, voxels.
    fn distance_to(&self, block: CollisionBlock) -> f64 {
        let low = min_corner(block) - f64::from(REACH);
        let high = low + f64::from(CollisionBlock::EDGE) + 2.0 * f64::from(REACH);
        (self.point - self.point.clamp(low, high)).length()
    }

    fn visit(&mut self, block: CollisionBlock, record: &'a ChunkBlocks) {
        let mut hits = 0;
        let surfaces = self.world.surfaces(block, record, self.filter, &mut hits);
        self.world.cache.counters.hits(hits);
        match surfaces {
            Ok(surfaces) => {
                surfaces
                    .into_iter()
                    .flatten()
                    .flatten()
                    .for_each(|surface| self.try_surface(surface));
            }
            Err(what) => drop(self.missing.get_or_insert(what)),
        }
    }

    fn try_surface(&mut self, surface: BlockSurface<'_>) {
        let near = closest_on_surface(self.world, surface, self.point, self.radius, self.filter);
        let Some(near) = near else { return };
        let distance = f64::from(near.distance);
        if self.best.is_none() || distance < self.radius {
            let BlockTriangle { corners, quad, second, .. } = near.triangle;
            let mut hit = self.world.hit(surface, quad, second, weights_at(near.point, corners));
            hit.distance = distance;
            hit.point = surface.world_from_local(near.point);
            (self.best, self.radius) = (Some(hit), distance);
        }
    }
}

/// Returns the closest point of one surface, within `max_distance` voxels, that the filter
/// sees.
fn closest_on_surface(
    world: &CollisionWorld,
    surface: BlockSurface<'_>,
    point: DVec3,
    max_distance: f64,
    filter: &Filter,
) -> Option<LocalPoint> {
    let local = (point - min_corner(surface.block)).as_vec3();
    if filter.materials == MaterialSet::ALL {
        return surface.tree.closest_point(local.to_array(), max_distance as f32);
    }
    let mut best: Option<LocalPoint> = None;
    let aabb = Aabb::around(point.to_array(), [max_distance; 3]);
    world.triangles_of(surface, &aabb, filter, |triangle| {
        let near = closest_on_triangle(local, &triangle.corners.map(Vec3::from));
        let distance = local.distance(near);
        let limit = best.map_or(max_distance as f32, |best| best.distance);
        if distance < limit || (distance == limit && best.is_none()) {
            best = Some(LocalPoint { distance, point: near.to_array(), triangle: *triangle });
        }
    });
    best
}
