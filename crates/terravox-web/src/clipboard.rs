//! Cells that the player copied, and how they look.

use terravox::edit::{Clip, EditError, EditOp, PasteOp, PastePose};
use terravox::lod::ShownMesh;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::voxel::{DenseBox, MaterialTable, MipBlock, Region, VoxelGrid, VoxelPos};

/// A copy of some cells.
#[derive(Debug)]
pub struct Clipboard {
    clip: Clip,
}

impl Clipboard {
    /// Longest edge of what is copied, voxels: its cells must fit into a message.
    pub const MAX_EDGE: i32 = 32;

    /// Copies the voxels of a region.
    ///
    /// # Errors
    /// If it is not held at mip 0.
    pub fn copy(grid: &VoxelGrid, region: Region) -> Result<Clipboard, EditError> {
        Ok(Clipboard { clip: Clip::copy(&grid.snapshot(), region)? })
    }

    /// The size in voxels.
    pub fn size(&self) -> [i32; 3] {
        self.clip.cells().region().max.to_array()
    }

    /// The paste with its lowest voxel at `at`, turned about the vertical axis.
    pub fn paste(&self, at: VoxelPos, turns: u8) -> EditOp {
        let quarter_turns = [0, turns % 4, 0];
        let pose = PastePose { at: at.to_array(), quarter_turns, ..PastePose::default() };
        EditOp::Paste(PasteOp { clip: self.clip.clone(), pose })
    }

    /// The meshes of the copy, in voxels from its lowest corner.
    pub fn meshes(&self, table: &MaterialTable) -> Vec<ShownMesh> {
        let cells = self.clip.cells();
        let mut grid = VoxelGrid::default();
        // The grid is of air, so all of it is held.
        if grid.write(cells).is_err() {
            return Vec::new();
        }
        let (mut mesher, mut padded) = (Mesher::new(), DenseBox::default());
        let mut meshes = Vec::new();
        for pos in cells.region().grow(1).blocks::<5>() {
            let block = MipBlock::from(pos);
            let mut mesh = BlockMesh::new();
            if grid.read(block.cells().grow(PAD), 0, &mut padded).is_ok() {
                mesher.mesh(&padded, table, &mut mesh);
            }
            if mesh.solid.triangle_count() + mesh.liquid.triangle_count() > 0 {
                meshes.push(ShownMesh { block, mip: 0, mesh: mesh.into() });
            }
        }
        meshes
    }
}

/// The operation that empties a region.
pub fn clearing(region: Region) -> Result<EditOp, EditError> {
    let Region { min, max } = region;
    let air = DenseBox::new(Region { min: VoxelPos::default(), max: max - min });
    Ok(EditOp::write(Clip::new(air)?, min))
}
