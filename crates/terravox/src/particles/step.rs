//! Moves particles and bounces them off their planes, eight at a time.
//!
//! Written once over [`Lanes`], which are plain arrays or, in `simd.rs`, registers: the same
//! operations in the same order, so the same bits. A particle is moved by velocity, gravity
//! and drag; one that is then inside a plane is put on it, its speed into the plane is
//! turned by the restitution, and along the plane it loses as much speed as friction takes
//! for that impact. Impacts slower than what gravity gives in two frames do not bounce, so
//! that particles come to rest.

use super::FAR_M;
use super::columns::{Column, Columns, LANES};
use super::plane::CollisionPlane;
use std::ops::Range;

/// Eight f32. Comparisons give masks: all bits of a lane set, or none.
pub(super) trait Lanes: Copy {
    fn splat(value: f32) -> Self;
    fn load(from: &[f32; LANES]) -> Self;
    fn store(self, to: &mut [f32; LANES]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    fn magnitude(self) -> Self;
    /// The larger of each lane; `other` where either is NaN.
    fn larger(self, other: Self) -> Self;
    /// Mask of the lanes in which `self` is less.
    fn below(self, other: Self) -> Self;
    /// Bitwise and.
    fn and(self, mask: Self) -> Self;
    /// `self` where the mask is set, else `other`.
    fn or_else(self, mask: Self, other: Self) -> Self;
    /// Bit per lane of a mask.
    fn bits(self) -> u8;
}

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

/// Which code runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path {
    Plain,
    #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
    Avx2(super::simd::Avx2),
}

impl Path {
    /// The widest of this machine.
    pub fn widest() -> Path {
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        if let Some(avx2) = super::simd::Avx2::detect() {
            return Path::Avx2(avx2);
        }
        Path::Plain
    }
}

/// Moves the particles of some blocks; what they need comes in the order of blocks.
pub(super) fn step(
    columns: &mut Columns,
    step: &Step,
    blocks: Range<usize>,
    path: Path,
    events: &mut Vec<Event>,
) {
    match path {
        Path::Plain => step_blocks::<Plain>(columns, step, blocks, events),
        #[cfg(all(target_arch = "x86_64", not(terravox_plain)))]
        Path::Avx2(avx2) => avx2.step_blocks(columns, step, blocks, events),
    }
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

// Inlined into what has the features of the lanes; free of closures that would stay calls.
#[inline(always)]
pub(super) fn step_blocks<L: Lanes>(
    columns: &mut Columns,
    step: &Step,
    blocks: Range<usize>,
    events: &mut Vec<Event>,
) {
    let end = blocks.end;
    let Columns { position: [x, y, z], velocity: [u, v, w], planes, ends, wakes, .. } = columns;
    let (x, y, z) = (&mut x.0[..end], &mut y.0[..end], &mut z.0[..end]);
    let (u, v, w) = (&mut u.0[..end], &mut v.0[..end], &mut w.0[..end]);
    let clock = L::splat(step.clock);
    for block in blocks {
        let mut moved = Moved {
            position: [L::load(&x[block]), L::load(&y[block]), L::load(&z[block])],
            velocity: [L::load(&u[block]), L::load(&v[block]), L::load(&w[block])],
            bounced: L::splat(0.0),
        };
        fly(&mut moved, step);
        bounce(&mut moved, step, planes, block);
        let mut dead = lost(&moved.position, step);
        if let Some(ends) = ends {
            dead |= L::load(&ends.0[block]).below(clock).bits();
        }
        let mut awake = 0;
        if !planes.is_empty() {
            awake = L::load(&wakes.0[block]).below(clock).bits();
        }
        let bounced = moved.bounced.bits();
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

#[inline(always)]
fn fly<L: Lanes>(moved: &mut Moved<L>, step: &Step) {
    let (keep, seconds) = (L::splat(step.keep), L::splat(step.seconds));
    for i in 0..3 {
        moved.velocity[i] = moved.velocity[i].add(L::splat(step.pull[i])).mul(keep);
        moved.position[i] = moved.position[i].add(moved.velocity[i].mul(seconds));
    }
}

#[inline(always)]
fn bounce<L: Lanes>(moved: &mut Moved<L>, step: &Step, planes: &[[Column; 4]], block: usize) {
    if let Some(CollisionPlane { normal: [x, y, z], offset_m }) = step.fixed {
        let plane = [L::splat(x), L::splat(y), L::splat(z), L::splat(offset_m)];
        respond(moved, step, &plane);
        return;
    }
    // Being put on one plane may put a particle into another: once more for each.
    for _ in 0..planes.len() {
        let mut hit = 0;
        for [x, y, z, offset] in planes {
            let (x, y) = (L::load(&x.0[block]), L::load(&y.0[block]));
            let (z, offset) = (L::load(&z.0[block]), L::load(&offset.0[block]));
            hit |= respond(moved, step, &[x, y, z, offset]);
        }
        if hit == 0 {
            return;
        }
    }
}

#[inline(always)]
fn dot<L: Lanes>(a: &[L], b: &[L; 3]) -> L {
    a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]))
}

