//! Measures terravox and its peers in one process, on one thread, in turns.
#![warn(missing_docs)]

mod biomes;
mod bodies;
mod cluster;
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
mod net;
mod octree;
mod particles;
mod paths;
mod report;
mod scatter;
mod storage;
mod summary;
mod trust;
mod values;
mod voxelise;
mod worlds;

use std::path::PathBuf;
use std::process::ExitCode;

use figures::Area;
use machine::Machine;
use report::{AreaPart, AreaReport};

const USAGE: &str = "\
usage: terravox-bench AREA [--json FILE] [--update DOCUMENT] [--details FILE]
       terravox-bench lod|octree|front|trust|net|worlds|cluster --only PART [--json FILE] [--update DOCUMENT]
       terravox-bench trust|net|cluster --full
       terravox-bench python|page|bevy|gpu --values FILE [--json FILE] [--update DOCUMENT]
       terravox-bench soak [--seconds N] [--seed N]

AREA  storage, mesh, collide, contacts, edit, lod, octree, particles, bodies, front, trust,
       net, worlds, or all
PART  lod: view, fly, far, speed; octree: speed, cluster, simplify;
      front: frames, digs, generators, bodies, saving, upload, place, shores, edit;
      trust: hostile, damaged, flips, sizes, reopen, faults, kills;
      net: session, far, links, killed, load; worlds: generated, voxelise, scatter, paths;
      cluster: postgres, takeover, stale, border, faults, s3

Prints all tables.
  --json FILE        write the same rows as JSON
  --update DOCUMENT  write the figures between the marks of a Markdown document, such as
                     docs/benchmarks.md; with --only, just the lines that were measured
  --full             as many damaged worlds, kills and links as were asked for once, in an hour or so
  --details FILE     write the tables behind the figures as Markdown
  --values FILE      the figures of the Python package as scripts/test-python measured them, those of the
                     page as scripts/web-figures did, those of the plugin as scripts/bevy-figures did, or that
                     of the graphics card as scripts/test-gpu did; not in all
cluster measures a PostgreSQL that it starts, with --features cluster; it is not in all either.
Real places are read from ../shared/data, or from TERRAVOX_REAL_DATA.
soak runs bodies on terrain that is edited at random for N seconds of simulated time (default
60) and exits with 1 if any body is lost or wakes late. A seed (default 9) repeats a run.
example: cargo run --release -p terravox-bench -- mesh --json mesh.json";

/// The parsed command line.
#[derive(Debug, PartialEq)]
struct Request {
    areas: Vec<Area>,
    json: Option<PathBuf>,
    /// The document to update.
    update: Option<PathBuf>,
    /// The file for the tables behind the figures.
    details: Option<PathBuf>,
    /// The only part of the area to measure.
    only: Option<String>,
    /// Whether areas that count failures try as much as they can.
    is_full: bool,
    /// What a browser has measured.
    values: Option<PathBuf>,
}

/// Parts of the area `worlds`.
const WORLD_PARTS: &[AreaPart] = &[
    AreaPart::new("generated", biomes::run),
    AreaPart::new("voxelise", voxelise::run),
    AreaPart::new("scatter", scatter::run),
    AreaPart::new("paths", paths::run),
];

