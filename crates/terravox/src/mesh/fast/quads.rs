//! Quads from rows of face bits: vertex numbers are ranks of corner bits, and along x
//! the next corner's number is one higher.

use super::rows::{Bits, Faces, Grid, and, any, for_bits, not, or, rank, row, up};

/// A face that touches a special corner: index of its padded cell, number of its
/// direction.
pub(super) type SpecialFace = (u32, u8);

/// Where the quads of a block come from.
pub(super) struct Corners<'a> {
    /// Active corners.
    pub rows: &'a [u64],
    pub ranks: &'a [u32],
    /// Special corners; empty if there is none.
    pub special: &'a [u64],
}

/// Appends the vertex numbers and materials of all plain quads, and lists the others.
#[inline(always)]
pub(super) fn list_quads<const W: usize>(
    grid: &Grid,
    faces: &Faces,
    corners: &Corners<'_>,
    materials: &[u8],
    quads: &mut Vec<[u32; 4]>,
    quad_materials: &mut Vec<u8>,
    special_faces: &mut Vec<SpecialFace>,
) {
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
        if !corners.special.is_empty() {
            let (low, high) = (row::<W>(corners.special, c), row(corners.special, c + step));
            let (low2, high2) =
                (row::<W>(corners.special, c + 1), row(corners.special, c + step + 1));
            let all = or(or(low, low2), or(high, high2));
            any_special = any(all);
            let (yl, yh) = (or(low, low2), or(high, high2));
            let (zl, zh) = (or(low, high), or(low2, high2));
            special =
                [up(all), all, or(yl, up(yl)), or(yh, up(yh)), or(zl, up(zl)), or(zh, up(zh))];
        }
        let at = |c: usize, k: usize, b: usize| rank::<W>(corners.rows, corners.ranks, c, k, b);
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
