//! Files of other programs, with the defaults of `terravox import`: what they are is decided by
//! [`ImportFiles`], as there.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use bevy_terravox::terravox;
use terravox::voxel::{GridOptions, MaterialTable, VoxelGrid};
use terravox_io::anvil::{self, AnvilImport, AnvilOptions, BlockTable};
use terravox_io::files::{FileFormat, ImportFiles};
use terravox_io::heightmap::{
    self, ColourPolicy, HeightmapError, HeightmapFormat, HeightmapOptions, HeightmapRelief,
    HeightmapSamples, WorldReference,
};
use terravox_io::obj::UpAxis;
use terravox_io::roblox::{self, ImportOptions, RobloxMetadata};
use terravox_io::triangles::{self, MeshFormat, VoxeliseOptions};
use terravox_io::vox::{self, VoxOptions};
use terravox_io::{ImportBudget, ImportLimits};
use terravox_store::{Draft, Overwrite, Store, StoreError, WorldInfo};

/// Longest file.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// Voxels along the longest side of a mesh.
const MESH_VOXELS: f64 = 128.0;

/// A world in memory.
struct Imported {
    grid: VoxelGrid,
    info: WorldInfo,
    /// Name and bytes of what is needed to write a file of its kind again.
    extra: Option<(&'static str, Vec<u8>)>,
    /// What is to be said about it.
    notes: Vec<String>,
}

/// Whether the first bytes of a file are those of a world file.
pub fn is_world(start: &[u8]) -> bool {
    start.starts_with(b"\x89TVX\r\n\x1A\n")
}

/// Refuses to write something else over a world.
///
/// # Errors
/// A sentence without the name of the file, if a world is there.
pub(crate) fn refuse_world(path: &Path) -> Result<(), String> {
    match path.is_file() && first_bytes(path).is_ok_and(|start| is_world(&start)) {
        true => Err("is a world, which would be overwritten; give another name".to_owned()),
        false => Ok(()),
    }
}

/// The lower-case extension of a path.
pub fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// The first bytes of a file.
///
/// # Errors
/// If it is missing, empty, or no file.
pub fn first_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let fault = |error: std::io::Error| {
        format!("{}: cannot be read: {error}; check the name", path.display())
    };
    let metadata = std::fs::metadata(path).map_err(fault)?;
    if metadata.is_dir() {
        return Err(format!("{}: is a folder; give a file", path.display()));
    }
    let mut start = Vec::new();
    File::open(path).map_err(fault)?.take(64).read_to_end(&mut start).map_err(fault)?;
    match start.is_empty() {
        true => Err(format!("{}: the file is empty; get another copy", path.display())),
        false => Ok(start),
    }
}

/// Makes a world file, `target`, of a file of another program, or of a folder of them; reports how
/// much is done. Returns what is to be said about it.
///
/// # Errors
/// If it is of an unknown type, damaged, or too costly, or the world cannot be written: a sentence.
pub fn import(
    path: &Path,
    target: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Store, Vec<String>), String> {
    let found = ImportFiles::find(path).map_err(|error| error.to_string())?;
    let at = |what: String| format!("{}: {what}", path.display());
    let first = &found.files[0];
    let world = match found.format {
        FileFormat::Heightmap(format) => {
            return read_heightmap(path, &found, format, target, progress);
        }
        FileFormat::Anvil => return read_regions(path, &found.files, target, progress),
        FileFormat::Roblox => read_roblox(first, None, progress),
        FileFormat::SmoothGrid => read_roblox(first, Some(roblox::Container::SmoothGrid), progress),
        FileFormat::Vox => read_vox(first, progress),
        FileFormat::Mesh(format) => read_mesh(first, format, progress),
    };
    let world = world.map_err(at)?;
    let draft = Store::create(target, &world.info, Overwrite::No).map_err(text)?;
    draft.write_all(world.grid.as_snapshot(), progress).map_err(text)?;
    if let Some((name, bytes)) = &world.extra {
        draft.set_extra(name, Some(bytes)).map_err(text)?;
    }
    Ok((draft.finish().map_err(text)?, world.notes))
}

