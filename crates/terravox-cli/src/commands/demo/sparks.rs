//! Sparks on the floor of the tunnel: a grinder throws them for a second, and the picture
//! shows each as the streak of its last moments.

use super::views::View;
use super::{Taken, Times};
use crate::args::Demo;
use crate::commands::render::{take, typed, write_png};
use crate::console::Console;
use crate::failure::Outcome;
use crate::output::Output;
use crate::world::World;
use glam::{DVec2, DVec3, Vec3};
use std::ops::Range;
use terravox::collide::Filter;
use terravox::math::DebugLines;
use terravox::particles::{Effect, EffectOptions, Emitter, ParticleHit, ParticleRay, PlaneCache};
use terravox_render::{Camera, PictureOptions, Ray, Scene, draw_lines};

/// Seconds of an update.
const STEP: f32 = 1.0 / 60.0;

/// Updates before the picture.
const UPDATES: usize = 70;

/// Sparks a second.
const RATE: f32 = 900.0;

/// What a streak shows, seconds.
const EXPOSURE: f32 = 1.0 / 30.0;

/// The floor nearer or farther off shows sparks badly, cells.
const DISTANCES: Range<f64> = 3.0..16.0;

/// Points of the picture, in sixteenths, at which the floor may be.
const LOOKS: [Range<u32>; 2] = [3..14, 8..15];

/// Colours of sparks, young to old.
const COLOURS: [[u8; 3]; 4] = [[255, 250, 205], [255, 214, 110], [255, 150, 40], [214, 74, 16]];

/// Takes the picture from where the tunnel's was taken; `None` if there is no floor ahead.
pub fn show(
    world: &World,
    scene: &Scene,
    view: &View,
    args: &Demo,
    console: &Console,
    times: &mut Times,
) -> Outcome<Option<Taken>> {
    let aspect = args.size[0] as f64 / args.size[1] as f64;
    let Some(floor) = floor(scene, &view.camera, aspect) else { return Ok(None) };
    let effect = times.step("sparks", || fly(scene, &floor));
    let [width, height] = args.size;
    let options = PictureOptions { width, height, sun: view.sun, ..PictureOptions::default() };
    let file = "sparks.png";
    let path = args.out.join(file);
    let output = Output::create(&path)?;
    let picture = times.step("picture sparks", || {
        let mut picture = take(scene, &view.camera, &options, console);
        draw_lines(&mut picture.image, scene, &view.camera, &streaks(&effect));
        picture
    });
    write_png(output, &path, &picture.image)?;
    Ok(Some((file, typed(&world.info, scene, &view.camera).value)))
}

/// A place on the floor: where, and the normal there.
type Place = (DVec3, [f32; 3]);

/// The flattest place that a camera sees near by.
fn floor(scene: &Scene, camera: &Camera, aspect: f64) -> Option<Place> {
    let [across, down] = LOOKS;
    let look = |x: u32, y: u32| {
        let ray = camera.ray(DVec2::new(f64::from(x), f64::from(y)) / 16.0, aspect);
        let hit = scene.closest(&ray, DISTANCES.end, &Filter::SOLID);
        let near = hit.filter(|hit| DISTANCES.contains(&hit.distance))?;
        Some((ray.at(near.distance), near.normal))
    };
    let seen = down.flat_map(|y| across.clone().filter_map(move |x| look(x, y)));
    let flattest = seen.max_by(|(_, a), (_, b)| a[1].total_cmp(&b[1]));
    flattest.filter(|(_, normal)| normal[1] > 0.0)
}

/// Sparks off a place, over the ground of a scene, in its cells.
fn fly(scene: &Scene, &(point, normal): &Place) -> Effect {
    let source = point.as_vec3() + 0.3 * Vec3::from(normal);
    let emitter = Emitter::sparks(source, normal);
    let mut effect = Effect::new(EffectOptions::sparks());
    let mut cache = PlaneCache::default();
    for _ in 0..UPDATES {
        effect.stream(&emitter, RATE, STEP);
        effect.update(STEP, &mut cache, |ray: &ParticleRay| {
            let [origin, direction] =
                [ray.origin_m, ray.direction].map(|v| Vec3::from(v).as_dvec3());
            let line = Ray { origin, direction };
            let hit = scene.closest(&line, ray.length_m.into(), &Filter::SOLID)?;
            let point_m = line.at(hit.distance).as_vec3().to_array();
            Some(ParticleHit { point_m, normal: hit.normal, moving: false })
        });
    }
    effect
}

/// The way of every spark in the time of the exposure.
fn streaks(effect: &Effect) -> DebugLines {
    let (at, speed) = (effect.positions(), effect.velocities());
    let mut lines = DebugLines::default();
    let left = effect.seconds_left().into_iter().flatten();
    for (i, left) in left.enumerate().take(effect.len()) {
        let to = [0, 1, 2].map(|axis| at[axis][i]);
        let from = [0, 1, 2].map(|axis| to[axis] - EXPOSURE * speed[axis][i]);
        // The cast saturates.
        let old = COLOURS.len() - 1 - ((left * 3.0) as usize).min(COLOURS.len() - 1);
        lines.line(from.map(f64::from), to.map(f64::from), COLOURS[old]);
    }
    lines
}
