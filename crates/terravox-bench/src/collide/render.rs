//! Pictures: rays per second of the renderer on one thread, with shading and alone.

use std::hint::black_box;

use cpu_time::ThreadTime;
use terravox::collide::{Collider, Filter, Ray};
use terravox::mesh::shade::UNSET;
use terravox_render::{
    Camera, FOV_DEGREES, Lens, PictureOptions, RAY_REACH_CELLS, RenderStats, Scene, SceneRay,
    framing, record_rays, render,
};

use crate::report::{AreaReport, ReportRow, detail};
use crate::worlds::World;

/// Pictures of each world; the fastest counts.
const ROUNDS: usize = 5;

/// One ray per pixel, one thread.
const OPTIONS: PictureOptions = PictureOptions {
    width: 640,
    height: 360,
    samples_per_edge: 1,
    sun: None,
    lamp: None,
    threads: Some(1),
};

/// Measures `render_mrays`.
pub fn run(report: &mut AreaReport, worlds: &[&World]) {
    let mut rates = Vec::new();
    for world in worlds {
        let scene = match Scene::new(&world.grid, Some(0)) {
            Ok(scene) => scene,
            Err(error) => panic!("{}: {error}", world.name),
        };
        let lens = Lens { aspect: OPTIONS.aspect(), fov_degrees: FOV_DEGREES };
        let camera = framing::overview(&scene, lens);
        let (rate, rows) = measure(world, &camera);
        report.details(format!("Pictures of {}, 640 × 360", world.name), rows);
        rates.push(rate);
    }
    let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let note = "primary and shadow rays ÷ all CPU time of a picture, shading and water rays \
                too; blocks built; the worst world";
    report.set("render_mrays", worst, note);
}

/// Returns millions of primary and shadow rays per second, and the details.
fn measure(world: &World, camera: &Camera) -> (f64, Vec<ReportRow>) {
    // A new scene: the search for a camera built blocks of the other.
    let Ok(mut scene) = Scene::new(&world.grid, Some(0)) else {
        unreachable!("it was made before")
    };
    let picture = |scene: &Scene| render(scene, camera, &OPTIONS, &|| ()).stats;
    let again = |scene: &Scene| {
        (0..ROUNDS).map(|_| picture(scene)).min_by_key(|stats| stats.cpu).unwrap_or_default()
    };
    let cold = picture(&scene);
    let built = scene.collider().map(Collider::stats).unwrap_or_default();
    let warm = again(&scene);
    scene.set_textures(UNSET);
    let textured = again(&scene);
    let Some(collider) = scene.collider() else { unreachable!("it is at one mip") };
    let [cold_rate, rate, textured_rate] = [cold, warm, textured].map(|stats| mrays(&stats));
    let rays = record_rays(&scene, camera, &OPTIONS);
    let query = |ray: &SceneRay| Ray::new(ray.origin, ray.direction, RAY_REACH_CELLS);
    let primary: Vec<Ray> = rays.primary.iter().map(query).collect();
    let shadow: Vec<Ray> = rays.shadow.iter().map(query).collect();
    let hits_before = collider.stats().hits;
    let first = |ray: &Ray| u64::from(collider.ray(ray, &Filter::BOTH).found.is_some());
    let any = |ray: &Ray| u64::from(collider.ray_any(ray, &Filter::SOLID).found);
    let closest = min_seconds(&primary, first);
    let hits_between = collider.stats().hits;
    let shadows = min_seconds(&shadow, any);
    let primary_hits = hits_between - hits_before;
    let shadow_hits = collider.stats().hits - hits_between;
    let per_ray = |hits: u64, rays: &[Ray]| hits as f64 / (ROUNDS * rays.len().max(1)) as f64;
    let build = cold_seconds(world, &primary, &shadow) - closest - shadows;
    let count = (primary.len() + shadow.len()) as f64;
    let row = |id: &str, value: f64, unit, note: &str| detail(id, value, unit).note(note);
    let rows = vec![
        row("primary rays", warm.rays.primary as f64, "rays", ""),
        row("shadow rays", warm.rays.shadow as f64, "rays", ""),
        row("water rays", warm.rays.water as f64, "rays", "mirrored and refracted"),
        row("picture, first", cold_rate, "M/s", "primary and shadow rays; builds the blocks"),
        row("picture, again", rate, "M/s", "primary and shadow rays, shading included"),
        row("picture, textured", textured_rate, "M/s", "the same, textures on the ground"),
        row("rays alone", count / (closest + shadows) / 1e6, "M/s", "primary and shadow"),
        row("primary rays alone", primary.len() as f64 / closest / 1e6, "M/s", ""),
        row("shadow rays alone", shadow.len() as f64 / shadows / 1e6, "M/s", ""),
        row(
            "blocks a primary ray",
            per_ray(primary_hits, &primary),
            "blocks",
            "whose trees it enters",
        ),
        row("blocks a shadow ray", per_ray(shadow_hits, &shadow), "blocks", ""),
        row("blocks built", built.built as f64, "blocks", ""),
        row("building them", build * 1e3, "ms", "extra time of the first rays"),
    ];
    (rate, rows)
}

/// Returns the seconds to cast all rays through a new collider, which builds the blocks.
fn cold_seconds(world: &World, primary: &[Ray], shadow: &[Ray]) -> f64 {
    let mut fresh = Collider::default();
    fresh.update(&world.grid);
    let start = ThreadTime::now();
    for ray in primary {
        black_box(fresh.ray(ray, &Filter::BOTH));
    }
    for ray in shadow {
        black_box(fresh.ray_any(ray, &Filter::SOLID));
    }
    start.elapsed().as_secs_f64()
}

/// Returns millions of primary and shadow rays per second of a picture.
fn mrays(stats: &RenderStats) -> f64 {
    (stats.rays.primary + stats.rays.shadow) as f64 / stats.cpu.as_secs_f64() / 1e6
}

/// Seconds to cast all rays, the minimum of some rounds.
fn min_seconds(rays: &[Ray], cast: impl Fn(&Ray) -> u64) -> f64 {
    let round = |_| {
        let start = ThreadTime::now();
        black_box(rays.iter().map(&cast).sum::<u64>());
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
