//! The watertight surface of the solid cells of a region.

use crate::export_limit::{ExportLimit, ExportTooLarge};
use crate::obj::UpAxis;
use rayon::prelude::*;
use std::collections::HashMap;
use std::io;
use terravox::mesh::{BlockMesh, Mesher, PAD, Surface, VertexKey};
use terravox::voxel::{ChunkPos, DenseBox, NotHeld, Region, Snapshot, VoxelPos};

/// Blocks that are meshed before they are joined: few, since one of single cells has some 10 MB of
/// triangles.
const BATCH_BLOCKS: usize = 16;

/// Bytes for each vertex: in f64 until all are known and then in f32, once for the surface and once in
/// units of the file, of which `.3mf` holds a packed text.
const VERTEX_BYTES: u64 = 36;
/// Bytes for each triangle, and for its packed text.
const TRIANGLE_BYTES: u64 = 24;
/// Bytes for each vertex that blocks may share.
const SHARED_BYTES: u64 = 96;

/// Longest side of a surface, in cells of its mip. Its positions are f32, which are 1/64 of a cell
/// apart there; much farther out, vertices of a cell fall together.
const MAX_LENGTH_CELLS: u32 = 1 << 18;

/// Why the surface of a region cannot be printed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// A cell of the region is not held.
    #[error(transparent)]
    NotHeld(#[from] NotHeld),
    /// The surface, or the distance between pieces of it, is too long for f32.
    #[error(
        "the ground is {voxels} voxels long from end to end, at most {most} fit the numbers of STL and \
         3MF; export a part of the world, or its pieces one by one"
    )]
    TooLong {
        /// Its longest side, voxels.
        voxels: u64,
        /// The longest side allowed, voxels.
        most: u64,
    },
    /// The surface would take more memory than its [`ExportLimit`].
    #[error(transparent)]
    OverLimit(#[from] ExportTooLarge),
}

/// A watertight, consistently oriented mesh: every edge belongs to two triangles, which pass it in
/// opposite directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrintSurface {
    /// The min corner of the surface, rounded down to voxels.
    pub origin: VoxelPos,
    /// Positions in voxels, from `origin`.
    pub positions: Vec<[f32; 3]>,
    /// Triangles, counter-clockwise seen from outside; indices are below the number of positions.
    pub triangles: Vec<[u32; 3]>,
    /// One per triangle: the material of the cell behind it.
    pub materials: Vec<u8>,
}

/// How a surface is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintFrame {
    /// Units of the file, which programs take for millimetres, per voxel; finite and above 0.
    pub units_per_voxel: f64,
    /// The up axis of the file.
    pub up: UpAxis,
}

impl Default for PrintFrame {
    /// A millimetre per voxel, z up as printers have it.
    fn default() -> PrintFrame {
        PrintFrame { units_per_voxel: 1.0, up: UpAxis::Z }
    }
}

impl PrintFrame {
    /// Converts positions to units of the file, with the lowest coordinates at 0. Each is rounded
    /// once, so that equal ones stay equal.
    ///
    /// # Errors
    /// If `units_per_voxel` is not finite and above 0.
    pub(super) fn positions(&self, surface: &PrintSurface) -> io::Result<Vec<[f32; 3]>> {
        let scale = self.units_per_voxel;
        if !(scale.is_finite() && scale > 0.0) {
            let what = format!("units_per_voxel is {scale}; give a finite number above 0");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let turn = |[x, y, z]: [f32; 3]| match self.up {
            UpAxis::Y => [x, y, z],
            UpAxis::Z => [x, -z, y],
        };
        let turned = || surface.positions.iter().map(|p| turn(*p));
        let lowest = |low: [f32; 3], p: [f32; 3]| [0, 1, 2].map(|i| low[i].min(p[i]));
        let low = turned().reduce(lowest).unwrap_or_default();
        let place = |p: [f32; 3]| {
            [0, 1, 2].map(|i| {
                let voxels = f64::from(p[i]) - f64::from(low[i]);
                (voxels * scale) as f32
            })
        };
        Ok(turned().map(place).collect())
    }
}

impl PrintSurface {
    /// Meshes the solid cells of `region`, in voxels, from cells of 2^`mip` voxels; the region is
    /// rounded outward to such cells. Water is left out. Calls `progress(done, total)`, in blocks.
    /// The result does not depend on the number of threads.
    ///
    /// # Errors
    /// [`PrintError`]: if a cell of the region is not held, or the surface is too long for f32 or takes
    /// more memory than `limit`.
    pub fn of(
        snapshot: &Snapshot,
        region: Region,
        mip: u8,
        limit: ExportLimit,
        progress: &dyn Fn(usize, usize),
    ) -> Result<PrintSurface, PrintError> {
        let cells = region.coarser(mip.into());
        let mut blocks: Vec<Region> = snapshot
            .chunks()
            .into_iter()
            .map(|chunk| VoxelPos::new(chunk.x, chunk.y, chunk.z).coarser(mip.into()))
            .map(|pos| ChunkPos::new(pos.x, pos.y, pos.z).region())
            .filter(|block| !block.intersect(cells).is_empty())
            .collect();
        blocks.sort_unstable_by_key(|block| block.min);
        blocks.dedup();
        let mut joiner = BlockJoiner { mip, ..BlockJoiner::default() };
        for (i, batch) in blocks.chunks(BATCH_BLOCKS).enumerate() {
            let meshed: Result<Vec<BlockMesh>, NotHeld> = batch
                .par_iter()
                .map_init(MeshScratch::default, |scratch, block| {
                    scratch.mesh(snapshot, *block, cells, mip)
                })
                .collect();
            meshed?.iter().for_each(|mesh| joiner.add(mesh));
            let done = i * BATCH_BLOCKS + batch.len();
            limit.check("the surface", joiner.bytes(), [done, blocks.len()])?;
            progress(done, blocks.len());
        }
        joiner.finish()
    }

