//! Solids in a picture besides the terrain: balls, capsules and convex hulls, intersected
//! exactly and found by a bounding volume hierarchy.
//!
//! Sources: Cyrus and Beck, "Generalized two- and three-dimensional clipping" (1978), for
//! hulls; Kay and Kajiya, "Ray Tracing Complex Scenes" (1986), for the tree.

use crate::ray::SceneRay;
use glam::{DVec3, Vec3};
use std::ops::Range;

/// Limit of the solids in a leaf of the tree.
const LEAF_SIZE: usize = 2;

/// Points nearer to a plane than this lie on it, cells.
const PLANE_TOLERANCE: f64 = 1e-4;

/// Solids occlude the sky for points within this many of their radii.
const OCCLUSION_REACH_RADII: f64 = 3.0;

/// The shape of a solid, in cells of the scene.
#[derive(Clone, Debug, PartialEq)]
pub enum SolidShape {
    /// A ball.
    Ball {
        /// Centre.
        centre: DVec3,
        /// Positive.
        radius: f64,
    },
    /// All points within a radius of a line segment.
    Capsule {
        /// Ends of the segment.
        ends: [DVec3; 2],
        /// Positive.
        radius: f64,
    },
    /// The convex hull of points. Cost grows with the fourth power of their number: use a few
    /// dozen at most.
    Hull(Vec<DVec3>),
}

/// A solid of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Shape and position.
    pub shape: SolidShape,
    /// sRGB.
    pub colour: [u8; 3],
}

/// Where a ray hits a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SolidHit {
    /// Cells from the ray's origin.
    pub distance: f64,
    /// Unit, out of the solid.
    pub normal: Vec3,
    /// Linear.
    pub colour: Vec3,
}

/// Solids in a bounding volume hierarchy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solids {
    solids: Vec<PreparedSolid>,
    /// The first is the root; a parent directly precedes its first child.
    nodes: Vec<SolidNode>,
}

/// A solid prepared for rays.
#[derive(Clone, Debug)]
struct PreparedSolid {
    shape: PreparedShape,
    colour: Vec3,
    low: DVec3,
    high: DVec3,
}

#[derive(Clone, Debug)]
enum PreparedShape {
    Ball {
        centre: DVec3,
        radius: f64,
    },
    Capsule {
        ends: [DVec3; 2],
        radius: f64,
    },
    /// The points below all of these planes.
    Planes(Vec<Plane>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// Unit length, out of the solid.
    pub normal: DVec3,
    /// Distance from the origin along the normal, cells.
    offset: f64,
}

impl Plane {
    /// Returns the height of a point above the plane.
    pub fn height(&self, point: DVec3) -> f64 {
        self.normal.dot(point) - self.offset
    }
}

#[derive(Clone, Debug)]
struct SolidNode {
    low: DVec3,
    high: DVec3,
    /// Solids of a leaf; empty in a parent.
    solids: Range<usize>,
    /// The second child of a parent.
    second: usize,
}

/// The interval of a ray inside a solid, cells.
#[derive(Clone, Copy, Debug)]
struct RaySpan {
    enter: f64,
    leave: f64,
}

impl Solids {
    /// Builds the tree; `linear` converts colours. Solids with a non-finite position or size
    /// are left out.
    pub fn new(solids: &[Solid], linear: impl Fn([u8; 3]) -> Vec3) -> Solids {
        let prepared =
            solids.iter().map(|solid| PreparedSolid::new(&solid.shape, linear(solid.colour)));
        let mut all = Solids {
            solids: prepared
                .filter(|solid| solid.low.is_finite() && solid.high.is_finite())
                .collect(),
            nodes: Vec::new(),
        };
        if !all.solids.is_empty() {
            all.build(0..all.solids.len());
        }
        all
    }

