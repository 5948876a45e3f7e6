//! From a real place to a saved world: read the file, decode it, fill the grid with its mips, write
//! all chunks and coarse mips, flush them to disk.
//!
//! Wall time, because the disk is part of it; thread CPU time in the note.

use std::path::Path;
use std::time::Instant;

use cpu_time::ThreadTime;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::{self, ImportOptions};
use terravox_store::{Overwrite, Store, WorldInfo};

use crate::report::{AreaReport, detail};
use crate::worlds::places;

/// The largest of the real places, 1.3 MB.
const PLACE: &str = "BoogaOpenSourced";
const ROUNDS: usize = 7;

/// Seconds of one import, and the size of the world.
#[derive(Clone, Copy, Debug)]
struct ImportTimes {
    wall: f64,
    cpu: f64,
    world_bytes: u64,
}

/// Measures `import_place_seconds`.
pub fn run(report: &mut AreaReport) {
    let id = "import_place_seconds";
    let Some(place) = places::file(PLACE) else {
        report.not_measured(id, format!("no file of the real place {PLACE}"));
        return;
    };
    let folder = std::env::temp_dir().join(format!("terravox-bench-{}", std::process::id()));
    let made = std::fs::create_dir_all(&folder).map_err(|error| error.to_string());
    let rounds = made.and_then(|()| rounds(&place, &folder));
    // Leftovers are in the temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
    match rounds {
        Ok(mut rounds) => {
            rounds.sort_by(|a, b| a.wall.total_cmp(&b.wall));
            let (best, median) = (rounds[0], rounds[ROUNDS / 2]);
            let note = format!("{PLACE}; wall, median {:.3} s; {:.3} s CPU", median.wall, best.cpu);
            report.set(id, best.wall, note);
            let size = best.world_bytes as f64 / 1e6;
            report.details("import of a place", vec![detail("saved world", size, "MB")]);
        }
        Err(why) => report.not_measured(id, why),
    }
}

fn rounds(place: &Path, folder: &Path) -> Result<Vec<ImportTimes>, String> {
    let world = folder.join("place.tvx");
    (0..ROUNDS).map(|_| import(place, &world)).collect()
}

fn import(place: &Path, world: &Path) -> Result<ImportTimes, String> {
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let bytes = std::fs::read(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    roblox::import(&bytes, &ImportOptions::default(), &mut grid)
        .map_err(|error| format!("{}: {error}", place.display()))?;
    let info = WorldInfo {
        voxel_size_m: 1.0,
        materials: grid.materials().clone(),
        ..WorldInfo::default()
    };
    let draft = Store::create(world, &info, Overwrite::Yes).map_err(|error| error.to_string())?;
    draft.write_all(&grid.snapshot(), |_, _| {}).map_err(|error| error.to_string())?;
    let store = draft.finish().map_err(|error| error.to_string())?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    drop(store);
    let world_bytes = std::fs::metadata(world).map_or(0, |data| data.len());
    Ok(ImportTimes { wall, cpu, world_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_saves_a_world_that_opens_with_the_same_cells() {
        let folder = std::env::temp_dir().join(format!("terravox-import-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut grid = VoxelGrid::new(GridOptions::default());
        let mut cells = crate::worlds::random::closed_grid(1, 32);
        cells.move_to(terravox::voxel::ChunkPos::new(0, -1, 0).min_voxel());
        grid.write(&cells).unwrap();
        let metadata = roblox::RobloxMetadata::default();
        let blob =
            roblox::export(grid.as_snapshot(), &metadata, roblox::Container::SmoothGrid).unwrap();
        let (place, world) = (folder.join("place.smoothgrid"), folder.join("place.tvx"));
        std::fs::write(&place, blob).unwrap();
        let took = import(&place, &world).unwrap();
        assert!(took.wall > 0.0 && took.world_bytes > 0);
        let again = Store::open(&world).unwrap();
        assert_eq!(again.load().unwrap().grid.digest(), grid.digest());
        drop(again);
        assert!(import(&folder.join("none"), &world).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
