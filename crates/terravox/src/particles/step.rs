//! Moves particles and bounces them off their planes, eight at a time.
//!
//! Written once over [`Simd`]: the same operations in the same order on every instruction set, so
//! the same bits. A particle moves by velocity, gravity and drag. If it is then inside a plane it
//! is moved onto it; the speed into the plane is reflected with the restitution, and friction for
//! that impact reduces the speed along it. Impacts slower than what gravity adds in two frames do
//! not bounce, so that particles come to rest.

use std::ops::Range;

use crate::math::lanes::{F32x8, InstructionSet, Simd, SimdJob};

use super::FAR_M;
use super::columns::{LANES, ParticleColumn, ParticleColumns};
use super::plane::CollisionPlane;

/// Parameters of a step, the same for all particles.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepParams {
    pub seconds: f32,
    /// Velocity that gravity adds, in metres per second.
    pub gravity_speed: [f32; 3],
    /// Share of the speed that remains after drag.
    pub speed_kept: f32,
    /// Share of the speed into a plane that is reflected.
    pub restitution: f32,
    /// Coefficient of friction.
    pub friction: f32,
    /// Slower impacts do not bounce. In metres per second.
    pub rest_speed: f32,
    /// Particles below this height die. In metres.
    pub kill_below: f32,
    /// The effect's clock after the step.
    pub clock: f32,
    /// The plane of all particles, if they share one.
    pub fixed: Option<CollisionPlane>,
}

/// What happened to a block of particles in a step, a bit per lane. Blocks where nothing happened
/// have no event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockEvent {
    pub block: usize,
    /// Bounced, rather than slid or rested.
    pub bounced: u8,
    /// Due for a look-up.
    pub awake: u8,
    pub dead: u8,
}

/// Moves the particles of some blocks; what they need comes in the order of blocks.
pub(super) fn step(
    columns: &mut ParticleColumns,
    step: &StepParams,
    blocks: Range<usize>,
    instructions: InstructionSet,
    events: &mut Vec<BlockEvent>,
) {
    instructions.run(StepBlocks { columns, step, blocks, events });
    let unused = columns.count.wrapping_neg() % LANES;
    if let Some(event) = events.last_mut().filter(|event| event.block == columns.count / LANES) {
        let used = 0xff >> unused;
        event.bounced &= used;
        event.awake &= used;
        event.dead &= used;
    }
}

/// The state of eight particles.
struct LaneState<L> {
    position: [L; 3],
    velocity: [L; 3],
    /// Mask of the particles that bounced.
    bounced: L,
}

/// Moves the particles of some blocks.
struct StepBlocks<'a> {
    columns: &'a mut ParticleColumns,
    step: &'a StepParams,
    blocks: Range<usize>,
    events: &'a mut Vec<BlockEvent>,
}

impl<S: Simd> SimdJob<S> for StepBlocks<'_> {
    #[inline(always)]
    fn run(self, s: S) {
        let StepBlocks { columns, step, blocks, events } = self;
        let end = blocks.end;
        let ParticleColumns {
            position: [x, y, z],
            velocity: [u, v, w],
            planes,
            ends,
            look_up_times,
            ..
        } = columns;
        let (x, y, z) = (&mut x.0[..end], &mut y.0[..end], &mut z.0[..end]);
        let (u, v, w) = (&mut u.0[..end], &mut v.0[..end], &mut w.0[..end]);
        let clock = s.splat(step.clock);
        for block in blocks {
            let mut state = LaneState {
                position: [s.load(&x[block]), s.load(&y[block]), s.load(&z[block])],
                velocity: [s.load(&u[block]), s.load(&v[block]), s.load(&w[block])],
                bounced: s.splat(0.0),
            };
            fly(s, &mut state, step);
            bounce(s, &mut state, step, planes, block);
            let mut dead = lost(s, &state.position, step);
            if let Some(ends) = ends {
                dead |= s.load(&ends.0[block]).lt(clock).bitmask();
            }
            let mut awake = 0;
            if !planes.is_empty() {
                awake = s.load(&look_up_times.0[block]).lt(clock).bitmask();
            }
            let bounced = state.bounced.bitmask();
            if (bounced | awake | dead) != 0 {
                events.push(BlockEvent { block, bounced, awake, dead });
            }
            let LaneState { position, velocity, .. } = state;
            position[0].store(&mut x[block]);
            position[1].store(&mut y[block]);
            position[2].store(&mut z[block]);
            velocity[0].store(&mut u[block]);
            velocity[1].store(&mut v[block]);
            velocity[2].store(&mut w[block]);
        }
    }
}

