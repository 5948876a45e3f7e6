//! Shown meshes, their transforms and bounds in voxels (`terrain` has them in metres), and changes
//! to the set of shown meshes.

use crate::math::Aabb;
use crate::mesh::BlockMesh;
use crate::voxel::{MipBlock, VoxelPos};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A mesh that is shown.
#[derive(Clone, Debug)]
pub struct ShownMesh {
    /// The block that it covers, which identifies it until it is removed.
    pub block: MipBlock,
    /// The mip of its cells: a vertex lies at (`mesh.block.min` + its position) · 2^mip
    /// voxels.
    pub mip: u8,
    /// The mesh.
    pub mesh: Arc<BlockMesh>,
}

/// The meshes that are shown, by block.
pub(super) type ShownMeshes = FxHashMap<MipBlock, Arc<BlockMesh>>;

/// A set of changes to the shown meshes. Applied as a whole it leads from one closed surface to
/// another.
#[derive(Clone, Debug, Default)]
pub struct MeshSwap {
    /// Blocks whose mesh is no longer shown, sorted. Replaced meshes are included.
    pub removed: Vec<MipBlock>,
    /// New meshes, sorted by block.
    pub added: Vec<ShownMesh>,
}

impl MeshSwap {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// Appends later changes. Meshes that appear and disappear again are in neither list.
    pub(crate) fn extend(&mut self, next: MeshSwap) {
        let mut added: BTreeMap<MipBlock, ShownMesh> =
            self.added.drain(..).map(|shown| (shown.block, shown)).collect();
        let was_shown = |block: &MipBlock| added.remove(block).is_none();
        self.removed.extend(next.removed.into_iter().filter(was_shown));
        self.removed.sort_unstable();
        added.extend(next.added.into_iter().map(|shown| (shown.block, shown)));
        self.added.extend(added.into_values());
    }
}

/// Whether two meshes are equal, or both absent.
pub(super) fn is_same(a: Option<&Arc<BlockMesh>>, b: Option<&Arc<BlockMesh>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (a, b) => a.is_none() && b.is_none(),
    }
}

pub(super) fn triangle_count(mesh: &BlockMesh) -> usize {
    mesh.solid.triangle_count() + mesh.liquid.triangle_count()
}

/// Placement of a mesh: a vertex lies at its position times `scale` plus `translation`, relative to
/// an origin that all meshes of a frame share. 16 bytes: a `vec4<f32>` in a shader.
///
/// ```
/// use terravox::lod::MeshTransform;
///
/// let transform = MeshTransform { translation: [-64.0, 0.0, 32.0], scale: 2.0 };
/// assert_eq!(transform.apply([1.5, 0.25, 0.0]), [-61.0, 0.5, 32.0]);
/// assert_eq!(transform.matrix()[3], [-64.0, 0.0, 32.0, 1.0]);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bytemuck", derive(bytemuck::Pod, bytemuck::Zeroable))]
pub struct MeshTransform {
    /// The mesh's min corner.
    pub translation: [f32; 3],
    /// Size of a cell of the mesh.
    pub scale: f32,
}

