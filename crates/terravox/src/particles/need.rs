//! Which particles get the rays.
//!
//! A ray helps those least whom others told where they go, and those that an own ray told.
//! So each ray is a contest between a few runs of particles that are picked at random: it
//! goes to the one whose plane was found farthest from where the particle meets it, the
//! sooner that is, the more. Before that the winner asks the cache once more; if it knows
//! better, there is another contest. Every particle is in as many contests as any other.

use super::cache::PlaneCache;
use super::effect::Effect;
use super::random::Random;

/// Runs in a contest, and the particles of each: those beside each other are read at once.
pub(super) const RUNS: usize = 2;
const RUN: usize = 8;

/// The most contests for one ray.
const CONTESTS: usize = 4;

/// A particle without a plane counts as if its plane had been found so far away, metres.
const UNKNOWN_M: f32 = 8.0;

/// A particle that meets its plane no sooner than after so many first chords counts as if then.
const LATEST: f32 = 4.0;

/// A need holds after a question to the cache if so much of it is left.
const LEFT: f32 = 0.7;

impl Effect {
    /// A particle that needs a ray more than some others. There must be any.
    pub(super) fn neediest(&mut self, cache: &PlaneCache) -> usize {
        let mut winner = 0;
        for _ in 0..CONTESTS {
            let need;
            (winner, need) = self.contest();
            self.look_up(winner, cache);
            if self.need(winner) >= LEFT * need {
                break;
            }
        }
        winner
    }

    /// The neediest particle of a few runs, and its need. The runs of the next contest are
    /// drawn and fetched before these are looked at.
    fn contest(&mut self) -> (usize, f32) {
        let (count, mut best) = (self.columns.count, (0, f32::NEG_INFINITY));
        let draw = |random: &mut Random| [0; RUNS].map(|_| random.unit());
        let next = draw(&mut self.random);
        let now = self.next_runs.replace(next).unwrap_or_else(|| draw(&mut self.random));
        // The numbers are below 1, but products round.
        let first = |drawn: f32| ((drawn * count as f32) as usize).min(count - 1);
        next.iter().for_each(|&drawn| self.columns.fetch(first(drawn), RUN));
        for first in now.map(first) {
            for particle in (first..first + RUN.min(count)).map(|at| at % count) {
                let need = self.need(particle);
                if need > best.1 {
                    best = (particle, need);
                }
            }
        }
        best
    }

    /// How much a ray would help: metres from where the plane that a particle meets first was
    /// found to where it meets it, by how soon that is and by how long it went without a ray.
    fn need(&self, particle: usize) -> f32 {
        let heading = self.heading(self.columns.velocity(particle));
        let (share, off) = self.first_met(particle, self.columns.position(particle), heading);
        let unknown = (self.clock - self.columns.known_until[particle]).min(1.0);
        off.min(UNKNOWN_M) * unknown / (1.0 + share.clamp(0.0, LATEST))
    }
}
