//! What a channel is: its name, what it holds, and how coarse values follow from fine ones.

use std::fmt;

/// Most channels of a world.
pub(super) const MAX_CHANNELS: usize = 16;

/// Most bytes that a channel of bytes holds for a chunk.
pub(super) const MAX_CHUNK_BYTES: usize = 1 << 16;

/// How large the values of a channel are. A value of 0 is absent: it takes no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ChannelWidth {
    /// 0 to 255.
    U8,
    /// 0 to 65,535.
    U16,
    /// 0 to 4,294,967,295.
    U32,
}

impl ChannelWidth {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            ChannelWidth::U8 => 1,
            ChannelWidth::U16 => 2,
            ChannelWidth::U32 => 4,
        }
    }

    /// The largest value.
    pub const fn max_value(self) -> u32 {
        match self {
            ChannelWidth::U8 => 0xff,
            ChannelWidth::U16 => 0xffff,
            ChannelWidth::U32 => u32::MAX,
        }
    }
}

/// The value of a coarse cell, from those of all voxels in it, however many mips coarser it is.
/// Voxels are in no order, and nothing is rounded twice: a cell of mip 2 is made from 64 voxels,
/// not from eight cells of mip 1.
///
/// ```
/// use terravox::voxel::{Channel, ChannelError, ChannelGrid, ChannelWidth, MipRule, Region};
///
/// // Eight voxels, of which four have an owner.
/// let coarse = |rule| -> Result<u32, ChannelError> {
///     let mut channels = ChannelGrid::default();
///     let owner = channels.declare(Channel::values("owner", ChannelWidth::U8, rule))?;
///     channels.write(owner, Region::new([0; 3], [2; 3]), &[0, 7, 7, 0, 3, 0, 0, 9]);
///     let mut read = Vec::new();
///     channels.read(owner, Region::new([0; 3], [1; 3]), 1, &mut read);
///     Ok(read[0])
/// };
/// assert_eq!((coarse(MipRule::Max)?, coarse(MipRule::Min)?), (9, 3));
/// assert_eq!((coarse(MipRule::Mean)?, coarse(MipRule::MeanPresent)?), (3, 7)); // 26 / 8, 26 / 4
/// assert_eq!(coarse(MipRule::MostFrequent)?, 7);
/// # Ok::<(), ChannelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MipRule {
    /// The largest value: a danger that must show from afar.
    Max,
    /// The smallest value other than 0; 0 if all are 0.
    Min,
    /// The mean of all voxels, rounded half up. Those of value 0 count, as 0: amounts such as ore.
    Mean,
    /// The mean of the voxels that are not 0, rounded half up; 0 if all are 0: a temperature that
    /// is known at some voxels only.
    MeanPresent,
    /// The most frequent value other than 0, the smallest of several; 0 if all are 0: owners and
    /// other names that are numbers.
    MostFrequent,
}

/// What a channel holds.
///
/// ```
/// use terravox::voxel::{Channel, ChannelKind, ChannelWidth};
///
/// let channel = Channel::bytes("spawns");
/// let text = match channel.kind {
///     ChannelKind::Values { width: ChannelWidth::U8, .. } => "0 to 255 a voxel",
///     ChannelKind::Values { .. } => "larger numbers",
///     ChannelKind::Bytes => "bytes a chunk",
/// };
/// assert_eq!(text, "bytes a chunk");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ChannelKind {
    /// A number for each voxel.
    Values {
        /// How large they are.
        width: ChannelWidth,
        /// What coarse cells have.
        mips: MipRule,
    },
    /// Bytes for each chunk, such as a list of what spawns there.
    Bytes,
}

impl ChannelKind {
    /// The width of the numbers, or `None` for bytes.
    pub const fn width(self) -> Option<ChannelWidth> {
        match self {
            ChannelKind::Values { width, .. } => Some(width),
            ChannelKind::Bytes => None,
        }
    }
}

/// The declaration of a channel. Channels are numbered in the order in which they are
/// [declared](super::ChannelGrid::declare).
///
/// ```
/// use terravox::voxel::{Channel, ChannelKind, ChannelWidth, MipRule};
///
/// let owner = Channel::values("owner", ChannelWidth::U16, MipRule::MostFrequent);
/// assert_eq!(owner.kind.width().map(ChannelWidth::max_value), Some(65_535));
/// assert_eq!(Channel::bytes("spawns").kind, ChannelKind::Bytes);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Channel {
    /// 1 to [`Channel::MAX_NAME_BYTES`] bytes; no other channel of the world has it.
    pub name: String,
    /// What it holds.
    pub kind: ChannelKind,
}

impl Channel {
    /// Longest name, in bytes.
    pub const MAX_NAME_BYTES: usize = 64;

    /// A channel with a number for each voxel.
    pub fn values(name: impl Into<String>, width: ChannelWidth, mips: MipRule) -> Channel {
        Channel { name: name.into(), kind: ChannelKind::Values { width, mips } }
    }

    /// A channel with bytes for each chunk.
    pub fn bytes(name: impl Into<String>) -> Channel {
        Channel { name: name.into(), kind: ChannelKind::Bytes }
    }
}

/// Why a channel was not declared, or bytes were not stored. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelError {
    /// The name is empty or too long.
    Name {
        /// Its length.
        bytes: usize,
    },
    /// The name belongs to a channel of another kind.
    Declared(Channel),
    /// There are [`ChannelGrid::MAX_CHANNELS`](super::ChannelGrid::MAX_CHANNELS) channels already.
    TooMany {
        /// The name of the one that there is no room for.
        name: String,
    },
    /// More bytes than [`ChannelChunk::MAX_BYTES`](super::ChannelChunk::MAX_BYTES).
    TooLong {
        /// How many.
        bytes: usize,
    },
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelError::Name { bytes } => write!(
                f,
                "the name of the channel has {bytes} bytes; it must have 1 to {}",
                Channel::MAX_NAME_BYTES
            ),
            ChannelError::Declared(channel) => write!(
                f,
                "channel \"{}\" is declared as {:?} already; use another name",
                channel.name, channel.kind
            ),
            ChannelError::TooMany { name } => write!(
                f,
                "there is no room for channel \"{name}\": a world has at most {} channels",
                MAX_CHANNELS
            ),
            ChannelError::TooLong { bytes } => {
                write!(f, "{bytes} bytes for a chunk; a channel holds at most {}", MAX_CHUNK_BYTES)
            }
        }
    }
}

impl std::error::Error for ChannelError {}
