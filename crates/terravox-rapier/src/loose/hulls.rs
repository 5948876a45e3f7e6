//! Decomposes a piece into few convex hulls by axis-aligned planes.
//!
//! The piece starts as one part. Repeatedly the part whose hull exceeds its volume most is cut by the
//! plane that minimizes the bounding boxes of both sides, until the hulls fit or there are enough of
//! them. Hulls are those of the mesh's vertices in a part. This is the greedy scheme of approximate
//! convex decomposition (Mamou and Ghorbel, "A simple and efficient approach for 3D mesh approximate
//! convex decomposition", 2009), measured on the cells that we have anyway: parry's own
//! implementation voxelizes the mesh first.
//!
//! Parts are measured on a grid of at most 64³ cells with an edge of 2ⁿ voxels.

use super::LooseShapeOptions;
use rapier3d::math::Vector;
use rapier3d::prelude::{Pose, SharedShape};
use terravox::bodies::LooseBody;
use terravox::voxel::{DenseBox, Kind, Region, VoxelPos};

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
    cells: [[usize; 3]; 2],
    /// Numbers of its vertices.
    vertices: Vec<u32>,
    /// Volume of its hull minus that of its cells, voxels.
    excess: f32,
}

/// The hulls, metres; a part without a valid hull becomes its box.
pub(super) fn hulls(
    body: &LooseBody,
    voxel_size_m: f32,
    options: &LooseShapeOptions,
) -> Vec<(Pose, SharedShape)> {
    let cells = PieceCells::of(body);
    let vertices = vertices_of(body);
    let whole = [[0; 3], [GRID_EDGE; 3]];
    let all = (0..vertices.len() as u32).collect();
    let mut parts: Vec<HullPart> = cells.part(whole, all, &vertices).into_iter().collect();
    let volume: f32 = cells.volumes.iter().sum();
    while parts.len() < options.max_parts {
        let excess: f32 = parts.iter().map(|part| part.excess).sum();
        let worst = (0..parts.len()).max_by(|&a, &b| parts[a].excess.total_cmp(&parts[b].excess));
        let Some(worst) = worst.filter(|_| excess > options.concavity * volume) else { break };
        let Some((axis, at)) = cells.plane(parts[worst].cells) else {
            // A single cell cannot be cut.
            parts[worst].excess = 0.0;
            continue;
        };
        let part = parts.swap_remove(worst);
        let (mut low, mut high) = (part.cells, part.cells);
        (low[1][axis], high[0][axis]) = (at, at);
        parts.extend(cells.part(low, part.vertices.clone(), &vertices));
        parts.extend(cells.part(high, part.vertices, &vertices));
    }
    parts.iter().map(|part| cells.shape(part, &vertices, voxel_size_m)).collect()
}

