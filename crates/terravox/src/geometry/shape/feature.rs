//! What contacts ask of a shape beside distance: the part of its core that faces a
//! direction, where its middle is, and the axis along which it parts from a triangle,
//! without the points, which clipping finds. All but the reach is asked of shapes that are
//! [aligned](ShapeCore::aligned).

use glam::{Mat3, Vec3};

use super::{Core, ShapeCore, boxes, closest, segment};

/// Most points of a feature. Clipping by a triangle's three sides adds one each. Few
/// enough that a polygon is copied by a few moves.
const MOST_POINTS: usize = 9;

/// Most points of a hull that make a feature.
const MOST_HULL_POINTS: usize = 6;

/// How far behind the farthest point of a hull others still belong to its feature, as a
/// share of its size: points of a face that is turned by a few degrees do.
const HULL_SLACK: f32 = 0.1;

/// A convex polygon in space, or two points, or one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polygon {
    points: [Vec3; MOST_POINTS],
    count: u32,
}

impl Polygon {
    /// No points.
    pub const EMPTY: Polygon = Polygon { points: [Vec3::ZERO; MOST_POINTS], count: 0 };

    /// Its points, in order around it.
    #[inline(always)]
    pub fn points(&self) -> &[Vec3] {
        &self.points[..(self.count as usize).min(MOST_POINTS)]
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

impl ShapeCore<'_> {
    /// The shape along its own axes, and these: a box that is not turned, about which the
    /// world is. Other shapes stay as they are.
    pub(crate) fn aligned(&self) -> (Self, Mat3) {
        match self.core {
            Core::Box { half, axes } => {
                let core = Core::Box { half, axes: Mat3::IDENTITY };
                (ShapeCore { core, radius: self.radius, min: -half, max: half }, axes)
            }
            _ => (*self, Mat3::IDENTITY),
        }
    }

    /// What lies around the core.
    #[inline(always)]
    pub(crate) fn radius(&self) -> f32 {
        self.radius
    }

    /// A point inside, about the shape's origin.
    pub(crate) fn middle(&self) -> Vec3 {
        match self.core {
            Core::Point | Core::Box { .. } => Vec3::ZERO,
            Core::Segment([a, b]) => 0.5 * (a + b),
            Core::Points(points) => {
                let sum = points.iter().fold(Vec3::ZERO, |sum, &p| sum + Vec3::from(p));
                sum / points.len().max(1) as f32
            }
        }
    }

    /// Farthest that the shape reaches along a unit vector from its origin.
    #[inline]
    pub(crate) fn reach(&self, direction: Vec3) -> f32 {
        let along = match self.core {
            Core::Point => 0.0,
            Core::Segment([a, b]) => a.dot(direction).max(b.dot(direction)),
            Core::Box { half, axes } => half.dot((axes.transpose() * direction).abs()),
            Core::Points(points) => super::farthest_of(points, direction).dot(direction),
        };
        along + self.radius
    }

    /// How far an aligned shape reaches along a vector of this squared length, times that
    /// length.
    #[inline(always)]
    pub(crate) fn aligned_reach(&self, direction: Vec3, squared_length: f32) -> f32 {
        match self.core {
            Core::Box { half, .. } => half.dot(direction.abs()),
            Core::Point => self.radius * squared_length.sqrt(),
            Core::Segment([a, b]) => {
                a.dot(direction).max(b.dot(direction)) + self.radius * squared_length.sqrt()
            }
            Core::Points(points) => super::farthest_of(points, direction).dot(direction),
        }
    }

    /// Whether a triangle about the shape's origin is more than `within` beside an aligned
    /// box. Never so of other shapes, which the tree's own boxes tell.
    #[inline(always)]
    pub(crate) fn is_beside(&self, [a, b, c]: &[Vec3; 3], within: f32) -> bool {
        let Core::Box { half, .. } = self.core else { return false };
        let reach = half + within;
        a.min(*b).min(*c).cmpgt(reach).any() || a.max(*b).max(*c).cmplt(-reach).any()
    }

    /// The points of an aligned core that face `direction`, about the shape's origin: of a
    /// box the face that is most so, of a hull what is nearly as far as its farthest point.
    #[inline]
    pub(crate) fn feature(&self, direction: Vec3) -> Polygon {
        let mut polygon = Polygon::EMPTY;
        match self.core {
            Core::Point => polygon.push(Vec3::ZERO),
            Core::Segment(ends) => ends.into_iter().for_each(|end| polygon.push(end)),
            Core::Box { half, .. } => box_face(half, direction, &mut polygon),
            Core::Points(points) => {
                hull_feature(points, direction, self.max - self.min, &mut polygon);
            }
        }
        polygon
    }

    /// How far an aligned shape and the triangle are apart along an axis that parts them,
    /// or how deep they are in each other along the shortest way out, and that axis, from
    /// the triangle to the shape; `None` if surely more than `within` apart. Of boxes that
    /// are apart it is an axis of their faces and edges, not always the best one.
    pub(crate) fn axis(&self, triangle: &[Vec3; 3], within: f32) -> Option<(f32, Vec3)> {
        match self.core {
            Core::Point => {
                let foot = closest::on_triangle(Vec3::ZERO, triangle);
                let distance = foot.length();
                let apart = distance - self.radius;
                (apart <= within).then(|| (apart, (-foot / distance).normalize_or(Vec3::Y)))
            }
            Core::Segment(ends) => {
                let near = segment::near(&ends, triangle).rounded(self.radius);
                (near.distance <= within).then_some((near.distance, near.normal))
            }
            Core::Box { half, .. } => match boxes::part(half, triangle) {
                Ok((depth, axis)) => Some((-depth, axis)),
                Err((distance, axis)) => (distance <= within).then_some((distance, axis)),
            },
            Core::Points(_) => {
                let triangle = triangle.map(|p| p.to_array());
                let found = self.separation([0.0; 3], &triangle, within)?;
                Some((found.distance, Vec3::from(found.normal)))
            }
        }
    }
}

/// The face of a box that most faces `direction`, in order around it.
#[inline(always)]
fn box_face(half: Vec3, direction: Vec3, polygon: &mut Polygon) {
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
fn hull_feature(points: &[[f32; 3]], direction: Vec3, size: Vec3, polygon: &mut Polygon) {
    let most = super::farthest_of(points, direction).dot(direction);
    let least = most - HULL_SLACK * size.max_element();
    let mut found = [(Vec3::ZERO, f32::INFINITY); MOST_HULL_POINTS];
    let mut count = 0;
    for point in points.iter().map(|&point| Vec3::from(point)) {
        let along = point.dot(direction);
        if along < least {
            continue;
        }
        if count < MOST_HULL_POINTS {
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

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;

    #[test]
    fn a_box_shows_the_face_that_faces_most() {
        let shape = Shape::Box { half: [1.0, 2.0, 3.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        let core = ShapeCore::new(&shape).unwrap();
        let face = core.feature(Vec3::new(0.2, -0.9, 0.1));
        assert_eq!(face.points().len(), 4);
        assert!(face.points().iter().all(|p| p.y == -2.0 && p.x.abs() == 1.0 && p.z.abs() == 3.0));
        let around: Vec<_> =
            (0..4).map(|i| face.points()[i].distance(face.points()[(i + 1) % 4])).collect();
        assert!(around.iter().all(|&d| d == 2.0 || d == 6.0), "in order: {around:?}");
    }

    #[test]
    fn a_hull_shows_its_lowest_points_in_order() {
        let mut points = Vec::new();
        for i in 0..6 {
            let (sin, cos) = (i as f32 * 3.0).sin_cos();
            points.push([cos, -1.0, sin]);
            points.push([0.8 * cos, 1.0, 0.8 * sin]);
        }
        let core = ShapeCore::new(&Shape::Convex { points: &points }).unwrap();
        let face = core.feature(-Vec3::Y);
        assert_eq!(face.points().len(), 6);
        let turns = (0..6).map(|i| {
            let [a, b, c] = [i, i + 1, i + 2].map(|k| face.points()[k % 6]);
            (b - a).cross(c - b).y.signum()
        });
        let turns: Vec<_> = turns.collect();
        assert!(turns.iter().all(|&turn| turn == turns[0]), "{turns:?}");
    }

    #[test]
    fn reach_is_that_of_the_farthest_point() {
        let capsule = Shape::Capsule { a: [0.0, -1.0, 0.0], b: [0.0, 1.0, 0.0], radius: 0.25 };
        let core = ShapeCore::new(&capsule).unwrap();
        assert_eq!(core.reach(-Vec3::Y), 1.25);
        assert_eq!(core.reach(Vec3::X), 0.25);
        assert_eq!(core.middle(), Vec3::ZERO);
    }
}
