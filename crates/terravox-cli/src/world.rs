//! Worlds in memory: reading them from any supported file, and saving them.

use crate::args::{HeightmapArgs, ReadArgs};
use crate::console::Console;
use crate::failure::{CliResult, Failure, damaged_parts};
use crate::growth::{Extent, Growth, box_region, cut, rounding_note};
use crate::heightmap_input::HeightmapInput;
use crate::heights;
use crate::import_limits;
use crate::lod_view::seeded;
use crate::mesh_input;
use crate::region_input;
use crate::report::size;
use crate::vox_scene;
use crate::world_store;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use terravox::generate::Seeded;
use terravox::voxel::{ChannelSnapshot, GridOptions, LIMIT, UnlistedChunks, VoxelGrid};
use terravox_io::files::{FileFormat, FilesError, ImportFiles};
use terravox_io::roblox::{self, ImportOptions, RobloxError, RobloxMetadata};
use terravox_store::{
    LoadedWorld, MAX_LOADED_BYTES, Overwrite, Store, StoreError, StoredPart, WorldInfo,
};

/// Limit of imported files, bytes.
const MAX_IMPORT_BYTES: u64 = 2 << 30;

/// Extension of world files.
pub const WORLD_EXTENSION: &str = "tvx";

/// A world in memory.
pub struct World {
    /// The cells and materials.
    pub grid: VoxelGrid,
    /// Scale, origin and generator.
    pub info: WorldInfo,
    /// Metadata for exporting to Roblox; the default for other worlds.
    pub roblox: RobloxMetadata,
    /// Kind of the file: `world`, `roblox`, `heightmap`, `vox`, `anvil`, `mesh` or `generated`.
    pub source: &'static str,
    /// Length of the file, bytes; 0 if it is in a database.
    pub file_bytes: u64,
    /// Notes for the user, one line each.
    pub notes: Vec<String>,
    /// What makes the cells that a world that grows does not store.
    pub growth: Option<Growth>,
    /// What its channels hold.
    pub channels: ChannelSnapshot,
}

/// Returns the lower-case extension of a path; empty if it has none.
pub fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Reads a world, or a file that can be imported.
///
/// # Errors
/// If the file is missing, damaged or of an unknown type; if the world grows and the command needs
/// all of it; if it has no cell in the box.
pub fn open(
    path: &Path,
    heightmap: &HeightmapArgs,
    reading: ReadArgs,
    extent: Extent,
    console: &Console,
) -> CliResult<World> {
    let file_bytes = if world_store::is_address(path) { 0 } else { check_file(path)? };
    if world_store::is_address(path) || is_world(&extension(path), &first_bytes(path)?) {
        return load(path, reading, extent, file_bytes, console);
    }
    let mut world = import(path, file_bytes, heightmap, console)?;
    world.file_bytes = file_bytes;
    if let Extent::Box(corners) = extent {
        world.cut(corners)?;
    }
    Ok(world)
}

/// Reads a file of another program.
fn import(
    path: &Path,
    file_bytes: u64,
    heightmap: &HeightmapArgs,
    console: &Console,
) -> CliResult<World> {
    let found = ImportFiles::find(path).map_err(files_failure)?;
    let bytes = || read(path, file_bytes);
    if let FileFormat::Mesh(format) = found.format {
        return mesh_input::import(path, format, &bytes()?, heightmap, console);
    }
    mesh_input::check_not_mesh(heightmap).map_err(|what| Failure::of(path, what))?;
    if let Some(input) = HeightmapInput::of(&found) {
        return heights::import(path, &input, heightmap, console);
    }
    match found.format {
        FileFormat::Anvil => region_input::import(path, heightmap),
        FileFormat::Vox => vox_scene::import(path, &bytes()?, heightmap, console),
        _ => import_roblox(path, &bytes()?, heightmap, console),
    }
}

/// Returns the files of other programs at a path; `None` if a world is there.
///
/// # Errors
/// If it cannot be read, or is of another kind.
pub fn find(path: &Path) -> CliResult<Option<ImportFiles>> {
    if !path.is_dir() && is_world_file(path)? {
        return Ok(None);
    }
    ImportFiles::find(path).map(Some).map_err(files_failure)
}

fn files_failure(error: FilesError) -> Failure {
    Failure::of(&error.path, error.what)
}

/// Refuses a world whose placement positions in metres cannot resolve.
///
/// # Errors
/// If the voxel size or the origin is out of its range.
pub fn check_placement(path: &Path, info: &WorldInfo) -> CliResult<()> {
    info.placement().check().map_err(Failure::at(path))
}