/// Takes those that are inside a plane out of it; returns which.
#[inline(always)]
fn respond<L: Lanes>(moved: &mut Moved<L>, step: &Step, plane: &[L; 4]) -> u8 {
    let zero = L::splat(0.0);
    let distance = dot(&plane[..3], &moved.position).add(plane[3]);
    let inside = distance.below(zero);
    let hit = inside.bits();
    if hit == 0 {
        return 0;
    }
    let along = dot(&plane[..3], &moved.velocity);
    let inwards = inside.and(along.below(zero));
    let impact = zero.sub(along);
    let lively = L::splat(step.rest_speed).below(impact);
    let turned = L::splat(step.restitution).mul(impact).and(lively);
    let mut slide = [zero; 3];
    for i in 0..3 {
        slide[i] = moved.velocity[i].sub(plane[i].mul(along));
    }
    // Where nothing slides this divides by zero, and `larger` gives 0.
    let lost = L::splat(step.friction).mul(impact.add(turned)).div(dot(&slide, &slide).sqrt());
    let kept = L::splat(1.0).sub(lost).larger(zero);
    for i in 0..3 {
        let out = moved.position[i].sub(plane[i].mul(distance));
        moved.position[i] = out.or_else(inside, moved.position[i]);
        let after = slide[i].mul(kept).add(plane[i].mul(turned));
        moved.velocity[i] = after.or_else(inwards, moved.velocity[i]);
    }
    let bounced = inwards.and(lively);
    moved.bounced = bounced.or_else(bounced, moved.bounced);
    hit
}

/// Those that are too low, too far, or nowhere.
#[inline(always)]
fn lost<L: Lanes>(position: &[L; 3], step: &Step) -> u8 {
    let [x, y, z] = [position[0].magnitude(), position[1].magnitude(), position[2].magnitude()];
    let near = x.add(y).add(z).below(L::splat(FAR_M)).bits();
    !near | position[1].below(L::splat(step.kill_below)).bits()
}

/// Plain arrays, which compilers make vectors of.
#[derive(Clone, Copy)]
pub(super) struct Plain([f32; LANES]);

impl Plain {
    #[inline(always)]
    fn zip(self, other: Plain, of: impl Fn(f32, f32) -> f32) -> Plain {
        Plain(std::array::from_fn(|i| of(self.0[i], other.0[i])))
    }
}

const SET: f32 = f32::from_bits(u32::MAX);

impl Lanes for Plain {
    #[inline(always)]
    fn splat(value: f32) -> Plain {
        Plain([value; LANES])
    }
    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Plain {
        Plain(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }
    #[inline(always)]
    fn add(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, other: Plain) -> Plain {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn sqrt(self) -> Plain {
        Plain(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn magnitude(self) -> Plain {
        Plain(self.0.map(f32::abs))
    }
    #[inline(always)]
    fn larger(self, other: Plain) -> Plain {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn below(self, other: Plain) -> Plain {
        self.zip(other, |a, b| if a < b { SET } else { 0.0 })
    }
    #[inline(always)]
    fn and(self, mask: Plain) -> Plain {
        self.zip(mask, |a, b| f32::from_bits(a.to_bits() & b.to_bits()))
    }
    #[inline(always)]
    fn or_else(self, mask: Plain, other: Plain) -> Plain {
        Plain(std::array::from_fn(|i| match mask.0[i].to_bits() {
            0 => other.0[i],
            _ => self.0[i],
        }))
    }
    #[inline(always)]
    fn bits(self) -> u8 {
        (0..LANES).fold(0, |bits, i| bits | u8::from(self.0[i].to_bits() != 0) << i)
    }
}
