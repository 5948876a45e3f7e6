//! A real place, simplified: what `terravox mesh place.smoothgrid out.glb --simplify 0.25` does,
//! by the program's own code, on two threads.

use std::time::Instant;

use cpu_time::ProcessTime;
use terravox_cli::meshing::{MeshedTile, TileMeshOptions, mesh_tiles, tiles_of};
use terravox_io::gltf::{GlbOptions, GlbStats, GlbWriter};

use crate::report::AreaReport;
use crate::worlds::places;

/// The largest real place: 1.3 MB.
const PLACE: &str = "BoogaOpenSourced";

/// Tolerance, cells.
const TOLERANCE_CELLS: f32 = 0.25;

/// Measures `simplify_place_s`.
pub fn run(report: &mut AreaReport) {
    match simplify() {
        Ok(SimplifiedPlace { seconds, cpu_seconds, stats }) => {
            let note = format!(
                "{} triangles kept; {cpu_seconds:.1} s of CPU on 2 threads",
                stats.triangles
            );
            report.set("simplify_place_s", seconds, note);
        }
        Err(why) => report.not_measured("simplify_place_s", why),
    }
}

struct SimplifiedPlace {
    seconds: f64,
    cpu_seconds: f64,
    stats: GlbStats,
}

/// Reads the place, meshes and simplifies it, and writes a model that is discarded.
fn simplify() -> Result<SimplifiedPlace, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let pool = pool.map_err(|error| error.to_string())?;
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let stats = pool.install(|| -> Result<GlbStats, String> {
        let world = places::world(PLACE)?;
        let snapshot = world.grid.snapshot();
        let options =
            TileMeshOptions { simplify: Some(TOLERANCE_CELLS), ..TileMeshOptions::default() };
        let tiles = tiles_of(&snapshot, options);
        let mut writer = GlbWriter::new(GlbOptions::default(), snapshot.materials());
        for tile in mesh_tiles(&snapshot, &tiles, options, &|| ()) {
            let MeshedTile { name, meshes } = tile.map_err(|error| error.to_string())?;
            writer.add_tile(&name, &meshes).map_err(|error| error.to_string())?;
        }
        writer.finish(&mut std::io::sink()).map_err(|error| error.to_string())
    })?;
    let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    Ok(SimplifiedPlace { seconds, cpu_seconds, stats })
}
