//! Importing heightmaps: converts metres of the command line to voxels and back, and imports worlds
//! larger than memory piece by piece.

use crate::args::HeightmapArgs;
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::heightmap_input::HeightmapInput;
use crate::import_limits;
use crate::world::{World, store_failure};
use std::fs;
use std::path::Path;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::ImportBudget;
use terravox_io::heightmap::{
    self, HeightmapError, HeightmapOptions, HeightmapRelief, HeightmapSamples, WorldReference,
};
use terravox_io::roblox::RobloxMetadata;
use terravox_store::{Draft, Overwrite, Store, WorldInfo};

/// Imports a heightmap into memory.
///
/// # Errors
/// If the file is damaged or not a heightmap, an option is out of range, or the world does not fit
/// in memory.
pub fn import(
    path: &Path,
    input: &HeightmapInput,
    options: &HeightmapArgs,
    console: &Console,
) -> CliResult<World> {
    let mut budget = input.budget(options);
    let (samples, info) = read(path, input, options, &mut budget)?;
    let explain = |error| Failure::of(path, explained(&error, &info, options));
    let voxel_options = in_voxels(&samples, options, info.voxel_size_m);
    let notes = samples.notes();
    let heights = samples.heights;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let bar = console.bar("importing", 1);
    let progress = |done, all| bar.set(done, all);
    heightmap::import(&heights, &voxel_options, &mut budget, &mut grid, progress)
        .map_err(explain)?;
    drop(bar);
    Ok(World {
        grid,
        info,
        roblox: RobloxMetadata::default(),
        source: "heightmap",
        file_bytes: 0,
        notes,
        growth: None,
        channels: Default::default(),
    })
}

/// A world that was imported piece by piece.
pub struct StreamedImport {
    /// Counts of its cells.
    pub census: Census,
    /// Length of its file.
    pub file_bytes: u64,
    /// What to tell the user, a line each.
    pub notes: Vec<String>,
}

/// Imports a heightmap into a world file piece by piece: all threads generate a piece while the
/// previous one is written. Memory holds the samples and two pieces, whatever the size of the
/// world.
///
/// # Errors
/// If the file is damaged or not a heightmap, an option is out of range, or the world cannot be
/// written.
pub fn stream(
    path: &Path,
    input: &HeightmapInput,
    options: &HeightmapArgs,
    target: &Path,
    overwrite: Overwrite,
    console: &Console,
) -> CliResult<StreamedImport> {
    let mut budget = input.budget(options);
    let (samples, info) = read(path, input, options, &mut budget)?;
    let explain = |error| Failure::of(path, explained(&error, &info, options));
    let voxel_options = in_voxels(&samples, options, info.voxel_size_m);
    let notes = samples.notes();
    let place = place_of(&samples, options);
    let relief = HeightmapRelief::new(samples.heights, voxel_options, info.materials.kinds())
        .map_err(explain)?;
    check_chunks(&relief, options).map_err(|what| Failure::of(path, what))?;
    let draft = Store::create(target, &info, overwrite).map_err(store_failure)?;
    let pieces = relief.pieces();
    let bar = console.bar("importing", pieces.iter().map(Vec::len).sum());
    let mut census = Census::default();
    let mut generated: Option<VoxelGrid> = None;
    for piece in &pieces {
        let (written, next) = rayon::join(
            || generated.as_ref().map_or(Ok(()), |grid| write(&draft, grid)),
            || relief.piece(piece, &info.materials),
        );
        written?;
        census.add(&Census::of(next.as_snapshot(), console).map_err(Failure::at(path))?);
        bar.add(piece.len());
        generated = Some(next);
    }
    if let Some(last) = generated.take() {
        write(&draft, &last)?;
    }
    drop(bar);
    if let Some(place) = place {
        let bytes = place.to_bytes();
        draft.set_extra(WorldReference::EXTRA_NAME, Some(&bytes)).map_err(store_failure)?;
    }
    let busy = console.busy("finishing");
    drop(draft.finish().map_err(store_failure)?);
    drop(busy);
    let metadata = fs::metadata(target);
    let metadata = metadata.map_err(|error| Failure::of(target, error).after_change())?;
    let file_bytes = metadata.len();
    Ok(StreamedImport { census, file_bytes, notes })
}

/// Where a world lies on the Earth that is made of these samples.
fn place_of(samples: &HeightmapSamples, options: &HeightmapArgs) -> Option<WorldReference> {
    let sample_m = options.scale.or_else(|| samples.sample_m())?;
    let unit_m = options.vertical_scale.unwrap_or(1.0);
    WorldReference::of(samples.reference.as_ref()?, sample_m, unit_m)
}

