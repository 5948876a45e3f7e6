//! Writes voxels into a grid, in any order. Chunks that were touched last stay unpacked, so that
//! neighbouring models do not unpack each chunk anew.

use super::error::VoxError;
use crate::cell_cost::{self, CoarseBlocks};
use crate::import_budget::ImportBudget;
use std::collections::HashMap;
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid, VoxelPos};

/// Maximum number of unpacked chunks: 16 MiB.
const MAX_OPEN: usize = 256;
/// Memory of one.
const OPEN_BYTES: u64 = 2 << 15;
/// Memory of a chunk in lists.
const LISTED_BYTES: u64 = 160;
/// Memory of a page of the grid.
const PAGE_BYTES: u64 = 2048;

/// Cells on their way into a grid.
pub(super) struct CellWriter<'a> {
    grid: &'a mut VoxelGrid,
    budget: &'a mut ImportBudget,
    /// Unpacked chunks; those from `open_count` on are spare.
    open: Vec<DenseBox>,
    open_count: usize,
    /// Where a chunk is in `open`. Positions come from the file, so the hashes are keyed.
    slots: HashMap<ChunkPos, usize>,
    last: Option<(ChunkPos, usize)>,
    /// Rows of each written chunk that memory was spent for.
    rows: HashMap<ChunkPos, u64>,
    coarse: CoarseBlocks,
}

impl<'a> CellWriter<'a> {
    pub fn new(grid: &'a mut VoxelGrid, budget: &'a mut ImportBudget) -> CellWriter<'a> {
        CellWriter {
            grid,
            budget,
            open: Vec::new(),
            open_count: 0,
            slots: HashMap::new(),
            last: None,
            rows: HashMap::new(),
            coarse: CoarseBlocks::default(),
        }
    }

    /// Makes a cell full of a material.
    #[inline]
    pub fn set(&mut self, pos: VoxelPos, material: u8) -> Result<(), VoxError> {
        let slot = self.slot(pos.chunk())?;
        let local = |v: i32| (v & 31) as usize;
        let i = local(pos.x) + 32 * (local(pos.z) + 32 * local(pos.y));
        let (materials, occupancies) = self.open[slot].arrays_mut();
        (materials[i], occupancies[i]) = (material, 255);
        Ok(())
    }

    /// Makes all cells of a region full of a material.
    pub fn fill(&mut self, region: Region, material: u8) -> Result<(), VoxError> {
        for chunk in region.blocks::<5>() {
            let slot = self.slot(chunk)?;
            let part = region.intersect(chunk.region());
            let cells = &mut self.open[slot];
            let [width, height, depth] = part.size();
            let first = cells.index(part.min);
            let (materials, occupancies) = cells.arrays_mut();
            for row in (0..height).flat_map(|y| (0..depth).map(move |z| 32 * (z + 32 * y))) {
                let row = first + row..first + row + width;
                materials[row.clone()].fill(material);
                occupancies[row].fill(255);
            }
        }
        Ok(())
    }

    /// Writes what is left; returns the number of chunks.
    pub fn finish(mut self) -> Result<u64, VoxError> {
        self.flush()?;
        Ok(self.rows.len() as u64)
    }

    /// Returns where a chunk is in `open`.
    #[inline]
    fn slot(&mut self, chunk: ChunkPos) -> Result<usize, VoxError> {
        if let Some((last, slot)) = self.last
            && last == chunk
        {
            return Ok(slot);
        }
        let slot = match self.slots.get(&chunk) {
            Some(&slot) => slot,
            None => self.unpack(chunk)?,
        };
        self.last = Some((chunk, slot));
        Ok(slot)
    }

    fn unpack(&mut self, chunk: ChunkPos) -> Result<usize, VoxError> {
        if self.open_count == MAX_OPEN {
            self.flush()?;
        }
        self.budget.spend_work("its cells", cell_cost::CHUNK_WORK)?;
        if !self.rows.contains_key(&chunk) {
            self.budget.spend_memory("its chunks", LISTED_BYTES)?;
            let new = self.coarse.add(chunk);
            if CoarseBlocks::has_page(new) {
                self.budget.spend_memory("its chunks", PAGE_BYTES)?;
            }
            cell_cost::spend_coarse_blocks(new, self.budget)?;
            self.rows.insert(chunk, 0);
        }
        if self.open_count == self.open.len() {
            self.budget.spend_memory("its cells", OPEN_BYTES)?;
            self.open.push(DenseBox::default());
        }
        let slot = self.open_count;
        if self.grid.read(chunk.region(), 0, &mut self.open[slot]).is_err() {
            // Of a grid that holds only coarse cells there: they are replaced.
            self.open[slot].reset(chunk.region());
        }
        self.open_count += 1;
        self.slots.insert(chunk, slot);
        Ok(slot)
    }

    fn flush(&mut self) -> Result<(), VoxError> {
        for cells in &self.open[..self.open_count] {
            let rows = cell_cost::mixed_rows(cells);
            let paid = self.rows.entry(cells.region().min.chunk()).or_default();
            cell_cost::spend_rows(rows, rows.saturating_sub(*paid), self.budget)?;
            *paid = rows.max(*paid);
            let result = self.grid.write(cells);
            assert!(result.is_ok(), "a whole chunk can always be written");
        }
        (self.open_count, self.last) = (0, None);
        self.slots.clear();
        Ok(())
    }
}
