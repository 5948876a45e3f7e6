//! Cells on their way into the view: requests, arrivals, and writes into the grid.

use super::draft::HasTime;
use super::ticket::Ticket;
use super::view::LodView;
use crate::voxel::{DenseBox, MipBlock, Region, Snapshot, UnlistedChunks, VoxelGrid};

impl LodView {
    /// Returns the next blocks whose cells are missing, at most `most`, nearest first. Pass their
    /// cells to [`LodView::supply`]; blocks that are not supplied are requested again.
    pub fn take_wanted(&mut self, grid: &Snapshot, most: usize) -> Vec<MipBlock> {
        self.fills.begin_round();
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((block, _)) = self.take_fill(grid)
        {
            taken.push(block);
        }
        taken
    }

    /// Hands out the next block whose cells are missing: a chunk near a viewer, else one that a
    /// step needs, else one that was not available.
    pub(super) fn take_fill(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        self.take_near_fill(grid)
            .or_else(|| self.take_far_fill(grid))
            .or_else(|| self.take_retry(grid))
    }

    /// Hands out a block that was not available.
    pub(super) fn take_retry(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        let residency = &self.residency;
        let retry =
            self.fills.take_retry(residency.version(), |block| residency.has(grid, block))?;
        self.pay_job();
        Some(retry)
    }

    /// Hands out the next chunk near a viewer whose cells are missing.
    pub(super) fn take_near_fill(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        let residency = &self.residency;
        let near = self.fills.take_near(residency.version(), |block| residency.has(grid, block))?;
        self.pay_job();
        Some(near)
    }

    /// Hands out the next block whose cells a step is missing.
    pub(super) fn take_far_fill(&mut self, grid: &Snapshot) -> Option<(MipBlock, Ticket)> {
        let residency = &self.residency;
        let far =
            self.fills.take_wanted(residency.version(), |block| residency.has(grid, block))?;
        self.pay_job();
        Some(far)
    }

    /// Takes back a block that was handed out; `None` if its cells are not available now. Late or
    /// repeated results are ignored.
    pub(crate) fn finish_fill(
        &mut self,
        block: MipBlock,
        ticket: &Ticket,
        cells: Option<DenseBox>,
    ) {
        match cells {
            None => self.fills.refuse(block, ticket),
            Some(cells) => {
                let Some(version) = self.fills.arrive(block, Some(ticket)) else { return };
                self.residency.stage(block, cells, version);
            }
        }
    }

    /// Writes staged chunks near the viewers into the grid: one per round, more while there is
    /// time.
    pub(super) fn hold_staged_near(&mut self, grid: &mut VoxelGrid, has_time: HasTime<'_>) {
        for block in self.residency.staged_chunks() {
            if self.fills.is_near(block) {
                if self.has_held_near && !has_time() {
                    return;
                }
                self.has_held_near = true;
                self.hold_staged(grid, block);
            }
        }
    }

    /// Stages the cells of a block, 32³ of its mip.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn supply(&mut self, block: MipBlock, cells: DenseBox) {
        let version = self.fills.arrive(block, None).unwrap_or_default();
        self.residency.stage(block, cells, version);
    }

    /// Returns the blocks whose cells are missing to hold `region`, in voxels, at mip 0: for each
    /// mip, the coarsest first.
    pub fn missing(&mut self, grid: &mut VoxelGrid, region: Region) -> Vec<Vec<MipBlock>> {
        // Blocks staged before a save may lack edits.
        self.read_changes(grid);
        let over = |mip: u8| {
            let blocks = region.coarser(5 + u32::from(mip)).voxels();
            blocks.map(move |pos| MipBlock::new(mip, pos))
        };
        // Any mip that is shown later must know of edits here.
        let top = match grid.unlisted() {
            UnlistedChunks::Air => self.tiling.top(),
            UnlistedChunks::Unknown => self.options.max_mip.max(self.tiling.top()),
        };
        let mips = (0..=top).rev();
        for block in mips.clone().flat_map(over) {
            if let Some(cells) = self.residency.take_staged(block) {
                self.hold(grid, block, cells);
            }
        }
        mips.map(|mip| over(mip).filter(|&b| !self.residency.has(grid.as_snapshot(), b)).collect())
            .collect()
    }

    /// Writes the cells of a block into the grid, whether it is shown or not.
    ///
    /// # Panics
    /// If they are not the block's.
    pub fn hold(&mut self, grid: &mut VoxelGrid, block: MipBlock, cells: DenseBox) {
        assert_eq!(cells.region(), block.cells(), "cells of another region than the block's");
        self.read_changes(grid);
        self.residency.put(grid, block, &cells);
        self.note_held(grid, block);
    }

    /// Writes a staged block into the grid, or requests it again if it went stale.
    fn hold_staged(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        self.read_changes(grid);
        self.residency.commit(grid, block);
        self.note_held(grid, block);
        if !self.residency.has(grid.as_snapshot(), block) {
            self.fills.request_again(block);
        }
    }

    fn note_held(&mut self, grid: &mut VoxelGrid, block: MipBlock) {
        self.residency.forget_surfaceless(block, self.tiling.top());
        self.residency.skip_own_changes(grid);
        self.arrived.push(block.voxels());
    }
}
