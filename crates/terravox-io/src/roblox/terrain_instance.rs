//! The Terrain instances of a file, from either container, with the two properties that matter.

use super::smooth_grid::has_chunks;

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

/// One Terrain instance. `None` stands for properties that the file leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerrainInstance {
    pub smooth_grid: Option<Vec<u8>>,
    pub colours: Option<Vec<u8>>,
}

impl TerrainInstance {
    pub(super) fn set(&mut self, property: TerrainProperty, value: Vec<u8>) {
        match property {
            TerrainProperty::SmoothGrid => self.smooth_grid = Some(value),
            TerrainProperty::MaterialColors => self.colours = Some(value),
        }
    }

    fn has_chunks(&self) -> bool {
        self.smooth_grid.as_deref().is_some_and(has_chunks)
    }
}

/// The content of a file, as far as terrain is concerned.
#[derive(Debug)]
pub(super) struct RobloxFile {
    /// In the order of the file.
    pub terrains: Vec<TerrainInstance>,
    /// Classes in the file.
    pub classes: u64,
    /// Instances in the file.
    pub instances: u64,
}

impl RobloxFile {
    /// Returns the Terrain to import: the first that has chunks, else the first.
    pub(super) fn terrain_to_import(&self) -> Option<&TerrainInstance> {
        let with_chunks = self.terrains.iter().find(|terrain| terrain.has_chunks());
        with_chunks.or(self.terrains.first())
    }

    /// Returns the number of Terrain instances that have chunks.
    pub(super) fn terrains_with_chunks(&self) -> usize {
        self.terrains.iter().filter(|terrain| terrain.has_chunks()).count()
    }
}
