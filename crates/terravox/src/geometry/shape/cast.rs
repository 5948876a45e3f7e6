//! When a moving shape first touches a triangle: conservative advancement, Mirtich,
//! "Impulse-based dynamic simulation" (1996). The distance of convex things is a convex
//! function of the time, so stepping by distance over closing speed is Newton's method
//! from its safe side: it never passes the root and is done in a few steps.

use glam::Vec3;

use super::Near;

/// Most steps; a shape that only grazes takes most.
const MOST_STEPS: usize = 48;

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
    // Nothing moves, and nothing bounds the time: only its start is left.
    let still = motion == Vec3::ZERO;
    // So slow that it takes longer than f32 can tell.
    let end = end.min(f32::MAX);
    (start <= end).then_some((start, if still { 0.0 } else { end - start }))
}

/// What overlaps at the start hits there, but not if it only touches and leaves: the
/// signed distance is convex too, so then it never comes back.
pub(super) fn start(motion: Vec3, touching: f32, near: Near) -> Option<Near> {
    let leaves = near.distance >= -touching && near.normal.dot(motion) > 0.0;
    (!leaves).then_some(near)
}

/// First `t` from 0 to 1 at which the shape, moved by `t * motion`, is within `touching`
/// of the triangle, and what is known of them there; `near` says what is known of them
/// after a motion, a guess of the normal given.
pub(super) fn advance(
    motion: Vec3,
    touching: f32,
    near: impl Fn(Vec3, Option<Vec3>) -> Near,
) -> Option<(f32, Near)> {
    let (mut t, mut last) = (0.0, near(Vec3::ZERO, None));
    if last.distance <= 0.0 {
        return start(motion, touching, last).map(|last| (t, last));
    }
    for _ in 0..MOST_STEPS {
        let closing = -last.normal.dot(motion);
        // What does not come nearer now never will.
        if closing <= 0.0 {
            return None;
        }
        if last.distance <= touching {
            return Some((t, last));
        }
        // Half way into what counts as touching: the direction from one thing to another
        // is noise when they touch.
        t += (last.distance - 0.5 * touching) / closing;
        if t.is_nan() || t > 1.0 {
            return None;
        }
        let next = near(motion * t, Some(last.normal));
        if next.distance <= 0.0 {
            // Rounding took it too far; the last direction is the one it came by.
            return Some((t, Near { distance: 0.0, ..last }));
        }
        last = next;
    }
    // So slow that it is as good as there.
    Some((t, last))
}
