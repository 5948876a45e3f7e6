//! Shapes against triangles: whether they overlap, how far apart or how deep in each other they
//! are, and when a moving one first touches.
//!
//! A shape is a core (a point, a segment, a box, the hull of points) and a radius around it.
//! Everything is f32 in voxels, relative to any near origin, such as a block's corner; a query
//! first moves the triangle into the shape's frame, where numbers are small. Triangles are
//! two-sided. A triangle without area counts as its three sides, so it may be a segment or a
//! point.
//!
//! Spheres (`sphere`) and capsules (`segment`) have closed forms, boxes use separating axes
//! (`boxes`), hulls GJK and EPA (`gjk`, `depth`); `nearest` selects between them, and `cast`
//! advances moving shapes by their distance.

mod boxes;
mod cast;
mod closest;
mod core;
mod depth;
mod feature;
mod gjk;
#[cfg(test)]
mod naive;
mod nearest;
mod segment;
mod separation;
mod simplex;
mod slice;
mod sphere;
#[cfg(test)]
mod tests;
mod vertical;

use glam::{Mat3, Quat, Vec3};

pub(crate) use closest::closest_on_triangle;
use feature::ContactAxis;
pub(crate) use feature::FeaturePolygon;
pub(crate) use slice::Slices;

use self::core::{Core, farthest_of};
use gjk::{Gjk, gjk};
use nearest::into_box;
use separation::LocalSeparation;

/// Queries with coordinates beyond this, voxels, are rejected.
const MAX_COORDINATE: f32 = (1 << 20) as f32;

/// Distance that counts as touching in a cast, as a share of the size of things.
const TOUCHING_DISTANCE: f32 = 1e-5;

/// A convex shape around its own origin, in any unit (voxels in [`collide`](crate::collide) and
/// [`contacts`](crate::contacts)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape<'a> {
    /// A ball.
    Sphere {
        /// Above 0.
        radius: f32,
    },
    /// All points within `radius` of the segment from `a` to `b`; these may be the same.
    Capsule {
        /// One end of the segment.
        a: [f32; 3],
        /// The other end.
        b: [f32; 3],
        /// Above 0.
        radius: f32,
    },
    /// A box with a rotation.
    Box {
        /// Half of its size along its own axes, above 0.
        half: [f32; 3],
        /// Quaternion x, y, z, w of unit length: world from box.
        rotation: [f32; 4],
    },
    /// The convex hull of two or more points that are not all the same.
    Convex {
        /// In any order; points inside of the hull only cost time.
        points: &'a [[f32; 3]],
    },
}

/// Where a shape and a triangle are nearest, or deepest in each other, voxels.
///
/// `on_shape - on_triangle` is `distance * normal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Distance of the surfaces, not above 0 if they touch or overlap. Then moving the shape by
    /// `-distance` along `normal` is the shortest way until they only touch.
    pub distance: f32,
    /// The shape's nearest, or deepest, point.
    pub on_shape: [f32; 3],
    /// The triangle's nearest, or deepest, point.
    pub on_triangle: [f32; 3],
    /// Unit vector from the triangle to the shape.
    pub normal: [f32; 3],
}

/// Where a moving shape first touches a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CastHit {
    /// Time: the shape has moved by `t * motion`. 0 if it touches at the start.
    pub t: f32,
    /// The touched point of the triangle.
    pub point: [f32; 3],
    /// Unit vector from the triangle to the shape.
    pub normal: [f32; 3],
}

/// A valid [`Shape`], prepared for queries; cheap to make and to copy.
///
/// ```
/// use terravox::geometry::{Shape, ShapeCore};
///
/// let ball = ShapeCore::new(&Shape::Sphere { radius: 1.0 }).expect("the radius is above 0");
/// let floor = [[-9.0, 0.0, -9.0], [0.0, 0.0, 9.0], [9.0, 0.0, -9.0]];
/// assert!(!ball.overlaps([0.0, 1.5, 0.0], &floor));
/// let separation = ball.separation([0.0, 1.5, 0.0], &floor, 10.0).expect("within 10 voxels");
/// assert!((separation.distance - 0.5).abs() < 1e-4);
/// let hit = ball.cast([0.0, 3.0, 0.0], [0.0, -1.0, 0.0], &floor, 10.0).expect("it falls on it");
/// assert!((hit.t - 2.0).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ShapeCore<'a> {
    core: Core<'a>,
    radius: f32,
    min: Vec3,
    max: Vec3,
}

