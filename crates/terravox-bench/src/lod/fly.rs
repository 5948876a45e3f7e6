//! A flying camera: work per frame, latency of blocks, growth of memory, and latency of brush
//! strokes.

use std::time::Instant;

use cpu_time::ProcessTime;
use rustc_hash::FxHashMap;
use terravox::generate::Hills;
use terravox::terrain::{Budget, FillRequest, LodOptions, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{Cell, MipBlock, VoxelPos};

use super::view::{DETAIL, hills, resident_bytes};
use crate::report::AreaReport;

const SPEED_M_S: f64 = 50.0;

const FRAMES_PER_SECOND: f64 = 60.0;

/// Budget of the worker per frame, milliseconds.
const BUDGET_MS: f32 = 6.0;

/// Seconds of flight that are measured.
const SECONDS: usize = 20;

/// Length of the long flight.
const FAR_M: f64 = 100_000.0;

/// Distance between two updates of the long flight.
const STRIDE_M: f64 = 32.0;

/// Distance after which the ground of the long flight repeats, so that memory is compared over
/// equal ground.
const PERIOD_M: i32 = 4096;

/// Measures `fly_worker_ms`, `fly_late_ms` and `stroke_visible_ms`.
pub fn run(report: &mut AreaReport) {
    flight(report);
    stroke(report);
}

fn terrain(detail: f32, max_mip: u8) -> Terrain {
    let lod = LodOptions { detail, max_mip, near_voxels: 16.0, ..LodOptions::default() };
    Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() })
}

fn flight(report: &mut AreaReport) {
    let world = Hills::new(7);
    let mut terrain = terrain(DETAIL, 8);
    let mut viewer = Viewer::at([8.0, 60.0, 8.0]);
    terrain.update(&[viewer], Budget::Unlimited, |request| hills(&world, request));
    let (mut spent, mut latest, mut triangles) = (0.0, 0, 0);
    let mut due: FxHashMap<MipBlock, usize> = FxHashMap::default();
    let frames = SECONDS * FRAMES_PER_SECOND as usize;
    for frame in 0..frames {
        viewer.position_m[0] += SPEED_M_S / FRAMES_PER_SECOND;
        let start = ProcessTime::now();
        terrain.update(&[viewer], Budget::Millis(BUDGET_MS), |request| hills(&world, request));
        spent += start.elapsed().as_secs_f64() * 1e3;
        triangles = triangles.max(terrain.lod().triangles());
        terrain.mesh_swaps().for_each(drop);
        let late = terrain.overdue_splits(&[viewer]);
        due = late.iter().map(|b| (*b, due.get(b).copied().unwrap_or(frame))).collect();
        latest = due.values().map(|&since| frame + 1 - since).max().unwrap_or(0).max(latest);
    }
    let note =
        format!("{SECONDS} s at {SPEED_M_S} m/s, detail {DETAIL}, {triangles} triangles at most");
    report.set("fly_worker_ms", spent / frames as f64, note);
    let note = format!("at most {BUDGET_MS} ms of work a frame");
    report.set("fly_late_ms", latest as f64 * 1e3 / FRAMES_PER_SECOND, note);
}

/// Measures `fly_memory_growth`.
pub fn run_far(report: &mut AreaReport) {
    let world = Hills::new(7);
    let mut terrain = terrain(1.0, 4);
    let mut viewer = Viewer { position_m: [8.0, 50.0, 8.0], distance_m: 500.0 };
    let mut peaks = Vec::new();
    while viewer.position_m[0] < FAR_M {
        viewer.position_m[0] += STRIDE_M;
        terrain.update(&[viewer], Budget::Unlimited, |request| periodic(&world, request));
        terrain.mesh_swaps().for_each(drop);
        let period = (viewer.position_m[0] / f64::from(PERIOD_M)) as usize;
        peaks.resize(period + 1, 0);
        peaks[period] = resident_bytes(&terrain).max(peaks[period]);
    }
    // The first period starts empty, the last is cut off. The moment when blocks leave memory
    // shifts from one to the next, so a few are taken together.
    let whole = &peaks[1..peaks.len() - 1];
    let peak = |part: &[usize]| part.iter().copied().max().unwrap_or(0) as f64;
    let [start, end] =
        [peak(&whole[..PERIODS_PER_PEAK]), peak(&whole[whole.len() - PERIODS_PER_PEAK..])];
    let [from, to] = [start, end].map(|bytes| bytes / f64::from(1 << 20));
    let note = format!(
        "{from:.2} MiB at most in the first {PERIODS_PER_PEAK}, {to:.2} in the last, of {} times the same {PERIOD_M} m",
        whole.len()
    );
    report.set("fly_memory_growth", end / start, note);
}

/// Fills a block by the generator, with the ground of one period along x.
fn periodic(world: &Hills, request: &mut FillRequest<'_>) {
    let mip = request.block().mip;
    let cells = request.cells();
    let at = cells.region().min;
    cells.move_to(VoxelPos::new(at.x.rem_euclid(PERIOD_M >> mip), at.y, at.z));
    world.fill(cells, mip);
    cells.move_to(at);
}

/// Periods whose peaks are taken together.
const PERIODS_PER_PEAK: usize = 5;

/// Radius of a brush stroke, metres.
const STROKE_RADIUS_M: f64 = 4.0;

fn stroke(report: &mut AreaReport) {
    let world = Hills::new(7);
    let mut terrain = terrain(2.0, 6);
    let viewer = Viewer { position_m: [8.0, 40.0, 8.0], distance_m: 1500.0 };
    terrain.update(&[viewer], Budget::Unlimited, |request| hills(&world, request));
    // The meshes of the first view do not count.
    terrain.mesh_swaps().for_each(drop);
    let (mut millis, mut unseen) = (Vec::new(), 0);
    for i in 0..60 {
        let [x, z] = [i % 8, i / 8].map(|v| 5.0 * f64::from(v) - 20.0);
        let Some(hit) = terrain.ray([x, 60.0, z], [0.0, -1.0, 0.0], 200.0).hit() else { continue };
        let [min, max] =
            [-STROKE_RADIUS_M, STROKE_RADIUS_M].map(|reach| hit.point_m.map(|v| v + reach));
        let ball = |p: [f64; 3], old: Cell| {
            let d = [0, 1, 2].map(|i| p[i] - hit.point_m[i]);
            if d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < STROKE_RADIUS_M * STROKE_RADIUS_M {
                Cell::AIR
            } else {
                old
            }
        };
        let start = Instant::now();
        terrain.edit_cells(min, max, ball).expect("the ground near the viewer is held");
        terrain.update(&[viewer], Budget::Unlimited, |request| hills(&world, request));
        let ms = start.elapsed().as_secs_f64() * 1e3;
        match terrain.mesh_swaps().any(|swap| !swap.added.is_empty()) {
            true => millis.push(ms),
            false => unseen += 1,
        }
    }
    millis.sort_by(f64::total_cmp);
    if millis.is_empty() {
        return report.not_measured(
            "stroke_visible_ms",
            format!("{unseen} strokes hit ground, and showed nothing"),
        );
    }
    let worst = millis[millis.len() - 1];
    let note = format!(
        "median of {} strokes; the worst {worst:.2}; {unseen} others showed nothing",
        millis.len()
    );
    report.set("stroke_visible_ms", millis[millis.len() / 2], note);
}