    /// Builds the node of a range, split at the median along the longest axis; returns its
    /// index.
    fn build(&mut self, range: Range<usize>) -> usize {
        let solids = &mut self.solids[range.clone()];
        let low = solids.iter().fold(DVec3::INFINITY, |low, solid| low.min(solid.low));
        let high = solids.iter().fold(DVec3::NEG_INFINITY, |high, solid| high.max(solid.high));
        let number = self.nodes.len();
        self.nodes.push(SolidNode { low, high, solids: range.clone(), second: 0 });
        if range.len() > LEAF_SIZE {
            let axis = (high - low).max_position();
            let centre = |solid: &PreparedSolid| solid.low[axis] + solid.high[axis];
            solids.sort_by(|a, b| centre(a).total_cmp(&centre(b)));
            let middle = range.start + range.len() / 2;
            self.build(range.start..middle);
            let second = self.build(middle..range.end);
            self.nodes[number] = SolidNode { low, high, solids: 0..0, second };
        }
        number
    }

    /// Returns the first solid that a ray enters within `reach` cells.
    pub fn closest(&self, ray: &SceneRay, reach: f64) -> Option<SolidHit> {
        let mut best = (reach, None);
        self.walk(
            |node, best: &(f64, _)| hits_box(ray, node.low, node.high, best.0),
            |solid, best| {
                let entered = solid.span(ray).map_or(-1.0, |span| span.enter);
                if entered > 0.0 && entered < best.0 {
                    *best = (entered, Some(solid));
                }
                false
            },
            &mut best,
        );
        let (distance, solid) = (best.0, best.1?);
        let normal = solid.normal(ray.at(distance)).as_vec3();
        Some(SolidHit { distance, normal, colour: solid.colour })
    }

    /// Returns whether a solid lies on a ray within `reach` cells.
    pub fn is_blocked(&self, ray: &SceneRay, reach: f64) -> bool {
        self.walk(
            |node, ()| hits_box(ray, node.low, node.high, reach),
            |solid, ()| solid.span(ray).is_some_and(|s| s.leave > 0.0 && s.enter < reach),
            &mut (),
        )
    }

    /// Returns the share of the sky, 0 to 1, that nearby solids leave visible from a surface
    /// point: each occludes as much as a ball of its size.
    pub fn sky_visibility(&self, point: DVec3, normal: Vec3) -> f32 {
        let normal = normal.as_dvec3();
        let mut open = 1.0;
        self.walk(
            |node, _| {
                let reach =
                    (OCCLUSION_REACH_RADII - 1.0) * 0.5 * (node.high - node.low).max_element();
                let off = (node.low - point).max(point - node.high).max(DVec3::ZERO);
                off.length_squared() < reach * reach
            },
            |solid, open: &mut f64| {
                let half = 0.5 * (solid.high - solid.low);
                let radius = (half.element_sum() / 3.0).max(1e-9);
                let way = 0.5 * (solid.low + solid.high) - point;
                let distance = way.length().max(1e-9);
                // Fades out at the end of the search radius.
                let fade = ((OCCLUSION_REACH_RADII - distance / radius)
                    / (OCCLUSION_REACH_RADII - 1.0))
                    .clamp(0.0, 1.0);
                let facing = way.dot(normal).max(0.0) / distance;
                let seen = (radius / distance).min(1.0).powi(2);
                *open *= 1.0 - 0.85 * fade * facing * seen;
                false
            },
            &mut open,
        );
        open as f32
    }

