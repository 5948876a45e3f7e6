//! Taking a picture: sky, lamp and exposure, then tiles of pixels on all threads.

use crate::camera::{Camera, SUN_ELEVATION_DEGREES, SunPosition};
use crate::colour::{luminance, srgb_from_linear, tone_mapped};
use crate::image::Image;
use crate::ray::RAY_REACH_CELLS;
use crate::scene::Scene;
use crate::shade::{RecordedRays, ShadeScratch, Shader};
use crate::sky::Sky;
use crate::stats::RenderStats;
use crate::surface::SurfaceScratch;
use cpu_time::ThreadTime;
use glam::{DVec2, DVec3, Vec3};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use terravox::collide::Filter;
use terravox::voxel::Kind;

/// Edge of the tiles that threads render, pixels.
const TILE_PIXELS: usize = 32;

/// Columns and rows of the trial picture that sets the exposure.
const TRIAL_PIXELS: [usize; 2] = [24, 14];

/// Mean luminance of the ground in a picture by day.
const DAY_LUMINANCE: f32 = 0.2;

/// Limit of the exposure of dark places.
const MAX_EXPOSURE: f32 = 2.6;

/// Brightness of the lamp at the camera.
const LAMP_BRIGHTNESS: f32 = 1.6;

/// Sky visibility at the camera below which it carries a lamp by default.
const DARK_SKY_VISIBILITY: f32 = 0.4;

/// Size, sampling and light of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureOptions {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Rays along the edge of a pixel: 1, or 2 for smooth edges.
    pub samples_per_edge: usize,
    /// Position of the sun; by default over the camera's left shoulder.
    pub sun: Option<SunPosition>,
    /// Whether the camera carries a lamp; by default where it sees little sky.
    pub lamp: Option<bool>,
    /// Threads to use; by default as many as the machine has.
    pub threads: Option<usize>,
}

/// A picture and its cost.
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
            samples_per_edge: 2,
            sun: None,
            lamp: None,
            threads: None,
        }
    }
}

impl PictureOptions {
    /// Returns width / height.
    pub fn aspect(&self) -> f64 {
        self.width as f64 / self.height as f64
    }

    /// Returns the number of tiles; [`render`] reports progress after each.
    pub fn tiles(&self) -> usize {
        self.width.div_ceil(TILE_PIXELS) * self.height.div_ceil(TILE_PIXELS)
    }

    /// Returns the left and top pixel of a tile.
    fn tile_corner(&self, tile: usize) -> [usize; 2] {
        let columns = self.width.div_ceil(TILE_PIXELS);
        [tile % columns * TILE_PIXELS, tile / columns * TILE_PIXELS]
    }
}

/// Takes a picture; calls `progress`, on any thread, after each of its
/// [`tiles`](PictureOptions::tiles). Pixels do not depend on the number of threads.
///
/// # Panics
/// If width, height or samples are 0, or the camera's eye or field of view was set to what
/// [`Camera::looking_at`] refuses.
pub fn render(
    scene: &Scene,
    camera: &Camera,
    options: &PictureOptions,
    progress: &(dyn Fn() + Sync),
) -> Picture {
    assert_valid(camera, options);
    let machine = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.unwrap_or_else(machine);
    let shader = shader(scene, camera, options);
    let image = Image::new(options.width, options.height);
    let picture = Mutex::new(Picture { image, stats: RenderStats::default() });
    let next = AtomicUsize::new(0);
    let work = || {
        let start = ThreadTime::now();
        let mut scratch = ShadeScratch::default();
        let mut pixels = Vec::with_capacity(TILE_PIXELS * TILE_PIXELS);
        loop {
            let tile = next.fetch_add(1, Ordering::Relaxed);
            if tile >= options.tiles() {
                break;
            }
            let corner = options.tile_corner(tile);
            render_tile(&shader, camera, options, corner, &mut scratch, &mut pixels);
            copy_tile(&mut locked(&picture).image, corner, &pixels);
            progress();
        }
        locked(&picture).stats += RenderStats { rays: scratch.rays, cpu: start.elapsed() };
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    picture.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Panics unless a picture can be taken.
fn assert_valid(camera: &Camera, options: &PictureOptions) {
    let PictureOptions { width: w, height: h, samples_per_edge: n, .. } = options;
    let is_valid = [w, h, n].into_iter().all(|count| *count > 0);
    assert!(is_valid, "a picture of {w}x{h} with {n} samples; each must be at least 1");
    camera.assert_valid();
}

/// Locks, ignoring poison: a panic of one thread ends the scope of all.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the rays of a picture with one ray per pixel, for casting them again, as benchmarks do.
///
/// # Panics
/// As [`render`], except that `samples_per_edge` is not read.
pub fn record_rays(scene: &Scene, camera: &Camera, options: &PictureOptions) -> RecordedRays {
    let options = PictureOptions { samples_per_edge: 1, ..*options };
    assert_valid(camera, &options);
    let shader = shader(scene, camera, &options);
    let recorded = Some(RecordedRays::default());
    let mut scratch = ShadeScratch { recorded, ..ShadeScratch::default() };
    let mut pixels = Vec::new();
    for corner in (0..options.tiles()).map(|tile| options.tile_corner(tile)) {
        render_tile(&shader, camera, &options, corner, &mut scratch, &mut pixels);
    }
    scratch.recorded.unwrap_or_default()
}

/// Returns the scene with sky, lamp and exposure.
pub(crate) fn shader<'a>(
    scene: &'a Scene,
    camera: &Camera,
    options: &PictureOptions,
) -> Shader<'a> {
    let sun = options.sun.unwrap_or_else(|| camera.sun(SUN_ELEVATION_DEGREES));
    let mut blocks = SurfaceScratch::default().blocks;
    let sky_at_eye = scene.sky_visibility(camera.eye, Vec3::Y, &mut blocks);
    let is_dark = scene.kind_at(camera.eye) != Kind::Solid && sky_at_eye < DARK_SKY_VISIBILITY;
    let mut shader = Shader {
        scene,
        sky: Sky::new(sun.direction(), scene.haze_distance(camera.eye)),
        pixel_edge: camera.pixel_edge(options.height),
        lamp: if options.lamp.unwrap_or(is_dark) { LAMP_BRIGHTNESS } else { 0.0 },
        exposure: 1.0,
    };
    shader.exposure = exposure(&shader, camera, options.aspect());
    shader
}

