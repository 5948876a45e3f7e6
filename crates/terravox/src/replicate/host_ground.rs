//! Ground that changes beneath a host: other hosts edit the same world elsewhere.

use super::host::Host;
use super::reasons::Refusal;
use super::truth::HostWorld;
use crate::edit::{EditOp, EditSummary};
use crate::voxel::{ChunkPos, MipBlock, Region};
use rustc_hash::FxHashSet;

impl Host {
    /// Reads chunks again after another program changed what [`HostWorld::ground`] reads, and tells
    /// all guests of them. Chunks with unsaved changes stay as they are; coarse blocks over both are read
    /// again, with the unsaved changes on top. For worlds that grow: in others the grid is all there is.
    pub fn ground_changed(
        &mut self,
        world: &mut HostWorld<'_>,
        chunks: impl IntoIterator<Item = ChunkPos>,
    ) {
        let root = |chunk: ChunkPos| MipBlock::from(chunk).over(self.options.max_mip);
        let chunks = chunks.into_iter().filter(|&chunk| world.grid.forget(chunk));
        let chunks: Vec<_> = chunks.collect();
        let reread: FxHashSet<_> = chunks.iter().copied().map(root).collect();
        let unsaved = world.grid.unsaved_chunks().into_iter();
        let unsaved: Vec<_> = unsaved.filter(|&chunk| reread.contains(&root(chunk))).collect();
        self.truth.reread(&chunks);
        chunks.into_iter().for_each(|chunk| self.mark_changed(chunk.region()));
        for chunk in &unsaved {
            let missing = self.truth.ground_of_change(world, [], chunk.region());
            (world.prefetch)(&missing);
        }
        // What was raised from them is gone with the coarse blocks.
        unsaved.into_iter().for_each(|chunk| self.changed(world, chunk.region()));
    }

    /// Evicts coarse blocks that the ground has, if there are many. Guests that hold one are sent it
    /// again.
    pub(super) fn trim_coarse(&mut self, world: &HostWorld<'_>) {
        for block in self.truth.trim_coarse(world.grid) {
            self.encoded.forget_block(block);
            for entry in self.guests.values_mut() {
                entry.blocks.renew(block, self.options.max_mip);
            }
        }
    }

    /// Removes the strokes of guests in a region, in voxels, from their undo history, since another
    /// host decides about that region now. A stroke that lies partly in it is removed whole.
    pub fn forget_strokes(&mut self, region: Region) {
        for entry in self.guests.values_mut() {
            entry.history.drop_strokes_in(region);
        }
    }

    /// The blocks that a guest wants at the coarsest mip, each with how many chunks it wants in it
    /// at mip 0, in no order.
    pub fn watched_roots(&self, guest: u64) -> impl Iterator<Item = (MipBlock, u32)> {
        self.guests.get(&guest).into_iter().flat_map(|entry| entry.blocks.roots())
    }

    /// Returns a number that grows when [`Host::watched_roots`] of a guest lists other blocks, or
    /// a block in which the guest wants its first chunk or no chunk any more. It does not grow when
    /// only the numbers of chunks differ.
    pub fn watched_state(&self) -> u64 {
        let states = self.guests.values().map(|entry| entry.blocks.roots_state());
        self.gone_watched + states.sum::<u64>()
    }

    /// Tells the ground which blocks an operation needs ([`HostWorld::prefetch`]). For several operations
    /// that follow each other: call it for each before the first is applied, which then waits for
    /// all of them.
    pub fn prefetch(&self, world: &HostWorld<'_>, op: &EditOp) {
        if let Ok(reach) = self.editor.reach(world.grid, op) {
            (world.prefetch)(&self.truth.ground_of_change(world, reach.regions(), reach.write));
        }
    }

    /// Applies the part within a region, in voxels, of an operation that another host decided
    /// about, and tells all guests, as [`Host::edit`] does.
    ///
    /// # Errors
    /// As [`Host::edit`].
    pub fn edit_within(
        &mut self,
        world: &mut HostWorld<'_>,
        op: &EditOp,
        within: Region,
    ) -> Result<EditSummary, Refusal> {
        self.edit_part(world, op, Some(within))
    }
}
