//! Bodies: shapes that move as one.

use glam::{Quat, Vec3};

use crate::geometry::{Shape, ShapeCore};

/// A shape of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPart<'a> {
    /// The shape.
    pub shape: Shape<'a>,
    /// Position of the shape's origin in the body, voxels.
    pub offset: [f32; 3],
    /// Quaternion x, y, z, w of unit length: body from shape.
    pub rotation: [f32; 4],
}

impl<'a> BodyPart<'a> {
    /// A shape at the body's origin.
    pub fn new(shape: Shape<'a>) -> BodyPart<'a> {
        BodyPart { shape, offset: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] }
    }
}

/// A compound of shapes that move as one, and its pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body<'a> {
    /// One or more shapes; they may overlap.
    pub parts: &'a [BodyPart<'a>],
    /// The body's origin, voxels.
    pub position: [f64; 3],
    /// Quaternion x, y, z, w of unit length: world from body.
    pub rotation: [f32; 4],
}

/// A part of a body, posed in the world.
pub(super) struct PartPose<'a> {
    /// The shape about its own origin, along the world's axes.
    pub core: ShapeCore<'a>,
    /// The shape's origin, relative to the body's position.
    pub at: Vec3,
}

/// Poses a part of a body that is rotated by `turn`. `points` is memory for the rotated points
/// of a hull. `None` if the part is invalid.
pub(super) fn pose<'a>(
    part: &BodyPart<'_>,
    turn: Quat,
    points: &'a mut Vec<[f32; 3]>,
) -> Option<PartPose<'a>> {
    let own = Quat::from_array(part.rotation);
    let offset = Vec3::from(part.offset);
    if (own.length_squared() - 1.0).abs() > 1e-3 || !offset.is_finite() {
        return None;
    }
    let world = turn * own.normalize();
    let turned = |p: [f32; 3]| (world * Vec3::from(p)).to_array();
    let shape = match part.shape {
        Shape::Sphere { radius } => Shape::Sphere { radius },
        Shape::Capsule { a, b, radius } => Shape::Capsule { a: turned(a), b: turned(b), radius },
        Shape::Box { half, rotation } => {
            let rotation = (world * Quat::from_array(rotation)).to_array();
            Shape::Box { half, rotation }
        }
        Shape::Convex { points: own } => {
            points.clear();
            points.extend(own.iter().map(|&p| turned(p)));
            Shape::Convex { points }
        }
    };
    Some(PartPose { core: ShapeCore::new(&shape)?, at: turn * offset })
}
