//! Walks the active corners: looks up the planes of their cells by the ranks of bits,
//! blends their materials and has them placed in batches.

use crate::mesh::blend::{BYTES, blend_octants};
use crate::mesh::cells::Cells;
use crate::mesh::corner::CORNERS;
use crate::mesh::place::{firmness, rubble};
use crate::mesh::surface::Surface;
use crate::mesh::vertex::Writer;
use crate::voxel::{SurfaceShape, VoxelPos};

use super::machine::{Job, Machine};
use super::rows::{Bits, Grid, any, or, pair, row};
use super::vertices::{Batch, PlaceBatches, Placed8, Shapes};
use super::{Input, Scratch};

/// [`Corner::special`] by inside octants, where all others are outside.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut inside = 0;
    while inside < 256 {
        special[inside] = CORNERS[inside].special();
        inside += 1;
    }
    special
};

/// Sets what a shape asks of a lane.
#[inline(always)]
fn set_shape(shapes: &mut Shapes, lane: usize, shape: SurfaceShape, corner: VoxelPos) {
    let firmness = firmness(shape);
    shapes.softness_third[lane] = firmness.softness_third.unwrap_or(0.0);
    shapes.smooth[lane] = u32::from(firmness.softness_third.is_none());
    shapes.ridge[lane] = firmness.ridge;
    shapes.blocky[lane] = u32::from(shape == SurfaceShape::Blocky);
    let push = if shape == SurfaceShape::Rubble { rubble(corner.to_array()) } else { [0.0; 3] };
    for axis in 0..3 {
        shapes.push[axis][lane] = push[axis];
    }
}

/// Batches that are placed at a time.
const BATCHES: usize = 4;

/// Places all vertices of first sheets as if no corner were special, and lists the
/// corners that are, or that have cells which are neither inside nor outside.
pub(super) struct PlaceVertices<'a, 'b, C, const W: usize> {
    pub s: &'a mut Scratch,
    pub grid: &'a Grid,
    pub input: &'a Input<'a, C>,
    pub writer: &'a mut Writer<'b, C>,
}

/// What the corners of a row look up: the four cell rows around it.
struct Around<const W: usize> {
    /// Numbers of the rows.
    rows: [usize; 4],
    inside: [Bits<W>; 4],
    /// Inside or outside.
    filled: [Bits<W>; 4],
    thin: [Bits<W>; 4],
    any_thin: bool,
}

impl<const W: usize> Around<W> {
    #[inline(always)]
    fn new(s: &Scratch, first: usize, step: usize, liquid: bool) -> Around<W> {
        let mut around = Around {
            rows: [first, first + 1, first + step, first + step + 1],
            inside: [[0; W]; 4],
            filled: [[!0; W]; 4],
            thin: [[0; W]; 4],
            any_thin: false,
        };
        for j in 0..4 {
            let r = around.rows[j];
            around.inside[j] = row(&s.inside, r);
            if liquid {
                around.filled[j] = or(around.inside[j], row(&s.outside, r));
            }
            if !s.planes.thin.is_empty() {
                around.thin[j] = row(&s.planes.thin, r);
                around.any_thin |= any(around.thin[j]);
            }
        }
        around
    }
}

