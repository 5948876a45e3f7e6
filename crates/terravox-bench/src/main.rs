//! Measures terravox beside its peers: in one process, on one thread, in turns.
#![warn(missing_docs)]

mod figures;
mod harness;
mod machine;
mod mesh;
mod report;
mod storage;
mod worlds;

use std::path::PathBuf;
use std::process::ExitCode;

use figures::Area;
use machine::Machine;
use report::Report;

const USAGE: &str = "\
usage: terravox-bench AREA [--json FILE]

AREA is storage, mesh or all. Prints a table; --json writes the same rows to FILE.
Real places are read from ../shared/data, or from where TERRAVOX_REAL_DATA points.
example: cargo run --release -p terravox-bench -- mesh --json mesh.json";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Request {
    areas: Vec<Area>,
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
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

fn parse(arguments: &[String]) -> Result<Request, String> {
    let (mut areas, mut json) = (Vec::new(), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "storage" => areas.push(Area::Storage),
            "mesh" => areas.push(Area::Mesh),
            "all" => areas.extend([Area::Storage, Area::Mesh]),
            "--json" => {
                let file = rest.next().ok_or("--json needs a file name")?;
                json = Some(PathBuf::from(file));
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    areas.dedup();
    if areas.is_empty() { Err("which area?".to_string()) } else { Ok(Request { areas, json }) }
}

fn run(request: &Request) -> Result<(), String> {
    let machine = Machine::this();
    let mut report = Report::default();
    for area in &request.areas {
        match area {
            Area::Storage => storage::run(&mut report),
            Area::Mesh => mesh::run(&mut report),
        }
    }
    print!("{}", report.text(&request.areas, &machine));
    let short = report.short(&request.areas);
    println!("\n{short} figures short of their bound or not measured");
    if let Some(path) = &request.json {
        let json = format!("{:#}\n", report.json(&request.areas, &machine));
        std::fs::write(path, json).map_err(|error| format!("{}: {error}", path.display()))?;
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
        assert_eq!(request, Request { areas: vec![Area::Mesh], json: Some("out.json".into()) });
        assert_eq!(parse(&words("all")).unwrap().areas, [Area::Storage, Area::Mesh]);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parse(&words("mesh --jsn x")), Err("unknown argument --jsn".to_string()));
        assert!(parse(&words("mesh --json")).is_err());
        assert!(parse(&[]).is_err());
    }
}
