//! Rays against the meshes that are shown, at whatever mip: for ground that is seen but not
//! held at mip 0. The blocks are a tree already; within a block every triangle is tried
//! (Möller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", 1997).

use super::Lod;
use crate::mesh::{BlockMesh, Surface};
use crate::voxel::{MipBlock, VoxelPos};
use glam::DVec3;

/// Where a ray hits a shown mesh, in voxels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShownHit {
    /// Voxels from the ray's origin.
    pub distance: f64,
    /// Position, voxels.
    pub point: [f64; 3],
    /// Unit normal of the triangle, out of the ground or liquid.
    pub normal: [f32; 3],
    /// Whether it is a liquid's surface.
    pub liquid: bool,
    /// Material of the cell behind the triangle.
    pub material: u8,
    /// Lowest voxel of the cell behind the triangle; of the block, for triangles at the border
    /// of two mips.
    pub voxel: VoxelPos,
    /// Mip of the mesh.
    pub mip: u8,
}

/// Which of the shown surfaces a ray sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShownSurfaces {
    /// Whether it sees the ground.
    pub solid: bool,
    /// Whether it sees liquids.
    pub liquid: bool,
}

/// A valid ray, its direction of length 1.
struct Line {
    origin: DVec3,
    direction: DVec3,
}

impl Lod {
    /// Returns the first triangle of the shown `surfaces` that a ray from `origin` along
    /// `direction`, of any length, hits within `max_distance`; all in voxels. Invalid rays
    /// (NaN, infinite, zero direction) never hit.
    pub fn ray(
        &self,
        origin: [f64; 3],
        direction: [f64; 3],
        max_distance: f64,
        surfaces: ShownSurfaces,
    ) -> Option<ShownHit> {
        let direction = DVec3::from(direction).try_normalize()?;
        let line = Line { origin: DVec3::from(origin), direction };
        if !line.origin.is_finite() || max_distance.is_nan() {
            return None;
        }
        let mut best = None;
        let mut end = max_distance;
        let roots = self.tiling.roots().filter_map(|root| Some((line.enter(root, end)?, root)));
        let mut stack: Vec<(f64, MipBlock)> = roots.collect();
        // The nearest last.
        stack.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        while let Some((enter, block)) = stack.pop() {
            if enter > end {
                continue;
            }
            if self.tiling.is_leaf(block) {
                if let Some(hit) =
                    self.shown.get(&block).and_then(|mesh| line.hit(block, mesh, surfaces, end))
                {
                    end = hit.distance;
                    best = Some(hit);
                }
                continue;
            }
            let first = stack.len();
            let children = block.children().into_iter().filter(|&child| self.tiling.has(child));
            stack.extend(children.filter_map(|child| Some((line.enter(child, end)?, child))));
            stack[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        best
    }
}

impl Line {
    /// Returns where the line enters what a block's mesh may reach; `None` beyond `end`.
    fn enter(&self, block: MipBlock, end: f64) -> Option<f64> {
        // Vertices lie less than a cell beyond the block.
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
        // In cells from the block's lowest corner, where numbers are small.
        let local = Line { origin: (self.origin - min) / scale, direction: self.direction };
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
            liquid,
            material,
            voxel: VoxelPos::new(cell.x << block.mip, cell.y << block.mip, cell.z << block.mip),
            mip: block.mip,
        })
    }

    /// Returns the distance to a triangle, seen from either side.
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
        // Rounding must not let a ray through between two triangles.
        const EDGE: f64 = -1e-9;
        (u >= EDGE && v >= EDGE && u + v <= 1.0 - EDGE && t >= 0.0).then_some(t)
    }
}

/// Returns the material and the cell, from the block's lowest corner, behind a triangle.
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