/// Refuses a point, in metres, that lies beyond the limits of a world.
///
/// # Errors
/// If it does; `name` is the argument that it is from.
pub fn check_point(name: &str, point_m: [f64; 3], info: &WorldInfo) -> CliResult<()> {
    let limit = f64::from(LIMIT);
    let voxels = info.placement().voxel_from_world(point_m);
    if voxels.iter().all(|v| v.abs() < limit) {
        return Ok(());
    }
    let limit_m = limit * info.voxel_size_m;
    let what = format!("{name} is beyond the world; give at most {limit_m} m from its origin");
    Err(Failure::new(what))
}

/// Opens a world for reading block by block; `None` if it is a file of another type, which must be
/// imported whole.
///
/// # Errors
/// If it is missing, or is a damaged world.
pub fn open_store(path: &Path) -> CliResult<Option<Store>> {
    if !world_store::is_address(path) && !is_world_file(path)? {
        return Ok(None);
    }
    let store = read_only(path)?;
    check_placement(path, &store.info())?;
    Ok(Some(store))
}

/// Returns whether a file is a world; others must be imported.
///
/// # Errors
/// If it cannot be read.
pub fn is_world_file(path: &Path) -> CliResult<bool> {
    check_file(path)?;
    Ok(is_world(&extension(path), &first_bytes(path)?))
}

/// World files of today, and those of before 0.1, which the store names.
fn is_world(extension: &str, start: &[u8]) -> bool {
    let magics: [&[u8]; 2] = [b"\x89TVX\r\n\x1A\n", b"redb\x1A\x0A\xA9\x0D\x0A"];
    extension == WORLD_EXTENSION || magics.into_iter().any(|magic| start.starts_with(magic))
}

/// Returns the length of a file.
///
/// # Errors
/// If it is missing, a folder, a pipe, a device or empty.
pub fn check_file(path: &Path) -> CliResult<u64> {
    check_no_address(path)?;
    let metadata = fs::metadata(path).map_err(|error| {
        match seeded(path) {
            Ok(Some(seeded)) => return needs_file(path, &seeded),
            Err(invalid) => return invalid,
            Ok(None) => {}
        }
        unreadable(path, &error)
    })?;
    if metadata.is_dir() {
        return Err(Failure::of(path, "is a folder; give a file"));
    }
    if !metadata.is_file() {
        // Files are opened again after a look at their first bytes, which a pipe has only once.
        let what = "is a pipe or a device; write what comes from it to a file, and give that";
        return Err(Failure::of(path, what));
    }
    if metadata.len() == 0 {
        return Err(Failure::of(path, "the file is empty; get another copy"));
    }
    Ok(metadata.len())
}

/// A file that is given by its name and cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::of(path, format!("cannot be read: {error}; check the name"))
}

/// Refuses an endless world where a whole one is needed.
fn needs_file(path: &Path, seeded: &Seeded) -> Failure {
    let command = generate_command(seeded);
    let what = "an endless world is for render, lod, path and serve only; generate a world file";
    Failure::of(path, format!("{what}: {command}"))
}

/// The command that makes a file of a generated world.
fn generate_command(seeded: &Seeded) -> String {
    let seed = seeded.seed();
    match seeded {
        Seeded::Hills(_) => format!("terravox generate hills.tvx --seed {seed}"),
        Seeded::World(world) => {
            let options = world.options();
            format!("terravox generate world.tvx --seed {seed} --preset {options}")
        }
    }
}

/// Refuses a generated world without a file where the records of one are needed.
///
/// # Errors
/// If it is one, or its seed or options are not valid.
pub fn check_has_records(path: &Path) -> CliResult<()> {
    let Some(seeded) = seeded(path)? else { return Ok(()) };
    let command = generate_command(&seeded);
    let what = "is not a file; make one, which stays endless, and give that";
    Err(Failure::of(path, format!("{what}: {command} --sparse")))
}

/// Refuses addresses of databases.
fn check_no_address(path: &Path) -> CliResult<()> {
    if !world_store::is_address(path) {
        return Ok(());
    }
    let what = "is not a file, and this takes one; terravox copy makes one of it";
    Err(Failure::of(path, what))
}

/// Opens a world for reading, whatever the name of its file.
fn read_only(path: &Path) -> CliResult<Store> {
    match world_store::is_address(path) {
        true => world_store::open_read_only(path),
        false => Store::open_read_only(path).map_err(store_failure),
    }
}