/// The vertices of the piece's mesh, voxels.
fn vertices_of(body: &LooseBody) -> Vec<Vector> {
    let of_mesh = body.meshes.iter().flat_map(|mesh| {
        let corner = mesh.block.min.to_array().map(|v| v as f32);
        let place = move |p: &[f32; 3]| Vector::from([0, 1, 2].map(|i| p[i] + corner[i]));
        mesh.solid.positions.iter().map(place)
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

    /// The cells of a row (z, y) within a box.
    fn row(&self, [low, high]: [[usize; 3]; 2], y: usize, z: usize) -> u64 {
        let mask = (u64::MAX >> (GRID_EDGE - (high[0] - low[0]))) << low[0];
        self.rows[z + GRID_EDGE * y] & mask
    }

    /// Bounds of the cells in each slice of a box, by axis and slice; `None` for empty slices.
    fn slices(&self, cells: [[usize; 3]; 2]) -> [Vec<Option<CellBox>>; 3] {
        let [low, high] = cells;
        let mut slices = [0, 1, 2].map(|axis| vec![None; high[axis] - low[axis]]);
        // Rows as seen along z, and along y.
        let (mut by_y, mut by_z) = ([0u64; GRID_EDGE], [0u64; GRID_EDGE]);
        for (y, z) in (low[1]..high[1]).flat_map(|y| (low[2]..high[2]).map(move |z| (y, z))) {
            let bits = self.row(cells, y, z);
            if bits != 0 {
                let xs =
                    [bits.trailing_zeros() as usize, GRID_EDGE - bits.leading_zeros() as usize];
                let span = [[xs[0], y, z], [xs[1], y + 1, z + 1]];
                grow(&mut slices[1][y - low[1]], span);
                grow(&mut slices[2][z - low[2]], span);
                by_y[y] |= bits;
                by_z[z] |= bits;
            }
        }
        for x in low[0]..high[0] {
            let ends = |seen: &[u64; GRID_EDGE]| {
                let set = |i: &usize| seen[*i] >> x & 1 != 0;
                Some([(0..GRID_EDGE).find(set)?, (0..GRID_EDGE).rev().find(set)? + 1])
            };
            if let (Some(ys), Some(zs)) = (ends(&by_y), ends(&by_z)) {
                slices[0][x - low[0]] = Some([[x, ys[0], zs[0]], [x + 1, ys[1], zs[1]]]);
            }
        }
        slices
    }

    /// The plane, as axis and cell, that minimizes the volume of the boxes on both sides; on ties the
    /// one nearest to the middle of a long edge.
    fn plane(&self, cells: [[usize; 3]; 2]) -> Option<(usize, usize)> {
        let mut best: Option<([usize; 2], (usize, usize))> = None;
        for (axis, slices) in self.slices(cells).iter().enumerate() {
            let mut below = vec![None; slices.len() + 1];
            for (i, slice) in slices.iter().enumerate() {
                below[i + 1] = below[i];
                slice.iter().for_each(|span| grow(&mut below[i + 1], *span));
            }
            let mut above = None;
            for i in (1..slices.len()).rev() {
                slices[i].iter().for_each(|span| grow(&mut above, *span));
                let volume = volume_of(below[i]) + volume_of(above);
                // Larger distance from the ends is nearer to the middle.
                let from_end = GRID_EDGE - i.min(slices.len() - i);
                if best.is_none_or(|best| [volume, from_end] < best.0) {
                    best = Some(([volume, from_end], (axis, cells[0][axis] + i)));
                }
            }
        }
        best.map(|best| best.1)
    }

    /// The part in a box, with the vertices of `own` that are in it; `None` if it has no cells.
    fn part(&self, cells: [[usize; 3]; 2], mut own: Vec<u32>, all: &[Vector]) -> Option<HullPart> {
        let [low, high] = cells;
        let mut about = None;
        for (y, z) in (low[1]..high[1]).flat_map(|y| (low[2]..high[2]).map(move |z| (y, z))) {
            let bits = self.row(cells, y, z);
            if bits != 0 {
                let xs =
                    [bits.trailing_zeros() as usize, GRID_EDGE - bits.leading_zeros() as usize];
                grow(&mut about, [[xs[0], y, z], [xs[1], y + 1, z + 1]]);
            }
        }
        let cells = about?;
        let [min, max] = self.corners(cells);
        let (min, max) = (min - Vector::splat(MARGIN_VOXELS), max + Vector::splat(MARGIN_VOXELS));
        own.retain(|&i| {
            let at = all[i as usize];
            at.cmpge(min).all() && at.cmple(max).all()
        });
        let hull =
            hull(&own, all, MEASURING_LINES).map_or(0.0, |hull| hull.mass_properties(1.0).mass());
        Some(HullPart { cells, vertices: own, excess: hull - self.volume(cells) })
    }

    /// Solid volume of a box, voxels.
    fn volume(&self, [low, high]: [[usize; 3]; 2]) -> f32 {
        let rows =
            (low[1]..high[1]).flat_map(|y| (low[2]..high[2]).map(move |z| z + GRID_EDGE * y));
        rows.map(|row| {
            self.volumes[GRID_EDGE * row + low[0]..GRID_EDGE * row + high[0]].iter().sum::<f32>()
        })
        .sum()
    }

    /// The corners of a box, voxels.
    fn corners(&self, cells: [[usize; 3]; 2]) -> [Vector; 2] {
        let min = self.min.to_array();
        cells.map(|at| Vector::from([0, 1, 2].map(|i| min[i] as f32 + (at[i] << self.log2) as f32)))
    }

    /// The shape of a part, metres.
    fn shape(&self, part: &HullPart, all: &[Vector], voxel_size_m: f32) -> (Pose, SharedShape) {
        let points = outermost(&part.vertices, all, FINAL_LINES);
        let points: Vec<Vector> = points.iter().map(|&p| p * voxel_size_m).collect();
        match SharedShape::convex_hull(&points) {
            Some(hull) => (Pose::IDENTITY, hull),
            None => {
                let [min, max] = self.corners(part.cells).map(|v| v * voxel_size_m);
                let half = (max - min) / 2.0;
                let shape = SharedShape::cuboid(half.x, half.y, half.z);
                (Pose::from_translation((min + max) / 2.0), shape)
            }
        }
    }
}

/// Two corners of a box of cells, the second exclusive.
type CellBox = [[usize; 3]; 2];

fn grow(about: &mut Option<CellBox>, span: CellBox) {
    let old = about.unwrap_or(span);
    *about = Some([
        [0, 1, 2].map(|i| old[0][i].min(span[0][i])),
        [0, 1, 2].map(|i| old[1][i].max(span[1][i])),
    ]);
}

fn volume_of(span: Option<CellBox>) -> usize {
    span.map_or(0, |[low, high]| (0..3).map(|i| high[i] - low[i]).product())
}

fn hull(own: &[u32], all: &[Vector], lines: usize) -> Option<SharedShape> {
    SharedShape::convex_hull(&outermost(own, all, lines))
}

/// The vertices that are extreme in some direction: hulls of few points are fast to build and to
/// collide with.
fn outermost(own: &[u32], all: &[Vector], lines: usize) -> Vec<Vector> {
    let mut kept = Vec::new();
    let step = 2.0 / (lines - 1) as f32;
    let along = |i: usize| i as f32 * step - 1.0;
    for number in 0..lines * lines * lines {
        let at = [number % lines, number / lines % lines, number / lines / lines];
        // The surface of the cube only.
        if at.iter().all(|&i| i != 0 && i != lines - 1) {
            continue;
        }
        let direction = Vector::from(at.map(along));
        let mut most = (f32::MIN, None);
        for &i in own {
            let far = all[i as usize].dot(direction);
            if far > most.0 {
                most = (far, Some(i));
            }
        }
        kept.extend(most.1);
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| all[i as usize]).collect()
}
