//! `export`: writes a world in another program's format.

use super::ground_heights::{self, HeightFormat};
use super::import::add_notes;
use super::mesh;
use super::print;
use super::print::PrintFormat;
use super::tiles3d;
use crate::args::ExportArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::import_limits;
use crate::output::{Output, check_not_input, write_file};
use crate::report::Report;
use crate::triangles::check_triangles_path;
use crate::world::{self, World, check_file, extension};
use std::path::{Path, PathBuf};
use std::time::Instant;
use terravox_io::roblox::{self, Container, ExportError, RobloxError};
use terravox_io::vox::{self, VoxExportError};
use terravox_io::{ImportBudget, ImportLimits};

/// What a world is written as.
enum Format {
    Roblox(Container),
    Vox,
    Triangles,
    Print(PrintFormat),
    Heights(HeightFormat),
    Tiles,
}

impl Format {
    /// The format of the extension.
    ///
    /// # Errors
    /// If it has none.
    fn of(args: &ExportArgs) -> CliResult<Format> {
        Ok(match extension(&args.file).as_str() {
            "rbxm" => Format::Roblox(Container::Binary),
            "rbxmx" => Format::Roblox(Container::Xml),
            "rbxl" if args.into.is_some() => Format::Roblox(Container::Binary),
            "rbxlx" if args.into.is_some() => Format::Roblox(Container::Xml),
            "rbxl" | "rbxlx" => {
                let what = "a place holds more than terrain; name the place whose terrain this is \
                            to be with --into, or write a model (.rbxm)";
                return Err(Failure::of(&args.file, what));
            }
            "smoothgrid" => Format::Roblox(Container::SmoothGrid),
            "vox" => Format::Vox,
            "glb" | "obj" => Format::Triangles,
            "stl" => Format::Print(PrintFormat::Stl),
            "3mf" => Format::Print(PrintFormat::ThreeMf),
            "png" => Format::Heights(HeightFormat::Png),
            "tif" | "tiff" => Format::Heights(HeightFormat::GeoTiff),
            "json" => Format::Tiles,
            _ => {
                let what = "unsupported extension; use .rbxm, .rbxmx, .smoothgrid, .vox, .glb, \
                            .obj, .stl, .3mf, .png, .tif or .json";
                return Err(Failure::of(&args.file, what));
            }
        })
    }
}

pub fn run(args: &ExportArgs, console: &Console) -> CliResult<Report> {
    let format = Format::of(args)?;
    check_options(&format, args)?;
    check_not_input(&args.world, &args.file)?;
    let place = args.into.as_deref().map(|path| Place::read(path, &format, args)).transpose()?;
    let extent = args.part.extent();
    let world = world::open(&args.world, &Default::default(), args.reading, extent, console)?;
    match format {
        Format::Roblox(container) => roblox(&world, container, place.as_ref(), args, console),
        Format::Vox => voxels(&world, args, console),
        Format::Triangles => mesh::triangles("export", &world, args, None, console),
        Format::Print(format) => print::run(&world, format, args, console),
        Format::Heights(format) => ground_heights::run(&world, format, args, console),
        Format::Tiles => tiles3d::run(&world, args, console),
    }
}

/// Writes a model of Roblox, or a copy of a place.
fn roblox(
    world: &World,
    container: Container,
    place: Option<&Place>,
    args: &ExportArgs,
    console: &Console,
) -> CliResult<Report> {
    let start = Instant::now();
    let busy = console.busy("exporting");
    let bytes = match place {
        Some(place) => place.with_terrain(world, &args.world)?,
        None => roblox::export(world.grid.as_snapshot(), &world.roblox, container)
            .map_err(Failure::at(&args.world))?,
    };
    let file_bytes = write_file(&args.file, &bytes)?;
    drop(busy);
    let mut report = report_of(world, args, file_bytes, start);
    let mut notes = world.notes.clone();
    notes.extend(scale_note(world.info.voxel_size_m));
    add_notes(&notes, &mut report);
    Ok(report)
}

