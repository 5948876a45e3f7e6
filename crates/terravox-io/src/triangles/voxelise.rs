//! Makes cells of a mesh, one row of chunks along x at a time.

use super::error::MeshError;
use super::file_mesh::FileMesh;
use super::holes::ClosedMesh;
use crate::cell_cost::{self, CoarseBlocks};
use crate::heightmap::ChunkCells;
use crate::import_budget::ImportBudget;
use crate::obj::UpAxis;
use rayon::prelude::*;
use terravox::generate::fill_triangles;
use terravox::voxel::{AIR, ChunkPos, DenseBox, LIMIT, Region, VoxelGrid};

/// Longest side of the bounding box of a mesh, voxels; rounded to chunks it is at most 2^16.
const MAX_LENGTH_VOXELS: u32 = (1 << 16) - 128;
/// Bytes of the rows that are filled at once, if one does not take more.
const BATCH_BYTES: u64 = 24 << 20;
/// Maximum number of rows that are filled at once.
const MAX_BATCH: usize = 32;
/// Bytes of a cell of a row: its distance and its cell.
const CELL_BYTES: u64 = 6;
/// Bytes of the chunks of a row that are made of it, for each cell.
const CHUNK_CELL_BYTES: u64 = 2;
/// Memory of a chunk, with its share of its page, and of a place in lists.
const CHUNK_BYTES: u64 = 320;
/// Memory of a triangle in the list of a row.
const LISTED_BYTES: u64 = 16;

/// Units of work of a triangle in a row.
const TRIANGLE_WORK: u64 = 600;
/// Units of work of a cell of a row with triangles.
const CELL_WORK: u64 = 6;
/// Units of work of a slice that a triangle is cut into.
const SLICE_WORK: f64 = 100.0;
/// Units of work of a line of cells in a slice.
const LINE_WORK: f64 = 40.0;
/// Units of work of a place where a row of cells may cross a triangle.
const CROSSING_WORK: f64 = 25.0;

/// Options of [`voxelise`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VoxeliseOptions {
    /// Voxels along a unit of the file.
    pub voxels_per_unit: f64,
    /// The axis of the file that points up: with z, (x, y, z) of the file becomes (x, z, −y).
    pub up: UpAxis,
    /// Material of the cells.
    pub material: u8,
}

/// The result of [`voxelise`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VoxelisedMesh {
    /// The voxels that the mesh may fill, whole or in part.
    pub region: Region,
    /// Chunks written.
    pub chunks: u64,
    /// Cubic voxels that the cells fill.
    pub volume_voxels: f64,
    /// Loops of unmatched edges that were closed; a reversed triangle counts twice.
    pub holes: u64,
    /// Edges of all these loops.
    pub hole_edges: u64,
    /// The longest side of the bounding box of one of them, voxels.
    pub widest_hole_voxels: f64,
}

