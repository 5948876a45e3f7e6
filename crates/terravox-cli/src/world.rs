//! A world in memory, from whatever file it was in.

use crate::args::{Heightmap, Reading};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::far::HILLS;
use crate::heights;
use crate::report::size;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::{self, ImportOptions, RobloxMetadata};
use terravox_store::{MAX_LOADED_BYTES, Overwrite, Store, StoreError, WorldInfo};

/// Largest file that is imported, bytes.
const MAX_IMPORT_BYTES: u64 = 2 << 30;

/// Metres along a Roblox voxel: 4 studs of 0.28 m.
const ROBLOX_VOXEL_M: f64 = 1.12;

/// Name in the world file of what a Roblox file says beside its cells.
const ROBLOX_EXTRA: &str = "roblox";

/// Extension of worlds.
pub const WORLD: &str = "tvx";

/// A world, whole in memory.
pub struct World {
    /// The cells and materials.
    pub grid: VoxelGrid,
    /// Scale, place and origin.
    pub info: WorldInfo,
    /// For writing a Roblox file again; the default for other worlds.
    pub roblox: RobloxMetadata,
    /// What the file was: `world`, `roblox`, `heightmap` or `generated`.
    pub source: &'static str,
    /// Length of the file, bytes.
    pub file_bytes: u64,
    /// What a user should know, a line each.
    pub notes: Vec<String>,
}

/// The lower-case extension of a path; empty if it has none.
pub fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Reads a world, or a file that can be imported.
///
/// # Errors
/// If there is no such file, it is damaged, or of no kind that we know.
pub fn open(
    path: &Path,
    heightmap: &Heightmap,
    reading: Reading,
    console: &Console,
) -> Outcome<World> {
    let file_bytes = check_file(path)?;
    let start = first_bytes(path)?;
    let kind = extension(path);
    if is_world(&kind, &start) {
        return load(path, reading, file_bytes, console);
    }
    let map = heights::Kind::of(&kind, &start);
    let known = ["rbxm", "rbxl", "rbxmx", "rbxlx", "smoothgrid"].contains(&kind.as_str());
    let roblox = known || (map.is_none() && start.starts_with(b"<roblox"));
    if map.is_none() && !roblox {
        let what = "unknown kind of file; known are .tvx, .rbxm .rbxl .rbxmx .rbxlx \
                    .smoothgrid, .png, .raw .r16";
        return Err(Failure::of(path, what));
    }
    let bytes = read(path, file_bytes)?;
    let mut world = match map.filter(|_| !known) {
        Some(map) => heights::import(path, bytes, map, heightmap, console)?,
        None => import_roblox(path, &bytes, heightmap, console)?,
    };
    world.file_bytes = file_bytes;
    Ok(world)
}

/// Opens a world file for reading block by block; `None` if it is a file of another kind,
/// which has to be imported whole.
///
/// # Errors
/// If there is no such file, or it is a world and damaged.
pub fn open_store(path: &Path) -> Outcome<Option<Store>> {
    check_file(path)?;
    if !is_world(&extension(path), &first_bytes(path)?) {
        return Ok(None);
    }
    Store::open_read_only(path).map(Some).map_err(store_failure)
}

fn is_world(extension: &str, start: &[u8]) -> bool {
    extension == WORLD || start.starts_with(b"redb\x1A\x0A\xA9\x0D\x0A")
}

/// The length of a file that can be read.
///
/// # Errors
/// If there is none, or it is a folder or empty.
pub fn check_file(path: &Path) -> Outcome<u64> {
    let metadata = fs::metadata(path).map_err(|error| {
        if let Some(seed) = path.to_str().and_then(|text| text.strip_prefix(HILLS)) {
            let what = "hills without a file are for render and lod; make a file of some: \
                        terravox generate hills.tvx --seed";
            return Failure::of(path, format!("{what} {seed}"));
        }
        Failure::of(path, format!("cannot be read: {error}; check the name"))
    })?;
    if metadata.is_dir() {
        return Err(Failure::of(path, "this is a folder; name a file in it"));
    }
    if metadata.is_file() && metadata.len() == 0 {
        return Err(Failure::of(path, "the file is empty; get another copy"));
    }
    Ok(metadata.len())
}

/// The first bytes of a file, which say what it is.
///
/// # Errors
/// If it cannot be read.
pub fn first_bytes(path: &Path) -> Outcome<Vec<u8>> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Failure::at(path))?;
    file.take(64).read_to_end(&mut start).map_err(Failure::at(path))?;
    Ok(start)
}

