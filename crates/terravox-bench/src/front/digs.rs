//! Digs while a view streams in, and counts the frames until each dig is shown.

use cpu_time::ThreadTime;
use std::cell::RefCell;
use terravox::edit::EditOp;
use terravox::generate::{Hills, Preset, World};
use terravox::lod::ShownSurfaces;
use terravox::terrain::{Budget, FillRequest, Terrain, TerrainOptions, Viewer};

use crate::report::{AreaReport, detail};

const BUDGET_MS: f32 = 3.0;
const FRAMES_PER_SECOND: f64 = 60.0;
/// Speed along x; along z it is half of that.
const SPEED_M_S: f64 = 6.0;
const FRAMES: usize = 3600;
/// So many that no dig reaches the hole of the one before.
const FRAMES_BETWEEN_DIGS: usize = 90;
/// Height of the eye above a dig. A ray from there straight down hits the bottom of the hole once the dig
/// is shown.
const RAY_ABOVE_M: f64 = 30.0;
const DIG_RADIUS_M: f64 = 4.0;
/// A dig is shown once what is shown below the eye is at this depth of the hole, or deeper, as in a cave.
const SHOWN_DEPTH_M: f64 = 3.0;

thread_local! {
    static START: RefCell<Option<ThreadTime>> = const { RefCell::new(None) };
}

/// Milliseconds of CPU time of this thread.
fn thread_millis() -> f64 {
    let start = START.with_borrow_mut(|start| *start.get_or_insert_with(ThreadTime::now));
    start.elapsed().as_secs_f64() * 1e3
}

struct Walk {
    /// Frames until each dig was shown, sorted.
    waits: Vec<usize>,
    /// The first frame with any triangle.
    first_view: usize,
}

/// Measures `dig_while_streaming_frames` and `first_view_frames`.
pub fn run(report: &mut AreaReport) {
    // Another crate of the workspace enables `parallel`: one thread, so that its jobs are timed.
    let Ok(one_thread) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
        return report.not_measured("dig_while_streaming_frames", "no thread could be started");
    };
    one_thread.install(|| {
        let hills = Hills::new(7);
        let world = World::new(7, Preset::Alps);
        let by_hills = walk(
            |x, z| hills.height(x, z),
            |request| {
                let mip = request.block().mip;
                hills.fill(request.cells(), mip);
            },
        );
        let by_world = walk(
            |x, z| world.ground(x, z).0,
            |request| {
                let mip = request.block().mip;
                world.fill(request.cells(), mip);
            },
        );
        if by_hills.waits.is_empty() || by_world.waits.is_empty() {
            for id in ["dig_while_streaming_frames", "first_view_frames"] {
                report.not_measured(id, "nothing could be dug");
            }
            return;
        }
        let mut rows = Vec::new();
        let (mut median, mut first_view) = (0, 0);
        for (name, walk) in [("Hills", &by_hills), ("World", &by_world)] {
            let at = |share: f64| walk.waits[(share * (walk.waits.len() - 1) as f64) as usize];
            for (what, share) in [("median", 0.5), ("p95", 0.95), ("worst", 1.0)] {
                rows.push(detail(format!("a dig in {name}, {what}"), at(share) as f64, "frames"));
            }
            rows.push(detail(format!("first view of {name}"), walk.first_view as f64, "frames"));
            median = median.max(at(0.5));
            first_view = first_view.max(walk.first_view);
        }
        let p95 = |walk: &Walk| walk.waits[(walk.waits.len() - 1) * 95 / 100];
        let note = format!(
            "median, of Hills or World; p95 {} and {}; walking 6.7 m/s from the first frame on, 3 ms a frame",
            p95(&by_hills),
            p95(&by_world)
        );
        report.details("digging while an 8 km view streams in", rows);
        report.set("dig_while_streaming_frames", median as f64, note);
        let note = "of Hills or World, 3 ms a frame: the first frame with any triangle";
        report.set("first_view_frames", first_view as f64, note);
    });
}

/// Walks and digs for a minute.
fn walk(ground: impl Fn(f64, f64) -> f64, fill: impl Fn(&mut FillRequest<'_>) + Sync) -> Walk {
    let options = TerrainOptions { clock: Some(thread_millis), ..TerrainOptions::default() };
    let mut terrain = Terrain::new(options);
    let mut walk = Walk { waits: Vec::new(), first_view: FRAMES };
    let mut waiting: Option<Dig> = None;
    for frame in 0..FRAMES {
        let seconds = frame as f64 / FRAMES_PER_SECOND;
        let (x, z) = (SPEED_M_S * seconds, 0.5 * SPEED_M_S * seconds);
        let viewer = Viewer::at([x, ground(x, z) + 2.0, z]);
        terrain.update(&[viewer], Budget::Millis(BUDGET_MS), &fill);
        terrain.mesh_swaps().for_each(drop);
        if terrain.lod().triangles() > 0 {
            walk.first_view = walk.first_view.min(frame);
        }
        match &waiting {
            Some(dig) if dig.is_shown(&terrain) => {
                walk.waits.push(frame - dig.frame);
                waiting = None;
            }
            Some(_) => {}
            None if frame % FRAMES_BETWEEN_DIGS == 0 => {
                let (x, z) = (x + 8.0, z + 5.0);
                waiting = Dig::at(&mut terrain, [x, ground(x, z) + RAY_ABOVE_M, z], frame);
            }
            None => {}
        }
    }
    // A dig that was not shown by the end waited at least this long.
    walk.waits.extend(waiting.map(|dig| FRAMES - dig.frame));
    walk.waits.sort_unstable();
    walk
}

/// A dig that is not shown yet.
struct Dig {
    frame: usize,
    eye: [f64; 3],
}

impl Dig {
    /// Digs the ground below `eye`, if it is shown at about its height, and can be edited already.
    fn at(terrain: &mut Terrain, eye: [f64; 3], frame: usize) -> Option<Dig> {
        let shown = shown_distance(terrain, eye)?;
        if (shown - RAY_ABOVE_M).abs() > SHOWN_DEPTH_M / 2.0 {
            return None;
        }
        let ground = [eye[0], eye[1] - RAY_ABOVE_M, eye[2]];
        terrain.edit(&EditOp::dig_ball(ground, DIG_RADIUS_M)).ok()?;
        Some(Dig { frame, eye })
    }

    /// Whether the hole is shown. Ground that becomes finer, or is missing, is not enough.
    fn is_shown(&self, terrain: &Terrain) -> bool {
        let is_deep = |hit: f64| hit > RAY_ABOVE_M + SHOWN_DEPTH_M;
        shown_distance(terrain, self.eye).is_some_and(is_deep)
    }
}

/// Returns the distance from a point to the ground that is shown below it.
fn shown_distance(terrain: &Terrain, eye: [f64; 3]) -> Option<f64> {
    let surfaces = ShownSurfaces { solid: true, liquid: false };
    let hit = terrain.lod().ray(eye, [0.0, -1.0, 0.0], 4.0 * RAY_ABOVE_M, surfaces)?;
    Some(hit.distance)
}
