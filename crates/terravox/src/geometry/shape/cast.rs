//! When a moving shape first touches a triangle: conservative advancement, Mirtich,
//! "Impulse-based dynamic simulation" (1996). The distance of convex things is a convex
//! function of the time, so stepping by distance over closing speed is Newton's method
//! from its safe side: it never passes the root and is done in a few steps.

use glam::Vec3;

use super::separation::LocalSeparation;

/// Maximum number of steps; grazing shapes take the most.
const MAX_STEPS: usize = 48;

/// The part of `0..=t_max` in which the bounds of the shape, moved by `t * motion`, are
/// within `slack` of the triangle's: its start and its length. Motions may be of any
/// length, but in this window they are no longer than the things are large.
pub(super) fn window(
    (min, max): (Vec3, Vec3),
    motion: Vec3,
    triangle: &[Vec3; 3],
    t_max: f32,
    slack: f32,
) -> Option<(f32, f32)> {
    let [a, b, c] = *triangle;
    let (low, high) = (a.min(b).min(c) - max - slack, a.max(b).max(c) - min + slack);
    let (mut start, mut end) = (0.0_f32, t_max);
    for axis in 0..3 {
        let (low, high, speed) = (low[axis], high[axis], motion[axis]);
        if speed == 0.0 {
            if low > 0.0 || high < 0.0 {
                return None;
            }
            continue;
        }
        let (one, other) = (low / speed, high / speed);
        start = start.max(one.min(other));
        end = end.min(one.max(other));
    }
    // Without motion the time is unbounded: only its start counts.
    let still = motion == Vec3::ZERO;
    // So slow that the time exceeds f32.
    let end = end.min(f32::MAX);
    (start <= end).then_some((start, if still { 0.0 } else { end - start }))
}

/// A shape that overlaps at the start hits there, unless it only touches and leaves: the signed
/// distance is convex too, so it never comes back.
pub(super) fn start(motion: Vec3, touching: f32, near: LocalSeparation) -> Option<LocalSeparation> {
    let leaves = near.distance >= -touching && near.normal.dot(motion) > 0.0;
    (!leaves).then_some(near)
}

/// First `t` from 0 to 1 at which the shape, moved by `t * motion`, is within `touching`
/// of the triangle, and their separation there; `near` returns their separation after a motion,
/// with a guess of the normal.
pub(super) fn advance(
    motion: Vec3,
    touching: f32,
    near: impl Fn(Vec3, Option<Vec3>) -> LocalSeparation,
) -> Option<(f32, LocalSeparation)> {
    let (mut t, mut last) = (0.0, near(Vec3::ZERO, None));
    if last.distance <= 0.0 {
        return start(motion, touching, last).map(|last| (t, last));
    }
    for _ in 0..MAX_STEPS {
        let closing = -last.normal.dot(motion);
        // A shape that does not approach now never will.
        if closing <= 0.0 {
            return None;
        }
        if last.distance <= touching {
            return Some((t, last));
        }
        // Half way into the touching distance: the direction between touching things is noise.
        t += (last.distance - 0.5 * touching) / closing;
        if t.is_nan() || t > 1.0 {
            return None;
        }
        let next = near(motion * t, Some(last.normal));
        if next.distance <= 0.0 {
            // Rounding took it too far; the last direction still holds, but not where they were
            // nearest.
            return Some((t, LocalSeparation { distance: 0.0, normal: last.normal, ..next }));
        }
        last = next;
    }
    // Converges slowly: near enough.
    Some((t, last))
}
