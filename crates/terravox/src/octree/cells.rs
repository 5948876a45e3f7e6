//! Leaves from cells: a leaf is the corner between eight cells, with the mesher's vertex.
//!
//! The mesher places the vertex by the planes of the cells around it (see [`mesh`](crate::mesh)).
//! The leaf's plane is that of its vertex and normal. At a corner with several sheets it is the
//! first sheet's.

use crate::mesh::{BlockMesh, Mesher, PAD, Surface};
use crate::voxel::{DenseBox, MaterialTable, Region, VoxelPos};

use super::build::{OctreeDraft, from_parent, morton};
use super::node::{OctreeNode, material_of};
use super::qef::Qef;
use super::tree::Octree;

/// A cell corner with a vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellCorner {
    pub vertex: u32,
    pub inside: u8,
    pub materials: [u8; 8],
    pub at: [u8; 3],
}

impl Octree {
    /// Returns the cells that [`OctreeBuilder::cells`](super::OctreeBuilder::cells) needs for the
    /// octree of a cube.
    pub fn cells_needed(cube: Region) -> Region {
        let low = VoxelPos::splat(1 + PAD);
        Region { min: cube.min - low, max: cube.max + VoxelPos::splat(PAD) }
    }
}

/// Lists the corners of the cube with their Morton codes.
pub(super) fn find_corners(
    mesher: &mut Mesher,
    mesh: &mut BlockMesh,
    cells: &DenseBox,
    materials: &MaterialTable,
    edge: usize,
    corners: &mut Vec<CellCorner>,
    order: &mut Vec<u64>,
) {
    corners.clear();
    order.clear();
    let codes: [[u32; 3]; 64] = std::array::from_fn(|i| {
        let i = i as u32;
        [morton([i, 0, 0]), morton([0, i, 0]), morton([0, 0, i])]
    });
    mesher.corners(cells, materials, mesh, |corner| {
        let [x, y, z] = corner.at.map(|at| usize::from(at).wrapping_sub(1));
        if x < edge && y < edge && z < edge {
            let code = codes[x][0] | codes[y][1] | codes[z][2];
            order.push(u64::from(code) << 32 | corners.len() as u64);
            corners.push(CellCorner {
                vertex: corner.vertex,
                inside: corner.inside,
                materials: corner.materials,
                at: corner.at,
            });
        }
    });
}

/// Appends the leaves of `corners` in `order`, with the vertices of `solid`.
pub(super) fn push_leaves(
    solid: &Surface,
    corners: &[CellCorner],
    order: &[u64],
    draft: &mut OctreeDraft,
) {
    for &entry in order {
        let CellCorner { vertex, inside, materials, at } = corners[entry as u32 as usize];
        let (position, normal) = (solid.positions[vertex as usize], solid.normals[vertex as usize]);
        // Corners count from one cell before the cube.
        let offset = [0, 1, 2].map(|axis| position[axis] - f32::from(at[axis]));
        let material = material_of(inside, materials).unwrap_or(0);
        let node = OctreeNode::new(offset, 1.0, normal, inside, material);
        let key = (entry >> 32) as u32;
        let step = from_parent(key, 0);
        let point = [0, 1, 2].map(|axis| offset[axis] + step[axis]);
        draft.push(key, node, materials, Qef::plane(point, normal));
    }
}
