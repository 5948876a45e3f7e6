//! Swaps the cells of a patch with those of a grid, box by box.
//!
//! Brushes fill a good part of their box, which is then read and written at once. A patch can also be two
//! cells at the ends of a long row, from a thin brush or a hostile file: it goes by chunks, so that its
//! cost is that of its cells and rows, not of its box.

use super::patch::{
    CellArrays, ChangedRun, Patch, PatchScratch, bounds_of, encode_cells, tally, water_between,
};
use super::volume::Tally;
use crate::voxel::{DenseBox, NotHeld, Region, VoxelGrid};
use std::collections::BTreeMap;

/// A box with at most this many cells for each one that changes is swapped at once.
const CELLS_PER_CHANGE: u64 = 8;

/// A box that is read and written at once.
struct SwapBox {
    region: Region,
    runs: Vec<BoxRun>,
}

/// Cells of a patch that lie side by side in a row of a box.
#[derive(Clone, Copy)]
struct BoxRun {
    /// Index of the first in the box.
    at: usize,
    /// Index of the first among the cells of the patch.
    first: usize,
    cells: usize,
}

/// Cells of a patch, in its order.
#[derive(Default)]
struct PatchCells {
    material: Vec<u8>,
    occupancy: Vec<u8>,
    /// By index, ascending.
    water: Vec<(u32, u8)>,
}

impl PatchCells {
    fn arrays(&self) -> CellArrays<'_> {
        let PatchCells { material, occupancy, water } = self;
        CellArrays { material, occupancy, water }
    }
}

/// Cuts the runs of a box over `region` where chunks begin, in order: calls `each` with the chunk
/// (y, z, x) and the part of a run in it.
pub(super) fn cut_by_chunks(
    runs: &[ChangedRun],
    region: Region,
    mut each: impl FnMut([i32; 3], ChangedRun),
) {
    let [width, _, depth] = region.size();
    for run in runs {
        let (row, end) = (run.at / width, run.at % width + run.cells);
        let (y, z) = ((row / depth) as i32 + region.min.y, (row % depth) as i32 + region.min.z);
        let mut x = run.at % width;
        while x < end {
            let chunk_x = (region.min.x + x as i32) >> 5;
            // Where the next chunk begins.
            let next = end.min((((chunk_x + 1) << 5) - region.min.x) as usize);
            each([y >> 5, z >> 5, chunk_x], ChangedRun { at: row * width + x, cells: next - x });
            x = next;
        }
    }
}

impl Patch {
    /// Swaps the cells of the patch with those of the grid, and adds the volumes that this changes
    /// to `tally`.
    ///
    /// # Errors
    /// If a chunk with cells of the patch is not held at mip 0; nothing is then changed.
    pub fn swap_counted(
        &mut self,
        grid: &mut VoxelGrid,
        s: &mut PatchScratch,
        volumes: Option<&mut Tally>,
    ) -> Result<(), NotHeld> {
        let boxes = self.boxes(s);
        check_boxes(&boxes, grid)?;
        let count = boxes.iter().flat_map(|part| &part.runs).map(|run| run.cells).sum();
        self.decode(count, s);
        let mut there =
            PatchCells { material: vec![0; count], occupancy: vec![0; count], water: Vec::new() };
        let mut cells = std::mem::take(&mut s.cells);
        let mut swapped = Ok(());
        for part in &boxes {
            swapped = grid.read(part.region, 0, &mut cells);
            if swapped.is_err() {
                break;
            }
            part.take(&cells, &mut there);
            part.put(s, &mut cells);
            swapped = grid.write(&cells);
        }
        s.cells = cells;
        swapped?;
        there.water.sort_unstable_by_key(|entry| entry.0);
        if let Some(volumes) = volumes {
            let PatchScratch { material, occupancy, water, .. } = &*s;
            let new = CellArrays { material, occupancy, water };
            tally(there.arrays(), new, &[ChangedRun { at: 0, cells: count }], volumes);
        }
        s.bytes.clear();
        let PatchCells { material, mut occupancy, water } = there;
        encode_cells(&material, &mut occupancy, &water, &mut s.partial, &mut s.bytes);
        self.cells = s.bytes.as_slice().into();
        Ok(())
    }

    /// Swaps the cells of the patch with those of the grid.
    ///
    /// # Errors
    /// As [`Patch::swap_counted`].
    pub fn swap(&mut self, grid: &mut VoxelGrid, s: &mut PatchScratch) -> Result<(), NotHeld> {
        self.swap_counted(grid, s, None)
    }

    /// Checks that its cells can be swapped.
    ///
    /// # Errors
    /// If a chunk with cells of the patch is not held at mip 0.
    pub fn check_held(&self, grid: &VoxelGrid, s: &mut PatchScratch) -> Result<(), NotHeld> {
        check_boxes(&self.boxes(s), grid)
    }

