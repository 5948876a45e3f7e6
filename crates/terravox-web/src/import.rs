//! Files that become worlds of the player's own: worlds, Roblox places, scenes of MagicaVoxel and
//! heightmaps. All but worlds spend from the import budget of `terravox-io`, which grows with their
//! length; a complete `.tvx` file may take what [`LocalHost::open`] allows.

use crate::host::LocalHost;
use std::sync::Arc;
use terravox::voxel::{ChunkPos, GridOptions, Region, Snapshot, VoxelGrid, VoxelPos};
use terravox_io::ImportBudget;
use terravox_io::heightmap::{self, ColourPolicy, HeightmapError, HeightmapOptions};
use terravox_io::roblox::{self, ImportOptions, RobloxMetadata};
use terravox_io::vox::{self, VoxError, VoxOptions};
use terravox_store::{BadPart, MemoryDisk, Store, StoreError, StoredPart, ValueError, WorldInfo};

const WORLD_MAGIC: &[u8] = b"\x89TVX\r\n\x1A\n";
const PNG_MAGIC: &[u8] = b"\x89PNG\r\n\x1A\n";

/// What helps against damaged parts.
const MEND: &str = "mend a copy with terravox repair, and drop that";

/// How far above the ground a visit of an imported world begins, metres.
const START_HEIGHT_M: f64 = 25.0;

/// A file as a world.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedWorld {
    /// The bytes of a `.tvx` file, which [`PlayerWorld::open_or_create`](crate::PlayerWorld::open_or_create) opens.
    pub bytes: Vec<u8>,
    /// A point above ground or water in its middle, metres; `None` for what was a world before.
    pub start_m: Option<[f64; 3]>,
    /// Notes for the user, a line each.
    pub notes: Vec<String>,
}

/// Makes a world of a file, by its content: a `.tvx` file that
/// [`PlayerWorld::open_or_create`](crate::PlayerWorld::open_or_create) opens, a Roblox place or model, a scene of
/// MagicaVoxel in voxels of a metre, or a heightmap in shades of grey (PNG; a sample is a metre
/// wide, and the land an eighth of its width high).
///
/// All but worlds take memory by the file's length, as in
/// [`ImportLimits::for_input`](terravox_io::ImportLimits). All of a world is checked, and a
/// complete one loaded.
///
/// # Errors
/// What is the matter with the file; the text begins with `name`.
pub fn import_world(name: &str, bytes: Vec<u8>) -> Result<ImportedWorld, String> {
    let named = |what: String| format!("{name}: {what}");
    if bytes.is_empty() {
        return Err(named("the file is empty".to_owned()));
    }
    if bytes.starts_with(WORLD_MAGIC) {
        let disk = Arc::new(MemoryDisk::from(bytes));
        check_world(name, &disk)?;
        return Ok(ImportedWorld { bytes: disk.to_bytes(), start_m: None, notes: Vec::new() });
    }
    let mut budget = ImportBudget::for_input(bytes.len());
    if bytes.starts_with(PNG_MAGIC) {
        return import_heightmap(name, &bytes, &mut budget).map_err(named);
    }
    if vox::is_vox(&bytes) {
        return import_scene(name, &bytes, &mut budget).map_err(named);
    }
    match roblox::detect(&bytes) {
        Some(roblox::Container::Binary | roblox::Container::Xml) => {
            import_place(name, &bytes, &mut budget).map_err(named)
        }
        _ => Err(named(
            "no world, place, scene or heightmap: drop a .tvx, .rbxl, .rbxm, .rbxlx, .rbxmx, .vox or .png"
                .to_owned(),
        )),
    }
}

/// Checks all of a world, and that it can be opened.
fn check_world(name: &str, disk: &Arc<MemoryDisk>) -> Result<(), String> {
    // Their texts begin with the name.
    let text = |error: StoreError| match &error {
        StoreError::Damaged { part, .. } if *part != StoredPart::Info => format!("{error}; {MEND}"),
        _ => error.to_string(),
    };
    let store = Store::open_on(disk.clone(), name).map_err(text)?;
    let verified = store.verify_within(1).map_err(text)?;
    if let Some(BadPart { part, what }) = verified.bad.into_iter().next() {
        return Err(match what {
            ValueError::TooMuchWork { .. } => {
                format!("{name}: checking it is too much work for a file of its length; {MEND}")
            }
            what => format!("{name}: {part} is damaged: {what}; {MEND}"),
        });
    }
    drop(store);
    LocalHost::open(disk.clone(), name, None).map(drop).map_err(text)
}

