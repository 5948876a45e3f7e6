//! Leaves from cells: a leaf is a corner between eight cells, its vertex the mesher's.
//!
//! The vertex comes from the planes of the cells around it (see [`mesh`](crate::mesh)); the
//! leaf's own plane is that of the vertex: a point of the fine surface, and its normal. At a
//! corner with several sheets it is the first's.

use crate::mesh::PAD;
use crate::voxel::{DenseBox, MaterialTable, Region, VoxelPos};

use super::build::{from_parent, morton, sort_by_code};
use super::node::{Node, material_of};
use super::qef::Qef;
use super::{Octree, OctreeBuilder};

/// Most levels of an octree of cells: 64 an edge.
pub const MAX_CELL_LEVELS: u8 = 6;

/// A corner that has a vertex, in the order of the vertices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    vertex: u32,
    inside: u8,
    materials: [u8; 8],
    at: [u8; 3],
}

impl Octree {
    /// The cells from which [`OctreeBuilder::cells`] makes the octree of a cube.
    pub fn cells_needed(cube: Region) -> Region {
        let low = VoxelPos::splat(1 + PAD);
        Region { min: cube.min - low, max: cube.max + VoxelPos::splat(PAD) }
    }
}

impl OctreeBuilder {
    /// The octree of the solid surface at the cell corners of a cube, those at its high sides
    /// left out. `cells` holds [`Octree::cells_needed`] of it.
    ///
    /// # Panics
    /// If the cube's edges are not one power of two from 1 to 64 cells.
    pub fn cells(&mut self, cells: &DenseBox, materials: &MaterialTable) -> Octree {
        let own = cells.region().grow(-PAD);
        let [edge, ..] = own.size().map(|edge| edge.wrapping_sub(1));
        let levels = edge.trailing_zeros() as u8;
        let fits = edge.is_power_of_two() && levels <= MAX_CELL_LEVELS;
        assert!(fits && own.size() == [edge + 1; 3], "no octree of {}", cells.region());
        self.find(cells, materials, edge);
        let OctreeBuilder { mesh, found, order, spare, draft, .. } = self;
        sort_by_code(order, spare, levels);
        draft.clear();
        let solid = &mesh.solid;
        for &entry in order.iter() {
            let Found { vertex, inside, materials, at } = found[entry as u32 as usize];
            let (position, normal) =
                (solid.positions[vertex as usize], solid.normals[vertex as usize]);
            // Corners are counted from the cell before the cube's first.
            let offset = [0, 1, 2].map(|axis| position[axis] - f32::from(at[axis]));
            let material = material_of(inside, materials).unwrap_or(0);
            let node = Node::new(offset, 1.0, normal, inside, material);
            let key = (entry >> 32) as u32;
            let step = from_parent(key, 0);
            let point = [0, 1, 2].map(|axis| offset[axis] + step[axis]);
            draft.push(key, node, materials, Qef::plane(point, normal));
        }
        draft.build(levels, &[]);
        let min = own.min + VoxelPos::splat(1);
        Octree { min, shift: -0.5, shown: levels, ..draft.finish(levels) }
    }

    /// Finds the corners of the cube and lists them with their Morton codes.
    fn find(&mut self, cells: &DenseBox, materials: &MaterialTable, edge: usize) {
        let OctreeBuilder { mesher, mesh, found, order, .. } = self;
        found.clear();
        order.clear();
        let codes: [[u32; 3]; 64] = std::array::from_fn(|i| {
            let i = i as u32;
            [morton([i, 0, 0]), morton([0, i, 0]), morton([0, 0, i])]
        });
        mesher.corners(cells, materials, mesh, |corner| {
            let [x, y, z] = corner.at.map(|at| usize::from(at).wrapping_sub(1));
            if x < edge && y < edge && z < edge {
                let code = codes[x][0] | codes[y][1] | codes[z][2];
                order.push(u64::from(code) << 32 | found.len() as u64);
                found.push(Found {
                    vertex: corner.vertex,
                    inside: corner.inside,
                    materials: corner.materials,
                    at: corner.at,
                });
            }
        });
    }
}