fn text(error: StoreError) -> String {
    error.to_string()
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let fault = |error: std::io::Error| format!("cannot be read: {error}");
    let mut bytes = Vec::new();
    // Pipes and devices may be endless.
    File::open(path)
        .map_err(fault)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(fault)?;
    match bytes.len() as u64 > MAX_FILE_BYTES {
        true => Err("the file is too large to import; at most 2 GiB".to_owned()),
        false => Ok(bytes),
    }
}

fn budget(bytes: usize) -> ImportBudget {
    ImportBudget::new(ImportLimits::for_input(bytes))
}

fn grid() -> VoxelGrid {
    VoxelGrid::new(GridOptions::default())
}

fn imported(grid: VoxelGrid, voxel_size_m: f64, notes: Vec<String>) -> Imported {
    let info =
        WorldInfo { voxel_size_m, materials: grid.materials().clone(), ..WorldInfo::default() };
    Imported { grid, info, extra: None, notes }
}

fn read_roblox(
    path: &Path,
    container: Option<roblox::Container>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let bytes = read_file(path)?;
    let mut grid = grid();
    let import = ImportOptions { container };
    let done = roblox::import_with_progress(
        &bytes,
        &import,
        &mut budget(bytes.len()),
        &mut grid,
        progress,
    )
    .map_err(|error| error.to_string())?;
    let mut world = imported(grid, roblox::VOXEL_M, done.notes);
    world.extra = Some((RobloxMetadata::EXTRA_NAME, done.metadata.to_bytes()));
    Ok(world)
}

