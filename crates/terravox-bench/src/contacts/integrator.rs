//! The least that makes bodies move on the library's own contacts: semi-implicit Euler,
//! sequential impulses with friction (Catto, "Iterative Dynamics with Temporal Coherence",
//! 2005), overlap taken out by moving the body, so that it never turns into speed. Bodies
//! do not meet each other. Only for measuring.

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

/// Overlap that stays, voxels.
const SLOP: f32 = 0.002;

/// Share of the overlap beyond it that a step takes out.
const RECOVERY: f32 = 0.3;

/// Density of water against which bodies are weighed.
const WATER: f32 = 1.0;

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
    /// Along the body's own axes; 0: it never turns.
    pub inverse_inertia: Vec3,
    pub friction: f32,
    /// It only moves up and down.
    pub upright_only: bool,
}

impl Rigid {
    /// One at rest that does not turn.
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
            upright_only: false,
        }
    }

    /// Turns as something with this inertia does.
    pub fn turning(self, inertia: Vec3) -> Rigid {
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
    /// Across the normal.
    along: [Vec3; 2],
    distance: f32,
    impulse: f32,
    rubbed: [f32; 2],
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
        self.find(collider, body, prediction);
        let inertia = body.world_inverse_inertia();
        for _ in 0..ITERATIONS {
            for row in &mut self.rows {
                solve(row, body, &inertia);
            }
        }
        if body.upright_only {
            (body.velocity.x, body.velocity.z, body.spin) = (0.0, 0.0, Vec3::ZERO);
        }
        body.position += (body.velocity * STEP).as_dvec3();
        body.rotation = (Quat::from_scaled_axis(body.spin * STEP) * body.rotation).normalize();
        self.take_out(collider, body);
    }

    /// As [`Integrator::step`], in water. Returns how much of the body is under.
    pub fn float(&mut self, collider: &Collider, body: &mut Rigid) -> Submersion {
        let parts = [body.part];
        let at =
            Body { parts: &parts, position: body.position.into(), rotation: body.rotation.into() };
        let wet = self.water.submersion(collider, &at).found;
        let lift = Vec3::Y * (GRAVITY * WATER * wet.volume);
        let inertia = body.world_inverse_inertia();
        // Drag that lets it come to rest, by the share that is under.
        let drag = (-2.5 * wet.share() * STEP).exp();
        body.velocity = body.velocity * drag + lift * (STEP / body.mass);
        body.spin = body.spin * drag + inertia * Vec3::from(wet.centre).cross(lift) * STEP;
        self.step(collider, body);
        wet
    }

    /// Current contacts of the body.
    pub fn touched(&mut self, collider: &Collider, body: &Rigid, prediction: f32) -> &[Manifold] {
        let parts = [body.part];
        let at =
            Body { parts: &parts, position: body.position.into(), rotation: body.rotation.into() };
        let options = ContactOptions { prediction_voxels: prediction, ..ContactOptions::default() };
        self.contacts.find(collider, &at, &options);
        &self.contacts.manifolds
    }

    fn find(&mut self, collider: &Collider, body: &Rigid, prediction: f32) {
        self.touched(collider, body, prediction);
        self.rows.clear();
        for point in self.contacts.manifolds.iter().flat_map(|manifold| manifold.points()) {
            self.rows.push(ConstraintRow::new(point));
        }
    }

    /// Moves the body out of overlaps.
    fn take_out(&mut self, collider: &Collider, body: &mut Rigid) {
        self.find(collider, body, 0.0);
        let mut moved = Vec3::ZERO;
        for _ in 0..4 {
            for row in &self.rows {
                let normal = if body.upright_only { Vec3::Y * row.normal.y } else { row.normal };
                let length = normal.length_squared();
                let over = -row.distance - SLOP - moved.dot(row.normal);
                if over > 0.0 && length > 1e-3 {
                    moved += normal * (RECOVERY * over / length);
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
            along: [u, v],
            distance: point.distance,
            impulse: 0.0,
            rubbed: [0.0; 2],
        }
    }
}

/// One contact's turn.
fn solve(row: &mut ConstraintRow, body: &mut Rigid, inertia: &Mat3) {
    let inverse_mass = 1.0 / body.mass;
    let mut push = |direction: Vec3, wanted: f32, held: &mut f32, range: [f32; 2]| {
        let arm = row.at.cross(direction);
        let linear = if body.upright_only { Vec3::Y * direction.y } else { direction };
        let give = linear.length_squared() * inverse_mass + arm.dot(*inertia * arm);
        if give < 1e-6 {
            return;
        }
        let speed = direction.dot(body.velocity) + arm.dot(body.spin);
        let total = (*held + (wanted - speed) / give).clamp(range[0], range[1]);
        let impulse = total - *held;
        *held = total;
        body.velocity += linear * (impulse * inverse_mass);
        body.spin += *inertia * (arm * impulse);
    };
    // Separated bodies may close the gap within the step.
    let wanted = -row.distance.max(0.0) / STEP;
    let mut impulse = row.impulse;
    push(row.normal, wanted, &mut impulse, [0.0, f32::INFINITY]);
    row.impulse = impulse;
    let most = body.friction * impulse;
    for (direction, held) in row.along.into_iter().zip(&mut row.rubbed) {
        push(direction, 0.0, held, [-most, most]);
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
        body = Rigid { friction: 0.5, ..body.turning(Vec3::splat(1.0 / 6.0)) };
        body.rotation = Quat::from_rotation_x(0.4);
        let mut integrator = Integrator::default();
        for _ in 0..240 {
            integrator.step(&collider, &mut body);
        }
        assert!((body.position.y - 0.5).abs() < 0.01, "{}", body.position);
        assert!(body.velocity.length() < 0.05 && body.spin.length() < 0.1, "{body:?}");
    }
}
