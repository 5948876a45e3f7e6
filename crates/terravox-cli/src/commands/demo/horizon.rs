//! Hills to the horizon, in natural colours and coloured by level of detail.

use super::super::render::{camera_report, cells_from_metres, take, write_png};
use super::{PictureReport, StepTimes};
use crate::args::{DEMO_SEED, DemoArgs, LevelArgs};
use crate::console::Console;
use crate::failure::CliResult;
use crate::lod_view::{self, HILLS_BEARING_DEGREES, HILLS_CAMERA_M, LodView};
use crate::output::Output;
use std::path::PathBuf;
use terravox::mesh::shade::UNSET;
use terravox_render::{Camera, FOV_DEGREES, PictureOptions, Scene};

/// Half the default detail, so that the pictures take only seconds.
const LEVELS: LevelArgs = LevelArgs { distance: 8192.0, detail: 1.5, morph: None, simplify: None };

/// Takes both pictures.
///
/// # Errors
/// If one cannot be written.
pub fn show(
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Vec<PictureReport>> {
    let hills = PathBuf::from(format!("{}{DEMO_SEED}", lod_view::HILLS_PREFIX));
    let show = || lod_view::show(&hills, HILLS_CAMERA_M, LEVELS, args.reading, console);
    let view = times.step("level of detail", show)?;
    let mut picture =
        |step, file, colours| write_picture(&view, step, file, colours, args, console, times);
    Ok(vec![
        picture("picture horizon", "horizon.png", GroundColours::Textures)?,
        picture("picture rings", "rings.png", GroundColours::Mips)?,
    ])
}

/// How the ground is coloured.
#[derive(Clone, Copy, PartialEq)]
enum GroundColours {
    Textures,
    Mips,
}

fn write_picture(
    view: &LodView,
    step: &'static str,
    file: &'static str,
    colours: GroundColours,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<PictureReport> {
    let [width, height] = args.size;
    // A picture coloured by mip needs no smooth edges.
    let samples_per_edge = if colours == GroundColours::Mips { 1 } else { 2 };
    let options = PictureOptions { width, height, samples_per_edge, ..PictureOptions::default() };
    let path = args.out.join(file);
    let output = Output::create(&path)?;
    let mut scene = Scene::of_shown_meshes(&view.snapshot, &view.meshes, view.viewpoint);
    match colours {
        GroundColours::Textures => scene.set_textures(UNSET),
        GroundColours::Mips => scene.tint_by_mip(),
    }
    let eye = cells_from_metres(&view.info, &scene, HILLS_CAMERA_M);
    let camera =
        Camera::from_bearing(eye, HILLS_BEARING_DEGREES[0], HILLS_BEARING_DEGREES[1], FOV_DEGREES);
    let picture = times.step(step, || take(&scene, &camera, &options, console));
    write_png(output, &path, &picture.image)?;
    let camera = camera_report(&view.info, &scene, &camera).value;
    Ok(PictureReport { file, camera })
}
