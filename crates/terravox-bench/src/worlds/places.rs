//! Real places: terrain that others made, from `../shared/data/roblox` or from
//! where TERRAVOX_REAL_DATA points. Not part of the repository.

use std::path::PathBuf;

use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::{self, ImportOptions};

use super::World;

/// Names of the files, and what they are called here.
const PLACES: [(&str, &str); 6] = [
    ("Pathfinder", "Aerodymier__Pathfinder__Terrain.smoothgrid"),
    ("catapult-intro", "DarthSharkie__catapult-intro__Terrain.smoothgrid"),
    ("ethical-eli-hub", "EliTheGingerCat__ethical-eli-hub__Terrain.smoothgrid"),
    ("flat-terrain", "KevinGamer3D2__flat-terrain__Terrain.smoothgrid"),
    ("BoogaOpenSourced", "RandomB-oi__BoogaOpenSourced__place.smoothgrid"),
    ("Caves", "TheTryph__Caves__Terrain.smoothgrid"),
];

/// Returns the folder of the real data, if it exists.
pub fn folder() -> Option<PathBuf> {
    let root = match std::env::var_os("TERRAVOX_REAL_DATA") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
    };
    let places = root.join("roblox");
    places.is_dir().then_some(places)
}

/// The file of the place called `name`, if it is there.
pub fn file(name: &str) -> Option<PathBuf> {
    let (_, file) = PLACES.iter().find(|(place, _)| *place == name)?;
    let path = folder()?.join(file);
    path.is_file().then_some(path)
}

/// Returns all real places.
///
/// # Errors
/// Says why they are missing.
pub fn all() -> Result<Vec<World>, String> {
    PLACES.iter().map(|(name, _)| world(name)).collect()
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
