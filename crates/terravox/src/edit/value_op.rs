//! Operations on channels, as plain data.

use super::error::NamedNumber;
use super::mask::check_materials;
use super::shape::{bounds, region_of};
use super::{Brush, EditError};
use crate::voxel::{ChannelChunk, ChannelGrid, ChannelKind, ChannelSnapshot, ChunkPos, Region};

/// An edit of what a channel holds. Applied to equal channels and grids it gives equal channels, on
/// any machine.
///
/// ```
/// use terravox::edit::{Brush, Editor, ValueAction, ValueOp};
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelGrid, VoxelPos};
///
/// let mut channels = ChannelGrid::default();
/// let heat = channels.declare(Channel::values("heat", ChannelWidth::U8, MipRule::Max))?;
/// let fire = ValueOp::ball(heat, [0.0; 3], 4.0, ValueAction::Add { amount: 200 });
/// let (grid, mut editor) = (VoxelGrid::default(), Editor::default());
/// editor.apply_values(&grid, &mut channels, &fire, None)?;
/// editor.apply_values(&grid, &mut channels, &fire, None)?;
/// assert_eq!(channels.value(heat, VoxelPos::ZERO), 255); // the largest of the channel
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum ValueOp {
    /// Changes the values of the voxels of which a brush covers half or more.
    Brush {
        /// The number of the channel, which must hold numbers.
        channel: u8,
        /// The shape.
        brush: Brush,
        /// What happens to the values in it.
        action: ValueAction,
        /// Only voxels whose cells are of these materials, at most
        /// [`EditMask::MAX_MATERIALS`](super::EditMask::MAX_MATERIALS); empty accepts any, and reads no
        /// cells.
        #[cfg_attr(feature = "serde", serde(default))]
        materials: Vec<u8>,
    },
    /// Replaces the bytes of a chunk.
    Bytes {
        /// The number of the channel, which must hold bytes.
        channel: u8,
        /// The chunk, which need not be held.
        chunk: ChunkPos,
        /// At most [`ChannelChunk::MAX_BYTES`]; an empty list removes what is there.
        bytes: Vec<u8>,
    },
}

/// What becomes of a value. A value of 0 is absent.
///
/// ```
/// use terravox::edit::{Editor, ValueAction, ValueOp};
/// use terravox::voxel::{Channel, ChannelGrid, ChannelWidth, MipRule, VoxelGrid, VoxelPos};
///
/// let (grid, mut channels, mut editor) =
///     (VoxelGrid::default(), ChannelGrid::default(), Editor::default());
/// let wet = channels.declare(Channel::values("moisture", ChannelWidth::U8, MipRule::Mean))?;
/// let mut rain = |action| -> Result<u32, Box<dyn std::error::Error>> {
///     editor.apply_values(&grid, &mut channels, &ValueOp::ball(wet, [0.0; 3], 3.0, action), None)?;
///     Ok(channels.value(wet, VoxelPos::ZERO))
/// };
/// assert_eq!(rain(ValueAction::AtLeast { value: 20 })?, 20);
/// assert_eq!(rain(ValueAction::Add { amount: 250 })?, 255);
/// assert_eq!(rain(ValueAction::AtMost { value: 90 })?, 90);
/// assert_eq!(rain(ValueAction::Subtract { amount: 100 })?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum ValueAction {
    /// The value becomes this one; 0 removes it.
    Set {
        /// The value, at most the largest that the channel holds; so for all other actions.
        value: u32,
    },
    /// Adds, up to the largest value that the channel holds.
    Add {
        /// How much.
        amount: u32,
    },
    /// Subtracts, down to 0.
    Subtract {
        /// How much.
        amount: u32,
    },
    /// Raises lower values to this one, also those that are absent.
    AtLeast {
        /// The lowest value.
        value: u32,
    },
    /// Lowers higher values to this one.
    AtMost {
        /// The highest value.
        value: u32,
    },
}

impl ValueAction {
    /// Returns what `value` becomes, in a channel whose largest value is `max`.
    pub(super) fn apply(self, value: u32, max: u32) -> u32 {
        match self {
            ValueAction::Set { value } => value,
            ValueAction::Add { amount } => value.saturating_add(amount).min(max),
            ValueAction::Subtract { amount } => value.saturating_sub(amount),
            ValueAction::AtLeast { value: low } => value.max(low),
            ValueAction::AtMost { value: high } => value.min(high),
        }
    }

