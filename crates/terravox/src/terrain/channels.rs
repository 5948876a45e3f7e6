//! The channels of a world, in metres.

use super::{Terrain, TerrainError};
use crate::edit::ValueOp;
use crate::voxel::{ChannelGrid, Region};

impl Terrain {
    /// The channels: numbers of the game's own for each voxel, and bytes for each chunk.
    pub fn channels(&self) -> &ChannelGrid {
        &self.channels
    }

    /// The channels, to declare some and to write values in voxels. Writes here bypass the history:
    /// [`Terrain::undo`] does not undo them; [`Terrain::edit_values`] can be undone. Both are saved.
    ///
    /// ```
    /// use terravox::Terrain;
    /// use terravox::voxel::{Channel, ChannelWidth, MipRule, VoxelPos};
    ///
    /// let mut terrain = Terrain::default();
    /// let moisture = Channel::values("moisture", ChannelWidth::U8, MipRule::Mean);
    /// let moisture = terrain.channels_mut().declare(moisture)?; // each time the game starts
    /// terrain.channels_mut().set(moisture, VoxelPos::new(3, -1, 0), 80);
    /// assert_eq!(terrain.value_at(moisture, [3.5, -0.5, 0.5]), 80);
    /// # Ok::<(), terravox::voxel::ChannelError>(())
    /// ```
    pub fn channels_mut(&mut self) -> &mut ChannelGrid {
        &mut self.channels
    }

    /// Replaces the channels by those that are on disk.
    pub fn restore_channels(&mut self, channels: ChannelGrid) {
        self.channels = channels;
    }

    /// Returns the value of the voxel that holds a world position; 0 where none was set.
    ///
    /// # Panics
    /// If there is no such channel, or it holds bytes.
    pub fn value_at(&self, channel: u8, point_m: impl Into<[f64; 3]>) -> u32 {
        self.channels.value(channel, self.placement.voxel_at(point_m))
    }

    /// Applies an operation on a channel, in world metres: in the open stroke of the history, with
    /// edits of cells, else as a stroke of its own. Returns the voxels whose values changed. Cells
    /// need to be held only if it asks for materials.
    ///
    /// ```
    /// use terravox::edit::{ValueAction, ValueOp};
    /// use terravox::voxel::{Channel, ChannelWidth, MipRule};
    /// use terravox::{EditOp, Terrain};
    ///
    /// let mut terrain = Terrain::default();
    /// terrain.hold([-9.0; 3], [9.0; 3], |request| request.fill_sdf(8, |p| -p[1]))?;
    /// let heat = Channel::values("heat", ChannelWidth::U8, MipRule::Max);
    /// let heat = terrain.channels_mut().declare(heat)?;
    ///
    /// // A bomb digs and heats, and is undone as one.
    /// terrain.history_mut().begin_stroke();
    /// terrain.edit(&EditOp::dig_ball([0.0; 3], 3.0))?;
    /// terrain.edit_values(&ValueOp::ball(heat, [0.0; 3], 5.0, ValueAction::Add { amount: 90 }))?;
    /// terrain.history_mut().end_stroke();
    /// assert_eq!(terrain.value_at(heat, [0.0, -4.0, 0.0]), 90);
    /// terrain.undo()?;
    /// assert_eq!(terrain.value_at(heat, [0.0, -4.0, 0.0]), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TerrainError`]; nothing is then changed.
    pub fn edit_values(&mut self, op: &ValueOp) -> Result<Region, TerrainError> {
        let op = self.placement.value_op_in_voxels(op);
        let Terrain { grid, channels, editor, history, .. } = self;
        let edited = editor.apply_values(grid, channels, &op, history);
        edited.map_err(self.in_metres())
    }
}
