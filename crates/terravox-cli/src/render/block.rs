//! The triangles that a ray can meet inside one 8³ block.
//!
//! Triangles reach up to ¾ of a cell out of the block whose cells they bound. So that a
//! ray may look at one block after the other, each block lists every triangle that
//! touches it: it meshes its cells and one more on each side and keeps what overlaps.

use super::triangles::{Patch, Vertex};
use glam::Vec3;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface};
use terravox::voxel::{BlockPos, DenseBox, Kind, NotHeld, Snapshot};

/// Edge of a block is `1 << BLOCK_LOG2` cells.
pub const BLOCK_LOG2: u32 = 3;

/// Cells beyond the block whose triangles may reach into it.
const REACH: i32 = 1;

/// Triangles this near to a block count as touching it, cells.
const TOUCH: f32 = 1e-3;

/// Position of an 8³ block.
pub type Block = BlockPos<BLOCK_LOG2>;

/// Memory that meshing needs, one a thread.
#[derive(Default)]
pub struct MeshScratch {
    mesher: Mesher,
    cells: DenseBox,
    mesh: BlockMesh,
}

/// What a ray can meet in a block.
#[derive(Clone, Debug, Default)]
pub struct BlockSurface {
    /// The ground.
    pub solid: Patch,
    /// The water, or any other liquid.
    pub liquid: Patch,
}

impl BlockSurface {
    /// Meshes a block at mip `mip`; `None` if there is no surface.
    ///
    /// # Errors
    /// [`NotHeld`] if the world does not hold that mip there.
    pub fn mesh(
        snapshot: &Snapshot,
        mip: u8,
        block: Block,
        scratch: &mut MeshScratch,
    ) -> Result<Option<Box<BlockSurface>>, NotHeld> {
        let MeshScratch { mesher, cells, mesh } = scratch;
        snapshot.read(block.region().grow(REACH), mip, cells)?;
        let kinds = snapshot.materials().kinds();
        if one_kind(cells.materials(), kinds) {
            return Ok(None);
        }
        snapshot.read(block.region().grow(REACH + PAD), mip, cells)?;
        mesher.mesh(cells, snapshot.materials(), mesh);
        let [solid, liquid] = [&mesh.solid, &mesh.liquid].map(touching);
        let empty = solid.is_empty() && liquid.is_empty();
        Ok((!empty).then(|| Box::new(BlockSurface { solid, liquid })))
    }
}

/// Whether all cells are air, or all liquid, or all solid.
fn one_kind(materials: &[u8], kinds: &[Kind; 256]) -> bool {
    let first = materials.first().map_or(Kind::Air, |&m| kinds[usize::from(m)]);
    materials.iter().all(|&m| kinds[usize::from(m)] == first)
}

/// The triangles of a mesh of the grown block that touch the block.
fn touching(surface: &Surface) -> Patch {
    const NONE: u16 = u16::MAX;
    let mut numbers = vec![NONE; surface.positions.len()];
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    let place = |i: u32| Vec3::from(surface.positions[i as usize]) - Vec3::splat(REACH as f32);
    for corners in surface.triangles() {
        if !touches(corners.map(place)) {
            continue;
        }
        triangles.push(corners.map(|i| {
            let number = &mut numbers[i as usize];
            if *number == NONE {
                *number = vertices.len() as u16;
                vertices.push(Vertex {
                    position: place(i),
                    normal: Vec3::from(surface.normals[i as usize]),
                    materials: surface.materials[i as usize],
                    weights: surface.weights[i as usize],
                });
            }
            *number
        }));
    }
    Patch::new(vertices, triangles)
}

/// Whether the box around a triangle, in cells from the block's corner, touches the block.
fn touches([a, b, c]: [Vec3; 3]) -> bool {
    let edge = (1 << BLOCK_LOG2) as f32;
    let [low, high] = [a.min(b).min(c), a.max(b).max(c)];
    low.cmple(Vec3::splat(edge + TOUCH)).all() && high.cmpge(Vec3::splat(-TOUCH)).all()
}