    /// The boxes that it is swapped by.
    fn boxes(&self, s: &mut PatchScratch) -> Vec<SwapBox> {
        let (region, mut runs) = (self.region, std::mem::take(&mut s.runs));
        runs.clear();
        let mut count = 0;
        self.runs(|run| {
            count += run.cells as u64;
            runs.push(run);
        });
        let boxes = match region.volume() <= CELLS_PER_CHANGE * count {
            true => vec![SwapBox::new(region, region, &numbered(&runs))],
            false => boxes_of_chunks(&runs, region),
        };
        s.runs = runs;
        boxes
    }
}

/// Runs, and the index of the first cell of each among all cells.
fn numbered(runs: &[ChangedRun]) -> Vec<(ChangedRun, usize)> {
    let mut first = 0;
    let number = |run: &ChangedRun| {
        first += run.cells;
        (*run, first - run.cells)
    };
    runs.iter().map(number).collect()
}

/// A box for each chunk that has runs, as small as can be.
fn boxes_of_chunks(runs: &[ChangedRun], region: Region) -> Vec<SwapBox> {
    let (mut chunks, mut first) = (BTreeMap::<[i32; 3], Vec<(ChangedRun, usize)>>::new(), 0);
    cut_by_chunks(runs, region, |chunk, run| {
        chunks.entry(chunk).or_default().push((run, first));
        first += run.cells;
    });
    let boxes = chunks.into_values().map(|runs| {
        let own: Vec<ChangedRun> = runs.iter().map(|&(run, _)| run).collect();
        SwapBox::new(bounds_of(&own, region), region, &runs)
    });
    boxes.collect()
}

fn check_boxes(boxes: &[SwapBox], grid: &VoxelGrid) -> Result<(), NotHeld> {
    boxes.iter().try_for_each(|part| grid.as_snapshot().check_held(part.region))
}

impl SwapBox {
    /// A box in `whole`, over which the runs are.
    fn new(region: Region, whole: Region, runs: &[(ChangedRun, usize)]) -> SwapBox {
        let ([width, _, deep], [wide, _, depth]) = (region.size(), whole.size());
        let off = region.min - whole.min;
        let [off_x, off_y, off_z] = [off.x, off.y, off.z].map(|v| v as usize);
        let run = |&(run, first): &(ChangedRun, usize)| {
            let (x, row) = (run.at % wide, run.at / wide);
            let (y, z) = (row / depth - off_y, row % depth - off_z);
            BoxRun { at: x - off_x + width * (z + deep * y), first, cells: run.cells }
        };
        SwapBox { region, runs: runs.iter().map(run).collect() }
    }

    /// Copies what its runs are in `cells`.
    fn take(&self, cells: &DenseBox, to: &mut PatchCells) {
        for run in &self.runs {
            let (from, here) = (run.at..run.at + run.cells, run.first..run.first + run.cells);
            to.material[here.clone()].copy_from_slice(&cells.materials()[from.clone()]);
            to.occupancy[here].copy_from_slice(&cells.occupancies()[from.clone()]);
            if !cells.water().is_empty() {
                let water = water_between(cells, from).iter();
                to.water
                    .extend(water.map(|&(i, held)| (i - run.at as u32 + run.first as u32, held)));
            }
        }
    }

