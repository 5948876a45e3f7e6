//! Quads from rows of face bits: vertex numbers are ranks of corner bits, and along x
//! the next corner's number is one higher.

use crate::math::lanes::SimdJob;
use crate::mesh::rules::block::PAD;

use super::bits::{Bits, RankedRows, RowGrid, and, any, for_bits, not, or, row};
use super::faces::{FaceRow, FaceRows, LeftOutFace};
use super::hull::cells_at;
use super::mesh_simd::MeshSimd;

/// Quads that are split at a time.
const QUADS_AT_ONCE: usize = 1024;

/// Most quads of a face row: six directions of 64 cells.
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

impl<M: MeshSimd, const W: usize> SimdJob<M> for WriteQuads<'_, W> {
    #[inline(always)]
    fn run(self, m: M) {
        let WriteQuads { grid, faces, corners, special: special_rows, materials, .. } = self;
        let (indices, quad_materials) = (self.indices, self.quad_materials);
        let (quad_faces, special_faces) = (self.quad_faces, self.special_faces);
        let sx = grid.size[0];
        let step = grid.own[2] + 1;
        let count: u32 = faces.masks.iter().map(|word| word.count_ones()).sum();
        quad_materials.resize(count as usize, 0);
        quad_faces.resize(count as usize, [0; 4]);
        indices.resize(6 * count as usize, 0);
        let quads = self.quads;
        quads.resize(QUADS_AT_ONCE, [0; 4]);
        // Quads that are split, and quads after those that are not yet.
        let (mut done, mut waiting) = (0, 0);
        special_faces.clear();
        for (face_row, masks) in faces.rows.iter().zip(faces.masks.chunks_exact(6 * W)) {
            let FaceRow { cells, corners: corner_row, yz_bytes } = *face_row;
            let (r, c) = (cells as usize, corner_row as usize);
            // Cells with a special corner at their face, by direction.
            let mut special: [Bits<W>; 6] = [[0; W]; 6];
            let mut any_special = false;
            if !special_rows.is_empty() {
                let (low, high) = (row::<W>(special_rows, c), row(special_rows, c + step));
                let (low2, high2) =
                    (row::<W>(special_rows, c + 1), row(special_rows, c + step + 1));
                any_special = any(or(or(low, low2), or(high, high2)));
                special = cells_at(low, low2, high, high2);
            }
            let at = |c: usize, k: usize, b: usize| corners.rank::<W>(c, k, b);
            let materials = &materials[r * sx..r * sx + sx];
            macro_rules! direction {
                ($number:expr, |$bit:ident, $k:ident, $b:ident| $vertices:expr) => {{
                    let mask: Bits<W> = row(masks, $number);
                    let plain = if any_special { and(mask, not(special[$number])) } else { mask };
                    // `bit` counts from the padded x.
                    let face = (yz_bytes | $number << 24).wrapping_sub(PAD as u32);
                    for_bits!(plain, |$bit, $k, $b| {
                        quads[waiting] = $vertices;
                        quad_materials[done + waiting] = materials[$bit];
                        quad_faces[done + waiting] = face.wrapping_add($bit as u32).to_le_bytes();
                        waiting += 1;
                    });
                    if any_special {
                        let others = and(mask, special[$number]);
                        for_bits!(others, |bit, _k, _b| {
                            let cell = (r * sx + bit) as u32;
                            special_faces.push(LeftOutFace { cell, direction: $number });
                        });
                    }
                }};
            }
            // The word and bit of the corner on the low side of a cell.
            macro_rules! low {
                ($bit:expr) => {
                    (($bit - 1) / 64, ($bit - 1) % 64)
                };
            }
            let (c00, c01, c10, c11) = (c, c + 1, c + step, c + step + 1);
            direction!(0, |bit, _k, _b| {
                let (k, b) = low!(bit);
                [at(c00, k, b), at(c01, k, b), at(c11, k, b), at(c10, k, b)]
            });
            direction!(1, |bit, k, b| [at(c00, k, b), at(c10, k, b), at(c11, k, b), at(c01, k, b)]);
            direction!(2, |bit, _k, _b| {
                let (k, b) = low!(bit);
                let (v, w) = (at(c00, k, b), at(c01, k, b));
                [v, v + 1, w + 1, w]
            });
            direction!(3, |bit, _k, _b| {
                let (k, b) = low!(bit);
                let (v, w) = (at(c10, k, b), at(c11, k, b));
                [v, w, w + 1, v + 1]
            });
            direction!(4, |bit, _k, _b| {
                let (k, b) = low!(bit);
                let (v, w) = (at(c00, k, b), at(c10, k, b));
                [v, w, w + 1, v + 1]
            });
            direction!(5, |bit, _k, _b| {
                let (k, b) = low!(bit);
                let (v, w) = (at(c01, k, b), at(c11, k, b));
                [v, v + 1, w + 1, w]
            });
            if waiting > QUADS_AT_ONCE - MAX_ROW_QUADS {
                let out = &mut indices[6 * done..6 * (done + waiting)];
                m.split_quads(&quads[..waiting], self.positions, out);
                (done, waiting) = (done + waiting, 0);
            }
        }
        let out = &mut indices[6 * done..6 * (done + waiting)];
        m.split_quads(&quads[..waiting], self.positions, out);
        quad_materials.truncate(done + waiting);
        quad_faces.truncate(done + waiting);
        indices.truncate(6 * (done + waiting));
    }
}
