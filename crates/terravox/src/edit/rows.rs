//! Fill, dig and paint without a mask: whole rows, without a branch per cell.
//!
//! The fast path of [`super::cellwise`]; tests compare the two. Liquid is set aside before a row is
//! changed, so that rows handle solid cells and air only. Units are 256ths of a cell.

use super::op::{Action, BrushOp};
use super::stamp::Stamp;
use crate::voxel::{AIR, DenseBox, Kind, Region, WATER};

/// The actions of the fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowAction {
    Fill(u8),
    Dig,
    Paint(u8),
}

/// The action, if the fast path by rows has it.
pub(super) fn row_action(op: &BrushOp, kinds: &[Kind; 256]) -> Option<RowAction> {
    let solid = |material: u8| kinds[usize::from(material)] == Kind::Solid;
    match op.action {
        _ if !op.mask.accepts_all() => None,
        Action::Fill { material } if solid(material) => Some(RowAction::Fill(material)),
        Action::Dig => Some(RowAction::Dig),
        Action::Paint { material } => Some(RowAction::Paint(material)),
        _ => None,
    }
}

/// Reusable buffers.
#[derive(Default)]
pub(super) struct RowScratch {
    /// Units of the brush in one row.
    brush: Vec<u16>,
    /// By cell: 255 in the band of the brush, else 0.
    band: Vec<u8>,
    /// Occupancies after the first pass; only the highest bit matters.
    above: Vec<u8>,
}

/// With more liquid materials than this, rows are slower than cells.
const MAX_LIQUIDS: usize = 4;

/// The liquid materials of a box.
#[derive(Clone, Copy, Default)]
pub(super) struct Liquids {
    ids: [u8; MAX_LIQUIDS],
    count: usize,
}

impl Liquids {
    /// The liquids among `cells`; `None` if there are too many for the fast path.
    pub fn of(cells: &DenseBox, kinds: &[Kind; 256]) -> Option<Liquids> {
        let mut found = Liquids::default();
        let liquid = |id: &u8| kinds[usize::from(*id)] == Kind::Liquid;
        for (at, id) in (0..=255u8).filter(liquid).enumerate() {
            if at == MAX_LIQUIDS {
                return None;
            }
            if contains(cells.materials(), id) {
                found.ids[found.count] = id;
                found.count += 1;
            }
        }
        Some(found)
    }

    fn ids(&self) -> &[u8] {
        &self.ids[..self.count]
    }

    fn are_in(&self, materials: &[u8]) -> bool {
        self.ids().iter().any(|&id| contains(materials, id))
    }
}

fn contains(bytes: &[u8], byte: u8) -> bool {
    let found = |part: &[u8]| part.iter().fold(false, |found, &b| found | (b == byte));
    bytes.chunks(256).any(found)
}

/// The cells of a row that the brush covers, and by how much.
struct RowPart<'a> {
    /// Index of the first in the box.
    first: usize,
    brush: &'a mut [u16],
    material: &'a mut [u8],
    occupancy: &'a mut [u8],
}

