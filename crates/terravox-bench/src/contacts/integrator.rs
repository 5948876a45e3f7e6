//! A minimal integrator for the library's own contacts: semi-implicit Euler,
//! sequential impulses with friction (Catto, "Iterative Dynamics with Temporal Coherence",
//! 2005), overlap resolved by moving the body, so that it never turns into speed. Bodies do not
//! collide with each other. Only for measurements.

use std::ops::RangeInclusive;

use glam::{DVec3, Mat3, Quat, Vec3};
use terravox::collide::Collider;
use terravox::contacts::{
    Body, BodyPart, ContactOptions, ContactPoint, Contacts, Manifold, Submersion, WaterScratch,
};

/// Seconds of a step.
pub const STEP: f32 = 1.0 / 60.0;

/// m/s², voxels being metres.
pub const GRAVITY: f32 = 9.81;

const ITERATIONS: usize = 12;

/// Overlap that is left, voxels.
const SLOP_VOXELS: f32 = 0.002;

/// Share of the overlap beyond it that an iteration resolves.
const RECOVERY: f32 = 0.3;

/// Density of water, in units of a body's mass per cubic voxel.
const WATER_DENSITY: f32 = 1.0;

/// A body of one shape.
#[derive(Clone, Copy, Debug)]
pub struct Rigid {
    pub part: BodyPart<'static>,
    pub position: DVec3,
    pub rotation: Quat,
    pub velocity: Vec3,
    /// Radians per second.
    pub spin: Vec3,
    pub mass: f32,
    /// About the body's own axes; 0 for bodies that never rotate.
    pub inverse_inertia: Vec3,
    pub friction: f32,
    /// Whether it only moves up and down.
    pub is_vertical_only: bool,
}

impl Rigid {
    /// A body at rest that does not rotate.
    pub fn new(part: BodyPart<'static>, position: DVec3) -> Rigid {
        Rigid {
            part,
            position,
            rotation: Quat::IDENTITY,
            velocity: Vec3::ZERO,
            spin: Vec3::ZERO,
            mass: 1.0,
            inverse_inertia: Vec3::ZERO,
            friction: 0.0,
            is_vertical_only: false,
        }
    }

    /// With this inertia about its own axes.
    pub fn with_inertia(self, inertia: Vec3) -> Rigid {
        Rigid { inverse_inertia: inertia.recip(), ..self }
    }

    fn world_inverse_inertia(&self) -> Mat3 {
        let turn = Mat3::from_quat(self.rotation);
        turn * Mat3::from_diagonal(self.inverse_inertia) * turn.transpose()
    }
}

/// A contact while it is solved.
struct ConstraintRow {
    at: Vec3,
    normal: Vec3,
    tangents: [Vec3; 2],
    distance: f32,
    impulse: f32,
    friction_impulses: [f32; 2],
}

/// Moves bodies; holds buffers that are reused from step to step.
#[derive(Default)]
pub struct Integrator {
    contacts: Contacts,
    water: WaterScratch,
    rows: Vec<ConstraintRow>,
}

impl Integrator {
    /// Moves a body by one step.
    pub fn step(&mut self, collider: &Collider, body: &mut Rigid) {
        body.velocity.y -= GRAVITY * STEP;
        let prediction = 0.02 + 0.5 * body.velocity.y.abs() * STEP;
        self.build_rows(collider, body, prediction);
        let inverse_inertia = body.world_inverse_inertia();
        for _ in 0..ITERATIONS {
            for row in &mut self.rows {
                solve(row, body, &inverse_inertia);
            }
        }
        if body.is_vertical_only {
            (body.velocity.x, body.velocity.z, body.spin) = (0.0, 0.0, Vec3::ZERO);
        }
        body.position += (body.velocity * STEP).as_dvec3();
        body.rotation = (Quat::from_scaled_axis(body.spin * STEP) * body.rotation).normalize();
        self.resolve_overlaps(collider, body);
    }

    /// As [`Integrator::step`], in water. Returns the submerged part of the body.
    pub fn float(&mut self, collider: &Collider, body: &mut Rigid) -> Submersion {
        let parts = [body.part];
        let at =
            Body { parts: &parts, position: body.position.into(), rotation: body.rotation.into() };
        let submerged = self.water.submersion(collider, &at).found;
        let lift = Vec3::Y * (GRAVITY * WATER_DENSITY * submerged.volume);
        let inverse_inertia = body.world_inverse_inertia();
        // Drag that lets it come to rest, by the submerged share.
        let drag = (-2.5 * submerged.share() * STEP).exp();
        body.velocity = body.velocity * drag + lift * (STEP / body.mass);
        let turn = inverse_inertia * Vec3::from(submerged.centre).cross(lift);
        body.spin = body.spin * drag + turn * STEP;
        self.step(collider, body);
        submerged
    }

