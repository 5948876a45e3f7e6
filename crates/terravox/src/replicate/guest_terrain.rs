//! What a guest's terrain shows: the host's cells, with this guest's predictions on top.

use super::delta::{difference, part_of};
use super::guest::Guest;
use super::op_wire::rounded_op;
use super::predictions::{Prediction, ViewUpdate};
use super::replica::BlockState;
use crate::edit::{EditError, EditOp, Editor};
use crate::terrain::{FillRequest, Placement, Terrain};
use crate::voxel::{AIR, ChunkPos, ChunkState, DenseBox, Region, UnlistedChunks, VoxelGrid};
use std::collections::{BTreeMap, BTreeSet};

impl Guest {
    /// Fills a block for [`Terrain::update`] with the host's cells; blocks that are not here yet
    /// are [missing](FillRequest::set_missing). The terrain must meet the requirements of
    /// [`Guest::show`].
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

    /// Shows an operation, in voxels, that cannot be sent yet, such as one that
    /// [`Guest::reconnect`] returned: [`Guest::show`] applies the unsent after all that were sent,
    /// smaller `order` first, until [`Guest::hide_unsent`]. One of the same order is replaced. All
    /// are applied again when cells below them change: show a few hundred at most.
    ///
    /// ```
    /// use terravox::edit::{EditError, EditOp};
    /// use terravox::replicate::{Guest, LinkKind};
    ///
    /// /// Reconnects, and keeps showing what the player did.
    /// fn reconnect(guest: &mut Guest) -> Result<Vec<EditOp>, EditError> {
    ///     let unsent = guest.reconnect(LinkKind::Reliable);
    ///     for (order, op) in unsent.iter().enumerate() {
    ///         guest.show_unsent(order as u64, op)?;
    ///     }
    ///     Ok(unsent) // after Guest::start: Guest::edit, and Guest::hide_unsent
    /// }
    /// ```
    ///
    /// # Errors
    /// [`EditError`] if it is invalid or too large; [`EditError::Invalid`] also before the first
    /// [`Guest::start`].
    pub fn show_unsent(&mut self, order: u64, op: &EditOp) -> Result<(), EditError> {
        let Some(replica) = &self.replica else {
            return Err(EditError::Invalid(
                "not joined: call Guest::start after GuestEvent::Welcome",
            ));
        };
        let op = rounded_op(op);
        let reach = Editor::default().reach(&replica.grid, &op)?;
        let reads = [reach.read, reach.source.unwrap_or_default()];
        let shown = Prediction { number: order, op: Some(op), write: reach.write, reads };
        self.predictions.put_unsent(shown);
        self.limit_ended();
        Ok(())
    }

    /// Hides an operation of [`Guest::show_unsent`], if there is one of this order: it was sent, or
    /// is given up.
    pub fn hide_unsent(&mut self, order: u64) {
        self.predictions.take_unsent(order);
        self.limit_ended();
    }

