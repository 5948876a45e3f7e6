//! Sparks on the floor of the tunnel: a grinder throws them for a second, and the picture
//! shows each as the streak of its last moments.

use super::views::DemoPicture;
use super::{PictureReport, StepTimes};
use crate::args::DemoArgs;
use crate::commands::render::{camera_report, take, write_png};
use crate::console::Console;
use crate::failure::CliResult;
use crate::output::Output;
use crate::world::World;
use glam::{DVec2, DVec3, Vec3};
use std::ops::Range;
use terravox::collide::Filter;
use terravox::math::DebugLines;
use terravox::particles::{Effect, EffectOptions, Emitter, ParticleHit, ParticleRay, PlaneCache};
use terravox_render::overlay::draw_lines;
use terravox_render::{Camera, PictureOptions, Scene, SceneRay};

/// Time step of an update.
const STEP_SECONDS: f32 = 1.0 / 60.0;

/// Updates before the picture.
const UPDATES: usize = 70;

const SPARKS_PER_SECOND: f32 = 900.0;

/// Exposure time of a streak.
const EXPOSURE_SECONDS: f32 = 1.0 / 30.0;

/// Distances of floor that shows sparks well, cells.
const FLOOR_DISTANCES: Range<f64> = 3.0..16.0;

/// Part of the picture in which floor is searched, columns and rows in sixteenths.
const PICTURE_SIXTEENTHS: [Range<u32>; 2] = [3..14, 8..15];

/// Colours of sparks, young to old.
const COLOURS: [[u8; 3]; 4] = [[255, 250, 205], [255, 214, 110], [255, 150, 40], [214, 74, 16]];

/// Name of the file of the picture.
pub const FILE: &str = "sparks.png";

/// Takes the picture with the camera of the tunnel's picture; `None` if no floor is in view.
pub fn show(
    world: &World,
    scene: &Scene,
    view: &DemoPicture,
    args: &DemoArgs,
    console: &Console,
    times: &mut StepTimes,
) -> CliResult<Option<PictureReport>> {
    let aspect = args.size[0] as f64 / args.size[1] as f64;
    let Some(floor) = find_floor(scene, &view.camera, aspect) else { return Ok(None) };
    let effect = times.step("sparks", || simulate(scene, &floor));
    let [width, height] = args.size;
    let options = PictureOptions { width, height, sun: view.sun, ..PictureOptions::default() };
    let path = args.out.join(FILE);
    let output = Output::create(&path)?;
    let picture = times.step("picture sparks", || {
        let mut picture = take(scene, &view.camera, &options, console);
        draw_lines(&mut picture.image, scene, &view.camera, &streaks(&effect));
        picture
    });
    write_png(output, &path, &picture.image)?;
    let camera = camera_report(&world.info, scene, &view.camera).value;
    Ok(Some(PictureReport { file: FILE, camera }))
}

/// A point of the tunnel's floor.
struct FloorPoint {
    /// Cells.
    point: DVec3,
    /// Unit length.
    normal: [f32; 3],
}

/// Returns the flattest point near the camera in the picture.
fn find_floor(scene: &Scene, camera: &Camera, aspect: f64) -> Option<FloorPoint> {
    let [across, down] = PICTURE_SIXTEENTHS;
    let look = |x: u32, y: u32| {
        let ray = camera.ray(DVec2::new(f64::from(x), f64::from(y)) / 16.0, aspect);
        let hit = scene.closest(&ray, FLOOR_DISTANCES.end, &Filter::SOLID);
        let near = hit.filter(|hit| FLOOR_DISTANCES.contains(&hit.distance))?;
        Some(FloorPoint { point: ray.at(near.distance), normal: near.normal })
    };
    let points = down.flat_map(|y| across.clone().filter_map(move |x| look(x, y)));
    let flattest = points.max_by(|a, b| a.normal[1].total_cmp(&b.normal[1]));
    flattest.filter(|floor| floor.normal[1] > 0.0)
}

/// Simulates sparks from a point over the ground of a scene, in its cells.
fn simulate(scene: &Scene, &FloorPoint { point, normal }: &FloorPoint) -> Effect {
    let source = point.as_vec3() + 0.3 * Vec3::from(normal);
    let emitter = Emitter::sparks(source, normal);
    let mut effect = Effect::new(EffectOptions::sparks());
    let mut cache = PlaneCache::default();
    for _ in 0..UPDATES {
        effect.stream(&emitter, SPARKS_PER_SECOND, STEP_SECONDS);
        effect.update(STEP_SECONDS, &mut cache, |ray: &ParticleRay| {
            let [origin, direction] =
                [ray.origin_m, ray.direction].map(|v| Vec3::from(v).as_dvec3());
            let line = SceneRay { origin, direction };
            let hit = scene.closest(&line, ray.length_m.into(), &Filter::SOLID)?;
            let point_m = line.at(hit.distance).as_vec3().to_array();
            Some(ParticleHit { point_m, normal: hit.normal, is_moving: false })
        });
    }
    effect
}

/// Returns the path of every spark during the exposure.
fn streaks(effect: &Effect) -> DebugLines {
    let (at, speed) = (effect.positions(), effect.velocities());
    let mut lines = DebugLines::default();
    let left = effect.seconds_left().into_iter().flatten();
    for (i, left) in left.enumerate().take(effect.len()) {
        let to = [0, 1, 2].map(|axis| at[axis][i]);
        let from = [0, 1, 2].map(|axis| to[axis] - EXPOSURE_SECONDS * speed[axis][i]);
        // The cast saturates.
        let old = COLOURS.len() - 1 - ((left * 3.0) as usize).min(COLOURS.len() - 1);
        lines.line(from.map(f64::from), to.map(f64::from), COLOURS[old]);
    }
    lines
}