/// Writes a scene of MagicaVoxel, a model at a time.
fn voxels(world: &World, args: &ExportArgs, console: &Console) -> CliResult<Report> {
    let start = Instant::now();
    let busy = console.busy("exporting");
    let mut output = Output::create(&args.file)?;
    let written = vox::write(world.grid.as_snapshot(), output.writer());
    written.map_err(|error| match error {
        VoxExportError::Io { .. } => Failure::of(&args.file, error),
        error => Failure::of(&args.world, error),
    })?;
    let file_bytes = output.finish()?;
    drop(busy);
    let mut report = report_of(world, args, file_bytes, start);
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// What is said of a file of cells.
fn report_of(world: &World, args: &ExportArgs, file_bytes: u64, start: Instant) -> Report {
    let mut report = Report::new("export");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    if let Some(place) = &args.into {
        report.text_line("into", "terrain of", place.display().to_string());
    }
    report.count("chunks", "chunks", world.grid.chunks().len() as u64);
    report.bytes("file_bytes", "written", file_bytes);
    report.time("export_ms", "export", start.elapsed());
    report
}

/// Returns a note if a world's voxels are not as wide as those of Roblox.
fn scale_note(voxel_size_m: f64) -> Option<String> {
    let (there, scale) = (roblox::VOXEL_M, roblox::VOXEL_M / voxel_size_m);
    ((scale - 1.0).abs() > 1e-9).then(|| {
        format!("a voxel is {there} m wide in Roblox and {voxel_size_m} m here: everything is {scale:.3} times as large there")
    })
}

/// Refuses options that are for other formats.
fn check_options(format: &Format, args: &ExportArgs) -> CliResult<()> {
    let triangles = &args.triangles;
    let allowed: &[&str] = match format {
        Format::Roblox(_) => &["--into", "--limit-factor"],
        Format::Vox => &[],
        Format::Heights(_) => &["--limit-factor"],
        Format::Triangles => &[
            "--up",
            "--scale",
            "--materials",
            "--quantize",
            "--scatter",
            "--gpu-instancing",
            "--mip",
            "--simplify",
            "--limit-factor",
        ],
        Format::Print(_) => &["--up", "--scale", "--mip", "--limit-factor"],
        Format::Tiles => &["--scale", "--location", "--limit-factor"],
    };
    let given = [
        ("--into", args.into.is_some()),
        ("--limit-factor", args.limit_factor != 1),
        ("--location", args.location.is_some()),
        ("--up", triangles.up.is_some()),
        ("--scale", triangles.scale != 1.0),
        ("--materials", triangles.materials),
        ("--quantize", triangles.quantize),
        ("--scatter", triangles.scatter),
        ("--gpu-instancing", triangles.gpu_instancing),
        ("--mip", triangles.mip != 0),
        ("--simplify", triangles.simplify.is_some()),
    ];
    if let Format::Triangles = format {
        check_triangles_path(&args.world, &args.file, triangles)?;
    }
    let is_other = |&&(name, is_given): &&(&str, bool)| is_given && !allowed.contains(&name);
    let Some((name, _)) = given.iter().find(is_other) else { return Ok(()) };
    let what = match (format, *name) {
        (Format::Print(_), "--simplify") => "is not for .stl and .3mf; --mip makes fewer triangles",
        (Format::Print(_), "--materials") => "is not for .stl and .3mf; .3mf has their colours",
        _ => "is for other formats; omit it",
    };
    Err(Failure::of(&args.file, format!("{name} {what}")))
}

/// A place whose terrain is replaced.
struct Place {
    path: PathBuf,
    bytes: Vec<u8>,
    limit_factor: u32,
}

impl Place {
    /// Reads a place that is to be written as `format`.
    fn read(path: &Path, format: &Format, args: &ExportArgs) -> CliResult<Place> {
        check_not_input(path, &args.file)?;
        if let Err(error) = path.metadata() {
            let what = "--into names the place that is copied, with its terrain replaced";
            let what = format!("cannot be read: {error}; {what}, so check the name");
            return Err(Failure::of(path, what));
        }
        let bytes = world::read(path, check_file(path)?)?;
        let what = match roblox::detect(&bytes) {
            Some(found) if matches!(format, Format::Roblox(to) if *to == found) => {
                let limit_factor = args.limit_factor;
                return Ok(Place { path: path.to_owned(), bytes, limit_factor });
            }
            Some(Container::Binary) => "is binary; write it to a .rbxl or .rbxm file",
            Some(Container::Xml) => "is XML; write it to a .rbxlx or .rbxmx file",
            _ => "is not a Roblox place; --into takes a .rbxl, .rbxm, .rbxlx or .rbxmx file",
        };
        Err(Failure::of(path, what))
    }

    /// Returns its bytes with the terrain of a world.
    fn with_terrain(&self, world: &World, world_path: &Path) -> CliResult<Vec<u8>> {
        let grid = world.grid.as_snapshot();
        let limits = ImportLimits::for_input(self.bytes.len()).times(self.limit_factor);
        let mut budget = ImportBudget::new(limits);
        roblox::export_into(grid, &world.roblox, &self.bytes, &mut budget).map_err(|error| {
            let path = match error {
                ExportError::NotHeld(_)
                | ExportError::Roblox(
                    RobloxError::Material { .. }
                    | RobloxError::BeyondLimits { .. }
                    | RobloxError::TooLong { .. },
                ) => world_path,
                _ => &self.path,
            };
            match error {
                ExportError::Roblox(RobloxError::OverBudget { part, offset, error }) => {
                    let what = import_limits::explained(&error, self.limit_factor);
                    Failure::of(path, format!("{part}, byte {offset}: {what}"))
                }
                error => Failure::of(path, error),
            }
        })
    }
}
