//! One convex part of a block's ground: a triangle or flat quad with air above and ground of some
//! depth below.
//!
//! Contact normals are limited to the angle by which the ground turns away at the side that they
//! lean over; beyond it the contact belongs to the neighbour. Points below the part, within its
//! depth, are inside, so that bodies that sank in are pushed out. The rule is that of Jolt's active
//! edges with signed angles instead of one bit.

use std::sync::OnceLock;

use super::parry::bounding_volume::{Aabb, BoundingSphere};
use super::parry::mass_properties::MassProperties;
use super::parry::math::{Pose, Real, Vector};
use super::parry::query::details::NormalConstraints;
use super::parry::query::{PointProjection, PointQuery, Ray, RayCast, RayIntersection};
use super::parry::shape::{
    FeatureId, PackedFeatureId, PolygonalFeature, PolygonalFeatureMap, Shape, ShapeType,
    SupportMap, TypedShape,
};
use crate::ground::PlainFacet;

/// Contacts from behind count as deep ones if the cosine of their angle to the normal is below
/// this, except in thin ground, where the body came through the opposite side.
const DEEP_CONTACT_COS: Real = -0.7;

/// Tolerance for rays, as a fraction of their length: edges up to 0.35° count as flat, and two rays
/// from one point along the normals at such an edge leave a gap of that width.
const RAY_SLACK: Real = 0.007;

/// Tolerance for a point below and beyond a flat or concave side, as a fraction of its depth.
const DEEP_SLACK: Real = 0.35;

/// Where the ground turns away by at most this angle (22°), the ground below a part widens by its
/// depth, so that deep points are nearer to the air above than to the part's side.
const WIDER_COS: Real = 0.927;

/// A convex part, metres from its block's min corner.
#[derive(Clone, Debug)]
pub struct Facet {
    corners: [Vector; 4],
    /// Points below the corners, at its depth; computed on first use.
    deep: OnceLock<[Vector; 4]>,
    count: usize,
    normal: Vector,
    /// Unit vectors in its plane, outward over the side from corner `k` to the next.
    out: [Vector; 4],
    turns: [[Real; 2]; 4],
    depth: Real,
    is_thick: bool,
}

impl Facet {
    /// As a shape.
    pub fn new(plain: &PlainFacet) -> Facet {
        let corners = plain.corners.map(Vector::from);
        let normal = Vector::from(plain.normal);
        let mut out = [Vector::ZERO; 4];
        for k in 0..plain.count {
            let side = corners[(k + 1) % plain.count] - corners[k];
            out[k] = side.cross(normal).normalize_or_zero();
        }
        let PlainFacet { count, turns, depth, is_thick, .. } = *plain;
        Facet { corners, deep: OnceLock::new(), count, normal, out, turns, depth, is_thick }
    }

    fn deep(&self) -> &[Vector] {
        let deep = self.deep.get_or_init(|| {
            let wide = |k: usize| {
                if self.turns[k][0] >= WIDER_COS { self.out[k] } else { Vector::ZERO }
            };
            let mut deep = self.corners;
            for (k, corner) in deep.iter_mut().enumerate().take(self.count) {
                let sides = [wide(k), wide(if k == 0 { self.count - 1 } else { k - 1 })];
                let wider = (sides[0] + sides[1]) / (1.0 + sides[0].dot(sides[1])).max(0.3);
                *corner += (wider - self.normal) * self.depth;
            }
            deep
        });
        &deep[..self.count]
    }

    /// Its corners.
    pub fn corners(&self) -> &[Vector] {
        &self.corners[..self.count]
    }

    /// Bounds of it and of the ground right below it.
    pub fn bounds(&self) -> Aabb {
        let (mut low, mut high) = (self.corners[0], self.corners[0]);
        for &corner in &self.corners()[1..] {
            (low, high) = (low.min(corner), high.max(corner));
        }
        let below = self.normal * -self.depth;
        Aabb::new(low + below.min(Vector::ZERO), high + below.max(Vector::ZERO))
    }

    /// Height above its plane.
    fn height(&self, point: Vector) -> Real {
        (point - self.corners[0]).dot(self.normal)
    }

    /// Whether a point is over it: beyond no side by more than `slack`, plus `flat_slack` where the
    /// ground continues flat or rises.
    fn is_over(&self, point: Vector, slack: Real, flat_slack: Real) -> bool {
        (0..self.count).all(|k| {
            let beyond = (point - self.corners[k]).dot(self.out[k]);
            beyond <= slack + if self.turns[k][1] == 0.0 { flat_slack } else { 0.0 }
        })
    }