    /// Writes its runs over those of `cells`, from the cells of the patch that `s` holds decoded.
    fn put(&self, s: &PatchScratch, cells: &mut DenseBox) {
        let (material, occupancy) = cells.arrays_mut();
        for run in &self.runs {
            let (to, here) = (run.at..run.at + run.cells, run.first..run.first + run.cells);
            material[to.clone()].copy_from_slice(&s.material[here.clone()]);
            occupancy[to].copy_from_slice(&s.occupancy[here]);
        }
        if cells.water().is_empty() && s.water.is_empty() {
            return;
        }
        let is_own = |i: u32| {
            let run = self.runs.partition_point(|run| run.at + run.cells <= i as usize);
            self.runs.get(run).is_some_and(|run| run.at <= i as usize)
        };
        let mut water: Vec<_> = cells.water().iter().filter(|w| !is_own(w.0)).copied().collect();
        for run in &self.runs {
            let from = s.water.partition_point(|w| (w.0 as usize) < run.first);
            let own = s.water[from..].iter().take_while(|w| (w.0 as usize) < run.first + run.cells);
            water.extend(own.map(|&(i, held)| (i - run.first as u32 + run.at as u32, held)));
        }
        cells.set_all_water(water);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voxel::{Cell, GridOptions, UnlistedChunks, VoxelPos};
    use proptest::prelude::*;

    /// Beside chunks, and off them.
    const REGION: Region =
        Region { min: VoxelPos::new(-70, -3, 30), max: VoxelPos::new(40, 1, 35) };

    fn cell(seed: u64) -> (Cell, Option<u8>) {
        let cell = match seed % 7 {
            0 | 1 => Cell::AIR,
            2 => Cell::new(1, (seed >> 8) as u8),
            _ => Cell::new(8, (seed >> 8) as u8),
        };
        let water = (cell.material == 8 && seed.is_multiple_of(3)).then_some((seed >> 16) as u8);
        (cell, water)
    }

    fn filled(region: Region, seed: u64) -> DenseBox {
        let mut cells = DenseBox::new(region);
        for (i, pos) in region.voxels().enumerate() {
            let (cell, water) = cell((seed + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
            cells.set(pos, cell);
            cells.set_water(pos, water);
        }
        // As a grid keeps them.
        let mut grid = VoxelGrid::default();
        grid.write(&cells).unwrap();
        grid.read(region, 0, &mut cells).unwrap();
        cells
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The twin swaps cell by cell.
        #[test]
        fn swaps_are_those_of_cells(
            seed in 0_u64..1 << 40,
            picked in prop::collection::vec((0_usize..110 * 4 * 5, 1_usize..60), 1..40),
            is_dense: bool,
        ) {
            let (old, new) = (filled(REGION, seed), filled(REGION, seed + 99_999));
            let mut is_picked = vec![is_dense; old.len()];
            for (at, cells) in picked {
                let end = (at + cells).min(at - at % 110 + 110);
                is_picked[at..end].fill(!is_dense);
            }
            let mut runs: Vec<ChangedRun> = Vec::new();
            for at in (0..old.len()).filter(|&at| is_picked[at]) {
                match runs.last_mut() {
                    Some(run) if run.at + run.cells == at && at % 110 != 0 => run.cells += 1,
                    _ => runs.push(ChangedRun { at, cells: 1 }),
                }
            }
            prop_assume!(!runs.is_empty());
            let mut grid = VoxelGrid::default();
            grid.write(&filled(REGION.grow(3), seed + 7)).unwrap();
            grid.write(&old).unwrap();
            let mut s = PatchScratch::default();
            let mut patch = Patch::of(&new, &runs, bounds_of(&runs, REGION), &mut s);
            let mut twin = VoxelGrid::from_snapshot(&grid.snapshot());
            let mut swapped = old.clone();
            for (i, pos) in REGION.voxels().enumerate().filter(|&(i, _)| is_picked[i]) {
                prop_assert_eq!(old.index(pos), i);
                swapped.set(pos, new.cell(pos));
                swapped.set_water(pos, new.water_at(pos));
            }
            twin.write(&swapped).unwrap();
            let before = grid.digest().unwrap();
            let first = patch.clone();
            patch.swap(&mut grid, &mut s).unwrap();
            prop_assert_eq!(grid.digest(), twin.digest());
            prop_assert_eq!(&patch, &Patch::of(&old, &runs, patch.region, &mut s));
            patch.swap(&mut grid, &mut s).unwrap();
            prop_assert_eq!(grid.digest().unwrap(), before);
            prop_assert_eq!(patch, first);
        }
    }

    fn two_cells(width: i32) -> Patch {
        let region = Region::new([0, 100, 0], [width, 101, 1]);
        let mut cells = DenseBox::new(region);
        cells.fill(8);
        let runs = [0, width as usize - 1].map(|at| ChangedRun { at, cells: 1 });
        Patch::of(&cells, &runs, region, &mut PatchScratch::default())
    }

    #[test]
    fn a_swap_touches_only_chunks_with_cells_of_the_patch() {
        let (mut grid, mut s) = (VoxelGrid::default(), PatchScratch::default());
        let mut patch = two_cells((1 << 21) - 64);
        patch.swap(&mut grid, &mut s).unwrap();
        assert_eq!(grid.chunks().len(), 2);
        assert_eq!(grid.cell(VoxelPos::new((1 << 21) - 65, 100, 0)), Ok(Cell::full(8)));
        patch.swap(&mut grid, &mut s).unwrap();
        assert_eq!(grid.cell(VoxelPos::new(0, 100, 0)), Ok(Cell::AIR));
    }

    #[test]
    fn nothing_is_swapped_if_the_last_chunk_is_not_held() {
        let options = GridOptions { unlisted: UnlistedChunks::Unknown, ..GridOptions::default() };
        let (mut grid, mut s) = (VoxelGrid::new(options), PatchScratch::default());
        grid.load(&DenseBox::new(Region::new([0, 96, 0], [32, 128, 32])));
        let (mut patch, before) = (two_cells(4096), grid.digest());
        let first = patch.clone();
        assert_eq!(patch.check_held(&grid, &mut s).unwrap_err().chunk.x, 127);
        assert!(patch.swap(&mut grid, &mut s).is_err());
        assert_eq!((patch, grid.digest()), (first, before));
    }
}
