//! The Terrain of a file, from either container, with the two properties that matter.

use std::borrow::Cow;

/// A property of Terrain that we read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerrainProperty {
    SmoothGrid,
    MaterialColors,
}

impl TerrainProperty {
    pub(super) fn from_name(name: &[u8]) -> Option<TerrainProperty> {
        [TerrainProperty::SmoothGrid, TerrainProperty::MaterialColors]
            .into_iter()
            .find(|property| property.name().as_bytes() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            TerrainProperty::SmoothGrid => "SmoothGrid",
            TerrainProperty::MaterialColors => "MaterialColors",
        }
    }
}

/// The properties of one Terrain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerrainValues<'a> {
    /// Empty if the file leaves it out.
    pub smooth_grid: Cow<'a, [u8]>,
    /// `None` if the file leaves them out.
    pub colours: Option<Vec<u8>>,
}

/// Parts of a binary file that hold no terrain and were not unpacked; none in other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedParts {
    /// Chunks of the container.
    pub parts: u64,
    /// Bytes that they take in the file.
    pub bytes: u64,
}

/// The content of a file, as far as terrain is concerned.
#[derive(Debug)]
pub(super) struct RobloxFile<'a> {
    /// The Terrain to import: the first that has chunks, else the first.
    pub terrain: Option<TerrainValues<'a>>,
    /// Terrains that have chunks.
    pub terrains_with_chunks: u64,
    /// Classes in the file.
    pub classes: u64,
    /// Instances in the file, as it claims.
    pub instances: u64,
    /// Parts that were not unpacked.
    pub skipped: SkippedParts,
}
