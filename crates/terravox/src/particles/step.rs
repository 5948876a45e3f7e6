//! Moves particles and bounces them off their planes, eight at a time.
//!
//! Written once over [`Simd`]: the same operations in the same order on every instruction set, so
//! the same bits. A particle is moved by velocity, gravity
//! and drag; one that is then inside a plane is put on it, its speed into the plane is
//! turned by the restitution, and along the plane it loses as much speed as friction takes
//! for that impact. Impacts slower than what gravity gives in two frames do not bounce, so
//! that particles come to rest.

use std::ops::Range;

use crate::math::lanes::{F32x8, InstructionSet, Simd, SimdJob};

use super::FAR_M;
use super::columns::{Column, Columns, LANES};
use super::plane::CollisionPlane;

/// What is the same for all particles of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Seconds.
    pub seconds: f32,
    /// Metres a second that gravity adds.
    pub pull: [f32; 3],
    /// Share of the speed that drag leaves.
    pub keep: f32,
    /// Share of the speed into a plane that comes back.
    pub restitution: f32,
    /// Coefficient of friction.
    pub friction: f32,
    /// Impacts that are slower do not bounce, metres a second.
    pub rest_speed: f32,
    /// Height below which particles die, metres.
    pub kill_below: f32,
    /// The effect's clock after the step.
    pub clock: f32,
    /// The plane of all particles, if they have none of their own.
    pub fixed: Option<CollisionPlane>,
}

/// What a block of particles needs after a step, bit per lane. Blocks that need nothing
/// have no event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    pub block: usize,
    /// Bounced, and not merely slid.
    pub bounced: u8,
    /// Looks for a plane again.
    pub awake: u8,
    pub dead: u8,
}

/// Moves the particles of some blocks; what they need comes in the order of blocks.
pub(super) fn step(
    columns: &mut Columns,
    step: &Step,
    blocks: Range<usize>,
    instructions: InstructionSet,
    events: &mut Vec<Event>,
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

/// Eight particles on the move.
struct Moved<L> {
    position: [L; 3],
    velocity: [L; 3],
    /// Mask of those that bounced.
    bounced: L,
}

/// Moves the particles of some blocks.
struct StepBlocks<'a> {
    columns: &'a mut Columns,
    step: &'a Step,
    blocks: Range<usize>,
    events: &'a mut Vec<Event>,
}

impl<S: Simd> SimdJob<S> for StepBlocks<'_> {
    #[inline(always)]
    fn run(self, s: S) {
        let StepBlocks { columns, step, blocks, events } = self;
        let end = blocks.end;
        let Columns { position: [x, y, z], velocity: [u, v, w], planes, ends, wakes, .. } = columns;
        let (x, y, z) = (&mut x.0[..end], &mut y.0[..end], &mut z.0[..end]);
        let (u, v, w) = (&mut u.0[..end], &mut v.0[..end], &mut w.0[..end]);
        let clock = s.splat(step.clock);
        for block in blocks {
            let mut moved = Moved {
                position: [s.load(&x[block]), s.load(&y[block]), s.load(&z[block])],
                velocity: [s.load(&u[block]), s.load(&v[block]), s.load(&w[block])],
                bounced: s.splat(0.0),
            };
            fly(s, &mut moved, step);
            bounce(s, &mut moved, step, planes, block);
            let mut dead = lost(s, &moved.position, step);
            if let Some(ends) = ends {
                dead |= s.load(&ends.0[block]).lt(clock).bitmask();
            }
            let mut awake = 0;
            if !planes.is_empty() {
                awake = s.load(&wakes.0[block]).lt(clock).bitmask();
            }
            let bounced = moved.bounced.bitmask();
            if (bounced | awake | dead) != 0 {
                events.push(Event { block, bounced, awake, dead });
            }
            let Moved { position, velocity, .. } = moved;
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
fn fly<S: Simd>(s: S, moved: &mut Moved<S::F>, step: &Step) {
    let (keep, seconds) = (s.splat(step.keep), s.splat(step.seconds));
    for i in 0..3 {
        moved.velocity[i] = (moved.velocity[i] + s.splat(step.pull[i])) * keep;
        moved.position[i] = moved.position[i] + moved.velocity[i] * seconds;
    }
}

#[inline(always)]
fn bounce<S: Simd>(
    s: S,
    moved: &mut Moved<S::F>,
    step: &Step,
    planes: &[[Column; 4]],
    block: usize,
) {
    if let Some(CollisionPlane { normal: [x, y, z], offset_m }) = step.fixed {
        let plane = [s.splat(x), s.splat(y), s.splat(z), s.splat(offset_m)];
        respond(s, moved, step, &plane);
        return;
    }
    // Being put on one plane may put a particle into another: once more for each.
    for _ in 0..planes.len() {
        let mut hit = 0;
        for [x, y, z, offset] in planes {
            let (x, y) = (s.load(&x.0[block]), s.load(&y.0[block]));
            let (z, offset) = (s.load(&z.0[block]), s.load(&offset.0[block]));
            hit |= respond(s, moved, step, &[x, y, z, offset]);
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

/// Takes those that are inside a plane out of it; returns which.
#[inline(always)]
fn respond<S: Simd>(s: S, moved: &mut Moved<S::F>, step: &Step, plane: &[S::F; 4]) -> u8 {
    let zero = s.splat(0.0);
    let distance = dot(&plane[..3], &moved.position) + plane[3];
    let inside = distance.lt(zero);
    let hit = inside.bitmask();
    if hit == 0 {
        return 0;
    }
    let along = dot(&plane[..3], &moved.velocity);
    let inwards = inside.and(along.lt(zero));
    let impact = zero - along;
    let lively = s.splat(step.rest_speed).lt(impact);
    let turned = (s.splat(step.restitution) * impact).and(lively);
    let mut slide = [zero; 3];
    for i in 0..3 {
        slide[i] = moved.velocity[i] - plane[i] * along;
    }
    // Where nothing slides this divides by zero, and `max` gives 0.
    let lost = s.splat(step.friction) * (impact + turned) / dot(&slide, &slide).sqrt();
    let kept = (s.splat(1.0) - lost).max(zero);
    for i in 0..3 {
        let out = moved.position[i] - plane[i] * distance;
        moved.position[i] = inside.select(out, moved.position[i]);
        let after = slide[i] * kept + plane[i] * turned;
        moved.velocity[i] = inwards.select(after, moved.velocity[i]);
    }
    let bounced = inwards.and(lively);
    moved.bounced = bounced.select(bounced, moved.bounced);
    hit
}

/// Those that are too low, too far, or nowhere.
#[inline(always)]
fn lost<S: Simd>(s: S, position: &[S::F; 3], step: &Step) -> u8 {
    let [x, y, z] = [position[0].abs(), position[1].abs(), position[2].abs()];
    let near = (x + y + z).lt(s.splat(FAR_M)).bitmask();
    !near | position[1].lt(s.splat(step.kill_below)).bitmask()
}
