//! Pictures of a world, by casting rays on the CPU: no graphics card, no driver.
//!
//! Rays go through the library's collider, or through the meshes of a far view. Every pixel
//! is a pure function of scene, camera and options, so pictures do not depend on the number
//! of threads.

mod camera;
mod chunks;
mod count;
mod far;
mod frame;
mod grain;
mod image;
mod lines;
#[cfg(test)]
mod naive;
mod occlusion;
mod pattern;
mod scene;
mod shade;
mod sky;
mod solids;
#[cfg(test)]
mod tests;
mod texture;
mod tree;
mod vertices;
mod water;

pub use camera::{Camera, Ray, direction_of};
pub use count::{RayCounts, RenderStats};
pub use far::{Viewpoint, tint};
pub use frame::{FOV_DEGREES, around, closer, middle, outlook, overview, shore};
pub use image::Image;
pub use lines::{draw_lines, draw_wire, target};
pub use scene::Scene;
pub use shade::{FAR, RecordedRays};
pub use solids::{Form, Solid};

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

use cpu_time::ThreadTime;
use glam::{DVec2, Vec3};
use shade::{Look, Scratch};
use sky::Sky;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use terravox::collide::Filter;
use terravox::voxel::Kind;

/// Edge of the squares that threads take, pixels.
const TILE: usize = 32;

/// Columns and rows of the tiny picture that finds the exposure.
const TRIAL: [usize; 2] = [24, 14];

/// Height of the usual sun.
const SUN_DEGREES: f64 = 33.0;

/// Mean brightness of the ground in a picture by day.
const GREY: f32 = 0.2;

/// How a picture is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureOptions {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Rays an edge of a pixel: 1, or 2 for smooth edges.
    pub rays_an_edge: usize,
    /// Yaw and height of the sun, degrees; by default over the camera's left shoulder.
    pub sun: Option<[f64; 2]>,
    /// Whether the camera carries a lamp; by default where it sees little sky.
    pub lamp: Option<bool>,
    /// Threads to use; by default as many as the machine has.
    pub threads: Option<usize>,
}

/// A picture, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The pixels.
    pub image: Image,
    /// Rays and time.
    pub stats: RenderStats,
}

impl Default for PictureOptions {
    fn default() -> PictureOptions {
        PictureOptions {
            width: 1280,
            height: 720,
            rays_an_edge: 2,
            sun: None,
            lamp: None,
            threads: None,
        }
    }
}

impl PictureOptions {
    /// Width by height.
    pub fn aspect(&self) -> f64 {
        self.width as f64 / self.height as f64
    }

    /// Squares that [`render`] reports progress in.
    pub fn tiles(&self) -> usize {
        self.width.div_ceil(TILE) * self.height.div_ceil(TILE)
    }

    /// Left and top pixel of a square.
    fn corner(&self, tile: usize) -> [usize; 2] {
        let across = self.width.div_ceil(TILE);
        [tile % across * TILE, tile / across * TILE]
    }
}

