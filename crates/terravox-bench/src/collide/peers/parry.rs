//! parry: triangle meshes, with and without what mends contacts at inner edges, and its
//! cubes, which are another surface.

use parry3d::bounding_volume::Aabb;
use parry3d::math::{IVector, Vector};
use parry3d::query::{Ray, RayCast};
use parry3d::shape::{TriMesh, TriMeshFlags, Voxels};

use super::super::blocks::SurfaceBlock;
use super::{Index, Triangle, between, meets};

fn vertices(block: &SurfaceBlock) -> Vec<Vector> {
    block.surface.positions.iter().map(|p| Vector::from(*p)).collect()
}

fn ray(from: [f32; 3], to: [f32; 3]) -> Ray {
    Ray::new(from.into(), between(from, to).into())
}

/// `TriMesh` as it comes.
pub struct ParryMesh(TriMesh);

impl Index for ParryMesh {
    const NAME: &'static str = "parry TriMesh";

    fn build(block: &SurfaceBlock) -> ParryMesh {
        let mesh = TriMesh::new(vertices(block), block.triangles());
        ParryMesh(mesh.expect("the mesher's output is fine"))
    }

    fn bytes(&self) -> usize {
        self.0.total_memory_size()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        self.0.cast_local_ray(&ray(from, to), 1.0, false)
    }

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        let aabb = Aabb::new(min.into(), max.into());
        for at in self.0.bvh().intersect_aabb(&aabb) {
            let triangle = self.0.triangle(at);
            let corners = [triangle.a, triangle.b, triangle.c].map(|p| p.to_array());
            if meets(&corners, min, max) {
                out.push(corners);
            }
        }
    }
}

/// `TriMesh` with `FIX_INTERNAL_EDGES`.
pub struct ParryEdges(ParryMesh);

impl Index for ParryEdges {
    const NAME: &'static str = "parry TriMesh, inner edges";
    const BUILD_INTERVAL_ROUNDS: usize = 8;

    fn build(block: &SurfaceBlock) -> ParryEdges {
        let flags = TriMeshFlags::FIX_INTERNAL_EDGES;
        let mesh = TriMesh::with_flags(vertices(block), block.triangles(), flags);
        ParryEdges(ParryMesh(mesh.expect("the mesher's output is fine")))
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        self.0.closest(from, to)
    }

    fn in_box(&self, min: [f32; 3], max: [f32; 3], out: &mut Vec<Triangle>) {
        self.0.in_box(min, max, out);
    }
}

/// `Voxels`: the solid cells as cubes.
pub struct ParryCubes(Voxels);

impl Index for ParryCubes {
    const NAME: &'static str = "parry Voxels (cubes)";
    const IS_EXACT: bool = false;
    const HAS_BOXES: bool = false;

    fn build(block: &SurfaceBlock) -> ParryCubes {
        let cells: Vec<IVector> = block.solid_cells().into_iter().map(IVector::from).collect();
        ParryCubes(Voxels::new(Vector::splat(1.0), &cells))
    }

    fn bytes(&self) -> usize {
        self.0.total_memory_size()
    }

    fn closest(&self, from: [f32; 3], to: [f32; 3]) -> Option<f32> {
        self.0.cast_local_ray(&ray(from, to), 1.0, false)
    }
}