    fn number(self) -> u32 {
        match self {
            ValueAction::Set { value }
            | ValueAction::AtLeast { value }
            | ValueAction::AtMost { value } => value,
            ValueAction::Add { amount } | ValueAction::Subtract { amount } => amount,
        }
    }
}

impl ValueOp {
    /// Changes the values in a shape, of cells of any material.
    pub fn brush(channel: u8, brush: Brush, action: ValueAction) -> ValueOp {
        ValueOp::Brush { channel, brush, action, materials: Vec::new() }
    }

    /// Changes the values in a ball. Centre and radius are in voxels for
    /// [`Editor`](super::Editor), in world metres for
    /// [`Terrain::edit_values`](crate::Terrain::edit_values).
    pub fn ball(
        channel: u8,
        centre: impl Into<[f64; 3]>,
        radius: f64,
        action: ValueAction,
    ) -> ValueOp {
        ValueOp::brush(channel, Brush::Ball { centre: centre.into(), radius }, action)
    }

    /// The number of the channel.
    pub fn channel(&self) -> u8 {
        match *self {
            ValueOp::Brush { channel, .. } | ValueOp::Bytes { channel, .. } => channel,
        }
    }

    /// Returns the smallest box of voxels outside of which an operation, in voxels, changes
    /// nothing: for the rules of a game.
    ///
    /// # Errors
    /// If a number of the shape is invalid, or the box is beyond the limits of the grid.
    pub fn region(&self) -> Result<Region, EditError> {
        match self {
            ValueOp::Brush { brush, .. } => {
                brush.check()?;
                region_of(bounds(brush)?)
            }
            ValueOp::Bytes { chunk, .. } if chunk.within_limits() => Ok(chunk.region()),
            // The coordinates of its voxels may not fit in an i32.
            ValueOp::Bytes { .. } => Err(EditError::Invalid(
                "the chunk is not within the limits of the grid, ±2^25 chunks",
            )),
        }
    }

    /// The same operation with every length of it multiplied by `scale` and every point then moved
    /// by `offset`: how an operation in metres becomes one in voxels.
    #[must_use]
    pub fn scaled(&self, scale: f64, offset: [f64; 3]) -> ValueOp {
        let mut op = self.clone();
        if let ValueOp::Brush { brush, .. } = &mut op {
            *brush = brush.scaled(scale, offset);
        }
        op
    }

    /// Returns an error if the operation does not fit its channel, or a number of it is invalid.
    pub(super) fn check(&self, channels: &ChannelGrid) -> Result<(), EditError> {
        let kind = kind_of(channels, self.channel())?;
        match (self, kind) {
            (
                ValueOp::Brush { brush, action, materials, .. },
                ChannelKind::Values { width, .. },
            ) => {
                brush.check()?;
                check_materials(materials)?;
                let number = action.number();
                let allowed = match width.max_value() {
                    0xff => "0 to 255, as the channel holds",
                    0xffff => "0 to 65535, as the channel holds",
                    _ => "0 to 4294967295, as the channel holds",
                };
                NamedNumber::plain("the value", number.into())
                    .check(number <= width.max_value(), allowed)
            }
            (ValueOp::Brush { .. }, ChannelKind::Bytes) => Err(EditError::Invalid(
                "the channel holds bytes of chunks, not numbers; replace them with ValueOp::Bytes",
            )),
            (ValueOp::Bytes { bytes, .. }, ChannelKind::Bytes) => {
                self.region()?;
                let is_allowed = bytes.len() <= ChannelChunk::MAX_BYTES;
                NamedNumber::plain("the number of bytes of the chunk", bytes.len() as f64)
                    .check(is_allowed, "at most 65536")
            }
            (ValueOp::Bytes { .. }, ChannelKind::Values { .. }) => Err(EditError::Invalid(
                "the channel holds numbers, not bytes of chunks; change them with ValueOp::Brush",
            )),
        }
    }
}

/// What a channel holds, if it is declared.
pub(super) fn kind_of(channels: &ChannelSnapshot, channel: u8) -> Result<ChannelKind, EditError> {
    let declared = channels.channels().len() as u8;
    let found = channels.channel(channel).map(|channel| channel.kind);
    found.ok_or(EditError::NoChannel { channel, declared })
}
