//! Shapes against triangles: whether they meet, how far apart they are or how deep in
//! each other, and when a moving one first touches.
//!
//! A shape is a core (a point, a segment, a box, the hull of points) and a radius about
//! it. Everything is f32 in voxels, about any origin that is near, such as a block's
//! corner; a query first moves the triangle into the shape's frame, where numbers are
//! small. Triangles have two sides here. One without an area counts as its three sides,
//! so that a triangle may be a segment or a point.

mod boxes;
mod cast;
mod closest;
mod depth;
mod feature;
mod gjk;
#[cfg(test)]
mod naive;
mod segment;
mod simplex;
mod slice;
mod sphere;
#[cfg(test)]
mod tests;
mod upright;

use glam::{Mat3, Quat, Vec3};

pub use closest::closest_on_triangle;
pub(crate) use closest::on_triangle;
pub(crate) use feature::Polygon;
use gjk::{Gjk, gjk};
pub(crate) use slice::Slice;

/// Queries with coordinates beyond this, voxels, are rejected.
const FARTHEST: f32 = (1 << 20) as f32;

/// How close counts as touching in a cast, as a share of the size of things.
const TOUCHING: f32 = 1e-5;

/// A shape about its own origin, voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape<'a> {
    /// A ball.
    Sphere {
        /// Above 0.
        radius: f32,
    },
    /// What is within `radius` of the segment from `a` to `b`; these may be the same.
    Capsule {
        /// One end of the segment.
        a: [f32; 3],
        /// The other end.
        b: [f32; 3],
        /// Above 0.
        radius: f32,
    },
    /// A turned box.
    Box {
        /// Half of its size along its own axes, above 0.
        half: [f32; 3],
        /// Quaternion x, y, z, w of unit length: world from box.
        rotation: [f32; 4],
    },
    /// The hull of points: two or more that are not one.
    Convex {
        /// In any order; those inside the hull only cost time.
        points: &'a [[f32; 3]],
    },
}

/// Where a shape and a triangle are nearest, or deepest in each other, voxels.
///
/// `on_shape - on_triangle` is `distance * normal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Distance of the surfaces. Not above 0 if they touch; then `-distance` is how far
    /// the shape must move along `normal` to only touch, and no other way is shorter.
    pub distance: f32,
    /// The shape's nearest, or deepest, point.
    pub on_shape: [f32; 3],
    /// The triangle's.
    pub on_triangle: [f32; 3],
    /// Unit vector from the triangle to the shape.
    pub normal: [f32; 3],
}

/// Where a moving shape first touches a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CastHit {
    /// When: the shape has moved by `t * motion`. 0 if it starts touching.
    pub t: f32,
    /// The point of the triangle that is touched.
    pub point: [f32; 3],
    /// Unit vector from the triangle to the shape.
    pub normal: [f32; 3],
}

/// What is within a radius of the shape.
#[derive(Clone, Copy, Debug)]
enum Core<'a> {
    Point,
    Segment([Vec3; 2]),
    Box { half: Vec3, axes: Mat3 },
    Points(&'a [[f32; 3]]),
}

/// A valid [`Shape`], made ready for queries; cheap to make and to copy.
#[derive(Clone, Copy, Debug)]
pub struct ShapeCore<'a> {
    core: Core<'a>,
    radius: f32,
    min: Vec3,
    max: Vec3,
}

/// [`Separation`] in the shape's frame.
#[derive(Clone, Copy, Debug)]
struct Near {
    distance: f32,
    on_shape: Vec3,
    on_triangle: Vec3,
    normal: Vec3,
}

impl Near {
    /// Of a core, with a radius put about it.
    fn rounded(self, radius: f32) -> Near {
        let on_shape = self.on_shape - self.normal * radius;
        Near { distance: self.distance - radius, on_shape, ..self }
    }

    fn turned(self, axes: Mat3) -> Near {
        Near {
            distance: self.distance,
            on_shape: axes * self.on_shape,
            on_triangle: axes * self.on_triangle,
            normal: axes * self.normal,
        }
    }
}

/// Distance of two points below which their direction is rounding.
fn noise(triangle: &[Vec3; 3]) -> f32 {
    let [a, b, c] = triangle.map(Vec3::abs);
    1e-6 * a.max(b).max(c).max_element() + f32::MIN_POSITIVE
}

