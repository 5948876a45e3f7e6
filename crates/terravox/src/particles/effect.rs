//! An effect: particles of one kind, updated together.

use super::cache::PlaneCache;
use super::columns::{LANES, ParticleColumn, ParticleColumns};
use super::emitter::Emitter;
use super::options::{EffectOptions, EffectStats, PlaneSource};
use super::plane::{CollisionPlane, ParticleHit, ParticleRay};
use super::random::Random;
use super::step::{BlockEvent, StepParams, step};
use crate::math::lanes::InstructionSet;
use glam::Vec3;

/// Runs of particles that compete for a ray.
pub(super) const RUNS: usize = 2;

/// The first chord of a path leaves the parabola by at most this. A smaller error would cost more
/// rays than it is worth. In metres.
const CHORD_ERROR_M: f32 = 1.0;

/// Longer updates are clamped to this. In seconds.
const MAX_UPDATE_SECONDS: f32 = 60.0;

/// The clock is set back after this long, so that f32 resolves 0.1 ms.
const CLOCK_REWIND_SECONDS: f32 = 1024.0;

/// Blocks moved before their particles look up planes: few enough to stay in the CPU's cache.
const BATCH_BLOCKS: usize = 64;

/// Particles of one kind.
///
/// ```
/// use terravox::particles::{Effect, EffectOptions, Emitter, ParticleHit, ParticleRay, PlaneCache};
///
/// // The world is a floor at height 0.
/// let floor = |ray: &ParticleRay| {
///     let distance = -ray.origin_m[1] / ray.direction[1];
///     let point_m = [0, 1, 2].map(|i| ray.origin_m[i] + distance * ray.direction[i]);
///     let hit = ParticleHit { point_m, normal: [0.0, 1.0, 0.0], is_moving: false };
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
    pub(super) columns: ParticleColumns,
    pub(super) random: Random,
    pub(super) instructions: InstructionSet,
    events: Vec<BlockEvent>,
    /// Particles that look up planes.
    pub(super) lookers: Vec<usize>,
    /// Particles that died in this update, sorted.
    dead: Vec<usize>,
    /// Seconds since the start or since it was set back.
    pub(super) clock: f32,
    /// Duration of the first chord of a path.
    pub(super) chord_seconds: f32,
    /// Unspent rays; negative if the last particle took more.
    pub(super) saved_rays: f32,
    /// If all particles are traced: where each started in this update, lifted off the planes that
    /// it touches.
    pub(super) starts: Vec<Vec3>,
    /// The runs of particles that compete for the next ray, as fractions of all particles.
    pub(super) next_runs: Option<[f32; RUNS]>,
    /// Unemitted fractions of streams.
    saved_particles: f32,
    /// The first particle that has not looked up a plane yet.
    first_new: usize,
    pub(super) stats: EffectStats,
}

impl Effect {
    /// Creates an effect without particles.
    ///
    /// # Panics
    /// If an option is NaN or out of range.
    pub fn new(options: EffectOptions) -> Effect {
        options.assert_valid();
        let slots = match options.planes {
            PlaneSource::Rays { planes, .. } => usize::from(planes),
            _ => 0,
        };
        Effect {
            options,
            columns: ParticleColumns::new(slots, options.lifetime_s.is_some()),
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
            first_new: 0,
            stats: EffectStats::default(),
        }
    }

    /// As [`Effect::new`], without hand-written SIMD, except in WebAssembly with vectors. The
    /// results are bit-identical.
    pub fn portable(options: EffectOptions) -> Effect {
        Effect { instructions: InstructionSet::Plain, ..Effect::new(options) }
    }

    /// Returns the options.
    pub fn options(&self) -> &EffectOptions {
        &self.options
    }

    /// Returns the number of particles.
    pub fn len(&self) -> usize {
        self.columns.count
    }

    /// Whether there are no particles.
    pub fn is_empty(&self) -> bool {
        self.columns.count == 0
    }

    /// Returns X, Y and Z of all particles, in metres from
    /// [`Terrain::effect_origin`](crate::Terrain::effect_origin), (0, 0, 0) by default. The order
    /// changes when particles die.
    pub fn positions(&self) -> [&[f32]; 3] {
        self.values(&self.columns.position)
    }

    /// Returns X, Y and Z of the velocities of all particles, in metres per second, in the order of
    /// [`Effect::positions`].
    pub fn velocities(&self) -> [&[f32]; 3] {
        self.values(&self.columns.velocity)
    }

