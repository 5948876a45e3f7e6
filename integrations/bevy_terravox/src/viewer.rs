//! Where the world is seen from.

use bevy::prelude::*;

/// Streams terrain in around its entity: usually on the camera. There may be any number of them;
/// each is a viewer of every terrain. Vertices morph (`LodOptions::morph`) by their distance to four of
/// them at most.
#[derive(Component, Clone, Copy, Debug, PartialEq, Reflect)]
#[reflect(Component, Default)]
#[require(Transform)]
pub struct TerrainViewer {
    /// View distance, metres. `LodOptions::max_mip` bounds the work of a far view, too: the
    /// coarsest blocks are generated whole.
    pub distance_m: f32,
}

impl TerrainViewer {
    /// A viewer with this view distance, metres.
    pub fn new(distance_m: f32) -> TerrainViewer {
        TerrainViewer { distance_m }
    }
}

impl Default for TerrainViewer {
    /// One kilometre.
    fn default() -> TerrainViewer {
        TerrainViewer { distance_m: 1000.0 }
    }
}
