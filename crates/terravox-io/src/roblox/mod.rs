//! Imports and exports the terrain of Roblox places and models, byte for byte.
//!
//! A place's terrain is one value, SmoothGrid, in the one Terrain instance of the file. [`import`]
//! finds it in `.rbxm`, `.rbxl`, `.rbxmx`, `.rbxlx` or takes it raw, and writes it into a grid;
//! [`export`] makes it, or a model that holds it, from a grid. [`RobloxMetadata`] is the part of a
//! file that a grid does not hold.
//!
//! ```
//! use terravox::voxel::{DenseBox, GridOptions, Region, VoxelGrid};
//! use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata};
//!
//! let mut grid = VoxelGrid::new(GridOptions::default());
//! let mut cells = DenseBox::new(Region::new([0, 0, 0], [40, 8, 40]));
//! cells.fill(2);
//! grid.write(&cells).unwrap();
//! let metadata = RobloxMetadata::default();
//! let model = roblox::export(grid.as_snapshot(), &metadata, Container::Binary).unwrap();
//!
//! let mut again = VoxelGrid::new(GridOptions::default());
//! let imported = roblox::import(&model, &ImportOptions::default(), &mut again).unwrap();
//! assert_eq!(imported.chunks, 4);
//! assert_eq!(again.digest(), grid.digest());
//! ```

mod binary;
mod error;
mod metadata;
mod smooth_grid;
mod terrain_instance;
mod xml;

pub use error::{FilePart, RobloxError};
pub use metadata::RobloxMetadata;
pub use smooth_grid::{SmoothGridReader, SmoothGridWriter};

use terrain_instance::{RobloxFile, TerrainInstance, TerrainProperty};
use terravox::codec::Rle;
use terravox::voxel::{ChunkPos, DenseBox, NotHeld, Snapshot, VoxelGrid};

/// Chunks of a Roblox place are within this many chunks of the origin on each axis.
pub const CHUNK_LIMIT: i32 = 262_144;

/// Edge of a voxel in studs, Roblox's unit of length.
pub const STUDS_PER_VOXEL: f32 = 4.0;

/// Longest value of a model: its lengths are signed 32 bits, and the compressed value may be a
/// little longer.
const MAX_VALUE_BYTES: usize = 2_000_000_000;

/// A file format that contains terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// `.rbxm`, `.rbxl`.
    Binary,
    /// `.rbxmx`, `.rbxlx`.
    Xml,
    /// The bare value, `.smoothgrid`.
    SmoothGrid,
}

/// Detects the container of `bytes` by their start; `None` if it is unknown.
pub fn detect(bytes: &[u8]) -> Option<Container> {
    if bytes.starts_with(&binary::MAGIC[..8]) {
        return Some(Container::Binary);
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<roblox") || text.starts_with(b"<?xml") || text.starts_with(b"<!--") {
        return Some(Container::Xml);
    }
    // Version and chunk edge: other likely files do not start like this.
    matches!(bytes, [1, 0..=8, ..]).then_some(Container::SmoothGrid)
}

/// Limits on the import of an untrusted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// Most chunks. A chunk takes at least 268 bytes of a file, and up to 2 kB of memory if it is
    /// far from all others.
    pub chunks: u64,
    /// Most rows of 32 cells that are not full cells of one material; each takes 64 bytes of
    /// memory.
    pub mixed_rows: u64,
    /// Most decompressed bytes of one part of a file, and of all its terrain.
    pub unpacked_bytes: u64,
}

impl Default for ImportLimits {
    /// 262,144 chunks, 16,777,216 rows (1 GiB) and 256 MiB: many times the largest real place that
    /// we know, which has 13,000 chunks in 15 MB.
    fn default() -> ImportLimits {
        ImportLimits { chunks: 1 << 18, mixed_rows: 1 << 24, unpacked_bytes: 1 << 28 }
    }
}

/// Options of [`import`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The container; `None` to detect it.
    pub container: Option<Container>,
    /// Limits for untrusted files.
    pub limits: ImportLimits,
}

/// The result of [`import`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobloxImport {
    /// Store it with the world, for [`export`].
    pub metadata: RobloxMetadata,
    /// The container of the file.
    pub container: Container,
    /// Chunks written to the grid, including chunks of air.
    pub chunks: u64,
    /// Bytes of the SmoothGrid.
    pub bytes: u64,
    /// Notes for the user, one line each: an empty terrain, more than one Terrain, invalid colours,
    /// runs in another form than Roblox writes them.
    pub notes: Vec<String>,
}

/// Writes the terrain of a place or model into `grid`, which should be empty with unlisted chunks
/// as air, and sets the colours of its materials.
///
/// # Errors
/// If the bytes are not a Roblox file, hold no Terrain, are damaged or exceed a limit. The grid may
/// then hold a part of the terrain: discard it.
pub fn import(
    bytes: &[u8],
    options: &ImportOptions,
    grid: &mut VoxelGrid,
) -> Result<RobloxImport, RobloxError> {
    import_with_progress(bytes, options, grid, |_, _| {})
}