/// Applies `action` to a box and the liquids in it.
pub(super) fn apply(
    action: RowAction,
    stamp: &Stamp,
    cells: &mut DenseBox,
    liquids: Liquids,
    s: &mut RowScratch,
) {
    let region = cells.region().intersect(stamp.region);
    if region.is_empty() {
        return;
    }
    let [width, _, depth] = cells.region().size();
    let min = cells.region().min;
    s.brush.resize(width, 0);
    s.band.clear();
    s.band.resize(if action == RowAction::Dig { cells.len() } else { 0 }, 0);
    // Water of solid cells, before and after.
    let before = std::mem::take(cells.water_mut());
    let (mut before, mut water) = (before.iter().copied().peekable(), Vec::new());
    for y in region.min.y..region.max.y {
        for z in region.min.z..region.max.z {
            let part = stamp.row(y, z, min.x, &mut s.brush);
            let first = width * ((z - min.z) as usize + depth * (y - min.y) as usize);
            let at = first + part.start..first + part.end;
            let (material, occupancy) = cells.arrays_mut();
            let (material, occupancy) = (&mut material[at.clone()], &mut occupancy[at.clone()]);
            let mut part =
                RowPart { first: at.start, brush: &mut s.brush[part], material, occupancy };
            if liquids.are_in(part.material) {
                part.set_liquids_aside(action, liquids, &mut water);
            }
            if let RowAction::Fill(_) = action {
                let of_row = std::iter::from_fn(|| before.next_if(|w| (w.0 as usize) < at.end));
                water.extend(of_row.filter(|w| part.holds(w.0 as usize)));
            }
            let RowPart { brush, material, occupancy, .. } = part;
            match action {
                RowAction::Fill(with) => fill(with, brush, material, occupancy),
                RowAction::Dig => dig(brush, material, occupancy, &mut s.band[at]),
                RowAction::Paint(with) => paint(with, brush, material),
            }
        }
    }
    water.extend(before);
    if action == RowAction::Dig {
        clear_film(cells, region, liquids, s);
        free_water(cells, &mut water);
    }
    if !water.is_empty() {
        cells.set_all_water(water);
    }
}

impl RowPart<'_> {
    /// Prepares the row so that it can be changed as if no cell were liquid: the brush spares
    /// liquid cells, or they become air, and what is filled in there holds the liquid.
    fn set_liquids_aside(
        &mut self,
        action: RowAction,
        liquids: Liquids,
        water: &mut Vec<(u32, u8)>,
    ) {
        for (x, b) in self.brush.iter_mut().enumerate() {
            if *b == 0 || !liquids.ids().contains(&self.material[x]) {
                continue;
            }
            let RowAction::Fill(_) = action else {
                *b = 0;
                continue;
            };
            self.material[x] = AIR;
            if *b < 256 {
                water.push(((self.first + x) as u32, self.occupancy[x]));
            }
        }
    }

    /// Whether a cell still holds its water after a fill; full cells hold none.
    fn holds(&self, cell: usize) -> bool {
        let Some(x) = cell.checked_sub(self.first) else { return true };
        self.brush[x] < 256 || units(self.material[x], self.occupancy[x]) == 256
    }
}

/// Turns the water of cells that were dug away into liquid cells.
fn free_water(cells: &mut DenseBox, water: &mut Vec<(u32, u8)>) {
    let (material, occupancy) = cells.arrays_mut();
    water.retain(|&(cell, held)| {
        let cell = cell as usize;
        let freed = material[cell] == AIR;
        if freed {
            (material[cell], occupancy[cell]) = (WATER, held);
        }
        !freed
    });
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
fn clear_film(cells: &mut DenseBox, region: Region, liquids: Liquids, s: &mut RowScratch) {
    let whole = cells.region();
    let inner = whole.grow(-1).intersect(region);
    if inner.is_empty() {
        return;
    }
    let [width, _, depth] = whole.size();
    let [row, slice] = [width, width * depth];
    s.above.clear();
    s.above.extend_from_slice(cells.occupancies());
    for &liquid in liquids.ids() {
        for (above, &material) in s.above.iter_mut().zip(cells.materials()) {
            *above &= u8::from(material != liquid).wrapping_neg();
        }
    }
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
            let beside = near(at - 1).iter().zip(near(at + 1)).zip(near(at - row));
            let beside = beside.zip(near(at + row)).zip(near(at - slice)).zip(near(at + slice));
            let own = near(at).iter().zip(band).zip(beside);
            let cells = material[at..at + count].iter_mut().zip(&mut occupancy[at..at + count]);
            for ((m, o), ((own, band), (((((a, b), c), d), e), f))) in cells.zip(own) {
                let high = own | a | b | c | d | e | f;
                let stays = u8::from((high & 0x80 != 0) | (*band == 0)).wrapping_neg();
                *m &= stays;
                *o &= stays;
            }
        }
    }
}
