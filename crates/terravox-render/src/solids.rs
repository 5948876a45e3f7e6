//! Things in a picture that are no terrain: balls, capsules and convex hulls, met exactly
//! by rays and found by a tree of boxes.
//!
//! Sources: Cyrus and Beck, "Generalized two- and three-dimensional clipping" (1978), for
//! hulls; Kay and Kajiya, "Ray Tracing Complex Scenes" (1986), for the tree.

use crate::camera::Ray;
use glam::{DVec3, Vec3};
use std::ops::Range;

/// Most solids in a leaf of the tree.
const LEAF: usize = 2;

/// What is nearer to a plane than this lies on it, cells.
const FLAT: f64 = 1e-4;

/// Solids darken what is nearer than this many of their radii.
const NEAR: f64 = 3.0;

/// The form of a solid, cells of the scene.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A ball.
    Ball {
        /// Its middle.
        centre: DVec3,
        /// Positive.
        radius: f64,
    },
    /// All that is within a radius of a line.
    Capsule {
        /// The ends of the line.
        ends: [DVec3; 2],
        /// Positive.
        radius: f64,
    },
    /// The convex hull of points: at most some dozens, as planes are looked for among all
    /// of three.
    Hull(Vec<DVec3>),
}

/// A solid of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Form and place.
    pub form: Form,
    /// sRGB.
    pub colour: [u8; 3],
}

/// Where a ray meets a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SolidHit {
    /// Cells from the ray's origin.
    pub distance: f64,
    /// Unit, out of the solid.
    pub normal: Vec3,
    /// Linear.
    pub colour: Vec3,
}

/// Solids under a tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solids {
    solids: Vec<Ready>,
    /// The first is the root; a parent comes right before its first child.
    nodes: Vec<Node>,
}

/// A solid ready for rays.
#[derive(Clone, Debug)]
struct Ready {
    form: ReadyForm,
    colour: Vec3,
    low: DVec3,
    high: DVec3,
}

#[derive(Clone, Debug)]
enum ReadyForm {
    Ball {
        centre: DVec3,
        radius: f64,
    },
    Capsule {
        ends: [DVec3; 2],
        radius: f64,
    },
    /// The points below all of some planes: unit normal, and offset along it.
    Planes(Vec<(DVec3, f64)>),
}

#[derive(Clone, Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// Solids of a leaf; empty in a parent.
    solids: Range<usize>,
    /// The second child of a parent.
    second: usize,
}

/// The part of a ray in a solid.
#[derive(Clone, Copy, Debug)]
struct Span {
    enter: f64,
    leave: f64,
}

impl Solids {
    /// A tree of some solids. Those with a non-finite position or size are left out.
    pub fn new(solids: &[Solid], linear: impl Fn([u8; 3]) -> Vec3) -> Solids {
        let ready = solids.iter().map(|solid| Ready::new(&solid.form, linear(solid.colour)));
        let mut all = Solids {
            solids: ready.filter(|r| r.low.is_finite() && r.high.is_finite()).collect(),
            nodes: Vec::new(),
        };
        if !all.solids.is_empty() {
            all.build(0..all.solids.len());
        }
        all
    }

    /// Splits a range at its middle along the longest axis; returns the node's number.
    fn build(&mut self, range: Range<usize>) -> usize {
        let solids = &mut self.solids[range.clone()];
        let low = solids.iter().fold(DVec3::INFINITY, |low, solid| low.min(solid.low));
        let high = solids.iter().fold(DVec3::NEG_INFINITY, |high, solid| high.max(solid.high));
        let number = self.nodes.len();
        self.nodes.push(Node { low, high, solids: range.clone(), second: 0 });
        if range.len() > LEAF {
            let axis = (high - low).max_position();
            let place = |solid: &Ready| solid.low[axis] + solid.high[axis];
            solids.sort_by(|a, b| place(a).total_cmp(&place(b)));
            let middle = range.start + range.len() / 2;
            self.build(range.start..middle);
            let second = self.build(middle..range.end);
            self.nodes[number] = Node { low, high, solids: 0..0, second };
        }
        number
    }

