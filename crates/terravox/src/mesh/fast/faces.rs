//! The faces that a block owns, the corners that they touch and the cells around these.

use crate::math::lanes::SimdJob;
use crate::mesh::rules::boundary::BoundaryFeatures;

use super::bits::{
    Bits, RankedRows, RowGrid, add, and, any, down, for_bits, not, or, row, span, up,
};
use super::boundary::{BoundaryVertices, FeatureCorners, find_boundary_corners};
use super::mesh_simd::MeshSimd;

/// A face that is not written with the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftOutFace {
    /// Index of the padded cell behind it.
    pub cell: u32,
    /// Number of its direction.
    pub direction: u8,
}

/// Rows with faces of the block, in the order in which quads are written.
#[derive(Debug, Default)]
pub(super) struct FaceRows {
    pub rows: Vec<FaceRow>,
    /// Six directions times `W` words for each row.
    pub masks: Vec<u64>,
    /// Faces that were left out.
    pub left_out: Vec<LeftOutFace>,
}

/// A row of the block with faces.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaceRow {
    /// The padded cell row.
    pub cells: u32,
    /// The corner row at its low side.
    pub corners: u32,
    /// y and z in the block as the second and third byte.
    pub yz_bytes: u32,
}

/// Finds the faces between own inside cells and outside ones, the corners that they
/// touch, and the inside cells around those.
pub(super) struct FindFaces<'a, const W: usize> {
    pub grid: &'a RowGrid,
    pub inside: &'a [u64],
    /// `None` where it is all that is not inside.
    pub outside: Option<&'a [u64]>,
    /// Features of the boundary: faces that touch a corner on one are left out.
    pub left_out: BoundaryFeatures,
    pub faces: &'a mut FaceRows,
    pub corners: &'a mut RankedRows,
    /// Corners on features of the boundary whose faces are left out.
    pub boundary: &'a mut BoundaryVertices,
    pub around: &'a mut RankedRows,
}

impl<M: MeshSimd, const W: usize> SimdJob<M> for FindFaces<'_, W> {
    #[inline(always)]
    fn run(self, _: M) {
        let FindFaces { grid, inside, outside, left_out, faces, corners, boundary, around } = self;
        find_faces::<W>(grid, inside, outside, left_out, faces, &mut corners.rows);
        around.rows.clear();
        around.rows.resize(grid.rows() * W, 0);
        corners.count = 0;
        if !faces.rows.is_empty() {
            corners.update_ranks();
            add_cells_around::<W>(grid, &corners.rows, &mut around.rows);
        }
        if !boundary.features.is_empty() {
            find_boundary_corners::<W>(
                grid,
                inside,
                outside,
                boundary.features,
                &mut boundary.corners.rows,
            );
            boundary.corners.update_ranks();
            add_cells_around::<W>(grid, &boundary.corners.rows, &mut around.rows);
        }
        for (cells, inside) in around.rows.iter_mut().zip(inside) {
            *cells &= inside;
        }
        around.update_ranks();
    }
}

#[inline(always)]
fn find_faces<const W: usize>(
    grid: &RowGrid,
    inside: &[u64],
    outside: Option<&[u64]>,
    left_out: BoundaryFeatures,
    faces: &mut FaceRows,
    corners: &mut Vec<u64>,
) {
    let [nx, ny, nz] = grid.own;
    let boundary = FeatureCorners::<W>::new(grid, left_out);
    let own: Bits<W> = span(2, nx + 2);
    faces.rows.clear();
    faces.masks.clear();
    faces.left_out.clear();
    corners.clear();
    corners.resize(grid.corner_rows() * W, 0);
    for y in 0..ny {
        for z in 0..nz {
            let r = (y + 2) * grid.size[2] + z + 2;
            let here: Bits<W> = row(inside, r);
            let mine = and(here, own);
            if !any(mine) {
                continue;
            }
            let out = |r: usize| -> Bits<W> {
                match outside {
                    Some(outside) => row(outside, r),
                    None => not(row(inside, r)),
                }
            };
            let level = out(r);
            let mut masks = [
                and(mine, up(level)),
                and(mine, down(level)),
                and(mine, out(r - grid.size[2])),
                and(mine, out(r + grid.size[2])),
                and(mine, out(r - 1)),
                and(mine, out(r + 1)),
            ];
            if !left_out.is_empty() {
                leave_out(&mut masks, &boundary.cells(y, z), r * grid.size[0], &mut faces.left_out);
            }
            let [xl, xh, yl, yh, zl, zh] = masks;
            if !any(or(or(or(xl, xh), or(yl, yh)), or(zl, zh))) {
                continue;
            }
            let c = y * (nz + 1) + z;
            mark_corners(masks, c, nz + 1, corners);
            let yz_bytes = (y << 8 | z << 16) as u32;
            faces.rows.push(FaceRow { cells: r as u32, corners: c as u32, yz_bytes });
            for mask in masks {
                faces.masks.extend_from_slice(&mask);
            }
        }
    }
}

/// Marks the corners of a row's faces. `c` is the corner row at its low side, `step` leads to the
/// next one in y.
#[inline(always)]
fn mark_corners<const W: usize>(masks: [Bits<W>; 6], c: usize, step: usize, corners: &mut [u64]) {
    let [xl, xh, yl, yh, zl, zh] = masks;
    let x = or(down(xl), xh);
    let (yl, yh) = (or(yl, down(yl)), or(yh, down(yh)));
    let (zl, zh) = (or(zl, down(zl)), or(zh, down(zh)));
    add(corners, c, or(x, or(yl, zl)));
    add(corners, c + 1, or(x, or(yl, zh)));
    add(corners, c + step, or(x, or(yh, zl)));
    add(corners, c + step + 1, or(x, or(yh, zh)));
}

/// Removes the faces of `cells` from a row's masks and lists them. `first` is the index of
/// the row's first padded cell.
fn leave_out<const W: usize>(
    masks: &mut [Bits<W>; 6],
    cells: &[Bits<W>; 6],
    first: usize,
    list: &mut Vec<LeftOutFace>,
) {
    for direction in 0..6 {
        let out = and(masks[direction], cells[direction]);
        masks[direction] = and(masks[direction], not(out));
        for_bits!(out, |bit, _k, _b| {
            list.push(LeftOutFace { cell: (first + bit) as u32, direction: direction as u8 });
        });
    }
}

/// Marks the cells around corners.
#[inline(always)]
fn add_cells_around<const W: usize>(grid: &RowGrid, corners: &[u64], cells: &mut [u64]) {
    let [_, ny, nz] = grid.own;
    for y in 0..=ny {
        for z in 0..=nz {
            let at: Bits<W> = row(corners, y * (nz + 1) + z);
            if any(at) {
                let around = or(at, up(at));
                let r = (y + 1) * grid.size[2] + z + 1;
                add(cells, r, around);
                add(cells, r + 1, around);
                add(cells, r + grid.size[2], around);
                add(cells, r + grid.size[2] + 1, around);
            }
        }
    }
}
