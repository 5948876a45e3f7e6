//! Moves bodies whose centre is in the ground, because a fill buried them or the two sides of a
//! thin wall push against each other, along the shortest way out, a little at each step. Contacts
//! do not push out bodies deeper than their depth; once the centre is out, they do the rest.

use avian3d::parry::math::Pose;
use avian3d::parry::shape::{Shape, TypedShape};
use avian3d::prelude::*;
use bevy::prelude::*;
use terravox::contacts::WayOut;

use super::TerrainColliderSettings;
use super::blocks::Source;
use super::bodies::{BodyQueryItem, ColliderQuery};

/// After this many consecutive moves a body moves by the largest distance.
const MAX_TRIES: u32 = 60;

/// Additional steps in one move then.
const MAX_EXTRA_STEPS: f32 = 4.0;

/// A body that is to be moved out of the ground.
pub struct Freed {
    body: Entity,
    /// Unit vector out of the ground, world space.
    direction: Vec3,
    by_m: f32,
    /// 1 for each axis along which it may move, 0 for locked ones.
    unlocked: Vec3,
}

/// Returns the way out for a body whose centre, or that of a part of it, is in the ground, unless it
/// cannot move along it.
pub fn find(
    body: &BodyQueryItem,
    colliders: &ColliderQuery,
    source: &Source<'_>,
    settings: &TerrainColliderSettings,
    tries: u32,
) -> Option<Freed> {
    if !body.body.is_dynamic() {
        return None;
    }
    let (ground, space) = (source.voxels.collider(), source.space);
    let mut deepest: Option<WayOut> = None;
    body.each_collider(colliders, |collider, at, rotation| {
        each_middle(&**collider.shape_scaled(), |middle| {
            let way = WayOut::find(ground, space.voxel_from_world(at + rotation * middle));
            if let Some(way) = way
                && deepest.is_none_or(|deepest| way.distance > deepest.distance)
            {
                deepest = Some(way);
            }
        });
    });
    let WayOut { direction, distance, .. } = deepest?;
    let voxel_size_m = space.placement.voxel_size_m as f32;
    let step_m = settings.freed_voxels * voxel_size_m;
    let extra = step_m * MAX_EXTRA_STEPS * tries.min(MAX_TRIES) as f32 / MAX_TRIES as f32;
    let by_m = (distance * voxel_size_m + extra).min(step_m + extra);
    let (direction, unlocked) = (space.world_direction(direction), unlocked(body.locked));
    let is_free = direction * unlocked != Vec3::ZERO;
    is_free.then_some(Freed { body: body.entity, direction, by_m, unlocked })
}

/// Moves bodies out and removes their inward velocity.
pub fn apply(freed: &mut Vec<Freed>, bodies: &mut Query<(&mut Position, &mut LinearVelocity)>) {
    for Freed { body, direction, by_m, unlocked } in freed.drain(..) {
        let Ok((mut position, mut velocity)) = bodies.get_mut(body) else { continue };
        position.0 += direction * by_m * unlocked;
        let inward = velocity.0.dot(direction).min(0.0);
        velocity.0 -= direction * inward * unlocked;
    }
}

/// 1 for each axis along which a body may move, 0 for locked ones.
fn unlocked(axes: Option<&LockedAxes>) -> Vec3 {
    let Some(axes) = axes else { return Vec3::ONE };
    let is_locked = [
        axes.is_translation_x_locked(),
        axes.is_translation_y_locked(),
        axes.is_translation_z_locked(),
    ];
    Vec3::from(is_locked.map(|is_locked| if is_locked { 0.0 } else { 1.0 }))
}

/// Calls `visit` with a point well inside each convex part of a shape. Shapes that are not convex
/// (moving meshes) have none.
fn each_middle(shape: &dyn Shape, mut visit: impl FnMut(Vec3)) {
    match shape.as_compound() {
        Some(compound) => {
            for (pose, part) in compound.shapes() {
                if let Some(middle) = middle_of(&**part) {
                    visit(transformed(pose, middle));
                }
            }
        }
        None => middle_of(shape).into_iter().for_each(visit),
    }
}

fn transformed(pose: &Pose, point: Vec3) -> Vec3 {
    pose.rotation * point + pose.translation
}

/// A point well inside a convex shape.
fn middle_of(shape: &dyn Shape) -> Option<Vec3> {
    match shape.as_typed_shape() {
        // The centre of its bounding box may be outside.
        TypedShape::ConvexPolyhedron(hull) => {
            let points = hull.points();
            let sum = points.iter().fold(Vec3::ZERO, |sum, &point| sum + point);
            Some(sum / points.len().max(1) as f32)
        }
        TypedShape::HalfSpace(_) => None,
        _ if shape.is_convex() => Some(shape.compute_local_aabb().center()),
        _ => None,
    }
}
