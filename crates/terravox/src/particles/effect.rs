//! An effect: particles of one kind, moved together.

use super::cache::PlaneCache;
use super::columns::{Column, Columns, LANES};
use super::emit::Emitter;
use super::find::{LONGEST_LOOK_SECONDS, chord_seconds};
use super::need::RUNS;
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use super::random::Random;
use super::step::{Event, Step, step};
use crate::math::lanes::InstructionSet;
use glam::Vec3;

/// Updates longer than this count as this long, seconds.
const LONGEST_SECONDS: f32 = 60.0;

/// The clock is turned back when it has run for so long, so that f32 tells 0.1 ms apart.
const REWIND_SECONDS: f32 = 1024.0;

/// Blocks that are moved before those of them that have to look for planes: what is at hand.
const BLOCKS: usize = 64;

/// Where particles have their planes from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PlaneSource {
    /// Nothing is in their way.
    None,
    /// The same plane for all.
    Fixed(CollisionPlane),
    /// From rays, and from the cache of what other rays found.
    Rays {
        /// Rays that the effect may cast in an update; a fraction is saved up. From one for
        /// each particle on, each is traced in every update, with up to three rays or so, and
        /// passes nothing that they meet.
        per_update: f32,
        /// Planes that a particle keeps, 1 to 3: one is enough to bounce, to lie in a V takes
        /// two, in a corner three.
        planes: u8,
    },
}

/// How an [`Effect`] behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct EffectOptions {
    /// Where its random numbers begin.
    pub seed: u64,
    /// The most particles at a time; what is emitted beyond is dropped and counted.
    pub max_particles: usize,
    /// Metres a second, squared.
    pub gravity: [f32; 3],
    /// What share of the speed is lost a second, 1/s: gravity over this is the final speed.
    pub drag: f32,
    /// What share of the speed into a surface comes back, 0 to 1.
    pub restitution: f32,
    /// Coefficient of friction, 0 or more.
    pub friction: f32,
    /// Least and most seconds that a particle lives; `None` is for ever.
    pub lifetime_s: Option<[f32; 2]>,
    /// Particles below this height die, metres; may be −∞.
    #[cfg_attr(feature = "serde", serde(with = "floor"))]
    pub kill_below_m: f32,
    /// Where particles have their planes from.
    pub planes: PlaneSource,
}

/// A height that may be minus infinity, as formats have it that know no infinity: none.
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
    /// Particles of no particular kind that live for ever, with one ray an update.
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
    fn check(&self) {
        assert!(self.gravity.iter().all(|v| v.is_finite()), "gravity {:?}", self.gravity);
        assert!(self.drag >= 0.0 && self.drag.is_finite(), "drag {}", self.drag);
        assert!((0.0..=1.0).contains(&self.restitution), "restitution {}", self.restitution);
        assert!(self.friction >= 0.0 && self.friction.is_finite(), "friction {}", self.friction);
        assert!(!self.kill_below_m.is_nan(), "particles die below no height");
        let lifetime = self.lifetime_s.unwrap_or_default();
        assert!(lifetime.iter().all(|v| *v >= 0.0 && v.is_finite()), "lifetime {lifetime:?}");
        match self.planes {
            PlaneSource::None => {}
            PlaneSource::Fixed(plane) => assert!(plane.is_valid(), "{plane:?}"),
            PlaneSource::Rays { per_update, planes } => {
                assert!((1..=3).contains(&planes), "{planes} planes a particle");
                assert!(per_update >= 0.0, "{per_update} rays an update");
            }
        }
    }
}

/// What an effect did since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EffectStats {
    /// Particles emitted.
    pub emitted: u64,
    /// Particles that were dropped because there were too many.
    pub dropped: u64,
    /// Particles that died: of age, too low, too far or nowhere.
    pub died: u64,
    /// Bounces, not counting where particles slide or lie.
    pub bounces: u64,
    /// Rays cast.
    pub rays: u64,
    /// Rays that met something.
    pub hits: u64,
    /// Questions to the cache.
    pub look_ups: u64,
    /// Planes that were taken from the cache.
    pub taken: u64,
    /// Rejected calls: non-finite emitters or times.
    pub refused: u64,
}