impl MeshTransform {
    /// Returns where a vertex at `position` of the mesh lies.
    pub fn apply(&self, position: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|axis| position[axis] * self.scale + self.translation[axis])
    }

    /// Returns the model matrix, column-major.
    pub fn matrix(&self) -> [[f32; 4]; 4] {
        let ([x, y, z], s) = (self.translation, self.scale);
        [[s, 0.0, 0.0, 0.0], [0.0, s, 0.0, 0.0], [0.0, 0.0, s, 0.0], [x, y, z, 1.0]]
    }

    /// Returns x, y, z, scale as little-endian bytes, as a GPU buffer has them.
    pub fn to_bytes(&self) -> [u8; 16] {
        let [x, y, z] = self.translation;
        let mut bytes = [0; 16];
        for (out, value) in bytes.chunks_exact_mut(4).zip([x, y, z, self.scale]) {
            out.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

impl ShownMesh {
    /// Returns the voxel at the mesh's min corner, the origin of its positions.
    pub fn min_voxel(&self) -> VoxelPos {
        self.mesh.block.finer(self.mip.into()).min
    }

    /// Returns where its vertices lie, in voxels from the min corner of the voxel `origin`.
    ///
    /// Use the same origin, near the camera, for all meshes of a frame: [`MeshTransform::apply`],
    /// or the same arithmetic in a shader, then rounds once, and a vertex shared by several meshes
    /// gets the same bits from each, whatever their mips, so no cracks open. That holds up to 2²⁴
    /// voxels from the origin, and up to 2²⁹ if its coordinates are multiples of 32.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use terravox::lod::ShownMesh;
    /// use terravox::mesh::BlockMesh;
    /// use terravox::voxel::{MipBlock, VoxelPos};
    ///
    /// let block = MipBlock::new(2, [1, 0, -1]);
    /// let mesh = BlockMesh { block: block.cells(), ..BlockMesh::new() };
    /// let shown = ShownMesh { block, mip: 2, mesh: Arc::new(mesh) };
    /// let transform = shown.transform_voxels(VoxelPos::new(100, 0, 0));
    /// assert_eq!((transform.translation, transform.scale), ([28.0, 0.0, -128.0], 4.0));
    /// ```
    pub fn transform_voxels(&self, origin: VoxelPos) -> MeshTransform {
        let (min, origin) = (self.min_voxel().to_array(), origin.to_array());
        let translation = [0, 1, 2].map(|i| (f64::from(min[i]) - f64::from(origin[i])) as f32);
        MeshTransform { translation, scale: self.scale_voxels() as f32 }
    }

    /// Returns the bounds of its vertices, of ground and water, and of their [morph
    /// targets](crate::mesh::Surface::targets), in voxels. Without vertices, both corners are the
    /// mesh's min corner. O(vertices): cache the result.
    pub fn bounds_voxels(&self) -> Aabb {
        let (scale, min) = (self.scale_voxels(), self.min_voxel().to_array().map(f64::from));
        let mut low = [f32::INFINITY; 3];
        let mut high = [f32::NEG_INFINITY; 3];
        let surfaces = [&self.mesh.solid, &self.mesh.liquid];
        for point in surfaces.iter().flat_map(|s| s.positions.iter().chain(&s.targets.positions)) {
            for axis in 0..3 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        if low[0] > high[0] {
            return Aabb::new(min, min);
        }
        let placed = |at: [f32; 3]| [0, 1, 2].map(|i| min[i] + f64::from(at[i]) * scale);
        Aabb { min: placed(low), max: placed(high) }
    }

    /// Returns the voxels along the edge of a cell.
    fn scale_voxels(&self) -> f64 {
        f64::from(1u32 << self.mip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::LIMIT;
    use proptest::prelude::*;

    fn shown(block: MipBlock, mesh: BlockMesh) -> ShownMesh {
        ShownMesh { block, mip: block.mip, mesh: Arc::new(mesh) }
    }

    fn with_points(block: MipBlock, solid: &[[f32; 3]], targets: &[[f32; 3]]) -> ShownMesh {
        let mut mesh = BlockMesh { block: block.cells(), ..BlockMesh::new() };
        mesh.solid.positions.extend(solid);
        mesh.solid.targets.positions.extend(targets);
        shown(block, mesh)
    }

    #[test]
    fn bounds_fit_vertices_and_targets_tightly() {
        let block = MipBlock::new(1, [-1, 2, 0]);
        let empty = with_points(block, &[], &[]);
        assert_eq!(empty.bounds_voxels(), Aabb::new([-64.0, 128.0, 0.0], [-64.0, 128.0, 0.0]));
        let one = with_points(block, &[[0.5, 32.25, 3.0]], &[]);
        assert_eq!(one.bounds_voxels(), Aabb::new([-63.0, 192.5, 6.0], [-63.0, 192.5, 6.0]));
        let moving = with_points(block, &[[0.5, 32.25, 3.0]], &[[-0.5, 32.0, 4.0]]);
        assert_eq!(moving.bounds_voxels(), Aabb::new([-65.0, 192.0, 6.0], [-63.0, 192.5, 8.0]));
        let mut wet = (*one.mesh).clone();
        wet.liquid.positions.push([1.0, 0.0, 0.0]);
        let wet = shown(block, wet);
        assert_eq!(wet.bounds_voxels(), Aabb::new([-63.0, 128.0, 0.0], [-62.0, 192.5, 6.0]));
    }

    #[test]
    fn a_joined_group_is_placed_at_its_own_corner() {
        let parent = MipBlock::new(4, [-3, 0, 1]);
        let mesh = BlockMesh { block: parent.cells().finer(1), ..BlockMesh::new() };
        let group = ShownMesh { block: parent, mip: 3, mesh: Arc::new(mesh) };
        assert_eq!(group.min_voxel(), parent.voxels().min);
        assert_eq!(group.transform_voxels(VoxelPos::ZERO).scale, 8.0);
    }

    #[test]
    fn transforms_and_bounds_are_exact_at_the_limits_of_the_world() {
        for at in [-(LIMIT >> 5), (LIMIT >> 5) - 1] {
            let block = MipBlock::new(0, [at; 3]);
            let mesh = with_points(block, &[[0.5 + 1.0 / 32768.0; 3]], &[]);
            let near = mesh.transform_voxels(VoxelPos::splat(at * 32 + 64));
            assert_eq!(near.translation, [-64.0; 3]);
            let bounds = mesh.bounds_voxels();
            let expected = f64::from(at) * 32.0 + 0.5 + 1.0 / 32768.0;
            assert_eq!((bounds.min, bounds.max), ([expected; 3], [expected; 3]));
        }
    }

    proptest! {
        #[test]
        fn a_shared_vertex_gets_the_same_bits_from_all_mips(
            quanta in prop::array::uniform3(0..1i32 << 18),
            block in prop::array::uniform3(-2000..2000i32),
            origin in prop::array::uniform3(-500_000..500_000i32),
            far in prop::sample::select(vec![0, -LIMIT / 2, LIMIT / 2]),
        ) {
            // A point of a block of mip 3, in 1/4096 of a voxel from its corner, relative to that
            // block and to finer ones around it.
            let corner = block.map(|b| 256 * (b + (far >> 8)));
            let origin = VoxelPos::from(origin.map(|o| o + far));
            let mut found = Vec::new();
            for mip in 0..=3u8 {
                let edge = 32 << mip;
                let side = quanta.map(|q| (q / 4096 / edge).min(256 / edge - 1));
                let pos: [i32; 3] = [0, 1, 2].map(|i| corner[i] / edge + side[i]);
                let local = [0, 1, 2].map(|i| {
                    (quanta[i] - side[i] * edge * 4096) as f32 / 4096.0 / (1 << mip) as f32
                });
                let mesh = with_points(MipBlock::new(mip, pos), &[], &[]);
                found.push(mesh.transform_voxels(origin).apply(local).map(f32::to_bits));
            }
            prop_assert!(found.iter().all(|bits| *bits == found[0]), "{:?}", found);
        }
    }
}