/// Writes the inside of `mesh` into `grid`: cells are as full as `clamp(½ + d)`, where d is the
/// distance of their centre from the surface in voxels, positive inside. Inside is what the mesh
/// winds around, so parts may overlap; holes are closed first, each by a fan from the mean of its
/// rim. Calls `progress(done, total)` in rows of chunks. The result does not depend on the number
/// of threads.
///
/// `grid` should be empty with unlisted chunks as air: chunks are written whole. Coordinates stay:
/// the origin of the file becomes that of the world.
///
/// # Errors
/// If an option is invalid, the mesh is too large or reaches beyond the limits of a grid; nothing
/// is written then. If the budget is exceeded; the grid then holds a part of the mesh: discard it.
///
/// # Panics
/// If an index of the mesh is not below its number of vertices.
pub fn voxelise(
    mesh: &FileMesh,
    options: &VoxeliseOptions,
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<VoxelisedMesh, MeshError> {
    let material = options.material;
    if material == AIR || grid.materials().get(material).is_none() {
        return Err(MeshError::Material { found: material });
    }
    let count = mesh.positions.len() as u64;
    budget.spend_memory("its vertices", 24_u64.saturating_mul(count))?;
    let (positions, region) = in_voxels(mesh, options)?;
    let origin = region.min.to_array().map(f64::from);
    let closed = ClosedMesh::new(&positions, &mesh.triangles, origin, budget)?;
    drop(positions);
    let rows = ChunkRowLists::new(&closed, region, budget)?;
    let mut report = VoxelisedMesh {
        region,
        holes: closed.holes,
        hole_edges: closed.rim_edges,
        widest_hole_voxels: closed.widest_hole,
        ..VoxelisedMesh::default()
    };
    let mut coarse = CoarseBlocks::default();
    let mut uniform = DenseBox::default();
    let batch = rows.batch();
    for (i, part) in rows.used.chunks(batch).enumerate() {
        budget.spend_work("its cells", CELL_WORK * rows.row_cells() * part.len() as u64)?;
        let filled: Vec<_> = part
            .par_iter()
            .map(|&row| {
                chunks_of(rows.region(row), &closed.vertices, rows.triangles(row), material)
            })
            .collect();
        for chunk in filled.iter().flatten() {
            budget.spend_work("its chunks", cell_cost::CHUNK_WORK)?;
            budget.spend_memory("its chunks", CHUNK_BYTES)?;
            cell_cost::spend_coarse_blocks(coarse.add(chunk.position()), budget)?;
            if let ChunkCells::Mixed(cells) = chunk {
                cell_cost::spend_cells(cells, 0, budget)?;
            }
            let cells = chunk.cells(&mut uniform);
            report.volume_voxels += volume(cells);
            report.chunks += 1;
            let result = grid.write(cells);
            assert!(result.is_ok(), "a whole chunk can always be written");
        }
        progress(i * batch + part.len(), rows.used.len());
    }
    Ok(report)
}

/// Converts positions to voxels, and returns the voxels that a mesh may fill.
fn in_voxels(
    mesh: &FileMesh,
    options: &VoxeliseOptions,
) -> Result<(Vec<[f64; 3]>, Region), MeshError> {
    let scale = options.voxels_per_unit;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(MeshError::VoxelsPerUnit { found: scale });
    }
    let place = |[x, y, z]: [f64; 3]| match options.up {
        UpAxis::Y => [x, y, z].map(|v| v * scale),
        UpAxis::Z => [x, z, -y].map(|v| v * scale),
    };
    let Some(bounds) = mesh.bounds() else { return Err(MeshError::NoTriangles) };
    let [a, b] = bounds.map(place);
    let low = [0, 1, 2].map(|i| a[i].min(b[i]));
    let high = [0, 1, 2].map(|i| a[i].max(b[i]));
    let voxels = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
    let most = MAX_LENGTH_VOXELS;
    // Not finite where a scale is too large.
    if voxels.is_nan() || voxels > f64::from(most) {
        return Err(MeshError::TooLong { voxels, most });
    }
    let far = low
        .into_iter()
        .chain(high)
        .fold(0.0, |far: f64, v| if v.abs() > far.abs() { v } else { far });
    if far.abs() > f64::from(LIMIT) - 64.0 {
        return Err(MeshError::BeyondLimits { voxel: far });
    }
    // Half a voxel more on every side, since cells are filled in part that far out.
    let min = low.map(|v| (v - 0.5).floor() as i32);
    let max = high.map(|v| (v + 0.5).ceil() as i32);
    let positions = mesh.positions.iter().map(|p| place(*p)).collect();
    Ok((positions, Region::new(min, max)))
}

/// The rows of chunks along x over a mesh, and the triangles that are near each.
struct ChunkRowLists {
    /// In voxels, whole chunks.
    bounds: Region,
    /// Along y and z.
    count: [usize; 2],
    /// Where the triangles of each row begin in `listed`, and where those of the last end.
    starts: Vec<usize>,
    listed: Vec<[u32; 3]>,
    /// Rows with triangles.
    used: Vec<usize>,
}

impl ChunkRowLists {
    fn new(
        mesh: &ClosedMesh,
        region: Region,
        budget: &mut ImportBudget,
    ) -> Result<ChunkRowLists, MeshError> {
        let bounds = region.coarser(5).finer(5);
        let [_, high, deep] = bounds.size().map(|edge| edge / 32);
        let mut rows = ChunkRowLists {
            bounds,
            count: [high, deep],
            starts: Vec::new(),
            listed: Vec::new(),
            used: Vec::new(),
        };
        let count = high * deep;
        budget.spend_memory("its rows", 24 * count as u64)?;
        let mut sums = vec![0_usize; count + 1];
        for triangle in &mesh.triangles {
            budget.spend_work("its triangles", triangle_work(mesh, triangle))?;
            let near = rows.near(mesh, triangle);
            budget.spend_work("its triangles", TRIANGLE_WORK * near.area())?;
            budget.spend_memory("its triangles", LISTED_BYTES * near.area())?;
            near.rows(deep).for_each(|row| sums[row + 1] += 1);
        }
        rows.used = (0..count).filter(|row| sums[row + 1] > 0).collect();
        for row in 0..count {
            sums[row + 1] += sums[row];
        }
        rows.listed = vec![[0; 3]; sums[count]];
        let mut next = sums.clone();
        for triangle in &mesh.triangles {
            for row in rows.near(mesh, triangle).rows(deep) {
                rows.listed[next[row]] = *triangle;
                next[row] += 1;
            }
        }
        rows.starts = sums;
        let bytes = (CELL_BYTES + CHUNK_CELL_BYTES) * rows.row_cells();
        budget.spend_memory("its cells", bytes * rows.batch() as u64)?;
        Ok(rows)
    }

