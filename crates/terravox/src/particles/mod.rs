//! Particles that bounce: sparks, debris, rain, shell casings, in any number.
//!
//! Every particle carries its own model of the world: a plane or, for the few that must lie
//! in a corner, up to three. The test is then one dot product and a compare a particle. The
//! planes come from few rays, a budget a frame, and from one [`PlaneCache`] a world through
//! which particles share what rays found. Terrain is known only as the closure that answers
//! a ray.
//!
//! Space is world metres, Y up; time is seconds. The same seed and the same calls give the
//! same bits, with vector instructions and without.
//!
//! Source: Frykholm, "Hack Day Report" (2012), where the planes, the budget and the cache
//! are from.

mod cache;
mod columns;
mod effect;
mod emit;
mod find;
#[cfg(test)]
mod naive;
mod need;
mod own;
mod plane;
mod presets;
mod random;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
mod step;

pub use cache::{CachedPlane, PlaneCache, PlaneCacheOptions};
pub use effect::{Effect, EffectOptions, EffectStats, PlaneSource};
pub use emit::{Emitter, Spread};
pub use plane::{CollisionPlane, ParticleHit, ParticleRay};

/// Particles farther from the origin than this, summed over the axes, die, metres.
pub const FAR_M: f32 = 1e9;

#[cfg(test)]
mod tests;
