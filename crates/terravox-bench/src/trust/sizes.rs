//! How long files are, beside what they hold.

use super::folder::BenchFolder;
use super::scratch::{ball, mark_saved, save};
use crate::report::AreaReport;
use crate::worlds::random::Rng;
use terravox::generate::Hills;
use terravox::voxel::{ChunkPos, DenseBox, Region, VoxelGrid};
use terravox_store::{Overwrite, Store, StoreError, WorldInfo};

/// Strokes, with a save after each.
const STROKES: u32 = 1000;

/// A file's length beside its payload.
struct FileRatios {
    new: f64,
    first_save: f64,
    saves: f64,
    compact: f64,
    payload_mb: f64,
}

/// Measures `file_vs_payload` and `file_vs_payload_saves`.
pub fn run(report: &mut AreaReport) {
    match measure() {
        Ok(ratios) => {
            let FileRatios { new, first_save, saves, compact, payload_mb } = ratios;
            let note = format!("{payload_mb:.2} MB of payload; a new file {new:.3}");
            report.set("file_vs_payload", compact, note);
            let note = format!("{STROKES} strokes, a save each; {first_save:.3} after the first");
            report.set("file_vs_payload_saves", saves, note);
        }
        Err(why) => {
            report.not_measured("file_vs_payload", &why);
            report.not_measured("file_vs_payload_saves", why);
        }
    }
}

fn measure() -> Result<FileRatios, String> {
    let folder = BenchFolder::in_memory("sizes").map_err(|error| error.to_string())?;
    save_strokes(&folder).map_err(|error| error.to_string())
}

fn save_strokes(folder: &BenchFolder) -> Result<FileRatios, StoreError> {
    let (mut grid, mut cells, hills) = (VoxelGrid::default(), DenseBox::default(), Hills::new(2));
    for chunk in Region::new([-4, -2, -4], [4, 2, 4]).voxels() {
        cells.reset(ChunkPos::new(chunk.x, chunk.y, chunk.z).region());
        hills.fill(&mut cells, 0);
        grid.load(&cells);
    }
    let path = folder.file("world.tvx");
    let draft = Store::create(&path, &WorldInfo::default(), Overwrite::No)?;
    draft.write_all(grid.as_snapshot(), |_, _| {})?;
    let mut store = draft.finish()?;
    mark_saved(&mut grid);
    let new = ratio(&store)?;
    let (mut rng, mut first_save) = (Rng::new(9), 0.0);
    for stroke in 0..STROKES {
        let centre = [0; 3].map(|_| rng.below(100) as i32 - 50);
        let radius = 3 + rng.below(5) as i32;
        ball(&mut grid, centre, radius, [0, 2, 8][rng.below(3) as usize]);
        save(&store, &mut grid)?;
        if stroke == 0 {
            first_save = ratio(&store)?;
        }
    }
    let saves = ratio(&store)?;
    store.compact()?;
    let payload_mb = store.stats()?.payload_bytes as f64 / 1e6;
    Ok(FileRatios { new, first_save, saves, compact: ratio(&store)?, payload_mb })
}

fn ratio(store: &Store) -> Result<f64, StoreError> {
    let stats = store.stats()?;
    Ok(stats.file_bytes as f64 / stats.payload_bytes as f64)
}
