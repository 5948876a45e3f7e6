//! Navigation: the time of tiles after edits, and of searches.

use cpu_time::ThreadTime;
use terravox::edit::{EditOp, Editor};
use terravox::terrain::Placement;
use terravox::voxel::{ChunkPos, Region, VoxelGrid, VoxelPos};
use terravox_paths::{PathOptions, PathOutcome, Paths};

use crate::report::{AreaReport, ReportRow, detail};
use crate::scatter::land;
use crate::worlds;

/// Sizes of voxels, metres; of the first is the figure. A tile is 32 voxels wide.
const VOXELS_M: [f64; 3] = [1.0, 0.5, 0.25];

/// Ends of searches: as many pairs.
const SEARCHES: usize = 200;

/// Times of a kind, sorted, ms.
struct Times(Vec<f64>);

impl Times {
    fn sorted(mut times: Vec<f64>) -> Times {
        times.sort_by(f64::total_cmp);
        Times(times)
    }

    fn at(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
    }

    fn note(&self) -> String {
        format!("median {:.2}, p99 {:.2}, most {:.2} ms", self.at(0.5), self.at(0.99), self.at(1.0))
    }
}

/// Measures the figure, all tiles on this thread.
pub fn run(report: &mut AreaReport) {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(|| measure(report)),
        Err(error) => report.not_measured("navmesh_tile_ms", error.to_string()),
    }
}

fn measure(report: &mut AreaReport) {
    let grid = match land() {
        Ok(grid) => grid,
        Err(why) => return report.not_measured("navmesh_tile_ms", why),
    };
    let mut rows = Vec::new();
    for voxel_m in VOXELS_M {
        match edits(&grid, voxel_m) {
            Ok(Edits { tiles, whole, note }) => {
                let name = format!("voxels of {voxel_m} m: a tile");
                rows.push(detail(name, tiles.at(0.5), "ms").note(tiles.note()));
                let name = format!("voxels of {voxel_m} m: all tiles of an edit");
                rows.push(detail(name, whole.at(0.5), "ms").note(whole.note()));
                if voxel_m == VOXELS_M[0] {
                    let note = format!("{note}; all tiles of an edit: {}", whole.note());
                    report.set("navmesh_tile_ms", tiles.at(0.5), note);
                }
            }
            Err(why) => report.not_measured("navmesh_tile_ms", why),
        }
    }
    rows.extend(searches(&grid));
    report.details("navigation", rows);
}

/// What edits took.
struct Edits {
    /// A tile of each edit, on average.
    tiles: Times,
    whole: Times,
    note: String,
}

fn covered(grid: &VoxelGrid, options: PathOptions, voxel_m: f64) -> Result<Paths, String> {
    let mut paths = Paths::new(options, voxel_m).map_err(|error| error.to_string())?;
    paths.cover(grid.chunks());
    paths.update(grid, usize::MAX);
    Ok(paths)
}

/// Digs of 4 voxels all over the land.
fn edits(grid: &VoxelGrid, voxel_m: f64) -> Result<Edits, String> {
    let mut world = worlds::World::new("land", VoxelGrid::from_snapshot(&grid.snapshot()));
    let ground: Vec<VoxelPos> = worlds::ground(&world, 13);
    let mut paths = covered(&world.grid, PathOptions::default(), voxel_m)?;
    let mut editor = Editor::default();
    let (mut tiles, mut whole, mut made) = (Vec::new(), Vec::new(), 0);
    for at in ground {
        let centre = at.to_array().map(|v| f64::from(v) + 0.5);
        if editor.apply(&mut world.grid, &EditOp::dig_ball(centre, 4.0), None).is_err() {
            continue;
        }
        let start = ThreadTime::now();
        let done = paths.update(&world.grid, usize::MAX);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        whole.push(ms);
        tiles.push(ms / done.made.max(1) as f64);
        made += done.made;
    }
    if whole.is_empty() {
        return Err("no dig changed the land".to_owned());
    }
    let fresh = covered(&world.grid, PathOptions::default(), voxel_m)?;
    if fresh.digest() != paths.digest() {
        return Err("tiles after edits are not those made from nothing".to_owned());
    }
    let each = made as f64 / whole.len() as f64;
    let (tiles, whole) = (Times::sorted(tiles), Times::sorted(whole));
    let note =
        format!("{} digs of 4 voxels, {each:.1} tiles each: {}", whole.0.len(), tiles.note());
    Ok(Edits { tiles, whole, note })
}

/// Searches from one end of the land to the other, in pairs of points.
fn searches(grid: &VoxelGrid) -> Vec<ReportRow> {
    let Ok(paths) = covered(grid, PathOptions::default(), 1.0) else { return Vec::new() };
    let Region { min, max } = grid.bounds();
    let placement = Placement::default();
    let spread = |i: usize, axis: i32, length: i32| {
        let mixed = (i as u32).wrapping_mul(0x9e37_79b9).rotate_left(7 * axis as u32);
        f64::from(mixed >> 8) / f64::from(1 << 24) * f64::from(length)
    };
    let point = |i: usize| {
        let x = f64::from(min.x) + spread(i, 1, max.x - min.x);
        let z = f64::from(min.z) + spread(i, 2, max.z - min.z);
        paths.highest(&placement, x, z)
    };
    let (mut times, mut lengths, mut counts) = (Vec::new(), 0.0, [0; 3]);
    for i in 0..SEARCHES {
        let (Some(from), Some(to)) = (point(2 * i), point(2 * i + 1)) else { continue };
        let start = ThreadTime::now();
        let outcome = paths.find(&placement, from, to);
        times.push(start.elapsed().as_secs_f64() * 1e3);
        let kind = match outcome {
            PathOutcome::Complete(_) => 0,
            PathOutcome::Partial(..) => 1,
            _ => 2,
        };
        counts[kind] += 1;
        lengths += outcome.path().map_or(0.0, |path| path.length_m);
    }
    let times = Times::sorted(times);
    let [rects, floors] = paths.counts();
    let tiles: Vec<ChunkPos> = paths.tiles();
    let note = format!(
        "{} m on average; {} complete, {} partial, {} without an end; {rects} rectangles of {floors} \
         floors in {} tiles; {}",
        (lengths / times.0.len().max(1) as f64).round(),
        counts[0],
        counts[1],
        counts[2],
        tiles.len(),
        times.note()
    );
    vec![detail("a search", times.at(0.5), "ms").note(note)]
}
