//! Which files can be imported, and as what: by their names and first bytes. Programs that import any
//! file ask here, so that they agree.
//!
//! ```no_run
//! use std::path::Path;
//! use terravox_io::files::{FileFormat, ImportFiles};
//!
//! assert_eq!(FileFormat::of("rbxl", b"<roblox!"), Some(FileFormat::Roblox));
//! let world = ImportFiles::find(Path::new("saves/World")).unwrap();
//! assert_eq!(world.format, FileFormat::Anvil);
//! println!("{} regions, {} bytes", world.files.len(), world.bytes);
//! ```

use crate::anvil::{REGION_EXTENSION, named_region};
use crate::heightmap::HeightmapFormat;
use crate::triangles::MeshFormat;
use crate::vox;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// First bytes of a file by which its format is detected.
const START_BYTES: u64 = 64;
/// Most files of a map; they are open at once.
const MAX_MAP_FILES: usize = 512;
/// Most region files of a world: 65,536 blocks in square.
const MAX_REGIONS: usize = 1 << 14;

/// The format of a file that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// A model or place of Roblox.
    Roblox,
    /// The terrain of Roblox alone.
    SmoothGrid,
    /// A heightmap, a grid of numbers or a point cloud.
    Heightmap(HeightmapFormat),
    /// A scene of MagicaVoxel.
    Vox,
    /// A closed mesh.
    Mesh(MeshFormat),
    /// Regions of Minecraft.
    Anvil,
}

impl FileFormat {
    /// The extensions of all formats, in lower case.
    pub const EXTENSIONS: [&str; 21] = [
        "rbxm",
        "rbxl",
        "rbxmx",
        "rbxlx",
        "smoothgrid",
        "vox",
        "obj",
        "stl",
        "ply",
        "glb",
        "png",
        "raw",
        "r16",
        "tif",
        "tiff",
        "npy",
        "npz",
        "json",
        "las",
        "laz",
        REGION_EXTENSION,
    ];

    /// Detects the format by the lower-case extension of a file and its first bytes, 64 or more if
    /// it has them; `None` if it is another kind of file.
    pub fn of(extension: &str, start: &[u8]) -> Option<FileFormat> {
        match extension {
            REGION_EXTENSION => return Some(FileFormat::Anvil),
            "rbxm" | "rbxl" | "rbxmx" | "rbxlx" => return Some(FileFormat::Roblox),
            "smoothgrid" => return Some(FileFormat::SmoothGrid),
            _ => {}
        }
        if let Some(format) = HeightmapFormat::of(extension, start) {
            return Some(FileFormat::Heightmap(format));
        }
        if start.starts_with(b"<roblox") {
            return Some(FileFormat::Roblox);
        }
        if extension == "vox" || vox::is_vox(start) {
            return Some(FileFormat::Vox);
        }
        MeshFormat::of(extension, start).map(FileFormat::Mesh)
    }
}

/// Files that are imported as one world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFiles {
    /// The format of all of them.
    pub format: FileFormat,
    /// One file; several only if the path is a folder. Sorted.
    pub files: Vec<PathBuf>,
    /// Their length together.
    pub bytes: u64,
}

/// Why a path cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", .path.display())]
pub struct FilesError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it, and what to give instead.
    pub what: String,
}

impl FilesError {
    fn new(path: &Path, what: impl Into<String>) -> FilesError {
        FilesError { path: path.to_owned(), what: what.into() }
    }

    fn unreadable(path: &Path) -> impl Fn(io::Error) -> FilesError {
        move |error| FilesError::new(path, format!("cannot be read: {error}; check the name"))
    }
}

impl ImportFiles {
    /// Returns what is at a path: a file, or a folder of GeoTIFF files or point clouds that are parts
    /// of one map, or of the regions of a Minecraft world, also in its folder `region`: files named
    /// `r.X.Z.mca`.
    ///
    /// # Errors
    /// If nothing is there that can be read, it is empty or of another kind, or a folder has files of
    /// several kinds, or too many.
    pub fn find(path: &Path) -> Result<ImportFiles, FilesError> {
        if path.is_dir() {
            return ImportFiles::of_folder(path);
        }
        let bytes = length(path)?;
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
        read.map_err(FilesError::unreadable(path))?;
        match FileFormat::of(&extension(path), &start) {
            Some(format) => Ok(ImportFiles { format, files: vec![path.to_owned()], bytes }),
            None => {
                let known = FileFormat::EXTENSIONS.join(", .");
                Err(FilesError::new(path, format!("unknown file type; give .tvx, .{known}")))
            }
        }
    }