/// [`import`] that calls `progress(done, all)`, in bytes of the SmoothGrid, after every chunk.
///
/// # Errors
/// As [`import`].
pub fn import_with_progress(
    bytes: &[u8],
    options: &ImportOptions,
    grid: &mut VoxelGrid,
    progress: impl FnMut(usize, usize),
) -> Result<RobloxImport, RobloxError> {
    let (container, file) = open(bytes, options)?;
    let Some(choice) = file.choice() else {
        let RobloxFile { instances, classes, .. } = file;
        return Err(RobloxError::NoTerrain { instances, classes });
    };
    let mut notes = Vec::new();
    if file.with_chunks() > 1 {
        let n = file.with_chunks();
        notes.push(format!("the file holds {n} Terrains with voxels; the first is taken"));
    }
    let TerrainInstance { smooth_grid, colours } = &file.terrains[choice];
    let blob = smooth_grid.as_deref().unwrap_or(&[]);
    let read = import_chunks(blob, &options.limits, grid, progress)?;
    let SmoothGridSummary { count: chunks, order, is_canonical } = read;
    if chunks == 0 {
        notes.push("the Terrain is empty".to_owned());
    }
    if !is_canonical {
        let note = "the runs of cells are not as Roblox writes them; exporting gives the same \
                    cells in other bytes";
        notes.push(note.to_owned());
    }
    let colours = colours.clone().filter(|colours| match set_colours(colours, grid) {
        Ok(()) => true,
        Err(note) => {
            notes.push(note);
            false
        }
    });
    let metadata = RobloxMetadata { order, colours };
    Ok(RobloxImport { metadata, container, chunks, bytes: blob.len() as u64, notes })
}

/// Finds the Terrains of a file.
fn open(bytes: &[u8], options: &ImportOptions) -> Result<(Container, RobloxFile), RobloxError> {
    if bytes.is_empty() {
        return Err(RobloxError::Empty);
    }
    let Some(container) = options.container.or_else(|| detect(bytes)) else {
        let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return Err(RobloxError::Unknown { start: start.join(" ") });
    };
    let file = match container {
        Container::Binary => binary::read(bytes, &options.limits)?,
        Container::Xml => xml::read(bytes, &options.limits)?,
        Container::SmoothGrid => {
            let terrain = TerrainInstance { smooth_grid: Some(bytes.to_vec()), colours: None };
            RobloxFile { terrains: vec![terrain], classes: 1, instances: 1 }
        }
    };
    Ok((container, file))
}

/// Summary of an imported SmoothGrid.
struct SmoothGridSummary {
    count: u64,
    /// The order of the file, if it is not ascending.
    order: Option<Vec<ChunkPos>>,
    /// Whether our encoder writes the same bytes.
    is_canonical: bool,
}

fn import_chunks(
    blob: &[u8],
    limits: &ImportLimits,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<SmoothGridSummary, RobloxError> {
    let kinds = *grid.materials().kinds();
    let mut reader = SmoothGridReader::new(blob, &kinds, limits)?;
    let (mut cells, mut runs) = (DenseBox::default(), Vec::new());
    let (mut order, mut is_canonical) = (Vec::new(), true);
    while let Some(chunk) = reader.next_chunk(&mut cells)? {
        let written = grid.write(&cells);
        assert!(written.is_ok(), "a whole chunk can always be written");
        order.push(chunk);
        runs.clear();
        Rle::narrow(&kinds).encode_box(&cells, &mut runs);
        is_canonical &= blob[..reader.position()].ends_with(&runs);
        progress(reader.position(), blob.len());
    }
    let count = order.len() as u64;
    Ok(SmoothGridSummary { count, order: (!order.is_sorted()).then_some(order), is_canonical })
}

fn set_colours(colours: &[u8], grid: &mut VoxelGrid) -> Result<(), String> {
    let mut table = grid.materials().clone();
    for (id, colour) in metadata::read_colours(colours)? {
        // The world's table may be shorter; colours of unlisted materials are ignored.
        table.set_colour(id, colour);
    }
    grid.set_materials(table);
    Ok(())
}

/// Encodes the terrain of a grid: a SmoothGrid, or a model that holds one Terrain with SmoothGrid
/// and MaterialColors. Pass the `metadata` of the import that the world comes from, or the default.
/// A place that was imported and not edited gives the same SmoothGrid and MaterialColors, byte for
/// byte.
///
/// # Errors
/// If a listed chunk is not held at mip 0, is beyond [`CHUNK_LIMIT`] or holds a material above 63.
pub fn export(
    grid: &Snapshot,
    metadata: &RobloxMetadata,
    container: Container,
) -> Result<Vec<u8>, ExportError> {
    let blob = export_smooth_grid(grid, metadata)?;
    if container != Container::SmoothGrid && blob.len() > MAX_VALUE_BYTES {
        return Err(RobloxError::TooLong { bytes: blob.len() }.into());
    }
    let colours = metadata.colours_of(grid.materials());
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
    for chunk in ordered(grid.chunks(), metadata.order.as_deref()) {
        grid.read(chunk.region(), 0, &mut cells)?;
        writer.push(&cells)?;
    }
    Ok(writer.finish())
}

/// The chunks in the order of the file, then the new ones, ascending.
fn ordered(mut chunks: Vec<ChunkPos>, order: Option<&[ChunkPos]>) -> Vec<ChunkPos> {
    let Some(order) = order else { return chunks };
    let rank: rustc_hash::FxHashMap<ChunkPos, usize> =
        order.iter().enumerate().map(|(i, &chunk)| (chunk, i)).collect();
    chunks.sort_by_key(|chunk| (rank.get(chunk).copied().unwrap_or(usize::MAX), *chunk));
    chunks
}

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

#[cfg(test)]
mod tests;
