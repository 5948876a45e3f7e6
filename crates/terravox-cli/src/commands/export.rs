//! `export`: writes a world in another program's format.

use super::mesh;
use crate::args::ExportArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::output::{check_not_input, write_file};
use crate::report::Report;
use crate::triangles::check_triangles_path;
use crate::world::{self, extension};
use std::time::Instant;
use terravox_io::roblox::{self, Container};

pub fn run(args: &ExportArgs, console: &Console) -> CliResult<Report> {
    let container = match extension(&args.file).as_str() {
        "rbxm" => Some(Container::Binary),
        "rbxmx" => Some(Container::Xml),
        "smoothgrid" => Some(Container::SmoothGrid),
        "glb" | "obj" => None,
        _ => {
            let what = "unsupported extension; use .rbxm, .rbxmx, .smoothgrid, .glb or .obj";
            return Err(Failure::of(&args.file, what));
        }
    };
    if container.is_none() {
        check_triangles_path(&args.file, &args.triangles)?;
    }
    check_not_input(&args.world, &args.file)?;
    let world = world::open(&args.world, &Default::default(), args.reading, console)?;
    let Some(container) = container else {
        return mesh::triangles("export", &world, args, None, console);
    };
    let start = Instant::now();
    let busy = console.busy("exporting");
    let bytes = roblox::export(world.grid.as_snapshot(), &world.roblox, container)
        .map_err(Failure::at(&args.world))?;
    let file_bytes = write_file(&args.file, &bytes)?;
    drop(busy);
    let mut report = Report::new("export");
    report.text_line("world", "world", args.world.display().to_string());
    report.text_line("file", "file", args.file.display().to_string());
    report.count("chunks", "chunks", world.grid.chunks().len() as u64);
    report.bytes("file_bytes", "written", file_bytes);
    report.time("export_ms", "export", start.elapsed());
    super::import::add_notes(&world.notes, &mut report);
    Ok(report)
}
