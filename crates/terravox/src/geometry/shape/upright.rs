//! The stretch of an upright line that lies inside a shape: in closed form for balls,
//! capsules and boxes, from slices for hulls.

use glam::{Mat3, Vec3};

use super::slice::Slice;
use super::{Core, ShapeCore};

impl ShapeCore<'_> {
    /// Its volume; `None` of a hull, whose faces are not known.
    pub(crate) fn volume(&self) -> Option<f32> {
        let (pi, r) = (std::f32::consts::PI, self.radius);
        match self.core {
            Core::Point => Some(4.0 / 3.0 * pi * r * r * r),
            Core::Segment([a, b]) => Some(pi * r * r * (4.0 / 3.0 * r + a.distance(b))),
            Core::Box { half, .. } => Some(8.0 * half.x * half.y * half.z),
            Core::Points(_) => None,
        }
    }

    /// Makes ready for upright lines at `z`.
    pub(crate) fn slice(&self, z: f32, slice: &mut Slice) {
        if let Core::Points(points) = self.core {
            slice.cut(points, z);
        }
    }

    /// Lowest and highest point of the line at (x, z), about the shape's origin; `None` if
    /// it misses. The slice is the one at `z`.
    pub(crate) fn upright(&self, x: f32, z: f32, slice: &Slice) -> Option<[f32; 2]> {
        let (from, radius) = (Vec3::new(x, 0.0, z), self.radius);
        match self.core {
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
            Core::Points(_) => slice.upright(x),
        }
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

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_inside_where_sampling_says(
            turn in [-1.0..1.0f32, -1.0..1.0f32, -1.0..1.0f32, 0.2..1.0f32],
            x in -1.5..1.5f32, z in -1.5..1.5f32, kind in 0..5u8,
            points in prop::collection::vec(prop::array::uniform3(-1.2..1.2f32), 4..24),
        ) {
            let turn = glam::Quat::from_array(turn).normalize();
            let corners: Vec<[f32; 3]> = (0..8)
                .map(|i| {
                    let sign = |bit: u32| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
                    (turn * Vec3::new(sign(0), 0.5 * sign(1), 0.7 * sign(2))).to_array()
                })
                .collect();
            let end = (turn * Vec3::X).to_array();
            let shape = match kind {
                0 => Shape::Sphere { radius: 1.1 },
                1 => Shape::Capsule { a: end, b: end.map(|v| -0.5 * v), radius: 0.4 },
                2 => Shape::Box { half: [1.0, 0.5, 0.7], rotation: turn.to_array() },
                3 => Shape::Convex { points: &corners },
                _ => Shape::Convex { points: &points },
            };
            let core = ShapeCore::new(&shape).unwrap();
            let mut slice = Slice::default();
            core.slice(z, &mut slice);
            let span = core.upright(x, z, &slice);
            for step in -40..40 {
                let y = step as f32 * 0.05;
                let point = [[x, y, z]; 3];
                let near = core.separation([0.0; 3], &point, f32::INFINITY).unwrap().distance;
                if near.abs() > 2e-3 {
                    let inside = span.is_some_and(|[low, high]| low < y && y < high);
                    prop_assert_eq!(inside, near < 0.0, "{} at {} of {:?}", near, y, span);
                }
            }
        }
    }
}