/// Whether all numbers are finite and none is beyond [`MAX_COORDINATE`].
fn is_usable(points: &[Vec3]) -> bool {
    points.iter().all(|p| p.abs().cmple(Vec3::splat(MAX_COORDINATE)).all())
}

impl<'a> Shape<'a> {
    /// Returns whether all numbers are finite and below 2²⁰, radii and half sizes above 0, the
    /// rotation of unit length, and the points not all the same. Queries reject other shapes.
    pub fn is_valid(&self) -> bool {
        ShapeCore::new(self).is_some()
    }

    /// Returns the min and max corner of the shape's box, about its origin, voxels; `None`
    /// if the shape is invalid.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        ShapeCore::new(self).map(|core| core.bounds())
    }
}

impl<'a> ShapeCore<'a> {
    /// Prepares a shape; `None` if it is invalid ([`Shape::is_valid`]).
    pub fn new(shape: &Shape<'a>) -> Option<ShapeCore<'a>> {
        let (core, radius, min, max) = match *shape {
            Shape::Sphere { radius } => (Core::Point, radius, Vec3::ZERO, Vec3::ZERO),
            Shape::Capsule { a, b, radius } => {
                let (a, b) = (Vec3::from(a), Vec3::from(b));
                if !is_usable(&[a, b]) {
                    return None;
                }
                let core =
                    if a == b && a == Vec3::ZERO { Core::Point } else { Core::Segment([a, b]) };
                (core, radius, a.min(b), a.max(b))
            }
            Shape::Box { half, rotation } => {
                let (half, rotation) = (Vec3::from(half), Quat::from_array(rotation));
                let is_unit = (rotation.length_squared() - 1.0).abs() <= 1e-3;
                if !(is_unit && half.min_element() > 0.0) {
                    return None;
                }
                let axes = Mat3::from_quat(rotation.normalize());
                let reach = axes.x_axis.abs() * half.x
                    + axes.y_axis.abs() * half.y
                    + axes.z_axis.abs() * half.z;
                (Core::Box { half, axes }, 0.0, -reach, reach)
            }
            Shape::Convex { points } => {
                let (mut min, mut max) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
                for &point in points {
                    let point = Vec3::from(point);
                    if !is_usable(&[point]) {
                        return None;
                    }
                    (min, max) = (min.min(point), max.max(point));
                }
                if min.cmpge(max).all() {
                    return None;
                }
                (Core::Points(points), 0.0, min, max)
            }
        };
        let (min, max) = (min - radius, max + radius);
        let is_round = matches!(core, Core::Point | Core::Segment(_));
        (is_usable(&[min, max]) && (!is_round || radius > 0.0)).then_some(ShapeCore {
            core,
            radius,
            min,
            max,
        })
    }

    /// Min and max corner of the box around the shape, about its origin, voxels.
    pub fn bounds(&self) -> ([f32; 3], [f32; 3]) {
        (self.min.to_array(), self.max.to_array())
    }

    /// Returns whether the shape at `at` and the triangle share a point; touching counts.
    pub fn overlaps(&self, at: [f32; 3], triangle: &[[f32; 3]; 3]) -> bool {
        let Some(triangle) = frame(at, triangle) else { return false };
        if self.gap(&triangle).max_element() > 0.0 {
            return false;
        }
        match self.core {
            Core::Point => sphere::overlaps(self.radius, &triangle),
            Core::Segment(ends) => {
                segment::squared_distance(&ends, &triangle) <= self.radius * self.radius
            }
            Core::Box { half, axes } => boxes::overlaps(half, &into_box(axes, &triangle)),
            Core::Points(points) => {
                let towards = -(triangle[0] + triangle[1] + triangle[2]);
                let found = gjk(|d| farthest_of(points, d), &triangle, towards, 0.0);
                matches!(found, Gjk::Overlapping(_))
            }
        }
    }

    /// Returns how far apart the shape at `at` and the triangle are, or how deep in each other;
    /// `None` if more than `within` apart. `within` may be infinite.
    pub fn separation(
        &self,
        at: [f32; 3],
        triangle: &[[f32; 3]; 3],
        within: f32,
    ) -> Option<Separation> {
        let local = self.separation_within(&frame(at, triangle)?, within)?;
        Some(Separation {
            distance: local.distance,
            on_shape: (local.on_shape + Vec3::from(at)).to_array(),
            on_triangle: (local.on_triangle + Vec3::from(at)).to_array(),
            normal: local.normal.to_array(),
        })
    }

    /// As [`ShapeCore::separation`], in the shape's frame.
    fn separation_within(&self, triangle: &[Vec3; 3], within: f32) -> Option<LocalSeparation> {
        let gap = self.gap(triangle).max(Vec3::ZERO);
        if gap.length_squared() > within * within {
            return None;
        }
        let local = self.separation_in_frame(triangle, within, None)?;
        (local.distance <= within).then_some(local)
    }

    /// Returns the first `t` from 0 to `t_max` at which the shape, moved from `at` by `t * motion`,
    /// touches the triangle: exactly for spheres, for others to 1/100,000 of the size of the two.
    /// The motion may have any length, and `t_max` may be infinite. A shape that touches and moves
    /// away does not hit, unless it already overlaps.
    pub fn cast(
        &self,
        at: [f32; 3],
        motion: [f32; 3],
        triangle: &[[f32; 3]; 3],
        t_max: f32,
    ) -> Option<CastHit> {
        let (triangle, motion) = (frame(at, triangle)?, Vec3::from(motion));
        if !motion.is_finite() || t_max.is_nan() || t_max < 0.0 {
            return None;
        }
        let size = self.size(&triangle);
        let slack = 1e-4 * size;
        let bounds = (self.min, self.max);
        let (start, length) = cast::window(bounds, motion, &triangle, t_max, slack)?;
        let triangle = triangle.map(|corner| corner - motion * start);
        let (t, on_triangle, normal) = self.first_touch(motion * length, &triangle)?;
        let t = start + length * t;
        let point = on_triangle + motion * start + Vec3::from(at);
        Some(CastHit { t, point: point.to_array(), normal: normal.to_array() })
    }

    /// First `t` from 0 to 1, the point of the triangle, and the normal. `motion` is not much
    /// longer than the size of things.
    fn first_touch(&self, motion: Vec3, triangle: &[Vec3; 3]) -> Option<(f32, Vec3, Vec3)> {
        let touching = TOUCHING_DISTANCE * self.size(triangle);
        let moved = |by: Vec3| triangle.map(|corner| corner - by);
        if let Core::Point = self.core {
            let near = self.separation_in_frame(triangle, f32::INFINITY, None)?;
            if near.distance <= 0.0 {
                return cast::start(motion, touching, near)
                    .map(|near| (0.0, near.on_triangle, near.normal));
            }
            return sphere::cast(self.radius, motion, triangle);
        }
        let apart = LocalSeparation {
            distance: f32::NAN,
            on_shape: Vec3::NAN,
            on_triangle: Vec3::NAN,
            normal: Vec3::NAN,
        };
        let near = |by: Vec3, guess: Option<Vec3>| {
            self.separation_in_frame(&moved(by), f32::INFINITY, guess).unwrap_or(apart)
        };
        let (t, near) = cast::advance(motion, touching, near)?;
        Some((t, near.on_triangle + motion * t, near.normal))
    }

    /// Largest coordinate of shape and triangle.
    fn size(&self, triangle: &[Vec3; 3]) -> f32 {
        let own = self.max.abs().max(self.min.abs()).max_element();
        triangle.iter().fold(own, |size, corner| size.max(corner.abs().max_element()))
    }

    /// Gap between the bounds of the shape and of the triangle, on each axis.
    fn gap(&self, &[a, b, c]: &[Vec3; 3]) -> Vec3 {
        (a.min(b).min(c) - self.max).max(self.min - a.max(b).max(c))
    }

    /// See [`nearest::separation`].
    fn separation_in_frame(
        &self,
        triangle: &[Vec3; 3],
        within: f32,
        guess: Option<Vec3>,
    ) -> Option<LocalSeparation> {
        nearest::separation(&self.core, self.radius, triangle, within, guess)
    }
}

/// What contacts need. Except for [`ShapeCore::reach`] these are for
/// [aligned](ShapeCore::aligned) shapes.
impl ShapeCore<'_> {
    /// The shape along its own axes, and these axes in the world: a box loses its rotation, other
    /// shapes stay as they are.
    pub(crate) fn aligned(&self) -> (Self, Mat3) {
        match self.core {
            Core::Box { half, axes } => {
                let core = Core::Box { half, axes: Mat3::IDENTITY };
                (ShapeCore { core, radius: self.radius, min: -half, max: half }, axes)
            }
            _ => (*self, Mat3::IDENTITY),
        }
    }

