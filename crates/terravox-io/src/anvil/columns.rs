//! The cells of 2 × 2 chunks, which are the columns over one chunk of the grid.

use super::blocks::Block;
use super::error::ChunkFault;
use crate::cell_cost::{self, CoarseBlocks};
use crate::import_budget::{BudgetError, ImportBudget};
use std::collections::BTreeMap;
use terravox::voxel::{Cell, ChunkPos, DenseBox, Region, VoxelGrid, WATER};

/// Blocks of a section, 16³.
pub(super) const SECTION_BLOCKS: usize = 4096;
/// Units of work to place a section.
const SECTION_WORK: u64 = 4 * SECTION_BLOCKS as u64;
/// Memory of the cells of a chunk of the grid, unpacked.
const BOX_BYTES: u64 = 2 << 15;
/// Memory of water in an unpacked cell, while its list grows.
const WATER_BYTES: u64 = 24;
/// Memory of a chunk in the grid.
const CHUNK_BYTES: u64 = 160;
/// Memory of a page of the grid.
const PAGE_BYTES: u64 = 2048;

/// Unpacked cells over one chunk of the grid.
#[derive(Default)]
pub(super) struct Columns {
    /// By y in chunks of the grid.
    layers: BTreeMap<i32, Layer>,
    spare: Vec<DenseBox>,
    /// Water in all layers, and for how much of it memory was spent.
    water: u64,
    paid_water: u64,
}

struct Layer {
    cells: DenseBox,
    water: Vec<(u32, u8)>,
}

/// What is written to the grid in all.
#[derive(Default)]
pub(super) struct Written {
    coarse: CoarseBlocks,
    pub chunks: u64,
}

impl Columns {
    /// Places a section: `at` is 0 or 1 along x and z, `y` its height in sections; `block` returns
    /// its blocks, x fastest, then z, then y.
    pub fn place(
        &mut self,
        at: [u8; 2],
        y: i8,
        mut block: impl FnMut(usize) -> Result<Block, ChunkFault>,
        budget: &mut ImportBudget,
    ) -> Result<(), ChunkFault> {
        budget.spend_work("its sections", SECTION_WORK)?;
        let (layer, upper) = (i32::from(y).div_euclid(2), i32::from(y).rem_euclid(2) as usize);
        let first = 16 * usize::from(at[0]) + 32 * (16 * usize::from(at[1]) + 32 * 16 * upper);
        let layer = self.layer(layer, budget)?;
        let before = layer.water.len();
        let (materials, occupancies) = layer.cells.arrays_mut();
        for i in 0..SECTION_BLOCKS {
            let Block { cell, holds_water } = block(i)?;
            let to = first + (i & 15) + 32 * ((i >> 4 & 15) + 32 * (i >> 8));
            (materials[to], occupancies[to]) = (cell.material, cell.occupancy);
            if holds_water {
                layer.water.push((to as u32, Cell::full(WATER).occupancy));
            }
        }
        let added = (layer.water.len() - before) as u64;
        self.water += added;
        if self.water > self.paid_water {
            budget.spend_memory("its water", WATER_BYTES * (self.water - self.paid_water))?;
            self.paid_water = self.water;
        }
        Ok(())
    }

    fn layer(&mut self, y: i32, budget: &mut ImportBudget) -> Result<&mut Layer, BudgetError> {
        match self.layers.entry(y) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let mut cells = match self.spare.pop() {
                    Some(cells) => cells,
                    None => {
                        budget.spend_memory("its cells", BOX_BYTES)?;
                        DenseBox::default()
                    }
                };
                cells.reset(ChunkPos::new(0, y, 0).region());
                Ok(entry.insert(Layer { cells, water: Vec::new() }))
            }
        }
    }

    /// Writes what is inside of `part` to the columns of chunk `[x, z]` of the grid, and is empty again.
    pub fn write(
        &mut self,
        [x, z]: [i32; 2],
        part: Region,
        grid: &mut VoxelGrid,
        written: &mut Written,
        budget: &mut ImportBudget,
    ) -> Result<(), BudgetError> {
        self.water = 0;
        for (y, Layer { mut cells, water }) in std::mem::take(&mut self.layers) {
            let chunk = ChunkPos::new(x, y, z);
            cells.move_to(chunk.min_voxel());
            cells.set_all_water(water);
            cut(&mut cells, part);
            if cells.materials().iter().any(|material| *material != 0) {
                written.write(chunk, &cells, grid, budget)?;
            }
            self.spare.push(cells);
        }
        Ok(())
    }
}

impl Written {
    fn write(
        &mut self,
        chunk: ChunkPos,
        cells: &DenseBox,
        grid: &mut VoxelGrid,
        budget: &mut ImportBudget,
    ) -> Result<(), BudgetError> {
        budget.spend_work("its cells", cell_cost::CHUNK_WORK)?;
        budget.spend_memory("its chunks", CHUNK_BYTES)?;
        let new = self.coarse.add(chunk);
        if CoarseBlocks::has_page(new) {
            budget.spend_memory("its chunks", PAGE_BYTES)?;
        }
        cell_cost::spend_coarse_blocks(new, budget)?;
        cell_cost::spend_cells(cells, 0, budget)?;
        let result = grid.write(cells);
        assert!(result.is_ok(), "a whole chunk can always be written");
        self.chunks += 1;
        Ok(())
    }
}

/// Makes the cells outside of a region air.
fn cut(cells: &mut DenseBox, part: Region) {
    let all = cells.region();
    let part = all.intersect(part);
    if part == all {
        return;
    }
    let kept = cells.clone();
    cells.reset(all);
    if !part.is_empty() {
        let mut inside = DenseBox::new(part);
        inside.copy_from(&kept);
        cells.copy_from(&inside);
    }
}
