//! Heightmap files of the command line: their samples.

use crate::args::HeightmapArgs;
use crate::failure::{CliResult, Failure};
use crate::import_limits;
use crate::world::read;
use std::fs::File;
use std::io::BufReader;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;
use terravox_io::files::{FileFormat, ImportFiles};
use terravox_io::heightmap::{
    self, ColourPolicy, HeightmapError, HeightmapFormat, HeightmapSamples,
};

/// A heightmap to import: a file, or a folder of GeoTIFF files or point clouds that are parts of one map.
pub struct HeightmapInput {
    kind: HeightmapFormat,
    files: Vec<PathBuf>,
    bytes: u64,
}

impl HeightmapInput {
    /// Takes the files if they are a heightmap.
    pub fn of(found: &ImportFiles) -> Option<HeightmapInput> {
        let FileFormat::Heightmap(kind) = found.format else { return None };
        Some(HeightmapInput { kind, files: found.files.clone(), bytes: found.bytes })
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
        let colours = if options.luma { ColourPolicy::Luminance } else { ColourPolicy::Refuse };
        let size = options.width.zip(options.height).map(|(width, height)| [width, height]);
        let whole = || read(&self.files[0], self.bytes);
        Ok(match self.kind {
            HeightmapFormat::Png => {
                heightmap::read_png(&whole()?, colours, budget).map(HeightmapSamples::from)
            }
            HeightmapFormat::Raw => {
                heightmap::read_raw_u16(&whole()?, size, budget).map(HeightmapSamples::from)
            }
            HeightmapFormat::Grid => {
                heightmap::read_grid(&whole()?, budget).map(HeightmapSamples::from)
            }
            HeightmapFormat::Points => {
                let parts = self.open()?.into_iter().map(BufReader::new).collect();
                let read = quietly(|| heightmap::read_point_cloud(parts, options.scale, budget));
                read.map(HeightmapSamples::from)
            }
            HeightmapFormat::Tiff => {
                heightmap::read_geotiff(self.open()?, budget).map(HeightmapSamples::from)
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

/// Calls `read` and prints nothing about panics in the crate `laz`: they are caught, and reported
/// as one line.
fn quietly<T>(read: impl FnOnce() -> T) -> T {
    let before: Arc<PanicHook> = panic::take_hook().into();
    let loud = Arc::clone(&before);
    panic::set_hook(Box::new(move |info| {
        let is_caught = info.location().is_some_and(|at| at.file().contains("laz-"));
        if !is_caught {
            loud(info);
        }
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    panic::set_hook(Box::new(move |info| before(info)));
    result.unwrap_or_else(|panic| panic::resume_unwind(panic))
}

/// What is called at a panic.
type PanicHook = dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync;
