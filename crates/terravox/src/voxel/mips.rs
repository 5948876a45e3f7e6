//! Coarser cells from finer ones.
//!
//! A coarse cell stands for 2×2×2 finer ones. It is solid if any of them is, liquid if
//! it is not solid and any holds liquid, else air: so air in a coarse mip means air in
//! all that it covers ("Voxel Terrain: Storage", Roblox, 2017).

use super::cell::{AIR, Cell, Row};
use super::dense::DenseBox;
use super::material::Kind;
use super::packed_rows::{PackedRows, RowUpdates, water_of};
use super::position::{Region, VoxelPos};
use std::cmp::Reverse;
use std::ops::Range;

/// One mip inside a [`PackedRows`]: `edge`³ cells from cell index `first` on, x fastest,
/// then z, then y. The x-runs of a mip never cross a row of 32 cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MipLayout {
    pub edge: usize,
    pub first: usize,
}

impl MipLayout {
    /// Index of a cell, in cells of the mip.
    #[inline]
    pub fn index(self, x: usize, y: usize, z: usize) -> usize {
        self.first + x + self.edge * (z + self.edge * y)
    }

    /// The rows that hold any cell of `cells` (in cells of the mip), ascending.
    fn row_indices(self, cells: Region) -> impl Iterator<Item = usize> {
        let (min, max) = (cells.min, cells.max);
        let mut next = 0;
        (min.y..max.y).flat_map(move |y| {
            let from = self.index(0, y as usize, min.z as usize) / Row::CELLS;
            let to = self.index(self.edge - 1, y as usize, max.z as usize - 1) / Row::CELLS;
            let first = from.max(next);
            next = to + 1;
            first..to + 1
        })
    }
}

/// The children of one coarse cell: 8 cells and the water that the solid ones hold, in
/// 256ths (0 for none).
pub(crate) type Octet = [(Cell, u32); 8];

/// The coarse cell that stands for `children`, and its stored water if it is solid and wet.
///
/// Solid if any child is. Occupancy: the mean of the solid children's (others 0), rounded
/// up to 256ths. Material: the one with the largest sum of occupancy among the solid
/// children, the lowest id on a tie. Water: the mean water share, rounded up likewise;
/// a cell that is not solid and wet is liquid, with the material that has most.
pub(crate) fn coarser_cell(children: &Octet, kinds: &[Kind; 256]) -> (Cell, Option<u8>) {
    let kind = |cell: Cell| kinds[usize::from(cell.material)];
    let mut solid = 0;
    let mut wet = 0;
    for &(cell, water) in children {
        match kind(cell) {
            Kind::Air => {}
            Kind::Liquid => wet += cell.units(),
            Kind::Solid => {
                solid += cell.units();
                wet += water;
            }
        }
    }
    let stored = |units: u32| (units.div_ceil(8) - 1) as u8;
    let water = (wet > 0).then(|| stored(wet));
    if solid > 0 {
        let material = most(children, |cell| kind(cell) == Kind::Solid);
        return (Cell { material, occupancy: stored(solid) }, water);
    }
    match water {
        Some(occupancy) => {
            let material = most(children, |cell| kind(cell) == Kind::Liquid);
            (Cell { material, occupancy }, None)
        }
        None => (Cell::AIR, None),
    }
}

/// The material with the largest sum of occupancy among the children that count, the
/// lowest of those.
fn most(children: &Octet, counts: impl Fn(Cell) -> bool) -> u8 {
    // There are rarely more than two.
    let (mut sums, mut found) = ([(AIR, 0); 8], 0);
    for &(cell, _) in children.iter().filter(|child| counts(child.0)) {
        let known = sums[..found].iter().position(|sum| sum.0 == cell.material);
        let at = known.unwrap_or(found);
        found += usize::from(known.is_none());
        sums[at] = (cell.material, sums[at].1 + cell.units());
    }
    let best = sums[..found].iter().max_by_key(|(material, sum)| (*sum, Reverse(*material)));
    best.map_or(AIR, |best| best.0)
}

