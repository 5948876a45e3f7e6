//! `export` of a mesh for 3D printing: watertight, closed where the world or the box ends.

use super::import::add_notes;
use crate::args::{ExportArgs, UpChoice};
use crate::console::Console;
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::growth::export_region;
use crate::output::Output;
use crate::report::Report;
use crate::triangles::up_axis;
use crate::world::World;
use std::time::Instant;
use terravox_io::printing::{PrintError, PrintFrame, PrintSurface, write_3mf, write_stl};

/// Formats that printers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintFormat {
    /// Binary STL.
    Stl,
    /// 3MF, with colours.
    ThreeMf,
}

/// Writes the closed ground of a world, or of a box in it.
///
/// # Errors
/// If the box is empty or beyond the world, there is no ground in it, or the file cannot be
/// written.
pub fn run(
    world: &World,
    format: PrintFormat,
    args: &ExportArgs,
    console: &Console,
) -> CliResult<Report> {
    let start = Instant::now();
    let region = export_region(world, args.part.corners())?;
    let snapshot = world.grid.snapshot();
    let bar = console.bar("meshing", 1);
    let progress = |done, all| bar.set(done, all);
    let allowed = ExportAllowance::times(args.limit_factor);
    let (mip, limit) = (args.triangles.mip, allowed.limit());
    let surface = PrintSurface::of(&snapshot, region, mip, limit, &progress);
    let surface = surface.map_err(|error| match error {
        PrintError::OverLimit(error) => allowed.refused(&args.world, &error),
        error => Failure::of(&args.world, error),
    })?;
    drop(bar);
    if surface.triangles.is_empty() {
        let what = "has no ground there; give another box with --from and --to";
        return Err(Failure::of(&args.world, what));
    }
    let voxel = world.info.voxel_size_m;
    let units_per_voxel = voxel * args.triangles.scale;
    let up = up_axis(args.triangles.up.unwrap_or(UpChoice::Z));
    let frame = PrintFrame { units_per_voxel, up };
    let busy = console.busy("writing");
    let mut output = Output::create(&args.file)?;
    let written = match format {
        PrintFormat::Stl => write_stl(output.writer(), &surface, frame),
        PrintFormat::ThreeMf => write_3mf(output.writer(), &surface, snapshot.materials(), frame),
    };
    written.map_err(Failure::at(&args.file))?;
    let file_bytes = output.finish()?;
    drop(busy);
    let mut report = Report::new("export");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    report.count("vertices", "vertices", surface.positions.len() as u64);
    report.count("triangles", "triangles", surface.triangles.len() as u64);
    report.bytes("file_bytes", "written", file_bytes);
    report.time("export_ms", "export", start.elapsed());
    let mut notes = world.notes.clone();
    let [x, y, z] = extent(&surface).map(|voxels| f64::from(voxels) * units_per_voxel);
    let units = match format {
        PrintFormat::Stl => " if a unit of the file is a millimetre",
        PrintFormat::ThreeMf => "",
    };
    notes.push(format!(
        "printed {x:.1} × {z:.1} mm wide and {y:.1} mm high{units}; --scale N prints a metre as N mm"
    ));
    add_notes(&notes, &mut report);
    Ok(report)
}

/// Returns the size of a surface, voxels.
fn extent(surface: &PrintSurface) -> [f32; 3] {
    let bounds = surface.positions.iter().map(|p| [*p, *p]);
    let bounds = bounds.reduce(|[low, high], [p, _]| {
        [[0, 1, 2].map(|i| low[i].min(p[i])), [0, 1, 2].map(|i| high[i].max(p[i]))]
    });
    let [low, high] = bounds.unwrap_or_default();
    [0, 1, 2].map(|i| high[i] - low[i])
}
