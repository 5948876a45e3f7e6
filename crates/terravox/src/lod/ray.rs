//! Rays against the shown meshes at any mip, for ground in view that is not held at mip 0. The
//! tiling is the acceleration tree; within a block every triangle is tested (Möller and Trumbore,
//! "Fast, Minimum Storage Ray/Triangle Intersection", 1997).

use super::shown_mesh::ShownMeshes;
use super::tiling::Tiling;
use crate::math::normalized_ray;
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::{MipBlock, VoxelPos};
use glam::DVec3;

/// Where a ray hits a shown mesh, in voxels: the result of [`LodView::ray`](super::LodView::ray).
/// [`Terrain::ray`](crate::Terrain::ray) returns a [`RayHit`](crate::RayHit) in metres,
/// [`Collider::ray`](crate::collide::Collider::ray) a [`Hit`](crate::collide::Hit) in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShownHit {
    /// Voxels from the ray's origin.
    pub distance: f64,
    /// Position in voxels.
    pub point: [f64; 3],
    /// Unit normal of the triangle, out of the ground or liquid.
    pub normal: [f32; 3],
    /// Whether it is a liquid's surface.
    pub is_liquid: bool,
    /// Material of the cell behind the triangle.
    pub material: u8,
    /// Min voxel of the cell behind the triangle; of the block, for triangles at the border of two
    /// mips.
    pub voxel: VoxelPos,
    /// Mip of the mesh.
    pub mip: u8,
}

/// Which of the shown surfaces a ray can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShownSurfaces {
    /// Whether it can hit the ground.
    pub solid: bool,
    /// Whether it can hit liquids.
    pub liquid: bool,
}

/// A valid ray with a unit direction.
pub(super) struct NormalizedRay {
    origin: DVec3,
    direction: DVec3,
}

/// Returns the nearest hit of a ray on the meshes of a tiling; see
/// [`LodView::ray`](super::LodView::ray).
pub(super) fn cast(
    tiling: &Tiling,
    meshes: &ShownMeshes,
    ray: &NormalizedRay,
    max_distance: f64,
    surfaces: ShownSurfaces,
) -> Option<ShownHit> {
    let mut best = None;
    let mut end = max_distance;
    let roots = tiling.roots().filter_map(|root| Some((ray.enter(root, end)?, root)));
    let mut stack: Vec<(f64, MipBlock)> = roots.collect();
    // The nearest is last.
    stack.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    while let Some((enter, block)) = stack.pop() {
        if enter > end {
            continue;
        }
        if tiling.is_leaf(block) {
            let mesh = meshes.get(&block);
            if let Some(hit) = mesh.and_then(|mesh| ray.hit(block, mesh, surfaces, end)) {
                end = hit.distance;
                best = Some(hit);
            }
            continue;
        }
        let first = stack.len();
        let children = block.children().into_iter().filter(|&child| tiling.has(child));
        stack.extend(children.filter_map(|child| Some((ray.enter(child, end)?, child))));
        stack[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
    best
}

impl NormalizedRay {
    /// Returns `None` if the origin or the direction is invalid.
    pub fn new(origin: [f64; 3], direction: [f64; 3]) -> Option<NormalizedRay> {
        let [origin, direction] = normalized_ray(origin, direction)?;
        Some(NormalizedRay { origin, direction })
    }

    /// Returns where the ray enters the bounds of a block's mesh; `None` beyond `end`.
    fn enter(&self, block: MipBlock, end: f64) -> Option<f64> {
        // Vertices lie less than a cell outside the block.
        let reach = f64::from(1u32 << block.mip);
        let region = block.voxels();
        let (mut enter, mut leave) = (0.0f64, end);
        for axis in 0..3 {
            let min = f64::from(region.min.to_array()[axis]) - reach - self.origin[axis];
            let max = f64::from(region.max.to_array()[axis]) + reach - self.origin[axis];
            let speed = self.direction[axis];
            if speed == 0.0 {
                if min > 0.0 || max < 0.0 {
                    return None;
                }
                continue;
            }
            let (a, b) = (min / speed, max / speed);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        (enter <= leave).then_some(enter)
    }

    /// Returns the first hit on a block's mesh up to `end` voxels.
    fn hit(
        &self,
        block: MipBlock,
        mesh: &BlockMesh,
        surfaces: ShownSurfaces,
        end: f64,
    ) -> Option<ShownHit> {
        let scale = f64::from(1u32 << block.mip);
        let min = DVec3::from(mesh.block.min.to_array().map(f64::from)) * scale;
        // In cells from the block's min corner, where numbers are small.
        let local =
            NormalizedRay { origin: (self.origin - min) / scale, direction: self.direction };
        let sides = [(&mesh.solid, false, surfaces.solid), (&mesh.liquid, true, surfaces.liquid)];
        let mut end = end / scale;
        let mut best = None;
        for (surface, liquid, _) in sides.into_iter().filter(|side| side.2) {
            for (i, corners) in surface.indices.chunks_exact(3).enumerate() {
                let at =
                    |corner: u32| DVec3::from(surface.positions[corner as usize].map(f64::from));
                let triangle = [at(corners[0]), at(corners[1]), at(corners[2])];
                if let Some(t) = local.distance(triangle).filter(|&t| t < end) {
                    end = t;
                    best = Some((surface, liquid, i, triangle));
                }
            }
        }
        let (surface, liquid, i, [a, b, c]) = best?;
        let (material, cell) = behind(surface, i);
        let distance = end * scale;
        let cell = mesh.block.min + VoxelPos::new(cell[0], cell[1], cell[2]);
        Some(ShownHit {
            distance,
            point: (self.origin + self.direction * distance).to_array(),
            normal: (b - a).cross(c - a).normalize_or_zero().as_vec3().to_array(),
            is_liquid: liquid,
            material,
            voxel: VoxelPos::new(cell.x << block.mip, cell.y << block.mip, cell.z << block.mip),
            mip: block.mip,
        })
    }

    /// Returns the distance to a triangle, from either side.
    fn distance(&self, [a, b, c]: [DVec3; 3]) -> Option<f64> {
        let (ab, ac) = (b - a, c - a);
        let across = self.direction.cross(ac);
        let determinant = ab.dot(across);
        if determinant == 0.0 {
            return None;
        }
        let from = self.origin - a;
        let u = from.dot(across) / determinant;
        let beside = from.cross(ab);
        let v = self.direction.dot(beside) / determinant;
        let t = ac.dot(beside) / determinant;
        // Rounding must not let a ray slip between two triangles.
        const EDGE_TOLERANCE: f64 = -1e-9;
        (u >= EDGE_TOLERANCE && v >= EDGE_TOLERANCE && u + v <= 1.0 - EDGE_TOLERANCE && t >= 0.0)
            .then_some(t)
    }
}

/// Returns the material of a triangle and the cell behind it, from the block's min corner.
fn behind(surface: &Surface, triangle: usize) -> (u8, [i32; 3]) {
    let quads = surface.quad_materials.len();
    match surface.quad_materials.get(triangle / 2) {
        Some(&material) => {
            let [x, y, z, _] = surface.quad_faces[triangle / 2];
            (material, [x, y, z].map(i32::from))
        }
        None => (surface.loose_materials[triangle - 2 * quads], [0; 3]),
    }
}