/// Adds the cells `dirty` of the mip `coarse` to `updates`, computed from the mip `fine` below
/// with `updates` applied. Rows above unchanged ones are skipped.
pub(crate) fn coarsen<const ROWS: usize, const GROUPS: usize>(
    rows: &PackedRows<ROWS, GROUPS>,
    fine: MipLayout,
    coarse: MipLayout,
    dirty: Region,
    kinds: &[Kind; 256],
    updates: &mut RowUpdates,
) {
    let mut water = Vec::new();
    for index in coarse.row_indices(dirty) {
        let mut row = *rows.row_after(updates, index);
        water.clear();
        water.extend_from_slice(rows.water_after(updates, index * Row::CELLS, Row::CELLS));
        let mut changed = false;
        // A row may hold more than one mip (2³ and 1³ share one).
        let from = (index * Row::CELLS).max(coarse.first);
        let to = ((index + 1) * Row::CELLS).min(coarse.first + coarse.edge.pow(3));
        for start in (from..to).step_by(coarse.edge) {
            let at = start - coarse.first;
            let (z, y) = (at / coarse.edge % coarse.edge, at / coarse.edge / coarse.edge);
            let inside = dirty.min.y <= y as i32 && (y as i32) < dirty.max.y;
            if !(inside && dirty.min.z <= z as i32 && (z as i32) < dirty.max.z) {
                continue;
            }
            let below = FineRows::new(rows, updates, fine, [y, z]);
            if below.is_staged(updates) {
                let xs = dirty.min.x as usize..dirty.max.x as usize;
                below.coarsen(kinds, &mut row, start, xs, &mut water);
                changed = true;
            }
        }
        if changed {
            water.sort_unstable_by_key(|entry| entry.0);
            updates.put(index as u16, row, &water);
        }
    }
}

/// Writes the cells `xs` of row (y, z) of coarse cells over the mip `fine` of `rows`
/// to `row`, and their water to `water`, which is by cells of that row and had none there.
pub(crate) fn coarsen_row<const ROWS: usize, const GROUPS: usize>(
    rows: &PackedRows<ROWS, GROUPS>,
    fine: MipLayout,
    at: [usize; 2],
    kinds: &[Kind; 256],
    row: &mut Row,
    xs: Range<usize>,
    water: &mut Vec<(u16, u8)>,
) {
    FineRows::new(rows, &RowUpdates::default(), fine, at).coarsen(kinds, row, 0, xs, water);
}

impl DenseBox {
    /// Replaces the cells over those of `fine`, a box of the mip below, and their water.
    ///
    /// # Panics
    /// If the cells of `fine` are not all those of some coarse ones, they are more than 2¹⁶ or more
    /// than 32 in a row, or do not lie in this box.
    pub fn coarsen_from(&mut self, fine: &DenseBox, kinds: &[Kind; 256]) {
        let (region, coarse) = (fine.region(), fine.region().coarser(1));
        let width = region.size()[0];
        let is_whole = coarse.finer(1) == region && self.region().contains_region(coarse);
        assert!(
            is_whole && width <= Row::CELLS && fine.len() <= 1 << 16,
            "coarse cells of {region}"
        );
        let fine_water: Vec<(u16, u8)> =
            fine.water().iter().map(|&(cell, held)| (cell as u16, held)).collect();
        self.retain_water(|pos| !coarse.contains(pos));
        let mut water = std::mem::take(self.water_mut());
        let (mut row, mut held) = (Row::uniform(AIR), Vec::new());
        for y in coarse.min.y..coarse.max.y {
            for z in coarse.min.z..coarse.max.z {
                let first = [(0, 0), (0, 1), (1, 0), (1, 1)]
                    .map(|(dy, dz)| fine.row_start(2 * y + dy, 2 * z + dz));
                let cells = first.map(|at| {
                    [&fine.materials()[at..at + width], &fine.occupancies()[at..at + width]]
                });
                let wet = first.map(|at| water_of(&fine_water, at, width));
                held.clear();
                let below = FineRows { first, rows: cells, wet };
                below.coarsen(kinds, &mut row, 0, 0..width / 2, &mut held);
                let to = self.index(VoxelPos::new(coarse.min.x, y, z));
                let (materials, occupancies) = self.arrays_mut();
                materials[to..to + width / 2].copy_from_slice(&row.material[..width / 2]);
                occupancies[to..to + width / 2].copy_from_slice(&row.occupancy[..width / 2]);
                water.extend(held.iter().map(|&(x, held)| ((to + usize::from(x)) as u32, held)));
            }
        }
        water.sort_unstable_by_key(|entry| entry.0);
        *self.water_mut() = water;
    }
}

