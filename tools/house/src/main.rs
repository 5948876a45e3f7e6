//! Measures how the source is laid out, and compares with the best so far.
//!
//! ```text
//! cargo run -p house                 print the measures
//! cargo run -p house -- --check      and fail where one is worse than in bounds.txt
//! cargo run -p house -- --tighten    and write the measures to bounds.txt where they are better
//! ```
//!
//! Run from the root of the repository (`scripts/house` goes there). Every crate is parsed with
//! `syn` into a tree of modules. Tests are left out, but for the count of lines and the phrases.

mod bounds;
mod functions;
mod imports;
mod names;
mod phrases;
mod rooms;
mod source;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bounds::Bounds;
use source::Krate;

/// One figure: smaller is better.
pub struct Measure {
    /// Its name in `bounds.txt`.
    pub id: String,
    /// What was counted.
    pub value: usize,
}

impl Measure {
    fn new(id: impl Into<String>, value: usize) -> Measure {
        Measure { id: id.into(), value }
    }
}

fn crates(root: &Path) -> Vec<Krate> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root.join("crates"))
        .expect("the repository has a folder crates")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.join("src").is_dir())
        .collect();
    folders.sort();
    folders.iter().map(|folder| Krate::read(folder)).collect()
}

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if !matches!(mode.as_str(), "" | "--check" | "--tighten") {
        eprintln!("usage: house [--check | --tighten]");
        return ExitCode::from(2);
    }
    let root = std::env::current_dir().expect("the current folder is readable");
    let crates = crates(&root);
    let mut measures = Vec::new();
    measures.extend(imports::report(&crates));
    measures.extend(rooms::report(&crates));
    measures.extend(names::report(&crates));
    measures.extend(functions::report(&crates));
    measures.extend(phrases::report(&root));

    let path = root.join("tools/house/bounds.txt");
    let bounds = Bounds::read(&path);
    println!("\n== measures (bound)");
    for measure in &measures {
        let bound = bounds.of(&measure.id).map_or("none".to_owned(), |bound| bound.to_string());
        println!("{:<36} {:>6} ({bound})", measure.id, measure.value);
    }
    match mode.as_str() {
        "--tighten" => bounds.tightened(&measures).write(&path),
        "--check" => {
            let worse = bounds.exceeded(&measures);
            for line in &worse {
                eprintln!("house: {line}");
            }
            if !worse.is_empty() {
                return ExitCode::FAILURE;
            }
        }
        _ => {}
    }
    ExitCode::SUCCESS
}
