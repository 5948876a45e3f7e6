//! Saving: what is unsaved as plain data, for any thread to write.

use super::Terrain;
use crate::bodies::SavedBody;
use crate::edit::{History, HistoryCopy};
use crate::voxel::{ChunkPos, UnsavedChannels, UnsavedChunks};

/// The unsaved changes of a world at one moment: plain data, which any thread can write in one
/// transaction (`Store::save` of the crate `terravox-store`).
///
/// For a grid without a [`Terrain`]: `UnsavedChanges::from(grid.unsaved())`.
#[derive(Clone, Debug)]
pub struct UnsavedChanges {
    /// Chunks that were written, and the snapshot that holds their cells.
    pub chunks: UnsavedChunks,
    /// Values of channels that were written, if any were; `None` leaves what is stored.
    pub channels: Option<UnsavedChannels>,
    /// The undo history, if it changed; `None` leaves what is stored.
    pub history: Option<HistoryCopy>,
    /// All loose bodies, if the game adds them; `None` leaves what is stored.
    pub bodies: Option<Vec<SavedBody>>,
    /// The game's own bytes, by name; `None` removes what is stored under the name.
    pub data: Vec<(String, Option<Vec<u8>>)>,
}

impl From<UnsavedChunks> for UnsavedChanges {
    /// Chunks alone.
    fn from(chunks: UnsavedChunks) -> UnsavedChanges {
        UnsavedChanges { chunks, channels: None, history: None, bodies: None, data: Vec::new() }
    }
}

impl UnsavedChanges {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let added = self.channels.as_ref().is_some_and(|channels| !channels.is_empty())
            || self.history.is_some()
            || self.bodies.is_some()
            || !self.data.is_empty();
        self.chunks.is_empty() && !added
    }

    /// Adds what channels have unsaved to the transaction. [`Terrain::unsaved`] has that of the
    /// terrain.
    #[must_use]
    pub fn with_channels(mut self, channels: UnsavedChannels) -> UnsavedChanges {
        self.channels = Some(channels);
        self
    }

    /// Adds the loose bodies of the world to the transaction: all of them; they replace those that
    /// are stored.
    #[must_use]
    pub fn with_bodies(mut self, bodies: Vec<SavedBody>) -> UnsavedChanges {
        self.bodies = Some(bodies);
        self
    }

    /// Adds bytes of the game under a name to the transaction.
    #[must_use]
    pub fn with_data(
        mut self,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> UnsavedChanges {
        self.data.push((name.into(), Some(bytes.into())));
        self
    }

    /// Adds the undo history to the transaction.
    #[must_use]
    pub fn with_history(mut self, history: &History) -> UnsavedChanges {
        self.history = Some(history.copy());
        self
    }
}

impl Terrain {
    /// Returns what is not on disk yet: chunks that were written in any way, values of channels, and
    /// the undo history. No update is needed before. Add bodies and bytes of the game with
    /// [`UnsavedChanges::with_bodies`] and [`UnsavedChanges::with_data`]. Once written, pass it to
    /// [`Terrain::mark_saved`]. An open stroke is saved as if it ended now, and stays open.
    ///
    /// Takes microseconds: cells and strokes are shared, not copied.
    ///
    /// ```
    /// use terravox::edit::EditOp;
    /// use terravox::terrain::Terrain;
    ///
    /// let mut terrain = Terrain::default();
    /// terrain.hold([-30.0; 3], [30.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// assert!(terrain.is_saved(), "what the generator made can be made again");
    /// terrain.edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 4.0))?;
    ///
    /// let unsaved = terrain.unsaved();
    /// let save = std::thread::spawn(move || unsaved); // writes it: store.save(&unsaved, fill)
    /// terrain.edit(&EditOp::dig_ball([40.0 - 20.0, 0.0, 0.0], 4.0))?;
    /// let unsaved = save.join().expect("written");
    /// terrain.mark_saved(&unsaved);
    /// assert!(!terrain.is_saved(), "the second hole came later");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unsaved(&self) -> UnsavedChanges {
        let changed = !self.saved_history.is_same_or_later(self.history.stamp());
        UnsavedChanges {
            channels: (!self.channels.is_saved()).then(|| self.channels.unsaved()),
            history: changed.then(|| self.history.copy()),
            ..UnsavedChanges::from(self.grid.unsaved())
        }
    }

    /// Marks `saved` as on disk. What changed since it was taken stays unsaved. Do not call this if
    /// writing failed. Marking twice, late, out of order or for another world is harmless.
    pub fn mark_saved(&mut self, saved: &UnsavedChanges) {
        self.grid.mark_saved(&saved.chunks);
        if let Some(channels) = &saved.channels {
            self.channels.mark_saved(channels);
        }
        let Some(history) = &saved.history else { return };
        let newer = !self.saved_history.is_same_or_later(&history.stamp);
        if newer && self.history.stamp().is_same_or_later(&history.stamp) {
            self.saved_history = history.stamp.clone();
        }
    }

    /// Whether all changes of cells, materials, channels and history are on disk.
    pub fn is_saved(&self) -> bool {
        self.grid.is_saved()
            && self.channels.is_saved()
            && self.saved_history.is_same_or_later(self.history.stamp())
    }

    /// Chunks with changes that are not on disk, sorted. They do not leave memory.
    pub fn unsaved_chunks(&self) -> Vec<ChunkPos> {
        self.grid.unsaved_chunks()
    }

    /// Replaces the undo history by one that is on disk.
    pub fn restore_history(&mut self, history: History) {
        self.saved_history = history.stamp().clone();
        self.history = history;
    }
}

#[cfg(test)]
mod tests;
