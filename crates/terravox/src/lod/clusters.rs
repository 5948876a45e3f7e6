//! Blocks shown by clusters: connected as their mip's cells are, their vertices where the
//! fine surface is.
//!
//! A vertex of a coarse block stands for all fine vertices about it. Where cells of mip 0 are
//! held, it moves to where the summed squared distances to the planes of those are least
//! ("Dual Contouring of Hermite Data", Ju et al. 2002; the QEFs are those of
//! [`octree`](crate::octree)). Which vertices there are, and how they connect, stays that of
//! the mip. Only vertices within the block move, so blocks that touch fit as before.

use crate::mesh::{BlockMesh, Mesher, PAD, Surface, unit_normal};
use crate::octree::Qef;
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, VoxelPos};

/// The coarsest mip whose blocks can be shown by clusters: the work grows with its cube.
pub const MAX_CLUSTER_MIP: u8 = 3;

/// Cells along an edge of what is meshed at once.
const PART: i32 = 64;

/// Adding and subtracting this rounds a position in a block to 1/4096 of a cell.
const ROUNDING: f32 = 3072.0;

/// Least cosine between a fine vertex's normal and that of the vertex that stands for it.
const FACING: f32 = 0.3;

/// Moves vertices of blocks. Holds scratch memory, so keep one per thread and reuse it.
#[derive(Debug, Default)]
pub struct Clusters {
    mesher: Mesher,
    mesh: BlockMesh,
    cells: DenseBox,
    /// Fine vertices as they were found, with the coarse cell that each is in; then by cell.
    found: Vec<(u32, Fine)>,
    fine: Vec<Fine>,
    /// First fine vertex of each coarse cell, x fastest, then z, then y; then their number.
    starts: Vec<u32>,
}

/// A vertex of the fine surface: coarse cells from the block's min corner.
#[derive(Clone, Copy, Debug, Default)]
struct Fine {
    position: [f32; 3],
    normal: [f32; 3],
}

impl Clusters {
    /// Scratch memory.
    pub fn new() -> Clusters {
        Clusters::default()
    }

    /// Moves the vertices within a block of mip 1 to [`MAX_CLUSTER_MIP`] whose surface has
    /// keys (see [`Surface::keys`]); none if cells are not held at mip 0 in the block or
    /// three around it. Returns how many moved.
    ///
    /// # Panics
    /// If the mip is another, or there are no keys.
    pub fn place(&mut self, snapshot: &Snapshot, block: MipBlock, solid: &mut Surface) -> usize {
        assert!((1..=MAX_CLUSTER_MIP).contains(&block.mip), "clusters of {block}");
        assert_eq!(solid.keys.len(), solid.vertex_count(), "keys are missing");
        if solid.is_empty() || !self.find(snapshot, block) {
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
            if let Some((position, normal)) = self.least_about(position, normal) {
                (solid.positions[vertex], solid.normals[vertex]) = (position, normal);
                moved += 1;
            }
        }
        moved
    }

    /// Finds the fine vertices within a block, by coarse cell; says whether all cells were
    /// held.
    fn find(&mut self, snapshot: &Snapshot, block: MipBlock) -> bool {
        self.found.clear();
        let voxels = block.voxels();
        for part in voxels.coarser(PART.trailing_zeros()).voxels() {
            let part = Region::one(part).finer(PART.trailing_zeros());
            let needed = Region {
                min: part.min - VoxelPos::splat(1 + PAD),
                max: part.max + VoxelPos::splat(PAD),
            };
            if snapshot.read(needed, 0, &mut self.cells).is_err() {
                return false;
            }
            self.find_in(snapshot, part, block);
        }
        self.sort();
        true
    }

    /// Lists the vertices at the corners of a part, those at its high sides left out.
    fn find_in(&mut self, snapshot: &Snapshot, part: Region, block: MipBlock) {
        let Clusters { mesher, mesh, cells, found, .. } = self;
        let size = 1.0 / (1u32 << block.mip) as f32;
        let from = (part.min - block.voxels().min).to_array();
        let mut corners = Vec::new();
        mesher.corners(cells, snapshot.materials(), mesh, |corner| {
            // Counted from the cell before the part's first.
            if corner.at.iter().all(|at| (1..=PART).contains(&i32::from(*at))) {
                corners.push(corner.vertex);
            }
        });
        for vertex in corners {
            let (p, normal) =
                (mesh.solid.positions[vertex as usize], mesh.solid.normals[vertex as usize]);
            let position = [0, 1, 2].map(|a| (p[a] + (from[a] - 1) as f32) * size);
            found.push((cell_of(position), Fine { position, normal }));
        }
    }

    /// Sorts the fine vertices by coarse cell, each cell's in the order in which they came.
    fn sort(&mut self) {
        let Clusters { found, fine, starts, .. } = self;
        let cells = MipBlock::EDGE.pow(3) as usize;
        starts.clear();
        starts.resize(cells + 1, 0);
        for (cell, _) in found.iter() {
            starts[*cell as usize + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        fine.clear();
        fine.resize(found.len(), Fine::default());
        for &(cell, vertex) in found.iter().rev() {
            let end = &mut starts[cell as usize + 1];
            *end -= 1;
            fine[*end as usize] = vertex;
        }
        // Every end is now a start.
        starts.remove(0);
        starts.push(found.len() as u32);
    }

    /// The point where the squared distances to the planes of the fine vertices in the
    /// cell-sized cube about a position, that face as its normal does, are least, and their
    /// mean normal; `None` if there are none.
    fn least_about(&self, about: [f32; 3], normal: [f32; 3]) -> Option<([f32; 3], [f32; 3])> {
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
                if facing > FACING && offset.iter().all(|d| d.abs() <= 0.5) {
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

/// The coarse cell of a position; positions beyond the block belong to its outermost cells.
fn cell_of(position: [f32; 3]) -> u32 {
    let [x, y, z] = position.map(|p| (p as i32).clamp(0, MipBlock::EDGE - 1));
    (x + MipBlock::EDGE * (z + MipBlock::EDGE * y)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{NeighbourMips, Welded};
    use crate::voxel::{Cell, GridOptions, VoxelGrid};

    /// A ball of radius 50 about (66, 63, 60), in a world with air around.
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

    /// The keyed meshes of the blocks of a mip, moved if asked, and how many vertices were.
    fn meshes(grid: &VoxelGrid, mip: u8, clusters: bool) -> (Vec<BlockMesh>, usize) {
        let (mut mesher, mut place, mut moved) = (Mesher::new(), Clusters::new(), 0);
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
                moved += place.place(grid.as_snapshot(), block, &mut mesh.solid);
            }
            mesh
        };
        (blocks.map(mesh).collect(), moved)
    }

    /// Root mean square of the vertices' distances from the ball, voxels.
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
    fn vertices_within_blocks_move_to_the_fine_surface_and_all_stays_closed() {
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
    fn without_fine_cells_nothing_moves() {
        let mut grid = VoxelGrid::new(GridOptions {
            unlisted: crate::voxel::Unlisted::Unknown,
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
        assert_eq!(Clusters::new().place(grid.as_snapshot(), block, &mut mesh.solid), 0);
        assert_eq!(mesh.solid, before);
    }
}
