//! The interval of a vertical line inside of a core with a radius: in closed form for balls,
//! capsules and boxes, from slices for hulls.

use glam::{Mat3, Vec3};

use super::core::Core;
use super::slice::Slices;

/// The volume; `None` for hulls, whose faces are not known.
pub(super) fn volume(core: &Core<'_>, radius: f32) -> Option<f32> {
    let (pi, r) = (std::f32::consts::PI, radius);
    match *core {
        Core::Point => Some(4.0 / 3.0 * pi * r * r * r),
        Core::Segment([a, b]) => Some(pi * r * r * (4.0 / 3.0 * r + a.distance(b))),
        Core::Box { half, .. } => Some(8.0 * half.x * half.y * half.z),
        Core::Points(_) => None,
    }
}

/// Lowest and highest point of the line at (x, z) that are inside; `None` if it misses. The
/// selected slice of a hull is the one at `z`.
pub(super) fn span(
    core: &Core<'_>,
    radius: f32,
    x: f32,
    z: f32,
    slices: &Slices,
) -> Option<[f32; 2]> {
    let from = Vec3::new(x, 0.0, z);
    match *core {
        Core::Point => ball(from, Vec3::ZERO, radius),
        Core::Segment([a, b]) => {
            let mut all: Option<[f32; 2]> = None;
            let ends = [ball(from, a, radius), ball(from, b, radius), tube(from, a, b, radius)];
            for [low, high] in ends.into_iter().flatten() {
                let [least, most] = all.unwrap_or([low, high]);
                all = Some([least.min(low), most.max(high)]);
            }
            all
        }
        Core::Box { half, axes } => slabs(from, half, axes),
        Core::Points(_) => slices.vertical_span(x),
    }
}

fn ball(from: Vec3, centre: Vec3, radius: f32) -> Option<[f32; 2]> {
    let across = Vec3::new(centre.x - from.x, 0.0, centre.z - from.z).length_squared();
    let squared = radius * radius - across;
    (squared > 0.0).then(|| [centre.y - squared.sqrt(), centre.y + squared.sqrt()])
}

/// A capsule without its ends.
fn tube(from: Vec3, a: Vec3, b: Vec3, radius: f32) -> Option<[f32; 2]> {
    let (axis, length) = ((b - a).normalize_or_zero(), (b - a).length());
    let across = |v: Vec3| v - axis * v.dot(axis);
    let (up, start) = (across(Vec3::Y), across(from - a));
    let (square, half, rest) =
        (up.length_squared(), up.dot(start), start.length_squared() - radius * radius);
    let [mut low, mut high] = if square > 1e-12 {
        let root = half * half - square * rest;
        if root <= 0.0 {
            return None;
        }
        [(-half - root.sqrt()) / square, (-half + root.sqrt()) / square]
    } else if rest < 0.0 {
        [f32::NEG_INFINITY, f32::INFINITY]
    } else {
        return None;
    };
    // Between the planes of the ends.
    let (rise, foot) = (axis.y, (from - a).dot(axis));
    if rise.abs() > 1e-9 {
        let ends = [-foot / rise, (length - foot) / rise];
        low = low.max(ends[0].min(ends[1]));
        high = high.min(ends[0].max(ends[1]));
    } else if !(0.0..=length).contains(&foot) {
        return None;
    }
    (low < high).then_some([low, high])
}

fn slabs(from: Vec3, half: Vec3, axes: Mat3) -> Option<[f32; 2]> {
    let back = axes.transpose();
    let (up, from) = (back * Vec3::Y, back * from);
    let (mut low, mut high) = (f32::NEG_INFINITY, f32::INFINITY);
    for axis in 0..3 {
        if up[axis].abs() > 1e-9 {
            let ends = [-half[axis], half[axis]].map(|side| (side - from[axis]) / up[axis]);
            low = low.max(ends[0].min(ends[1]));
            high = high.min(ends[0].max(ends[1]));
        } else if from[axis].abs() > half[axis] {
            return None;
        }
    }
    (low < high).then_some([low, high])
}
