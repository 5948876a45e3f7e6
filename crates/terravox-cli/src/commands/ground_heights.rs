//! `export` of the height of the ground as a grey PNG of 16 bits.

use super::import::add_notes;
use crate::args::ExportArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::export_region;
use crate::output::Output;
use crate::report::Report;
use crate::world::World;
use std::time::Instant;
use terravox_io::heightmap::GroundHeights;

/// Writes the heights of a world, or of a box in it.
///
/// # Errors
/// If the box is empty or beyond the world, there is no ground in it, or the file cannot be
/// written.
pub fn run(world: &World, args: &ExportArgs, console: &Console) -> CliResult<Report> {
    let start = Instant::now();
    let region = export_region(world, args.part.corners())?;
    let busy = console.busy("exporting");
    let ground = GroundHeights::of(world.grid.as_snapshot(), region);
    let ground = ground.map_err(Failure::at(&args.world))?;
    let mut output = Output::create(&args.file)?;
    ground.write_png(output.writer()).map_err(Failure::at(&args.file))?;
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
    notes.push(format!(
        "a sample is a column of {voxel} m; black is the lowest ground, white {height:.3} m higher: \
         import it with --scale {voxel} --voxel-size {voxel} --vertical-scale {height:.3}"
    ));
    add_notes(&notes, &mut report);
    Ok(report)
}
