//! Chooses which particles get the rays.
//!
//! A ray helps least where a cached plane or an own ray already shows where the particle goes. So
//! each ray goes to the winner of a contest between a few randomly chosen runs of particles: the
//! one whose plane was found farthest from where the particle will hit it, weighted by how soon
//! that is. The winner looks up the cache once more; if that helps, there is another contest. Every
//! particle is in as many contests as any other.

use super::cache::PlaneCache;
use super::cast::MAX_LOOK_AHEAD_SECONDS;
use super::effect::{Effect, RUNS};
use super::look_up::PlaneDistance;
use super::plane::{ParticleHit, ParticleRay};
use super::random::Random;

/// Particles per run: adjacent ones share cache lines.
const RUN_PARTICLES: usize = 8;

/// The most contests for one ray.
const MAX_CONTESTS: usize = 4;

/// The error assumed for a particle without a plane. In metres.
const NO_PLANE_ERROR_M: f32 = 8.0;

/// Collisions farther away than this many first chords count as this far.
const MAX_CHORDS_AWAY: f32 = 4.0;

/// Share of the need that must remain after a look-up for the particle to get the ray.
const MIN_NEED_LEFT: f32 = 0.7;

impl Effect {
    /// Spends the rays of this update on the particles that need them most.
    pub(super) fn spend_rays(
        &mut self,
        per_update: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        self.saved_rays = (self.saved_rays + per_update).min(per_update + 1.0);
        while self.saved_rays >= 1.0 {
            let particle = self.neediest(cache);
            self.cast(particle, MAX_LOOK_AHEAD_SECONDS, cache, ray);
        }
    }

    /// Returns a particle that needs a ray more than some others. There must be at least one
    /// particle.
    fn neediest(&mut self, cache: &PlaneCache) -> usize {
        let mut winner = 0;
        for _ in 0..MAX_CONTESTS {
            let need;
            (winner, need) = self.contest();
            self.look_up(winner, cache);
            if self.need(winner) >= MIN_NEED_LEFT * need {
                break;
            }
        }
        winner
    }

    /// Returns the neediest particle of a few runs, and its need. Draws and prefetches the runs of
    /// the next contest first.
    fn contest(&mut self) -> (usize, f32) {
        let (count, mut best) = (self.columns.count, (0, f32::NEG_INFINITY));
        let draw = |random: &mut Random| [0; RUNS].map(|_| random.unit());
        let next = draw(&mut self.random);
        let now = self.next_runs.replace(next).unwrap_or_else(|| draw(&mut self.random));
        // The fractions are below 1, but products round.
        let first = |drawn: f32| ((drawn * count as f32) as usize).min(count - 1);
        next.iter().for_each(|&drawn| self.columns.prefetch_run(first(drawn), RUN_PARTICLES));
        for first in now.map(first) {
            for particle in (first..first + RUN_PARTICLES.min(count)).map(|at| at % count) {
                let need = self.need(particle);
                if need > best.1 {
                    best = (particle, need);
                }
            }
        }
        best
    }

    /// Returns how much a ray would help: the error of the first plane that the particle hits,
    /// weighted by how soon that is and how long the particle went without a ray.
    fn need(&self, particle: usize) -> f32 {
        let position = self.columns.position(particle);
        let heading = self.heading(self.columns.velocity(particle));
        let PlaneDistance { fraction, error_m } = self.first_plane(particle, position, heading);
        let unknown_seconds = (self.clock - self.columns.known_until[particle]).min(1.0);
        error_m.min(NO_PLANE_ERROR_M) * unknown_seconds
            / (1.0 + fraction.clamp(0.0, MAX_CHORDS_AWAY))
    }
}