fn import_heightmap(
    name: &str,
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<ImportedWorld, String> {
    let heights = heightmap::read_png(bytes, ColourPolicy::Refuse, budget);
    let heights = heights.map_err(explained)?;
    let height_voxels = HeightmapOptions::natural_height_voxels(&heights, 1.0);
    let options = HeightmapOptions { height_voxels, ..HeightmapOptions::default() };
    let options = options.with_natural_land(&heights);
    let mut grid = VoxelGrid::new(GridOptions::default());
    heightmap::import(&heights, &options, budget, &mut grid, |_, _| {}).map_err(explained)?;
    let info = WorldInfo { materials: grid.materials().clone(), ..WorldInfo::default() };
    stored(name, &grid, &info, None, Vec::new())
}

/// An error of a heightmap as a visitor can act on it: limits cannot be raised here.
fn explained(error: HeightmapError) -> String {
    let is_too_large = matches!(
        error,
        HeightmapError::TooWide { .. }
            | HeightmapError::TooLarge { .. }
            | HeightmapError::TooManyChunks { .. }
            | HeightmapError::OverBudget(_)
    );
    match is_too_large {
        true => "the heightmap is too large for this page; scale it down, or use terravox import",
        false => return error.to_string(),
    }
    .to_owned()
}

fn import_place(
    name: &str,
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<ImportedWorld, String> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let options = ImportOptions::default();
    let imported = roblox::import_with_progress(bytes, &options, budget, &mut grid, |_, _| {})
        .map_err(|error| error.to_string())?;
    let info = WorldInfo {
        voxel_size_m: roblox::VOXEL_M,
        materials: grid.materials().clone(),
        ..WorldInfo::default()
    };
    stored(name, &grid, &info, Some(&imported.metadata), imported.notes)
}

fn import_scene(
    name: &str,
    bytes: &[u8],
    budget: &mut ImportBudget,
) -> Result<ImportedWorld, String> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let imported = vox::import(bytes, &VoxOptions::default(), budget, &mut grid, |_, _| {});
    let imported = imported.map_err(|error| match error {
        VoxError::OverBudget(_) => {
            "the scene is too large for this page; use terravox import".to_owned()
        }
        error => error.to_string(),
    })?;
    let info = WorldInfo { materials: grid.materials().clone(), ..WorldInfo::default() };
    stored(name, &grid, &info, None, imported.notes)
}

/// Writes a grid as a world.
fn stored(
    name: &str,
    grid: &VoxelGrid,
    info: &WorldInfo,
    metadata: Option<&RobloxMetadata>,
    notes: Vec<String>,
) -> Result<ImportedWorld, String> {
    let disk = Arc::new(MemoryDisk::default());
    let write = || {
        let store = Store::create_on(disk.clone(), name, info)?;
        store.write_all(grid.as_snapshot(), |_, _| ())?;
        let extra = metadata.map(RobloxMetadata::to_bytes);
        store.set_extra(RobloxMetadata::EXTRA_NAME, extra.as_deref())
    };
    write().map_err(|error| error.to_string())?;
    let start_m = Some(info.placement().world_from_voxel(start_voxels(grid.as_snapshot(), info)));
    Ok(ImportedWorld { bytes: disk.to_bytes(), start_m, notes })
}

/// A point above ground or water, in the column of chunks nearest to the middle of a grid, at the
/// cell nearest to it. Takes time by the number of chunks, not by their bounds, which a small file
/// can make as large as it likes.
fn start_voxels(grid: &Snapshot, info: &WorldInfo) -> [f64; 3] {
    let (bounds, chunks) = (grid.bounds(), grid.chunks());
    let middle = [(bounds.min.x, bounds.max.x), (bounds.min.z, bounds.max.z)];
    let middle = middle.map(|(min, max)| i32::midpoint(min, max));
    // The nearest point of a column, by which it is known.
    let nearest = |chunk: &ChunkPos| {
        let Region { min, max } = chunk.region();
        [middle[0].clamp(min.x, max.x - 1), middle[1].clamp(min.z, max.z - 1)]
    };
    let distance = |at: [i32; 2]| -> u64 {
        [0, 1].map(|i| u64::from(at[i].abs_diff(middle[i])).pow(2)).iter().sum()
    };
    let columns = chunks.iter().map(nearest);
    let [x, z] = columns.min_by_key(|at| distance(*at)).unwrap_or(middle);
    let column = chunks.iter().filter(|chunk| nearest(chunk) == [x, z]);
    let mut heights: Vec<i32> = column.map(|chunk| chunk.region().max.y).collect();
    heights.sort_unstable_by(|a, b| b.cmp(a));
    let is_filled = |y: &i32| grid.cell(VoxelPos::new(x, *y, z)).is_ok_and(|cell| !cell.is_air());
    let filled = heights.iter().flat_map(|top| (top - ChunkPos::EDGE..*top).rev()).find(is_filled);
    let top = filled.or(heights.first().copied()).unwrap_or_default();
    [f64::from(x), f64::from(top) + START_HEIGHT_M / info.voxel_size_m, f64::from(z)]
}
