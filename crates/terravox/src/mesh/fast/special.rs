//! Special corners and their faces, which go through the rules one by one.

use std::array;

use crate::mesh::rules::block::PAD;
use crate::mesh::rules::cells::SurfaceCells;
use crate::mesh::rules::corner::{CornerSheets, NO_SHEET};
use crate::mesh::rules::face::Direction;
use crate::mesh::surface::VertexKey;
use crate::voxel::VoxelPos;

use super::bits::{Bits, CornerRow, CornerRows, ListedCorner, RowGrid, for_bits, row};
use super::faces::LeftOutFace;
use super::numbers::{SpecialCorner, vertex_number};
use super::scratch::FastScratch;
use super::writer::{CellFace, SplitEdges, SurfaceWriter};

/// Places the vertices of the listed corners by the rules: those of first sheets in
/// their place, all others after the last vertex. Writes the keys.
pub(super) fn place_by_rules<C: SurfaceCells, const W: usize>(
    s: &mut FastScratch,
    grid: &RowGrid,
    writer: &mut SurfaceWriter<'_, C>,
) {
    let mut special = std::mem::take(&mut s.special_corners);
    special.clear();
    if writer.is_keyed {
        push_plain_keys::<W>(&s.corners.rows, grid, writer.block.origin, &mut writer.out.keys);
    }
    for &listed in &s.by_rules {
        let at = corner_at(grid, listed);
        let (row, bit) = (listed.row as usize, listed.bit as usize);
        let corner = writer.block.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        let first = used.trailing_zeros() as u8;
        writer.push_vertex(at, &corner, first);
        // The vertex replaces that of its corner: `swap_remove` moves the last one there.
        let number = s.corners.rank::<W>(row, bit / 64, bit % 64) as usize;
        let out = &mut *writer.out;
        out.positions.swap_remove(number);
        out.normals.swap_remove(number);
        out.materials.swap_remove(number);
        out.weights.swap_remove(number);
        if writer.is_keyed {
            out.keys.swap_remove(number);
        }
        if corner.is_special() {
            special.insert(at, SpecialCorner { first, others: [u32::MAX; 4] });
            s.special.resize(s.corners.rows.len(), 0);
            s.special[W * row + bit / 64] |= 1 << (bit % 64);
        }
    }
    for &listed in &s.by_rules {
        let at = corner_at(grid, listed);
        let Some(numbers) = special.get_mut(&at) else { continue };
        let corner = writer.block.corner(at);
        let used = used_sheets(grid, writer, at, &corner);
        for sheet in (numbers.first + 1..corner.count).filter(|sheet| used >> sheet & 1 == 1) {
            numbers.others[usize::from(sheet)] = writer.out.positions.len() as u32;
            writer.push_vertex(at, &corner, sheet);
        }
    }
    s.special_corners = special;
}

fn corner_at(grid: &RowGrid, ListedCorner { row, bit }: ListedCorner) -> [i32; 3] {
    let rows_per_layer = grid.own[2] + 1;
    let (y, z) = (row as usize / rows_per_layer, row as usize % rows_per_layer);
    [bit as i32 - 1, y as i32, z as i32]
}

/// Writes the keys of all first sheets, as if no corner were special.
fn push_plain_keys<const W: usize>(
    corners: &[u64],
    grid: &RowGrid,
    origin: VoxelPos,
    keys: &mut Vec<VertexKey>,
) {
    for CornerRow { row: corner_row, y, z } in CornerRows::new(grid) {
        let active: Bits<W> = row(corners, corner_row);
        for_bits!(active, |bit, _k, _b| {
            let at = VoxelPos::new(bit as i32 - 1, y as i32, z as i32);
            keys.push(VertexKey { corner: origin + at, between: 0, part: 0 });
        });
    }
}

/// Returns the sheets at a corner that have a face of a cell of the block, a bit for each.
fn used_sheets<C: SurfaceCells>(
    grid: &RowGrid,
    writer: &SurfaceWriter<'_, C>,
    at: [i32; 3],
    corner: &CornerSheets,
) -> u8 {
    let mut used = 0;
    for (face, sheet) in corner.face_sheet.into_iter().enumerate() {
        if sheet == NO_SHEET {
            continue;
        }
        let axis = face / 4;
        let sides = [(axis + 1) % 3, (axis + 2) % 3];
        for is_high in [false, true] {
            let mut cell = at;
            cell[axis] -= i32::from(!is_high);
            for (side, axis) in sides.into_iter().enumerate() {
                cell[axis] -= i32::from(face >> side & 1 == 0);
            }
            let is_own = (0..3).all(|a| (0..grid.own[a] as i32).contains(&cell[a]));
            if is_own && writer.block.cells.inside(writer.block.index(cell)) {
                used |= 1 << sheet;
            }
        }
    }
    used
}

/// Writes the faces that touch special corners.
pub(super) fn special_quads<C: SurfaceCells, const W: usize>(
    s: &FastScratch,
    grid: &RowGrid,
    writer: &mut SurfaceWriter<'_, C>,
) {
    let [sx, _, sz] = grid.size;
    let (corners, special) = (&s.corners, &s.special_corners);
    let vertex = |at: [i32; 3], sheet: u8| vertex_number::<W>(corners, special, grid, at, sheet);
    let mut split = SplitEdges::default();
    for &LeftOutFace { cell, direction } in &s.special_faces {
        let i = cell as usize;
        let padded = [i % sx, i / (sx * sz), i / sx % sz];
        let cell = array::from_fn(|axis| padded[axis] as i32 - PAD);
        let face = CellFace { cell, direction: Direction::ALL[usize::from(direction)] };
        writer.push_special(face, &mut split, vertex);
    }
}
