//! Walks the corners that have vertices, in the order of the vertices: gathers the cells around
//! each, blends their materials, and places the vertices in batches.

use crate::math::lanes::SimdJob;
use crate::mesh::rules::blend::{MaterialBlend, OCTANT_BYTES, blend_octants};
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::CORNERS;
use crate::mesh::rules::place::{Firmness, firmness, rubble};
use crate::mesh::surface::Surface;
use crate::voxel::{SurfaceShape, VoxelPos};

use super::bits::{
    Bits, CornerRow, CornerRows, ListedCorner, RankedRows, RowGrid, any, or, pair, row,
};
use super::input::SurfaceInput;
use super::mesh_simd::MeshSimd;
use super::scratch::FastScratch;
use super::vertices::{BatchShapes, PlaceBatches, Placed8, VertexBatch};
use super::writer::SurfaceWriter;

/// [`CornerSheets::is_special`](crate::mesh::rules::corner::CornerSheets::is_special) by inside
/// octants, where all others are outside.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut inside = 0;
    while inside < 256 {
        special[inside] = CORNERS[inside].is_special();
        inside += 1;
    }
    special
};

/// Batches that are placed at a time.
const BATCHES: usize = 4;

/// Vertices that are placed at a time.
const VERTICES_AT_ONCE: usize = 8 * BATCHES;

/// Places all vertices of first sheets as if no corner were special, and lists the
/// corners that are, or that have cells which are neither inside nor outside.
pub(super) struct PlaceVertices<'a, 'b, C, const W: usize> {
    pub s: &'a mut FastScratch,
    pub grid: &'a RowGrid,
    pub input: &'a SurfaceInput<'a, C>,
    pub writer: &'a mut SurfaceWriter<'b, C>,
}

impl<M: MeshSimd, C: SurfaceCells, const W: usize> SimdJob<M> for PlaceVertices<'_, '_, C, W> {
    #[inline(always)]
    fn run(self, m: M) {
        let PlaceVertices { s, grid, input, writer } = self;
        let [_, _, sz] = grid.size;
        let has_ground = input.outside.is_some();
        let (table, origin) = (writer.block.table, writer.block.origin);
        let count = s.corners.count;
        let out = &mut *writer.out;
        resize(out, count);
        s.special.clear();
        s.by_rules.clear();
        let firmness = common_firmness(input.shape);
        let mut batches = [VertexBatch::EMPTY; BATCHES];
        let mut placed: [Placed8; BATCHES] = [[[[0.0; 4]; 8]; 2]; BATCHES];
        let mut number = 0;
        for CornerRow { row: corner_row, y, z } in CornerRows::new(grid) {
            let active: Bits<W> = row(&s.corners.rows, corner_row);
            if !any(active) {
                continue;
            }
            let around = SurroundingRows::<W>::new(s, (y + 1) * sz + z + 1, sz, has_ground);
            for k in 0..W {
                let ranks = around.ranks(&s.around, k);
                let mut left = active[k];
                while left != 0 {
                    let b = left.trailing_zeros() as usize;
                    left &= left - 1;
                    let (bit, lane) = (64 * k + b, number % 8);
                    let batch = &mut batches[number / 8 % BATCHES];
                    let cells = gather(batch, lane, &around, &ranks, [k, b], input.materials, grid);
                    batch.corner[0][lane] = (bit - 1) as f32;
                    batch.corner[1][lane] = y as f32;
                    batch.corner[2][lane] = z as f32;
                    batch.thin[lane] = 0;
                    if around.has_thin {
                        use_thin_planes(batch, lane, &around, [k, b], &mut s.planes.planes);
                    }
                    let material = blend_into(out, number, cells);
                    if firmness.is_none() {
                        let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
                        batch.shapes.set(lane, table.shape(material), origin + at);
                    }
                    let is_filled = !has_ground || around.is_filled(k, b);
                    if SPECIAL[cells.inside as usize & 255] || !is_filled {
                        s.by_rules.push(ListedCorner { row: corner_row as u32, bit: bit as u32 });
                    }
                    number += 1;
                    if number.is_multiple_of(VERTICES_AT_ONCE) {
                        let (first, planes) = (number - VERTICES_AT_ONCE, &s.planes.planes);
                        flush(m, &batches, planes, firmness, &mut placed, first, out);
                    }
                }
            }
        }
        let first = number - number % VERTICES_AT_ONCE;
        let batches = &batches[..(number - first).div_ceil(8)];
        flush(m, batches, &s.planes.planes, firmness, &mut placed, first, out);
        out.positions.truncate(count);
        out.normals.truncate(count);
    }
}