impl<C: Cells, const W: usize> Job for PlaceVertices<'_, '_, C, W> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        let PlaceVertices { s, grid, input, writer } = self;
        let [sx, _, sz] = grid.size;
        let [_, ny, nz] = grid.own;
        let liquid = input.outside.is_some();
        let origin = writer.origin;
        let only = s.known.only[usize::from(liquid)];
        let count = s.corners.count;
        let out = &mut *writer.out;
        let padded = count.next_multiple_of(8);
        out.positions.resize(padded, [0.0; 3]);
        out.normals.resize(padded, [0.0; 3]);
        out.materials.resize(count, [0; 4]);
        out.weights.resize(count, [0; 4]);
        s.special.clear();
        s.by_rules.clear();
        let firmness = match only {
            None | Some(SurfaceShape::Rubble | SurfaceShape::Blocky) => None,
            Some(shape) => Some(firmness(shape)),
        };
        let mut batches = [Batch::EMPTY; BATCHES];
        let mut placed: [Placed8; BATCHES] = [[[[0.0; 4]; 8]; 2]; BATCHES];
        let mut number = 0;
        for y in 0..=ny {
            for z in 0..=nz {
                let c = y * (nz + 1) + z;
                let active: Bits<W> = row(&s.corners.rows, c);
                if !any(active) {
                    continue;
                }
                let around = Around::<W>::new(s, (y + 1) * sz + z + 1, sz, liquid);
                for k in 0..W {
                    let mut left = active[k];
                    let (mut words, mut ranks) = ([0; 4], [0; 4]);
                    for j in 0..4 {
                        words[j] = s.around.rows[W * around.rows[j] + k];
                        ranks[j] = s.around.ranks[W * around.rows[j] + k];
                    }
                    while left != 0 {
                        let b = left.trailing_zeros() as usize;
                        left &= left - 1;
                        let bit = 64 * k + b;
                        let lane = number % 8;
                        let batch = &mut batches[number / 8 % BATCHES];
                        let below = (1u64 << b) - 1;
                        let (mut octants, mut bytes) = (0, 0);
                        for j in 0..4 {
                            let two = pair(&around.inside[j], k, b);
                            octants |= two << (2 * j);
                            let first = ranks[j] + (words[j] & below).count_ones();
                            batch.planes[j][lane] = first + (two & 1);
                            let i = around.rows[j] * sx + bit;
                            let pair = &input.materials[i..i + 2];
                            let pair = u16::from_le_bytes([pair[0], pair[1]]);
                            bytes |= u64::from(pair) << (16 * j);
                        }
                        batch.inside[lane] = octants;
                        batch.corner[0][lane] = (bit - 1) as f32;
                        batch.corner[1][lane] = y as f32;
                        batch.corner[2][lane] = z as f32;
                        batch.thin[lane] = 0;
                        if around.any_thin {
                            thin_planes(batch, lane, &around, k, b, &mut s.planes.planes);
                        }

                        let mut material = (bytes >> (8 * octants.trailing_zeros())) as u8;
                        let same = u64::from(material) * 0x0101_0101_0101_0101;
                        out.materials[number] = [material, 0, 0, 0];
                        out.weights[number] = [255, 0, 0, 0];
                        if (bytes ^ same) & BYTES[octants as usize & 255] != 0 {
                            let blended = blend_octants(bytes, octants as u8);
                            (out.materials[number], out.weights[number]) = blended;
                            material = blended.0[0];
                        }
                        if firmness.is_none() {
                            let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
                            let shape = writer.table.shape(material);
                            set_shape(&mut batch.shapes, lane, shape, origin + at);
                        }

                        let mut filled = 255;
                        if liquid {
                            filled = 0;
                            for j in 0..4 {
                                filled |= pair(&around.filled[j], k, b) << (2 * j);
                            }
                        }
                        if SPECIAL[octants as usize & 255] || filled != 255 {
                            s.by_rules.push([c as u32, bit as u32]);
                        }

                        number += 1;
                        if number % (8 * BATCHES) == 0 {
                            let (batches, planes) = (&batches, &s.planes.planes);
                            m.run(PlaceBatches { batches, planes, firmness, out: &mut placed });
                            for (i, placed) in placed.iter().enumerate() {
                                put8(placed, number - 8 * (BATCHES - i), out);
                            }
                        }
                    }
                }
            }
        }
        let first = number - number % (8 * BATCHES);
        let batches = &batches[..(number - first).div_ceil(8)];
        m.run(PlaceBatches { batches, planes: &s.planes.planes, firmness, out: &mut placed });
        for (i, placed) in placed[..batches.len()].iter().enumerate() {
            put8(placed, first + 8 * i, out);
        }
        out.positions.truncate(count);
        out.normals.truncate(count);
    }
}

/// Lets a lane use, of its thin cells, the planes for its corner: copies of pairs.
#[inline(never)]
fn thin_planes<const W: usize>(
    batch: &mut Batch,
    lane: usize,
    around: &Around<W>,
    k: usize,
    b: usize,
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
            let thin = two >> side & 1 == 1;
            planes.push(if thin { planes[first + (7 ^ (2 * j + side))] } else { plane });
        }
    }
}

/// Copies eight placed vertices to their place.
#[inline(always)]
fn put8(placed: &Placed8, at: usize, out: &mut Surface) {
    let positions = &mut out.positions[at..at + 8];
    for lane in 0..8 {
        positions[lane] = [placed[0][lane][0], placed[0][lane][1], placed[0][lane][2]];
    }
    let normals = &mut out.normals[at..at + 8];
    for lane in 0..8 {
        normals[lane] = [placed[1][lane][0], placed[1][lane][1], placed[1][lane][2]];
    }
}
