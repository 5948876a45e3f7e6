//! Bouncing particles: sparks, debris, rain, shell casings, in any number.
//!
//! Every particle has its own model of the world: one collision plane or, if it must be able to
//! rest in a corner, up to three. The collision test is then one dot product and one comparison per
//! particle. A few rays per frame find the planes, and one [`PlaneCache`] per world shares them
//! between particles. The terrain is only known through the closure that casts a ray.
//!
//! Positions are in metres from [`Terrain::effect_origin`](crate::Terrain::effect_origin) (world
//! metres until that is set), Y up; times in seconds. The same seed and the same calls give the
//! same bits, with SIMD and without.
//!
//! Entry: [`Effect::update`]. It spends the rays of the frame (`ray_budget` picks particles, `cast`
//! traces their paths), looks up planes for new particles (`look_up`), moves all particles
//! (`step`), and looks up planes again for those that are due. With at least one ray per particle,
//! `trace` follows each particle exactly.
//!
//! Source: Frykholm, "Hack Day Report" (2012): planes, ray budget and cache.

mod cache;
mod cast;
mod columns;
mod effect;
mod emitter;
mod look_up;
#[cfg(test)]
mod naive;
mod options;
mod plane;
mod presets;
mod random;
mod ray_budget;
#[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
mod simd;
mod step;
mod trace;

pub use cache::{CachedPlane, PlaneCache, PlaneCacheOptions};
pub use effect::Effect;
pub use emitter::{Emitter, Spread};
pub use options::{EffectOptions, EffectStats, PlaneSource};
pub use plane::{CollisionPlane, ParticleHit, ParticleRay};

/// Particles farther from the origin than this, summed over the axes, die. In metres.
pub const FAR_M: f32 = 1e9;

#[cfg(test)]
mod tests;
