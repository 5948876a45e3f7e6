//! Terrain of Roblox places and models, in and out, byte-exact.
//!
//! A place's terrain is one value, SmoothGrid, in the one Terrain instance of the file.
//! [`import`] finds it in `.rbxm`, `.rbxl`, `.rbxmx`, `.rbxlx` or takes it raw, and writes
//! it into a grid; [`export`] makes it, or a model that holds it, from a grid. What the
//! grid does not hold comes and goes as [`RobloxMetadata`].
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
mod place;
mod smooth_grid;
mod xml;

pub use error::{FilePart, RobloxError};
pub use metadata::RobloxMetadata;
pub use smooth_grid::{SmoothGridReader, SmoothGridWriter};

use place::{Place, Terrain, Wanted};
use terravox::codec::Rle;
use terravox::voxel::{ChunkPos, DenseBox, NotHeld, Snapshot, VoxelGrid};

/// Chunks of a Roblox place lie within this many chunks of the origin, on each axis.
pub const CHUNK_LIMIT: i32 = 262_144;

/// Edge of a voxel in studs, Roblox' unit of length.
pub const STUDS_PER_VOXEL: f32 = 4.0;

/// Longest value that a model can hold: lengths in it are signed 32 bits, and its packed
/// form may be a little longer.
const MAX_VALUE: usize = 2_000_000_000;

/// How the terrain is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// `.rbxm`, `.rbxl`.
    Binary,
    /// `.rbxmx`, `.rbxlx`.
    Xml,
    /// The bare value, `.smoothgrid`.
    SmoothGrid,
}

/// The container that `bytes` are, by their start; `None` if none that we know.
pub fn detect(bytes: &[u8]) -> Option<Container> {
    if bytes.starts_with(&binary::MAGIC[..8]) {
        return Some(Container::Binary);
    }
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<roblox") || text.starts_with(b"<?xml") || text.starts_with(b"<!--") {
        return Some(Container::Xml);
    }
    // Version and chunk edge: no other file that is likely here starts so.
    matches!(bytes, [1, 0..=8, ..]).then_some(Container::SmoothGrid)
}

/// What an import accepts of a file that nobody vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most chunks. A chunk can take as little as 268 bytes of a file, and 2 kB of memory
    /// when it lies far from all others.
    pub chunks: u64,
    /// Most rows of 32 cells that are not full cells of one material: 64 bytes of memory
    /// each.
    pub mixed_rows: u64,
    /// Most bytes to which a compressed part of a file, and all terrain in it, unpack.
    pub unpacked_bytes: u64,
}

impl Default for Limits {
    /// 262,144 chunks, 16,777,216 rows (1 GiB) and 256 MiB: many times the largest real
    /// place that we have seen, which has 13,000 chunks in 15 MB.
    fn default() -> Limits {
        Limits { chunks: 1 << 18, mixed_rows: 1 << 24, unpacked_bytes: 1 << 28 }
    }
}

/// How to import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// What the bytes are; `None` to tell by their start.
    pub container: Option<Container>,
    /// What is accepted.
    pub limits: Limits,
}

/// What an import found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// To be kept with the world, for [`export`].
    pub metadata: RobloxMetadata,
    /// What the file was.
    pub container: Container,
    /// Chunks written to the grid, those of air too.
    pub chunks: u64,
    /// Bytes of the SmoothGrid.
    pub bytes: u64,
    /// What a user should know, a line each: an empty terrain, further Terrains, colours
    /// that could not be read, runs that Roblox would write otherwise.
    pub notes: Vec<String>,
}

/// Writes the terrain of a place or model into `grid`, which should be empty and unlisted
/// as air, and sets the colours of its materials.
///
/// # Errors
/// If the bytes are not a Roblox file, hold no Terrain, are damaged or pass a limit. The
/// grid may then hold a part of the terrain: discard it.
pub fn import(
    bytes: &[u8],
    options: &ImportOptions,
    grid: &mut VoxelGrid,
) -> Result<Imported, RobloxError> {
    import_with_progress(bytes, options, grid, |_, _| {})
}