/// Returns how all vertices are placed, if they have the same shape, which is not rubble or blocky.
fn common_firmness(shape: Option<SurfaceShape>) -> Option<Firmness> {
    match shape {
        None | Some(SurfaceShape::Rubble | SurfaceShape::Blocky) => None,
        Some(shape) => Some(firmness(shape)),
    }
}

/// Makes room for `count` vertices; positions and normals for whole batches.
#[inline(always)]
fn resize(out: &mut Surface, count: usize) {
    let padded = count.next_multiple_of(8);
    out.positions.resize(padded, [0.0; 3]);
    out.normals.resize(padded, [0.0; 3]);
    out.materials.resize(count, [0; 4]);
    out.weights.resize(count, [0; 4]);
}

/// The four cell rows around a row of corners.
struct SurroundingRows<const W: usize> {
    /// Numbers of the rows.
    rows: [usize; 4],
    inside: [Bits<W>; 4],
    /// Inside or outside.
    filled: [Bits<W>; 4],
    thin: [Bits<W>; 4],
    has_thin: bool,
}

/// A word of each of four rows, and the rank of its first bit.
struct WordRanks {
    words: [u64; 4],
    ranks: [u32; 4],
}

impl<const W: usize> SurroundingRows<W> {
    #[inline(always)]
    fn new(s: &FastScratch, first: usize, step: usize, has_ground: bool) -> SurroundingRows<W> {
        let mut around = SurroundingRows {
            rows: [first, first + 1, first + step, first + step + 1],
            inside: [[0; W]; 4],
            filled: [[!0; W]; 4],
            thin: [[0; W]; 4],
            has_thin: false,
        };
        for j in 0..4 {
            let r = around.rows[j];
            around.inside[j] = row(&s.inside, r);
            if has_ground {
                around.filled[j] = or(around.inside[j], row(&s.outside, r));
            }
            if !s.planes.thin.is_empty() {
                around.thin[j] = row(&s.planes.thin, r);
                around.has_thin |= any(around.thin[j]);
            }
        }
        around
    }

    /// Returns word `k` of each row of the cells that have planes.
    #[inline(always)]
    fn ranks(&self, cells: &RankedRows, k: usize) -> WordRanks {
        let mut out = WordRanks { words: [0; 4], ranks: [0; 4] };
        for j in 0..4 {
            out.words[j] = cells.rows[W * self.rows[j] + k];
            out.ranks[j] = cells.ranks[W * self.rows[j] + k];
        }
        out
    }

    /// Whether all cells around a corner are inside or outside.
    #[inline(always)]
    fn is_filled(&self, k: usize, b: usize) -> bool {
        let mut filled = 0;
        for j in 0..4 {
            filled |= pair(&self.filled[j], k, b) << (2 * j);
        }
        filled == 255
    }
}

/// The cells around a corner.
#[derive(Clone, Copy)]
struct OctantCells {
    /// Inside octants.
    inside: u32,
    /// By octant, a byte each.
    materials: u64,
}