/// All bytes of a file that is not too long to import.
///
/// # Errors
/// If it is too long or empty, or cannot be read.
pub fn read(path: &Path, length: u64) -> Outcome<Vec<u8>> {
    let too_long = |bytes: u64| {
        let [bytes, most] = [bytes, MAX_IMPORT_BYTES].map(size);
        Failure::of(path, format!("{bytes} are too long to import, at most {most}"))
    };
    if length > MAX_IMPORT_BYTES {
        return Err(too_long(length));
    }
    // What is no plain file may go on for ever.
    let file = File::open(path).map_err(Failure::at(path))?;
    let mut bytes = Vec::new();
    file.take(MAX_IMPORT_BYTES + 1).read_to_end(&mut bytes).map_err(Failure::at(path))?;
    match bytes.len() as u64 {
        0 => Err(Failure::of(path, "the file is empty; get another copy")),
        length if length > MAX_IMPORT_BYTES => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

/// Reads a world file.
fn load(path: &Path, reading: Reading, file_bytes: u64, console: &Console) -> Outcome<World> {
    let store = Store::open_read_only(path).map_err(store_failure)?;
    let bar = console.bar("loading", 1);
    let progress = |done, all| bar.set(done, all);
    let loaded = store.load_with(MAX_LOADED_BYTES, progress).map_err(store_failure)?;
    drop(bar);
    let mut notes = Vec::new();
    if let Some(first) = loaded.bad.first() {
        let count = loaded.bad.len();
        if !reading.skip_damaged {
            let what =
                format!("{first} ({count} damaged in all); --skip-damaged goes on without them");
            return Err(Failure::of(path, what));
        }
        notes.push(format!("{count} damaged parts are left out, first {first}"));
    }
    let extra = store.extra(ROBLOX_EXTRA).map_err(store_failure)?;
    let roblox = extra.map(|bytes| RobloxMetadata::from_bytes(&bytes)).transpose();
    Ok(World {
        grid: loaded.grid,
        info: (*store.info()).clone(),
        roblox: roblox.map_err(Failure::at(path))?.unwrap_or_default(),
        source: "world",
        file_bytes,
        notes,
    })
}

fn import_roblox(
    path: &Path,
    bytes: &[u8],
    options: &Heightmap,
    console: &Console,
) -> Outcome<World> {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let container = (extension(path) == "smoothgrid").then_some(roblox::Container::SmoothGrid);
    let import = ImportOptions { container, ..ImportOptions::default() };
    let bar = console.bar("importing", 1);
    let progress = |done, all| bar.set(done, all);
    let imported = roblox::import_with_progress(bytes, &import, &mut grid, progress)
        .map_err(Failure::at(path))?;
    let info = WorldInfo {
        voxel_size_m: options.voxel_size.unwrap_or(ROBLOX_VOXEL_M),
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
    })
}

impl World {
    /// Writes the world as a new file, whole or not at all; returns its length in bytes.
    ///
    /// # Errors
    /// If a file is there and `force` is not set, or it cannot be written.
    pub fn save(&self, path: &Path, force: bool, console: &Console) -> Outcome<u64> {
        check_world_path(path)?;
        let overwrite = if force { Overwrite::Yes } else { Overwrite::No };
        let draft = Store::create(path, &self.info, overwrite).map_err(store_failure)?;
        let bar = console.bar("saving", 1);
        let written = draft.write_all(self.grid.as_snapshot(), |done, all| bar.set(done, all));
        written.map_err(store_failure)?;
        if self.roblox != RobloxMetadata::default() {
            let bytes = self.roblox.to_bytes();
            draft.set_extra(ROBLOX_EXTRA, Some(&bytes)).map_err(store_failure)?;
        }
        drop(draft.finish().map_err(store_failure)?);
        Ok(fs::metadata(path).map_err(Failure::at(path))?.len())
    }
}

/// Refuses names that are not those of worlds: swapped arguments would cost a file.
///
/// # Errors
/// If the extension is not `.tvx`, or a folder is in the way.
pub fn check_world_path(path: &Path) -> Outcome<()> {
    if extension(path) != WORLD {
        return Err(Failure::of(path, "the name of a world ends in .tvx"));
    }
    if path.is_dir() {
        return Err(Failure::of(path, "this is a folder; name a file in it"));
    }
    Ok(())
}

/// Refuses a world that would replace another, before any work is done.
///
/// # Errors
/// As [`check_world_path`], or if the file is there and `force` is not set.
pub fn check_new_world(path: &Path, force: bool) -> Outcome<()> {
    check_world_path(path)?;
    if path.exists() && !force {
        return Err(exists(path));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            Err(Failure::of(path, "there is no such folder; make it or name another"))
        }
        _ => Ok(()),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::of(path, "the file already exists; pass --force to overwrite it")
}

/// The failure of a store, with the option that helps.
pub fn store_failure(error: StoreError) -> Failure {
    match &error {
        StoreError::Exists { path } => exists(path),
        _ => Failure::new(error),
    }
}
