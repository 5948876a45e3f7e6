//! Bodies in water: buoyancy and drag as impulses, from the submerged part of each body.
//!
//! Buoyancy is the weight of the displaced water, at the centroid of the submerged volume. Drag is
//! quadratic in speed along each axis, by the projected area, plus a linear term for the water that
//! the body drags along; both are integrated implicitly, so that they are stable for any step.

use rapier3d::parry::shape::TypedShape;
use rapier3d::prelude::{ColliderSet, Pose, RigidBody, RigidBodySet, Shape as ParryShape, Vector};
use terravox::collide::Collider;
use terravox::contacts::{Body, BodyPart, Submersion, WaterScratch};
use terravox::geometry::Shape;
use terravox::terrain::Placement;

/// Forces on bodies in water.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaterOptions {
    /// Density of the water, kg/m³. Rapier's default density of bodies is 1: lighter than foam, so
    /// that water ejects them.
    pub density: f32,
    /// Gravity of the world, m/s².
    pub gravity: [f32; 3],
    /// Quadratic drag coefficient; about 1 for boxes, 0.5 for balls.
    pub drag: f32,
    /// Fraction of its linear and angular speed that a submerged body as dense as water loses per
    /// second.
    pub damping: f32,
}

impl Default for WaterOptions {
    fn default() -> WaterOptions {
        WaterOptions { density: 1000.0, gravity: [0.0, -9.81, 0.0], drag: 0.8, damping: 1.0 }
    }
}

/// Applies buoyancy and drag. Keep one: it reuses its buffers.
#[derive(Debug, Default)]
pub struct Buoyancy {
    scratch: WaterScratch,
    points: Vec<[f32; 3]>,
}

impl Buoyancy {
    /// Applies the impulses of a step of `dt` seconds to every body that is awake and in water.
    /// Returns the number of bodies in water.
    pub fn apply(
        &mut self,
        ground: &Collider,
        placement: Placement,
        bodies: &mut RigidBodySet,
        colliders: &ColliderSet,
        dt: f32,
        options: &WaterOptions,
    ) -> usize {
        let mut wet = 0;
        for (_, body) in bodies.iter_mut() {
            if !body.is_dynamic() || body.is_sleeping() || !body.is_enabled() {
                continue;
            }
            let under = self.under(ground, placement, body, colliders);
            if under.volume > 0.0 {
                push(body, &under, placement, dt, options);
                wet += 1;
            }
        }
        wet
    }

    /// The submerged part of a body, in voxels.
    fn under(
        &mut self,
        ground: &Collider,
        placement: Placement,
        body: &RigidBody,
        colliders: &ColliderSet,
    ) -> Submersion {
        let Buoyancy { scratch, points } = self;
        let voxels = (1.0 / placement.voxel_size_m) as f32;
        let position = placement.voxel_from_world(body.translation().to_array().map(f64::from));
        let rotation = body.rotation().to_array();
        let mut sum = Submersion::default();
        let mut moment = Vector::ZERO;
        for &handle in body.colliders() {
            let Some(collider) = colliders.get(handle) else { continue };
            if collider.is_sensor() || !collider.is_enabled() {
                continue;
            }
            let local = collider.position_wrt_parent().copied().unwrap_or(Pose::IDENTITY);
            each_part(collider.shape(), local, voxels, points, &mut |part| {
                let body = Body { parts: &[part], position, rotation };
                let under = scratch.submersion(ground, &body).found;
                moment += Vector::from(under.centre) * under.volume;
                sum.volume += under.volume;
                sum.body_volume += under.body_volume;
                sum.area = [0, 1, 2].map(|i| sum.area[i] + under.area[i]);
            });
        }
        if sum.volume > 0.0 {
            sum.centre = (moment / sum.volume).to_array();
        }
        sum
    }
}

/// Calls `visit` with the convex parts of a shape, in voxels; shapes without volume have none.
fn each_part(
    shape: &dyn ParryShape,
    at: Pose,
    voxels: f32,
    points: &mut Vec<[f32; 3]>,
    visit: &mut dyn FnMut(BodyPart<'_>),
) {
    let scaled = |v: Vector| (v * voxels).to_array();
    let offset = scaled(at.translation);
    let rotation = at.rotation.to_array();
    let mut give = |shape: Shape<'_>| visit(BodyPart { shape, offset, rotation });
    points.clear();
    match shape.as_typed_shape() {
        TypedShape::Ball(ball) => give(Shape::Sphere { radius: ball.radius * voxels }),
        TypedShape::Cuboid(cuboid) => give(upright(scaled(cuboid.half_extents))),
        TypedShape::Capsule(capsule) => give(Shape::Capsule {
            a: scaled(capsule.segment.a),
            b: scaled(capsule.segment.b),
            radius: capsule.radius * voxels,
        }),
        TypedShape::ConvexPolyhedron(hull) => {
            points.extend(hull.points().iter().map(|&point| scaled(point)));
            give(Shape::Convex { points });
        }
        TypedShape::Cylinder(cylinder) => {
            let (radius, half) = (cylinder.radius, cylinder.half_height);
            for k in 0..12 {
                let (sin, cos) = (k as f32 * std::f32::consts::TAU / 12.0).sin_cos();
                // A 12-gon with the area of the circle.
                let rim = Vector::new(cos, 0.0, sin) * radius * 1.0235;
                points.push(scaled(rim + Vector::Y * half));
                points.push(scaled(rim - Vector::Y * half));
            }
            give(Shape::Convex { points });
        }
        TypedShape::Compound(compound) => {
            for (pose, part) in compound.shapes() {
                each_part(part.as_ref(), at * *pose, voxels, points, visit);
            }
        }
        // Other shapes float like their bounding boxes.
        _ => {
            let aabb = shape.compute_local_aabb();
            let half = aabb.half_extents();
            if half.min_element() > 0.0 && half.is_finite() {
                let middle = scaled(at.translation + at.rotation * aabb.center());
                visit(BodyPart { shape: upright(scaled(half)), offset: middle, rotation });
            }
        }
    }
}

fn upright(half: [f32; 3]) -> Shape<'static> {
    Shape::Box { half, rotation: [0.0, 0.0, 0.0, 1.0] }
}

fn push(
    body: &mut RigidBody,
    under: &Submersion,
    placement: Placement,
    dt: f32,
    options: &WaterOptions,
) {
    let metres = placement.voxel_size_m as f32;
    let displaced = under.volume * metres.powi(3) * options.density;
    let point = body.translation() + Vector::from(under.centre) * metres;
    body.apply_impulse_at_point(Vector::from(options.gravity) * -displaced * dt, point, false);
    let velocity = body.velocity_at_point(point).to_array();
    let mass = body.mass().max(f32::MIN_POSITIVE);
    let slowed = [0, 1, 2].map(|i| {
        let area = under.area[i] * metres * metres;
        let quadratic = 0.5 * options.density * options.drag * area * velocity[i].abs();
        let rate = dt * (quadratic + options.damping * displaced) / mass;
        -velocity[i] * mass * rate / (1.0 + rate)
    });
    body.apply_impulse_at_point(Vector::from(slowed), point, false);
    let rate = dt * options.damping * (displaced / mass).min(4.0);
    let turning = body.angvel() / (1.0 + rate);
    body.set_angvel(turning, false);
}