/// Returns the parts of an area that can be measured by themselves.
fn parts(area: Area) -> &'static [AreaPart] {
    match area {
        Area::Lod => lod::PARTS,
        Area::Octree => octree::PARTS,
        Area::Front => front::PARTS,
        Area::Trust => trust::PARTS,
        Area::Net => net::PARTS,
        Area::Worlds => WORLD_PARTS,
        Area::Cluster => cluster::PARTS,
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
    if arguments.first().is_some_and(|argument| argument == trust::CHILD) {
        return trust::run_child(&arguments[1..]);
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

/// Runs the soak test and prints its counts.
fn soak(arguments: &[String]) -> ExitCode {
    let (mut seconds, mut seed) = (60, 9);
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--seconds", Some(number)) => seconds = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("soak takes --seconds N and --seed N, integers\n\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let counts = contacts::soak(seconds as usize, seed);
    println!("{counts:?}");
    match counts.failures() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn parse(arguments: &[String]) -> Result<Request, String> {
    let (mut areas, mut only, mut is_full) = (Vec::new(), None, false);
    let [mut json, mut update, mut details, mut values] = [const { None }; 4];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "all" => areas.extend(Area::MEASURED),
            "python" => areas.push(Area::Python),
            "page" => areas.push(Area::Page),
            "bevy" => areas.push(Area::Bevy),
            "gpu" => areas.push(Area::Gpu),
            "cluster" => areas.push(Area::Cluster),
            "--full" => is_full = true,
            "--json" | "--update" | "--details" | "--values" => {
                let file = rest.next().ok_or(format!("{argument} needs a file name"))?;
                let target = match argument.as_str() {
                    "--json" => &mut json,
                    "--update" => &mut update,
                    "--values" => &mut values,
                    _ => &mut details,
                };
                *target = Some(PathBuf::from(file));
            }
            "--only" => {
                only = Some(rest.next().ok_or("--only needs the name of a part")?.clone());
            }
            other => match Area::MEASURED.into_iter().find(|area| area.name() == other) {
                Some(area) => areas.push(area),
                None => return Err(format!("unknown argument {other:?}")),
            },
        }
    }
    areas.dedup();
    if areas.is_empty() {
        return Err("no area given".to_string());
    }
    let needs_values =
        |area: &Area| matches!(area, Area::Python | Area::Page | Area::Bevy | Area::Gpu);
    if values.is_some() != areas.iter().any(needs_values) || (values.is_some() && areas.len() > 1) {
        return Err("python, page, bevy and gpu need --values, and nothing else does".to_string());
    }
    if let Some(only) = &only {
        let names: Vec<&str> = parts(areas[0]).iter().map(|part| part.name).collect();
        if areas.len() > 1 || names.is_empty() {
            return Err(
                "--only needs exactly one area: lod, octree, front, trust, net, worlds or \
                 cluster"
                    .to_string(),
            );
        }
        if !names.contains(&only.as_str()) {
            return Err(format!("--only takes one of {}", names.join(", ")));
        }
    }
    Ok(Request { areas, json, update, details, only, is_full, values })
}

fn run(request: &Request) -> Result<(), String> {
    let machine = Machine::this();
    println!("{machine}");
    let mut reports = Vec::new();
    for &area in &request.areas {
        let mut report = AreaReport::new(area);
        report.is_full = request.is_full;
        match area {
            Area::Storage => storage::run(&mut report),
            Area::Mesh => mesh::run(&mut report),
            Area::Collide => collide::run(&mut report),
            Area::Contacts => contacts::run(&mut report),
            Area::Edit => edit::run(&mut report),
            Area::Lod
            | Area::Octree
            | Area::Front
            | Area::Trust
            | Area::Net
            | Area::Worlds
            | Area::Cluster => {
                let is_wanted = |name: &str| request.only.as_ref().is_none_or(|only| only == name);
                let parts = parts(area).iter().filter(|part| is_wanted(part.name));
                parts.for_each(|part| (part.measure)(&mut report));
            }
            Area::Particles => particles::run(&mut report),
            Area::Bodies => bodies::run(&mut report),
            Area::Python | Area::Page | Area::Bevy | Area::Gpu => {
                report_values(area, request, &mut report)?;
            }
        }
        print!("\n{}", report.text());
        reports.push(report);
    }
    let unmet: usize = reports.iter().map(AreaReport::unmet_count).sum();
    println!("\n{unmet} figures miss their bound or were not measured");
    if let Some(path) = &request.json {
        let json = format!("{:#}\n", report::json(&reports, &machine));
        std::fs::write(path, json).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if let Some(path) = &request.details {
        let details = markdown::details(&reports, &machine);
        std::fs::write(path, details).map_err(|error| format!("{}: {error}", path.display()))?;
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

/// Reads what another program has measured.
fn report_values(area: Area, request: &Request, report: &mut AreaReport) -> Result<(), String> {
    let Some(path) = &request.values else { return Ok(()) };
    let error = |what: String| format!("{}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    values::report(area, &text, report).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn areas_and_files_are_parsed() {
        let request = parse(&words("mesh --json out.json")).unwrap();
        assert_eq!((request.areas, request.update), (vec![Area::Mesh], None));
        assert_eq!(request.json, Some("out.json".into()));
        let request = parse(&words("storage --update doc.md")).unwrap();
        assert_eq!((request.json, request.update), (None, Some("doc.md".into())));
        let request = parse(&words("edit --details tables.md")).unwrap();
        assert_eq!(request.details, Some("tables.md".into()));
        assert_eq!(parse(&words("cluster")).unwrap().areas, [Area::Cluster]);
        assert_eq!(parse(&words("all")).unwrap().areas, Area::MEASURED);
        assert_eq!(parse(&words("page --values v")).unwrap().values, Some("v".into()));
    }

    #[test]
    fn unknown_arguments_are_named() {
        assert_eq!(parse(&words("mesh --jsn x")), Err("unknown argument \"--jsn\"".to_string()));
        assert!(parse(&words("mesh --json")).is_err());
        assert!(parse(&words("page")).is_err() && parse(&words("mesh --values v")).is_err());
        assert!(parse(&words("octree --only fly")).is_err());
        assert!(parse(&words("mesh --only speed")).is_err());
        assert!(parse(&words("octree --only simplify")).is_ok());
        assert!(parse(&[]).is_err());
    }
}