    /// The radius around the core.
    #[inline(always)]
    pub(crate) fn radius(&self) -> f32 {
        self.radius
    }

    /// A point inside, about the shape's origin.
    pub(crate) fn middle(&self) -> Vec3 {
        feature::middle(&self.core)
    }

    /// How far the shape reaches along a unit vector from its origin.
    #[inline]
    pub(crate) fn reach(&self, direction: Vec3) -> f32 {
        feature::reach(&self.core, direction) + self.radius
    }

    /// How far the shape reaches along a vector of this squared length, times that length.
    #[inline(always)]
    pub(crate) fn aligned_reach(&self, direction: Vec3, squared_length: f32) -> f32 {
        feature::aligned_reach(&self.core, self.radius, direction, squared_length)
    }

    /// Whether a triangle about the shape's origin is more than `within` beside a box. False for
    /// other shapes, which the boxes of the tree separate already.
    #[inline(always)]
    pub(crate) fn is_beside(&self, triangle: &[Vec3; 3], within: f32) -> bool {
        feature::is_beside(&self.core, triangle, within)
    }

    /// The points of the core that face `direction`, about the shape's origin.
    #[inline]
    pub(crate) fn feature(&self, direction: Vec3) -> FeaturePolygon {
        feature::feature(&self.core, self.max - self.min, direction)
    }

