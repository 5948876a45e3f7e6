//! Decomposes a piece into few convex hulls by axis-aligned planes.
//!
//! The piece starts as one part. Repeatedly the part whose hull exceeds its volume most is cut by
//! the plane that minimizes the bounding boxes of both sides, until the hulls fit or there are
//! enough of them. Hulls are those of the mesh's vertices in a part. This is the greedy scheme of
//! approximate convex decomposition (Mamou and Ghorbel, "A simple and efficient approach for 3D
//! mesh approximate convex decomposition", 2009), measured on the cells that we have anyway:
//! parry's own implementation voxelizes the mesh first.
//!
//! Parts are measured on a grid of at most 64³ cells with an edge of 2ⁿ voxels.

use rapier3d::math::Vector;
use rapier3d::prelude::{Pose, SharedShape};
use terravox::bodies::LooseBody;
use terravox::voxel::{DenseBox, Kind, Region, VoxelPos};

use crate::options::LooseShapeOptions;

/// Cells along an edge of the grid: a row is one word.
const GRID_EDGE: usize = 64;

/// Vertices up to this distance from a part belong to it, too: about as far as the surface may be
/// from its cells, and enough that there are vertices where two parts meet.
const MARGIN_VOXELS: f32 = 0.75;

/// A hull keeps its extreme points in the directions to a grid of points on a cube's surface, with
/// this many lines per face: more for final hulls than for those that are only measured.
const MEASURING_LINES: usize = 3;
const FINAL_LINES: usize = 5;

/// The solid volume of the piece on its own grid.
struct PieceCells {
    /// Lowest voxel.
    min: VoxelPos,
    /// Log2 of the voxels along a cell's edge.
    log2: u32,
    /// Bit x: whether the cell has a solid voxel; by z + 64 y.
    rows: Vec<u64>,
    /// Solid volumes of the cells, voxels, by x + 64 (z + 64 y).
    volumes: Vec<f32>,
}

/// A part of the piece, which becomes one hull.
struct HullPart {
    /// Bounds of its cells.
    bounds: CellBox,
    /// Indices of its vertices.
    vertices: Vec<u32>,
    /// Volume of its hull minus that of its cells, voxels.
    excess: f32,
}

/// A box of cells.
#[derive(Clone, Copy)]
struct CellBox {
    min: [usize; 3],
    /// Exclusive.
    max: [usize; 3],
}

impl CellBox {
    /// The cells of a row from the first to the last set bit, which there must be.
    fn of_row(bits: u64, y: usize, z: usize) -> CellBox {
        let end = GRID_EDGE - bits.leading_zeros() as usize;
        CellBox { min: [bits.trailing_zeros() as usize, y, z], max: [end, y + 1, z + 1] }
    }

    fn union(self, other: CellBox) -> CellBox {
        CellBox {
            min: [0, 1, 2].map(|i| self.min[i].min(other.min[i])),
            max: [0, 1, 2].map(|i| self.max[i].max(other.max[i])),
        }
    }

    fn cell_count(self) -> usize {
        (0..3).map(|i| self.max[i] - self.min[i]).product()
    }

    /// All rows, as (y, z).
    fn rows(self) -> impl Iterator<Item = (usize, usize)> {
        let CellBox { min, max } = self;
        (min[1]..max[1]).flat_map(move |y| (min[2]..max[2]).map(move |z| (y, z)))
    }
}

/// The union with a box that may be empty.
fn grow(bounds: &mut Option<CellBox>, other: CellBox) {
    *bounds = Some(bounds.map_or(other, |bounds| bounds.union(other)));
}

/// Where a part is cut: before cell `cell` along `axis`.
#[derive(Clone, Copy)]
struct CutPlane {
    axis: usize,
    cell: usize,
}

/// The hulls, metres; a part without a valid hull becomes its box.
pub(super) fn convex_hulls(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
) -> Vec<(Pose, SharedShape)> {
    let cells = PieceCells::of(body);
    let vertices = vertices_of(body);
    let whole = CellBox { min: [0; 3], max: [GRID_EDGE; 3] };
    let all = (0..vertices.len() as u32).collect();
    let mut parts: Vec<HullPart> = cells.part(whole, all, &vertices).into_iter().collect();
    let volume: f32 = cells.volumes.iter().sum();
    while parts.len() < options.max_parts {
        let excess: f32 = parts.iter().map(|part| part.excess).sum();
        let worst = (0..parts.len()).max_by(|&a, &b| parts[a].excess.total_cmp(&parts[b].excess));
        let Some(worst) = worst.filter(|_| excess > options.concavity * volume) else { break };
        let Some(CutPlane { axis, cell }) = cells.best_cut(parts[worst].bounds) else {
            // A single cell cannot be cut.
            parts[worst].excess = 0.0;
            continue;
        };
        let part = parts.swap_remove(worst);
        let (mut low, mut high) = (part.bounds, part.bounds);
        low.max[axis] = cell;
        high.min[axis] = cell;
        parts.extend(cells.part(low, part.vertices.clone(), &vertices));
        parts.extend(cells.part(high, part.vertices, &vertices));
    }
    parts.iter().map(|part| cells.shape(part, &vertices, voxel_size_m)).collect()
}