fn read_vox(path: &Path, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, String> {
    let bytes = read_file(path)?;
    let mut grid = grid();
    let done =
        vox::import(&bytes, &VoxOptions::default(), &mut budget(bytes.len()), &mut grid, progress)
            .map_err(|error| error.to_string())?;
    Ok(imported(grid, 1.0, done.notes))
}

fn read_mesh(
    path: &Path,
    format: MeshFormat,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let bytes = read_file(path)?;
    let (mut grid, mut budget) = (grid(), budget(bytes.len()));
    let text = |error: triangles::MeshError| error.to_string();
    let mesh = triangles::read(&bytes, format, &mut budget).map_err(text)?;
    let [low, high] = mesh.bounds().unwrap_or_default();
    let longest = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
    // Few digits, as terravox import has them.
    let voxel_size_m: f64 = format!("{:.2e}", longest / MESH_VOXELS).parse().unwrap_or(f64::NAN);
    if !(1e-6..=1e9).contains(&voxel_size_m) {
        return Err(format!(
            "the mesh is {longest:e} long; terravox import --scale takes another unit"
        ));
    }
    let up = if format == MeshFormat::Stl { UpAxis::Z } else { UpAxis::Y };
    let material = grid.materials().find("Rock").unwrap_or(8);
    let options = VoxeliseOptions { voxels_per_unit: 1.0 / voxel_size_m, up, material };
    let made =
        triangles::voxelise(&mesh, &options, &mut budget, &mut grid, progress).map_err(text)?;
    let mut notes = Vec::new();
    if made.holes > 0 {
        notes.push(format!("the mesh was not closed; closed {} holes", made.holes));
    }
    Ok(imported(grid, voxel_size_m, notes))
}

/// A heightmap, piece by piece: memory is that of its samples and of a piece.
fn read_heightmap(
    path: &Path,
    found: &ImportFiles,
    format: HeightmapFormat,
    target: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Store, Vec<String>), String> {
    let at = |what: String| format!("{}: {what}", path.display());
    let mut budget = budget(usize::try_from(found.bytes).unwrap_or(usize::MAX));
    let samples = samples(&found.files, format, &mut budget).map_err(at)?;
    let (info, options) = heightmap_world(&samples);
    let place = samples.reference.as_ref();
    let place = place.and_then(|it| WorldReference::of(it, samples.sample_m()?, 1.0));
    let notes = samples.notes();
    let relief = HeightmapRelief::new(samples.heights, options, info.materials.kinds())
        .map_err(|error| at(format!("{error}; terravox import takes another --voxel-size")))?;
    let (chunks, most) = (relief.max_chunks(), HeightmapRelief::MAX_STREAMED_CHUNKS);
    if chunks > most {
        return Err(at(format!(
            "the world would have {chunks} chunks, at most {most}; terravox import takes another --voxel-size"
        )));
    }
    let draft = Store::create(target, &info, Overwrite::No).map_err(text)?;
    let pieces = relief.pieces();
    for (i, piece) in pieces.iter().enumerate() {
        progress(i, pieces.len());
        let grid = relief.piece(piece, &info.materials);
        draft.write_all(grid.as_snapshot(), |_, _| ()).map_err(text)?;
    }
    if let Some(place) = place {
        draft.set_extra(WorldReference::EXTRA_NAME, Some(&place.to_bytes())).map_err(text)?;
    }
    Ok((draft.finish().map_err(text)?, notes))
}

/// A sample becomes a voxel; heights are in metres if the file says so.
fn heightmap_world(samples: &HeightmapSamples) -> (WorldInfo, HeightmapOptions) {
    let has_metres = samples.reference.is_some();
    let voxel_size_m = match samples.sample_m() {
        Some(sample_m) if has_metres => sample_m.clamp(1e-3, 1e6),
        _ => 1.0,
    };
    let height_voxels = match has_metres {
        true => 1.0 / voxel_size_m,
        false => HeightmapOptions::natural_height_voxels(&samples.heights, 1.0),
    };
    let options = HeightmapOptions { height_voxels, ..HeightmapOptions::default() };
    let options = options.with_natural_land(&samples.heights);
    (WorldInfo { voxel_size_m, ..WorldInfo::default() }, options)
}

fn samples(
    files: &[PathBuf],
    format: HeightmapFormat,
    budget: &mut ImportBudget,
) -> Result<HeightmapSamples, String> {
    let whole = || read_file(&files[0]);
    let parts = || {
        let open =
            |file: &PathBuf| File::open(file).map_err(|error| format!("cannot be read: {error}"));
        files.iter().map(open).collect::<Result<Vec<File>, String>>()
    };
    let samples = match format {
        HeightmapFormat::Png => {
            heightmap::read_png(&whole()?, ColourPolicy::Refuse, budget).map(Into::into)
        }
        HeightmapFormat::Raw => heightmap::read_raw_u16(&whole()?, None, budget).map(Into::into),
        HeightmapFormat::Grid => heightmap::read_grid(&whole()?, budget).map(Into::into),
        HeightmapFormat::Tiff => heightmap::read_geotiff(parts()?, budget).map(Into::into),
        HeightmapFormat::Points => {
            let parts = parts()?.into_iter().map(BufReader::new).collect();
            heightmap::read_point_cloud(parts, None, budget).map(Into::into)
        }
    };
    samples.map_err(|error: HeightmapError| error.to_string())
}

/// Regions of Minecraft, one after the other: memory is that of one.
fn read_regions(
    path: &Path,
    files: &[PathBuf],
    target: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Store, Vec<String>), String> {
    let table = BlockTable::parse("", &MaterialTable::default());
    let anvil = AnvilOptions::new(table.map_err(|error| error.to_string())?);
    let info = WorldInfo { materials: anvil.table.materials().clone(), ..WorldInfo::default() };
    let draft = Store::create(target, &info, Overwrite::No).map_err(text)?;
    let mut done = AnvilImport::default();
    for (i, file) in files.iter().enumerate() {
        progress(i, files.len());
        let part = read_region(file, &anvil, &draft);
        done.add(part.map_err(|what| format!("{}: {what}", file.display()))?);
    }
    if done.grid_chunks == 0 {
        let notes = done.notes().join("; ");
        let why = if notes.is_empty() { notes } else { format!(" ({notes})") };
        return Err(format!(
            "{}: has no blocks; give a world that the game has generated{why}",
            path.display()
        ));
    }
    Ok((draft.finish().map_err(text)?, done.notes()))
}

fn read_region(file: &Path, anvil: &AnvilOptions, draft: &Draft) -> Result<AnvilImport, String> {
    let bytes = read_file(file)?;
    let mut grid = grid();
    let done = anvil::import(&bytes, anvil, &mut budget(bytes.len()), &mut grid, |_, _| ());
    let done = done.map_err(|error| error.to_string())?;
    draft.write_all(grid.as_snapshot(), |_, _| ()).map_err(text)?;
    Ok(done)
}
