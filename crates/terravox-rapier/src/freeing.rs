//! Moves bodies whose centre is in the ground, because a fill buried them or the two sides of a
//! thin wall push against each other, along the shortest way out, a little at each step. Contacts
//! do not push out bodies deeper than their depth; once the centre is out, they do the rest.

use rapier3d::prelude::{
    ColliderSet, LockedAxes, Pose, RigidBody, RigidBodyHandle, RigidBodySet, Shape, TypedShape,
    Vector,
};
use terravox::collide::Collider;
use terravox::contacts::WayOut;
use terravox::terrain::Placement;

use crate::options::TerrainColliderOptions;

/// After this many consecutive moves a body moves by the largest distance.
const MAX_TRIES: u32 = 60;

/// Additional steps in one move then.
const MAX_EXTRA_STEPS: f32 = 4.0;

/// A body whose centre is in the ground.
#[derive(Clone, Copy, Debug)]
pub struct BuriedBody {
    pub body: RigidBodyHandle,
    /// Unit vector out of the ground, for the deepest part.
    direction: Vector,
    distance_m: f32,
}

impl BuriedBody {
    /// The way out for a body whose centre is in the ground; `None` for all others, and for bodies
    /// that cannot move along it.
    pub fn find(
        handle: RigidBodyHandle,
        body: &RigidBody,
        colliders: &ColliderSet,
        ground: &Collider,
        options: &TerrainColliderOptions,
        placement: Placement,
    ) -> Option<BuriedBody> {
        if !body.is_dynamic() || options.freed_voxels <= 0.0 {
            return None;
        }
        let mut deepest: Option<WayOut> = None;
        for &collider in body.colliders() {
            let Some(collider) = colliders.get(collider) else { continue };
            let collides = collider.collision_groups().test(options.collision_groups);
            if collider.is_sensor() || !collider.is_enabled() || !collides {
                continue;
            }
            // A collider's own position is updated only in the next step.
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
        let direction = Vector::from(direction);
        let distance_m = distance * placement.voxel_size_m as f32;
        let is_free = unlocked(direction, body.locked_axes()) != Vector::ZERO;
        is_free.then_some(BuriedBody { body: handle, direction, distance_m })
    }

    /// Moves it out by up to `step_m` metres and removes its inward velocity, both along unlocked axes
    /// only. The move grows with `tries`, the number of earlier ones, and then passes the surface, for
    /// bodies between walls.
    pub fn move_out(&self, bodies: &mut RigidBodySet, step_m: f32, tries: u32) {
        let Some(body) = bodies.get_mut(self.body) else { return };
        let effort = tries.min(MAX_TRIES) as f32 / MAX_TRIES as f32;
        let max_m = step_m * (1.0 + effort * MAX_EXTRA_STEPS);
        let by = self.direction * (self.distance_m + effort * step_m * MAX_EXTRA_STEPS).min(max_m);
        let inward = self.direction * body.linvel().dot(self.direction).min(0.0);
        let axes = body.locked_axes();
        body.set_translation(body.translation() + unlocked(by, axes), true);
        body.set_linvel(body.linvel() - unlocked(inward, axes), true);
    }
}

/// A vector without its components along locked axes.
fn unlocked(vector: Vector, axes: LockedAxes) -> Vector {
    let [x, y, z] = [
        LockedAxes::TRANSLATION_LOCKED_X,
        LockedAxes::TRANSLATION_LOCKED_Y,
        LockedAxes::TRANSLATION_LOCKED_Z,
    ]
    .map(|axis| if axes.contains(axis) { 0.0 } else { 1.0 });
    vector * Vector::new(x, y, z)
}

/// Calls `visit` with a point well inside each convex part of a shape. Shapes that are not convex
/// (moving meshes) have none.
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
        // The centre of its bounding box may be outside.
        TypedShape::ConvexPolyhedron(hull) => Some(mean(hull.points())),
        TypedShape::RoundConvexPolyhedron(hull) => Some(mean(hull.inner_shape.points())),
        TypedShape::HalfSpace(_) => None,
        _ if shape.is_convex() => Some(shape.compute_local_aabb().center()),
        _ => None,
    }
}
