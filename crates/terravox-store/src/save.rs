//! Saving: what a game has that is not in the file yet, in one transaction.

use crate::bodies;
use crate::error::StoreError;
use crate::open::{BODIES, HISTORY};
use crate::store::{MAX_EXTRA_BYTES, Store};
use crate::write::{Contents, Extras, SaveStats};
use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use terravox::terrain::{FillRequest, Unsaved};
use terravox::voxel::{DenseBox, MipBlock};

impl Store {
    /// Writes what is unsaved, all of it in one transaction: chunks with the coarse mips over
    /// them, materials, what can be undone, loose bodies, the game's own bytes. When this
    /// returns it is on disk; if it fails the file is as it was. Then give `unsaved` to
    /// [`Terrain::mark_saved`](terravox::terrain::Terrain::mark_saved), or to
    /// [`VoxelGrid::mark_saved`](terravox::voxel::VoxelGrid::mark_saved).
    ///
    /// `fill` is what `Terrain::update` takes. Only worlds that grow
    /// ([`WorldInfo::grows`](crate::WorldInfo::grows)) need it: a coarse block that is stored
    /// for the first time starts from what `fill` makes of it; one that writes nothing makes holes in
    /// the far view. In a complete world `|_| {}` does.
    ///
    /// One store takes what is unsaved of one grid: saving to two files in turn leaves each
    /// with a part. Threads that save at once wait for each other.
    ///
    /// # Errors
    /// If a material is of another kind than in this world, a name or bytes are too long, `fill`
    /// cannot give a block now, a later state of the same grid is saved already, or the file
    /// cannot be written.
    pub fn save(
        &self,
        unsaved: &Unsaved,
        fill: impl Fn(&mut FillRequest<'_>),
    ) -> Result<SaveStats, StoreError> {
        let mut last = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = unsaved.chunks.stamp();
        if last.as_ref().is_some_and(|last| stamp.is_before(last)) {
            return Err(StoreError::Outdated { path: self.path().to_owned() });
        }
        let info = self.info();
        let placement = info.placement();
        // A panic through the transaction would leak its pages until the file is repaired.
        let panic = Cell::new(None);
        let generate = |block: MipBlock| {
            let mut cells = DenseBox::default();
            let made = catch_unwind(AssertUnwindSafe(|| {
                FillRequest::fill_block(&mut cells, block, placement, &fill).then_some(())
            }));
            let made = made.map(|made| made.map(|()| cells));
            made.unwrap_or_else(|payload| {
                panic.set(Some(payload));
                None
            })
        };
        let contents = Contents {
            snapshot: unsaved.chunks.snapshot(),
            chunks: unsaved.chunks.chunks().collect(),
            extras: self.extras(unsaved)?,
        };
        let written = self.write(contents, info.grows().then_some(&generate));
        if let Some(payload) = panic.take() {
            resume_unwind(payload);
        }
        let stats = written?;
        *last = Some(stamp.clone());
        Ok(stats)
    }

    /// What is kept beside the cells, as bytes.
    fn extras<'a>(&self, unsaved: &'a Unsaved) -> Result<Extras<'a>, StoreError> {
        let mut extras = Vec::new();
        for (name, bytes) in &unsaved.data {
            if [HISTORY, BODIES].contains(&&**name) {
                let what = format!("\"{name}\" is the name of terravox's own data; take another");
                return Err(StoreError::Refused { path: self.path().to_owned(), what });
            }
            extras.push((&**name, bytes.as_deref().map(Cow::Borrowed)));
        }
        if let Some(history) = &unsaved.history {
            let bytes = history.to_bytes(MAX_EXTRA_BYTES);
            extras.push((HISTORY, Some(Cow::Owned(bytes))));
        }
        if let Some(saved) = &unsaved.bodies {
            let bytes = bodies::encode(saved, self.info().materials.kinds());
            let bytes = bytes.map_err(|what| {
                let what = format!("loose bodies: {what}");
                StoreError::Refused { path: self.path().to_owned(), what }
            })?;
            extras.push((BODIES, (!saved.is_empty()).then_some(Cow::Owned(bytes))));
        }
        Ok(extras)
    }
}
