//! Quads from rows of face bits: vertex numbers are ranks of corner bits, and along x
//! the next corner's number is one higher.

use crate::math::lanes::SimdJob;
use crate::mesh::rules::block::PAD;

use super::bits::{Bits, RankedRows, RowGrid, and, for_bits, not, row};
use super::boundary::cells_at;
use super::faces::{FaceRow, FaceRows, LeftOutFace};
use super::mesh_simd::MeshSimd;

/// Quads that are split at a time.
const QUADS_AT_ONCE: usize = 1024;

/// Maximum number of quads of a face row: six directions of 64 cells.
const MAX_ROW_QUADS: usize = 384;

/// Writes the indices and materials of all plain quads, and lists the other faces.
pub(super) struct WriteQuads<'a, const W: usize> {
    pub grid: &'a RowGrid,
    pub faces: &'a FaceRows,
    /// Corners, whose ranks are the vertices' numbers.
    pub corners: &'a RankedRows,
    /// Special corners; empty if no bit is set.
    pub special: &'a [u64],
    pub materials: &'a [u8],
    /// With one more after the last, since vectors read four numbers.
    pub positions: &'a [[f32; 3]],
    /// Memory for quads that are not split yet.
    pub quads: &'a mut Vec<[u32; 4]>,
    pub indices: &'a mut Vec<u32>,
    pub quad_materials: &'a mut Vec<u8>,
    pub quad_faces: &'a mut Vec<[u8; 4]>,
    /// Faces that touch special corners.
    pub special_faces: &'a mut Vec<LeftOutFace>,
}

/// The quads and faces of the rows so far.
struct QuadLists<'a> {
    /// Quads that are not split yet: the first `waiting`.
    quads: &'a mut [[u32; 4]],
    materials: &'a mut [u8],
    faces: &'a mut [[u8; 4]],
    special_faces: &'a mut Vec<LeftOutFace>,
    /// Quads that are split.
    done: usize,
    waiting: usize,
}

impl<M: MeshSimd, const W: usize> SimdJob<M> for WriteQuads<'_, W> {
    #[inline(always)]
    fn run(self, m: M) {
        let WriteQuads { grid, faces, corners, special, .. } = self;
        let (indices, quad_materials, quad_faces) =
            (self.indices, self.quad_materials, self.quad_faces);
        let count: u32 = faces.masks.iter().map(|word| word.count_ones()).sum();
        quad_materials.resize(count as usize, 0);
        quad_faces.resize(count as usize, [0; 4]);
        indices.resize(6 * count as usize, 0);
        self.quads.resize(QUADS_AT_ONCE, [0; 4]);
        self.special_faces.clear();
        let mut lists = QuadLists {
            quads: self.quads,
            materials: quad_materials,
            faces: quad_faces,
            special_faces: self.special_faces,
            done: 0,
            waiting: 0,
        };
        for (face_row, masks) in faces.rows.iter().zip(faces.masks.chunks_exact(6 * W)) {
            write_row::<W>(grid, *face_row, masks, corners, special, self.materials, &mut lists);
            if lists.waiting > QUADS_AT_ONCE - MAX_ROW_QUADS {
                lists.split(m, self.positions, indices);
            }
        }
        lists.split(m, self.positions, indices);
        let done = lists.done;
        quad_materials.truncate(done);
        quad_faces.truncate(done);
        indices.truncate(6 * done);
    }
}

impl QuadLists<'_> {
    /// Writes the indices of the waiting quads.
    #[inline(always)]
    fn split<M: MeshSimd>(&mut self, m: M, positions: &[[f32; 3]], indices: &mut [u32]) {
        let (done, waiting) = (self.done, self.waiting);
        let out = &mut indices[6 * done..6 * (done + waiting)];
        m.split_quads(&self.quads[..waiting], positions, out);
        (self.done, self.waiting) = (done + waiting, 0);
    }
}

/// Returns the cells of a row with a special corner at their face, by direction.
#[inline(always)]
fn special_cells<const W: usize>(
    special_rows: &[u64],
    corner_row: usize,
    step: usize,
) -> [Bits<W>; 6] {
    if special_rows.is_empty() {
        return [[0; W]; 6];
    }
    let at = |row_at: usize| row::<W>(special_rows, row_at);
    let (low, high) = (at(corner_row), at(corner_row + step));
    let (low2, high2) = (at(corner_row + 1), at(corner_row + step + 1));
    cells_at(low, low2, high, high2)
}

/// Adds the quads of a row of faces.
#[inline(always)]
fn write_row<const W: usize>(
    grid: &RowGrid,
    face_row: FaceRow,
    masks: &[u64],
    corners: &RankedRows,
    special_rows: &[u64],
    materials: &[u8],
    lists: &mut QuadLists<'_>,
) {
    let FaceRow { cells, corners: corner_row, yz_bytes } = face_row;
    let (r, c) = (cells as usize, corner_row as usize);
    let (sx, step) = (grid.size[0], grid.own[2] + 1);
    let special = special_cells::<W>(special_rows, c, step);
    let at = |c: usize, k: usize, b: usize| corners.rank::<W>(c, k, b);
    // The corner on the low side of a cell.
    let low = |c: usize, bit: usize| corners.rank::<W>(c, (bit - 1) / 64, (bit - 1) % 64);
    let materials = &materials[r * sx..r * sx + sx];
    macro_rules! direction {
        ($number:expr, |$bit:ident, $k:ident, $b:ident| $vertices:expr) => {{
            let mask: Bits<W> = row(masks, $number);
            // `bit` counts from the padded x.
            let face = (yz_bytes | $number << 24).wrapping_sub(PAD as u32);
            for_bits!(and(mask, not(special[$number])), |$bit, $k, $b| {
                let end = lists.done + lists.waiting;
                lists.quads[lists.waiting] = $vertices;
                lists.materials[end] = materials[$bit];
                lists.faces[end] = face.wrapping_add($bit as u32).to_le_bytes();
                lists.waiting += 1;
            });
            for_bits!(and(mask, special[$number]), |bit, _k, _b| {
                let cell = (r * sx + bit) as u32;
                lists.special_faces.push(LeftOutFace { cell, direction: $number });
            });
        }};
    }
    let (c00, c01, c10, c11) = (c, c + 1, c + step, c + step + 1);
    direction!(0, |bit, _k, _b| [low(c00, bit), low(c01, bit), low(c11, bit), low(c10, bit)]);
    direction!(1, |bit, k, b| [at(c00, k, b), at(c10, k, b), at(c11, k, b), at(c01, k, b)]);
    direction!(2, |bit, _k, _b| {
        let (v, w) = (low(c00, bit), low(c01, bit));
        [v, v + 1, w + 1, w]
    });
    direction!(3, |bit, _k, _b| {
        let (v, w) = (low(c10, bit), low(c11, bit));
        [v, w, w + 1, v + 1]
    });
    direction!(4, |bit, _k, _b| {
        let (v, w) = (low(c00, bit), low(c10, bit));
        [v, w, w + 1, v + 1]
    });
    direction!(5, |bit, _k, _b| {
        let (v, w) = (low(c01, bit), low(c11, bit));
        [v, v + 1, w + 1, w]
    });
}