    /// The first solid that a ray enters within `reach` cells.
    pub fn closest(&self, ray: &Ray, reach: f64) -> Option<SolidHit> {
        let mut best = (reach, None);
        self.walk(
            |node, best: &(f64, _)| meets_box(ray, node.low, node.high, best.0),
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

    /// Whether a solid lies on a ray within `reach` cells.
    pub fn block(&self, ray: &Ray, reach: f64) -> bool {
        self.walk(
            |node, ()| meets_box(ray, node.low, node.high, reach),
            |solid, ()| solid.span(ray).is_some_and(|s| s.leave > 0.0 && s.enter < reach),
            &mut (),
        )
    }

    /// The share of the sky that solids near a point leave open over a surface with a
    /// normal, 0 to 1: each hides as much as a ball of its size would.
    pub fn open(&self, point: DVec3, normal: Vec3) -> f32 {
        let normal = normal.as_dvec3();
        let mut open = 1.0;
        self.walk(
            |node, _| {
                let reach = (NEAR - 1.0) * 0.5 * (node.high - node.low).max_element();
                let off = (node.low - point).max(point - node.high).max(DVec3::ZERO);
                off.length_squared() < reach * reach
            },
            |solid, open: &mut f64| {
                let half = 0.5 * (solid.high - solid.low);
                let radius = (half.element_sum() / 3.0).max(1e-9);
                let way = 0.5 * (solid.low + solid.high) - point;
                let distance = way.length().max(1e-9);
                // Fades out where the search ends.
                let fade = ((NEAR - distance / radius) / (NEAR - 1.0)).clamp(0.0, 1.0);
                let facing = way.dot(normal).max(0.0) / distance;
                let seen = (radius / distance).min(1.0).powi(2);
                *open *= 1.0 - 0.85 * fade * facing * seen;
                false
            },
            &mut open,
        );
        open as f32
    }

    /// Calls `visit` for the solids of nodes that `enter` wants, until one returns true.
    fn walk<'a, T>(
        &'a self,
        enter: impl Fn(&Node, &T) -> bool,
        visit: impl Fn(&'a Ready, &mut T) -> bool,
        state: &mut T,
    ) -> bool {
        // Halving lets no tree in memory grow deeper than this.
        let mut waiting = [0; 64];
        let mut count = usize::from(!self.nodes.is_empty());
        while count > 0 {
            count -= 1;
            let number = waiting[count];
            let node = &self.nodes[number];
            if !enter(node, state) {
                continue;
            }
            if node.solids.is_empty() {
                waiting[count] = node.second;
                waiting[count + 1] = number + 1;
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

impl Ready {
    fn new(form: &Form, colour: Vec3) -> Ready {
        let (form, [low, high]) = match form {
            &Form::Ball { centre, radius } => {
                (ReadyForm::Ball { centre, radius }, [centre - radius, centre + radius])
            }
            &Form::Capsule { ends: [a, b], radius } => {
                let form = ReadyForm::Capsule { ends: [a, b], radius };
                (form, [a.min(b) - radius, a.max(b) + radius])
            }
            Form::Hull(points) => {
                let low = points.iter().fold(DVec3::INFINITY, |low, &p| low.min(p));
                let high = points.iter().fold(DVec3::NEG_INFINITY, |high, &p| high.max(p));
                (ReadyForm::Planes(planes(points)), [low, high])
            }
        };
        Ready { form, colour, low, high }
    }

    /// The part of the line of a ray that lies inside.
    fn span(&self, ray: &Ray) -> Option<Span> {
        match &self.form {
            &ReadyForm::Ball { centre, radius } => in_ball(ray, centre, radius),
            &ReadyForm::Capsule { ends: [a, b], radius } => {
                // Convex, so the parts in ends and middle make one.
                let parts = [in_ball(ray, a, radius), in_ball(ray, b, radius)];
                let parts = parts.into_iter().chain([in_cylinder(ray, [a, b], radius)]).flatten();
                parts.reduce(|a, b| Span {
                    enter: a.enter.min(b.enter),
                    leave: a.leave.max(b.leave),
                })
            }
            ReadyForm::Planes(planes) => in_planes(ray, planes),
        }
    }

    /// Unit normal at a point of the surface.
    fn normal(&self, point: DVec3) -> DVec3 {
        let away = |from: DVec3| (point - from).normalize_or(DVec3::Y);
        match &self.form {
            &ReadyForm::Ball { centre, .. } => away(centre),
            &ReadyForm::Capsule { ends: [a, b], .. } => {
                let share = (point - a).dot(b - a) / (b - a).length_squared().max(1e-12);
                away(a.lerp(b, share.clamp(0.0, 1.0)))
            }
            ReadyForm::Planes(planes) => {
                let off = |plane: &&(DVec3, f64)| plane.0.dot(point) - plane.1;
                let nearest = planes.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
                nearest.map_or(DVec3::Y, |plane| plane.0)
            }
        }
    }
}

/// The planes of a convex hull: those through three points with no point beyond.
fn planes(points: &[DVec3]) -> Vec<(DVec3, f64)> {
    let mut planes: Vec<(DVec3, f64)> = Vec::new();
    for (i, &a) in points.iter().enumerate() {
        for (j, &b) in points.iter().enumerate().skip(i + 1) {
            for &c in &points[j + 1..] {
                let Some(normal) = (b - a).cross(c - a).try_normalize() else { continue };
                for normal in [normal, -normal] {
                    let offset = normal.dot(a);
                    let outermost = points.iter().all(|p| normal.dot(*p) < offset + FLAT);
                    if outermost && planes.iter().all(|known| known.0.dot(normal) < 1.0 - 1e-9) {
                        planes.push((normal, offset));
                    }
                }
            }
        }
    }
    planes
}

fn in_ball(ray: &Ray, centre: DVec3, radius: f64) -> Option<Span> {
    let way = centre - ray.origin;
    let along = way.dot(ray.direction);
    let beside = (way - ray.direction * along).length_squared();
    let half = (radius * radius - beside).max(-1.0);
    (half >= 0.0).then(|| Span { enter: along - half.sqrt(), leave: along + half.sqrt() })
}

/// The part in a cylinder between its end planes.
fn in_cylinder(ray: &Ray, [a, b]: [DVec3; 2], radius: f64) -> Option<Span> {
    let axis = (b - a).try_normalize()?;
    let across = |v: DVec3| v - axis * v.dot(axis);
    let (way, direction) = (across(a - ray.origin), across(ray.direction));
    let speed = direction.length_squared();
    let ends = in_planes(ray, &[(axis, axis.dot(b)), (-axis, -axis.dot(a))])?;
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
    (enter < leave).then_some(Span { enter, leave })
}

/// The part below all of some planes.
fn in_planes(ray: &Ray, planes: &[(DVec3, f64)]) -> Option<Span> {
    let mut span = Span { enter: f64::NEG_INFINITY, leave: f64::INFINITY };
    for &(normal, offset) in planes {
        let (speed, above) = (normal.dot(ray.direction), normal.dot(ray.origin) - offset);
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

/// Whether a ray meets a box within `reach`.
fn meets_box(ray: &Ray, low: DVec3, high: DVec3, reach: f64) -> bool {
    let (mut enter, mut leave) = (0.0_f64, reach);
    for axis in 0..3 {
        let by = 1.0 / ray.direction[axis];
        let [a, b] = [low[axis], high[axis]].map(|side| (side - ray.origin[axis]) * by);
        // A ray within a side gives 0 × ∞, which f64's min and max pass over.
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

    fn form() -> impl Strategy<Value = Form> {
        let points = || prop::collection::vec(vector(2.0), 4..9);
        prop_oneof![
            (vector(8.0), 0.2..2.0).prop_map(|(centre, radius)| Form::Ball { centre, radius }),
            (vector(8.0), vector(2.0), 0.2..2.0)
                .prop_map(|(a, way, radius)| Form::Capsule { ends: [a, a + way], radius }),
            (vector(8.0), points())
                .prop_map(|(at, points)| Form::Hull(points.iter().map(|p| at + *p).collect())),
        ]
    }

    fn solids(forms: Vec<Form>) -> Vec<Solid> {
        let solid = |(i, form)| Solid { form, colour: [i as u8, 0, 0] };
        forms.into_iter().enumerate().map(solid).collect()
    }

    fn ready(solids: &[Solid]) -> Solids {
        Solids::new(solids, |colour| Vec3::from(colour.map(f32::from)))
    }

    /// Whether a point is inside by some margin: not by rays.
    fn inside(form: &Form, point: DVec3, margin: f64) -> bool {
        match form {
            Form::Ball { centre, radius } => point.distance(*centre) < radius - margin,
            Form::Capsule { ends: [a, b], radius } => {
                let nearest = (0..=400).map(|i| a.lerp(*b, f64::from(i) / 400.0).distance(point));
                nearest.fold(f64::INFINITY, f64::min) < radius - margin
            }
            Form::Hull(points) => {
                planes(points).iter().all(|plane| plane.0.dot(point) < plane.1 - margin)
            }
        }
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_asking_all_finds(
            forms in prop::collection::vec(form(), 0..24),
            origin in vector(14.0),
            target in vector(6.0),
        ) {
            let Some(direction) = (target - origin).try_normalize() else { return Ok(()) };
            let ray = Ray { origin, direction };
            let all = ready(&solids(forms));
            let spans = all.solids.iter().filter_map(|solid| solid.span(&ray));
            let entered = spans.clone().map(|span| span.enter).filter(|&t| t > 0.0 && t < 20.0);
            let nearest = entered.min_by(f64::total_cmp);
            prop_assert_eq!(all.closest(&ray, 20.0).map(|hit| hit.distance), nearest);
            let blocked = spans.into_iter().any(|span| span.leave > 0.0 && span.enter < 20.0);
            prop_assert_eq!(all.block(&ray, 20.0), blocked);
        }

        #[test]
        fn rays_end_at_the_surface(form in form(), origin in vector(14.0), aim in vector(1.0)) {
            let solid = solids(vec![form.clone()]);
            let all = ready(&solid);
            let target = 0.5 * (all.solids[0].low + all.solids[0].high) + aim;
            let Some(direction) = (target - origin).try_normalize() else { return Ok(()) };
            let ray = Ray { origin, direction };
            // On the way there is nothing of the solid, and right after the end there is.
            let end = all.closest(&ray, 40.0).map_or(40.0, |hit| hit.distance);
            if !inside(&form, origin, 0.0) {
                for step in 0..100 {
                    let point = ray.at(end * f64::from(step) / 100.0);
                    prop_assert!(!inside(&form, point, 0.01), "{point} of {end}");
                }
            }
            if let Some(hit) = all.closest(&ray, 40.0) {
                let point = ray.at(hit.distance);
                let normal = hit.normal.as_dvec3();
                prop_assert!(!inside(&form, point + normal * 0.01, -0.005));
                prop_assert!(normal.dot(direction) < 1e-6);
            }
        }
    }

    #[test]
    fn a_box_has_six_planes_and_what_is_flat_none_that_blocks() {
        let corner = |i: i32| DVec3::from([0, 1, 2].map(|axis| f64::from(i >> axis & 1)));
        let points: Vec<DVec3> = (0..8).map(corner).collect();
        assert_eq!(planes(&points).len(), 6);
        let all = ready(&solids(vec![Form::Hull(points)]));
        let ray = Ray { origin: DVec3::new(0.3, 5.0, 0.4), direction: DVec3::NEG_Y };
        let hit = all.closest(&ray, 100.0);
        assert_eq!(hit.map(|h| (h.distance, h.normal)), Some((4.0, Vec3::Y)));
        assert!(all.block(&ray, 4.5) && !all.block(&ray, 3.5));
        let lost = Form::Ball { centre: DVec3::NAN, radius: 1.0 };
        assert!(ready(&solids(vec![lost])).closest(&ray, 100.0).is_none());
        assert!(ready(&[]).closest(&ray, 100.0).is_none());
    }

    #[test]
    fn ground_under_a_ball_sees_less_of_the_sky_the_nearer_it_is() {
        let ball = |y: f64| Form::Ball { centre: DVec3::Y * y, radius: 1.0 };
        let open = |y: f64| ready(&solids(vec![ball(y)])).open(DVec3::ZERO, Vec3::Y);
        assert!(open(1.05) < 0.4 && open(1.05) < open(1.6) && open(1.6) < open(2.5));
        assert_eq!([open(3.1), open(-1.5)], [1.0, 1.0]);
    }
}
