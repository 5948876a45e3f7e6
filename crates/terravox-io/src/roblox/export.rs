//! Exporting a grid as a SmoothGrid or a model.

use super::container::Container;
use super::error::RobloxError;
use super::metadata::RobloxMetadata;
use super::smooth_grid::SmoothGridWriter;
use super::terrain_instance::TerrainProperty;
use super::{binary, xml};
use std::collections::HashMap;
use terravox::voxel::{ChunkPos, DenseBox, NotHeld, Snapshot};

/// Longest value of a model. Its lengths are signed 32-bit integers, and compression may lengthen a
/// value a little.
const MAX_VALUE_BYTES: usize = 2_000_000_000;

/// Why an export failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A chunk cannot go into a Roblox file.
    #[error(transparent)]
    Roblox(#[from] RobloxError),
    /// A chunk is not held at mip 0.
    #[error("{0}; load the whole world before exporting it")]
    NotHeld(#[from] NotHeld),
}

/// Encodes the terrain of a grid as a SmoothGrid, or as a model that holds one Terrain with
/// SmoothGrid and MaterialColors. Pass the `metadata` of the import that the world comes from, or
/// the default. An imported place that was not edited gives the same SmoothGrid and MaterialColors,
/// byte for byte.
///
/// # Errors
/// If a listed chunk is not held at mip 0, is beyond
/// [`MAX_CHUNK_COORDINATE`](super::MAX_CHUNK_COORDINATE) or holds a material above 63, or if the
/// terrain is too large for a model.
pub fn export(
    grid: &Snapshot,
    metadata: &RobloxMetadata,
    container: Container,
) -> Result<Vec<u8>, ExportError> {
    let blob = export_smooth_grid(grid, metadata)?;
    if container != Container::SmoothGrid && blob.len() > MAX_VALUE_BYTES {
        return Err(RobloxError::TooLong { bytes: blob.len() }.into());
    }
    let colours = metadata.material_colors(grid.materials());
    let properties: [(TerrainProperty, &[u8]); 2] =
        [(TerrainProperty::MaterialColors, &colours), (TerrainProperty::SmoothGrid, &blob)];
    Ok(match container {
        Container::Binary => binary::write(&properties),
        Container::Xml => xml::write(&properties),
        Container::SmoothGrid => blob,
    })
}

fn export_smooth_grid(grid: &Snapshot, metadata: &RobloxMetadata) -> Result<Vec<u8>, ExportError> {
    let mut writer = SmoothGridWriter::new(grid.materials().kinds());
    let mut cells = DenseBox::default();
    for chunk in in_file_order(grid.chunks(), metadata.order.as_deref()) {
        grid.read(chunk.region(), 0, &mut cells)?;
        writer.push(&cells)?;
    }
    Ok(writer.finish())
}

/// Returns the chunks of the file in its order, then the new ones, ascending.
fn in_file_order(mut chunks: Vec<ChunkPos>, order: Option<&[ChunkPos]>) -> Vec<ChunkPos> {
    let Some(order) = order else { return chunks };
    // Positions come from a file, so the hash is keyed.
    let rank: HashMap<ChunkPos, usize> =
        order.iter().enumerate().map(|(i, &chunk)| (chunk, i)).collect();
    chunks.sort_by_key(|chunk| (rank.get(chunk).copied().unwrap_or(usize::MAX), *chunk));
    chunks
}
