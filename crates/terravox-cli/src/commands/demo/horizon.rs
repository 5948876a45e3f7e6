//! The demo's land as far as one sees: hills to the horizon, and the same with each level
//! of detail in a colour of its own.

use super::super::render::{cells_from_metres, take, typed, write_png};
use super::{Taken, Times};
use crate::args::{DEMO_SEED, Demo, Levels};
use crate::console::Console;
use crate::failure::Outcome;
use crate::far::{self, BEARING, CAMERA, Far};
use crate::output::Output;
use std::path::PathBuf;
use terravox::mesh::shade::UNSET;
use terravox_render::{Camera, FOV_DEGREES, PictureOptions, Scene};

/// What is shown: half the usual detail, as the picture is to be taken in seconds.
const LEVELS: Levels = Levels { distance: 8192.0, detail: 1.5, morph: None, simplify: None };

/// Takes both pictures.
///
/// # Errors
/// If one cannot be written.
pub fn show(args: &Demo, console: &Console, times: &mut Times) -> Outcome<Vec<Taken>> {
    let hills = PathBuf::from(format!("{}{DEMO_SEED}", far::HILLS));
    let show = || far::show(&hills, CAMERA, LEVELS, args.reading, console);
    let far = times.step("level of detail", show)?;
    let mut picture = |step, file, tinted| save(&far, step, file, tinted, args, console, times);
    Ok(vec![
        picture("picture horizon", "horizon.png", false)?,
        picture("picture rings", "rings.png", true)?,
    ])
}

fn save(
    far: &Far,
    step: &'static str,
    file: &'static str,
    tinted: bool,
    args: &Demo,
    console: &Console,
    times: &mut Times,
) -> Outcome<Taken> {
    let [width, height] = args.size;
    // Rings are a chart, which needs no smooth edges.
    let rays_an_edge = if tinted { 1 } else { 2 };
    let options = PictureOptions { width, height, rays_an_edge, ..PictureOptions::default() };
    let path = args.out.join(file);
    let output = Output::create(&path)?;
    let mut scene = Scene::far(&far.snapshot, &far.meshes, far.viewpoint, tinted);
    if !tinted {
        scene.set_textures(UNSET);
    }
    let eye = cells_from_metres(&far.info, &scene, CAMERA);
    let camera = Camera::bearing(eye, BEARING[0], BEARING[1], FOV_DEGREES);
    let picture = times.step(step, || take(&scene, &camera, &options, console));
    write_png(output, &path, &picture.image)?;
    Ok((file, typed(&far.info, &scene, &camera).value))
}
