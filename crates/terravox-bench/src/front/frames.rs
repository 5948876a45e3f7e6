//! A new viewer, a flight and a walk: the cost of a frame, and the time until there is ground.
//! Thread time, so that other work on the machine does not count.

use cpu_time::ThreadTime;
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::terrain::{Budget, FillRequest, Terrain, TerrainOptions, Viewer};

use crate::report::{AreaReport, detail};

const GRASS: u8 = 2;
const ROCK: u8 = 8;
const GROUND: u8 = 14;
const BUDGET_MS: f32 = 3.0;
const FRAMES_PER_SECOND: f64 = 60.0;
const DOWN: [f32; 3] = [0.0, -1.0, 0.0];

/// Measures `readme_first_dig_frame`, `first_ray_ms`, `update_over_budget_ms` and
/// `walk_without_ground_frames`.
pub fn run(report: &mut AreaReport) {
    // Another crate of the workspace enables `parallel`: one thread, so that its jobs are timed.
    let Ok(one_thread) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
        return report.not_measured("update_over_budget_ms", "no thread could be started");
    };
    one_thread.install(|| {
        readme(report);
        first_ray(report);
        flights(report);
        walk(report);
    });
}

fn hills(x: f64, _z: f64) -> f64 {
    8.0 * (x * 0.05).sin()
}

/// The README's program, frame by frame.
fn readme(report: &mut AreaReport) {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let camera = [0.0, 20.0, 0.0];
    let (mut dug, mut shown) = (None, None);
    for frame in 1..=400 {
        terrain.update(&[Viewer::at(camera)], Budget::Millis(BUDGET_MS), |request| {
            request.fill_height(ROCK, -8.0..=8.0, hills);
        });
        let fine = |shown: &terravox::terrain::ShownMesh| shown.mip == 0;
        let added: Vec<_> = terrain.mesh_swaps().flat_map(|swap| swap.added).collect();
        if added.iter().any(fine) {
            shown = shown.or(Some(frame));
        }
        if dug.is_none()
            && let Some(hit) = terrain.ray(camera, DOWN, 100.0).hit()
            && terrain.edit(&EditOp::dig_ball(hit.point_m, 4.0)).is_ok()
        {
            dug = Some(frame);
        }
    }
    let shown = shown.map_or("never".to_owned(), |frame| format!("in frame {frame}"));
    match dug {
        Some(frame) => {
            let note = format!("the first mesh of mip 0 is shown {shown}");
            report.set("readme_first_dig_frame", f64::from(frame), note);
        }
        None => report.not_measured("readme_first_dig_frame", "it never dug"),
    }
}

/// Time of `update` until a ray below a new viewer hits, with a closure that is called for every
/// cell.
fn first_ray(report: &mut AreaReport) {
    let once = || {
        let mut terrain = Terrain::new(TerrainOptions::default());
        let eye = [0.0, 20.0, 0.0];
        let start = ThreadTime::now();
        while terrain.ray(eye, DOWN, 100.0).hit().is_none() {
            terrain.update(&[Viewer::at(eye)], Budget::Millis(BUDGET_MS), |request| {
                request.fill_sdf(ROCK, |[x, y, z]| hills(x, z) - y);
            });
        }
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..9).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    let note = "median of 9; a closure called for every cell, 8 km view";
    report.set("first_ray_ms", times[times.len() / 2], note);
}

/// Ground of three materials by a height function.
fn layered(request: &mut FillRequest<'_>) {
    let height = |x: f64, z: f64| 9.0 * (x * 0.021).sin() + 7.0 * (z * 0.017 + 0.002 * x).cos();
    let deep = Some(terravox::generate::Deep { depth: 4.0, material: ROCK });
    request.fill_height_with(-16.0..=16.0, deep, height, |_| {
        |_y, depth| match depth {
            d if d < 1.0 => GRASS,
            d if d < 4.0 => GROUND,
            _ => ROCK,
        }
    });
}

fn by_hills(request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    Hills::new(7).fill(request.cells(), mip);
}

/// Flies at 30 m/s for ten seconds; the milliseconds of every update, sorted.
fn flight(fill: impl Fn(&mut FillRequest<'_>) + Sync) -> Vec<f64> {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let mut viewer = Viewer::at([0.0, 70.0, 0.0]);
    let mut times: Vec<f64> = (0..600)
        .map(|_| {
            viewer.position_m[0] += 30.0 / FRAMES_PER_SECOND;
            let start = ThreadTime::now();
            terrain.update(&[viewer], Budget::Millis(BUDGET_MS), &fill);
            let ms = start.elapsed().as_secs_f64() * 1e3;
            terrain.mesh_swaps().for_each(drop);
            ms
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

fn flights(report: &mut AreaReport) {
    let mut worst = f64::NEG_INFINITY;
    let mut rows = Vec::new();
    for (name, times) in [("Hills", flight(by_hills)), ("a height function", flight(layered))] {
        let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
        for (what, share) in [("median", 0.5), ("p99", 0.99), ("worst", 1.0)] {
            rows.push(detail(format!("update by {name}, {what}"), at(share), "ms"));
        }
        worst = worst.max(at(1.0) - f64::from(BUDGET_MS));
    }
    report.details("flying 30 m/s for 600 frames, 3 ms a frame", rows);
    report.set("update_over_budget_ms", worst, "the worst update of both flights");
}

/// Walks at 9 m/s for 600 frames, starting with the first.
fn walk(report: &mut AreaReport) {
    let mut terrain = Terrain::new(TerrainOptions::default());
    let mut eye = [0.0, 20.0, 0.0];
    let mut without_ground = 0;
    for _ in 0..600 {
        eye[0] += 9.0 / FRAMES_PER_SECOND;
        terrain.update(&[Viewer::at(eye)], Budget::Millis(BUDGET_MS), layered);
        terrain.mesh_swaps().for_each(drop);
        without_ground += u32::from(terrain.ray(eye, DOWN, 100.0).hit().is_none());
    }
    let note = "of 600 at 9 m/s, from the first frame on; three materials by a height function";
    report.set("walk_without_ground_frames", f64::from(without_ground), note);
}
