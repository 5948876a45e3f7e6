//! Fill, dig and paint on boxes without liquid: whole rows, without a branch a cell.
//!
//! What is here gives what [`super::cellwise`] gives, which tests compare; it only does
//! so faster. Units are 256ths of a cell.

use super::stamp::Stamp;
use crate::voxel::{AIR, DenseBox, Kind, Region};

/// What a fast row can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowAction {
    Fill(u8),
    Dig,
    Paint(u8),
}

/// Buffers that are used again.
#[derive(Default)]
pub(super) struct RowScratch {
    /// Units of the brush in one row.
    brush: Vec<u16>,
    /// 255 where a cell is in the band of the brush, by cell.
    band: Vec<u8>,
    /// Occupancies after the first pass, of which only the highest bit counts.
    above: Vec<u8>,
}

/// Whether no cell is liquid and none holds any.
pub(super) fn is_dry(cells: &DenseBox, kinds: &[Kind; 256]) -> bool {
    let liquids = (0..=255u8).filter(|&id| kinds[usize::from(id)] == Kind::Liquid);
    cells.water().is_empty()
        && liquids.take(5).enumerate().all(|(i, liquid)| {
            // With many liquids the rows are slower than the cells.
            i < 4 && !contains(cells.materials(), liquid)
        })
}

fn contains(bytes: &[u8], byte: u8) -> bool {
    let found = |part: &[u8]| part.iter().fold(false, |found, &b| found | (b == byte));
    bytes.chunks(256).any(found)
}

/// Applies `action` to a dry box.
pub(super) fn apply(action: RowAction, stamp: &Stamp, cells: &mut DenseBox, s: &mut RowScratch) {
    let region = cells.region().intersect(stamp.region);
    if region.is_empty() {
        return;
    }
    let [width, _, depth] = cells.region().size();
    let min = cells.region().min;
    s.brush.resize(width, 0);
    s.band.clear();
    s.band.resize(if action == RowAction::Dig { cells.len() } else { 0 }, 0);
    for y in region.min.y..region.max.y {
        for z in region.min.z..region.max.z {
            let part = stamp.row(y, z, min.x, &mut s.brush);
            let first = width * ((z - min.z) as usize + depth * (y - min.y) as usize);
            let brush = &s.brush[part.clone()];
            let at = first + part.start..first + part.end;
            let (material, occupancy) = cells.arrays_mut();
            let (material, occupancy) = (&mut material[at.clone()], &mut occupancy[at.clone()]);
            match action {
                RowAction::Fill(with) => fill(with, brush, material, occupancy),
                RowAction::Dig => dig(brush, material, occupancy, &mut s.band[at]),
                RowAction::Paint(with) => paint(with, brush, material),
            }
        }
    }
    if action == RowAction::Dig {
        clear_film(cells, region, s);
    }
}

#[inline(always)]
fn units(material: u8, occupancy: u8) -> u16 {
    (u16::from(occupancy) + 1) & u16::from(material != AIR).wrapping_neg()
}

fn fill(with: u8, brush: &[u16], material: &mut [u8], occupancy: &mut [u8]) {
    for ((m, o), &b) in material.iter_mut().zip(occupancy).zip(brush) {
        let grows = b > units(*m, *o);
        *m = if grows { with } else { *m };
        *o = if grows { b.wrapping_sub(1) as u8 } else { *o };
    }
}

fn dig(brush: &[u16], material: &mut [u8], occupancy: &mut [u8], band: &mut [u8]) {
    for (((m, o), band), &b) in material.iter_mut().zip(occupancy).zip(band).zip(brush) {
        let rest = 256 - b;
        let less = units(*m, *o) > rest;
        *m = if rest == 0 { AIR } else { *m };
        *o = if less { rest.wrapping_sub(1) as u8 } else { *o };
        *o = if rest == 0 { 0 } else { *o };
        *band = u8::from((b > 0) & (b < 256)).wrapping_neg();
    }
}

fn paint(with: u8, brush: &[u16], material: &mut [u8]) {
    for (m, &b) in material.iter_mut().zip(brush) {
        *m = if (b >= 128) & (*m != AIR) { with } else { *m };
    }
}

/// Clears the cells of the band that are at or below ½ and have no face neighbour above
/// it. What is cleared is below ½, so the order does not matter.
fn clear_film(cells: &mut DenseBox, region: Region, s: &mut RowScratch) {
    let whole = cells.region();
    let inner = whole.grow(-1).intersect(region);
    if inner.is_empty() {
        return;
    }
    let [width, _, depth] = whole.size();
    let [row, slice] = [width, width * depth];
    s.above.clear();
    s.above.extend_from_slice(cells.occupancies());
    let count = (inner.max.x - inner.min.x) as usize;
    let (material, occupancy) = cells.arrays_mut();
    for y in inner.min.y..inner.max.y {
        for z in inner.min.z..inner.max.z {
            let x = (inner.min.x - whole.min.x) as usize;
            let at = x + row * (z - whole.min.z) as usize + slice * (y - whole.min.y) as usize;
            let band = &s.band[at..at + count];
            if band.iter().fold(0, |any, b| any | b) == 0 {
                continue;
            }
            let near = |from: usize| &s.above[from..from + count];
            let sides = [at - 1, at + 1, at - row, at + row, at - slice, at + slice].map(near);
            let own = near(at);
            let (material, occupancy) =
                (&mut material[at..at + count], &mut occupancy[at..at + count]);
            for i in 0..count {
                let high = sides[0][i] | sides[1][i] | sides[2][i] | sides[3][i] | sides[4][i];
                let stays = ((high | sides[5][i] | own[i]) & 0x80 != 0) | (band[i] == 0);
                let stays = u8::from(stays).wrapping_neg();
                material[i] &= stays;
                occupancy[i] &= stays;
            }
        }
    }
}