    /// The closest point on its sides.
    fn closest_on_sides(&self, point: Vector) -> Vector {
        let mut best = (Real::MAX, self.corners[0]);
        for k in 0..self.count {
            let (a, b) = (self.corners[k], self.corners[(k + 1) % self.count]);
            let side = b - a;
            let length = side.length_squared();
            let t =
                if length > 0.0 { ((point - a).dot(side) / length).clamp(0.0, 1.0) } else { 0.0 };
            let on_side = a + side * t;
            let distance = (point - on_side).length_squared();
            if distance < best.0 {
                best = (distance, on_side);
            }
        }
        best.1
    }
}

impl NormalConstraints for Facet {
    fn project_local_normal_mut(&self, direction: &mut Vector) -> bool {
        let cos = direction.dot(self.normal);
        if cos < 0.0 {
            *direction = self.normal;
            return cos < DEEP_CONTACT_COS && self.is_thick;
        }
        let lean = *direction - self.normal * cos;
        let length = lean.length();
        if length < 1e-7 {
            return true;
        }
        let lean = lean / length;
        let mut most = (-1.0, 0);
        for k in 0..self.count {
            let over = lean.dot(self.out[k]);
            if over > most.0 {
                most = (over, k);
            }
        }
        let [limit_cos, limit_sin] = self.turns[most.1];
        // Sines are more accurate for small angles.
        let beyond = if limit_cos > 0.5 { length > limit_sin } else { cos < limit_cos };
        if beyond {
            *direction = self.normal * limit_cos + lean * limit_sin;
        }
        true
    }
}

impl PointQuery for Facet {
    fn project_local_point(&self, point: Vector, solid: bool) -> PointProjection {
        let height = self.height(point);
        let below = height < 0.0 && height >= -self.depth;
        let deep_slack = if below { -height * DEEP_SLACK } else { 0.0 };
        if self.is_over(point, 0.0, deep_slack) {
            let foot = if below && solid { point } else { point - self.normal * height };
            return PointProjection::new(below, foot);
        }
        PointProjection::new(false, self.closest_on_sides(point))
    }

    fn project_local_point_and_get_feature(&self, point: Vector) -> (PointProjection, FeatureId) {
        (self.project_local_point(point, false), FeatureId::Face(0))
    }
}

impl RayCast for Facet {
    /// For contacts with a corrected normal; tolerates the gap of such rays at a flat edge.
    fn cast_local_ray_and_get_normal(
        &self,
        ray: &Ray,
        max_time_of_impact: Real,
        _solid: bool,
    ) -> Option<RayIntersection> {
        let height = self.height(ray.origin);
        let t = -height / ray.dir.dot(self.normal);
        if !(t >= 0.0 && t <= max_time_of_impact) {
            return None;
        }
        let length = t * ray.dir.length();
        let deep_slack = if height < 0.0 { length * DEEP_SLACK } else { 0.0 };
        let met = self.is_over(ray.origin + ray.dir * t, length * RAY_SLACK, deep_slack);
        met.then(|| RayIntersection::new(t, self.normal, FeatureId::Face(0)))
    }
}

impl SupportMap for Facet {
    fn local_support_point(&self, direction: Vector) -> Vector {
        let mut best = (self.corners[0].dot(direction), self.corners[0]);
        let below = if self.depth > 0.0 { self.deep() } else { &[] };
        for &corner in self.corners()[1..].iter().chain(below) {
            let along = corner.dot(direction);
            if along > best.0 {
                best = (along, corner);
            }
        }
        best.1
    }
}

impl PolygonalFeatureMap for Facet {
    fn local_support_feature(&self, _: Vector, feature: &mut PolygonalFeature) {
        let last = self.count as u32 - 1;
        feature.vertices = self.corners;
        feature.vids = [0, 1, 2, 3].map(|k: u32| PackedFeatureId::vertex(k.min(last)));
        feature.eids = [0, 1, 2, 3].map(|k: u32| PackedFeatureId::edge(k.min(last)));
        feature.fid = PackedFeatureId::face(0);
        feature.num_vertices = self.count;
    }
}

impl Shape for Facet {
    fn compute_local_aabb(&self) -> Aabb {
        self.bounds()
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        let aabb = self.bounds();
        BoundingSphere::new(aabb.center(), aabb.half_extents().length())
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(self.clone())
    }

    fn scale_dyn(&self, _: Vector, _: u32) -> Option<Box<dyn Shape>> {
        None
    }

    fn compute_aabb(&self, position: &Pose) -> Aabb {
        self.bounds().transform_by(position)
    }

    fn mass_properties(&self, _: Real) -> MassProperties {
        MassProperties::default()
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    fn as_typed_shape(&self) -> TypedShape<'_> {
        TypedShape::Custom(self)
    }

    fn ccd_thickness(&self) -> Real {
        0.0
    }

    fn ccd_angular_thickness(&self) -> Real {
        std::f32::consts::FRAC_PI_2
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn as_support_map(&self) -> Option<&dyn SupportMap> {
        Some(self)
    }

    fn as_polygonal_feature_map(&self) -> Option<(&dyn PolygonalFeatureMap, Real)> {
        Some((self, 0.0))
    }
}