/// Refuses worlds of too many chunks, before any is generated.
fn check_chunks(relief: &HeightmapRelief, options: &HeightmapArgs) -> Result<(), String> {
    let factor = import_limits::factor(options);
    let (chunks, limit) =
        (relief.max_chunks(), HeightmapRelief::MAX_STREAMED_CHUNKS * u64::from(factor));
    if chunks <= limit {
        return Ok(());
    }
    let factor = chunks.div_ceil(HeightmapRelief::MAX_STREAMED_CHUNKS);
    Err(format!(
        "the world would have {chunks} chunks, at most {limit}; lower --depth, --scale or \
         --vertical-scale, give a larger --voxel-size, or pass --limit-factor {factor}"
    ))
}

fn write(draft: &Draft, grid: &VoxelGrid) -> CliResult<()> {
    draft.write_all(grid.as_snapshot(), |_, _| ()).map(drop).map_err(store_failure)
}

/// Reads the samples, and chooses the size of voxels: that of samples, if a file says how far apart
/// they are.
fn read(
    path: &Path,
    input: &HeightmapInput,
    options: &HeightmapArgs,
    budget: &mut ImportBudget,
) -> CliResult<(HeightmapSamples, WorldInfo)> {
    let info = |voxel_size_m| WorldInfo { voxel_size_m, ..WorldInfo::default() };
    let given = options.voxel_size;
    let explain =
        |error| Failure::of(path, explained(&error, &info(given.unwrap_or(1.0)), options));
    let samples = input.read(options, budget)?.map_err(explain)?;
    let voxel_size_m = given.or(options.scale).or_else(|| samples.sample_m());
    // Without a reference system, a sample becomes a voxel.
    let voxel_size_m = if samples.reference.is_some() { voxel_size_m } else { given };
    Ok((samples, info(voxel_size_m.unwrap_or(1.0))))
}

/// Converts metres of the command line to voxels.
fn in_voxels(samples: &HeightmapSamples, options: &HeightmapArgs, voxel: f64) -> HeightmapOptions {
    let heights = &samples.heights;
    let defaults = HeightmapOptions::default();
    let sample_m = options.scale.or_else(|| samples.sample_m());
    let voxels_per_sample = sample_m.map_or(1.0, |sample_m| sample_m / voxel);
    let height_voxels = match options.vertical_scale {
        Some(height) => height / voxel,
        // Heights in metres.
        None if samples.reference.is_some() => 1.0 / voxel,
        None => HeightmapOptions::natural_height_voxels(heights, voxels_per_sample),
    };
    let lengths = HeightmapOptions {
        voxels_per_sample,
        height_voxels,
        sea_level: options.sea_level.map(|sea| sea / voxel),
        depth_voxels: options.depth.map_or(defaults.depth_voxels, |depth| depth / voxel),
        ..defaults
    };
    lengths.with_natural_land(heights)
}

/// Formats an error with the options of the command line.
fn explained(error: &HeightmapError, info: &WorldInfo, options: &HeightmapArgs) -> String {
    match error {
        HeightmapError::OverBudget(error) => {
            import_limits::explained(error, import_limits::factor(options))
        }
        HeightmapError::OutOfRange { option: "voxels_per_sample", value, low, high }
            if options.scale.is_none() =>
        {
            wrong_file_scale([*value, *low, *high].map(|voxels| voxels * info.voxel_size_m))
        }
        _ => explained_in_metres(error, info.voxel_size_m),
    }
}

/// Formats that the distance between samples, as the file says it, is out of its range, in metres.
fn wrong_file_scale([given, low, high]: [f64; 3]) -> String {
    if !given.is_finite() || given <= 0.0 {
        return "the scale of the file is out of range, so its samples would be at one place or without \
                end apart; give --scale METRES, the distance between them"
            .to_owned();
    }
    let [given, low, high] = [given, low, high].map(metres);
    format!(
        "the file says that its samples are {given} m apart, and with voxels of this size {low} to \
         {high} m are possible; give another --voxel-size, or --scale METRES if the file is wrong"
    )
}

