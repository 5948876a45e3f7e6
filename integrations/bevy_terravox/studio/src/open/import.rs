//! Files of other programs, read into memory with the defaults of `terravox import`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use bevy_terravox::terravox;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::heightmap::{self, ColourPolicy, GeoReference, HeightmapOptions, Heights};
use terravox_io::obj::UpAxis;
use terravox_io::roblox::{self, ImportOptions, RobloxMetadata};
use terravox_io::triangles::{self, MeshFormat, VoxeliseOptions};
use terravox_io::vox::{self, VoxOptions};
use terravox_io::{ImportBudget, ImportLimits};
use terravox_store::WorldInfo;

/// Longest file.
const MAX_FILE_BYTES: u64 = 2 << 30;
/// Most files of a folder.
const MAX_PARTS: usize = 512;
/// Voxels along the longest side of a mesh.
const MESH_VOXELS: f64 = 128.0;

/// A world in memory.
pub struct Imported {
    pub grid: VoxelGrid,
    pub info: WorldInfo,
    /// What a Roblox file needs to be written again.
    pub roblox: Option<RobloxMetadata>,
    /// What is to be said about it.
    pub notes: Vec<String>,
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
    let metadata = fs::metadata(path).map_err(fault)?;
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

/// Reads a file of another program, or a folder of GeoTIFF files; reports how much is done.
///
/// # Errors
/// If it is of an unknown type, damaged, or too costly: a sentence.
pub fn import(path: &Path, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, String> {
    let at = |what: String| format!("{}: {what}", path.display());
    if path.is_dir() {
        return read_tiffs(path, &tiffs_of(path)?, progress).map_err(at);
    }
    let start = first_bytes(path)?;
    let kind = extension(path);
    let is_roblox = ["rbxm", "rbxl", "rbxmx", "rbxlx", "smoothgrid"].contains(&kind.as_str());
    let result = if is_roblox || start.starts_with(b"<roblox") {
        read_roblox(path, kind == "smoothgrid", progress)
    } else if kind == "vox" || vox::is_vox(&start) {
        read_vox(path, progress)
    } else if let Some(format) = MeshFormat::of(&kind, &start) {
        read_mesh(path, format, progress)
    } else if ["tif", "tiff"].contains(&kind.as_str()) || heightmap::is_tiff(&start) {
        read_tiffs(path, &[path.to_owned()], progress)
    } else if kind == "png" || start.starts_with(b"\x89PNG\r\n\x1A\n") {
        let read = |bytes: &[u8], budget: &mut ImportBudget| {
            heightmap::read_png(bytes, ColourPolicy::Refuse, budget)
        };
        read_heights(path, read, progress)
    } else if ["raw", "r16"].contains(&kind.as_str()) {
        let read =
            |bytes: &[u8], budget: &mut ImportBudget| heightmap::read_raw_u16(bytes, None, budget);
        read_heights(path, read, progress)
    } else {
        let known = super::EXTENSIONS.join(", .");
        Err(format!("unknown file type; give .{known}"))
    };
    result.map_err(at)
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
    Imported { grid, info, roblox: None, notes }
}

fn read_roblox(
    path: &Path,
    is_bare: bool,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let bytes = read_file(path)?;
    let mut grid = grid();
    let import = ImportOptions { container: is_bare.then_some(roblox::Container::SmoothGrid) };
    let done = roblox::import_with_progress(
        &bytes,
        &import,
        &mut budget(bytes.len()),
        &mut grid,
        progress,
    )
    .map_err(|error| error.to_string())?;
    let mut world = imported(grid, roblox::VOXEL_M, done.notes);
    world.roblox = Some(done.metadata);
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
    let voxel_size_m = longest / MESH_VOXELS;
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

fn read_heights(
    path: &Path,
    read: impl Fn(&[u8], &mut ImportBudget) -> Result<Heights, heightmap::HeightmapError>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let bytes = read_file(path)?;
    let mut budget = budget(bytes.len());
    let heights = read(&bytes, &mut budget).map_err(|error| error.to_string())?;
    let height_voxels = HeightmapOptions::natural_height_voxels(&heights, 1.0);
    relief(&heights, height_voxels, 1.0, budget, progress)
}

/// The GeoTIFF files of a folder.
fn tiffs_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(fault)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| ["tif", "tiff"].contains(&extension(path).as_str()))
        .collect();
    files.sort();
    match files.len() {
        1..=MAX_PARTS => Ok(files),
        0 => Err(format!("{}: is a folder without .tif files; give a file", folder.display())),
        count => Err(format!("{}: has {count} .tif files, at most {MAX_PARTS}", folder.display())),
    }
}

/// Heights in metres, a sample to a voxel.
fn read_tiffs(
    path: &Path,
    files: &[PathBuf],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let open =
        |file: &PathBuf| File::open(file).map_err(|error| format!("cannot be read: {error}"));
    let parts = files.iter().map(open).collect::<Result<Vec<File>, String>>()?;
    let length = |file: &PathBuf| fs::metadata(file).map(|data| data.len()).unwrap_or(0);
    let bytes: u64 = files.iter().map(length).sum();
    let mut budget = budget(usize::try_from(bytes).unwrap_or(usize::MAX));
    let read = heightmap::read_geotiff(parts, &mut budget).map_err(|error| error.to_string())?;
    let sample_m = sample_m(&read.reference, read.heights.size()[1]);
    let mut world = relief(&read.heights, 1.0 / sample_m, sample_m, budget, progress)?;
    world.notes.push(format!("{}: samples are {sample_m:.2} m apart", path.display()));
    Ok(world)
}

fn sample_m(reference: &GeoReference, rows: usize) -> f64 {
    reference.sample_m(rows).map_or(1.0, |[x, z]| (x * z).sqrt()).clamp(1e-3, 1e6)
}

/// The ground of heights, a sample to a voxel.
fn relief(
    heights: &Heights,
    height_voxels: f64,
    voxel_size_m: f64,
    mut budget: ImportBudget,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, String> {
    let [low, high] = heights.range().map(f64::from);
    let rules = heightmap::default_rules(low * height_voxels, high * height_voxels, None);
    let options = HeightmapOptions { height_voxels, rules, ..HeightmapOptions::default() };
    let mut grid = grid();
    heightmap::import(heights, &options, &mut budget, &mut grid, progress)
        .map_err(|error| format!("{error}; terravox import takes other scales and larger maps"))?;
    Ok(imported(grid, voxel_size_m, Vec::new()))
}