    /// Calls `visit` for the solids of the nodes that `enter` accepts, until one returns true.
    fn walk<'a, T>(
        &'a self,
        enter: impl Fn(&SolidNode, &T) -> bool,
        visit: impl Fn(&'a PreparedSolid, &mut T) -> bool,
        state: &mut T,
    ) -> bool {
        // No tree in memory that is split in halves is deeper.
        let mut pending = [0; 64];
        let mut count = usize::from(!self.nodes.is_empty());
        while count > 0 {
            count -= 1;
            let number = pending[count];
            let node = &self.nodes[number];
            if !enter(node, state) {
                continue;
            }
            if node.solids.is_empty() {
                pending[count] = node.second;
                pending[count + 1] = number + 1;
                count += 2;
            }
            for solid in &self.solids[node.solids.clone()] {
                if visit(solid, state) {
                    return true;
                }
            }
        }
        false
    }
}

impl PreparedSolid {
    fn new(shape: &SolidShape, colour: Vec3) -> PreparedSolid {
        let (shape, [low, high]) = match shape {
            &SolidShape::Ball { centre, radius } => {
                (PreparedShape::Ball { centre, radius }, [centre - radius, centre + radius])
            }
            &SolidShape::Capsule { ends: [a, b], radius } => {
                let shape = PreparedShape::Capsule { ends: [a, b], radius };
                (shape, [a.min(b) - radius, a.max(b) + radius])
            }
            SolidShape::Hull(points) => {
                let low = points.iter().fold(DVec3::INFINITY, |low, &p| low.min(p));
                let high = points.iter().fold(DVec3::NEG_INFINITY, |high, &p| high.max(p));
                (PreparedShape::Planes(hull_planes(points, PLANE_TOLERANCE)), [low, high])
            }
        };
        PreparedSolid { shape, colour, low, high }
    }

    /// Returns the interval of the ray's line inside the solid.
    fn span(&self, ray: &SceneRay) -> Option<RaySpan> {
        match &self.shape {
            &PreparedShape::Ball { centre, radius } => in_ball(ray, centre, radius),
            &PreparedShape::Capsule { ends: [a, b], radius } => {
                // Convex, so the intervals of ends and middle join.
                let parts = [in_ball(ray, a, radius), in_ball(ray, b, radius)];
                let parts = parts.into_iter().chain([in_cylinder(ray, [a, b], radius)]).flatten();
                parts.reduce(|a, b| RaySpan {
                    enter: a.enter.min(b.enter),
                    leave: a.leave.max(b.leave),
                })
            }
            PreparedShape::Planes(planes) => in_planes(ray, planes),
        }
    }

