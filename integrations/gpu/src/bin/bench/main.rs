//! Compares every device with the CPU, and measures both. For machines with a graphics card:
//! the program needs a driver and nothing else.

mod measure;
mod rows;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use rows::Rows;
use terravox_gpu::GpuDevice;
use terravox_gpu::SearchedSurface::{Liquid, Solid};
use terravox_gpu::check::{Comparison, compare_cells, compare_fill, compare_search, random_blocks};
use terravox_gpu::noise::fixed_ground;

const USAGE: &str = "\
usage: bench [--check] [--measure] [--blocks N] [--device NAME] [--max-batch N] [--seconds S] [--json FILE]

  --check          compares N random blocks of each kind with the CPU (default 2,000)
  --measure        measures batches of 1 to 4,096 blocks, with transfers and without
  --device NAME    only devices whose name contains NAME
  --max-batch N    no larger batches
  --seconds S      for each line of a measurement (default 0.5)
  --json FILE      writes all rows as JSON
Without --check and --measure, both. Exits with 1 if anything differs or there is no device.";

struct Request {
    check: bool,
    measure: bool,
    blocks: usize,
    device: String,
    max_batch: usize,
    seconds: f64,
    json: Option<PathBuf>,
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut request = Request {
        check: false,
        measure: false,
        blocks: 2000,
        device: String::new(),
        max_batch: 4096,
        seconds: 0.5,
        json: None,
    };
    let mut rest = arguments;
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text:?} is not a number"));
        match argument.as_str() {
            "--check" => request.check = true,
            "--measure" => request.measure = true,
            "--blocks" => request.blocks = number(value()?)?,
            "--max-batch" => request.max_batch = number(value()?)?,
            "--device" => request.device = value()?,
            "--json" => request.json = Some(value()?.into()),
            "--seconds" => {
                let text = value()?;
                request.seconds = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
            }
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    if !request.check && !request.measure {
        (request.check, request.measure) = (true, true);
    }
    Ok(request)
}

fn main() -> ExitCode {
    let request = match parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut rows = Rows::default();
    let result = run(&request, &mut rows);
    if let Some(path) = &request.json
        && let Err(error) = std::fs::write(path, rows.json())
    {
        eprintln!("{}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(request: &Request, rows: &mut Rows) -> Result<(), String> {
    let devices: Vec<_> = GpuDevice::all()
        .into_iter()
        .filter(|device| device.name().contains(&request.device))
        .collect();
    if devices.is_empty() {
        return Err("no graphics device".to_owned());
    }
    let mut all = Comparison::default();
    for device in &devices {
        println!("{}", device.name());
        rows.device = device.name().to_owned();
        if request.check {
            let comparison = check(device, request.blocks).map_err(|error| error.to_string())?;
            println!("  all: {comparison}");
            all.add(comparison);
        }
        if request.measure {
            measure::all(device, request, rows).map_err(|error| error.to_string())?;
        }
    }
    if !request.check {
        return Ok(());
    }
    let names: Vec<_> = devices.iter().map(GpuDevice::name).collect();
    let note = format!("{all}; {}", names.join(", "));
    rows.figure("gpu_differences", all.differences as f64, "values", &note);
    match all.differences + all.by_cpu {
        0 => Ok(()),
        _ => Err(format!("the devices differ from the CPU: {all}")),
    }
}

fn check(device: &GpuDevice, blocks: usize) -> Result<Comparison, terravox_gpu::GpuError> {
    let mut all = Comparison::default();
    let mut add = |what: &str, comparison: Comparison| {
        println!("  {what}: {comparison}");
        all.add(comparison);
    };
    let seeds = 0..blocks as u64;
    add("cells, solid", compare_cells(device, seeds.clone(), 36, Solid)?);
    add("cells, liquid", compare_cells(device, seeds, 36, Liquid)?);
    let (density, blocks) = (fixed_ground(7), random_blocks(1, blocks));
    add("filled", compare_fill(device, &density, &blocks)?);
    add("density", compare_search(device, &density, &blocks)?);
    Ok(all)
}
