//! Emitters: where particles start, in which directions and how fast.

use super::FAR_M;
use super::random::Random;
use glam::Vec3;

/// The distribution of directions in which particles leave.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Spread {
    /// All directions.
    Sphere,
    /// Directions on the outside of a plane.
    Hemisphere {
        /// Normal of the plane, of any length.
        normal: [f32; 3],
    },
    /// A cone, uniform over its cross section.
    Cone {
        /// Its axis, of any length.
        direction: [f32; 3],
        /// Its radius at a distance of one metre, in metres: the tangent of half its angle.
        radius_at_1_m: f32,
    },
}

/// Start positions and velocities of particles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Emitter {
    /// Position in metres, as in [`Effect::positions`](super::Effect::positions).
    pub position_m: [f32; 3],
    /// Particles start in a ball of this radius around it. In metres.
    pub radius_m: f32,
    /// Their directions.
    pub spread: Spread,
    /// Least and greatest speed, in metres per second.
    pub speed_m_s: [f32; 2],
    /// Velocity of the emitter, added to that of each particle. In metres per second.
    pub velocity_m_s: [f32; 3],
}

impl Emitter {
    /// Emits from one point in all directions at 1 to 4 m/s.
    pub fn at(position_m: impl Into<[f32; 3]>) -> Emitter {
        Emitter {
            position_m: position_m.into(),
            radius_m: 0.0,
            spread: Spread::Sphere,
            speed_m_s: [1.0, 4.0],
            velocity_m_s: [0.0; 3],
        }
    }

    /// Whether all values are finite and within [`FAR_M`], and the direction is not zero.
    pub(super) fn is_valid(&self) -> bool {
        let near = |v: [f32; 3]| v.iter().all(|v| v.abs() < FAR_M);
        let directed = match self.spread {
            Spread::Sphere => true,
            Spread::Hemisphere { normal } => is_direction(normal),
            Spread::Cone { direction, radius_at_1_m } => {
                is_direction(direction) && radius_at_1_m.abs() < FAR_M
            }
        };
        let [least, most] = self.speed_m_s;
        near(self.position_m)
            && near(self.velocity_m_s)
            && near([self.radius_m, least, most])
            && directed
    }

    /// Returns the position and velocity of a new particle. The emitter must be valid.
    pub(super) fn particle(&self, random: &mut Random) -> (Vec3, Vec3) {
        let position = Vec3::from(self.position_m) + self.radius_m * random.in_ball();
        let direction = match self.spread {
            Spread::Sphere => random.in_ball().normalize(),
            Spread::Hemisphere { normal } => {
                let direction = random.in_ball().normalize();
                if direction.dot(unit(normal)) < 0.0 { -direction } else { direction }
            }
            Spread::Cone { direction, radius_at_1_m } => {
                let axis = unit(direction);
                let (across, over) = axis.any_orthonormal_pair();
                let [x, y] = random.in_disc().map(|v| v * radius_at_1_m);
                (axis + x * across + y * over).normalize()
            }
        };
        (position, direction * random.between(self.speed_m_s) + Vec3::from(self.velocity_m_s))
    }
}

/// Whether a vector can be normalized in f32.
fn is_direction(vector: [f32; 3]) -> bool {
    let [x, y, z] = vector.map(f64::from);
    (1e-20..1e30).contains(&(x * x + y * y + z * z))
}

fn unit(vector: [f32; 3]) -> Vec3 {
    Vec3::from(vector).normalize()
}
