//! The importers as one function.
//!
//! The benchmark runs them on the same files, in processes of their own.

use super::shapes::Importer;
use std::fmt::Display;
use terravox::voxel::VoxelGrid;
use terravox_io::ImportBudget;
use terravox_io::heightmap::{self, ColourPolicy, Heights};
use terravox_io::obj::UpAxis;
use terravox_io::roblox::{self, Container, ImportOptions, RobloxMetadata};
use terravox_io::triangles::{self, MeshFormat, VoxeliseOptions};
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
        Importer::Mesh(format) => import_mesh(file, format, budget).map_err(line_of),
    }
}

/// Makes cells of a mesh as the program does by default, 128 along the longest edge.
fn import_mesh(
    file: &[u8],
    format: MeshFormat,
    budget: &mut ImportBudget,
) -> Result<(), triangles::MeshError> {
    let mesh = triangles::read(file, format, budget)?;
    let [low, high] = mesh.bounds().unwrap_or_default();
    let longest = (0..3).map(|i| high[i] - low[i]).fold(f64::MIN_POSITIVE, f64::max);
    let options = VoxeliseOptions { voxels_per_unit: 128.0 / longest, up: UpAxis::Y, material: 8 };
    triangles::voxelise(&mesh, &options, budget, &mut VoxelGrid::default(), |_, _| ()).map(drop)
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
