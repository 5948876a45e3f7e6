//! Turns a loose piece into a body: its cells move from the world to a grid of their own.

use super::Mass;
use super::labels::{Labels, runs};
use super::mass::MassSums;
use super::search::LoosePiece;
use crate::edit::{Clip, EditError, EditOp, Editor, History};
use crate::mesh::{BlockMesh, Mesher, PAD};
use crate::voxel::{
    AIR, Cell, ChunkPos, DenseBox, GridOptions, Region, Snapshot, UnlistedChunks, VoxelGrid,
    VoxelPos, WATER,
};

/// Cells that were cut off from the world and move as one rigid body. Not a body of a physics
/// engine: create one from `mass` and `meshes`, or with `terravox_rapier::loose_builders`.
pub struct LooseBody {
    /// The cells, surrounded by air, with the materials of the world.
    pub grid: VoxelGrid,
    /// Voxel of the world at which the body's voxel (0, 0, 0) was when it was cut off. A multiple
    /// of 32 on each axis.
    pub origin_voxel: VoxelPos,
    /// The bounds of all cells, in voxels of the body.
    pub bounds: Region,
    /// Number of cells.
    pub cells: u64,
    /// Mass, centre and inertia, in voxels of the body.
    pub mass: Mass,
    /// The surface by block, closed as a whole. Positions are in voxels from each block's min
    /// corner.
    pub meshes: Vec<BlockMesh>,
}

/// Scratch memory.
#[derive(Default)]
pub(super) struct BodyScratch {
    editor: Editor,
    labels: Labels,
    /// By row of a chunk: the cells that are removed, as bits.
    rows: Vec<u32>,
    clumps: Vec<u16>,
    cells: DenseBox,
    taken: DenseBox,
    mesh: MeshMemory,
}

/// Moves the cells of a piece out of the world.
///
/// # Errors
/// [`EditError`] if chunks are no longer held. Nothing is moved then.
pub(super) fn take(
    grid: &mut VoxelGrid,
    piece: &LoosePiece,
    scratch: &mut BodyScratch,
    mut history: Option<&mut History>,
) -> Result<LooseBody, EditError> {
    for clump in &piece.clumps {
        grid.as_snapshot().chunk(clump.chunk)?;
    }
    let from = piece.chunks().min;
    let options =
        GridOptions { unlisted: UnlistedChunks::Air, materials: grid.materials().clone() };
    let mut body = VoxelGrid::new(options);
    let (mut sums, mut bounds) = (MassSums::default(), Region::default());
    for clumps in piece.clumps.chunk_by(|a, b| a.chunk == b.chunk) {
        let chunk = clumps[0].chunk;
        let region =
            scratch.find_cells(grid.as_snapshot(), chunk, clumps.iter().map(|clump| clump.cell));
        grid.read(region, 0, &mut scratch.cells)?;
        scratch.split(chunk);
        let rest = Clip::new(scratch.cells.clone())?;
        let op = EditOp::write(rest, region.min);
        scratch.editor.apply(grid, &op, history.as_deref_mut())?;
        scratch.taken.move_to(region.min - from);
        bounds = bounds.union(scratch.taken.region());
        sums.add(&scratch.taken, body.materials().kinds());
        body.write(&scratch.taken)?;
    }
    let mass = sums.mass(body.materials());
    let meshes = meshes_of(&body, &mut scratch.mesh)?;
    Ok(LooseBody { grid: body, origin_voxel: from, bounds, cells: piece.cells, mass, meshes })
}

impl BodyScratch {
    /// Sets `rows` to the cells of the clumps that contain the `known` cells. Returns their bounds.
    fn find_cells(
        &mut self,
        grid: &Snapshot,
        chunk: ChunkPos,
        known: impl Iterator<Item = u16>,
    ) -> Region {
        self.rows.clear();
        self.rows.resize(1024, 0);
        let Ok(view) = grid.chunk(chunk) else { return chunk.region() };
        if view.uniform_material().is_some() {
            self.rows.fill(u32::MAX);
            return chunk.region();
        }
        self.labels.read(view, grid.materials().kinds());
        self.clumps.clear();
        self.clumps.extend(known.map(|cell| self.labels.clump_at(cell)));
        self.clumps.sort_unstable();
        let (mut across, mut ys, mut zs) = (0, [32, 0], [32, 0]);
        for row in 0..1024 {
            let own = |run: &(u32, u16)| self.clumps.binary_search(&run.1).is_ok();
            let bits = self.labels.runs(row).filter(own).fold(0, |bits, run| bits | run.0);
            self.rows[row] = bits;
            if bits != 0 {
                let (y, z) = (row as i32 / 32, row as i32 % 32);
                across |= bits;
                (ys, zs) = ([ys[0].min(y), y + 1], [zs[0].min(z), zs[1].max(z + 1)]);
            }
        }
        let xs = [across.trailing_zeros() as i32, 32 - across.leading_zeros() as i32];
        let origin = chunk.min_voxel();
        let corner = |i: usize| origin + VoxelPos::new(xs[i], ys[i], zs[i]);
        Region { min: corner(0), max: corner(1) }
    }