    /// Current contacts of the body.
    pub fn contacts(&mut self, collider: &Collider, body: &Rigid, prediction: f32) -> &[Manifold] {
        let parts = [body.part];
        let at =
            Body { parts: &parts, position: body.position.into(), rotation: body.rotation.into() };
        let options = ContactOptions { prediction_voxels: prediction, ..ContactOptions::default() };
        self.contacts.find(collider, &at, &options);
        &self.contacts.manifolds
    }

    fn build_rows(&mut self, collider: &Collider, body: &Rigid, prediction: f32) {
        self.contacts(collider, body, prediction);
        self.rows.clear();
        for point in self.contacts.manifolds.iter().flat_map(|manifold| manifold.points()) {
            self.rows.push(ConstraintRow::new(point));
        }
    }

    /// Moves the body out of overlaps.
    fn resolve_overlaps(&mut self, collider: &Collider, body: &mut Rigid) {
        self.build_rows(collider, body, 0.0);
        let mut moved = Vec3::ZERO;
        for _ in 0..4 {
            for row in &self.rows {
                let normal =
                    if body.is_vertical_only { Vec3::Y * row.normal.y } else { row.normal };
                let length = normal.length_squared();
                let excess = -row.distance - SLOP_VOXELS - moved.dot(row.normal);
                if excess > 0.0 && length > 1e-3 {
                    moved += normal * (RECOVERY * excess / length);
                }
            }
        }
        body.position += moved.as_dvec3();
    }
}

impl ConstraintRow {
    fn new(point: &ContactPoint) -> ConstraintRow {
        let normal = Vec3::from(point.normal);
        let (u, v) = normal.any_orthonormal_pair();
        ConstraintRow {
            at: point.offset.into(),
            normal,
            tangents: [u, v],
            distance: point.distance,
            impulse: 0.0,
            friction_impulses: [0.0; 2],
        }
    }
}

/// Solves one contact.
fn solve(row: &mut ConstraintRow, body: &mut Rigid, inverse_inertia: &Mat3) {
    let inverse_mass = 1.0 / body.mass;
    let mut push =
        |direction: Vec3, target_speed: f32, total: &mut f32, range: RangeInclusive<f32>| {
            let arm = row.at.cross(direction);
            let linear = if body.is_vertical_only { Vec3::Y * direction.y } else { direction };
            let mobility = linear.length_squared() * inverse_mass + arm.dot(*inverse_inertia * arm);
            if mobility < 1e-6 {
                return;
            }
            let speed = direction.dot(body.velocity) + arm.dot(body.spin);
            let new =
                (*total + (target_speed - speed) / mobility).clamp(*range.start(), *range.end());
            let impulse = new - *total;
            *total = new;
            body.velocity += linear * (impulse * inverse_mass);
            body.spin += *inverse_inertia * (arm * impulse);
        };
    // Separated bodies may close the gap within the step.
    let target_speed = -row.distance.max(0.0) / STEP;
    let mut impulse = row.impulse;
    push(row.normal, target_speed, &mut impulse, 0.0..=f32::INFINITY);
    row.impulse = impulse;
    let max_friction = body.friction * impulse;
    for (direction, total) in row.tangents.into_iter().zip(&mut row.friction_impulses) {
        push(direction, 0.0, total, -max_friction..=max_friction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::geometry::Shape;
    use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};

    #[test]
    fn a_crate_that_is_dropped_comes_to_rest_on_the_floor() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut floor = DenseBox::new(Region::new([-16, -4, -16], [16, 0, 16]));
        floor.fill(8);
        let Ok(()) = grid.write(&floor) else { unreachable!("unlisted chunks are air") };
        let mut collider = Collider::default();
        collider.update(&grid);
        let shape = Shape::Box { half: [0.5; 3], rotation: [0.0, 0.0, 0.0, 1.0] };
        let mut body = Rigid::new(BodyPart::new(shape), DVec3::new(0.3, 2.0, 0.1));
        body = Rigid { friction: 0.5, ..body.with_inertia(Vec3::splat(1.0 / 6.0)) };
        body.rotation = Quat::from_rotation_x(0.4);
        let mut integrator = Integrator::default();
        for _ in 0..240 {
            integrator.step(&collider, &mut body);
        }
        assert!((body.position.y - 0.5).abs() < 0.01, "{}", body.position);
        assert!(body.velocity.length() < 0.05 && body.spin.length() < 0.1, "{body:?}");
    }
}
