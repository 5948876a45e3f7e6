//! What is asked about: shapes that move as one.

use glam::{Quat, Vec3};

use crate::geometry::{Shape, ShapeCore};

/// A shape of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPart<'a> {
    /// The shape.
    pub shape: Shape<'a>,
    /// Where the shape's origin lies in the body, voxels.
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

/// Shapes that move as one, where they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body<'a> {
    /// One or more shapes; they may overlap.
    pub parts: &'a [BodyPart<'a>],
    /// The body's origin, voxels.
    pub position: [f64; 3],
    /// Quaternion x, y, z, w of unit length: world from body.
    pub rotation: [f32; 4],
}

/// A part of a body, where it is.
pub(super) struct PartPose<'a> {
    /// About its own origin, along the world's axes.
    pub core: ShapeCore<'a>,
    /// Its origin, from the body's position.
    pub at: Vec3,
}

/// A part of a body that is turned by `turn`; `points` holds a hull's points, turned.
/// `None` if its shape is not valid.
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
