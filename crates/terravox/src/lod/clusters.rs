//! Fits the vertices of a coarse block to the mip 0 surface.
//!
//! A coarse vertex represents the cluster of fine vertices around it. Where cells are held at
//! mip 0, it moves to the point that minimises the summed squared distances to the planes of its
//! cluster ("Dual Contouring of Hermite Data", Ju et al. 2002; the QEFs are those of
//! [`octree`](crate::octree)). The connectivity stays that of the coarse mip. Only vertices inside
//! the block move, so touching blocks still fit.

use crate::mesh::{BlockMesh, Mesher, PAD, Surface, unit_normal};
use crate::octree::Qef;
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// Cells along an edge of the parts that are meshed at once.
const PART_CELLS: i32 = 64;

/// Adding and subtracting this rounds a position in a block to 1/4096 of a cell.
const ROUNDING: f32 = 3072.0;

/// Least cosine between the normals of a fine vertex and its coarse vertex.
const MIN_FACING_COSINE: f32 = 0.3;

/// Fits the vertices of coarse blocks. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct ClusterFitter {
    mesher: Mesher,
    mesh: BlockMesh,
    cells: DenseBox,
    /// Fine vertices, each with its coarse cell; then sorted by cell.
    unsorted: Vec<(u32, FineVertex)>,
    fine: Vec<FineVertex>,
    /// First fine vertex of each coarse cell, x fastest, then z, then y; then their count.
    starts: Vec<u32>,
}

/// A vertex of the mip 0 surface, in coarse cells from the block's min corner.
#[derive(Clone, Copy, Debug, Default)]
struct FineVertex {
    position: [f32; 3],
    normal: [f32; 3],
}

impl ClusterFitter {
    /// The coarsest mip whose blocks can be fitted: the work grows with the cube of the cell size.
    pub const MAX_MIP: u8 = 3;

    /// Creates a fitter.
    pub fn new() -> ClusterFitter {
        ClusterFitter::default()
    }

    /// Moves the vertices inside a block and returns how many moved: 0 unless all cells of the
    /// block and three around it are held at mip 0.
    ///
    /// # Panics
    /// If the block's mip is not 1 to [`ClusterFitter::MAX_MIP`], or the surface has no
    /// [keys](Surface::keys).
    pub fn fit(&mut self, snapshot: &Snapshot, block: MipBlock, solid: &mut Surface) -> usize {
        assert!(
            (1..=ClusterFitter::MAX_MIP).contains(&block.mip),
            "{block} is not of mip 1 to {}",
            ClusterFitter::MAX_MIP
        );
        assert_eq!(solid.keys.len(), solid.vertex_count(), "the surface has no keys");
        if solid.is_empty() || !self.gather(snapshot, block) {
            return 0;
        }
        let min = block.voxels().min.to_array();
        let edge = MipBlock::EDGE << block.mip;
        let mut moved = 0;
        for vertex in 0..solid.keys.len() {
            let key = solid.keys[vertex];
            let corner = key.corner.to_array();
            let within = (0..3).all(|a| (1..edge).contains(&(corner[a] - min[a])));
            if key.between != 0 || !within {
                continue;
            }
            let (position, normal) = (solid.positions[vertex], solid.normals[vertex]);
            if let Some((position, normal)) = self.fit_vertex(position, normal) {
                (solid.positions[vertex], solid.normals[vertex]) = (position, normal);
                moved += 1;
            }
        }
        moved
    }

    /// Collects the fine vertices inside a block by coarse cell. Returns whether all cells were
    /// held.
    fn gather(&mut self, snapshot: &Snapshot, block: MipBlock) -> bool {
        self.unsorted.clear();
        let voxels = block.voxels();
        for part in voxels.coarser(PART_CELLS.trailing_zeros()).voxels() {
            let part = Region::one(part).finer(PART_CELLS.trailing_zeros());
            let needed = Region {
                min: part.min - VoxelPos::splat(1 + PAD),
                max: part.max + VoxelPos::splat(PAD),
            };
            if snapshot.read(needed, 0, &mut self.cells).is_err() {
                return false;
            }
            self.gather_part(snapshot, part, block);
        }
        self.sort();
        true
    }

