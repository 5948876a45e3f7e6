//! The point of a surface that is closest to a point: boxes of doubling size are searched
//! until one holds a surface.

use super::block::{BlockTriangle, LocalPoint};
use super::query::{Filter, Hit, MaterialSet, QueryOutcome, REACH};
use super::world::{BlockSurface, CollisionWorld, min_corner, weights_at};
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
    let pages = world.broadphase.page_bounds();
    if pages.is_empty() {
        return false;
    }
    let bounds = Aabb::of_region(pages.finer(8)).grow(REACH.into());
    let (low, high) = (point - DVec3::from(bounds.min), DVec3::from(bounds.max) - point);
    low.abs().max(high.abs()).length() > radius
}

fn closest_within(
    world: &CollisionWorld,
    point: DVec3,
    radius: f64,
    filter: &Filter,
) -> QueryOutcome<Option<Hit>> {
    let mut best: Option<Hit> = None;
    let aabb = Aabb::around(point.to_array(), [radius; 3]);
    let missing = world.surfaces_in(&aabb, filter, |surface| {
        let limit = best.map_or(radius, |best: Hit| best.distance);
        let Some(near) = closest_on_surface(world, surface, point, limit, filter) else { return };
        let distance = f64::from(near.distance);
        if best.is_none_or(|best| distance < best.distance) {
            let BlockTriangle { corners, quad, second, .. } = near.triangle;
            let mut hit = world.hit(surface, quad, second, weights_at(near.point, corners));
            hit.distance = distance;
            hit.point = surface.world_from_local(near.point);
            best = Some(hit);
        }
    });
    QueryOutcome { found: best, missing }
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
