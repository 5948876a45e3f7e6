//! What contacts need of a core besides distance: the part that faces a direction, its middle,
//! how far it reaches, and the axis along which it separates from a triangle. The points of
//! contact come from clipping.

use glam::Vec3;

use super::core::{Core, farthest_of};
use super::separation::LocalSeparation;
use super::{boxes, closest, segment};

/// Maximum number of points of a feature. Clipping by a triangle's three sides adds one each. Few
/// enough that a polygon is cheap to copy.
const MAX_POINTS: usize = 9;

/// Maximum number of points of a hull that make a feature.
const MAX_HULL_POINTS: usize = 6;

/// How far behind the farthest point of a hull others still belong to its feature, as a share
/// of its size: enough for the points of a face that is rotated by a few degrees.
const HULL_SLACK: f32 = 0.1;

/// A convex polygon in space, or two points, or one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeaturePolygon {
    points: [Vec3; MAX_POINTS],
    count: u32,
}

impl FeaturePolygon {
    /// The polygon without points.
    pub const EMPTY: FeaturePolygon = FeaturePolygon { points: [Vec3::ZERO; MAX_POINTS], count: 0 };

    /// Its points, in order around it.
    #[inline(always)]
    pub fn points(&self) -> &[Vec3] {
        &self.points[..(self.count as usize).min(MAX_POINTS)]
    }

    /// Adds a point; one too many is dropped.
    #[inline(always)]
    pub fn push(&mut self, point: Vec3) {
        if let Some(place) = self.points.get_mut(self.count as usize) {
            *place = point;
            self.count += 1;
        }
    }
}

/// A point inside of a core.
pub(super) fn middle(core: &Core<'_>) -> Vec3 {
    match *core {
        Core::Point | Core::Box { .. } => Vec3::ZERO,
        Core::Segment([a, b]) => 0.5 * (a + b),
        Core::Points(points) => {
            let sum = points.iter().fold(Vec3::ZERO, |sum, &p| sum + Vec3::from(p));
            sum / points.len().max(1) as f32
        }
    }
}

/// How far a core reaches along a unit vector from its origin.
#[inline]
pub(super) fn reach(core: &Core<'_>, direction: Vec3) -> f32 {
    match *core {
        Core::Point => 0.0,
        Core::Segment([a, b]) => a.dot(direction).max(b.dot(direction)),
        Core::Box { half, axes } => half.dot((axes.transpose() * direction).abs()),
        Core::Points(points) => farthest_of(points, direction).dot(direction),
    }
}

/// How far an aligned core with a radius reaches along a vector of this squared length, times
/// that length.
#[inline(always)]
pub(super) fn aligned_reach(
    core: &Core<'_>,
    radius: f32,
    direction: Vec3,
    squared_length: f32,
) -> f32 {
    match *core {
        Core::Box { half, .. } => half.dot(direction.abs()),
        Core::Point => radius * squared_length.sqrt(),
        Core::Segment([a, b]) => {
            a.dot(direction).max(b.dot(direction)) + radius * squared_length.sqrt()
        }
        Core::Points(points) => farthest_of(points, direction).dot(direction),
    }
}

/// Whether a triangle about the origin is more than `within` beside an aligned box. False for
/// other cores, which the boxes of the tree separate already.
#[inline(always)]
pub(super) fn is_beside(core: &Core<'_>, [a, b, c]: &[Vec3; 3], within: f32) -> bool {
    let Core::Box { half, .. } = *core else { return false };
    let reach = half + within;
    a.min(*b).min(*c).cmpgt(reach).any() || a.max(*b).max(*c).cmplt(-reach).any()
}

/// The points of an aligned core of `size` that face `direction`: of a box the face that does
/// most, of a hull the points nearly as far as its farthest one.
#[inline]
pub(super) fn feature(core: &Core<'_>, size: Vec3, direction: Vec3) -> FeaturePolygon {
    let mut polygon = FeaturePolygon::EMPTY;
    match *core {
        Core::Point => polygon.push(Vec3::ZERO),
        Core::Segment(ends) => ends.into_iter().for_each(|end| polygon.push(end)),
        Core::Box { half, .. } => box_face(half, direction, &mut polygon),
        Core::Points(points) => hull_feature(points, direction, size, &mut polygon),
    }
    polygon
}