/// Returns the first bytes of a file, by which its type is detected.
///
/// # Errors
/// If it cannot be read.
pub fn first_bytes(path: &Path) -> CliResult<Vec<u8>> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Failure::at(path))?;
    file.take(64).read_to_end(&mut start).map_err(Failure::at(path))?;
    Ok(start)
}

/// Reads a file for import.
///
/// # Errors
/// If it is too long or empty, or cannot be read.
pub fn read(path: &Path, length: u64) -> CliResult<Vec<u8>> {
    let too_long = |bytes: u64| {
        let [bytes, most] = [bytes, MAX_IMPORT_BYTES].map(size);
        Failure::of(path, format!("the file has {bytes}, too large to import; at most {most}"))
    };
    if length > MAX_IMPORT_BYTES {
        return Err(too_long(length));
    }
    // It may grow meanwhile.
    let file = File::open(path).map_err(Failure::at(path))?;
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(MAX_IMPORT_BYTES + 1).read_to_end(&mut bytes).map_err(Failure::at(path))?;
    match bytes.len() as u64 {
        0 => Err(Failure::of(path, "the file is empty; get another copy")),
        length if length > MAX_IMPORT_BYTES => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

/// Reads as much of a stored world as a command needs.
fn load(
    path: &Path,
    reading: ReadArgs,
    extent: Extent,
    file_bytes: u64,
    console: &Console,
) -> CliResult<World> {
    let store = read_only(path)?;
    check_placement(path, &store.info())?;
    let growth = match extent {
        Extent::Stored => None,
        _ => Growth::of(&store)?,
    };
    let extra = store.extra(RobloxMetadata::EXTRA_NAME).map_err(store_failure)?;
    let roblox = extra.map(|bytes| RobloxMetadata::from_bytes(&bytes)).transpose();
    let mut world = World {
        grid: VoxelGrid::default(),
        info: (*store.info()).clone(),
        roblox: roblox.map_err(Failure::at(path))?.unwrap_or_default(),
        source: "world",
        file_bytes,
        notes: Vec::new(),
        growth: None,
        channels: ChannelSnapshot::default(),
    };
    match (extent, growth) {
        (Extent::Whole { remedy }, Some(_)) => {
            let what = format!("is endless: its chunks are generated on demand; {remedy}");
            return Err(Failure::of(path, what));
        }
        (Extent::Box(corners), Some(growth)) => {
            let region = box_region(&world.info, corners)?;
            let (grid, note) = growth.read(&store, region, path, reading, console)?;
            world.grid = grid;
            world.info.unlisted = UnlistedChunks::Air;
            world.notes.extend(note);
            world.cut(corners)?;
        }
        (extent, growth) => {
            let (loaded, note) = load_stored(&store, path, reading, console)?;
            world.grid = loaded.grid;
            world.channels = loaded.channels.snapshot();
            world.notes.extend(note);
            world.growth = growth;
            if let Extent::Box(corners) = extent {
                world.cut(corners)?;
            }
        }
    }
    Ok(world)
}

/// Reads all that a world stores, and returns a note if damage was skipped.
fn load_stored(
    store: &Store,
    path: &Path,
    reading: ReadArgs,
    console: &Console,
) -> CliResult<(LoadedWorld, Option<String>)> {
    let bar = console.bar("loading", 1);
    let progress = |done, all| bar.set(done, all);
    let loaded = store.load_with(MAX_LOADED_BYTES, progress).map_err(store_failure)?;
    drop(bar);
    let Some(first) = loaded.bad.first() else { return Ok((loaded, None)) };
    let count = damaged_parts(loaded.bad.len());
    if !reading.skip_damaged {
        let repair = if world_store::is_address(path) { "" } else { ", or run terravox repair" };
        let what =
            format!("{first} ({count} in all); pass --skip-damaged to read the rest{repair}");
        return Err(Failure::of(path, what));
    }
    let note = format!("left out {count}; the first: {first}");
    Ok((loaded, Some(note)))
}

fn import_roblox(
    path: &Path,
    bytes: &[u8],
    options: &HeightmapArgs,
    console: &Console,
) -> CliResult<World> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let container = (extension(path) == "smoothgrid").then_some(roblox::Container::SmoothGrid);
    let import = ImportOptions { container };
    let mut budget = import_limits::budget(bytes.len(), options);
    let bar = console.bar("importing", 1);
    let progress = |done, all| bar.set(done, all);
    let imported = roblox::import_with_progress(bytes, &import, &mut budget, &mut grid, progress)
        .map_err(|error| Failure::of(path, explain_roblox(&error, options)))?;
    let info = WorldInfo {
        voxel_size_m: options.voxel_size.unwrap_or(roblox::VOXEL_M),
        materials: grid.materials().clone(),
        ..WorldInfo::default()
    };
    Ok(World {
        grid,
        info,
        roblox: imported.metadata,
        source: "roblox",
        file_bytes: 0,
        notes: imported.notes,
        growth: None,
        channels: ChannelSnapshot::default(),
    })
}

/// Formats an error with the options of the command line.
fn explain_roblox(error: &RobloxError, options: &HeightmapArgs) -> String {
    match error {
        RobloxError::OverBudget { part, offset, error } => {
            let what = import_limits::explained(error, import_limits::factor(options));
            format!("{part}, byte {offset}: {what}")
        }
        _ => error.to_string(),
    }
}

impl World {
    /// Makes all cells outside of the box between two corners air, and says how it was rounded.
    fn cut(&mut self, corners: [[f64; 3]; 2]) -> CliResult<()> {
        let region = box_region(&self.info, corners)?;
        self.notes.extend(rounding_note(&self.info, corners, region));
        cut(&mut self.grid, region)
    }

    /// Writes the world as a new file, completely or not at all; returns its length in bytes.
    ///
    /// # Errors
    /// If the file exists and `force` is not set, or it cannot be written.
    pub fn save(&self, path: &Path, force: bool, console: &Console) -> CliResult<u64> {
        check_world_path(path)?;
        let overwrite = if force { Overwrite::Yes } else { Overwrite::No };
        let draft = Store::create(path, &self.info, overwrite).map_err(store_failure)?;
        let bar = console.bar("saving", 1);
        let written = draft.write_all(self.grid.as_snapshot(), |done, all| bar.set(done, all));
        written.map_err(store_failure)?;
        draft.write_channels(&self.channels).map_err(store_failure)?;
        if self.roblox != RobloxMetadata::default() {
            let bytes = self.roblox.to_bytes();
            draft.set_extra(RobloxMetadata::EXTRA_NAME, Some(&bytes)).map_err(store_failure)?;
        }
        drop(draft.finish().map_err(store_failure)?);
        let metadata = fs::metadata(path);
        Ok(metadata.map_err(|error| Failure::of(path, error).after_change())?.len())
    }
}

/// Refuses paths without the extension of worlds, so that swapped arguments overwrite nothing.
///
/// # Errors
/// If the extension is not `.tvx`, or the path is a folder.
pub fn check_world_path(path: &Path) -> CliResult<()> {
    check_no_address(path)?;
    if extension(path) != WORLD_EXTENSION {
        return Err(Failure::of(path, "a world file needs the extension .tvx"));
    }
    if path.is_dir() {
        return Err(Failure::of(path, "is a folder; give a file"));
    }
    Ok(())
}

/// Refuses to overwrite a world without `force`, before any work is done.
///
/// # Errors
/// As [`check_world_path`], or if the file exists and `force` is not set.
pub fn check_new_world(path: &Path, force: bool) -> CliResult<()> {
    if world_store::is_address(path) {
        let what = "is not a file, and this makes one; give a FILE.tvx (for a world that servers are to \
                    share, with generate --sparse), then run terravox copy FILE.tvx ADDRESS";
        return Err(Failure::of(path, what));
    }
    check_world_path(path)?;
    if path.exists() && !force {
        return Err(already_exists(path));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            Err(Failure::of(path, "the folder does not exist; create it first"))
        }
        _ => Ok(()),
    }
}

fn already_exists(path: &Path) -> Failure {
    Failure::of(path, "already exists; pass --force to overwrite")
}

/// Converts an error of the store to a failure that names the option that helps.
pub fn store_failure(error: StoreError) -> Failure {
    match &error {
        StoreError::Exists { path } => already_exists(path),
        StoreError::Unsure { .. } => Failure::new(&error).after_change(),
        StoreError::Damaged { part: StoredPart::Info, .. } => Failure::new(format!(
            "{error}; nothing in the file can be read without it, so restore a backup"
        )),
        StoreError::Damaged { path, .. } if !world_store::is_address(path) => {
            Failure::new(format!("{error}; terravox repair keeps all that is whole"))
        }
        _ => Failure::new(error),
    }
}
