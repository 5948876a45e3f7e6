//! `import`: converts another program's file to a world.

use crate::args::{ImportArgs, ReadArgs};
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::heightmap_input::HeightmapInput;
use crate::heights;
use crate::mesh_input;
use crate::report::Report;
use crate::world::{self, WORLD_EXTENSION, check_file, check_new_world, extension};
use std::time::Instant;
use terravox_store::Overwrite;

pub fn run(args: &ImportArgs, console: &Console) -> CliResult<Report> {
    check_new_world(&args.world, args.force)?;
    if extension(&args.file) == WORLD_EXTENSION {
        check_file(&args.file)?;
        return Err(Failure::of(&args.file, "is already a world; copy the file instead"));
    }
    if let Some(input) = HeightmapInput::find(&args.file)? {
        let failure = |what| Failure::of(&args.file, what);
        mesh_input::check_not_mesh(&args.heightmap).map_err(failure)?;
        return stream(args, &input, console);
    }
    let start = Instant::now();
    let world =
        world::open(&args.file, &args.heightmap, ReadArgs::default(), Extent::Stored, console)?;
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

/// Imports a heightmap piece by piece: its world may be larger than memory.
fn stream(args: &ImportArgs, input: &HeightmapInput, console: &Console) -> CliResult<Report> {
    let start = Instant::now();
    let overwrite = if args.force { Overwrite::Yes } else { Overwrite::No };
    let imported =
        heights::stream(&args.file, input, &args.heightmap, &args.world, overwrite, console)?;
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
    Ok(report)
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
