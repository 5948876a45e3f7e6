//! Saving a game's unsaved changes in one transaction.

use crate::bodies;
use crate::error::StoreError;
use crate::store::{BODIES_NAME, HISTORY_NAME, MAX_EXTRA_BYTES, Store};
use crate::write::{Contents, Extras, SaveStats};
use std::borrow::Cow;
use terravox::terrain::{FillRequest, UnsavedChanges};
use terravox::voxel::{DenseBox, MipBlock};

impl Store {
    /// Writes everything unsaved in one transaction: chunks with the coarse mips over them,
    /// materials, channels, undo history, loose bodies, and the game's own bytes. On success, the
    /// data is on disk: pass `unsaved` to
    /// [`Terrain::mark_saved`](terravox::terrain::Terrain::mark_saved) or
    /// [`VoxelGrid::mark_saved`](terravox::voxel::VoxelGrid::mark_saved). On an error the file is
    /// unchanged, except for [`StoreError::Unsure`]: it may or may not hold the changes.
    ///
    /// `fill` is the closure of `Terrain::update`. Only worlds that grow
    /// ([`WorldInfo::grows`](crate::WorldInfo::grows)) need it: a coarse block that is stored for
    /// the first time starts from the cells that `fill` writes; if it writes none, distant views
    /// have holes. In a complete world pass `|_| {}`.
    ///
    /// Save a grid to one store only: saving to two in turn leaves each with a part of the changes.
    /// Concurrent saves wait for each other.
    ///
    /// # Errors
    /// If a material has another kind than in this world, a channel differs, a name or bytes are
    /// too long, `fill` cannot make a block yet, a newer state of the same grid is already saved,
    /// or the file cannot be written.
    pub fn save(
        &self,
        unsaved: &UnsavedChanges,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<SaveStats, StoreError> {
        let mut lock = self.lock_writes();
        let stamp = unsaved.chunks.stamp();
        if lock.last_saved.as_ref().is_some_and(|last| stamp.is_before(last)) {
            return Err(StoreError::Outdated { path: self.path().to_owned() });
        }
        let info = self.info();
        let placement = info.placement();
        let generate = |block: MipBlock| {
            let mut cells = DenseBox::default();
            FillRequest::fill_block(&mut cells, block, placement, &fill).then_some(cells)
        };
        let contents = Contents {
            snapshot: unsaved.chunks.snapshot(),
            chunks: unsaved.chunks.chunks().collect(),
            channels: unsaved.channels.as_ref(),
            extras: self.extras(unsaved)?,
        };
        let stats = lock.write(contents, info.grows().then_some(&generate))?;
        *lock.last_saved = Some(stamp.clone());
        Ok(stats)
    }

    /// Everything but the cells, as bytes.
    fn extras<'a>(&self, unsaved: &'a UnsavedChanges) -> Result<Extras<'a>, StoreError> {
        let mut extras = Vec::new();
        for (name, bytes) in &unsaved.data {
            self.check_unreserved(name)?;
            extras.push((&**name, bytes.as_deref().map(Cow::Borrowed)));
        }
        if let Some(history) = &unsaved.history {
            let bytes = history.to_bytes(MAX_EXTRA_BYTES);
            extras.push((HISTORY_NAME, Some(Cow::Owned(bytes))));
        }
        if let Some(saved) = &unsaved.bodies {
            let bytes = bodies::encode(saved, self.info().materials.kinds());
            let bytes = bytes.map_err(|what| {
                let what = format!("loose bodies: {what}");
                StoreError::Refused { path: self.path().to_owned(), what }
            })?;
            extras.push((BODIES_NAME, (!saved.is_empty()).then_some(Cow::Owned(bytes))));
        }
        Ok(extras)
    }
}
