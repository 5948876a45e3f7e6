//! Lines by room (a top-level module), tests included.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Measure;
use crate::source::Krate;

/// A room of the library may have this share of its lines.
const MAX_SHARE: f64 = 0.2;

/// A file should not be longer.
const MAX_FILE_LINES: usize = 600;

pub fn report(crates: &[Krate]) -> Vec<Measure> {
    println!("\n== lines by room");
    let mut long = Vec::new();
    let mut largest = 0.0f64;
    for krate in crates {
        let mut rooms = BTreeMap::new();
        count(&krate.source, &krate.source, &mut rooms, &mut long);
        let total: usize = rooms.values().sum();
        println!("{}: {total}", krate.name);
        if krate.name != "terravox" {
            continue;
        }
        let mut rooms: Vec<_> = rooms.into_iter().collect();
        rooms.sort_by_key(|&(_, lines)| usize::MAX - lines);
        for (room, lines) in rooms {
            let share = lines as f64 / total as f64;
            let note = if share > MAX_SHARE { "  over a fifth" } else { "" };
            println!("    {room:<12} {lines:>6} {:>5.1} %{note}", share * 100.0);
            largest = largest.max(share);
        }
    }
    println!("files over {MAX_FILE_LINES} lines, without tests:");
    for file in &long {
        println!("    {file}");
    }
    vec![
        Measure::new("largest_room_percent", (largest * 100.0).ceil() as usize),
        Measure::new("files_over_600_lines", long.len()),
    ]
}

fn count(
    folder: &Path,
    source: &Path,
    rooms: &mut BTreeMap<String, usize>,
    long: &mut Vec<String>,
) {
    for entry in fs::read_dir(folder).expect("source is readable") {
        let path = entry.expect("source is readable").path();
        if path.is_dir() {
            count(&path, source, rooms, long);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let lines = fs::read_to_string(&path).expect("source is text").lines().count();
            let inside = path.strip_prefix(source).expect("found below it");
            let room = inside.components().next().expect("a file has a name").as_os_str();
            let room = room.to_string_lossy().trim_end_matches(".rs").to_owned();
            *rooms.entry(room).or_default() += lines;
            if lines > MAX_FILE_LINES && !inside.to_string_lossy().contains("tests") {
                long.push(format!(
                    "{} {lines}",
                    path.strip_prefix(source.join("../..")).unwrap_or(inside).display()
                ));
            }
        }
    }
}