    /// Cells of a row of chunks.
    fn row_cells(&self) -> u64 {
        1024 * self.bounds.size()[0] as u64
    }

    /// How many rows are filled at once; not by the number of threads, as that would change what an
    /// import may cost.
    fn batch(&self) -> usize {
        let bytes = (CELL_BYTES + CHUNK_CELL_BYTES) * self.row_cells();
        ((BATCH_BYTES / bytes.max(1)) as usize).clamp(1, MAX_BATCH.min(self.used.len().max(1)))
    }

    fn region(&self, row: usize) -> Region {
        let [y, z] = [row / self.count[1], row % self.count[1]].map(|v| 32 * v as i32);
        let Region { min, max } = self.bounds;
        let min = [min.x, min.y + y, min.z + z];
        Region::new(min, [max.x, min[1] + 32, min[2] + 32])
    }

    fn triangles(&self, row: usize) -> &[[u32; 3]] {
        &self.listed[self.starts[row]..self.starts[row + 1]]
    }

    /// The rows whose cells a triangle may cross or be near.
    fn near(&self, mesh: &ClosedMesh, triangle: &[u32; 3]) -> RowRange {
        let corners = triangle.map(|v| mesh.vertices[v as usize]);
        let min = self.bounds.min.to_array();
        let range = |axis: usize, count: usize| {
            let values = corners.map(|corner| corner[axis] - f64::from(min[axis]));
            let low = values.into_iter().fold(f64::MAX, f64::min);
            let high = values.into_iter().fold(f64::MIN, f64::max);
            let row = |v: f64| ((v / 32.0).floor().max(0.0) as usize).min(count - 1);
            [row(low - 1.0), row(high + 1.0) + 1]
        };
        RowRange { y: range(1, self.count[0]), z: range(2, self.count[1]) }
    }
}

/// A rectangle of rows.
struct RowRange {
    y: [usize; 2],
    z: [usize; 2],
}

impl RowRange {
    fn area(&self) -> u64 {
        let [high, deep] = [self.y, self.z].map(|[low, high]| (high - low) as u64);
        high * deep
    }

    /// Numbers of the rows, of which `deep` lie side by side along z.
    fn rows(&self, deep: usize) -> impl Iterator<Item = usize> {
        let [low, high] = self.z;
        (self.y[0]..self.y[1]).flat_map(move |y| (low..high).map(move |z| y * deep + z))
    }
}

/// Units of work to find the cells near a triangle, from its extent in voxels.
fn triangle_work(mesh: &ClosedMesh, triangle: &[u32; 3]) -> u64 {
    let [a, b, c] = triangle.map(|v| mesh.vertices[v as usize]);
    let mut extent = [0, 1, 2].map(|i| a[i].max(b[i]).max(c[i]) - a[i].min(b[i]).min(c[i]));
    let crossings = (extent[1] + 1.0) * (extent[2] + 1.0);
    extent.sort_by(f64::total_cmp);
    let [_, middle, long] = extent.map(|v| v + 2.0);
    (long * SLICE_WORK + long * middle * LINE_WORK + crossings * CROSSING_WORK) as u64
}

/// Fills a row of chunks; returns those that are not all air.
fn chunks_of(
    region: Region,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    material: u8,
) -> Vec<ChunkCells> {
    let mut row = DenseBox::new(region);
    fill_triangles(&mut row, vertices, triangles, material);
    let chunk_cells = |chunk: ChunkPos| {
        let mut cells = DenseBox::new(chunk.region());
        cells.copy_from(&row);
        let is_all = |m: u8| cells.materials().iter().all(|material| *material == m);
        let is_full = || cells.occupancies().iter().all(|occupancy| *occupancy == 255);
        match cells.materials()[0] {
            AIR if is_all(AIR) => None,
            AIR => Some(ChunkCells::Mixed(cells)),
            _ if is_full() => Some(ChunkCells::Uniform { chunk, material }),
            _ => Some(ChunkCells::Mixed(cells)),
        }
    };
    region.blocks::<5>().filter_map(chunk_cells).collect()
}

/// Cubic voxels that cells fill.
fn volume(cells: &DenseBox) -> f64 {
    let filled = cells.materials().iter().zip(cells.occupancies());
    let units = |(material, occupancy): (&u8, &u8)| match *material {
        AIR => 0,
        _ => u64::from(*occupancy) + 1,
    };
    filled.map(units).sum::<u64>() as f64 / 256.0
}