    /// Moves the cells of `rows` from `cells`, part of a chunk, to `taken`. Water that they held
    /// stays.
    fn split(&mut self, chunk: ChunkPos) {
        let region = self.cells.region();
        self.taken.reset(region);
        let local = region.min - chunk.min_voxel();
        let [width, high, deep] = region.size();
        let wet = std::mem::take(self.cells.water_mut());
        for (y, z) in (0..high).flat_map(|y| (0..deep).map(move |z| (y, z))) {
            let row = local.z as usize + z + 32 * (local.y as usize + y);
            let first = width * (z + deep * y);
            for run in runs(self.rows[row]) {
                let start = first + run.trailing_zeros() as usize - local.x as usize;
                let cells = start..start + run.count_ones() as usize;
                let (from, to) = (self.cells.arrays_mut(), self.taken.arrays_mut());
                to.0[cells.clone()].copy_from_slice(&from.0[cells.clone()]);
                to.1[cells.clone()].copy_from_slice(&from.1[cells.clone()]);
                from.0[cells.clone()].fill(AIR);
                from.1[cells].fill(0);
            }
        }
        for (cell, held) in wet {
            let pos = self.cells.position(cell);
            if self.cells.cell(pos).is_air() {
                self.cells.set(pos, Cell::new(WATER, held));
            } else {
                self.cells.set_water(pos, Some(held));
            }
        }
    }
}

impl LooseBody {
    /// Creates a body from cells in a grid of their own, cut off at
    /// [`origin_voxel`](LooseBody::origin_voxel).
    ///
    /// # Errors
    /// [`EditError::NotHeld`] if a chunk is not held at mip 0.
    pub fn new(grid: VoxelGrid, origin_voxel: VoxelPos) -> Result<LooseBody, EditError> {
        let (mut sums, mut bounds, mut cells) = (MassSums::default(), Region::default(), 0);
        let mut chunk_cells = DenseBox::default();
        for chunk in grid.chunks() {
            grid.read(chunk.region(), 0, &mut chunk_cells)?;
            sums.add(&chunk_cells, grid.materials().kinds());
            for voxel in chunk.region().voxels() {
                if !chunk_cells.cell(voxel).is_air() {
                    bounds = bounds.union(Region::one(voxel));
                    cells += 1;
                }
            }
        }
        let mass = sums.mass(grid.materials());
        let meshes = meshes_of(&grid, &mut MeshMemory::default())?;
        Ok(LooseBody { grid, origin_voxel, bounds, cells, mass, meshes })
    }
}

/// Scratch memory of meshing.
#[derive(Default)]
struct MeshMemory {
    mesher: Mesher,
    cells: DenseBox,
}

/// Returns the meshes of all chunks that have one.
fn meshes_of(body: &VoxelGrid, memory: &mut MeshMemory) -> Result<Vec<BlockMesh>, EditError> {
    let snapshot = body.snapshot();
    let mesh = |memory: &mut MeshMemory, chunk: &ChunkPos| {
        let MeshMemory { mesher, cells } = memory;
        let mut mesh = BlockMesh::new();
        snapshot.read(chunk.region().grow(PAD), 0, cells)?;
        mesher.mesh(cells, snapshot.materials(), &mut mesh);
        Ok(mesh)
    };
    let mut meshes = map_all(&body.chunks(), memory, mesh)?;
    meshes.retain(|mesh| !mesh.solid.is_empty() || !mesh.liquid.is_empty());
    Ok(meshes)
}

#[cfg(not(feature = "parallel"))]
fn map_all(
    chunks: &[ChunkPos],
    memory: &mut MeshMemory,
    mesh: impl Fn(&mut MeshMemory, &ChunkPos) -> Result<BlockMesh, EditError>,
) -> Result<Vec<BlockMesh>, EditError> {
    chunks.iter().map(|chunk| mesh(memory, chunk)).collect()
}

#[cfg(feature = "parallel")]
fn map_all(
    chunks: &[ChunkPos],
    memory: &mut MeshMemory,
    mesh: impl Fn(&mut MeshMemory, &ChunkPos) -> Result<BlockMesh, EditError> + Send + Sync,
) -> Result<Vec<BlockMesh>, EditError> {
    use rayon::prelude::*;
    if let [one] = chunks {
        return Ok(vec![mesh(memory, one)?]);
    }
    chunks.par_iter().map_init(MeshMemory::default, mesh).collect()
}

#[cfg(test)]
mod tests {
    use super::super::search::ClumpCell;
    use super::*;

    #[test]
    fn a_piece_with_a_chunk_that_is_not_held_stays_whole() {
        let unlisted = UnlistedChunks::Unknown;
        let mut grid = VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() });
        let held = ChunkPos::new(0, 0, 0);
        let mut cells = DenseBox::new(held.region());
        cells.fill(8);
        grid.load(&cells);
        let before = grid.digest();
        let clumps = [held, ChunkPos::new(1, 0, 0)].map(|chunk| ClumpCell { chunk, cell: 0 });
        let piece = LoosePiece { clumps: clumps.to_vec(), cells: 1 << 16 };
        let taken = take(&mut grid, &piece, &mut BodyScratch::default(), None);
        assert!(matches!(taken, Err(EditError::NotHeld(_))));
        assert_eq!(grid.digest(), before);
    }
}