/// The vertices of the piece's mesh, voxels.
fn vertices_of(body: &LooseBody) -> Vec<Vector> {
    let of_mesh = body.meshes.iter().flat_map(|mesh| {
        let corner = Vector::from(mesh.block.min.to_array().map(|v| v as f32));
        mesh.solid.positions.iter().map(move |&position| Vector::from(position) + corner)
    });
    of_mesh.collect()
}

impl PieceCells {
    fn of(body: &LooseBody) -> PieceCells {
        let longest = body.bounds.size().into_iter().max().unwrap_or(1);
        let log2 = longest.div_ceil(GRID_EDGE).next_power_of_two().trailing_zeros();
        let (rows, volumes) =
            (vec![0; GRID_EDGE * GRID_EDGE], vec![0.0; GRID_EDGE * GRID_EDGE * GRID_EDGE]);
        let mut all = PieceCells { min: body.bounds.min, log2, rows, volumes };
        let mut cells = DenseBox::default();
        for chunk in body.grid.chunks() {
            let region = chunk.region().intersect(body.bounds);
            // A body holds all of its cells.
            if !region.is_empty() && body.grid.read(region, 0, &mut cells).is_ok() {
                all.add(&cells, body.grid.materials().kinds());
            }
        }
        all
    }

    fn add(&mut self, cells: &DenseBox, kinds: &[Kind; 256]) {
        let Region { min, max } = cells.region();
        let width = (max.x - min.x) as usize;
        let rows = (min.y..max.y).flat_map(|y| (min.z..max.z).map(move |z| (y, z)));
        for (number, (y, z)) in rows.enumerate() {
            let at = |v: i32, min: i32| (v - min) as usize >> self.log2;
            let row = at(z, self.min.z) + GRID_EDGE * at(y, self.min.y);
            let here = number * width..(number + 1) * width;
            let materials = cells.materials()[here.clone()].iter();
            for ((x, &material), &fill) in (min.x..).zip(materials).zip(&cells.occupancies()[here])
            {
                if kinds[usize::from(material)] == Kind::Solid {
                    let x = at(x, self.min.x);
                    self.rows[row] |= 1 << x;
                    self.volumes[x + GRID_EDGE * row] += (f32::from(fill) + 1.0) / 256.0;
                }
            }
        }
    }

    /// The cells of a row within a box.
    fn row(&self, bounds: CellBox, y: usize, z: usize) -> u64 {
        let (first, end) = (bounds.min[0], bounds.max[0]);
        let mask = (u64::MAX >> (GRID_EDGE - (end - first))) << first;
        self.rows[z + GRID_EDGE * y] & mask
    }

    /// Bounds of the cells in each slice of a box, by axis and slice; `None` for empty slices.
    fn slices(&self, bounds: CellBox) -> [Vec<Option<CellBox>>; 3] {
        let CellBox { min, max } = bounds;
        let mut slices = [0, 1, 2].map(|axis| vec![None; max[axis] - min[axis]]);
        // Rows as seen along z, and along y.
        let (mut by_y, mut by_z) = ([0u64; GRID_EDGE], [0u64; GRID_EDGE]);
        for (y, z) in bounds.rows() {
            let bits = self.row(bounds, y, z);
            if bits != 0 {
                let span = CellBox::of_row(bits, y, z);
                grow(&mut slices[1][y - min[1]], span);
                grow(&mut slices[2][z - min[2]], span);
                by_y[y] |= bits;
                by_z[z] |= bits;
            }
        }
        for x in min[0]..max[0] {
            let range = |rows: &[u64; GRID_EDGE]| {
                let is_set = |i: &usize| rows[*i] >> x & 1 != 0;
                Some((0..GRID_EDGE).find(is_set)?..(0..GRID_EDGE).rev().find(is_set)? + 1)
            };
            if let (Some(ys), Some(zs)) = (range(&by_y), range(&by_z)) {
                let span = CellBox { min: [x, ys.start, zs.start], max: [x + 1, ys.end, zs.end] };
                slices[0][x - min[0]] = Some(span);
            }
        }
        slices
    }

