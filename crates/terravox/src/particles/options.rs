//! Options and statistics of an effect.

use super::plane::CollisionPlane;

/// Where the planes of particles come from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PlaneSource {
    /// No collisions.
    None,
    /// The same plane for all particles.
    Fixed(CollisionPlane),
    /// Rays, and the cache of other particles' hits.
    Rays {
        /// Rays that the effect may cast per update; fractions accumulate. With at least one per
        /// particle, each particle is traced in every update, with about three rays at most, and
        /// never passes through anything.
        per_update: f32,
        /// Planes per particle, 1 to 3: one is enough to bounce; resting in a groove takes two, in
        /// a corner three.
        planes: u8,
    },
}

/// How an [`Effect`](super::Effect) behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct EffectOptions {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Maximum number of particles at a time; further ones are dropped and counted.
    pub max_particles: usize,
    /// In metres per second squared.
    pub gravity: [f32; 3],
    /// Linear drag in 1/s: the fraction of the speed lost per second. The terminal speed is gravity
    /// divided by drag.
    pub drag: f32,
    /// Share of the speed into a surface that is reflected, 0 to 1.
    pub restitution: f32,
    /// Coefficient of friction, 0 or more.
    pub friction: f32,
    /// Least and longest lifetime of a particle, in seconds; `None` for unlimited.
    pub lifetime_s: Option<[f32; 2]>,
    /// Particles below this height die. In metres; may be −∞.
    #[cfg_attr(feature = "serde", serde(with = "floor"))]
    pub kill_below_m: f32,
    /// Where the planes of particles come from.
    pub planes: PlaneSource,
}

/// Serializes a height that may be −∞ as an option, since not every format has infinities.
#[cfg(feature = "serde")]
mod floor {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(height: &f32, serializer: S) -> Result<S::Ok, S::Error> {
        height.is_finite().then_some(*height).serialize(serializer)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<f32, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f32::NEG_INFINITY))
    }
}

impl Default for EffectOptions {
    /// Generic particles that live for ever, with one ray per update.
    fn default() -> EffectOptions {
        EffectOptions {
            seed: 0,
            max_particles: 16_384,
            gravity: [0.0, -9.81, 0.0],
            drag: 0.0,
            restitution: 0.4,
            friction: 0.4,
            lifetime_s: None,
            kill_below_m: f32::NEG_INFINITY,
            planes: PlaneSource::Rays { per_update: 1.0, planes: 1 },
        }
    }
}

impl EffectOptions {
    /// Panics if an option is out of range.
    pub(super) fn assert_valid(&self) {
        let EffectOptions { gravity, drag, restitution, friction, .. } = *self;
        assert!(
            gravity.iter().all(|v| v.is_finite()),
            "EffectOptions::gravity is {gravity:?}; it must be finite"
        );
        assert!(
            drag >= 0.0 && drag.is_finite(),
            "EffectOptions::drag is {drag}; it must be 0 or more, and finite"
        );
        assert!(
            (0.0..=1.0).contains(&restitution),
            "EffectOptions::restitution is {restitution}; it must be 0 to 1"
        );
        assert!(
            friction >= 0.0 && friction.is_finite(),
            "EffectOptions::friction is {friction}; it must be 0 or more, and finite"
        );
        assert!(!self.kill_below_m.is_nan(), "EffectOptions::kill_below_m is NaN");
        let lifetime = self.lifetime_s.unwrap_or_default();
        assert!(
            lifetime.iter().all(|v| *v >= 0.0 && v.is_finite()),
            "EffectOptions::lifetime_s is {lifetime:?}; both must be 0 or more, and finite"
        );
        match self.planes {
            PlaneSource::None => {}
            PlaneSource::Fixed(plane) => {
                assert!(plane.is_valid(), "PlaneSource::Fixed has the invalid {plane:?}");
            }
            PlaneSource::Rays { per_update, planes } => {
                assert!(
                    (1..=3).contains(&planes),
                    "PlaneSource::Rays::planes is {planes}; it must be 1 to 3"
                );
                assert!(
                    per_update >= 0.0,
                    "PlaneSource::Rays::per_update is {per_update}; it must be 0 or more"
                );
            }
        }
    }
}

/// Counts since an effect was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EffectStats {
    /// Particles emitted.
    pub emitted: u64,
    /// Particles dropped because there were too many.
    pub dropped: u64,
    /// Particles that died: of age, too low, too far away or with a non-finite position.
    pub died: u64,
    /// Bounces, not counting particles that slide or rest.
    pub bounces: u64,
    /// Rays cast.
    pub rays: u64,
    /// Rays that hit something.
    pub hits: u64,
    /// Look-ups in the cache.
    pub look_ups: u64,
    /// Planes taken from the cache.
    pub taken: u64,
    /// Rejected calls: invalid emitters, rates or times.
    pub refused: u64,
}
