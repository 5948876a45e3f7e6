//! Ground that changes beneath a host: other hosts edit the same world elsewhere.

use super::host::Host;
use super::truth::HostWorld;
use crate::edit::History;
use crate::voxel::ChunkPos;

impl Host {
    /// Reads chunks anew that another program changed in what [`HostWorld::ground`] reads, and tells all guests
    /// of them. Chunks with unsaved changes stay as they are. For worlds that grow: in others the grid
    /// is all there is.
    pub fn ground_changed(
        &mut self,
        world: &mut HostWorld<'_>,
        chunks: impl IntoIterator<Item = ChunkPos>,
    ) {
        for chunk in chunks {
            if !world.grid.forget(chunk) {
                continue;
            }
            self.truth.reread(chunk);
            self.encoded.forget(chunk.region(), self.options.max_mip);
            for entry in self.guests.values_mut() {
                entry.blocks.mark(chunk.region(), self.options.max_mip);
            }
        }
    }

    /// Forgets what guests did, for their undo: what they edited is another host's to change now.
    pub fn forget_strokes(&mut self) {
        for entry in self.guests.values_mut() {
            entry.history = History::new(self.options.history_bytes);
        }
    }

    /// The chunks that a guest wants at mip 0, in no order.
    pub fn watched_chunks(&self, guest: u64) -> impl Iterator<Item = ChunkPos> {
        self.guests.get(&guest).into_iter().flat_map(|entry| entry.blocks.chunks())
    }
}
