//! Corners and faces that go through the rules one by one.

use std::array;

use rustc_hash::FxHashMap;

use crate::mesh::PAD;
use crate::mesh::cells::Cells;
use crate::mesh::corner::{Corner, NO_SHEET};
use crate::mesh::surface::VertexKey;
use crate::mesh::vertex::{DIRECTIONS, SplitEdges, Writer};
use crate::voxel::VoxelPos;

use super::Scratch;
use super::rows::{Bits, Grid, for_bits, row};

/// What a special corner's sheets are numbered.
#[derive(Debug)]
pub(super) struct SpecialCorner {
    /// The lowest used sheet, which has the corner's own number.
    first: u8,
    /// Vertices of the other used sheets.
    others: [u32; 4],
}

pub(super) type SpecialCorners = FxHashMap<[i32; 3], SpecialCorner>;

/// Places by the rules the vertices of the listed corners: those of first sheets in
/// their place, all others behind. Writes the keys.
pub(super) fn place_by_rules<C: Cells, const W: usize>(
    s: &mut Scratch,
    grid: &Grid,
    writer: &mut Writer<'_, C>,
) {
    let mut special = std::mem::take(&mut s.special_corners);
    special.clear();
    if writer.keyed {
        plain_keys::<W>(&s.corners.rows, grid, writer.origin, &mut writer.out.keys);
    }
    let corner_at = |&[c, bit]: &[u32; 2]| {
        let step = grid.own[2] + 1;
        [bit as i32 - 1, (c as usize / step) as i32, (c as usize % step) as i32]
    };
    for listed in &s.by_rules {
        let at = corner_at(listed);
        let corner = writer.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        let first = used.trailing_zeros() as u8;
        writer.push_vertex(at, &corner, first);
        let bit = listed[1] as usize;
        let number = s.corners.at::<W>(listed[0] as usize, bit / 64, bit % 64) as usize;
        let out = &mut *writer.out;
        out.positions.swap_remove(number);
        out.normals.swap_remove(number);
        out.materials.swap_remove(number);
        out.weights.swap_remove(number);
        if writer.keyed {
            out.keys.swap_remove(number);
        }
        if corner.special() {
            special.insert(at, SpecialCorner { first, others: [u32::MAX; 4] });
            s.special.resize(s.corners.rows.len(), 0);
            s.special[W * listed[0] as usize + bit / 64] |= 1 << (bit % 64);
        }
    }
    for at in s.by_rules.iter().map(corner_at) {
        let Some(found) = special.get_mut(&at) else { continue };
        let corner = writer.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        for sheet in (found.first + 1..corner.count).filter(|sheet| used >> sheet & 1 == 1) {
            found.others[usize::from(sheet)] = writer.out.positions.len() as u32;
            writer.push_vertex(at, &corner, sheet);
        }
    }
    s.special_corners = special;
}

/// Keys of all first sheets, as if no corner were special.
fn plain_keys<const W: usize>(
    corners: &[u64],
    grid: &Grid,
    origin: VoxelPos,
    keys: &mut Vec<VertexKey>,
) {
    let [_, ny, nz] = grid.own;
    for (y, z) in (0..=ny).flat_map(|y| (0..=nz).map(move |z| (y, z))) {
        let active: Bits<W> = row(corners, y * (nz + 1) + z);
        for_bits!(active, |bit, _k, _b| {
            let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
            keys.push(VertexKey { corner: origin + at, between: 0, part: 0 });
        });
    }
}

/// The sheets at a corner that have a face of a cell of the block.
fn used_sheets<C: Cells>(grid: &Grid, writer: &Writer<'_, C>, at: [i32; 3], corner: &Corner) -> u8 {
    let mut used = 0;
    for (face, sheet) in corner.face_sheet.into_iter().enumerate() {
        if sheet == NO_SHEET {
            continue;
        }
        let axis = face / 4;
        let sides = [(axis + 1) % 3, (axis + 2) % 3];
        for high in [false, true] {
            let mut cell = at;
            cell[axis] -= i32::from(!high);
            for (side, axis) in sides.into_iter().enumerate() {
                cell[axis] -= i32::from(face >> side & 1 == 0);
            }
            let own = (0..3).all(|a| (0..grid.own[a] as i32).contains(&cell[a]));
            if own && writer.cells.inside(writer.index(cell)) {
                used |= 1 << sheet;
            }
        }
    }
    used
}

/// The vertex of a sheet at a corner that own faces touch.
pub(super) fn number<const W: usize>(s: &Scratch, grid: &Grid, at: [i32; 3], sheet: u8) -> u32 {
    match s.special_corners.get(&at) {
        Some(corner) if corner.first != sheet => corner.others[usize::from(sheet)],
        _ => {
            let c = at[1] as usize * (grid.own[2] + 1) + at[2] as usize;
            let bit = at[0] as usize + 1;
            s.corners.at::<W>(c, bit / 64, bit % 64)
        }
    }
}

/// Writes the faces that touch special corners.
pub(super) fn special_quads<C: Cells, const W: usize>(
    s: &Scratch,
    grid: &Grid,
    writer: &mut Writer<'_, C>,
) {
    let [sx, _, sz] = grid.size;
    let vertex = |at: [i32; 3], sheet: u8| number::<W>(s, grid, at, sheet);
    let mut split = SplitEdges::default();
    for &(i, direction) in &s.special_faces {
        let i = i as usize;
        let padded = [i % sx, i / (sx * sz), i / sx % sz];
        let cell = array::from_fn(|axis| padded[axis] as i32 - PAD);
        writer.push_special(cell, DIRECTIONS[usize::from(direction)], &mut split, vertex);
    }
}
