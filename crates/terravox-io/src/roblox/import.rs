//! Importing a Roblox place or model into a grid.

use super::container::{Container, detect_known};
use super::error::RobloxError;
use super::metadata::{self, RobloxMetadata};
use super::smooth_grid::SmoothGridReader;
use super::terrain_instance::{RobloxFile, SkippedParts, TerrainValues};
use super::{binary, xml};
use crate::import_budget::ImportBudget;
use std::borrow::Cow;
use terravox::codec::Rle;
use terravox::voxel::{ChunkPos, DenseBox, VoxelGrid};

/// Options of [`import()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The container; `None` to detect it.
    pub container: Option<Container>,
}

/// The result of [`import()`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobloxImport {
    /// Metadata to store with the world, for [`export`](super::export()).
    pub metadata: RobloxMetadata,
    /// The container of the file.
    pub container: Container,
    /// Chunks written to the grid, including chunks of air.
    pub chunks: u64,
    /// Bytes of the SmoothGrid.
    pub smooth_grid_bytes: u64,
    /// Parts of the file that hold no terrain and were not unpacked.
    pub skipped: SkippedParts,
    /// Notes for the user, one line each: an empty terrain, several Terrains, invalid colours, runs
    /// in another form than Roblox writes.
    pub notes: Vec<String>,
}

/// Writes the terrain of a place or model into `grid`, which should be empty with unlisted chunks
/// as air, and sets the colours of its materials. Safe for untrusted files: memory and work are
/// those of [`ImportLimits::for_input`](crate::ImportLimits::for_input).
///
/// # Errors
/// If the bytes are not a Roblox file, hold no Terrain, are damaged or exceed the budget. The grid
/// may then hold a part of the terrain: discard it.
pub fn import(
    bytes: &[u8],
    options: &ImportOptions,
    grid: &mut VoxelGrid,
) -> Result<RobloxImport, RobloxError> {
    let mut budget = ImportBudget::for_input(bytes.len());
    import_with_progress(bytes, options, &mut budget, grid, |_, _| {})
}

/// [`import()`] within a budget of the caller, that calls `progress(done, total)`, in bytes of the
/// SmoothGrid, after every chunk.
///
/// # Errors
/// As [`import()`].
pub fn import_with_progress(
    bytes: &[u8],
    options: &ImportOptions,
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    progress: impl FnMut(usize, usize),
) -> Result<RobloxImport, RobloxError> {
    let container = match options.container {
        Some(container) if !bytes.is_empty() => container,
        _ => detect_known(bytes)?,
    };
    let file = read_file(bytes, container, budget)?;
    let Some(TerrainValues { smooth_grid, colours }) = file.terrain else {
        let RobloxFile { instances, classes, .. } = file;
        return Err(RobloxError::NoTerrain { instances, classes });
    };
    let mut notes = Vec::new();
    let terrains = file.terrains_with_chunks;
    if terrains > 1 {
        notes.push(format!("the file holds {terrains} Terrains with voxels; imported the first"));
    }
    let SmoothGridSummary { chunks, order, is_canonical } =
        import_chunks(&smooth_grid, budget, grid, progress)?;
    if chunks == 0 {
        notes.push("the Terrain is empty".to_owned());
    }
    if !is_canonical {
        let note = "the runs of cells are not as Roblox writes them; an export will hold the same \
                    cells in different bytes";
        notes.push(note.to_owned());
    }
    let colours = colours.filter(|colours| match set_colours(colours, grid) {
        Ok(()) => true,
        Err(note) => {
            notes.push(note);
            false
        }
    });
    let metadata = RobloxMetadata { order, colours };
    let smooth_grid_bytes = smooth_grid.len() as u64;
    let skipped = file.skipped;
    Ok(RobloxImport { metadata, container, chunks, smooth_grid_bytes, skipped, notes })
}

/// Finds the Terrain of a file.
fn read_file<'a>(
    bytes: &'a [u8],
    container: Container,
    budget: &mut ImportBudget,
) -> Result<RobloxFile<'a>, RobloxError> {
    match container {
        Container::Binary => binary::read(bytes, budget),
        Container::Xml => xml::read(bytes, budget),
        Container::SmoothGrid => Ok(RobloxFile {
            terrain: Some(TerrainValues { smooth_grid: Cow::Borrowed(bytes), colours: None }),
            terrains_with_chunks: 1,
            classes: 1,
            instances: 1,
            skipped: SkippedParts::default(),
        }),
    }
}

/// Summary of an imported SmoothGrid.
struct SmoothGridSummary {
    /// Number of chunks.
    chunks: u64,
    /// Chunks in the order of the file; `None` if they ascend.
    order: Option<Vec<ChunkPos>>,
    /// Whether our encoder writes the same bytes.
    is_canonical: bool,
}

fn import_chunks(
    blob: &[u8],
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<SmoothGridSummary, RobloxError> {
    let kinds = *grid.materials().kinds();
    let mut reader = SmoothGridReader::new(blob, &kinds)?;
    let (mut cells, mut runs) = (DenseBox::default(), Vec::new());
    let (mut order, mut is_canonical) = (Vec::new(), true);
    while let Some(chunk) = reader.next_chunk(&mut cells, budget)? {
        let result = grid.write(&cells);
        assert!(result.is_ok(), "a whole chunk can always be written");
        order.push(chunk);
        runs.clear();
        Rle::narrow(&kinds).encode_box(&cells, &mut runs);
        is_canonical &= blob[..reader.position()].ends_with(&runs);
        progress(reader.position(), blob.len());
    }
    let chunks = order.len() as u64;
    Ok(SmoothGridSummary { chunks, order: (!order.is_sorted()).then_some(order), is_canonical })
}

/// Sets the colours of the world's materials from MaterialColors.
///
/// # Errors
/// A note for the user if they are invalid.
pub(super) fn set_colours(colours: &[u8], grid: &mut VoxelGrid) -> Result<(), String> {
    let mut table = grid.materials().clone();
    for (id, colour) in metadata::read_colours(colours)? {
        // The world may have fewer materials; colours of the others are ignored.
        table.set_colour(id, colour);
    }
    grid.set_materials(table);
    Ok(())
}
