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
use crate::export_limits::ExportAllowance;
use crate::failure::{CliResult, Failure};
use crate::growth::Extent;
use crate::output::{Output, check_not_input};
use crate::report::Report;
use crate::triangles::{self, TriangleTarget, WrittenModel};
use crate::world::{self, World};
use serde_json::{Value, json};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terravox::generate::{Hills, Seeded};
use terravox::mesh::shade::UNSET;
use terravox_render::{PictureOptions, Scene};
use tunnel::Tunnel;
use views::DemoPicture;

/// Voxels along the demo world's x and z.
const SIZE: u32 = 384;

/// Heights of the demo world: deep enough for lakes, and for caves in its sides.
const HEIGHTS: Range<i32> = -32..128;

/// The demo digs through a world from end to end.
const WHOLE: Extent =
    Extent::Whole { remedy: "demo takes a finite one, such as of terravox generate world.tvx" };

/// Files of the world and of its model.
const WORLD_FILE: &str = "world.tvx";
const MODEL_FILE: &str = "world.glb";

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

/// The dug world, which was written and read again.
struct WrittenWorld {
    /// Its file.
    path: PathBuf,
    /// Length of the file.
    file_bytes: u64,
    /// The world as it was read again.
    reopened: World,
    tunnel: Tunnel,
    model: WrittenModel,
}

pub fn run(args: &DemoArgs, console: &Console) -> CliResult<Report> {
    if let Some(input) = &args.file {
        written_files().try_for_each(|file| check_not_input(input, &args.out.join(file)))?;
    }
    let mut times = StepTimes::default();
    let (dug, written) = prepare(args, console, &mut times)?;
    let mut scene = Scene::new(&written.reopened.grid, None).map_err(Failure::new)?;
    scene.set_textures(UNSET);
    let pictures = write_pictures(&written, &scene, args, console, &mut times)?;
    #[cfg(feature = "physics")]
    let mut pictures = pictures;
    #[cfg(feature = "physics")]
    let drop =
        drop::show(dug.grid, &written.reopened, scene, &mut pictures, args, console, &mut times)?;

    let mut report = Report::new("demo");
    let from = args.file.as_ref().map_or("generated".to_owned(), |f| f.display().to_string());
    report.text_line("from", "from", from);
    add_world(&written, console, &mut report)?;
    #[cfg(feature = "physics")]
    if let Some(summary) = drop {
        summary.add_to(&mut report);
    }
    #[cfg(not(feature = "physics"))]
    report.text_line("drop", "drop", PHYSICS_HINT);
    for (name, time) in &times.0 {
        report.time(&format!("{}_ms", name.replace(' ', "_")), name, *time);
    }
    add_files(&written, pictures, args, &mut report)?;
    super::import::add_notes(&dug.notes, &mut report);
    Ok(report)
}

/// Names of all files that a demo of a world writes.
fn written_files() -> impl Iterator<Item = &'static str> {
    let files = [WORLD_FILE, MODEL_FILE, sparks::FILE].into_iter().chain(views::FILES);
    #[cfg(feature = "physics")]
    let files = files.chain(drop::files());
    files
}

/// Generates or reads the world, digs the tunnel, and writes the world and its model. Returns the
/// world in memory and what was written.
fn prepare(
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<(World, WrittenWorld)> {
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
    let path = args.out.join(WORLD_FILE);
    let file_bytes = times.step("save", || world.save(&path, true, console))?;
    let reopened = times.step("reopen", || reopen(&world, &path, console))?;
    let options = TriangleArgs {
        up: None,
        scale: 1.0,
        materials: false,
        quantize: false,
        scatter: false,
        gpu_instancing: false,
        mip: 0,
        simplify: None,
    };
    let model_path = args.out.join(MODEL_FILE);
    let allowed = ExportAllowance::times(1);
    let target = TriangleTarget { world_path: &path, file: &model_path, allowed };
    let model =
        times.step("mesh", || triangles::write(&reopened, target, &options, None, console))?;
    Ok((world, WrittenWorld { path, file_bytes, reopened, tunnel, model }))
}

/// Adds the cells of the world, and the sizes of its files.
fn add_world(written: &WrittenWorld, console: &Console, report: &mut Report) -> CliResult<()> {
    let cells = written.reopened.grid.as_snapshot();
    let census = Census::of(cells, console).map_err(Failure::at(&written.path))?;
    census.add_to(report);
    census.add_bytes("disk", "on disk", written.file_bytes, report);
    report.count("dug_cells", "cells dug", written.tunnel.cells);
    report.count("triangles", "triangles", written.model.triangles);
    report.hidden("model_bytes", written.model.file_bytes);
    Ok(())
}

/// Adds the digest of the world, the names of the files, and the cameras.
fn add_files(
    written: &WrittenWorld,
    pictures: Vec<PictureReport>,
    args: &DemoArgs,
    report: &mut Report,
) -> CliResult<()> {
    let digest = written.reopened.grid.digest().map_err(Failure::at(&written.path))?;
    let digest = format!("{digest:032x}");
    report.line("digest", "digest", format!("{digest}, identical after reopening"), json!(digest));
    let mut files = vec![WORLD_FILE, MODEL_FILE];
    files.extend(pictures.iter().map(|picture| picture.file));
    let names = files.join(" ");
    report.line("files", "files", format!("{names} in {}", args.out.display()), json!(files));
    report
        .hidden("cameras", pictures.into_iter().map(|picture| picture.camera).collect::<Vec<_>>());
    Ok(())
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

/// Writes the three pictures of the world, one of sparks in the tunnel, and without an input those
/// that show other ground.
fn write_pictures(
    written: &WrittenWorld,
    scene: &Scene,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Vec<PictureReport>> {
    let WrittenWorld { reopened: world, tunnel, .. } = written;
    let aspect = args.size[0] as f64 / args.size[1] as f64;
    let views = times.step("frame", || views::pictures(scene, tunnel, aspect));
    let pictures = views.iter().map(|view| write_picture(world, scene, view, args, console, times));
    let mut pictures: Vec<PictureReport> = pictures.collect::<CliResult<_>>()?;
    pictures.extend(sparks::show(world, scene, &views[1], args, console, times)?);
    if args.file.is_none() {
        pictures.extend(horizon::show(args, console, times)?);
        #[cfg(feature = "physics")]
        pictures.extend(bridge::show(args, console, times)?);
    }
    Ok(pictures)
}

/// Takes and writes a picture.
fn write_picture(
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
