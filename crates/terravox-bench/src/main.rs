//! Measures terravox beside its peers: in one process, on one thread, in turns.
#![warn(missing_docs)]

mod bodies;
mod collide;
mod contacts;
mod edit;
mod figures;
mod front;
mod harness;
mod lod;
mod machine;
mod markdown;
mod mesh;
mod octree;
mod particles;
mod report;
mod storage;
mod worlds;

use std::path::PathBuf;
use std::process::ExitCode;

use figures::Area;
use machine::Machine;
use report::Report;

const USAGE: &str = "\
usage: terravox-bench AREA [--json FILE] [--update DOCUMENT]
       terravox-bench lod|octree|front --only PART [--json FILE] [--update DOCUMENT]
       terravox-bench soak [--seconds N] [--seed N]

AREA is storage, mesh, collide, contacts, edit, lod, octree, particles, bodies, front or all. PART is
view, fly, far, speed, seam or closed of lod; speed, cluster, error, morph, simplify or borders of
octree; frames, generators, bodies, saving, upload, place, shores or edit of front.
Prints tables; --json writes the same rows to FILE; --update puts the tables into a Markdown
DOCUMENT, such as docs/benchmarks.md; with --only, the lines of the figures that were measured.
Real places are read from ../shared/data, or from where TERRAVOX_REAL_DATA points.
soak lets bodies live on terrain that is edited at random for N seconds of their time (60)
and counts what went wrong; it fails if anything did. The same seed (9) is the same soak.
example: cargo run --release -p terravox-bench -- mesh --json mesh.json";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Request {
    areas: Vec<Area>,
    json: Option<PathBuf>,
    /// A document whose tables are to be brought up to date.
    update: Option<PathBuf>,
    /// The one part of the area to measure.
    only: Option<String>,
}

/// A part of an area, by name.
type Part = (&'static str, fn(&mut Report));

/// What can be measured by itself.
fn parts(area: Area) -> &'static [Part] {
    match area {
        Area::Lod => lod::PARTS,
        Area::Octree => octree::PARTS,
        Area::Front => front::PARTS,
        _ => &[],
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if arguments.first().is_some_and(|argument| argument == "soak") {
        return soak(&arguments[1..]);
    }
    let request = match parse(&arguments) {
        Ok(request) => request,
        Err(what) => {
            eprintln!("{what}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(2)
        }
    }
}

/// Soaks for so many seconds, and prints what it counted.
fn soak(arguments: &[String]) -> ExitCode {
    let (mut seconds, mut seed) = (60, 9);
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--seconds", Some(number)) => seconds = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("soak takes --seconds N and --seed N, whole numbers\n\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let found = contacts::soak(seconds as usize, seed);
    println!("{found:?}");
    match found.below + found.nan + found.over_budget + found.late {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let (mut areas, mut json, mut update, mut only) = (Vec::new(), None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "all" => areas.extend(Area::ALL),
            "--json" | "--update" => {
                let file = rest.next().ok_or(format!("{argument} needs a file name"))?;
                let target = if argument == "--json" { &mut json } else { &mut update };
                *target = Some(PathBuf::from(file));
            }
            "--only" => {
                only = Some(rest.next().ok_or("--only needs the name of a part")?.clone());
            }
            other => match Area::ALL.into_iter().find(|area| area.name() == other) {
                Some(area) => areas.push(area),
                None => return Err(format!("unknown argument {other}")),
            },
        }
    }
    areas.dedup();
    if areas.is_empty() {
        return Err("which area?".to_string());
    }
    if let Some(only) = &only {
        let names: Vec<&str> = parts(areas[0]).iter().map(|(name, _)| *name).collect();
        if areas.len() > 1 || names.is_empty() {
            return Err("--only is for one area: lod, octree or front".to_string());
        }
        if !names.contains(&only.as_str()) {
            return Err(format!("--only takes one of {}", names.join(", ")));
        }
    }
    Ok(Request { areas, json, update, only })
}

fn run(request: &Request) -> Result<(), String> {
    let machine = Machine::this();
    println!("{machine}");
    let mut reports = Vec::new();
    for &area in &request.areas {
        let mut report = Report::new(area);
        match area {
            Area::Storage => storage::run(&mut report),
            Area::Mesh => mesh::run(&mut report),
            Area::Collide => collide::run(&mut report),
            Area::Contacts => contacts::run(&mut report),
            Area::Edit => edit::run(&mut report),
            Area::Lod | Area::Octree | Area::Front => {
                let wanted = |name: &str| request.only.as_ref().is_none_or(|only| only == name);
                let parts = parts(area).iter().filter(|(name, _)| wanted(name));
                parts.for_each(|(_, measure)| measure(&mut report));
            }
            Area::Particles => particles::run(&mut report),
            Area::Bodies => bodies::run(&mut report),
        }
        print!("\n{}", report.text());
        reports.push(report);
    }
    let short: usize = reports.iter().map(Report::short).sum();
    println!("\n{short} figures short of their bound or not measured");
    if let Some(path) = &request.json {
        let json = format!("{:#}\n", report::json(&reports, &machine));
        std::fs::write(path, json).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if let Some(path) = &request.update {
        let error = |what: String| format!("{}: {what}", path.display());
        let old = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
        let new = match request.only {
            None => markdown::update(&old, &reports, &machine),
            Some(_) => markdown::update_measured(&old, &reports[0]),
        };
        let new = new.map_err(error)?;
        std::fs::write(path, new).map_err(|e| error(e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn areas_and_a_json_file_are_understood() {
        let request = parse(&words("mesh --json out.json")).unwrap();
        assert_eq!((request.areas, request.update), (vec![Area::Mesh], None));
        assert_eq!(request.json, Some("out.json".into()));
        let request = parse(&words("storage --update doc.md")).unwrap();
        assert_eq!((request.json, request.update), (None, Some("doc.md".into())));
        assert_eq!(parse(&words("all")).unwrap().areas, Area::ALL);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parse(&words("mesh --jsn x")), Err("unknown argument --jsn".to_string()));
        assert!(parse(&words("mesh --json")).is_err());
        assert!(parse(&words("octree --only fly")).is_err());
        assert!(parse(&words("mesh --only speed")).is_err());
        assert!(parse(&words("octree --only simplify")).is_ok());
        assert!(parse(&[]).is_err());
    }
}
