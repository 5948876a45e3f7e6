//! What a guest's terrain shows: the host's cells, with this guest's predictions on top.

use super::guest::Guest;
use super::replica::BlockState;
use crate::edit::{EditOp, Editor};
use crate::terrain::{FillRequest, Terrain};
use crate::voxel::{AIR, ChunkState, DenseBox, VoxelGrid};

impl Guest {
    /// Fills a block for [`Terrain::update`] with the host's cells; blocks that are not here yet are
    /// [missing](FillRequest::set_missing). The terrain must have the placement and the materials of
    /// the world, and chunks that are not listed must be unknown.
    pub fn fill(&self, request: &mut FillRequest<'_>, generate: impl Fn(&mut FillRequest<'_>)) {
        let block = request.block();
        let Some(replica) = &self.replica else { return request.set_missing() };
        match replica.blocks.get(&block) {
            Some(BlockState::Ground | BlockState::StaleGround) => {
                match replica.maker.makes_ground {
                    true => generate(request),
                    false => request.fill(AIR),
                }
            }
            Some(BlockState::Cells | BlockState::Stale) => {
                if !replica.read(block, &generate, request.cells()) {
                    request.set_missing();
                }
            }
            None | Some(BlockState::Wanted) => request.set_missing(),
        }
    }

    /// Writes what changed since the last call into a terrain: the host's cells, then predictions.
    pub fn show(&mut self, terrain: &mut Terrain, generate: impl Fn(&mut FillRequest<'_>)) {
        let Some(replica) = &mut self.replica else { return };
        let changed = replica.changed.take().unwrap_or_else(|| {
            replica.blocks.keys().map(|&block| (block, block.cells())).collect()
        });
        let mut regions = std::mem::take(&mut self.ended);
        let predicted = self.predictions.iter();
        regions.extend(predicted.map(|prediction| prediction.region));
        regions.retain(|region| !region.is_empty());
        if changed.is_empty() && regions.is_empty() {
            return;
        }
        let mut grid = terrain.grid_mut();
        let mut cells = DenseBox::default();
        for (block, region) in changed {
            match block.mip {
                0 => regions.push(region),
                // Finer cells of the terrain's own win.
                _ if grid.has_far(block) && replica.read(block, &generate, &mut cells) => {
                    grid.write_far(block, &cells);
                }
                _ => {}
            }
        }
        for region in &regions {
            for chunk in region.blocks::<5>() {
                if grid.held(chunk) == ChunkState::Mip(0)
                    && replica.read(chunk.into(), &generate, &mut cells)
                {
                    let inside = region.intersect(chunk.region());
                    let part = super::delta::part_of(&cells, inside);
                    let written = grid.write(&part);
                    debug_assert!(written.is_ok(), "the chunk is held");
                }
            }
        }
        let ops = self.predictions.iter().filter_map(|prediction| prediction.op.as_ref());
        apply_all(ops, &mut grid);
        grid.forget_unsaved();
    }
}

/// Applies operations where all that they need is held.
fn apply_all<'a>(ops: impl Iterator<Item = &'a EditOp>, grid: &mut VoxelGrid) {
    let mut editor = Editor::default();
    for op in ops {
        // Where cells are missing, there is nothing to show.
        let _ = editor.apply(grid, op, None);
    }
}
