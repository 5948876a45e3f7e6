//! Collision planes, and what particles ask of the world.

use glam::Vec3;

/// What a particle bounces off: the points where `normal · point + offset_m` is 0; it is
/// positive on the outside.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CollisionPlane {
    /// Unit, out of the ground.
    pub normal: [f32; 3],
    /// Metres.
    pub offset_m: f32,
}

impl CollisionPlane {
    /// No plane: every point lies outside.
    pub const NONE: CollisionPlane = CollisionPlane { normal: [0.0; 3], offset_m: 1.0 };

    /// The plane through a point, world metres, with a unit normal.
    pub fn through(point_m: impl Into<[f32; 3]>, normal: impl Into<[f32; 3]>) -> CollisionPlane {
        let (point, normal) = (Vec3::from(point_m.into()), Vec3::from(normal.into()));
        CollisionPlane { normal: normal.to_array(), offset_m: -normal.dot(point) }
    }

    /// Metres that a point lies outside; negative inside.
    pub fn distance_m(&self, point_m: impl Into<[f32; 3]>) -> f32 {
        Vec3::from(self.normal).dot(Vec3::from(point_m.into())) + self.offset_m
    }

    pub(super) fn is_none(&self) -> bool {
        self.normal == [0.0; 3]
    }

    /// Whether the normal is a unit, roughly, and the offset a number.
    pub(super) fn is_valid(&self) -> bool {
        let square = Vec3::from(self.normal).length_squared();
        (0.99..=1.01).contains(&square) && self.offset_m.is_finite()
    }

    /// Whether a direction leads from the outside to the inside.
    pub(super) fn leads_inside(&self, direction: Vec3) -> bool {
        Vec3::from(self.normal).dot(direction) < 0.0
    }

    /// How much of the way from `point` along `leg` lies before the plane; infinite if the
    /// leg does not lead inside.
    pub(super) fn share_before(&self, point: Vec3, leg: Vec3) -> f32 {
        let inwards = -Vec3::from(self.normal).dot(leg);
        if inwards > 0.0 { self.distance_m(point) / inwards } else { f32::INFINITY }
    }
}

/// A question to the world: the first surface along a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleRay {
    /// Where it starts, world metres.
    pub origin_m: [f32; 3],
    /// Unit.
    pub direction: [f32; 3],
    /// Where it ends, metres from its origin.
    pub length_m: f32,
}

/// The result of a [`ParticleRay`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleHit {
    /// Where, world metres.
    pub point_m: [f32; 3],
    /// Unit, out of what was hit, also if the ray came from inside.
    pub normal: [f32; 3],
    /// Whether it moves. Its plane is then the particle's own for a quarter of a second, and
    /// is shared with no other.
    pub moving: bool,
}
