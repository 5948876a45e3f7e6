//! Collision planes, and the rays that particles cast into the world.

use glam::Vec3;

/// A plane that particles bounce off: the points where `normal · point` is `offset_m`; outside,
/// `normal · point` is greater. The inside is the [`HalfSpace`](crate::edit::HalfSpace) of the same
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CollisionPlane {
    /// Unit normal, out of the ground.
    pub normal: [f32; 3],
    /// Distance of the plane from the origin along the normal, in metres.
    pub offset_m: f32,
}

impl CollisionPlane {
    /// No plane: every point is outside.
    pub const NONE: CollisionPlane = CollisionPlane { normal: [0.0; 3], offset_m: -1.0 };

    /// Returns the plane through a point, in world metres, with a unit normal.
    pub fn through(point_m: impl Into<[f32; 3]>, normal: impl Into<[f32; 3]>) -> CollisionPlane {
        let (point, normal) = (Vec3::from(point_m.into()), Vec3::from(normal.into()));
        CollisionPlane { normal: normal.to_array(), offset_m: normal.dot(point) }
    }

    /// Returns the signed distance of a point in metres: positive outside, negative inside.
    pub fn distance_m(&self, point_m: impl Into<[f32; 3]>) -> f32 {
        Vec3::from(self.normal).dot(Vec3::from(point_m.into())) - self.offset_m
    }

    /// The four factors whose sum with a point's coordinates and 1 is its distance.
    pub(super) fn factors(&self) -> [f32; 4] {
        let [x, y, z] = self.normal;
        [x, y, z, -self.offset_m]
    }

    /// The plane of these factors.
    pub(super) fn from_factors([x, y, z, last]: [f32; 4]) -> CollisionPlane {
        CollisionPlane { normal: [x, y, z], offset_m: -last }
    }

    pub(super) fn is_none(&self) -> bool {
        self.normal == [0.0; 3]
    }

    /// Whether the normal has about unit length and the offset is finite.
    pub(super) fn is_valid(&self) -> bool {
        let square = Vec3::from(self.normal).length_squared();
        (0.99..=1.01).contains(&square) && self.offset_m.is_finite()
    }

    /// Whether the plane faces a ray of this direction.
    pub(super) fn faces(&self, direction: Vec3) -> bool {
        Vec3::from(self.normal).dot(direction) < 0.0
    }

    /// Returns the fraction of `leg`, starting at `point`, that lies before the plane; infinity if
    /// the leg does not lead inside.
    pub(super) fn fraction_before(&self, point: Vec3, leg: Vec3) -> f32 {
        let inwards = -Vec3::from(self.normal).dot(leg);
        if inwards > 0.0 { self.distance_m(point) / inwards } else { f32::INFINITY }
    }
}

/// A ray that asks the world for the first surface that it hits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleRay {
    /// Start, in metres, as in [`Effect::positions`](super::Effect::positions).
    pub origin_m: [f32; 3],
    /// Unit direction.
    pub direction: [f32; 3],
    /// Length, in metres.
    pub length_m: f32,
}

/// The result of a [`ParticleRay`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleHit {
    /// Hit point, in metres, as in [`Effect::positions`](super::Effect::positions).
    pub point_m: [f32; 3],
    /// Unit normal, out of the surface even if the ray came from inside.
    pub normal: [f32; 3],
    /// Whether the surface moves. Its plane is then valid for a quarter of a second and not cached.
    pub is_moving: bool,
}
