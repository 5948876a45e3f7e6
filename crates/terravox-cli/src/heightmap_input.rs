//! Heightmap files of the command line: their format, and their samples.

use crate::args::HeightmapArgs;
use crate::failure::{CliResult, Failure};
use crate::import_limits;
use crate::world::{check_file, extension, first_bytes, read};
use std::fs::{self, File};
use std::io::BufReader;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terravox_io::heightmap::{
    self, CloudHeights, ColourPolicy, GeoHeights, GeoReference, GridHeights, HeightmapError,
    Heights,
};

/// Maximum number of files of a folder; they are open at once.
const MAX_PARTS: usize = 512;

/// The format of a heightmap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeightmapFormat {
    /// A PNG.
    Png,
    /// Samples of 16 bits, little-endian, without a header.
    Raw,
    /// A GeoTIFF or BigTIFF.
    Tiff,
    /// Numbers: an array of NumPy, or JSON.
    Grid,
    /// Points, LAS or LAZ.
    Points,
}

impl HeightmapFormat {
    /// Detects the format by extension and first bytes; `None` if the file is not a heightmap.
    pub fn of(extension: &str, start: &[u8]) -> Option<HeightmapFormat> {
        match extension {
            "raw" | "r16" => Some(HeightmapFormat::Raw),
            "png" => Some(HeightmapFormat::Png),
            "tif" | "tiff" => Some(HeightmapFormat::Tiff),
            "npy" | "npz" | "json" => Some(HeightmapFormat::Grid),
            "las" | "laz" => Some(HeightmapFormat::Points),
            _ if heightmap::is_point_cloud(start) => Some(HeightmapFormat::Points),
            _ if heightmap::is_npy(start) => Some(HeightmapFormat::Grid),
            _ if heightmap::is_tiff(start) => Some(HeightmapFormat::Tiff),
            _ => start.starts_with(b"\x89PNG\r\n\x1A\n").then_some(HeightmapFormat::Png),
        }
    }
}

/// A heightmap to import: a file, or a folder of GeoTIFF files or point clouds that are parts of one map.
pub struct HeightmapInput {
    kind: HeightmapFormat,
    files: Vec<PathBuf>,
    bytes: u64,
}

/// Samples, and what else a file says of them.
pub struct HeightmapSamples {
    pub heights: Heights,
    /// Of a GeoTIFF, of a point cloud, or of a grid of numbers, which has no place; their heights are in
    /// metres.
    pub reference: Option<GeoReference>,
    /// Samples without data.
    pub without_data: u64,
    /// Points of a cloud, and how many of them lie beyond the bounds of its header.
    pub points: Option<[u64; 2]>,
}

impl HeightmapInput {
    /// The heightmap at a path; `None` if the file is of another kind.
    pub fn find(path: &Path) -> CliResult<Option<HeightmapInput>> {
        if path.is_dir() {
            return HeightmapInput::folder(path).map(Some);
        }
        let bytes = check_file(path)?;
        let kind = HeightmapFormat::of(&extension(path), &first_bytes(path)?);
        Ok(kind.map(|kind| HeightmapInput { kind, files: vec![path.to_owned()], bytes }))
    }

    fn folder(path: &Path) -> CliResult<HeightmapInput> {
        let entries = fs::read_dir(path).map_err(Failure::at(path))?;
        let (mut maps, mut clouds) = (Vec::new(), Vec::new());
        for entry in entries {
            let file = entry.map_err(Failure::at(path))?.path();
            // A pipe of that name would wait for ever.
            if !file.is_file() {
                continue;
            }
            match extension(&file).as_str() {
                "tif" | "tiff" => maps.push(file),
                "las" | "laz" => clouds.push(file),
                _ => {}
            }
        }
        let (kind, mut files) = match (maps.is_empty(), clouds.is_empty()) {
            (false, true) => (HeightmapFormat::Tiff, maps),
            (true, false) => (HeightmapFormat::Points, clouds),
            (true, true) => {
                return Err(Failure::of(
                    path,
                    "is a folder without .tif, .las or .laz files; give a file",
                ));
            }
            (false, false) => {
                return Err(Failure::of(
                    path,
                    "is a folder of .tif and of .las or .laz files; give one kind",
                ));
            }
        };
        if files.len() > MAX_PARTS {
            let what = format!("has {} files of a map, at most {MAX_PARTS}", files.len());
            return Err(Failure::of(path, what));
        }
        files.sort();
        let mut bytes = 0;
        for file in &files {
            bytes += check_file(file)?;
        }
        Ok(HeightmapInput { kind, files, bytes })
    }