/// [`import`], which tells `progress(done, all)`, in bytes of the SmoothGrid, after every
/// chunk.
///
/// # Errors
/// As [`import`].
pub fn import_with_progress(
    bytes: &[u8],
    options: &ImportOptions,
    grid: &mut VoxelGrid,
    progress: impl FnMut(usize, usize),
) -> Result<Imported, RobloxError> {
    let (container, place) = open(bytes, options)?;
    let Some(choice) = place.choice() else {
        let Place { instances, classes, .. } = place;
        return Err(RobloxError::NoTerrain { instances, classes });
    };
    let mut notes = Vec::new();
    if place.with_chunks() > 1 {
        let n = place.with_chunks();
        notes.push(format!("the file holds {n} Terrains with voxels; the first is taken"));
    }
    let Terrain { smooth_grid, colours } = &place.terrains[choice];
    let blob = smooth_grid.as_deref().unwrap_or(&[]);
    let read = import_chunks(blob, &options.limits, grid, progress)?;
    let Chunks { count: chunks, order, canonical } = read;
    if chunks == 0 {
        notes.push("the Terrain is empty".to_owned());
    }
    if !canonical {
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
    Ok(Imported { metadata, container, chunks, bytes: blob.len() as u64, notes })
}

/// Finds the Terrains of a file.
fn open(bytes: &[u8], options: &ImportOptions) -> Result<(Container, Place), RobloxError> {
    if bytes.is_empty() {
        return Err(RobloxError::Empty);
    }
    let Some(container) = options.container.or_else(|| detect(bytes)) else {
        let start: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        return Err(RobloxError::Unknown { start: start.join(" ") });
    };
    let place = match container {
        Container::Binary => binary::read(bytes, &options.limits)?,
        Container::Xml => xml::read(bytes, &options.limits)?,
        Container::SmoothGrid => {
            let terrain = Terrain { smooth_grid: Some(bytes.to_vec()), colours: None };
            Place { terrains: vec![terrain], classes: 1, instances: 1 }
        }
    };
    Ok((container, place))
}

/// What was read from a SmoothGrid.
struct Chunks {
    count: u64,
    /// The order of the file, if it is not ascending.
    order: Option<Vec<ChunkPos>>,
    /// Whether our encoder writes the same bytes.
    canonical: bool,
}

fn import_chunks(
    blob: &[u8],
    limits: &Limits,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<Chunks, RobloxError> {
    let kinds = *grid.materials().kinds();
    let mut reader = SmoothGridReader::new(blob, &kinds, limits)?;
    let (mut cells, mut runs) = (DenseBox::default(), Vec::new());
    let (mut order, mut canonical) = (Vec::new(), true);
    while let Some(chunk) = reader.next_chunk(&mut cells)? {
        let written = grid.write(&cells);
        assert!(written.is_ok(), "a whole chunk can always be written");
        order.push(chunk);
        runs.clear();
        Rle::narrow(&kinds).encode_box(&cells, &mut runs);
        canonical &= blob[..reader.position()].ends_with(&runs);
        progress(reader.position(), blob.len());
    }
    let count = order.len() as u64;
    Ok(Chunks { count, order: (!order.is_sorted()).then_some(order), canonical })
}

fn set_colours(colours: &[u8], grid: &mut VoxelGrid) -> Result<(), String> {
    let mut table = grid.materials().clone();
    for (id, colour) in metadata::read_colours(colours)? {
        // A world's own table may be shorter; what it does not list has no colour.
        table.set_colour(id, colour);
    }
    grid.set_materials(table);
    Ok(())
}

/// The terrain of a grid as a file: a SmoothGrid, or a model that holds one Terrain with
/// SmoothGrid and MaterialColors. `metadata` are those of the import that the world comes
/// from, else the default. A place that was imported and not edited gives the same
/// SmoothGrid and MaterialColors, byte by byte.
///
/// # Errors
/// If a listed chunk is not held at mip 0, lies beyond [`CHUNK_LIMIT`] or holds a material
/// above 63.
pub fn export(
    grid: &Snapshot,
    metadata: &RobloxMetadata,
    container: Container,
) -> Result<Vec<u8>, ExportError> {
    let blob = export_smooth_grid(grid, metadata)?;
    if container != Container::SmoothGrid && blob.len() > MAX_VALUE {
        return Err(RobloxError::TooLong { bytes: blob.len() }.into());
    }
    let colours = metadata.colours_of(grid.materials());
    let properties: [(Wanted, &[u8]); 2] =
        [(Wanted::MaterialColors, &colours), (Wanted::SmoothGrid, &blob)];
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

/// The chunks as the file had them, then those that came since, ascending.
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
