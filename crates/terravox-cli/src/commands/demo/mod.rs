//! `demo`: makes a model and pictures of a generated or imported world.

#[cfg(feature = "physics")]
mod bridge;
#[cfg(feature = "physics")]
mod drop;
mod horizon;
mod sparks;
mod tunnel;
mod views;

use super::generate::generate;
use super::render::{camera_report, take, write_png};
use crate::args::{DEMO_SEED, DemoArgs, TriangleArgs};
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::output::Output;
use crate::report::Report;
use crate::triangles;
use crate::world::{self, World};
use serde_json::{Value, json};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};
use terravox::generate::{Hills, Seeded};
use terravox::mesh::shade::UNSET;
use terravox_render::{PictureOptions, Scene};
use views::DemoPicture;

/// Voxels along the demo world's x and z.
const SIZE: u32 = 384;

/// Heights of the demo world: deep enough for lakes, and for caves in its sides.
const HEIGHTS: Range<i32> = -32..128;

/// The demo digs through a world from end to end.
const WHOLE: Extent =
    Extent::Whole { remedy: "demo takes a finite one, such as of terravox generate world.tvx" };

/// How to run the part of the demo that is not built by default.
#[cfg(not(feature = "physics"))]
const PHYSICS_HINT: &str = "to drop 500 bodies, which settle and float, and to collapse a bridge: \
                       cargo run --release --features physics -- demo";

/// A picture that was written.
struct PictureReport {
    /// Name of its file.
    file: &'static str,
    /// Its camera, as JSON.
    camera: Value,
}

/// Names and durations of the steps, in order.
#[derive(Default)]
struct StepTimes(Vec<(&'static str, Duration)>);

impl StepTimes {
    /// Runs a step and records its duration.
    fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.0.push((name, start.elapsed()));
        done
    }
}

pub fn run(args: &DemoArgs, console: &Console) -> CliResult<Report> {
    let mut times = StepTimes::default();
    let mut world = match &args.file {
        None => times.step("generate", || {
            generate(&Seeded::Hills(Hills::new(DEMO_SEED)), SIZE, HEIGHTS, 1.0, console)
        })?,
        Some(file) => {
            let open = || world::open(file, &args.heightmap, args.reading, WHOLE, console);
            times.step("import", open)?
        }
    };
    create_folder(&args.out)?;
    let tunnel = times.step("dig", || tunnel::dig(&mut world.grid))?;
    let saved_path = args.out.join("world.tvx");
    let file_bytes = times.step("save", || world.save(&saved_path, true, console))?;
    let reopened = times.step("reopen", || reopen(&world, &saved_path, console))?;
    let model = args.out.join("world.glb");
    let options = TriangleArgs {
        up: None,
        scale: 1.0,
        materials: false,
        quantize: false,
        mip: 0,
        simplify: None,
    };
    let written =
        times.step("mesh", || triangles::write(&reopened, &model, &options, None, console))?;
    let mut scene = Scene::new(&reopened.grid, None).map_err(Failure::new)?;
    scene.set_textures(UNSET);
    let mut pictures = take_pictures(&reopened, &scene, &tunnel, args, console, &mut times)?;
    if args.file.is_none() {
        pictures.extend(horizon::show(args, console, &mut times)?);
        #[cfg(feature = "physics")]
        pictures.extend(bridge::show(args, console, &mut times)?);
    }
    #[cfg(feature = "physics")]
    let drop = drop::show(world.grid, &reopened, scene, &mut pictures, args, console, &mut times)?;

    let mut report = Report::new("demo");
    let from = args.file.as_ref().map_or("generated".to_owned(), |f| f.display().to_string());
    report.text_line("from", "from", from);
    let census =
        Census::of(reopened.grid.as_snapshot(), console).map_err(Failure::at(&saved_path))?;
    census.add_to(&mut report);
    census.add_bytes("disk", "on disk", file_bytes, &mut report);
    report.count("dug_cells", "cells dug", tunnel.cells);
    report.count("triangles", "triangles", written.triangles);
    report.hidden("model_bytes", written.file_bytes);
    #[cfg(feature = "physics")]
    if let Some(summary) = drop {
        summary.add_to(&mut report);
    }
    #[cfg(not(feature = "physics"))]
    report.text_line("drop", "drop", PHYSICS_HINT);
    for (name, time) in &times.0 {
        report.time(&format!("{}_ms", name.replace(' ', "_")), name, *time);
    }
    let digest = reopened.grid.digest().map_err(Failure::at(&saved_path))?;
    let digest = format!("{digest:032x}");
    report.line("digest", "digest", format!("{digest}, identical after reopening"), json!(digest));
    let mut files = vec!["world.tvx", "world.glb"];
    files.extend(pictures.iter().map(|picture| picture.file));
    let names = files.join(" ");
    report.line("files", "files", format!("{names} in {}", args.out.display()), json!(files));
    report
        .hidden("cameras", pictures.into_iter().map(|picture| picture.camera).collect::<Vec<_>>());
    super::import::add_notes(&world.notes, &mut report);
    Ok(report)
}

fn create_folder(path: &Path) -> CliResult<()> {
    fs::create_dir_all(path).map_err(|error| {
        let what = format!("cannot be created: {error}; choose another folder with --out");
        Failure::of(path, what)
    })
}

/// Reads the saved world and checks that it is identical.
fn reopen(world: &World, path: &Path, console: &Console) -> CliResult<World> {
    let again = world::open(path, &Default::default(), Default::default(), WHOLE, console)?;
    let [before, after] = [&world.grid, &again.grid].map(|grid| grid.digest());
    if before.map_err(Failure::at(path))? != after.map_err(Failure::at(path))? {
        return Err(Failure::of(path, "the reopened world differs from the saved one"));
    }
    Ok(again)
}

/// Takes the three pictures of the world, and one of sparks in the tunnel.
fn take_pictures(
    world: &World,
    scene: &Scene,
    tunnel: &tunnel::Tunnel,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Vec<PictureReport>> {
    let aspect = args.size[0] as f64 / args.size[1] as f64;
    let views = times.step("frame", || views::pictures(scene, tunnel, aspect));
    let pictures = views.iter().map(|view| save(world, scene, view, args, console, times));
    let mut pictures: Vec<PictureReport> = pictures.collect::<CliResult<_>>()?;
    pictures.extend(sparks::show(world, scene, &views[1], args, console, times)?);
    Ok(pictures)
}

/// Takes and writes a picture.
fn save(
    world: &World,
    scene: &Scene,
    view: &DemoPicture,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<PictureReport> {
    let [width, height] = args.size;
    let options = PictureOptions { width, height, sun: view.sun, ..PictureOptions::default() };
    let path = args.out.join(view.file);
    let output = Output::create(&path)?;
    let picture = times.step(view.step, || take(scene, &view.camera, &options, console));
    write_png(output, &path, &picture.image)?;
    let camera = camera_report(&world.info, scene, &view.camera).value;
    Ok(PictureReport { file: view.file, camera })
}
