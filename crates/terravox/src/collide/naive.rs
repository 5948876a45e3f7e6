//! The slow twin of rays and points: every triangle of a world, one after the other, in f64.

use super::query::{Filter, Ray};
use crate::bits::{BLOCK_LOG2, CollisionBlock};
use crate::math::Aabb;
use crate::mesh::{BlockMesh, Mesher, PAD, Shores, Surface};
use crate::voxel::{DenseBox, Kind, Snapshot, VoxelPos};
use glam::DVec3;

/// A triangle of the world.
#[derive(Clone, Copy, Debug)]
pub struct WorldTriangle {
    pub corners: [DVec3; 3],
    pub block: CollisionBlock,
    pub voxel: VoxelPos,
    pub material: u8,
    pub liquid: bool,
}

/// All triangles of a wholly held world, without those of no area.
pub fn triangles(snapshot: &Snapshot) -> Vec<WorldTriangle> {
    let (mut cells, mut mesher, mut mesh) = (DenseBox::default(), Mesher::new(), BlockMesh::new());
    let (mut shores, mut found) = (Shores::default(), Vec::new());
    for chunk in snapshot.chunks() {
        for block in chunk.region().blocks::<BLOCK_LOG2>() {
            let read = shores.read(snapshot, block.region().grow(PAD), 0, &mut cells);
            read.expect("the world is held");
            mesher.mesh(&cells, snapshot.materials(), &mut mesh);
            add(snapshot, block, &mesh.solid, false, &mut found);
            add(snapshot, block, &mesh.liquid, true, &mut found);
        }
    }
    found
}

fn add(
    snapshot: &Snapshot,
    block: CollisionBlock,
    surface: &Surface,
    liquid: bool,
    found: &mut Vec<WorldTriangle>,
) {
    let to_world = |p: VoxelPos| DVec3::from(p.to_array().map(f64::from));
    for (number, vertices) in surface.triangles().enumerate() {
        let corner_of = |v: u32| {
            to_world(block.min_voxel()) + DVec3::from(surface.positions[v as usize].map(f64::from))
        };
        let corners = vertices.map(corner_of);
        let [a, b, c] = corners;
        if (b - a).cross(c - a) == DVec3::ZERO {
            continue;
        }
        let [x, y, z, _] = surface.quad_faces[number / 2].map(i32::from);
        let voxel = block.min_voxel() + VoxelPos::new(x, y, z);
        let own = snapshot.cell(voxel).expect("the world is held").material;
        let wet = liquid && snapshot.materials().kind(own) != Kind::Liquid;
        let material = if wet { crate::voxel::WATER } else { own };
        found.push(WorldTriangle { corners, block, voxel, material, liquid });
    }
}

impl WorldTriangle {
    pub fn seen_by(&self, filter: &Filter) -> bool {
        let Filter { surfaces, materials, .. } = filter;
        let seen = if self.liquid { surfaces.liquid() } else { surfaces.solid() };
        seen && materials.contains(self.material)
    }

    pub fn aabb(&self) -> Aabb {
        let [a, b, c] = self.corners;
        Aabb { min: a.min(b).min(c).to_array(), max: a.max(b).max(c).to_array() }
    }

    /// Where a ray meets the triangle, voxels along it; `slack` is how far outside its sides
    /// still counts, as a share of its area.
    pub fn distance(&self, ray: &Ray, slack: f64) -> Option<f64> {
        let [a, b, c] = self.corners;
        let origin = DVec3::from(ray.origin);
        let direction = DVec3::from(ray.direction).normalize();
        let normal = (b - a).cross(c - a);
        let t = (a - origin).dot(normal) / direction.dot(normal);
        let point = origin + direction * t;
        let inside = |from: DVec3, to: DVec3| {
            (to - from).cross(point - from).dot(normal) >= -slack * normal.length_squared()
        };
        let hit = t.is_finite()
            && (-1e-4..=ray.max_distance).contains(&t)
            && inside(a, b)
            && inside(b, c)
            && inside(c, a);
        hit.then_some(t)
    }

    /// Distance from a point.
    pub fn distance_to(&self, point: DVec3) -> f64 {
        let [a, b, c] = self.corners;
        let normal = (b - a).cross(c - a);
        let foot = point - normal * ((point - a).dot(normal) / normal.length_squared());
        let inside = |from: DVec3, to: DVec3| (to - from).cross(foot - from).dot(normal) >= 0.0;
        let side = |from: DVec3, to: DVec3| {
            let along =
                ((point - from).dot(to - from) / (to - from).length_squared()).clamp(0.0, 1.0);
            point.distance(from + (to - from) * if along.is_finite() { along } else { 0.0 })
        };
        match inside(a, b) && inside(b, c) && inside(c, a) {
            true => point.distance(foot),
            false => side(a, b).min(side(b, c)).min(side(c, a)),
        }
    }
}
