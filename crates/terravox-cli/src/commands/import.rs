//! `import`: converts another program's file to a world.

use crate::args::{ImportArgs, ReadArgs};
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::heightmap_input::HeightmapInput;
use crate::heights::{self, StreamedImport};
use crate::mesh_input;
use crate::region_input::{self, RegionChoice};
use crate::report::Report;
use crate::world::{self, WORLD_EXTENSION, check_file, check_new_world, extension};
use std::time::Instant;
use terravox_io::files::FileFormat;
use terravox_store::Overwrite;

pub fn run(args: &ImportArgs, console: &Console) -> CliResult<Report> {
    check_new_world(&args.world, args.force)?;
    if extension(&args.file) == WORLD_EXTENSION {
        check_file(&args.file)?;
        return Err(Failure::of(&args.file, "is already a world; copy the file instead"));
    }
    let failure = |what: String| Failure::of(&args.file, what);
    let overwrite = if args.force { Overwrite::Yes } else { Overwrite::No };
    let start = Instant::now();
    let found = world::find(&args.file)?;
    if let Some(regions) = found.as_ref().filter(|found| found.format == FileFormat::Anvil) {
        mesh_input::check_not_mesh(&args.heightmap).map_err(failure)?;
        let choice = RegionChoice { blocks: args.blocks.as_deref(), corners: args.part.corners() };
        let (file, heightmap) = (&args.file, &args.heightmap);
        let imported = region_input::stream(
            file,
            &regions.files,
            heightmap,
            choice,
            &args.world,
            overwrite,
            console,
        )?;
        return Ok(streamed(args, imported, start));
    }
    if args.blocks.is_some() {
        return Err(failure("--blocks is for Minecraft worlds (.mca); omit it".to_owned()));
    }
    if let Some(input) = found.as_ref().and_then(HeightmapInput::of) {
        mesh_input::check_not_mesh(&args.heightmap).map_err(failure)?;
        if args.part.corners().is_some() {
            let what = "--from and --to are not for heightmaps; cut it in another program first";
            return Err(failure(what.to_owned()));
        }
        let (file, heightmap) = (&args.file, &args.heightmap);
        let imported = heights::stream(file, &input, heightmap, &args.world, overwrite, console)?;
        return Ok(streamed(args, imported, start));
    }
    let extent = args.part.corners().map_or(Extent::Stored, Extent::Box);
    let world = world::open(&args.file, &args.heightmap, ReadArgs::default(), extent, console)?;
    let imported = start.elapsed();
    let census = Census::of(world.grid.as_snapshot(), console).map_err(Failure::at(&args.file))?;
    let start = Instant::now();
    let saved = world.save(&args.world, args.force, console)?;
    let save = start.elapsed();
    let mut report = Report::of_change("import", &args.world);
    report.text_line("file", "file", args.file.display().to_string());
    report.text_line("world", "world", args.world.display().to_string());
    census.add_to(&mut report);
    census.add_bytes("disk", "on disk", saved, &mut report);
    report.time("import_ms", "import", imported);
    report.time("save_ms", "save", save);
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// Reports on a file that was imported piece by piece.
fn streamed(args: &ImportArgs, imported: StreamedImport, start: Instant) -> Report {
    let mut report = Report::of_change("import", &args.world);
    report.text_line("file", "file", args.file.display().to_string());
    report.text_line("world", "world", args.world.display().to_string());
    imported.census.add_to(&mut report);
    imported.census.add_bytes("disk", "on disk", imported.file_bytes, &mut report);
    if let Some(bytes) = peak_memory() {
        report.bytes("peak_memory_bytes", "peak memory", bytes);
    }
    report.time("import_ms", "import", start.elapsed());
    add_notes(&imported.notes, &mut report);
    report
}

/// Returns the peak memory of this process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Adds notes for the user, a line each.
pub fn add_notes(notes: &[String], report: &mut Report) {
    for note in notes {
        report.text_only("note", note);
    }
    report.hidden("notes", notes.to_vec());
}