/// Particles of one kind.
///
/// ```
/// use terravox::particles::{Effect, EffectOptions, Emitter, ParticleHit, ParticleRay, PlaneCache};
///
/// // A world that is a floor at height 0.
/// let floor = |ray: &ParticleRay| {
///     let distance = -ray.origin_m[1] / ray.direction[1];
///     let point_m = [0, 1, 2].map(|i| ray.origin_m[i] + distance * ray.direction[i]);
///     let hit = ParticleHit { point_m, normal: [0.0, 1.0, 0.0], moving: false };
///     (0.0..ray.length_m).contains(&distance).then_some(hit)
/// };
/// let mut cache = PlaneCache::default();
/// let mut effect = Effect::new(EffectOptions::debris());
/// effect.burst(&Emitter::at([0.0, 1.0, 0.0]), 100);
/// for _ in 0..120 {
///     effect.update(1.0 / 60.0, &mut cache, floor);
/// }
/// let on_floor = effect.positions()[1].iter().filter(|y| y.abs() < 0.01).count();
/// assert!(on_floor > 50, "{on_floor} of 100");
/// ```
#[derive(Clone, Debug)]
pub struct Effect {
    pub(super) options: EffectOptions,
    pub(super) columns: Columns,
    pub(super) random: Random,
    pub(super) instructions: InstructionSet,
    events: Vec<Event>,
    /// The search for planes.
    pub(super) lookers: Vec<usize>,
    /// Who died in this update, in order.
    dead: Vec<usize>,
    /// Seconds since the start or since it was turned back.
    pub(super) clock: f32,
    /// How long the first chord of a ray is.
    pub(super) chord_seconds: f32,
    /// Rays saved up; below 0 if the last particle took more.
    pub(super) saved_rays: f32,
    /// Where particles started in this update, off the planes that they touch; if each has
    /// its own rays.
    pub(super) starts: Vec<Vec3>,
    /// Where the next contest for a ray is, as shares of all particles.
    pub(super) next_runs: Option<[f32; RUNS]>,
    /// Particles of streams saved up.
    saved_particles: f32,
    /// The first particle that has not looked for a plane yet.
    fresh: usize,
    pub(super) stats: EffectStats,
}

impl Effect {
    /// Without particles yet.
    ///
    /// # Panics
    /// If an option is NaN or out of its range.
    pub fn new(options: EffectOptions) -> Effect {
        options.check();
        let slots = match options.planes {
            PlaneSource::Rays { planes, .. } => usize::from(planes),
            _ => 0,
        };
        Effect {
            options,
            columns: Columns::new(slots, options.lifetime_s.is_some()),
            random: Random(options.seed),
            instructions: InstructionSet::widest(),
            events: Vec::new(),
            lookers: Vec::new(),
            dead: Vec::new(),
            clock: 0.0,
            chord_seconds: chord_seconds(options.gravity),
            saved_rays: 0.0,
            starts: Vec::new(),
            next_runs: None,
            saved_particles: 0.0,
            fresh: 0,
            stats: EffectStats::default(),
        }
    }

    /// As [`Effect::new`], without hand-written vector code. The particles are the same, bit by
    /// bit.
    pub fn portable(options: EffectOptions) -> Effect {
        Effect { instructions: InstructionSet::Scalar, ..Effect::new(options) }
    }

    /// Its options.
    pub fn options(&self) -> &EffectOptions {
        &self.options
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.columns.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.count == 0
    }

    /// X, Y and Z of all particles, world metres. The order changes when particles die.
    pub fn positions(&self) -> [&[f32]; 3] {
        self.values(&self.columns.position)
    }

    /// X, Y and Z of the velocities of all particles, metres a second, in the same order.
    pub fn velocities(&self) -> [&[f32]; 3] {
        self.values(&self.columns.velocity)
    }

