//! `import`: a file of another program becomes a world.

use crate::args::{Import, Reading};
use crate::census::Census;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::report::Report;
use crate::world::{self, WORLD, check_file, check_new_world, extension};
use serde_json::json;
use std::time::Instant;

pub fn run(args: &Import, console: &Console) -> Outcome<Report> {
    check_new_world(&args.world, args.force)?;
    check_file(&args.file)?;
    if extension(&args.file) == WORLD {
        return Err(Failure::of(&args.file, "this is a world already; copy the file"));
    }
    let start = Instant::now();
    let world = world::open(&args.file, &args.heightmap, Reading::default(), console)?;
    let imported = start.elapsed();
    let start = Instant::now();
    let saved = world.save(&args.world, args.force, console)?;
    let save = start.elapsed();
    let mut report = Report::new("import");
    report.text_line("file", "file", args.file.display().to_string());
    report.text_line("world", "world", args.world.display().to_string());
    let census = Census::of(&world.grid, console).map_err(Failure::at(&args.file))?;
    census.add_to(&mut report);
    census.add_bytes("disk", "on disk", saved, &mut report);
    report.time("import_ms", "import", imported);
    report.time("save_ms", "save", save);
    add_notes(&world.notes, &mut report);
    Ok(report)
}

/// Adds what a user should know of a file, a line each.
pub fn add_notes(notes: &[String], report: &mut Report) {
    for note in notes {
        report.line("note", "note", note, json!(note));
    }
    report.hidden("notes", notes.to_vec());
}
