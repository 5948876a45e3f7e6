//! Real places: terrain made by others, from `../shared/data/roblox` or the folder `roblox` in
//! TERRAVOX_REAL_DATA. Not part of the repository.

use std::path::PathBuf;

use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::{self, ImportOptions};

use super::World;

/// A real place.
struct RealPlace {
    /// Name in the tables.
    name: &'static str,
    file: &'static str,
}

const fn place(name: &'static str, file: &'static str) -> RealPlace {
    RealPlace { name, file }
}

const PLACES: [RealPlace; 6] = [
    place("Pathfinder", "Aerodymier__Pathfinder__Terrain.smoothgrid"),
    place("catapult-intro", "DarthSharkie__catapult-intro__Terrain.smoothgrid"),
    place("ethical-eli-hub", "EliTheGingerCat__ethical-eli-hub__Terrain.smoothgrid"),
    place("flat-terrain", "KevinGamer3D2__flat-terrain__Terrain.smoothgrid"),
    place("BoogaOpenSourced", "RandomB-oi__BoogaOpenSourced__place.smoothgrid"),
    place("Caves", "TheTryph__Caves__Terrain.smoothgrid"),
];

/// Returns the folder of all real data, whether it exists or not.
pub fn root() -> PathBuf {
    match std::env::var_os("TERRAVOX_REAL_DATA") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
    }
}

/// Returns the folder of the real places, if it exists.
pub fn folder() -> Option<PathBuf> {
    let places = root().join("roblox");
    places.is_dir().then_some(places)
}

/// Returns the file of the place `name`, if it exists.
pub fn file(name: &str) -> Option<PathBuf> {
    let place = PLACES.iter().find(|place| place.name == name)?;
    let path = folder()?.join(place.file);
    path.is_file().then_some(path)
}

/// Returns all real places.
///
/// # Errors
/// Says why they are missing.
pub fn all() -> Result<Vec<World>, String> {
    PLACES.iter().map(|place| world(place.name)).collect()
}

/// One real place.
pub fn world(name: &'static str) -> Result<World, String> {
    let path = file(name).ok_or_else(|| format!("no file of the real place {name}"))?;
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    match roblox::import(&bytes, &ImportOptions::default(), &mut grid) {
        Ok(_) => Ok(World::new(name, grid)),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
