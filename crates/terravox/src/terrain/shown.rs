//! Where a shown mesh lies and how far it reaches, in world metres.

use super::{Placement, ShownMesh};
use crate::lod::MeshTransform;
use crate::math::Aabb;

impl ShownMesh {
    /// Returns the transform of its vertices to metres from `origin_m`, a point near the camera
    /// that all meshes of a frame share. Computed in f64 and rounded to f32 last: accuracy depends
    /// on the distance from `origin_m`, not on the distance from the origin of the world.
    ///
    /// If the voxel size is a power of two (or its inverse) and `origin_m` a corner of a voxel,
    /// vertices shared by several meshes come out with the same bits from each. Else they may
    /// differ in the last bit; [`ShownMesh::transform_voxels`], with the voxel size in the view
    /// matrix, is exact for all sizes.
    ///
    /// ```
    /// use terravox::terrain::{Budget, Placement, Terrain, TerrainOptions, Viewer};
    ///
    /// let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
    /// let mut terrain = Terrain::new(TerrainOptions { placement, ..TerrainOptions::default() });
    /// let viewer = Viewer { distance_m: 50.0, ..Viewer::at([0.0, 2.0, 0.0]) };
    /// terrain.update(&[viewer], Budget::Unlimited, |request| request.fill_sdf(8, |p| 1.0 - p[1]));
    /// for swap in terrain.mesh_swaps() {
    ///     for shown in swap.added {
    ///         let model = shown.transform_from(&terrain.placement(), [16.0, 0.0, 16.0]).matrix();
    ///         let bounds = shown.bounds(&terrain.placement()); // world metres, for culling
    ///         assert!(bounds.min[1] > 0.9 && bounds.max[1] < 1.1);
    ///         assert_eq!(model[0][0], 0.5 * f32::from(1u16 << shown.mip));
    ///     }
    /// }
    /// ```
    pub fn transform_from(
        &self,
        placement: &Placement,
        origin_m: impl Into<[f64; 3]>,
    ) -> MeshTransform {
        let (size, min) = (placement.voxel_size_m, self.min_voxel().to_array());
        let origin = origin_m.into();
        let translation = [0, 1, 2].map(|i| {
            let from_origin = origin[i] - placement.origin_m[i];
            (f64::from(min[i]) * size - from_origin) as f32
        });
        let cell = f64::from(1u32 << self.mip) * size;
        MeshTransform { translation, scale: cell as f32 }
    }

    /// Returns the position of a vertex of the mesh, given at `position`, in world metres.
    pub fn world_from_mesh(&self, placement: &Placement, position: [f32; 3]) -> [f64; 3] {
        let (size, min) = (placement.voxel_size_m, self.min_voxel().to_array());
        let cell = f64::from(1u32 << self.mip);
        [0, 1, 2].map(|i| {
            let voxels = f64::from(min[i]) + f64::from(position[i]) * cell;
            voxels * size + placement.origin_m[i]
        })
    }

    /// The smallest box around its vertices and the targets that they may move to, in world
    /// metres; see [`ShownMesh::bounds_voxels`].
    pub fn bounds(&self, placement: &Placement) -> Aabb {
        let voxels = self.bounds_voxels();
        let size = placement.voxel_size_m;
        let metres = |at: [f64; 3]| [0, 1, 2].map(|i| at[i] * size + placement.origin_m[i]);
        Aabb { min: metres(voxels.min), max: metres(voxels.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::BlockMesh;
    use crate::voxel::{LIMIT, MipBlock};
    use std::sync::Arc;

    fn shown(block: MipBlock) -> ShownMesh {
        let mut mesh = BlockMesh { block: block.cells(), ..BlockMesh::new() };
        mesh.solid.positions.extend([[1.0, 2.0, 3.0], [32.75, 0.0, -0.75]]);
        ShownMesh { block, mip: block.mip, mesh: Arc::new(mesh) }
    }

    #[test]
    fn the_scale_and_origin_of_a_world_come_last() {
        let placement = Placement { voxel_size_m: 0.25, origin_m: [100.0, -8.0, 0.5] };
        let shown = shown(MipBlock::new(1, [1, 0, -1]));
        let transform = shown.transform_from(&placement, [100.0, 0.0, 0.0]);
        assert_eq!((transform.translation, transform.scale), ([16.0, -8.0, -15.5], 0.5));
        let world = shown.world_from_mesh(&placement, [1.0, 2.0, 3.0]);
        assert_eq!(world, [116.5, -7.0, -14.0]);
        let bounds = shown.bounds(&placement);
        assert_eq!((bounds.min, bounds.max), ([116.5, -8.0, -15.875], [132.375, -7.0, -14.0]));
    }

    #[test]
    fn far_from_the_worlds_origin_it_is_as_at_it() {
        for far in [-(LIMIT >> 5) + 8, 0, (LIMIT >> 5) - 8] {
            let placement = Placement { voxel_size_m: 0.5, ..Placement::default() };
            let shown = shown(MipBlock::new(0, [far; 3]));
            let origin = [f64::from(far) * 16.0 + 5.0; 3];
            let transform = shown.transform_from(&placement, origin);
            assert_eq!((transform.translation, transform.scale), ([-5.0; 3], 0.5));
            let relative = shown.bounds(&placement).max.map(|v| v - f64::from(far) * 16.0);
            assert_eq!(relative, [16.375, 1.0, 1.5]);
        }
    }
}