    /// Returns the volume within, cubic voxels.
    ///
    /// # Panics
    /// If an index is not below the number of positions.
    pub fn volume(&self) -> f64 {
        let corner = |v: u32| self.positions[v as usize].map(f64::from);
        let six = |triangle: &[u32; 3]| {
            let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = triangle.map(corner);
            ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        };
        self.triangles.iter().map(six).sum::<f64>() / 6.0
    }
}

/// What a thread needs to mesh.
#[derive(Default)]
struct MeshScratch {
    mesher: Mesher,
    cells: DenseBox,
    clipped: DenseBox,
}

impl MeshScratch {
    /// Meshes a block of cells of a mip, with air beyond `kept`.
    fn mesh(
        &mut self,
        snapshot: &Snapshot,
        block: Region,
        kept: Region,
        mip: u8,
    ) -> Result<BlockMesh, NotHeld> {
        let padded = block.grow(PAD);
        // Cells beyond the region need not be held.
        let inside = padded.intersect(kept);
        snapshot.read(inside, mip, &mut self.cells)?;
        self.cells.set_all_water(Vec::new());
        let MeshScratch { mesher, cells, clipped } = self;
        let cells = if inside == padded {
            cells
        } else {
            clipped.reset(padded);
            clipped.copy_from(cells);
            clipped
        };
        let mut mesh = BlockMesh::new();
        mesher.mesh_keyed(cells, snapshot.materials(), &mut mesh);
        Ok(mesh)
    }
}

/// Joins blocks by the keys of the vertices that they may share.
#[derive(Default)]
struct BlockJoiner {
    surface: PrintSurface,
    /// In voxels of the world: an f32 holds them only once their origin is known.
    positions: Vec<[f64; 3]>,
    mip: u8,
    shared: HashMap<VertexKey, u32>,
}

impl BlockJoiner {
    fn add(&mut self, mesh: &BlockMesh) {
        let Surface { positions, keys, .. } = &mesh.solid;
        let min = mesh.block.min.to_array();
        let cell = f64::from(1_u32 << self.mip);
        let place = |p: &[f32; 3]| [0, 1, 2].map(|i| (f64::from(min[i]) + f64::from(p[i])) * cell);
        let all = &mut self.positions;
        let mut numbers = Vec::with_capacity(positions.len());
        for (position, key) in positions.iter().zip(keys) {
            let new = all.len() as u32;
            let number = match is_on_boundary(key.corner, mesh.block) {
                true => *self.shared.entry(*key).or_insert(new),
                false => new,
            };
            if number == new {
                all.push(place(position));
            }
            numbers.push(number);
        }
        let triangles = mesh.solid.triangles().map(|corners| corners.map(|v| numbers[v as usize]));
        self.surface.triangles.extend(triangles);
        self.surface.materials.extend(mesh.solid.triangle_materials());
    }

    /// Memory that the surface takes, also while it is written.
    fn bytes(&self) -> u64 {
        let counts = [self.positions.len(), self.surface.triangles.len(), self.shared.len()];
        let each = [VERTEX_BYTES, TRIANGLE_BYTES, SHARED_BYTES];
        counts.into_iter().zip(each).map(|(count, bytes)| count as u64 * bytes).sum()
    }

    /// Returns the surface with its positions from the lowest corner of it.
    fn finish(self) -> Result<PrintSurface, PrintError> {
        let BlockJoiner { mut surface, positions, mip, .. } = self;
        let bounds = positions.iter().map(|p| [*p, *p]).reduce(|[low, high], [p, _]| {
            [[0, 1, 2].map(|i| low[i].min(p[i])), [0, 1, 2].map(|i| high[i].max(p[i]))]
        });
        let [low, high] = bounds.unwrap_or_default();
        let longest = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        let most = u64::from(MAX_LENGTH_CELLS) << mip;
        if longest > most as f64 {
            return Err(PrintError::TooLong { voxels: longest as u64, most });
        }
        let origin = low.map(|v| v.floor());
        surface.origin = VoxelPos::from(origin.map(|v| v as i32));
        let place = |p: [f64; 3]| [0, 1, 2].map(|i| (p[i] - origin[i]) as f32);
        surface.positions = positions.into_iter().map(place).collect();
        Ok(surface)
    }
}

/// Whether a corner of a cell lies on the surface of a block.
fn is_on_boundary(corner: VoxelPos, block: Region) -> bool {
    let [corner, min, max] = [corner, block.min, block.max].map(VoxelPos::to_array);
    (0..3).any(|i| corner[i] <= min[i] || corner[i] >= max[i])
}
