//! Quads from rows of face bits: vertex numbers are ranks of corner bits, and along x
//! the next corner's number is one higher.

use super::rows::{Bits, Faces, Grid, Ranked, and, any, for_bits, not, or, row, up};
use super::simd::{Job, Machine};

/// A face that touches a special corner: index of its padded cell, number of its
/// direction.
pub(super) type SpecialFace = (u32, u8);

/// Appends the vertex numbers and materials of all plain quads, and lists the others.
pub(super) struct ListQuads<'a, const W: usize> {
    pub grid: &'a Grid,
    pub faces: &'a Faces,
    /// Corners, whose ranks are the vertices' numbers.
    pub corners: &'a Ranked,
    /// Special corners; empty if there is none.
    pub special: &'a [u64],
    pub materials: &'a [u8],
    pub quads: &'a mut Vec<[u32; 4]>,
    pub quad_materials: &'a mut Vec<u8>,
    pub special_faces: &'a mut Vec<SpecialFace>,
}

impl<const W: usize> Job for ListQuads<'_, W> {
    #[inline(always)]
    fn run<M: Machine>(self, _: M) {
        let ListQuads { grid, faces, corners, special: special_rows, materials, .. } = self;
        let (quads, quad_materials) = (self.quads, self.quad_materials);
        let special_faces = self.special_faces;
        let sx = grid.size[0];
        let step = grid.own[2] + 1;
        let count: u32 = faces.masks.iter().map(|word| word.count_ones()).sum();
        quads.clear();
        quads.reserve(count as usize);
        quad_materials.reserve(count as usize);
        special_faces.clear();
        for (face_row, masks) in faces.rows.iter().zip(faces.masks.chunks_exact(6 * W)) {
            let [r, c] = face_row.map(|row| row as usize);
            // Cells with a special corner at their face, by direction.
            let mut special: [Bits<W>; 6] = [[0; W]; 6];
            let mut any_special = false;
            if !special_rows.is_empty() {
                let (low, high) = (row::<W>(special_rows, c), row(special_rows, c + step));
                let (low2, high2) =
                    (row::<W>(special_rows, c + 1), row(special_rows, c + step + 1));
                let all = or(or(low, low2), or(high, high2));
                any_special = any(all);
                let (yl, yh) = (or(low, low2), or(high, high2));
                let (zl, zh) = (or(low, high), or(low2, high2));
                special =
                    [up(all), all, or(yl, up(yl)), or(yh, up(yh)), or(zl, up(zl)), or(zh, up(zh))];
            }
            let at = |c: usize, k: usize, b: usize| corners.at::<W>(c, k, b);
            let materials = &materials[r * sx..r * sx + sx];
            macro_rules! direction {
                ($number:expr, |$bit:ident, $k:ident, $b:ident| $vertices:expr) => {{
                    let mask: Bits<W> = row(masks, $number);
                    let plain = if any_special { and(mask, not(special[$number])) } else { mask };
                    for_bits!(plain, |$bit, $k, $b| {
                        quads.push($vertices);
                        quad_materials.push(materials[$bit]);
                    });
                    if any_special {
                        let others = and(mask, special[$number]);
                        for_bits!(others, |bit, _k, _b| {
                            special_faces.push(((r * sx + bit) as u32, $number));
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
        }
    }
}

/// Writes the indices of listed quads.
pub(super) struct SplitQuads<'a> {
    pub quads: &'a [[u32; 4]],
    pub positions: &'a [[f32; 4]],
    pub indices: &'a mut [u32],
}

impl Job for SplitQuads<'_> {
    #[inline(always)]
    fn run<M: Machine>(self, m: M) {
        m.split_quads(self.quads, self.positions, self.indices);
    }
}
