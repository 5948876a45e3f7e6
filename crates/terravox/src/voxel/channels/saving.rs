//! What a grid of channels has not saved, and what it saved meanwhile.

use super::grid::ChannelGrid;
use super::unsaved::{ChannelWrites, UnsavedChannels};
use std::sync::Arc;

impl ChannelGrid {
    /// Returns what was written since it was last saved. Any thread can write it; then pass it to
    /// [`ChannelGrid::mark_saved`].
    ///
    /// ```
    /// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelPos};
    ///
    /// let mut channels = ChannelGrid::default();
    /// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
    /// channels.set(heat, VoxelPos::ZERO, 5);
    /// let unsaved = channels.unsaved();
    /// channels.set(heat, VoxelPos::new(40, 0, 0), 6); // while it is saved
    /// channels.mark_saved(&unsaved);
    /// assert!(!channels.is_saved());
    /// assert_eq!(channels.unsaved().chunks().len(), 1);
    /// # Ok::<(), terravox::voxel::ChannelError>(())
    /// ```
    pub fn unsaved(&self) -> UnsavedChannels {
        let ChannelWrites { grid, chunks, declared, .. } = &self.writes;
        UnsavedChannels {
            grid: grid.clone(),
            snapshot: self.snapshot(),
            chunks: chunks.iter().map(|(&key, &version)| (key, version)).collect(),
            declared: *declared,
        }
    }

    /// Marks `saved` as on disk. What was written since it was taken stays unsaved. Do not call
    /// this if writing failed. Marking twice, late or for another grid is harmless.
    pub fn mark_saved(&mut self, saved: &UnsavedChannels) {
        let writes = &mut self.writes;
        if !Arc::ptr_eq(&writes.grid, &saved.grid) {
            return;
        }
        for (key, version) in &saved.chunks {
            if writes.chunks.get(key) == Some(version) {
                writes.chunks.remove(key);
            }
        }
        if writes.declared == saved.declared {
            writes.declared = None;
        }
    }

    /// Whether nothing is unsaved, neither values nor declarations.
    pub fn is_saved(&self) -> bool {
        self.writes.chunks.is_empty() && self.writes.declared.is_none()
    }
}