    fn values<'a>(&self, columns: &'a [Column; 3]) -> [&'a [f32]; 3] {
        [0, 1, 2].map(|i| &columns[i].0.as_flattened()[..self.columns.count])
    }

    /// The planes of a particle that has its own.
    ///
    /// # Panics
    /// If there is no such particle.
    pub fn planes(&self, particle: usize) -> impl Iterator<Item = CollisionPlane> {
        assert!(particle < self.columns.count, "particle {particle} of {}", self.columns.count);
        let slots = 0..self.columns.planes.len();
        let planes = slots.map(move |slot| self.columns.plane(slot, particle));
        planes.filter(|plane| !plane.is_none())
    }

    /// Seconds that particles have left, in the order of the positions; `None` if they live
    /// for ever.
    pub fn seconds_left(&self) -> Option<impl Iterator<Item = f32>> {
        let ends = self.columns.ends.as_ref()?;
        let clock = self.clock;
        Some(ends.0.as_flattened()[..self.columns.count].iter().map(move |end| end - clock))
    }

    /// What it did so far.
    pub fn stats(&self) -> EffectStats {
        self.stats
    }

    /// Emits so many particles at once. An emitter that is not all numbers emits none.
    pub fn burst(&mut self, emitter: &Emitter, count: usize) {
        if !emitter.is_valid() {
            self.stats.refused += 1;
            return;
        }
        let room = self.options.max_particles.saturating_sub(self.columns.count);
        for _ in 0..count.min(room) {
            let (position, velocity) = emitter.particle(&mut self.random);
            self.push(position, velocity);
        }
        let dropped = count.saturating_sub(room) as u64;
        self.stats.dropped = self.stats.dropped.saturating_add(dropped);
    }

    /// Emits what a stream of so many particles a second gives in so many seconds; fractions
    /// are saved up. Non-finite counts emit none.
    pub fn stream(&mut self, emitter: &Emitter, per_second: f32, seconds: f32) {
        let more = per_second * seconds;
        if !(more >= 0.0 && more.is_finite()) {
            self.stats.refused += 1;
            return;
        }
        self.saved_particles += more;
        // The cast saturates.
        let count = self.saved_particles.floor();
        self.saved_particles -= count;
        self.burst(emitter, count as usize);
    }

    /// Adds one particle: where, world metres, and how fast, metres a second.
    pub fn emit(&mut self, position_m: impl Into<[f32; 3]>, velocity: impl Into<[f32; 3]>) {
        let (position, velocity) = (Vec3::from(position_m.into()), Vec3::from(velocity.into()));
        if !(position.is_finite() && velocity.is_finite()) {
            self.stats.refused += 1;
        } else if self.columns.count >= self.options.max_particles {
            self.stats.dropped += 1;
        } else {
            self.push(position, velocity);
        }
    }

    fn push(&mut self, position: Vec3, velocity: Vec3) {
        let lifetime = self.options.lifetime_s.map(|ends| self.random.between(ends));
        self.columns.push(position, velocity, self.clock + lifetime.unwrap_or(0.0));
        self.stats.emitted += 1;
    }

    /// Removes all particles.
    pub fn clear(&mut self) {
        let slots = self.columns.planes.len();
        self.columns = Columns::new(slots, self.columns.ends.is_some());
        self.fresh = 0;
    }

    /// Moves all particles by so many seconds: spends the rays of this update, looks up planes
    /// of new particles, moves and bounces, looks up planes of those whose time has come.
    ///
    /// `ray` returns the first surface along a ray. `cache` is shared by all effects of a
    /// world. Seconds that are not positive do nothing; a minute is the most.
    pub fn update(
        &mut self,
        seconds: f32,
        cache: &mut PlaneCache,
        mut ray: impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        if seconds.is_nan() || seconds <= 0.0 {
            self.stats.refused += 1;
            return;
        }
        let seconds = seconds.min(LONGEST_SECONDS);
        if self.clock >= REWIND_SECONDS {
            self.columns.rewind(self.clock);
            self.clock = 0.0;
        }
        let mut each = false;
        if let PlaneSource::Rays { per_update, .. } = self.options.planes {
            each = per_update >= self.columns.count as f32;
            if each {
                self.ask_for_each(seconds, cache, &mut ray);
            } else {
                self.spend_rays(per_update, cache, &mut ray);
                self.lookers.clear();
                self.lookers.extend(self.fresh..self.columns.count);
                self.look_up_all(cache);
            }
        }
        self.clock += seconds;
        self.move_all(seconds, cache, each);
        if each {
            self.check_each(cache, &mut ray);
            self.saved_rays = 0.0;
        }
        self.bury();
        self.fresh = self.columns.count;
    }

    fn step(&self, seconds: f32) -> Step {
        let EffectOptions { gravity, drag, restitution, friction, .. } = self.options;
        Step {
            seconds,
            pull: gravity.map(|v| v * seconds),
            keep: 1.0 / (1.0 + drag * seconds),
            restitution,
            friction,
            rest_speed: 2.0 * Vec3::from(gravity).length() * seconds,
            kill_below: self.options.kill_below_m,
            clock: self.clock,
            fixed: match self.options.planes {
                PlaneSource::Fixed(plane) => Some(plane),
                _ => None,
            },
        }
    }

    /// Casts what rays this update has, for particles that need them.
    fn spend_rays(
        &mut self,
        per_update: f32,
        cache: &mut PlaneCache,
        ray: &mut impl FnMut(&ParticleRay) -> Option<ParticleHit>,
    ) {
        self.saved_rays = (self.saved_rays + per_update).min(per_update + 1.0);
        while self.saved_rays >= 1.0 {
            let particle = self.neediest(cache);
            self.cast(particle, LONGEST_LOOK_SECONDS, cache, ray);
        }
    }

    /// Moves particles, a few blocks at a time, so that those that have to look for planes do
    /// so while they are at hand. Notes who died.
    fn move_all(&mut self, seconds: f32, cache: &PlaneCache, each: bool) {
        let (same, mut events) = (self.step(seconds), std::mem::take(&mut self.events));
        let blocks = self.columns.count.div_ceil(LANES);
        for first in (0..blocks).step_by(BLOCKS) {
            events.clear();
            let some = first..blocks.min(first + BLOCKS);
            step(&mut self.columns, &same, some, self.instructions, &mut events);
            self.lookers.clear();
            for event in &events {
                self.note(event, each);
            }
            self.look_up_all(cache);
        }
        self.events = events;
    }

    /// Notes who died and who looks for planes: those that wake and, if they keep several, so
    /// that they lie in a corner, those that bounced. None do if each has its own rays.
    fn note(&mut self, event: &Event, each: bool) {
        let particles = |bits: u8| {
            let mut bits = u32::from(bits);
            std::iter::from_fn(move || {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
                (lane < LANES).then_some(event.block * LANES + lane)
            })
        };
        self.stats.bounces += u64::from(event.bounced.count_ones());
        self.dead.extend(particles(event.dead));
        particles(event.awake).for_each(|particle| self.drop_moving(particle));
        if !each && !self.columns.planes.is_empty() {
            let several = self.columns.planes.len() > 1;
            let bits = event.awake | if several { event.bounced } else { 0 };
            self.lookers.extend(particles(bits & !event.dead));
        }
    }

    /// Removes who died.
    fn bury(&mut self) {
        // From the end, so that the last one, which takes the place, is not to be removed.
        while let Some(particle) = self.dead.pop() {
            self.columns.remove(particle);
            self.stats.died += 1;
        }
    }

    /// Forgets planes that a change in a box, world metres, may have made wrong: of every
    /// particle whose place, or whose way to one of its planes, touches it.
    pub fn forget(&mut self, min_m: impl Into<[f32; 3]>, max_m: impl Into<[f32; 3]>) {
        let (min, max) = (Vec3::from(min_m.into()), Vec3::from(max_m.into()));
        for particle in 0..self.columns.count {
            let from = self.columns.position(particle);
            let heading = self.heading(self.columns.velocity(particle));
            for slot in 0..self.columns.planes.len() {
                let plane = self.columns.plane(slot, particle);
                let share = plane.share_before(from, heading);
                let to = if share.is_finite() { from + share * heading } else { from };
                let apart = from.min(to).cmpgt(max).any() || from.max(to).cmplt(min).any();
                if !apart && !plane.is_none() {
                    self.columns.set_plane(slot, particle, CollisionPlane::NONE, false);
                    self.columns.wakes.set(particle, self.clock);
                }
            }
        }
    }
}