/// Returns the exposure relative to that by day, from the ground in a trial picture, as an eye
/// adapts to the dark. Bright places are not darkened.
fn exposure(shader: &Shader, camera: &Camera, aspect: f64) -> f32 {
    let mut scratch = ShadeScratch::default();
    let [mut sum, mut count] = [0.0; 2];
    let [columns, rows] = TRIAL_PIXELS;
    for i in 0..columns * rows {
        let at = DVec2::new((i % columns) as f64 + 0.5, (i / columns) as f64 + 0.5);
        let ray = camera.ray(at / DVec2::new(columns as f64, rows as f64), aspect);
        if shader.scene.closest(&ray, RAY_REACH_CELLS, &Filter::BOTH).is_some() {
            let light = shader.light_along(&ray, &mut scratch);
            sum += luminance(light).max(1e-3).ln();
            count += 1.0;
        }
    }
    let mean = if count > 0.0 { f32::exp(sum / count) } else { DAY_LUMINANCE };
    (DAY_LUMINANCE / mean).powf(0.6).clamp(1.0, MAX_EXPOSURE)
}

/// Renders the pixels of a tile, rows from the top.
fn render_tile(
    shader: &Shader,
    camera: &Camera,
    options: &PictureOptions,
    [left, top]: [usize; 2],
    scratch: &mut ShadeScratch,
    pixels: &mut Vec<[u8; 3]>,
) {
    pixels.clear();
    scratch.last_sky = None;
    let n = options.samples_per_edge;
    let size = DVec2::new(options.width as f64, options.height as f64);
    for y in top..(top + TILE_PIXELS).min(options.height) {
        for x in left..(left + TILE_PIXELS).min(options.width) {
            let mut sum = Vec3::ZERO;
            for sample in 0..n * n {
                let offset = sample_offset(sample, n);
                let at = DVec2::new(x as f64, y as f64) + offset;
                // Turned: a shadow's edge along those of pixels gets as many steps.
                scratch.sun_shift = match n {
                    1 => DVec3::ZERO,
                    _ => shader.sun_shift([1.0 - 2.0 * offset.y, 2.0 * offset.x - 1.0]),
                };
                let ray = camera.ray(at / size, options.aspect());
                // Averaged after tone mapping, so that edges against a bright sky are smooth.
                sum += tone_mapped(shader.light_along(&ray, scratch) * shader.exposure);
            }
            pixels.push(srgb_from_linear(sum / (n * n) as f32));
        }
    }
}

/// Returns the position of a sample in its pixel: a rotated grid, so that near-horizontal and
/// near-vertical edges get as many steps as there are samples.
fn sample_offset(sample: usize, n: usize) -> DVec2 {
    let [column, row] = [sample % n, sample / n].map(|v| v as f64);
    let n = n as f64;
    let rotated = |along: f64, across: f64| (along + (across + 0.5) / n) / n;
    DVec2::new(rotated(column, n - 1.0 - row), rotated(row, column))
}

/// Copies the pixels of a tile into the picture.
fn copy_tile(image: &mut Image, [left, top]: [usize; 2], pixels: &[[u8; 3]]) {
    let width = TILE_PIXELS.min(image.width - left);
    for (row, from) in pixels.chunks_exact(width).enumerate() {
        let at = (top + row) * image.width + left;
        image.pixels[at..at + width].copy_from_slice(from);
    }
}