/// Coarse cells, computed as if each stands for a single material and air.
struct UniformMeans {
    material: [u8; 16],
    occupancy: [u8; 16],
    /// Whether that is so.
    sure: [bool; 16],
}

/// The four rows of fine cells under one row of coarse ones.
struct FineRows<'a> {
    /// Index of the first cell of each.
    first: [usize; 4],
    /// Materials and occupancies of each.
    rows: [[&'a [u8]; 2]; 4],
    /// Water of solid cells.
    wet: [&'a [(u16, u8)]; 4],
}

impl<'a> FineRows<'a> {
    fn new<const ROWS: usize, const GROUPS: usize>(
        packed: &'a PackedRows<ROWS, GROUPS>,
        updates: &'a RowUpdates,
        fine: MipLayout,
        [y, z]: [usize; 2],
    ) -> FineRows<'a> {
        let first =
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(dy, dz)| fine.index(0, 2 * y + dy, 2 * z + dz));
        let rows = first.map(|first| {
            let row = packed.row_after(updates, first / Row::CELLS);
            let at = first % Row::CELLS;
            [&row.material[at..at + fine.edge], &row.occupancy[at..at + fine.edge]]
        });
        let wet = match packed.is_dry_after(updates) {
            true => [&[][..]; 4],
            false => first.map(|first| packed.water_after(updates, first, fine.edge)),
        };
        FineRows { first, rows, wet }
    }

    /// Whether any of the rows is to be written.
    fn is_staged(&self, updates: &RowUpdates) -> bool {
        self.first.iter().any(|first| updates.staged(first / Row::CELLS).is_some())
    }

    /// Writes the cells `xs` of a row of coarse cells, which starts at cell `start` of the
    /// packed rows, to `row`.
    ///
    /// Where all cells below that are not air are of one material, the coarse cell is of
    /// that material and their mean, whatever kind it is. Such cells are computed without a
    /// branch, the others one by one.
    fn coarsen(
        &self,
        kinds: &[Kind; 256],
        row: &mut Row,
        start: usize,
        xs: Range<usize>,
        water: &mut Vec<(u16, u8)>,
    ) {
        let x0 = start % Row::CELLS;
        let dry = self.wet.iter().all(|water| water.is_empty());
        if !(dry && water.is_empty()) {
            water.retain(|held| !(start + xs.start..start + xs.end).contains(&held.0.into()));
        }
        let UniformMeans { material, occupancy, sure } = self.means();
        let (to, from) = (x0 + xs.start..x0 + xs.end, xs.clone());
        row.material[to.clone()].copy_from_slice(&material[from.clone()]);
        row.occupancy[to].copy_from_slice(&occupancy[from.clone()]);
        if dry && sure[from].iter().fold(true, |all, &sure| all & sure) {
            return;
        }
        for x in xs.filter(|&x| !(dry && sure[x])) {
            let (cell, held) = coarser_cell(&self.octet(x), kinds);
            row.material[x0 + x] = cell.material;
            row.occupancy[x0 + x] = cell.occupancy;
            water.extend(held.map(|held| ((start + x) as u16, held)));
        }
    }

    /// What the coarse cells are where all cells below that are not air are of one material.
    fn means(&self) -> UniformMeans {
        let (mut sum, mut high, mut low) = ([0u16; 32], [0u8; 32], [255u8; 32]);
        for [material, occupancy] in self.rows {
            let sums = sum.iter_mut().zip(&mut high).zip(&mut low);
            for ((&m, &o), ((sum, high), low)) in material.iter().zip(occupancy).zip(sums) {
                *sum += (u16::from(o) + 1) & u16::from(m != AIR).wrapping_neg();
                *high = m.max(*high);
                // Air counts as the highest id here.
                *low = m.wrapping_sub(1).min(*low);
            }
        }
        let mut means = UniformMeans { material: [AIR; 16], occupancy: [0; 16], sure: [true; 16] };
        for x in 0..16 {
            let [a, b] = [2 * x, 2 * x + 1];
            let (most, least) = (high[a].max(high[b]), low[a].min(low[b]).wrapping_add(1));
            let units = (sum[a] + sum[b]).div_ceil(8);
            means.material[x] = most;
            means.occupancy[x] = units.saturating_sub(1) as u8;
            means.sure[x] = (most == least) | (most == AIR);
        }
        means
    }

    fn octet(&self, x: usize) -> Octet {
        let mut octet = [(Cell::AIR, 0); 8];
        for (i, child) in octet.iter_mut().enumerate() {
            let ([material, occupancy], at) = (self.rows[i / 2], 2 * x + i % 2);
            child.0 = Cell { material: material[at], occupancy: occupancy[at] };
            child.1 = held_water(self.wet[i / 2], self.first[i / 2] + at);
        }
        octet
    }
}