/// A unit vector perpendicular to `a` and `b`; to the longer one if they are parallel as
/// far as f32 can tell.
fn any_normal(a: Vec3, b: Vec3) -> Vec3 {
    let longer = if a.length_squared() >= b.length_squared() { a } else { b };
    let across = a.cross(b);
    let is_clear = across.length_squared() > 1e-8 * a.length_squared() * b.length_squared();
    let across = if is_clear { across } else { longer.normalize_or_zero().any_orthogonal_vector() };
    across.normalize_or(Vec3::Y)
}

/// Whether all numbers are finite and none is beyond [`FARTHEST`].
fn is_usable(points: &[Vec3]) -> bool {
    points.iter().all(|p| p.abs().cmple(Vec3::splat(FARTHEST)).all())
}

impl<'a> Shape<'a> {
    /// Whether it can be asked about: all numbers finite and below 2²⁰, radii and half
    /// sizes above 0, a rotation of unit length, and points that are not all one.
    pub fn is_valid(&self) -> bool {
        ShapeCore::new(self).is_some()
    }

    /// Lowest and highest corner of the box around it, about its origin, voxels; `None` if
    /// it is not valid.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        ShapeCore::new(self).map(|core| core.bounds())
    }
}

impl<'a> ShapeCore<'a> {
    /// Makes a shape ready; `None` if it is not valid ([`Shape::is_valid`]).
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

    /// Lowest and highest corner of the box around the shape, about its origin, voxels.
    pub fn bounds(&self) -> ([f32; 3], [f32; 3]) {
        (self.min.to_array(), self.max.to_array())
    }

    /// Whether the shape at `at` and the triangle share a point; touching counts.
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

    /// How far the shape at `at` and the triangle are apart, or how deep in each other;
    /// `None` if more than `within` apart, for which infinity is allowed.
    pub fn separation(
        &self,
        at: [f32; 3],
        triangle: &[[f32; 3]; 3],
        within: f32,
    ) -> Option<Separation> {
        let triangle = frame(at, triangle)?;
        let gap = self.gap(&triangle).max(Vec3::ZERO);
        if gap.length_squared() > within * within {
            return None;
        }
        let near = self.near(&triangle, within, None)?;
        (near.distance <= within).then(|| Separation {
            distance: near.distance,
            on_shape: (near.on_shape + Vec3::from(at)).to_array(),
            on_triangle: (near.on_triangle + Vec3::from(at)).to_array(),
            normal: near.normal.to_array(),
        })
    }

    /// First `t` from 0 to `t_max` at which the shape, put at `at` and moved by
    /// `t * motion`, touches the triangle: exactly for spheres, for the others when it is
    /// within 1/100,000 of the size of the two. A motion of any length will do, and
    /// `t_max` may be infinite. A shape that touches and moves away does not hit, unless
    /// it already overlaps.
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

    /// First `t` from 0 to 1, the point of the triangle, and the normal; `motion` is not
    /// much longer than the things are large.
    fn first_touch(&self, motion: Vec3, triangle: &[Vec3; 3]) -> Option<(f32, Vec3, Vec3)> {
        let touching = TOUCHING * self.size(triangle);
        let moved = |by: Vec3| triangle.map(|corner| corner - by);
        if let Core::Point = self.core {
            let near = self.near(triangle, f32::INFINITY, None)?;
            if near.distance <= 0.0 {
                return cast::start(motion, touching, near)
                    .map(|near| (0.0, near.on_triangle, near.normal));
            }
            return sphere::cast(self.radius, motion, triangle);
        }
        let apart = Near {
            distance: f32::NAN,
            on_shape: Vec3::NAN,
            on_triangle: Vec3::NAN,
            normal: Vec3::NAN,
        };
        let near = |by: Vec3, guess: Option<Vec3>| {
            self.near(&moved(by), f32::INFINITY, guess).unwrap_or(apart)
        };
        let (t, near) = cast::advance(motion, touching, near)?;
        Some((t, near.on_triangle + motion * t, near.normal))
    }

    /// Largest number that shape and triangle are made of.
    fn size(&self, triangle: &[Vec3; 3]) -> f32 {
        let own = self.max.abs().max(self.min.abs()).max_element();
        triangle.iter().fold(own, |size, corner| size.max(corner.abs().max_element()))
    }

    /// Gap between the bounds of the shape and of the triangle, on each axis.
    fn gap(&self, &[a, b, c]: &[Vec3; 3]) -> Vec3 {
        (a.min(b).min(c) - self.max).max(self.min - a.max(b).max(c))
    }

