//! Out of the ground: bodies whose middle is in it, because a fill buried them or because
//! two sides of a thin wall push against each other, are moved along the shortest way out,
//! a little at each step. Contacts hold no body that is in the ground deeper than they
//! reach, and what is left inside once the middle is out, they push out themselves.

use rapier3d::prelude::{
    ColliderSet, Pose, RigidBody, RigidBodyHandle, RigidBodySet, Shape, TypedShape, Vector,
};
use terravox::collide::Collider;
use terravox::contacts::WayOut;
use terravox::terrain::Placement;

use crate::colliders::Options;

/// After so many moves in a row a body is moved by the most.
const MOST_TRIES: u32 = 60;

/// By how many more steps at once then.
const MOST_STEPS: f32 = 4.0;

/// A body in the ground.
#[derive(Clone, Copy, Debug)]
pub struct Buried {
    pub body: RigidBodyHandle,
    /// Unit, and metres: that of the part that is deepest.
    direction: Vector,
    distance_m: f32,
}

impl Buried {
    /// Whether a body is in the ground, and the way out.
    pub fn look(
        handle: RigidBodyHandle,
        body: &RigidBody,
        colliders: &ColliderSet,
        ground: &Collider,
        options: &Options,
        placement: Placement,
    ) -> Option<Buried> {
        if !body.is_dynamic() || options.freed_voxels <= 0.0 {
            return None;
        }
        let mut deepest: Option<WayOut> = None;
        for &collider in body.colliders() {
            let Some(collider) = colliders.get(collider) else { continue };
            let meets = collider.collision_groups().test(options.collision_groups);
            if collider.is_sensor() || !collider.is_enabled() || !meets {
                continue;
            }
            // A collider follows its body only in the next step.
            let local = collider.position_wrt_parent().copied().unwrap_or(Pose::IDENTITY);
            each_middle(collider.shape(), |middle| {
                let at = *body.position() * (local * middle);
                let way =
                    WayOut::find(ground, placement.voxel_from_world(at.to_array().map(f64::from)));
                if let Some(way) = way
                    && deepest.is_none_or(|deepest| way.distance > deepest.distance)
                {
                    deepest = Some(way);
                }
            });
        }
        let WayOut { direction, distance, .. } = deepest?;
        let distance_m = distance * placement.voxel_size_m as f32;
        Some(Buried { body: handle, direction: direction.into(), distance_m })
    }

    /// Moves it out by `step_m` metres, or less if that is all it takes; what it moves
    /// farther in by stops. What is still inside after `tries` such moves, held by walls
    /// around it, is moved by more and past the surface.
    pub fn move_out(&self, bodies: &mut RigidBodySet, step_m: f32, tries: u32) {
        let Some(body) = bodies.get_mut(self.body) else { return };
        let more = tries.min(MOST_TRIES) as f32 / MOST_TRIES as f32;
        let most_m = step_m * (1.0 + more * MOST_STEPS);
        let by = self.direction * (self.distance_m + more * step_m * MOST_STEPS).min(most_m);
        let inward = body.linvel().dot(self.direction).min(0.0);
        body.set_translation(body.translation() + by, true);
        body.set_linvel(body.linvel() - self.direction * inward, true);
    }
}

/// Calls for a point well inside each convex part of a shape. What is not convex (a mesh
/// that moves) has none.
fn each_middle(shape: &dyn Shape, mut visit: impl FnMut(Vector)) {
    match shape.as_compound() {
        Some(compound) => {
            for (pose, part) in compound.shapes() {
                if let Some(middle) = middle_of(&**part) {
                    visit(*pose * middle);
                }
            }
        }
        None => middle_of(shape).into_iter().for_each(visit),
    }
}

/// A point well inside a convex shape.
fn middle_of(shape: &dyn Shape) -> Option<Vector> {
    let mean = |points: &[Vector]| {
        points.iter().fold(Vector::ZERO, |sum, &p| sum + p) / points.len().max(1) as f32
    };
    match shape.as_typed_shape() {
        // The middle of its box may be outside.
        TypedShape::ConvexPolyhedron(hull) => Some(mean(hull.points())),
        TypedShape::RoundConvexPolyhedron(hull) => Some(mean(hull.inner_shape.points())),
        TypedShape::HalfSpace(_) => None,
        _ if shape.is_convex() => Some(shape.compute_local_aabb().center()),
        _ => None,
    }
}