    fn of_folder(path: &Path) -> Result<ImportFiles, FilesError> {
        let within = path.join("region");
        let regions = if within.is_dir() { &within } else { path };
        // The game leaves empty files where it saved nothing.
        let is_filled = |file: &PathBuf| file.metadata().is_ok_and(|it| it.len() > 0);
        let found = files_of(regions, &[REGION_EXTENSION])?.into_iter().filter(is_filled);
        // A copy beside a region, of another name, would be the same region once more.
        let (files, others): (Vec<PathBuf>, Vec<PathBuf>) =
            found.partition(|file| named_region(file).is_some());
        if !files.is_empty() {
            return ImportFiles::all(regions, FileFormat::Anvil, files, MAX_REGIONS);
        }
        if !others.is_empty() {
            let what = "has .mca files, but none with the name of a region, such as r.0.-1.mca; \
                        give one file";
            return Err(FilesError::new(regions, what));
        }
        let maps = files_of(path, &["tif", "tiff"])?;
        let clouds = files_of(path, &["las", "laz"])?;
        let (format, files) = match (maps.is_empty(), clouds.is_empty()) {
            (false, true) => (HeightmapFormat::Tiff, maps),
            (true, false) => (HeightmapFormat::Points, clouds),
            (true, true) => {
                let what = "is a folder without .tif, .las, .laz or .mca files; give a file";
                return Err(FilesError::new(path, what));
            }
            (false, false) => {
                let what = "is a folder of .tif and of .las or .laz files; give one kind";
                return Err(FilesError::new(path, what));
            }
        };
        ImportFiles::all(path, FileFormat::Heightmap(format), files, MAX_MAP_FILES)
    }

    fn all(
        folder: &Path,
        format: FileFormat,
        mut files: Vec<PathBuf>,
        limit: usize,
    ) -> Result<ImportFiles, FilesError> {
        if files.len() > limit {
            let what = if format == FileFormat::Anvil { "region files" } else { "files of a map" };
            let what = format!("has {} {what}, at most {limit}", files.len());
            return Err(FilesError::new(folder, what));
        }
        files.sort();
        let mut bytes = 0;
        for file in &files {
            bytes += length(file)?;
        }
        Ok(ImportFiles { format, files, bytes })
    }
}

/// The files of a folder with one of these extensions.
fn files_of(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, FilesError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(FilesError::unreadable(folder))? {
        let file = entry.map_err(FilesError::unreadable(folder))?.path();
        // A pipe of that name would wait for ever.
        if extensions.contains(&&*extension(&file)) && file.is_file() {
            files.push(file);
        }
    }
    Ok(files)
}

/// The length of a file that is not empty; 0 for pipes.
fn length(path: &Path) -> Result<u64, FilesError> {
    let metadata = fs::metadata(path).map_err(FilesError::unreadable(path))?;
    match metadata.is_file() && metadata.len() == 0 {
        true => Err(FilesError::new(path, "the file is empty; get another copy")),
        false => Ok(metadata.len()),
    }
}

/// The lower-case extension of a path; empty if it has none.
fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_extension_names_a_format_and_bytes_name_some() {
        for extension in FileFormat::EXTENSIONS {
            assert!(FileFormat::of(extension, b"").is_some(), "{extension}");
        }
        let points = FileFormat::Heightmap(HeightmapFormat::Points);
        assert_eq!(FileFormat::of("", b"LASF"), Some(points));
        assert_eq!(FileFormat::of("bin", b"<roblox!"), Some(FileFormat::Roblox));
        assert_eq!(FileFormat::of("bin", b"VOX \x96\0\0\0"), Some(FileFormat::Vox));
        assert_eq!(FileFormat::of("rbxl", b"LASF"), Some(FileFormat::Roblox));
        assert_eq!(FileFormat::of("xyz", b"what is this"), None);
    }

    #[test]
    fn folders_are_maps_or_worlds_of_one_kind() {
        let folder = std::env::temp_dir().join(format!("terravox-files-{}", std::process::id()));
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        put("map/b.tif", b"II*\0");
        put("map/a.TIFF", b"II*\0");
        put("map/notes.txt", b"");
        let map = ImportFiles::find(&folder.join("map")).unwrap();
        assert_eq!(map.format, FileFormat::Heightmap(HeightmapFormat::Tiff));
        assert_eq!((map.files.len(), map.bytes), (2, 8));
        assert!(map.files[0].ends_with("a.TIFF"));
        put("map/c.laz", b"LASF");
        let error = ImportFiles::find(&folder.join("map")).unwrap_err().to_string();
        assert!(
            error.ends_with("map: is a folder of .tif and of .las or .laz files; give one kind")
        );
        put("world/region/r.0.0.mca", b"x");
        put("world/region/r.1.0.mca", b"");
        put("world/region/r.-1.12.mca", b"x");
        for copy in ["r.0.0_backup.mca", "copy of r.0.0.mca", "r.00.0.mca", "r.-0.0.mca"] {
            put(&format!("world/region/{copy}"), b"x");
            put(&format!("copies/{copy}"), b"x");
        }
        let world = ImportFiles::find(&folder.join("world")).unwrap();
        assert_eq!((world.format, world.files.len()), (FileFormat::Anvil, 2));
        put("none/notes.txt", b"x");
        for (name, what) in [
            ("none", "is a folder without"),
            ("copies", "has .mca files, but none with the name of a region"),
            ("none/notes.txt", "unknown file type"),
            ("map/notes.txt", "the file is empty"),
            ("missing.tif", "cannot be read"),
        ] {
            let error = ImportFiles::find(&folder.join(name)).unwrap_err();
            assert!(error.what.starts_with(what), "{name}: {error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