    /// The axis that separates the shape from a triangle, or the shortest way out; `None` if
    /// surely more than `within` apart. For boxes that are apart it is an axis of their faces and
    /// edges, not always the best one.
    pub(crate) fn contact_axis(&self, triangle: &[Vec3; 3], within: f32) -> Option<ContactAxis> {
        feature::contact_axis(&self.core, self.radius, triangle, within, || {
            if is_usable(triangle) { self.separation_within(triangle, within) } else { None }
        })
    }

    /// The volume; `None` for hulls, whose faces are not known.
    pub(crate) fn volume(&self) -> Option<f32> {
        vertical::volume(&self.core, self.radius)
    }

    /// Cuts a hull at each of `depths`, which ascend along z, for [`ShapeCore::vertical_span`].
    pub(crate) fn cut(&self, depths: &[f32], slices: &mut Slices) {
        if let Core::Points(points) = self.core {
            slices.cut(points, depths);
        }
    }

    /// Selects the slice at one of these depths, by its number.
    pub(crate) fn select(&self, number: usize, slices: &mut Slices) {
        if let Core::Points(_) = self.core {
            slices.select(number);
        }
    }

    /// Lowest and highest point of the vertical line at (x, z) inside of the shape, about its
    /// origin; `None` if it misses. The selected slice is the one at `z`.
    pub(crate) fn vertical_span(&self, x: f32, z: f32, slices: &Slices) -> Option<[f32; 2]> {
        vertical::span(&self.core, self.radius, x, z, slices)
    }
}

/// The triangle in the frame of a shape at `at`; `None` if it is too far away or not finite.
fn frame(at: [f32; 3], triangle: &[[f32; 3]; 3]) -> Option<[Vec3; 3]> {
    let triangle = triangle.map(|corner| Vec3::from(corner) - Vec3::from(at));
    is_usable(&triangle).then_some(triangle)
}
