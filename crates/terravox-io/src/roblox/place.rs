//! What both containers are searched for: Terrain instances and two properties of each.

use super::smooth_grid::has_chunks;

/// A property of Terrain that we read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    SmoothGrid,
    MaterialColors,
}

impl Wanted {
    pub(super) fn named(name: &[u8]) -> Option<Wanted> {
        [Wanted::SmoothGrid, Wanted::MaterialColors]
            .into_iter()
            .find(|wanted| wanted.name().as_bytes() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Wanted::SmoothGrid => "SmoothGrid",
            Wanted::MaterialColors => "MaterialColors",
        }
    }
}

/// One Terrain instance; a property that the file leaves out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terrain {
    pub smooth_grid: Option<Vec<u8>>,
    pub colours: Option<Vec<u8>>,
}

impl Terrain {
    pub(super) fn set(&mut self, wanted: Wanted, value: Vec<u8>) {
        match wanted {
            Wanted::SmoothGrid => self.smooth_grid = Some(value),
            Wanted::MaterialColors => self.colours = Some(value),
        }
    }

    fn has_chunks(&self) -> bool {
        self.smooth_grid.as_deref().is_some_and(has_chunks)
    }
}

/// What a file holds.
#[derive(Debug)]
pub(super) struct Place {
    /// In the order of the file.
    pub terrains: Vec<Terrain>,
    /// Classes in the file.
    pub classes: u64,
    /// Instances in the file.
    pub instances: u64,
}

impl Place {
    /// Index of the Terrain to import: the first that has chunks, else the first.
    pub(super) fn choice(&self) -> Option<usize> {
        let first = (!self.terrains.is_empty()).then_some(0);
        self.terrains.iter().position(Terrain::has_chunks).or(first)
    }

    /// How many Terrain instances have chunks.
    pub(super) fn with_chunks(&self) -> usize {
        self.terrains.iter().filter(|terrain| terrain.has_chunks()).count()
    }
}