#[inline(always)]
fn fly<S: Simd>(s: S, state: &mut LaneState<S::F>, step: &StepParams) {
    let (speed_kept, seconds) = (s.splat(step.speed_kept), s.splat(step.seconds));
    for i in 0..3 {
        state.velocity[i] = (state.velocity[i] + s.splat(step.gravity_speed[i])) * speed_kept;
        state.position[i] = state.position[i] + state.velocity[i] * seconds;
    }
}

#[inline(always)]
fn bounce<S: Simd>(
    s: S,
    state: &mut LaneState<S::F>,
    step: &StepParams,
    planes: &[[ParticleColumn; 4]],
    block: usize,
) {
    if let Some(plane) = step.fixed {
        let plane = plane.factors().map(|factor| s.splat(factor));
        respond(s, state, step, &plane);
        return;
    }
    // Moving onto one plane may move a particle into another: repeat once per plane.
    for _ in 0..planes.len() {
        let mut hit = 0;
        for [x, y, z, last] in planes {
            let (x, y) = (s.load(&x.0[block]), s.load(&y.0[block]));
            let (z, last) = (s.load(&z.0[block]), s.load(&last.0[block]));
            hit |= respond(s, state, step, &[x, y, z, last]);
        }
        if hit == 0 {
            return;
        }
    }
}

#[inline(always)]
fn dot<L: F32x8>(a: &[L], b: &[L; 3]) -> L {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Moves particles out of a plane. Returns those that were inside.
#[inline(always)]
fn respond<S: Simd>(s: S, state: &mut LaneState<S::F>, step: &StepParams, plane: &[S::F; 4]) -> u8 {
    let zero = s.splat(0.0);
    let distance = dot(&plane[..3], &state.position) + plane[3];
    let inside = distance.lt(zero);
    let hit = inside.bitmask();
    if hit == 0 {
        return 0;
    }
    let along = dot(&plane[..3], &state.velocity);
    let inwards = inside.and(along.lt(zero));
    let impact = zero - along;
    let lively = s.splat(step.rest_speed).lt(impact);
    let turned = (s.splat(step.restitution) * impact).and(lively);
    let mut slide = [zero; 3];
    for i in 0..3 {
        slide[i] = state.velocity[i] - plane[i] * along;
    }
    // Where nothing slides this divides by zero, and `max` gives 0.
    let lost = s.splat(step.friction) * (impact + turned) / dot(&slide, &slide).sqrt();
    let kept = (s.splat(1.0) - lost).max(zero);
    for i in 0..3 {
        let out = state.position[i] - plane[i] * distance;
        state.position[i] = inside.select(out, state.position[i]);
        let after = slide[i] * kept + plane[i] * turned;
        state.velocity[i] = inwards.select(after, state.velocity[i]);
    }
    let bounced = inwards.and(lively);
    state.bounced = bounced.select(bounced, state.bounced);
    hit
}

/// Returns particles that are too low, too far away or not finite.
#[inline(always)]
fn lost<S: Simd>(s: S, position: &[S::F; 3], step: &StepParams) -> u8 {
    let [x, y, z] = [position[0].abs(), position[1].abs(), position[2].abs()];
    let near = (x + y + z).lt(s.splat(FAR_M)).bitmask();
    !near | position[1].lt(s.splat(step.kill_below)).bitmask()
}
