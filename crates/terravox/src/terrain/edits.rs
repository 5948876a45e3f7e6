//! Edits in world metres, and undo.

use super::{Placement, Terrain, TerrainError};
use crate::edit::{EditCost, EditOp, EditSummary, History, ValueOp};
use crate::voxel::Region;

impl Placement {
    /// Converts an operation from world metres to voxels. Copies and pastes, which are in whole
    /// voxels, stay as they are.
    pub fn op_in_voxels(&self, op: &EditOp) -> EditOp {
        let scale = 1.0 / self.voxel_size_m;
        op.scaled(scale, self.origin_m.map(|v| -v * scale))
    }

    /// Converts an operation on a channel from world metres to voxels.
    pub fn value_op_in_voxels(&self, op: &ValueOp) -> ValueOp {
        let scale = 1.0 / self.voxel_size_m;
        op.scaled(scale, self.origin_m.map(|v| -v * scale))
    }
}

impl Terrain {
    /// Applies an operation in world metres; copies and pastes are in whole voxels. Returns the
    /// voxels that changed and what was removed and added. Rays and all other queries see it at
    /// once; meshes follow with the next [`Terrain::update`]. All cells that it reads must be held
    /// at mip 0, as those near a viewer are; elsewhere call [`Terrain::hold`] first.
    ///
    /// ```
    /// use terravox::edit::EditOp;
    /// use terravox::terrain::Terrain;
    ///
    /// let mut terrain = Terrain::default();
    /// terrain.hold([-30.0; 3], [30.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let dug = terrain.edit(&EditOp::dig_ball([0.0, 0.0, 0.0], 4.0))?;
    /// assert!(dug.removed.voxels(8) > 90.0);
    /// terrain.undo()?;
    /// let hit = terrain.ray([0.0, 20.0, 0.0], [0.0, -1.0, 0.0], 100.0).hit().expect("ground");
    /// assert!(hit.point_m[1].abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TerrainError`]; nothing is then changed.
    pub fn edit(&mut self, op: &EditOp) -> Result<EditSummary, TerrainError> {
        let op = self.placement.op_in_voxels(op);
        let edited = self.editor.apply(&mut self.grid, &op, &mut self.history);
        let edited = edited.map_err(self.in_metres())?;
        self.loose.touch(edited.region);
        self.follow_edits();
        Ok(edited)
    }

    /// Returns the cost of an operation in world metres, ignoring the limits. Takes microseconds,
    /// so a server can check it before it accepts an edit.
    ///
    /// ```
    /// use terravox::{EditOp, Terrain};
    /// # let mut terrain = Terrain::default();
    /// # terrain.hold([-30.0; 3], [30.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let cost = terrain.estimate_edit(&EditOp::dig_ball([0.0; 3], 5.0))?;
    /// assert_eq!((cost.cells, cost.chunks), (10 * 10 * 10, 8));
    /// # Ok::<(), terravox::TerrainError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Terrain::edit`], but for the limits.
    pub fn estimate_edit(&self, op: &EditOp) -> Result<EditCost, TerrainError> {
        let op = self.placement.op_in_voxels(op);
        self.editor.estimate(&self.grid, &op).map_err(self.in_metres())
    }

    /// Undoes the last stroke, of cells and of [channels](Terrain::channels). Returns its voxels,
    /// `None` if there is nothing to undo. For cells that were edited since, see
    /// [`crate::edit::History`].
    ///
    /// # Errors
    /// [`EditError::NotHeld`](crate::edit::EditError::NotHeld), or a channel is not the one that the
    /// stroke changed; nothing is then changed.
    pub fn undo(&mut self) -> Result<Option<Region>, TerrainError> {
        let undone = self.history.undo_with(&mut self.grid, &mut self.channels);
        self.follow_edits();
        undone.map_err(self.in_metres())
    }

    /// Redoes the last stroke that was undone. Returns as [`Terrain::undo`].
    ///
    /// # Errors
    /// As [`Terrain::undo`].
    pub fn redo(&mut self) -> Result<Option<Region>, TerrainError> {
        let redone = self.history.redo_with(&mut self.grid, &mut self.channels);
        self.follow_edits();
        redone.map_err(self.in_metres())
    }

    /// Returns the undo history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the undo history, to begin and end strokes. [`Terrain::unsaved`] saves it.
    pub fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }
}