    /// Appends the vertices at the corners of a part, without those at its max sides.
    fn gather_part(&mut self, snapshot: &Snapshot, part: Region, block: MipBlock) {
        let ClusterFitter { mesher, mesh, cells, unsorted, .. } = self;
        let size = 1.0 / (1u32 << block.mip) as f32;
        let from = (part.min - block.voxels().min).to_array();
        let mut corners = Vec::new();
        mesher.corners(cells, snapshot.materials(), mesh, |corner| {
            // Corners count from one cell before the part.
            if corner.at.iter().all(|at| (1..=PART_CELLS).contains(&i32::from(*at))) {
                corners.push(corner.vertex);
            }
        });
        for vertex in corners {
            let (p, normal) =
                (mesh.solid.positions[vertex as usize], mesh.solid.normals[vertex as usize]);
            let position = [0, 1, 2].map(|a| (p[a] + (from[a] - 1) as f32) * size);
            unsorted.push((cell_of(position), FineVertex { position, normal }));
        }
    }

    /// Sorts the fine vertices by coarse cell; the sort is stable.
    fn sort(&mut self) {
        let ClusterFitter { unsorted, fine, starts, .. } = self;
        let cells = MipBlock::EDGE.pow(3) as usize;
        starts.clear();
        starts.resize(cells + 1, 0);
        for (cell, _) in unsorted.iter() {
            starts[*cell as usize + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        fine.clear();
        fine.resize(unsorted.len(), FineVertex::default());
        for &(cell, vertex) in unsorted.iter().rev() {
            let end = &mut starts[cell as usize + 1];
            *end -= 1;
            fine[*end as usize] = vertex;
        }
        // Every end is now a start.
        starts.remove(0);
        starts.push(unsorted.len() as u32);
    }

    /// Returns the point that minimises the squared distances to the planes of the cluster, and the
    /// cluster's mean normal; `None` if it is empty. The cluster is the fine vertices in the
    /// cell-sized cube around a position that face the same way.
    fn fit_vertex(&self, about: [f32; 3], normal: [f32; 3]) -> Option<([f32; 3], [f32; 3])> {
        let last = MipBlock::EDGE - 1;
        let [low, high] = [-0.5, 0.5].map(|by| about.map(|p| ((p + by) as i32).clamp(0, last)));
        let mut sum = Qef::default();
        for (y, z) in (low[1]..=high[1]).flat_map(|y| (low[2]..=high[2]).map(move |z| (y, z))) {
            let row = MipBlock::EDGE * (z + MipBlock::EDGE * y);
            let from = self.starts[(row + low[0]) as usize] as usize;
            let to = self.starts[(row + high[0]) as usize + 1] as usize;
            for fine in &self.fine[from..to] {
                let offset = [0, 1, 2].map(|a| fine.position[a] - about[a]);
                let n = fine.normal;
                let facing = (n[0] * normal[0] + n[1] * normal[1]) + n[2] * normal[2];
                if facing > MIN_FACING_COSINE && offset.iter().all(|d| d.abs() <= 0.5) {
                    sum.add(&Qef::plane(offset, n));
                }
            }
        }
        if sum.weight() < 0.5 {
            return None;
        }
        let offset = sum.least(0.5);
        let position = [0, 1, 2].map(|a| ((about[a] + offset[a]) + ROUNDING) - ROUNDING);
        Some((position, unit_normal(sum.normal(), normal)))
    }
}

/// Returns the coarse cell of a position, clamped to the block.
fn cell_of(position: [f32; 3]) -> u32 {
    let [x, y, z] = position.map(|p| (p as i32).clamp(0, MipBlock::EDGE - 1));
    (x + MipBlock::EDGE * (z + MipBlock::EDGE * y)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{NeighbourMips, Welded};
    use crate::voxel::{Cell, GridOptions, VoxelGrid};

    /// Writes a ball of radius 50 around (66, 63, 60).
    fn ball(grid: &mut VoxelGrid) {
        let mut cells = DenseBox::new(Region::new([0; 3], [128; 3]));
        for at in cells.region().voxels() {
            let units = ((0.5 + 50.0 - radius(at.to_array().map(|v| v as f32 + 0.5))) * 256.0)
                .clamp(0.0, 256.0) as u32;
            if units > 0 {
                cells.set(at, Cell::new(8, (units - 1) as u8));
            }
        }
        assert!(grid.write(&cells).is_ok());
    }

    fn radius(p: [f32; 3]) -> f32 {
        let d = [p[0] - 66.0, p[1] - 63.0, p[2] - 60.0];
        ((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]).sqrt()
    }

    /// Returns the keyed meshes of the blocks of a mip, fitted or not, and how many vertices moved.
    fn meshes(grid: &VoxelGrid, mip: u8, clusters: bool) -> (Vec<BlockMesh>, usize) {
        let (mut mesher, mut fit, mut moved) = (Mesher::new(), ClusterFitter::new(), 0);
        let blocks = Region::new([-1; 3], [3; 3]).voxels();
        let mesh = |pos: VoxelPos| {
            let block = MipBlock { mip, pos };
            let mut mesh = BlockMesh::new();
            let ask = |mip: u8, region: Region, out: &mut DenseBox| {
                assert!(grid.read(region, mip, out).is_ok());
            };
            let around = NeighbourMips::uniform(mip);
            mesher.mesh_mixed(block, &around, ask, grid.materials(), true, &mut mesh);
            if clusters {
                moved += fit.fit(grid.as_snapshot(), block, &mut mesh.solid);
            }
            mesh
        };
        (blocks.map(mesh).collect(), moved)
    }

    /// Returns the root mean square of the vertices' distances from the ball, in voxels.
    fn off(meshes: &[BlockMesh], mip: u8) -> f32 {
        let size = (1u32 << mip) as f32;
        let (mut sum, mut count) = (0.0, 0.0);
        for mesh in meshes {
            let min = mesh.block.min.to_array();
            for p in &mesh.solid.positions {
                let d = radius([0, 1, 2].map(|a| (min[a] as f32 + p[a]) * size)) - 50.0;
                sum += d * d;
                count += 1.0;
            }
        }
        (sum / count).sqrt()
    }

    #[test]
    fn inner_vertices_move_to_the_fine_surface_and_the_mesh_stays_closed() {
        let mut grid = VoxelGrid::new(GridOptions::default());
        ball(&mut grid);
        for mip in [1, 2] {
            let ((plain, _), (placed, moved)) =
                (meshes(&grid, mip, false), meshes(&grid, mip, true));
            let mut welded = Welded::default();
            for mesh in &placed {
                welded.add(mesh.block.finer(mip.into()).min, mip, &mesh.solid);
            }
            welded.assert_manifold(|_| false);
            let all: usize = placed.iter().map(|mesh| mesh.solid.vertex_count()).sum();
            // At mip 2 the ball lies within one block, at mip 1 in eight.
            assert!(moved > all * 3 / 4 && (moved < all) == (mip == 1), "{moved} of {all}");
            assert!(
                off(&placed, mip) < 0.7 * off(&plain, mip),
                "{} {}",
                off(&placed, mip),
                off(&plain, mip)
            );
            for (a, b) in plain.iter().zip(&placed) {
                assert_eq!(a.solid.indices, b.solid.indices);
                assert_eq!(a.solid.keys, b.solid.keys);
            }
        }
    }

    #[test]
    fn without_mip_0_cells_nothing_moves() {
        let mut grid = VoxelGrid::new(GridOptions {
            unlisted: crate::voxel::UnlistedChunks::Unknown,
            ..GridOptions::default()
        });
        let block = MipBlock::new(2, [0; 3]);
        let mut cells = DenseBox::new(block.cells());
        for at in cells.region().voxels().filter(|at| at.y < 9) {
            cells.set(at, Cell::new(3, 99));
        }
        grid.write_mip(2, &cells);
        let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
        let ask = |mip: u8, region: Region, out: &mut DenseBox| {
            grid.read_known(region, mip, out);
        };
        mesher.mesh_mixed(
            block,
            &NeighbourMips::uniform(2),
            ask,
            grid.materials(),
            true,
            &mut mesh,
        );
        let before = mesh.solid.clone();
        assert!(!before.is_empty());
        assert_eq!(ClusterFitter::new().fit(grid.as_snapshot(), block, &mut mesh.solid), 0);
        assert_eq!(mesh.solid, before);
    }
}
