//! What lies in a box, and whether a shape touches the ground.

use super::query::{Filter, MissingData, QueryOutcome, SurfaceTriangle, TriangleId};
use super::world::{CollisionWorld, min_corner};
use crate::geometry::{Shape, ShapeCore};
use crate::math::Aabb;
use glam::{DVec3, Vec3};
use std::ops::ControlFlow;

/// Calls `visit` for every triangle whose bounding box meets `aabb`; returns missing data.
pub(super) fn triangles_in(
    world: &CollisionWorld,
    aabb: &Aabb,
    filter: &Filter,
    mut visit: impl FnMut(&SurfaceTriangle),
) -> Option<MissingData> {
    if !aabb.is_valid() {
        world.count_refused();
        return None;
    }
    world.surfaces_in(aabb, filter, |surface| {
        world.triangles_of(surface, aabb, filter, |triangle| {
            let (quad, second) = (triangle.quad, triangle.second);
            visit(&SurfaceTriangle {
                corners: triangle.corners.map(|p| surface.world_from_local(p)),
                is_liquid: surface.is_liquid,
                voxel: surface.voxel(quad),
                block: surface.block,
                triangle: TriangleId { quad, second, vertices: triangle.vertices },
            });
        });
    })
}

/// Returns whether a shape at `at` touches a surface.
pub(super) fn overlaps(
    world: &CollisionWorld,
    shape: &Shape<'_>,
    at: DVec3,
    filter: &Filter,
) -> QueryOutcome<bool> {
    let Some(shape) = ShapeCore::new(shape).filter(|_| at.is_finite()) else {
        world.count_refused();
        return QueryOutcome::default();
    };
    let aabb = swept_bounds(local_bounds(&shape), at, at);
    let mut found = false;
    let missing = world.surfaces_until(&aabb, filter, |surface| {
        let local = (at - min_corner(surface.block)).as_vec3().to_array();
        world.triangles_of(surface, &aabb, filter, |triangle| {
            found = found || shape.overlaps(local, &triangle.corners);
        });
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    QueryOutcome { found, missing: missing.filter(|_| !found) }
}

/// Min and max corner of the box around a shape, about its origin.
pub(super) fn local_bounds(shape: &ShapeCore<'_>) -> [DVec3; 2] {
    let (low, high) = shape.bounds();
    [low, high].map(|v| Vec3::from(v).as_dvec3())
}

/// The box that `bounds` sweeps from `a` to `b`.
pub(super) fn swept_bounds([low, high]: [DVec3; 2], a: DVec3, b: DVec3) -> Aabb {
    Aabb { min: (a.min(b) + low).to_array(), max: (a.max(b) + high).to_array() }
}
