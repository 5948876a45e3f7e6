//! Importing scenes of MagicaVoxel: converts metres of the command line to cells.

use crate::args::HeightmapArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::import_limits;
use crate::world::World;
use std::path::Path;
use terravox::voxel::{GridOptions, VoxelGrid};
use terravox_io::roblox::RobloxMetadata;
use terravox_io::vox::{self, VoxError, VoxOptions};
use terravox_store::WorldInfo;

/// Imports a scene into memory.
///
/// # Errors
/// If the file is damaged or not a scene, costs too much, or an option is for other files or out of
/// range.
pub fn import(
    path: &Path,
    bytes: &[u8],
    options: &HeightmapArgs,
    console: &Console,
) -> CliResult<World> {
    let (voxel_size_m, vox_options) = in_cells(options).map_err(|what| Failure::of(path, what))?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut budget = import_limits::budget(bytes.len(), options);
    let bar = console.bar("importing", 1);
    let progress = |done, all| bar.set(done, all);
    let imported = vox::import(bytes, &vox_options, &mut budget, &mut grid, progress)
        .map_err(|error| Failure::of(path, explained(&error, options)))?;
    drop(bar);
    let info =
        WorldInfo { voxel_size_m, materials: grid.materials().clone(), ..WorldInfo::default() };
    Ok(World {
        grid,
        info,
        roblox: RobloxMetadata::default(),
        source: "vox",
        file_bytes: 0,
        notes: imported.notes,
        growth: None,
        channels: Default::default(),
    })
}

/// Returns the edge of a cell in metres, and how many of them a voxel of the file has.
fn in_cells(options: &HeightmapArgs) -> Result<(f64, VoxOptions), String> {
    let HeightmapArgs { voxel_size, scale, vertical_scale, sea_level, depth, luma, width, .. } =
        options;
    let of_heightmaps = [
        ("--vertical-scale", vertical_scale.is_some()),
        ("--sea-level", sea_level.is_some()),
        ("--depth", depth.is_some()),
        ("--luma", *luma),
        ("--width", width.is_some()),
    ];
    if let Some((name, _)) = of_heightmaps.into_iter().find(|(_, is_given)| *is_given) {
        return Err(format!(
            "{name} is for heightmaps; a .vox scene takes --voxel-size, --scale and --limit-factor"
        ));
    }
    let voxel_size_m = voxel_size.or(*scale).unwrap_or(1.0);
    let cells = scale.map_or(1.0, |scale| scale / voxel_size_m);
    let most = VoxOptions::MAX_CELLS_PER_VOXEL;
    let whole = cells.round();
    if (cells - whole).abs() > 1e-6 * whole || !(1.0..=f64::from(most)).contains(&whole) {
        return Err(format!(
            "--scale is {} m, but must be a whole number from 1 to {most} times --voxel-size, which is \
             {voxel_size_m} m",
            scale.unwrap_or(voxel_size_m)
        ));
    }
    let cells_per_voxel = whole as u32;
    Ok((voxel_size_m, VoxOptions { cells_per_voxel, ..VoxOptions::default() }))
}

/// Formats an error with the options of the command line.
fn explained(error: &VoxError, options: &HeightmapArgs) -> String {
    match error {
        VoxError::OverBudget(error) => {
            import_limits::explained(error, import_limits::factor(options))
        }
        _ => error.to_string(),
    }
}