/// Looks up the cells around the corner at bit `b` of word `k`, and the numbers of their planes,
/// which a lane of the batch takes.
#[inline(always)]
fn gather<const W: usize>(
    batch: &mut VertexBatch,
    lane: usize,
    around: &SurroundingRows<W>,
    ranks: &WordRanks,
    [k, b]: [usize; 2],
    materials: &[u8],
    grid: &RowGrid,
) -> OctantCells {
    let below = (1u64 << b) - 1;
    let mut cells = OctantCells { inside: 0, materials: 0 };
    for j in 0..4 {
        let two = pair(&around.inside[j], k, b);
        cells.inside |= two << (2 * j);
        let first = ranks.ranks[j] + (ranks.words[j] & below).count_ones();
        batch.planes[j][lane] = first + (two & 1);
        let i = around.rows[j] * grid.size[0] + 64 * k + b;
        let pair = &materials[i..i + 2];
        let pair = u16::from_le_bytes([pair[0], pair[1]]);
        cells.materials |= u64::from(pair) << (16 * j);
    }
    batch.inside[lane] = cells.inside;
    cells
}

/// Writes the materials of a vertex. Returns the first of them.
#[inline(always)]
fn blend_into(out: &mut Surface, number: usize, cells: OctantCells) -> u8 {
    let OctantCells { inside, materials } = cells;
    let material = (materials >> (8 * inside.trailing_zeros())) as u8;
    let same = u64::from(material) * 0x0101_0101_0101_0101;
    let MaterialBlend { materials, weights } =
        match (materials ^ same) & OCTANT_BYTES[inside as usize & 255] {
            0 => MaterialBlend::one(material),
            _ => blend_octants(materials, inside as u8),
        };
    out.materials[number] = materials;
    out.weights[number] = weights;
    materials[0]
}

/// Lets a lane use, of its thin cells, the planes for its corner: copies of pairs.
#[inline(never)]
fn use_thin_planes<const W: usize>(
    batch: &mut VertexBatch,
    lane: usize,
    around: &SurroundingRows<W>,
    [k, b]: [usize; 2],
    planes: &mut Vec<[f32; 4]>,
) {
    for j in 0..4 {
        let two = pair(&around.thin[j], k, b);
        if two == 0 {
            continue;
        }
        let at = batch.planes[j][lane] as usize;
        batch.planes[j][lane] = planes.len() as u32;
        batch.thin[lane] = 1;
        for side in 0..2 {
            let plane = planes[at + side];
            let first = plane[3].to_bits() as usize;
            let is_thin = two >> side & 1 == 1;
            planes.push(if is_thin { planes[first + (7 ^ (2 * j + side))] } else { plane });
        }
    }
}

impl BatchShapes {
    /// Sets how a lane's vertex is placed.
    #[inline(always)]
    fn set(&mut self, lane: usize, shape: SurfaceShape, corner: VoxelPos) {
        let firmness = firmness(shape);
        self.softness_third[lane] = firmness.softness_third.unwrap_or(0.0);
        self.smooth[lane] = u32::from(firmness.softness_third.is_none());
        self.ridge[lane] = firmness.ridge;
        self.blocky[lane] = u32::from(shape == SurfaceShape::Blocky);
        let is_rubble = shape == SurfaceShape::Rubble;
        let push = if is_rubble { rubble(corner.to_array()) } else { [0.0; 3] };
        for axis in 0..3 {
            self.push[axis][lane] = push[axis];
        }
    }
}

/// Places the vertices of some batches, the first of which has the number `first`, and writes
/// them out. `placed` is memory.
#[inline(always)]
fn flush<M: MeshSimd>(
    m: M,
    batches: &[VertexBatch],
    planes: &[[f32; 4]],
    firmness: Option<Firmness>,
    placed: &mut [Placed8; BATCHES],
    first: usize,
    out: &mut Surface,
) {
    m.run(PlaceBatches { batches, planes, firmness, out: placed });
    for (i, placed) in placed[..batches.len()].iter().enumerate() {
        write8(placed, first + 8 * i, out);
    }
}

/// Copies eight placed vertices to their place in the mesh.
#[inline(always)]
fn write8(placed: &Placed8, at: usize, out: &mut Surface) {
    let positions = &mut out.positions[at..at + 8];
    for lane in 0..8 {
        positions[lane] = [placed[0][lane][0], placed[0][lane][1], placed[0][lane][2]];
    }
    let normals = &mut out.normals[at..at + 8];
    for lane in 0..8 {
        normals[lane] = [placed[1][lane][0], placed[1][lane][1], placed[1][lane][2]];
    }
}
