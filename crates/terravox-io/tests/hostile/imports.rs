//! The importers as one function.
//!
//! The benchmark runs them on the same files, in processes of their own.

use super::shapes::Importer;
use std::fmt::Display;
use terravox::voxel::VoxelGrid;
use terravox_io::ImportBudget;
use terravox_io::heightmap::{self, ColourPolicy, Heights};
use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata};
use terravox_io::vox::{self, VoxOptions};

/// Imports a file of any kind and forgets it.
pub fn import(importer: Importer, file: &[u8], budget: &mut ImportBudget) -> Result<(), String> {
    let heights = |heights: Result<Heights, _>| heights.map(drop).map_err(line_of);
    match importer {
        Importer::Roblox => import_roblox(file, None, budget),
        Importer::SmoothGrid => import_roblox(file, Some(Container::SmoothGrid), budget),
        Importer::Png => heights(heightmap::read_png(file, ColourPolicy::Luminance, budget)),
        Importer::RawHeights => heights(heightmap::read_raw_u16(file, None, budget)),
        Importer::Metadata => RobloxMetadata::from_bytes(file).map(drop).map_err(line_of),
        Importer::Vox => {
            let (options, mut grid) = (VoxOptions::default(), VoxelGrid::default());
            vox::import(file, &options, budget, &mut grid, |_, _| ()).map(drop).map_err(line_of)
        }
    }
}

fn import_roblox(
    file: &[u8],
    container: Option<Container>,
    budget: &mut ImportBudget,
) -> Result<(), String> {
    let (options, mut grid) = (ImportOptions { container }, VoxelGrid::default());
    let imported = roblox::import_with_progress(file, &options, budget, &mut grid, |_, _| ());
    imported.map(drop).map_err(line_of)
}

fn line_of(error: impl Display) -> String {
    error.to_string()
}
