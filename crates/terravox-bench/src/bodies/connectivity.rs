//! Cost of the connectivity check after a dig that frees nothing, in a world of a billion cells.

use cpu_time::ThreadTime;
use terravox::bodies::{LooseCutter, LooseOptions};
use terravox::edit::{EditOp, Editor};
use terravox::voxel::{VoxelGrid, VoxelPos};

use crate::report::{AreaReport, detail};
use crate::worlds::{World, billion, generated, ground};

/// Radius of a dig, voxels.
const RADIUS: f32 = 4.0;

/// Distance between dug columns, voxels, so that no two are in one chunk.
const SPACING_VOXELS: usize = 75;

/// Digs at each place, each lower than the one before.
const DIGS: usize = 3;

/// Measures `connectivity_us`.
pub fn run(report: &mut AreaReport) {
    let world = generated::world();
    let (grid, cells) = billion::copies(&world);
    drop(world);
    let mut world = World::new("a billion cells", grid);
    let places = ground(&world, SPACING_VOXELS);
    let floor = world.grid.bounds().min.y + 1;
    let mut check = ConnectivityCheck {
        loose: LooseCutter::default(),
        options: LooseOptions::floor(floor),
        editor: Editor::default(),
    };
    // Times of the n-th dig at all places.
    let mut seconds = vec![Vec::new(); DIGS];
    let mut freed = 0;
    for place in &places {
        for (dig, seconds) in seconds.iter_mut().enumerate() {
            let low = VoxelPos::new(0, -4 * dig as i32, 0);
            match check.time_dig(&mut world.grid, *place + low) {
                Some(time) => seconds.push(time),
                None => freed += 1,
            }
        }
    }
    let [first, second, third] = [0, 1, 2].map(|dig| {
        let mut times = seconds[dig].clone();
        times.sort_by(f64::total_cmp);
        times.iter_mut().for_each(|time| *time *= 1e6);
        times
    });
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let note = format!(
        "mean over {} places without an earlier dig; {cells} cells that are not air",
        first.len()
    );
    report.set("connectivity_us", mean(&first), note);
    let quantile = |times: &[f64], q: f64| times[((times.len() - 1) as f64 * q) as usize];
    let line = |name: &'static str, times: &[f64]| {
        let note = format!("median {:.1}, max {:.1}", quantile(times, 0.5), quantile(times, 1.0));
        detail(name, mean(times), "µs").note(note)
    };
    let stats = check.loose.stats();
    report.details(
        "checks after digs of radius 4 that freed nothing",
        vec![
            line("first dig at a place", &first),
            line("second, below it", &second),
            line("third", &third),
            detail("digs that freed something, left out", freed as f64, ""),
            detail("chunks with a record", stats.chunks as f64, ""),
            detail("bytes of records", stats.bytes as f64 / 1e6, "MB"),
        ],
    );
}

/// The connectivity check of a world.
struct ConnectivityCheck {
    loose: LooseCutter,
    options: LooseOptions,
    editor: Editor,
}

impl ConnectivityCheck {
    /// Digs a ball and times the check; `None` if the dig freed something.
    fn time_dig(&mut self, grid: &mut VoxelGrid, place: VoxelPos) -> Option<f64> {
        let op = EditOp::dig_ball(place.to_array().map(|v| f64::from(v) + 0.4), RADIUS.into());
        let dug = match self.editor.apply(grid, &op, None) {
            Ok(dug) => dug,
            Err(error) => panic!("{place}: {error}"),
        };
        let start = ThreadTime::now();
        self.loose.touch(dug.region);
        let cut = self.loose.cut(grid, None, &self.options);
        let seconds = start.elapsed().as_secs_f64();
        match cut {
            Ok(cut) => (cut.bodies.is_empty() && !cut.has_more).then_some(seconds),
            Err(error) => panic!("{place}: {error}"),
        }
    }
}
