//! Smooth, editable voxel terrain for Bevy. `README.md` has the first program and how the crate is
//! split.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod chunks;
mod edits;
mod ground;
mod loose;
mod made_mesh;
#[cfg(feature = "online")]
pub mod online;
mod palette;
#[cfg(feature = "picking")]
pub mod picking;
mod plugin;
mod queries;
#[cfg(feature = "render")]
pub mod render;
#[cfg(feature = "store")]
mod store;
mod streaming;
mod surface_mesh;
mod terrain;
mod viewer;

#[cfg(feature = "avian")]
pub mod avian;

/// The terrain library itself.
pub use terravox;

pub use chunks::{TerrainChunk, TerrainChunks};
pub use edits::{EditTerrain, TerrainAction, TerrainEditFailed, TerrainEdited};
pub use ground::{GroundReady, WaitForGround};
pub use loose::{LoosePiece, LoosePieces, PieceCutLoose};
pub use palette::{MaterialLook, PaletteHandle, TerrainPalette};
pub use plugin::{TerravoxPlugin, TerravoxSettings, TerravoxStats, TerravoxSystems};
pub use queries::{TerrainHit, Terrains};
#[cfg(feature = "store")]
pub use store::{SaveTerrain, TerrainSaved, TerrainStore};
pub use terrain::Terrain;
pub use viewer::TerrainViewer;

/// What a game needs first.
pub mod prelude {
    pub use crate::{
        EditTerrain, GroundReady, LoosePieces, PaletteHandle, Terrain, TerrainAction,
        TerrainEdited, TerrainHit, TerrainPalette, TerrainViewer, Terrains, TerravoxPlugin,
        TerravoxSettings, TerravoxSystems, WaitForGround,
    };
    #[cfg(feature = "store")]
    pub use crate::{SaveTerrain, TerrainSaved, TerrainStore};
    pub use terravox::edit::EditOp;
    pub use terravox::terrain::{FillRequest, TerrainOptions};
}
