//! The rows of a block of 32³ cells as they will be when a part of it is written.

use super::cell::{Row, UNIFORM_ROWS};
use super::dense::DenseBox;
use super::material::Kind;
use super::packed_rows::{PackedRows, RowUpdates};
use super::position::{Region, VoxelPos};

/// Makes `updates` the rows that `local` (in cells from `origin`, the block's lowest one)
/// crosses, with the cells of `source` in it. Row (y, z) of the block has index 32 y + z.
/// Rows that stay the same are left out, unless `all` is set.
pub(crate) fn gather_updates<const ROWS: usize, const GROUPS: usize>(
    rows: &PackedRows<ROWS, GROUPS>,
    origin: VoxelPos,
    local: Region,
    source: &DenseBox,
    kinds: &[Kind; 256],
    all: bool,
    updates: &mut RowUpdates,
) {
    updates.clear();
    let (x0, x1) = (local.min.x as usize, local.max.x as usize);
    let source_x = (origin.x + local.min.x - source.region().min.x) as usize;
    for y in local.min.y..local.max.y {
        for z in local.min.z..local.max.z {
            let index = Row::CELLS * y as usize + z as usize;
            let from = source.row_start(origin.y + y, origin.z + z) + source_x;
            let cells = from..from + (x1 - x0);
            let old = rows.row(index);
            let mut row = if x1 - x0 == Row::CELLS { UNIFORM_ROWS[0] } else { *old };
            row.material[x0..x1].copy_from_slice(&source.materials()[cells.clone()]);
            row.occupancy[x0..x1].copy_from_slice(&source.occupancies()[cells.clone()]);
            row.normalise();
            let first = index * Row::CELLS;
            let held = rows.water_between(first, Row::CELLS);
            let before = updates.water.len();
            if !(held.is_empty() && source.water().is_empty()) {
                let beside = |w: &&(u16, u8)| !(x0..x1).contains(&(usize::from(w.0) - first));
                updates.water.extend(held.iter().filter(beside));
                let is_solid = |x: usize| kinds[usize::from(row.material[x])] == Kind::Solid;
                gather_water(source, cells, first + x0, |cell| is_solid(cell - first), updates);
                updates.water[before..].sort_unstable_by_key(|entry| entry.0);
            }
            if !all && *old == row && updates.water[before..] == *held {
                updates.water.truncate(before);
                continue;
            }
            updates.push(index as u16, row);
        }
    }
}

/// Adds the water that `source` has for `cells`, where they are solid; the first of them is
/// cell `to` of the block.
fn gather_water(
    source: &DenseBox,
    cells: std::ops::Range<usize>,
    to: usize,
    is_solid: impl Fn(usize) -> bool,
    updates: &mut RowUpdates,
) {
    let from = source.water().partition_point(|w| (w.0 as usize) < cells.start);
    for &(cell, held) in &source.water()[from..] {
        if cell as usize >= cells.end {
            break;
        }
        let cell = cell as usize - cells.start + to;
        if is_solid(cell) {
            updates.water.push((cell as u16, held));
        }
    }
}