/// Formats an error in metres of a world with voxels of `voxel` metres.
fn explained_in_metres(error: &HeightmapError, voxel: f64) -> String {
    let metres = |voxels: f64| metres(voxels * voxel);
    match error {
        HeightmapError::Colours { .. } => {
            format!("{error}; pass --luma to import their luminance as height")
        }
        HeightmapError::RawSize { bytes, width, depth, wanted } => format!(
            "the file has {bytes} bytes, but {width} × {depth} samples of 16 bits are {wanted}; \
             give --width SAMPLES --height ROWS that match"
        ),
        HeightmapError::RawNotSquare { samples, hint } => format!(
            "{samples} raw samples of 16 bits are not a square; \
             give --width SAMPLES --height ROWS{hint}"
        ),
        HeightmapError::TooWide { voxels } => {
            let max_voxels = HeightmapOptions::MAX_EXTENT_VOXELS;
            let [width, max_width] = [*voxels, max_voxels].map(|voxels| metres(voxels as f64));
            let size = metres(*voxels as f64 / max_voxels as f64);
            format!(
                "the world would be {width} m wide, at most {max_width} m with voxels of {voxel} m; \
                 give --voxel-size {size} or more, or a lower --scale"
            )
        }
        HeightmapError::TooManyChunks { chunks } => format!(
            "the world would have {chunks} chunks, too many for memory; import it into a world \
             file first: terravox import"
        ),
        HeightmapError::OutOfRange { option, value, low, high } => {
            let flag = match *option {
                "voxels_per_sample" => "--scale",
                "height_voxels" => "--vertical-scale",
                "depth_voxels" => "--depth",
                "sea_level" => "--sea-level",
                _ => return error.to_string(),
            };
            let [value, min, max] = [*value, low.max(0.0), *high].map(metres);
            let range = match *option {
                "sea_level" => format!("{} to {max}", metres(*low)),
                "voxels_per_sample" => format!("{min} to {max}"),
                _ => format!("at most {max}"),
            };
            format!("{flag} is {value} m; give {range} m with voxels of {voxel} m (--voxel-size)")
        }
        HeightmapError::TooHigh { height } => {
            let limit = f64::from(terravox::voxel::LIMIT);
            let [height, limit] = [*height, limit].map(metres);
            format!("the land would reach {height} m, at most ±{limit} m; lower --vertical-scale")
        }
        _ => error.to_string(),
    }
}

/// Formats a length with at most six significant digits.
fn metres(length: f64) -> String {
    if length == 0.0 || !length.is_finite() {
        return length.to_string();
    }
    let digits = 5 - length.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits);
    let rounded = (length * scale).round() / scale;
    if rounded.is_finite() { rounded.to_string() } else { length.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::MaterialTable;
    use terravox_io::heightmap::Heights;

    #[test]
    fn a_scale_that_nobody_gave_is_that_of_the_file() {
        let (info, options) = (WorldInfo::default(), HeightmapArgs::default());
        let line = |value| {
            let (option, low, high) = ("voxels_per_sample", 0.01, 1024.0);
            let error = HeightmapError::OutOfRange { option, value, low, high };
            explained(&error, &info, &options)
        };
        for value in [f64::NAN, f64::INFINITY, 0.0] {
            let line = line(value);
            assert!(line.starts_with("the scale of the file is out of range"), "{line}");
            assert!(line.contains("give --scale METRES") && !line.contains("NaN"), "{line}");
        }
        let far = line(5000.0);
        assert!(far.starts_with("the file says that its samples are 5000 m apart, and"), "{far}");
    }

    #[test]
    fn values_out_of_range_are_reported_in_metres() {
        let wrong = |scale, vertical, depth, voxel| {
            let heights = Heights::new([2, 2], vec![0.0, 0.1, 0.5, 1.0]).expect("heights");
            let options = HeightmapArgs {
                scale: Some(scale),
                vertical_scale: Some(vertical),
                depth: Some(depth),
                voxel_size: Some(voxel),
                ..HeightmapArgs::default()
            };
            let samples = HeightmapSamples::from(heights);
            let voxel_options = in_voxels(&samples, &options, voxel);
            let heights = samples.heights;
            let kinds = MaterialTable::default();
            let error = HeightmapRelief::new(heights, voxel_options, kinds.kinds())
                .err()
                .expect("an error");
            explained_in_metres(&error, voxel)
        };
        let high = wrong(8.0, 600_000.0, 8.0, 8.0);
        assert_eq!(
            high,
            "--vertical-scale is 600000 m; give at most 524288 m with voxels of 8 m (--voxel-size)"
        );
        let fine = wrong(1.0, 1.0, 1.0, 1e-4);
        assert!(fine.starts_with("--scale is 1 m; give 0.0000000976563 to 0.1024 m"), "{fine}");
        let deep = wrong(0.5, 10.0, 40_000.0, 0.5);
        assert!(deep.starts_with("--depth is 40000 m; give at most 32768 m"), "{deep}");
        let wide = explained_in_metres(&HeightmapError::TooWide { voxels: 100_000 }, 0.25);
        assert!(wide.starts_with("the world would be 25000 m wide, at most 16384 m"), "{wide}");
        assert!(
            wide.contains("--voxel-size 0.381470 or") || wide.contains("--voxel-size 0.38147 or")
        );
    }
}