/// How far apart an aligned shape and a triangle are along an axis, and that axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactAxis {
    /// Negative where they overlap.
    pub distance: f32,
    /// Unit, from the triangle to the shape.
    pub normal: Vec3,
}

/// The axis that separates an aligned core with a radius from a triangle, or the shortest way
/// out; `None` if surely more than `within` apart. `hull` is called for hulls.
pub(super) fn contact_axis(
    core: &Core<'_>,
    radius: f32,
    triangle: &[Vec3; 3],
    within: f32,
    hull: impl FnOnce() -> Option<LocalSeparation>,
) -> Option<ContactAxis> {
    match *core {
        Core::Point => {
            let foot = closest::closest_on_triangle(Vec3::ZERO, triangle);
            let distance = foot.length();
            let normal = (-foot / distance).normalize_or(Vec3::Y);
            let axis = ContactAxis { distance: distance - radius, normal };
            (axis.distance <= within).then_some(axis)
        }
        Core::Segment(ends) => {
            let LocalSeparation { distance, normal, .. } =
                segment::separation(&ends, triangle).rounded(radius);
            (distance <= within).then_some(ContactAxis { distance, normal })
        }
        Core::Box { half, .. } => match boxes::separating_axis(half, triangle) {
            Ok((depth, normal)) => Some(ContactAxis { distance: -depth, normal }),
            Err((distance, normal)) => {
                (distance <= within).then_some(ContactAxis { distance, normal })
            }
        },
        Core::Points(_) => {
            hull().map(|LocalSeparation { distance, normal, .. }| ContactAxis { distance, normal })
        }
    }
}

/// The face of a box that most faces `direction`, in order around it.
#[inline(always)]
fn box_face(half: Vec3, direction: Vec3, polygon: &mut FeaturePolygon) {
    let size = direction.abs();
    let outer = half.copysign(direction);
    let [x, y, z] = half.to_array();
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    for [u, v] in [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]] {
        polygon.push(match axis {
            0 => Vec3::new(outer.x, u * y, v * z),
            1 => Vec3::new(u * x, outer.y, v * z),
            _ => Vec3::new(u * x, v * y, outer.z),
        });
    }
}

/// The points of a hull that are nearly as far along `direction` as any, the farthest
/// six, ordered around their middle.
fn hull_feature(points: &[[f32; 3]], direction: Vec3, size: Vec3, polygon: &mut FeaturePolygon) {
    let most = farthest_of(points, direction).dot(direction);
    let least = most - HULL_SLACK * size.max_element();
    let mut found = [(Vec3::ZERO, f32::INFINITY); MAX_HULL_POINTS];
    let mut count = 0;
    for point in points.iter().map(|&point| Vec3::from(point)) {
        let along = point.dot(direction);
        if along < least {
            continue;
        }
        if count < MAX_HULL_POINTS {
            found[count] = (point, along);
            count += 1;
        } else if let Some(lowest) = found.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1))
            && lowest.1 < along
        {
            *lowest = (point, along);
        }
    }
    let found = &mut found[..count];
    let middle = found.iter().fold(Vec3::ZERO, |sum, (p, _)| sum + *p) / count.max(1) as f32;
    let (u, v) = direction.any_orthonormal_pair();
    for (point, key) in found.iter_mut() {
        let from = *point - middle;
        *key = turn_of(from.dot(u), from.dot(v));
    }
    found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    found.iter().for_each(|(point, _)| polygon.push(*point));
}

/// Grows with the angle of (x, y), from −2 to 2.
fn turn_of(x: f32, y: f32) -> f32 {
    let length = x.abs() + y.abs();
    if length == 0.0 {
        return 0.0;
    }
    if y >= 0.0 { 1.0 - x / length } else { x / length - 1.0 }
}
