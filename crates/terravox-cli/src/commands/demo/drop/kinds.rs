//! The five kinds of bodies: their shapes for Rapier and for pictures.

use glam::DVec3;
use rapier3d::parry::shape::TypedShape;
use rapier3d::prelude::{
    CoefficientCombineRule, Collider, ColliderBuilder, Pose, Shape, SharedShape, Vector,
};
use terravox_render::SolidShape;

/// Kinds of bodies: balls, boxes, capsules, hulls and jacks, which are five boxes each.
pub const KINDS: [&str; 5] = ["ball", "box", "capsule", "hull", "jack"];

/// Kilograms per cubic metre: cork, pine, ice, brick and stone. Three of them float.
pub const DENSITIES: [f32; 5] = [240.0, 520.0, 900.0, 1700.0, 2600.0];

/// Colours of the kinds, sRGB.
const COLOURS: [[u8; 3]; 5] =
    [[228, 46, 34], [250, 196, 20], [240, 240, 236], [150, 60, 220], [255, 118, 170]];

/// Friction of rubber, so that bodies come to rest on hillsides.
const FRICTION: f32 = 1.0;

/// Corners of a hull.
const CORNERS: usize = 12;

/// Returns the collider of a body: kinds in turn, then densities, then sizes.
pub fn collider(number: usize) -> Option<Collider> {
    let size = 0.7 + 0.5 * noise(number, 0);
    let builder = match kind_of(number) {
        0 => ColliderBuilder::ball(0.85 * size),
        1 => {
            let [x, y, z] = [1, 2, 3].map(|axis| (0.6 + 0.5 * noise(number, axis)) * size);
            ColliderBuilder::cuboid(x, y, z)
        }
        2 => ColliderBuilder::capsule_y(0.75 * size, 0.55 * size),
        3 => ColliderBuilder::convex_hull(&hull(number, size))?,
        _ => jack(size),
    };
    let builder = builder.density(density_of(number)).friction(FRICTION);
    // The body's friction counts: on grass boxes would slide.
    Some(builder.friction_combine_rule(CoefficientCombineRule::Max).build())
}

/// Returns the index of a body in [`KINDS`].
pub fn kind_of(number: usize) -> usize {
    number % KINDS.len()
}

/// Returns the density of a body, kilograms per cubic metre.
pub fn density_of(number: usize) -> f32 {
    DENSITIES[number / KINDS.len() % DENSITIES.len()]
}

/// Returns the colour of a body: its kind's, darker for denser bodies.
pub fn colour_of(number: usize) -> [u8; 3] {
    let shade = 1.0 - 0.17 * (density_of(number) - DENSITIES[0]) / 1000.0;
    COLOURS[kind_of(number)].map(|v| (f32::from(v) * shade) as u8)
}

/// Returns points around a ball, evenly spread at random radii.
fn hull(number: usize, size: f32) -> Vec<Vector> {
    let point = |i: usize| {
        let y = 1.0 - (2.0 * i as f32 + 1.0) / CORNERS as f32;
        let (sin, cos) = (2.4 * i as f32).sin_cos();
        let across = (1.0 - y * y).sqrt();
        let radius = (0.75 + 0.45 * noise(number, 4 + i as u64)) * size;
        Vector::new(cos * across, y, sin * across) * radius
    };
    (0..CORNERS).map(point).collect()
}

/// Returns a beam with four stubs: six arms that do not overlap, so that volumes are exact.
fn jack(size: f32) -> ColliderBuilder {
    let (half, arm) = (0.3 * size, 0.45 * size);
    let mut parts = vec![(Pose::IDENTITY, SharedShape::cuboid(half + 2.0 * arm, half, half))];
    for [y, z] in [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]] {
        let middle = Vector::new(0.0, y, z) * (half + arm);
        let long = |v: f32| if v == 0.0 { half } else { arm };
        let stub = SharedShape::cuboid(half, long(y), long(z));
        parts.push((Pose::from_translation(middle), stub));
    }
    ColliderBuilder::compound(parts)
}

/// Returns a number from 0 to 1 for a body and a purpose.
pub fn noise(number: usize, purpose: u64) -> f32 {
    let mut h = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ purpose.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    h = (h ^ (h >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h = (h ^ (h >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (h >> 40) as f32 / (1 << 24) as f32
}

/// Appends the picture's shapes for a collider shape at a pose in metres; `to_cells` converts
/// metres to the picture's cells.
pub fn add_solid_shapes(
    shape: &dyn Shape,
    at: Pose,
    to_cells: &dyn Fn(Vector) -> DVec3,
    out: &mut Vec<SolidShape>,
) {
    let put = |point: Vector| to_cells(at * point);
    // `to_cells` is a uniform scale and a translation.
    let scaled = |length: f32| to_cells(Vector::X * length).distance(to_cells(Vector::ZERO));
    match shape.as_typed_shape() {
        TypedShape::Ball(ball) => {
            out.push(SolidShape::Ball { centre: put(Vector::ZERO), radius: scaled(ball.radius) });
        }
        TypedShape::Capsule(capsule) => out.push(SolidShape::Capsule {
            ends: [capsule.segment.a, capsule.segment.b].map(put),
            radius: scaled(capsule.radius),
        }),
        TypedShape::Cuboid(cuboid) => {
            let side = |i: usize, axis: usize| if i >> axis & 1 == 0 { -1.0 } else { 1.0 };
            let corner =
                |i: usize| Vector::from([0, 1, 2].map(|a| side(i, a))) * cuboid.half_extents;
            out.push(SolidShape::Hull((0..8).map(|i| put(corner(i))).collect()));
        }
        TypedShape::ConvexPolyhedron(hull) => {
            out.push(SolidShape::Hull(hull.points().iter().map(|&point| put(point)).collect()));
        }
        TypedShape::Compound(compound) => {
            for (pose, part) in compound.shapes() {
                add_solid_shapes(part.as_ref(), at * *pose, to_cells, out);
            }
        }
        _ => {}
    }
}