    /// Reads the samples; the budget is that of files of their length.
    ///
    /// # Errors
    /// If a file cannot be opened; the inner error if one is not a heightmap.
    pub fn read(
        &self,
        options: &HeightmapArgs,
        budget: &mut terravox_io::ImportBudget,
    ) -> CliResult<Result<HeightmapSamples, HeightmapError>> {
        let plain =
            |heights| HeightmapSamples { heights, reference: None, without_data: 0, points: None };
        let colours = if options.luma { ColourPolicy::Luminance } else { ColourPolicy::Refuse };
        let size = options.width.zip(options.height).map(|(width, height)| [width, height]);
        let whole = || read(&self.files[0], self.bytes);
        Ok(match self.kind {
            HeightmapFormat::Png => heightmap::read_png(&whole()?, colours, budget).map(plain),
            HeightmapFormat::Raw => heightmap::read_raw_u16(&whole()?, size, budget).map(plain),
            HeightmapFormat::Grid => {
                let read = heightmap::read_grid(&whole()?, budget);
                read.map(|GridHeights { heights, without_data }| HeightmapSamples {
                    heights,
                    reference: Some(GeoReference::default()),
                    without_data,
                    points: None,
                })
            }
            HeightmapFormat::Points => {
                let parts = self.open()?.into_iter().map(BufReader::new).collect();
                let read = quietly(|| heightmap::read_point_cloud(parts, options.scale, budget));
                read.map(|CloudHeights { heights, filled, points, outside, reference }| {
                    HeightmapSamples {
                        heights,
                        reference: Some(reference),
                        without_data: filled,
                        points: Some([points, outside]),
                    }
                })
            }
            HeightmapFormat::Tiff => {
                let read = heightmap::read_geotiff(self.open()?, budget);
                read.map(|GeoHeights { heights, without_data, reference, .. }| HeightmapSamples {
                    heights,
                    reference: Some(reference),
                    without_data,
                    points: None,
                })
            }
        })
    }

    fn open(&self) -> CliResult<Vec<File>> {
        self.files.iter().map(|file| File::open(file).map_err(Failure::at(file))).collect()
    }

    /// The budget of files of this length.
    pub fn budget(&self, options: &HeightmapArgs) -> terravox_io::ImportBudget {
        import_limits::budget(usize::try_from(self.bytes).unwrap_or(usize::MAX), options)
    }
}

/// Calls `read` without a word of panics in `laz`: they are caught, and said as one line.
fn quietly<T>(read: impl FnOnce() -> T) -> T {
    let before: Arc<PanicHook> = panic::take_hook().into();
    let loud = Arc::clone(&before);
    panic::set_hook(Box::new(move |info| {
        let is_caught = info.location().is_some_and(|at| at.file().contains("laz-"));
        if !is_caught {
            loud(info);
        }
    }));
    let result = read();
    panic::set_hook(Box::new(move |info| before(info)));
    result
}

/// What is called at a panic.
type PanicHook = dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync;

impl HeightmapSamples {
    /// Metres between samples, if the file says so: the geometric mean of both directions.
    pub fn sample_m(&self) -> Option<f64> {
        let reference = self.reference.as_ref()?;
        let [x, z] = reference.sample_m(self.heights.size()[1])?;
        Some((x * z).sqrt())
    }

    /// What the file says of its place on the Earth, and of missing heights.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let (Some(reference), Some(sample_m)) = (&self.reference, self.sample_m()) {
            let system = match reference.epsg {
                Some(code) => format!("EPSG:{code}"),
                None => "a reference system without a code".to_owned(),
            };
            let [x, y] = reference.corner;
            notes.push(format!(
                "{system}; the lowest x and z of the world are at {x}, {y}; samples are \
                 {sample_m:.4} m apart"
            ));
        }
        let without_data = self.without_data;
        match self.points {
            Some([points, outside]) => {
                notes.push(format!("{points} points"));
                if outside > 0 {
                    notes.push(format!(
                        "{outside} of them lie beyond the bounds that the header gives, and are left out"
                    ));
                }
                if without_data > 0 {
                    notes.push(format!(
                        "{without_data} samples have no ground, and are filled from those around them"
                    ));
                }
            }
            None if without_data > 0 => notes
                .push(format!("{without_data} samples have no data, and are as low as the lowest")),
            None => {}
        }
        notes
    }
}
