//! Importing worlds of Minecraft: region files (.mca), one by one into a world file.

use crate::args::HeightmapArgs;
use crate::census::Census;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::growth::{box_region, rounding_note};
use crate::heights::StreamedImport;
use crate::import_limits;
use crate::world::{World, check_file, read, store_failure};
use std::fs;
use std::path::{Path, PathBuf};
use terravox::voxel::{GridOptions, MaterialTable, VoxelGrid};
use terravox_io::ImportBudget;
use terravox_io::anvil::{self, AnvilError, AnvilImport, AnvilOptions, BlockTable};
use terravox_io::roblox::RobloxMetadata;
use terravox_store::{Overwrite, Store, WorldInfo};

/// What an import takes of a world, and as what.
#[derive(Clone, Copy, Default)]
pub struct RegionChoice<'a> {
    /// A file with a table of blocks.
    pub blocks: Option<&'a Path>,
    /// Corners of the box that is taken, in metres.
    pub corners: Option<[[f64; 3]; 2]>,
}

/// Imports regions into a world file, one after the other: memory is that of one.
///
/// # Errors
/// If a file is damaged or costs too much, an option is for other files, the table of blocks is
/// wrong, or the world cannot be written.
pub fn stream(
    path: &Path,
    regions: &[PathBuf],
    options: &HeightmapArgs,
    choice: RegionChoice<'_>,
    target: &Path,
    overwrite: Overwrite,
    console: &Console,
) -> CliResult<StreamedImport> {
    let (info, anvil, mut notes) = prepare(path, options, choice)?;
    let draft = Store::create(target, &info, overwrite).map_err(store_failure)?;
    let wanted: Vec<&PathBuf> = regions.iter().filter(|file| anvil.may_take(file)).collect();
    let lengths: CliResult<Vec<u64>> = wanted.iter().map(|file| check_file(file)).collect();
    let mut budget = import_limits::folder_budget(&lengths?, options);
    let bar = console.bar("importing", regions.len());
    bar.add(regions.len() - wanted.len());
    let (mut census, mut imported) = (Census::default(), AnvilImport::default());
    for file in wanted {
        // The grid before is dropped.
        budget.release_memory();
        let (grid, import) = import_file(file, &anvil, options, &mut budget)?;
        let written = draft.write_all(grid.as_snapshot(), |_, _| ());
        written.map_err(store_failure)?;
        census.add(&Census::of(grid.as_snapshot(), console).map_err(Failure::at(file))?);
        imported.add(import);
        bar.add(1);
    }
    drop(bar);
    if imported.grid_chunks == 0 {
        return Err(Failure::of(path, nothing(&imported, choice)));
    }
    let busy = console.busy("finishing");
    drop(draft.finish().map_err(store_failure)?);
    drop(busy);
    let metadata = fs::metadata(target);
    let metadata = metadata.map_err(|error| Failure::of(target, error).after_change())?;
    notes.extend(imported.notes());
    Ok(StreamedImport { census, file_bytes: metadata.len(), notes })
}

/// Imports one region into memory, by the default table.
///
/// # Errors
/// As [`stream`].
pub fn import(path: &Path, options: &HeightmapArgs) -> CliResult<World> {
    let (info, anvil, mut notes) = prepare(path, options, RegionChoice::default())?;
    let mut budget = import_limits::folder_budget(&[check_file(path)?], options);
    let (grid, import) = import_file(path, &anvil, options, &mut budget)?;
    notes.extend(import.notes());
    let roblox = RobloxMetadata::default();
    Ok(World {
        grid,
        info,
        roblox,
        source: "anvil",
        file_bytes: 0,
        notes,
        growth: None,
        channels: Default::default(),
    })
}

/// Checks the options, and reads the table of blocks.
fn prepare(
    path: &Path,
    options: &HeightmapArgs,
    choice: RegionChoice<'_>,
) -> CliResult<(WorldInfo, AnvilOptions, Vec<String>)> {
    check_options(options).map_err(|what| Failure::of(path, what))?;
    let text = choice.blocks.map(|file| {
        let bytes = read(file, check_file(file)?)?;
        String::from_utf8(bytes).map_err(|_| Failure::of(file, "is not text in UTF-8"))
    });
    let text = text.transpose()?.unwrap_or_default();
    let table = BlockTable::parse(&text, &MaterialTable::default());
    let table = table.map_err(Failure::at(choice.blocks.unwrap_or(path)))?;
    let info = WorldInfo {
        voxel_size_m: options.voxel_size.unwrap_or(1.0),
        materials: table.materials().clone(),
        ..WorldInfo::default()
    };
    let mut anvil = AnvilOptions::new(table);
    let mut notes = Vec::new();
    if let Some(corners) = choice.corners {
        anvil.part = box_region(&info, corners)?;
        notes.extend(rounding_note(&info, corners, anvil.part));
    }
    Ok((info, anvil, notes))
}

fn check_options(options: &HeightmapArgs) -> Result<(), String> {
    let given = [
        ("--scale", options.scale.is_some()),
        ("--vertical-scale", options.vertical_scale.is_some()),
        ("--sea-level", options.sea_level.is_some()),
        ("--depth", options.depth.is_some()),
        ("--luma", options.luma),
        ("--width", options.width.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(format!(
            "{name} is for other files; a Minecraft world takes --voxel-size, --blocks, --from, --to \
             and --limit-factor"
        )),
        None => Ok(()),
    }
}

fn import_file(
    file: &Path,
    anvil: &AnvilOptions,
    options: &HeightmapArgs,
    budget: &mut ImportBudget,
) -> CliResult<(VoxelGrid, AnvilImport)> {
    let bytes = read(file, check_file(file)?)?;
    let mut grid = VoxelGrid::new(GridOptions::default());
    let imported = anvil::import(&bytes, anvil, budget, &mut grid, |_, _| ());
    let imported = imported.map_err(|error| match error {
        AnvilError::OverBudget(error) => {
            let what = import_limits::explained(&error, import_limits::factor(options));
            Failure::of(file, what)
        }
        error => Failure::of(file, error),
    })?;
    Ok((grid, imported))
}

/// Says why nothing was imported.
fn nothing(imported: &AnvilImport, choice: RegionChoice<'_>) -> String {
    let what = match choice.corners {
        Some(_) => "has no blocks between --from and --to; give another box",
        None => "has no blocks; give a world that the game has generated",
    };
    let notes = imported.notes().join("; ");
    if notes.is_empty() { what.to_owned() } else { format!("{what} ({notes})") }
}
