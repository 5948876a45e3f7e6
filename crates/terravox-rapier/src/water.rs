//! Bodies in water: buoyancy and drag as impulses, from the submerged part of each body.
//!
//! Buoyancy is the weight of the displaced water, at the centroid of the submerged volume. Drag is
//! quadratic in speed along each axis, by the projected area, plus a linear term for the water that
//! the body drags along; both are integrated implicitly, so that large steps do not reverse a body.

use rapier3d::parry::shape::TypedShape;
use rapier3d::prelude::{ColliderSet, Pose, RigidBody, RigidBodySet, Shape as ParryShape, Vector};
use terravox::collide::{Collider, Surfaces};
use terravox::contacts::{Body, BodyPart, Submersion, WaterScratch};
use terravox::geometry::Shape;
use terravox::math::Aabb;
use terravox::terrain::Placement;

/// A cylinder is a prism over a polygon of this many sides.
const CYLINDER_SIDES: usize = 12;

/// Radius of that polygon, relative to the circle of the same area: √(π/3).
const EQUAL_AREA_RADIUS: f32 = 1.0233;

/// Angular drag acts as if a body displaced at most this many times its mass of water.
const MAX_DISPLACED_MASSES: f32 = 4.0;

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
    /// Rate at which a submerged body as dense as water loses linear and angular speed, 1/s.
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
    /// Returns the number of bodies that it pushed.
    pub fn apply(
        &mut self,
        ground: &Collider,
        placement: Placement,
        bodies: &mut RigidBodySet,
        colliders: &ColliderSet,
        dt: f32,
        options: &WaterOptions,
    ) -> usize {
        let mut in_water = 0;
        for (_, body) in bodies.iter_mut() {
            if !body.is_dynamic() || body.is_sleeping() || !body.is_enabled() {
                continue;
            }
            if body.mass() <= 0.0 || !may_be_wet(ground, placement, body, colliders) {
                continue;
            }
            let submerged = self.submersion(ground, placement, body, colliders);
            if submerged.volume > 0.0 {
                apply_impulses(body, &submerged, placement, dt, options);
                in_water += 1;
            }
        }
        in_water
    }

    /// The submerged part of a body, in voxels.
    fn submersion(
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
                let submerged = scratch.submersion(ground, &body).found;
                moment += Vector::from(submerged.centre) * submerged.volume;
                sum.volume += submerged.volume;
                sum.body_volume += submerged.body_volume;
                sum.area = [0, 1, 2].map(|i| sum.area[i] + submerged.area[i]);
            });
        }
        if sum.volume > 0.0 {
            sum.centre = (moment / sum.volume).to_array();
        }
        sum
    }
}

/// Whether a block with water is near the bounds of a body's colliders: cheap, however many parts
/// they have.
fn may_be_wet(
    ground: &Collider,
    placement: Placement,
    body: &RigidBody,
    colliders: &ColliderSet,
) -> bool {
    let mut shapes = body.colliders().iter().filter_map(|&handle| colliders.get(handle));
    shapes.any(|collider| {
        // A collider's own position is updated only in the next step.
        let local = collider.position_wrt_parent().copied().unwrap_or(Pose::IDENTITY);
        let bounds = collider.shape().compute_aabb(&(*body.position() * local));
        let voxel = |point: Vector| placement.voxel_from_world(point.to_array().map(f64::from));
        let aabb = Aabb { min: voxel(bounds.mins), max: voxel(bounds.maxs) };
        let mut is_near = false;
        ground.broadphase().blocks_in(&aabb, Surfaces::Liquid, |_, _| is_near = true);
        is_near
    })
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
    let mut visit_here = |shape: Shape<'_>| visit(BodyPart { shape, offset, rotation });
    points.clear();
    match shape.as_typed_shape() {
        TypedShape::Ball(ball) => visit_here(Shape::Sphere { radius: ball.radius * voxels }),
        TypedShape::Cuboid(cuboid) => visit_here(aligned_box(scaled(cuboid.half_extents))),
        TypedShape::Capsule(capsule) => visit_here(Shape::Capsule {
            a: scaled(capsule.segment.a),
            b: scaled(capsule.segment.b),
            radius: capsule.radius * voxels,
        }),
        TypedShape::ConvexPolyhedron(hull) => {
            points.extend(hull.points().iter().map(|&point| scaled(point)));
            visit_here(Shape::Convex { points });
        }
        TypedShape::Cylinder(cylinder) => {
            let (radius, half) = (cylinder.radius, cylinder.half_height);
            for k in 0..CYLINDER_SIDES {
                let angle = k as f32 * std::f32::consts::TAU / CYLINDER_SIDES as f32;
                let (sin, cos) = angle.sin_cos();
                let rim = Vector::new(cos, 0.0, sin) * radius * EQUAL_AREA_RADIUS;
                points.push(scaled(rim + Vector::Y * half));
                points.push(scaled(rim - Vector::Y * half));
            }
            visit_here(Shape::Convex { points });
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
                visit(BodyPart { shape: aligned_box(scaled(half)), offset: middle, rotation });
            }
        }
    }
}

/// A box along the axes.
fn aligned_box(half: [f32; 3]) -> Shape<'static> {
    Shape::Box { half, rotation: [0.0, 0.0, 0.0, 1.0] }
}

/// Applies buoyancy and drag for a step of `dt` seconds.
fn apply_impulses(
    body: &mut RigidBody,
    submerged: &Submersion,
    placement: Placement,
    dt: f32,
    options: &WaterOptions,
) {
    let metres = placement.voxel_size_m as f32;
    let displaced = submerged.volume * metres.powi(3) * options.density;
    let point = body.translation() + Vector::from(submerged.centre) * metres;
    body.apply_impulse_at_point(Vector::from(options.gravity) * -displaced * dt, point, false);
    let velocity = body.velocity_at_point(point).to_array();
    let mass = body.mass();
    let drag = [0, 1, 2].map(|i| {
        let area = submerged.area[i] * metres * metres;
        let quadratic = 0.5 * options.density * options.drag * area * velocity[i].abs();
        let rate = dt * (quadratic + options.damping * displaced) / mass;
        -velocity[i] * mass * rate / (1.0 + rate)
    });
    body.apply_impulse_at_point(Vector::from(drag), point, false);
    let rate = dt * options.damping * (displaced / mass).min(MAX_DISPLACED_MASSES);
    body.set_angvel(body.angvel() / (1.0 + rate), false);
}
