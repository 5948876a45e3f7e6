//! `export` of the height of the ground as a grey PNG of 16 bits, or as a GeoTIFF.

use super::import::add_notes;
use crate::args::ExportArgs;
use crate::console::Console;
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::growth::export_region;
use crate::output::Output;
use crate::report::Report;
use crate::world::{self, World, store_failure};
use crate::world_store;
use std::time::Instant;
use terravox_io::heightmap::{GroundHeights, GroundHeightsError, WorldReference};

/// What heights are written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeightFormat {
    Png,
    GeoTiff,
}

/// Writes the heights of a world, or of a box in it.
///
/// # Errors
/// If the box is empty or beyond the world, there is no ground in it, or the file cannot be
/// written.
pub fn run(
    world: &World,
    format: HeightFormat,
    args: &ExportArgs,
    console: &Console,
) -> CliResult<Report> {
    let start = Instant::now();
    let region = export_region(world, args.part.corners())?;
    let busy = console.busy("exporting");
    let allowed = ExportAllowance::times(args.limit_factor);
    let ground = GroundHeights::of(world.grid.as_snapshot(), region, allowed.limit());
    let ground = ground.map_err(|error| match error {
        GroundHeightsError::OverLimit(error) => allowed.refused(&args.world, &error),
        error => Failure::of(&args.world, error),
    })?;
    let mut output = Output::create(&args.file)?;
    let place = match format {
        HeightFormat::Png => None,
        HeightFormat::GeoTiff => place_of(args)?,
    };
    let info = &world.info;
    match format {
        HeightFormat::Png => ground.write_png(output.writer()),
        HeightFormat::GeoTiff => {
            let out = output.writer();
            ground.write_geotiff(info.voxel_size_m, info.origin_m, place.as_ref(), out)
        }
    }
    .map_err(Failure::at(&args.file))?;
    let file_bytes = output.finish()?;
    drop(busy);
    let voxel = world.info.voxel_size_m;
    let [low, high] = ground.range().map(|height| height * voxel);
    let (lowest, height) = (low + world.info.origin_m[1], high - low);
    let mut report = Report::new("export");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    let [width, depth] = ground.size;
    report.line("samples", "samples", format!("{width} × {depth}"), vec![width, depth].into());
    report.line("lowest_m", "lowest", format!("{lowest:.3} m"), lowest.into());
    report.line("height_m", "height", format!("{height:.3} m"), height.into());
    report.bytes("file_bytes", "written", file_bytes);
    report.time("export_ms", "export", start.elapsed());
    let mut notes = world.notes.clone();
    notes.push(match format {
        HeightFormat::Png => format!(
            "a sample is a column of {voxel} m; black is the lowest ground, white {height:.3} m \
             higher: import it with --scale {voxel} --voxel-size {voxel} --vertical-scale {height:.3}"
        ),
        HeightFormat::GeoTiff => place_note(place.as_ref(), voxel),
    });
    add_notes(&notes, &mut report);
    Ok(report)
}

/// Reads where a stored world lies on the Earth.
fn place_of(args: &ExportArgs) -> CliResult<Option<WorldReference>> {
    if !world_store::is_address(&args.world) && !world::is_world_file(&args.world)? {
        return Ok(None);
    }
    let Some(store) = world::open_store(&args.world)? else { return Ok(None) };
    let bytes = store.extra(WorldReference::EXTRA_NAME).map_err(store_failure)?;
    let place = bytes.map(|bytes| WorldReference::from_bytes(&bytes));
    place.transpose().map_err(Failure::at(&args.world))
}

/// Says in which coordinates a GeoTIFF is.
fn place_note(place: Option<&WorldReference>, voxel: f64) -> String {
    let samples = format!("a sample is a column of {voxel} m; columns without ground have no data");
    match place {
        Some(WorldReference { system, .. }) => match system.epsg {
            Some(code) => format!("{samples}; in EPSG:{code}, as the world was imported"),
            None => format!("{samples}; in the reference system of the file that was imported"),
        },
        None => format!(
            "{samples}; in metres of the world, x and -z, since it was not imported from a place on the \
             Earth"
        ),
    }
}