/// Water of a solid cell in 256ths, 0 for none.
fn held_water(water: &[(u16, u8)], cell: usize) -> u32 {
    let found = water.binary_search_by_key(&(cell as u16), |entry| entry.0);
    found.map_or(0, |at| u32::from(water[at].1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{MaterialTable, WATER};

    fn octet(cells: &[(u8, u8, u32)]) -> Octet {
        let mut octet = [(Cell::AIR, 0); 8];
        for (child, &(material, occupancy, water)) in octet.iter_mut().zip(cells) {
            *child = (Cell::new(material, occupancy), water);
        }
        octet
    }

    fn coarser(cells: &[(u8, u8, u32)]) -> (Cell, Option<u8>) {
        coarser_cell(&octet(cells), MaterialTable::default().kinds())
    }

    #[test]
    fn one_faint_solid_cell_makes_its_parent_solid() {
        assert_eq!(coarser(&[(5, 0, 0)]), (Cell { material: 5, occupancy: 0 }, None));
        assert_eq!(coarser(&[(5, 255, 0)]), (Cell { material: 5, occupancy: 31 }, None));
        assert_eq!(coarser(&[(5, 255, 0); 8]), (Cell::full(5), None));
        assert_eq!(coarser(&[]), (Cell::AIR, None));
    }

    #[test]
    fn the_largest_sum_of_occupancy_gives_the_material() {
        assert_eq!(coarser(&[(9, 99, 0), (4, 49, 0), (4, 48, 0)]).0.material, 9);
        assert_eq!(coarser(&[(9, 99, 0), (4, 49, 0), (4, 49, 0)]).0.material, 4, "a tie");
        assert_eq!(coarser(&[(1, 255, 0), (1, 255, 0), (4, 0, 0)]).0.material, 4, "solid wins");
    }

    #[test]
    fn water_beside_solid_goes_to_the_water_channel() {
        let (cell, water) = coarser(&[(4, 255, 128), (WATER, 255, 0)]);
        assert_eq!((cell.material, cell.occupancy), (4, 31));
        assert_eq!(water, Some(47), "(128 + 256) / 8 = 48 256ths");
        let (cell, water) = coarser(&[(WATER, 255, 0), (WATER, 0, 0)]);
        assert_eq!((cell, water), (Cell { material: WATER, occupancy: 32 }, None), "257 / 8, up");
    }
}
