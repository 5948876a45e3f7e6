//! The ground of one block as a shape of parry: a composite whose parts are built on demand.
//!
//! The compact tree and the list of parts are cheap and built at once. Parry's own tree is built
//! when a body's bounds intersect the block's; its leaves are numbered in the order of ours. An
//! indexed mesh of the same triangles is built for fast bodies: continuous collision detection
//! sweeps exactly against meshes, but slowly and with holes against custom shapes. Rays and points
//! need neither: they use the compact tree.

use std::sync::{Arc, OnceLock};

use super::facet::Facet;
use super::parry::bounding_volume::{Aabb, BoundingSphere};
use super::parry::mass_properties::MassProperties;
use super::parry::math::{Pose, Real, Vector};
use super::parry::partitioning::{Bvh, BvhBuildStrategy};
use super::parry::query::details::NormalConstraints;
use super::parry::query::{PointProjection, PointQuery, Ray, RayCast, RayIntersection};
use super::parry::shape::{
    CompositeShape, FeatureId, Shape, ShapeType, SharedShape, TriMesh, TypedShape,
};
use crate::ground::{BlockGround, Bounds};
use terravox::collide::{LocalHit, LocalRay};

/// The ground of one block with the same friction and restitution, in metres from the block's min
/// corner. It cannot be scaled.
#[derive(Clone)]
pub struct GroundShape {
    ground: Arc<BlockGround>,
    bounds: Aabb,
    bvh: OnceLock<Bvh>,
    /// `None` if parry rejects the mesh.
    mesh: OnceLock<Option<TriMesh>>,
}

/// Bytes on the heap of a [`GroundShape`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeBytes {
    /// The compact tree and the list of parts.
    pub ground: usize,
    /// Parry's tree; 0 until a body is near.
    pub bvh: usize,
    /// The indexed mesh; 0 until a fast body is near.
    pub mesh: usize,
}

impl GroundShape {
    /// The shape of a ground; `None` if it has no part.
    pub fn new(ground: Arc<BlockGround>) -> Option<GroundShape> {
        if ground.part_count() == 0 {
            return None;
        }
        let bounds = aabb(ground.bounds());
        Some(GroundShape { ground, bounds, bvh: OnceLock::new(), mesh: OnceLock::new() })
    }

    /// As a shared shape of parry.
    pub fn shared(self) -> SharedShape {
        SharedShape::new(self)
    }

    /// The ground.
    pub fn ground(&self) -> &Arc<BlockGround> {
        &self.ground
    }

    /// Current memory.
    pub fn bytes(&self) -> ShapeBytes {
        let mesh = self.mesh.get().and_then(Option::as_ref);
        ShapeBytes {
            ground: self.ground.bytes(),
            bvh: self.bvh.get().map_or(0, Bvh::heap_memory_size),
            mesh: mesh.map_or(0, TriMesh::total_memory_size),
        }
    }

    /// A part as parry's queries see it.
    ///
    /// # Panics
    /// If there is no such part.
    pub fn facet(&self, part: u32) -> Facet {
        Facet::new(&self.ground.facet(part))
    }

    fn built_bvh(&self) -> &Bvh {
        self.bvh.get_or_init(|| {
            let parts = 0..self.ground.part_count() as u32;
            let leaves: Vec<Aabb> = parts.map(|part| aabb(self.ground.part_bounds(part))).collect();
            Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves)
        })
    }

    fn plain_mesh(&self) -> Option<&TriMesh> {
        let mesh = self.mesh.get_or_init(|| {
            let (vertices, indices) = self.ground.mesh();
            TriMesh::new(vertices.into_iter().map(Vector::from).collect(), indices).ok()
        });
        mesh.as_ref()
    }

    /// The first triangle of this ground on a ray.
    fn first_hit(&self, ray: &Ray, max_time_of_impact: Real) -> Option<LocalHit> {
        let voxels = 1.0 / self.ground.voxel_size_m();
        let [origin, dir] = [ray.origin, ray.dir].map(|v| (v * voxels).to_array());
        let ray = LocalRay::new(origin, dir);
        let tree = self.ground.tree();
        let mut nearest: Option<LocalHit> = None;
        let hit = tree.first_hit(&ray, 0.0, max_time_of_impact)?;
        if self.ground.part_of(hit.quad, hit.second).is_some() {
            return Some(hit);
        }
        // The first hit is ground of other friction, which has its own shape.
        tree.each(&ray, hit.t, max_time_of_impact, |hit| {
            let nearer = nearest.is_none_or(|nearest| hit.t < nearest.t);
            if nearer && self.ground.part_of(hit.quad, hit.second).is_some() {
                nearest = Some(hit);
            }
        });
        nearest
    }

    /// The part closest to a point.
    fn closest_part(&self, point: Vector) -> u32 {
        let voxels = 1.0 / self.ground.voxel_size_m();
        let closest = self.ground.tree().closest_point((point * voxels).to_array(), Real::INFINITY);
        let triangle = closest.map(|closest| closest.triangle);
        if let Some(part) =
            triangle.and_then(|triangle| self.ground.part_of(triangle.quad, triangle.second))
        {
            return part;
        }
        let parts = (0..self.ground.part_count() as u32).map(|part| {
            let projected = self.facet(part).project_local_point(point, false);
            ((projected.point - point).length_squared(), part)
        });
        let nearest = |a: (Real, u32), b: (Real, u32)| if b.0 < a.0 { b } else { a };
        parts.reduce(nearest).map_or(0, |(_, part)| part)
    }
}

