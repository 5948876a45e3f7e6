//! Exporting a grid as a SmoothGrid or a model.

use super::container::{Container, detect_known};
use super::error::RobloxError;
use super::limits::MAX_VALUE_BYTES;
use super::metadata::RobloxMetadata;
use super::smooth_grid::SmoothGridWriter;
use super::terrain_instance::TerrainProperty;
use super::{binary, xml};
use crate::import_budget::ImportBudget;
use std::collections::HashMap;
use terravox::voxel::{ChunkPos, DenseBox, NotHeld, Snapshot};

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
    if container != Container::SmoothGrid {
        check_length(&blob)?;
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

/// Encodes the terrain of a grid into a place or model: returns its bytes with another SmoothGrid
/// in the Terrain that [`import()`](super::import()) takes, the first with chunks, else the first.
/// Every byte outside of that property stays, among them MaterialColors, scripts and models. Pass
/// the `metadata` of the import that the world comes from, or the default.
///
/// ```
/// use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
/// use terravox_io::ImportBudget;
/// use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata};
///
/// // A place with empty terrain.
/// let (mut grid, metadata) = (VoxelGrid::new(GridOptions::default()), RobloxMetadata::default());
/// let place = roblox::export(grid.as_snapshot(), &metadata, Container::Binary)?;
///
/// let mut cells = DenseBox::new(Region::new([0, 0, 0], [40, 8, 40]));
/// cells.fill(2);
/// grid.write(&cells)?;
/// let mut budget = ImportBudget::for_input(place.len());
/// let place = roblox::export_into(grid.as_snapshot(), &metadata, &place, &mut budget)?;
///
/// let mut again = VoxelGrid::new(GridOptions::default());
/// roblox::import(&place, &ImportOptions::default(), &mut again)?;
/// assert_eq!(again.digest(), grid.digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`export()`] and [`import()`](super::import()), and if a place in XML has a Terrain without
/// any property, even a name. Of a raw SmoothGrid nothing stays: the result is the grid's.
pub fn export_into(
    grid: &Snapshot,
    metadata: &RobloxMetadata,
    place: &[u8],
    budget: &mut ImportBudget,
) -> Result<Vec<u8>, ExportError> {
    let container = detect_known(place)?;
    let blob = export_smooth_grid(grid, metadata)?;
    if container == Container::SmoothGrid {
        return Ok(blob);
    }
    check_length(&blob)?;
    Ok(match container {
        Container::Xml => xml::replace(place, budget, &blob)?,
        _ => binary::replace(place, budget, &blob)?,
    })
}

/// Refuses a SmoothGrid that does not fit in a model.
fn check_length(blob: &[u8]) -> Result<(), RobloxError> {
    match blob.len() > MAX_VALUE_BYTES {
        true => Err(RobloxError::TooLong { bytes: blob.len() }),
        false => Ok(()),
    }
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