    /// Writes what changed since the last call into a terrain: the host's cells, then predictions.
    /// Called before [`Terrain::update`], an edit is meshed in the same frame. It takes time only where
    /// something changed: an edit writes the chunks that it touched, and a block of each coarser mip.
    ///
    /// Pass the same terrain each time, and let nothing else write to it: `show` clears its unsaved
    /// changes. It needs the placement and the materials of the world, and unlisted chunks must be
    /// unknown:
    ///
    /// ```
    /// use terravox::replicate::Guest;
    /// use terravox::terrain::{Terrain, TerrainOptions};
    ///
    /// /// After [`Guest::start`].
    /// fn terrain_of(guest: &Guest) -> Option<Terrain> {
    ///     let (placement, materials) = (guest.placement()?, guest.grid()?.materials().clone());
    ///     Some(Terrain::new(TerrainOptions { placement, materials, ..TerrainOptions::default() }))
    /// }
    /// ```
    ///
    /// # Panics
    /// If the placement is another, or unlisted chunks are not unknown.
    pub fn show(&mut self, terrain: &mut Terrain, generate: impl Fn(&mut FillRequest<'_>)) {
        let Some(replica) = &mut self.replica else { return };
        assert_fits(terrain, replica.maker.placement);
        let changed = replica.take_changed();
        if changed.is_empty() && self.predictions.is_idle() {
            return;
        }
        let (near, far): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|(block, _)| block.mip == 0);
        let mut parts = ChunkParts::default();
        near.into_iter().for_each(|(_, region)| parts.add(region));
        let first = match self.predictions.plan(terrain.grid(), &parts.0) {
            ViewUpdate::Append(first) => first,
            ViewUpdate::Rebuild(regions) => {
                regions.into_iter().for_each(|region| parts.add(region));
                0
            }
        };
        if first == self.predictions.shown_count() && parts.0.is_empty() && far.is_empty() {
            return;
        }
        let mut grid = terrain.grid_mut();
        let mut cells = DenseBox::default();
        for (block, _) in far {
            // Finer cells of the terrain's own win.
            if grid.has_far(block) && replica.read(block, &generate, &mut cells) {
                grid.write_far(block, &cells);
            }
        }
        // Most of what operations changed that are applied again stays as it is: all are applied to a copy,
        // and only what differs is written, so that no more than that is meshed again.
        let is_copied = self.predictions.reapplies_from(first);
        let mut copy = is_copied.then(|| VoxelGrid::from_snapshot(grid.as_snapshot()));
        let target = copy.as_mut().unwrap_or(&mut grid);
        let mut dropped_chunks = BTreeSet::new();
        for (&chunk, &part) in &parts.0 {
            if target.held(chunk) != ChunkState::Mip(0) {
                continue;
            }
            match replica.read(chunk.into(), &generate, &mut cells) {
                true => write_differences(target, &part_of(&cells, part)),
                false => drop(dropped_chunks.insert(chunk)),
            }
        }
        let mut editor = Editor::default();
        self.predictions.apply_from(first, |op, write| {
            // Dropped chunks may show the operation already; the terrain will drop them, too.
            let is_dropped = !dropped_chunks.is_empty()
                && write.blocks::<5>().any(|chunk| dropped_chunks.contains(&chunk));
            if !is_dropped {
                // Where cells are missing, there is nothing to show yet.
                let _ = editor.apply(target, op, None);
            }
        });
        if let Some(copy) = copy {
            parts.write_differences(&copy, &mut grid);
        }
        grid.forget_unsaved();
        self.predictions.skip_changes(&grid);
    }
}

/// Panics unless a terrain can show a world with this placement.
fn assert_fits(terrain: &Terrain, placement: Placement) {
    let own = terrain.placement();
    assert!(own == placement, "the terrain has {own:?}; it needs that of the world, {placement:?}");
    let unlisted = terrain.grid().unlisted();
    let is_unknown = unlisted == UnlistedChunks::Unknown;
    assert!(is_unknown, "chunks that are not listed must be unknown in the terrain of a guest");
}

/// For each chunk that regions touch, the bounds of their parts in it, in voxels.
#[derive(Default)]
struct ChunkParts(BTreeMap<ChunkPos, Region>);

impl ChunkParts {
    fn add(&mut self, region: Region) {
        for chunk in region.blocks::<5>() {
            let part = region.intersect(chunk.region());
            let around = self.0.entry(chunk).or_insert(part);
            *around = around.union(part);
        }
    }

    /// Copies the cells in which two grids differ within the parts, `from` one `to` the other.
    fn write_differences(self, from: &VoxelGrid, to: &mut VoxelGrid) {
        let mut cells = DenseBox::default();
        for part in self.0.into_values() {
            if from.read(part, 0, &mut cells).is_ok() {
                write_differences(to, &cells);
            }
        }
    }
}

/// Writes only those cells of a chunk that differ, since views are rebuilt where cells are written.
fn write_differences(grid: &mut VoxelGrid, cells: &DenseBox) {
    let mut there = DenseBox::default();
    if grid.read(cells.region(), 0, &mut there).is_err() {
        return;
    }
    if let Some(region) = difference(&there, cells) {
        let written = grid.write(&part_of(cells, region));
        debug_assert!(written.is_ok(), "the chunk is held");
    }
}