fn aabb(bounds: Bounds) -> Aabb {
    Aabb::new(Vector::from(bounds.min), Vector::from(bounds.max))
}

impl CompositeShape for GroundShape {
    fn map_part_at(
        &self,
        part: u32,
        with: &mut dyn FnMut(Option<&Pose>, &dyn Shape, Option<&dyn NormalConstraints>),
    ) {
        if (part as usize) < self.ground.part_count() {
            let facet = self.facet(part);
            with(None, &facet, Some(&facet));
        }
    }

    fn bvh(&self) -> &Bvh {
        self.built_bvh()
    }
}

impl RayCast for GroundShape {
    fn cast_local_ray_and_get_normal(
        &self,
        ray: &Ray,
        max_time_of_impact: Real,
        _solid: bool,
    ) -> Option<RayIntersection> {
        let hit = self.first_hit(ray, max_time_of_impact)?;
        let part = self.ground.part_of(hit.quad, hit.second)?;
        let [a, b, c] = self.ground.tree().triangle(hit.quad, hit.second).corners.map(Vector::from);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let normal = if normal.dot(ray.dir) > 0.0 { -normal } else { normal };
        Some(super::ray_hit(hit.t, normal, part))
    }
}

impl PointQuery for GroundShape {
    fn project_local_point(&self, point: Vector, solid: bool) -> PointProjection {
        self.project(point, solid).0
    }

    fn project_local_point_and_get_feature(&self, point: Vector) -> (PointProjection, FeatureId) {
        let (projection, part) = self.project(point, false);
        (projection, FeatureId::Face(part))
    }
}

impl GroundShape {
    fn project(&self, point: Vector, solid: bool) -> (PointProjection, u32) {
        let part = self.closest_part(point);
        let projection = self.facet(part).project_local_point(point, solid);
        (super::on_part(projection, part), part)
    }
}

impl Shape for GroundShape {
    fn compute_local_aabb(&self) -> Aabb {
        self.bounds
    }

    fn compute_local_bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere::new(self.bounds.center(), self.bounds.half_extents().length())
    }

    fn clone_dyn(&self) -> Box<dyn Shape> {
        Box::new(self.clone())
    }

    /// `None` except for a scale of 1, since scaling would change the angles at edges.
    fn scale_dyn(&self, scale: Vector, _: u32) -> Option<Box<dyn Shape>> {
        (scale == Vector::ONE).then(|| self.clone_dyn())
    }

    fn mass_properties(&self, _: Real) -> MassProperties {
        MassProperties::default()
    }

    fn shape_type(&self) -> ShapeType {
        ShapeType::Custom
    }

    /// The indexed mesh, for sweeps; contacts use the parts.
    fn as_typed_shape(&self) -> TypedShape<'_> {
        match self.plain_mesh() {
            Some(mesh) => TypedShape::TriMesh(mesh),
            None => TypedShape::Custom(self),
        }
    }

    fn ccd_thickness(&self) -> Real {
        0.0
    }

    fn ccd_angular_thickness(&self) -> Real {
        std::f32::consts::FRAC_PI_2
    }

    fn as_composite_shape(&self) -> Option<&super::CompositeObject> {
        Some(self)
    }
}