    fn values<'a>(&self, columns: &'a [ParticleColumn; 3]) -> [&'a [f32]; 3] {
        [0, 1, 2].map(|i| &columns[i].0.as_flattened()[..self.columns.count])
    }

    /// Returns the planes of a particle, without those of [`PlaneSource::Fixed`].
    ///
    /// # Panics
    /// If there is no such particle.
    pub fn planes(&self, particle: usize) -> impl Iterator<Item = CollisionPlane> {
        assert!(particle < self.columns.count, "particle {particle} of {}", self.columns.count);
        let slots = 0..self.columns.planes.len();
        let planes = slots.map(move |slot| self.columns.plane(slot, particle));
        planes.filter(|plane| !plane.is_none())
    }

    /// Returns the seconds that each particle has left to live, in the order of
    /// [`Effect::positions`]; `None` if lifetimes are unlimited.
    pub fn seconds_left(&self) -> Option<impl Iterator<Item = f32>> {
        let ends = self.columns.ends.as_ref()?;
        let clock = self.clock;
        Some(ends.0.as_flattened()[..self.columns.count].iter().map(move |end| end - clock))
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> EffectStats {
        self.stats
    }

    /// Emits `count` particles at once. Invalid emitters (non-finite or without a direction) emit
    /// none.
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

    /// Emits a stream of `per_second` particles per second for `seconds`. Fractions accumulate.
    /// Negative and non-finite counts emit none.
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

    /// Emits one particle: position in metres, as in [`Effect::positions`], velocity in metres per
    /// second.
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
        self.columns = ParticleColumns::new(slots, self.columns.ends.is_some());
        self.first_new = 0;
    }

    /// Advances all particles by `seconds`, at most 60: spends the rays of this update, looks up
    /// planes for new particles, moves and bounces all, and looks up planes for those that are due.
    /// NaN, 0 and negative times do nothing.
    ///
    /// `ray` returns the first surface along a ray. `cache` is shared by all effects of a world.
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
        let seconds = seconds.min(MAX_UPDATE_SECONDS);
        if self.clock >= CLOCK_REWIND_SECONDS {
            self.columns.rewind(self.clock);
            self.clock = 0.0;
        }
        let mut traces_all = false;
        if let PlaneSource::Rays { per_update, .. } = self.options.planes {
            traces_all = per_update >= self.columns.count as f32;
            if traces_all {
                self.prepare_traces(seconds, cache, &mut ray);
            } else {
                self.spend_rays(per_update, cache, &mut ray);
                self.lookers.clear();
                self.lookers.extend(self.first_new..self.columns.count);
                self.look_up_all(cache);
            }
        }
        self.clock += seconds;
        self.move_all(seconds, cache, traces_all);
        if traces_all {
            self.finish_traces(cache, &mut ray);
            self.saved_rays = 0.0;
        }
        self.remove_dead();
        self.first_new = self.columns.count;
    }

    fn step(&self, seconds: f32) -> StepParams {
        let EffectOptions { gravity, drag, restitution, friction, .. } = self.options;
        StepParams {
            seconds,
            gravity_speed: gravity.map(|v| v * seconds),
            speed_kept: 1.0 / (1.0 + drag * seconds),
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

    /// Moves all particles, a few blocks at a time, so that those that look up planes do so while
    /// they are in the CPU's cache.
    fn move_all(&mut self, seconds: f32, cache: &PlaneCache, traces_all: bool) {
        let (same, mut events) = (self.step(seconds), std::mem::take(&mut self.events));
        let blocks = self.columns.count.div_ceil(LANES);
        for first in (0..blocks).step_by(BATCH_BLOCKS) {
            events.clear();
            let some = first..blocks.min(first + BATCH_BLOCKS);
            step(&mut self.columns, &same, some, self.instructions, &mut events);
            self.lookers.clear();
            for event in &events {
                self.handle_event(event, traces_all);
            }
            self.look_up_all(cache);
        }
        self.events = events;
    }

    /// Collects particles that died and, unless all are traced, those that look up planes: those
    /// that are due and, if particles have several planes and so may rest in corners, those that
    /// bounced.
    fn handle_event(&mut self, event: &BlockEvent, traces_all: bool) {
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
        if !traces_all && !self.columns.planes.is_empty() {
            let several = self.columns.planes.len() > 1;
            let bits = event.awake | if several { event.bounced } else { 0 };
            self.lookers.extend(particles(bits & !event.dead));
        }
    }

    /// Removes dead particles.
    fn remove_dead(&mut self) {
        // From the end, so that the last particle, which fills the gap, is alive.
        while let Some(particle) = self.dead.pop() {
            self.columns.remove(particle);
            self.stats.died += 1;
        }
    }

    /// Drops planes that a change inside a box, in world metres, may have made stale: of every
    /// particle whose position, or whose path to one of its planes, touches the box.
    pub fn invalidate(&mut self, min_m: impl Into<[f32; 3]>, max_m: impl Into<[f32; 3]>) {
        let (min, max) = (Vec3::from(min_m.into()), Vec3::from(max_m.into()));
        for particle in 0..self.columns.count {
            let from = self.columns.position(particle);
            let heading = self.heading(self.columns.velocity(particle));
            for slot in 0..self.columns.planes.len() {
                let plane = self.columns.plane(slot, particle);
                let fraction = plane.fraction_before(from, heading);
                let to = if fraction.is_finite() { from + fraction * heading } else { from };
                let apart = from.min(to).cmpgt(max).any() || from.max(to).cmplt(min).any();
                if !apart && !plane.is_none() {
                    self.columns.clear_plane(slot, particle);
                    self.columns.look_up_times.set(particle, self.clock);
                }
            }
        }
    }
}

/// Returns the duration of the first chord under this gravity.
fn chord_seconds(gravity: [f32; 3]) -> f32 {
    (8.0 * CHORD_ERROR_M / Vec3::from(gravity).length()).sqrt().min(1.0)
}