    /// Shape and triangle in the shape's frame; `None` if surely more than `within` apart.
    /// A guess of the normal makes it faster, if they are apart.
    fn near(&self, triangle: &[Vec3; 3], within: f32, guess: Option<Vec3>) -> Option<Near> {
        let near = match self.core {
            Core::Point => sphere::near(triangle),
            Core::Segment(ends) => segment::near(&ends, triangle),
            Core::Box { half, axes } => {
                let guess = guess.map(|guess| axes.transpose() * guess);
                let near = near_box(half, &into_box(axes, triangle), within, guess);
                return near.map(|near| near.turned(axes));
            }
            Core::Points(points) => return near_points(points, triangle, within, guess),
        };
        Some(near.rounded(self.radius))
    }
}

/// The triangle in the frame of a shape at `at`; `None` if it is too far away or not finite.
fn frame(at: [f32; 3], triangle: &[[f32; 3]; 3]) -> Option<[Vec3; 3]> {
    let triangle = triangle.map(|corner| Vec3::from(corner) - Vec3::from(at));
    is_usable(&triangle).then_some(triangle)
}

/// The triangle along a box's own axes.
fn into_box(axes: Mat3, triangle: &[Vec3; 3]) -> [Vec3; 3] {
    let back = axes.transpose();
    triangle.map(|corner| back * corner)
}

/// The point that is farthest along `direction`.
fn farthest_of(points: &[[f32; 3]], direction: Vec3) -> Vec3 {
    let (mut most, mut best) = (f32::NEG_INFINITY, 0);
    for (i, point) in points.iter().enumerate() {
        let along = point[0] * direction.x + point[1] * direction.y + point[2] * direction.z;
        // Chosen without a branch: which point it is cannot be foreseen.
        let better = along > most;
        most = if better { along } else { most };
        best = if better { i } else { best };
    }
    points.get(best).map_or(Vec3::ZERO, |&point| Vec3::from(point))
}

/// A box along the axes about the origin, and a triangle.
fn near_box(half: Vec3, triangle: &[Vec3; 3], within: f32, guess: Option<Vec3>) -> Option<Near> {
    let support = |d: Vec3| half.copysign(d);
    if let Some(guess) = guess
        && let Gjk::Apart { distance, normal, points } = gjk(support, triangle, guess, within)
    {
        return Some(Near { distance, on_shape: points.0, on_triangle: points.1, normal });
    }
    let (apart, towards) = match boxes::part(half, triangle) {
        Ok((depth, normal)) => return Some(parted(support, triangle, depth, normal, half)),
        Err((distance, _)) if distance > within => return None,
        Err(apart) => apart,
    };
    match gjk(support, triangle, towards, within) {
        Gjk::Apart { distance, normal, points } => {
            Some(Near { distance, on_shape: points.0, on_triangle: points.1, normal })
        }
        Gjk::Beyond => None,
        // They touch; the axis tells what is left between them.
        Gjk::Overlapping(_) => Some(parted(support, triangle, -apart, towards, half)),
    }
}

/// The hull of points, and a triangle.
fn near_points(
    points: &[[f32; 3]],
    triangle: &[Vec3; 3],
    within: f32,
    guess: Option<Vec3>,
) -> Option<Near> {
    let support = |d| farthest_of(points, d);
    let towards = guess.unwrap_or(-(triangle[0] + triangle[1] + triangle[2]));
    match gjk(support, triangle, towards, within) {
        Gjk::Apart { distance, normal, points } => {
            Some(Near { distance, on_shape: points.0, on_triangle: points.1, normal })
        }
        Gjk::Beyond => None,
        Gjk::Overlapping(simplex) => {
            let (depth, normal) = depth::part(support, triangle, &simplex);
            Some(parted(support, triangle, depth, normal, Vec3::ONE))
        }
    }
}

/// What is known of two that overlap and part by `depth` along `normal`: the points where
/// they touch last are read off once they are apart.
fn parted(
    support: impl Fn(Vec3) -> Vec3,
    triangle: &[Vec3; 3],
    depth: f32,
    normal: Vec3,
    size: Vec3,
) -> Near {
    let by = depth + 0.25 * size.max_element();
    let away = triangle.map(|corner| corner - normal * by);
    let found = gjk(&support, &away, normal, f32::INFINITY);
    let on_triangle = match found {
        Gjk::Apart { points, .. } => points.1 + normal * by,
        Gjk::Beyond | Gjk::Overlapping(_) => support(-normal) + normal * depth,
    };
    Near { distance: -depth, on_shape: on_triangle - normal * depth, on_triangle, normal }
}