    /// Returns the unit normal at a point of the surface.
    fn normal(&self, point: DVec3) -> DVec3 {
        let away = |from: DVec3| (point - from).normalize_or(DVec3::Y);
        match &self.shape {
            &PreparedShape::Ball { centre, .. } => away(centre),
            &PreparedShape::Capsule { ends: [a, b], .. } => {
                let share = (point - a).dot(b - a) / (b - a).length_squared().max(1e-12);
                away(a.lerp(b, share.clamp(0.0, 1.0)))
            }
            PreparedShape::Planes(planes) => {
                let nearest =
                    planes.iter().max_by(|a, b| a.height(point).total_cmp(&b.height(point)));
                nearest.map_or(DVec3::Y, |plane| plane.normal)
            }
        }
    }
}

/// Returns the face planes of a convex hull: those through three points that have no point above
/// them. Points nearer to a plane than `tolerance` lie on it.
pub(crate) fn hull_planes(points: &[DVec3], tolerance: f64) -> Vec<Plane> {
    let mut planes: Vec<Plane> = Vec::new();
    for (i, &a) in points.iter().enumerate() {
        for (j, &b) in points.iter().enumerate().skip(i + 1) {
            for &c in &points[j + 1..] {
                let Some(normal) = (b - a).cross(c - a).try_normalize() else { continue };
                for normal in [normal, -normal] {
                    let plane = Plane { normal, offset: normal.dot(a) };
                    let is_outermost = points.iter().all(|p| plane.height(*p) < tolerance);
                    let is_known = planes.iter().any(|known| {
                        let is_on = |p: DVec3| known.height(p).abs() < tolerance;
                        known.normal.dot(normal) > 0.0 && [a, b, c].into_iter().all(is_on)
                    });
                    if is_outermost && !is_known {
                        planes.push(plane);
                    }
                }
            }
        }
    }
    planes
}

/// Returns the interval of a line inside a ball.
fn in_ball(ray: &SceneRay, centre: DVec3, radius: f64) -> Option<RaySpan> {
    let way = centre - ray.origin;
    let along = way.dot(ray.direction);
    let beside = (way - ray.direction * along).length_squared();
    let half = (radius * radius - beside).max(-1.0);
    (half >= 0.0).then(|| RaySpan { enter: along - half.sqrt(), leave: along + half.sqrt() })
}

/// Returns the interval of a line inside a cylinder, between its end planes.
fn in_cylinder(ray: &SceneRay, [a, b]: [DVec3; 2], radius: f64) -> Option<RaySpan> {
    let axis = (b - a).try_normalize()?;
    let across = |v: DVec3| v - axis * v.dot(axis);
    let (way, direction) = (across(a - ray.origin), across(ray.direction));
    let speed = direction.length_squared();
    let end_planes = [
        Plane { normal: axis, offset: axis.dot(b) },
        Plane { normal: -axis, offset: -axis.dot(a) },
    ];
    let ends = in_planes(ray, &end_planes)?;
    if speed < 1e-18 {
        return (way.length() < radius).then_some(ends);
    }
    let along = way.dot(direction) / speed;
    let beside = (way - direction * along).length_squared();
    let half = (radius * radius - beside) / speed;
    if half < 0.0 {
        return None;
    }
    let enter = ends.enter.max(along - half.sqrt());
    let leave = ends.leave.min(along + half.sqrt());
    (enter < leave).then_some(RaySpan { enter, leave })
}

/// Returns the interval of a line below all planes.
fn in_planes(ray: &SceneRay, planes: &[Plane]) -> Option<RaySpan> {
    let mut span = RaySpan { enter: f64::NEG_INFINITY, leave: f64::INFINITY };
    for plane in planes {
        let (speed, above) = (plane.normal.dot(ray.direction), plane.height(ray.origin));
        if speed < 0.0 {
            span.enter = span.enter.max(-above / speed);
        } else if speed > 0.0 {
            span.leave = span.leave.min(-above / speed);
        } else if above > 0.0 {
            return None;
        }
    }
    (span.enter < span.leave).then_some(span)
}

/// Returns whether a ray enters a box within `reach`.
fn hits_box(ray: &SceneRay, low: DVec3, high: DVec3, reach: f64) -> bool {
    let (mut enter, mut leave) = (0.0_f64, reach);
    for axis in 0..3 {
        let by = 1.0 / ray.direction[axis];
        let [a, b] = [low[axis], high[axis]].map(|side| (side - ray.origin[axis]) * by);
        // A ray within a face gives 0 × ∞ = NaN, which f64's min and max ignore.
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    enter <= leave
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(reach: f64) -> impl Strategy<Value = DVec3> {
        prop::array::uniform3(-reach..reach).prop_map(DVec3::from)
    }

    fn shape() -> impl Strategy<Value = SolidShape> {
        let points = || prop::collection::vec(vector(2.0), 4..9);
        prop_oneof![
            (vector(8.0), 0.2..2.0)
                .prop_map(|(centre, radius)| SolidShape::Ball { centre, radius }),
            (vector(8.0), vector(2.0), 0.2..2.0)
                .prop_map(|(a, way, radius)| SolidShape::Capsule { ends: [a, a + way], radius }),
            (vector(8.0), points()).prop_map(|(at, points)| SolidShape::Hull(
                points.iter().map(|p| at + *p).collect()
            )),
        ]
    }

    fn solids(shapes: Vec<SolidShape>) -> Vec<Solid> {
        let solid = |(i, shape)| Solid { shape, colour: [i as u8, 0, 0] };
        shapes.into_iter().enumerate().map(solid).collect()
    }

    fn prepared(solids: &[Solid]) -> Solids {
        Solids::new(solids, |colour| Vec3::from(colour.map(f32::from)))
    }

    /// Whether a point is inside by some margin, without rays.
    fn inside(shape: &SolidShape, point: DVec3, margin: f64) -> bool {
        match shape {
            SolidShape::Ball { centre, radius } => point.distance(*centre) < radius - margin,
            SolidShape::Capsule { ends: [a, b], radius } => {
                let nearest = (0..=400).map(|i| a.lerp(*b, f64::from(i) / 400.0).distance(point));
                nearest.fold(f64::INFINITY, f64::min) < radius - margin
            }
            SolidShape::Hull(points) => hull_planes(points, PLANE_TOLERANCE)
                .iter()
                .all(|plane| plane.normal.dot(point) < plane.offset - margin),
        }
    }

    proptest! {
        #[test]
        fn the_tree_finds_the_nearest_of_all_solids(
            shapes in prop::collection::vec(shape(), 0..24),
            origin in vector(14.0),
            target in vector(6.0),
        ) {
            let Some(direction) = (target - origin).try_normalize() else { return Ok(()) };
            let ray = SceneRay { origin, direction };
            let all = prepared(&solids(shapes));
            let spans = all.solids.iter().filter_map(|solid| solid.span(&ray));
            let entered = spans.clone().map(|span| span.enter).filter(|&t| t > 0.0 && t < 20.0);
            let nearest = entered.min_by(f64::total_cmp);
            prop_assert_eq!(all.closest(&ray, 20.0).map(|hit| hit.distance), nearest);
            let blocked = spans.into_iter().any(|span| span.leave > 0.0 && span.enter < 20.0);
            prop_assert_eq!(all.is_blocked(&ray, 20.0), blocked);
        }

        #[test]
        fn rays_end_at_the_surface(shape in shape(), origin in vector(14.0), aim in vector(1.0)) {
            let solid = solids(vec![shape.clone()]);
            let all = prepared(&solid);
            let target = 0.5 * (all.solids[0].low + all.solids[0].high) + aim;
            let Some(direction) = (target - origin).try_normalize() else { return Ok(()) };
            let ray = SceneRay { origin, direction };
            // Points up to the hit are outside; those just behind it are inside.
            let end = all.closest(&ray, 40.0).map_or(40.0, |hit| hit.distance);
            if !inside(&shape, origin, 0.0) {
                for step in 0..100 {
                    let point = ray.at(end * f64::from(step) / 100.0);
                    prop_assert!(!inside(&shape, point, 0.01), "{point} of {end}");
                }
            }
            if let Some(hit) = all.closest(&ray, 40.0) {
                let point = ray.at(hit.distance);
                let normal = hit.normal.as_dvec3();
                prop_assert!(!inside(&shape, point + normal * 0.01, -0.005));
                prop_assert!(normal.dot(direction) < 1e-6);
            }
        }
    }

    #[test]
    fn a_box_has_six_planes_and_non_finite_solids_are_ignored() {
        let corner = |i: i32| DVec3::from([0, 1, 2].map(|axis| f64::from(i >> axis & 1)));
        let points: Vec<DVec3> = (0..8).map(corner).collect();
        assert_eq!(hull_planes(&points, PLANE_TOLERANCE).len(), 6);
        let all = prepared(&solids(vec![SolidShape::Hull(points)]));
        let ray = SceneRay { origin: DVec3::new(0.3, 5.0, 0.4), direction: DVec3::NEG_Y };
        let hit = all.closest(&ray, 100.0);
        assert_eq!(hit.map(|h| (h.distance, h.normal)), Some((4.0, Vec3::Y)));
        assert!(all.is_blocked(&ray, 4.5) && !all.is_blocked(&ray, 3.5));
        let lost = SolidShape::Ball { centre: DVec3::NAN, radius: 1.0 };
        assert!(prepared(&solids(vec![lost])).closest(&ray, 100.0).is_none());
        assert!(prepared(&[]).closest(&ray, 100.0).is_none());
    }

    #[test]
    fn a_nearer_ball_occludes_more_sky() {
        let ball = |y: f64| SolidShape::Ball { centre: DVec3::Y * y, radius: 1.0 };
        let open = |y: f64| prepared(&solids(vec![ball(y)])).sky_visibility(DVec3::ZERO, Vec3::Y);
        assert!(open(1.05) < 0.4 && open(1.05) < open(1.6) && open(1.6) < open(2.5));
        assert_eq!([open(3.1), open(-1.5)], [1.0, 1.0]);
    }
}