    /// The plane that minimizes the volume of the boxes on both sides; on ties the one nearest to
    /// the middle of a long edge.
    fn best_cut(&self, bounds: CellBox) -> Option<CutPlane> {
        let mut best: Option<([usize; 2], CutPlane)> = None;
        for (axis, slices) in self.slices(bounds).iter().enumerate() {
            let mut below = vec![None; slices.len() + 1];
            for (i, slice) in slices.iter().enumerate() {
                below[i + 1] = below[i];
                slice.iter().for_each(|span| grow(&mut below[i + 1], *span));
            }
            let mut above = None;
            for i in (1..slices.len()).rev() {
                slices[i].iter().for_each(|span| grow(&mut above, *span));
                let volume: usize =
                    [below[i], above].into_iter().flatten().map(CellBox::cell_count).sum();
                // Less if farther from both ends.
                let from_middle = GRID_EDGE - i.min(slices.len() - i);
                if best.is_none_or(|(least, _)| [volume, from_middle] < least) {
                    let plane = CutPlane { axis, cell: bounds.min[axis] + i };
                    best = Some(([volume, from_middle], plane));
                }
            }
        }
        best.map(|(_, plane)| plane)
    }

    /// The part in a box, with those of the vertices `candidates` that are in it; `None` if it has
    /// no cells.
    fn part(
        &self,
        within: CellBox,
        mut candidates: Vec<u32>,
        vertices: &[Vector],
    ) -> Option<HullPart> {
        let mut bounds = None;
        for (y, z) in within.rows() {
            let bits = self.row(within, y, z);
            if bits != 0 {
                grow(&mut bounds, CellBox::of_row(bits, y, z));
            }
        }
        let bounds = bounds?;
        let (min, max) = (self.voxel(bounds.min), self.voxel(bounds.max));
        let (min, max) = (min - Vector::splat(MARGIN_VOXELS), max + Vector::splat(MARGIN_VOXELS));
        candidates.retain(|&i| {
            let vertex = vertices[i as usize];
            vertex.cmpge(min).all() && vertex.cmple(max).all()
        });
        let hull = SharedShape::convex_hull(&outermost(&candidates, vertices, MEASURING_LINES));
        let hull_volume = hull.map_or(0.0, |hull| hull.mass_properties(1.0).mass());
        let excess = hull_volume - self.volume(bounds);
        Some(HullPart { bounds, vertices: candidates, excess })
    }

    /// Solid volume of a box, voxels.
    fn volume(&self, bounds: CellBox) -> f32 {
        let rows = bounds.rows().map(|(y, z)| GRID_EDGE * (z + GRID_EDGE * y));
        rows.map(|row| self.volumes[row + bounds.min[0]..row + bounds.max[0]].iter().sum::<f32>())
            .sum()
    }

    /// The min corner of a cell, voxels.
    fn voxel(&self, cell: [usize; 3]) -> Vector {
        let min = self.min.to_array();
        Vector::from([0, 1, 2].map(|i| min[i] as f32 + (cell[i] << self.log2) as f32))
    }

    /// The shape of a part, metres.
    fn shape(
        &self,
        part: &HullPart,
        vertices: &[Vector],
        voxel_size_m: f32,
    ) -> (Pose, SharedShape) {
        let points = outermost(&part.vertices, vertices, FINAL_LINES);
        let points: Vec<Vector> = points.iter().map(|&p| p * voxel_size_m).collect();
        match SharedShape::convex_hull(&points) {
            Some(hull) => (Pose::IDENTITY, hull),
            None => {
                let CellBox { min, max } = part.bounds;
                let [min, max] = [min, max].map(|cell| self.voxel(cell) * voxel_size_m);
                let half = (max - min) / 2.0;
                let shape = SharedShape::cuboid(half.x, half.y, half.z);
                (Pose::from_translation((min + max) / 2.0), shape)
            }
        }
    }
}

/// The vertices that are extreme in some direction: hulls of few points are fast to build and to
/// collide with.
fn outermost(indices: &[u32], vertices: &[Vector], lines: usize) -> Vec<Vector> {
    let mut extreme = Vec::new();
    let step = 2.0 / (lines - 1) as f32;
    let along = |i: usize| i as f32 * step - 1.0;
    for number in 0..lines * lines * lines {
        let at = [number % lines, number / lines % lines, number / lines / lines];
        // The surface of the cube only.
        if at.iter().all(|&i| i != 0 && i != lines - 1) {
            continue;
        }
        let direction = Vector::from(at.map(along));
        let (mut max_distance, mut farthest) = (f32::MIN, None);
        for &i in indices {
            let distance = vertices[i as usize].dot(direction);
            if distance > max_distance {
                (max_distance, farthest) = (distance, Some(i));
            }
        }
        extreme.extend(farthest);
    }
    extreme.sort_unstable();
    extreme.dedup();
    extreme.into_iter().map(|i| vertices[i as usize]).collect()
}
