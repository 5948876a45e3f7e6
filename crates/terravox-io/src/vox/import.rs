//! Importing a scene into a grid.

use super::cells::CellWriter;
use super::chunks::{self, MAGIC, Model, VoxFile};
use super::error::VoxError;
use super::materials;
use super::scene::{Instance, instances};
use crate::import_budget::ImportBudget;
use terravox::voxel::{Region, SurfaceShape, VoxelGrid, VoxelPos};

/// Units of work to check and count a voxel of the file.
const CHECK_WORK: u64 = 2;
/// Units of work to place a voxel that becomes a cell.
const PLACE_WORK: u64 = 16;
/// Units of work to place one that becomes a cube of cells, besides its rows and cells.
const CUBE_WORK: u64 = 64;
/// Units of work of a row of a cube.
const CUBE_ROW_WORK: u64 = 16;

/// Options of [`import()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoxOptions {
    /// Cells along the edge of a voxel of the file, 1 to [`VoxOptions::MAX_CELLS_PER_VOXEL`].
    pub cells_per_voxel: u32,
    /// Shape of the surface of materials that are made for colours.
    pub shape: SurfaceShape,
}

impl VoxOptions {
    /// Maximum number of cells along the edge of a voxel of the file.
    pub const MAX_CELLS_PER_VOXEL: u32 = 64;
}

impl Default for VoxOptions {
    /// A cell per voxel, and exact cubes.
    fn default() -> VoxOptions {
        VoxOptions { cells_per_voxel: 1, shape: SurfaceShape::Blocky }
    }
}

/// The result of [`import()`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoxImport {
    /// Voxels placed. Where models overlap, each counts.
    pub voxels: u64,
    /// Models placed; one that is shown twice counts twice.
    pub models: u64,
    /// Chunks written to the grid.
    pub chunks: u64,
    /// Notes for the user, one line each: frames that were left out, colours without a material of
    /// their own, an empty scene.
    pub notes: Vec<String>,
}

/// Whether a file that starts with these bytes is of MagicaVoxel.
pub fn is_vox(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Writes the models of a scene into `grid`, which should be empty with unlisted chunks as air, and
/// adds materials for their colours to its table. Calls `progress(done, total)`, in voxels, after
/// every model. Memory and work are spent from `budget`.
///
/// # Errors
/// If the bytes are not a `.vox` file, are damaged or exceed the budget, or a model lies beyond the
/// limits of a grid. The grid may then hold a part of the scene: discard it.
pub fn import(
    bytes: &[u8],
    options: &VoxOptions,
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<VoxImport, VoxError> {
    let (found, most) = (options.cells_per_voxel, VoxOptions::MAX_CELLS_PER_VOXEL);
    if !(1..=most).contains(&found) {
        return Err(VoxError::CellsPerVoxel { found, most });
    }
    let file = chunks::read(bytes, budget)?;
    if file.models.is_empty() {
        return Err(VoxError::NoModels);
    }
    let scene = instances(&file, budget)?;
    let counts = count_colours(&file, &scene, budget)?;
    let chosen =
        materials::choose(&file.palette, &file.glass, &counts, grid.materials(), options.shape);
    grid.set_materials(chosen.table);
    let total: usize = scene
        .iter()
        .fold(0_usize, |sum, it| sum.saturating_add(file.models[it.model].voxels.len()));
    // Before the first voxel is placed: a model may be placed again and again.
    budget.spend_work("its voxels", place_work(found).saturating_mul(total as u64))?;
    let mut writer = CellWriter::new(grid, budget);
    let mut done = 0;
    for instance in &scene {
        let model = &file.models[instance.model];
        place(instance, model, &chosen.ids, found as i32, &mut writer)?;
        done += model.voxels.len();
        progress(done, total);
    }
    let chunks = writer.finish()?;
    let voxels = counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let notes = notes(&file, voxels, chosen.replaced);
    Ok(VoxImport { voxels, models: scene.len() as u64, chunks, notes })
}

/// Returns the units of work to place a voxel.
fn place_work(cells_per_voxel: u32) -> u64 {
    let n = u64::from(cells_per_voxel);
    if n == 1 { PLACE_WORK } else { CUBE_WORK + CUBE_ROW_WORK * n * n + n * n * n }
}

/// Checks the voxels of all models that are placed, and counts them by colour.
fn count_colours(
    file: &VoxFile<'_>,
    scene: &[Instance],
    budget: &mut ImportBudget,
) -> Result<[u64; 256], VoxError> {
    let count = file.models.len();
    budget.spend_memory("its models", 8 * count as u64)?;
    let mut uses = vec![0_u64; count];
    scene.iter().for_each(|instance| uses[instance.model] += 1);
    let mut counts = [0_u64; 256];
    for (number, (model, uses)) in file.models.iter().zip(uses).enumerate() {
        if uses == 0 {
            continue;
        }
        budget.spend_work("its voxels", CHECK_WORK * model.voxels.len() as u64)?;
        for (i, &[x, y, z, colour]) in model.voxels.iter().enumerate() {
            let [width, depth, height] = model.size;
            if u16::from(x) >= width || u16::from(y) >= depth || u16::from(z) >= height {
                let what = format!(
                    "voxel {i} at ({x}, {y}, {z}) lies outside of its {width} × {depth} × {height}"
                );
                return Err(VoxError::Model { model: number, what });
            }
            let count = &mut counts[usize::from(colour)];
            *count = count.saturating_add(uses);
        }
    }
    // Colour 0 means no voxel.
    counts[0] = 0;
    Ok(counts)
}

/// Writes the voxels of a model.
fn place(
    instance: &Instance,
    model: &Model<'_>,
    ids: &[u8; 256],
    cells_per_voxel: i32,
    writer: &mut CellWriter<'_>,
) -> Result<(), VoxError> {
    let place = instance.pose.place(model.size, cells_per_voxel);
    let place = place.map_err(|voxel| VoxError::BeyondLimits { model: instance.model, voxel })?;
    for &[x, y, z, colour] in model.voxels.iter().filter(|voxel| voxel[3] != 0) {
        let (pos, id) = (place.voxel([x, y, z]), ids[usize::from(colour)]);
        if cells_per_voxel == 1 {
            writer.set(pos, id)?;
            continue;
        }
        let min = VoxelPos::from(pos.to_array().map(|v| v * cells_per_voxel));
        let region = Region { min, max: min + VoxelPos::splat(cells_per_voxel) };
        writer.fill(region, id)?;
    }
    Ok(())
}

fn notes(file: &VoxFile<'_>, voxels: u64, replaced: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let models = file.models.len();
    if file.root.is_none() && models > 1 {
        notes.push(format!("the file is an animation of {models} frames; imported the first"));
    }
    if file.is_animated {
        notes.push("the scene is animated; imported the first frame of each part".to_owned());
    }
    if voxels == 0 {
        notes.push("the scene shows no voxels; hidden models and layers are left out".to_owned());
    }
    if replaced > 0 {
        notes.push(format!(
            "a world has at most 255 materials, so the {replaced} rarest colours were replaced by similar ones"
        ));
    }
    notes
}