/// Takes a picture; calls `progress` after each of [`PictureOptions::tiles`] squares.
///
/// # Panics
/// If width, height or rays are 0.
pub fn render(
    scene: &Scene,
    camera: &Camera,
    options: &PictureOptions,
    progress: &(dyn Fn() + Sync),
) -> Picture {
    assert!(options.width > 0 && options.height > 0 && options.rays_an_edge > 0);
    let machine = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.unwrap_or_else(machine);
    let look = look(scene, camera, options);
    let image = Image::new(options.width, options.height);
    let picture = Mutex::new(Picture { image, stats: RenderStats::default() });
    let next = AtomicUsize::new(0);
    let work = || {
        let start = ThreadTime::now();
        let mut scratch = Scratch::default();
        let mut pixels = Vec::with_capacity(TILE * TILE);
        loop {
            let tile = next.fetch_add(1, Ordering::Relaxed);
            if tile >= options.tiles() {
                break;
            }
            let corner = options.corner(tile);
            take_tile(&look, camera, options, corner, &mut scratch, &mut pixels);
            put_tile(&mut locked(&picture).image, corner, &pixels);
            progress();
        }
        locked(&picture).stats += RenderStats { rays: scratch.rays, cpu: start.elapsed() };
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    picture.into_inner().unwrap_or_else(|broken| broken.into_inner())
}

/// What a lock guards: a thread that panicked would have ended the scope of them all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// The rays of a picture of one ray a pixel, for casting them again.
///
/// # Panics
/// As [`render`].
pub fn recorded_rays(scene: &Scene, camera: &Camera, options: &PictureOptions) -> RecordedRays {
    let options = PictureOptions { rays_an_edge: 1, ..*options };
    let look = look(scene, camera, &options);
    let mut scratch = Scratch { recorded: Some(RecordedRays::default()), ..Scratch::default() };
    let mut pixels = Vec::new();
    for corner in (0..options.tiles()).map(|tile| options.corner(tile)) {
        take_tile(&look, camera, &options, corner, &mut scratch, &mut pixels);
    }
    scratch.recorded.unwrap_or_default()
}

/// Sky, colours and lamp of a picture.
fn look<'a>(scene: &'a Scene, camera: &Camera, options: &PictureOptions) -> Look<'a> {
    let [sun_yaw, sun_height] = options.sun.unwrap_or_else(|| camera.sun(SUN_DEGREES));
    let sky_at_eye = scene.sky_seen(camera.eye, Vec3::Y, &mut Scratch::default().bricks);
    let dark = scene.kind_at(camera.eye) != Kind::Solid && sky_at_eye < 0.4;
    let mut look = Look {
        scene,
        sky: Sky::new(direction_of(sun_yaw, sun_height), scene.haze_distance(camera.eye)),
        pixel_edge: camera.pixel_edge(options.height),
        lamp: if options.lamp.unwrap_or(dark) { 1.6 } else { 0.0 },
        exposure: 1.0,
    };
    look.exposure = exposure(&look, camera, options.aspect());
    look
}

/// How much brighter than by day the picture is taken, as an eye or a camera would in a
/// dark place: from the ground in a tiny picture. Bright places are left as they are.
fn exposure(look: &Look, camera: &Camera, aspect: f64) -> f32 {
    let mut scratch = Scratch::default();
    let [mut sum, mut count] = [0.0; 2];
    for i in 0..TRIAL[0] * TRIAL[1] {
        let at = DVec2::new((i % TRIAL[0]) as f64 + 0.5, (i / TRIAL[0]) as f64 + 0.5);
        let ray = camera.ray(at / DVec2::new(TRIAL[0] as f64, TRIAL[1] as f64), aspect);
        if look.scene.closest(&ray, shade::FAR, &Filter::BOTH).is_some() {
            let light = look.seen(&ray, &mut scratch);
            sum += image::brightness(light).max(1e-3).ln();
            count += 1.0;
        }
    }
    let mean = if count > 0.0 { f32::exp(sum / count) } else { GREY };
    (GREY / mean).powf(0.6).clamp(1.0, 2.6)
}

/// The pixels of a tile, rows from the top.
fn take_tile(
    look: &Look,
    camera: &Camera,
    options: &PictureOptions,
    [left, top]: [usize; 2],
    scratch: &mut Scratch,
    pixels: &mut Vec<[u8; 3]>,
) {
    pixels.clear();
    scratch.last_open = None;
    let n = options.rays_an_edge;
    let size = DVec2::new(options.width as f64, options.height as f64);
    for y in top..(top + TILE).min(options.height) {
        for x in left..(left + TILE).min(options.width) {
            let mut sum = Vec3::ZERO;
            for sample in 0..n * n {
                let at = DVec2::new(x as f64, y as f64) + within_pixel(sample, n);
                let ray = camera.ray(at / size, options.aspect());
                // Averaging what the screen shows keeps edges against bright sky smooth.
                sum += image::tone(look.seen(&ray, scratch) * look.exposure);
            }
            pixels.push(image::srgb(sum / (n * n) as f32));
        }
    }
}

/// Where in its pixel a sample lies: a grid, turned so that near-level and near-upright
/// edges get as many steps as there are samples.
fn within_pixel(sample: usize, n: usize) -> DVec2 {
    let [column, row] = [sample % n, sample / n].map(|v| v as f64);
    let n = n as f64;
    let turn = |along: f64, across: f64| (along + (across + 0.5) / n) / n;
    DVec2::new(turn(column, n - 1.0 - row), turn(row, column))
}

/// Copies a tile into the picture.
fn put_tile(image: &mut Image, [left, top]: [usize; 2], pixels: &[[u8; 3]]) {
    let width = TILE.min(image.width - left);
    for (row, from) in pixels.chunks_exact(width).enumerate() {
        let at = (top + row) * image.width + left;
        image.pixels[at..at + width].copy_from_slice(from);
    }
}
