//! Worlds that grow have no end: the file stores what was edited, and the generator makes the rest.
//! A command says how much of a world it reads ([`Extent`]), and those chunks are generated.

use crate::args::ReadArgs;
use crate::console::Console;
use crate::failure::{CliResult, Failure};
use crate::lod_view::{self, ReadFaults};
use crate::report::grouped;
use crate::world::{World, check_point, store_failure};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use terravox::generate::Seeded;
use terravox::voxel::{ChunkPos, ChunkState, DenseBox, GridOptions, Region, VoxelGrid};
use terravox_store::{Store, WorldInfo};

/// Maximum number of chunks that a command makes at once: a box of 2048 × 512 × 4096 voxels, which
/// takes a core about two minutes.
const MAX_CHUNKS: u64 = 1 << 17;

/// Number of chunks that are made at a time, which bounds memory.
const BATCH_CHUNKS: usize = 64;

/// How much of a world a command reads.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// What is stored.
    Stored,
    /// What is stored, and more of a world that grows where the command asks [`Growth`] for it.
    OnDemand,
    /// All of it, which a world that grows does not have.
    Whole {
        /// What the user should do then.
        remedy: &'static str,
    },
    /// The box between two corners, in metres, rounded to voxels. Beyond it is air.
    Box([[f64; 3]; 2]),
}

/// The generator of a world that grows.
pub struct Growth {
    seeded: Seeded,
    /// Chunks that were made.
    made: Vec<ChunkPos>,
}

impl Growth {
    /// Returns the generator of a world; `None` for a world that does not grow.
    ///
    /// # Errors
    /// If this program does not have its generator.
    pub fn of(store: &Store) -> CliResult<Option<Growth>> {
        let seeded = lod_view::generator_of(store).map_err(store_failure)?;
        Ok(seeded.map(|seeded| Growth { seeded, made: Vec::new() }))
    }

    /// Returns the heights between which there is ground, in voxels.
    pub fn heights(&self) -> Range<i32> {
        self.seeded.heights()
    }

    /// Makes the chunks under some regions that the grid of the world lacks. They do not become
    /// unsaved.
    ///
    /// # Errors
    /// If they are too many.
    pub fn make(
        &mut self,
        grid: &mut VoxelGrid,
        regions: &[Region],
        console: &Console,
    ) -> CliResult<()> {
        check_count(regions.iter().map(|region| region.coarser(5).volume()).sum())?;
        let mut missing = missing_chunks(grid, regions);
        if (self.made.len() + missing.len()) as u64 > MAX_CHUNKS {
            self.forget(grid);
            missing = missing_chunks(grid, regions);
        }
        let bar = console.bar("generating", missing.len());
        make_chunks(
            &missing,
            |cells| {
                self.seeded.fill(cells, 0);
                bar.step();
            },
            |cells| {
                grid.load(cells);
                Ok(())
            },
        )?;
        self.made.append(&mut missing);
        Ok(())
    }

    /// Makes a grid forget the chunks that were made here and not edited since: as the file is.
    pub fn forget(&mut self, grid: &mut VoxelGrid) {
        for chunk in self.made.drain(..) {
            grid.forget(chunk);
        }
    }

    /// Reads the chunks under a region: those that are stored, and the generator's.
    ///
    /// # Errors
    /// If they are too many, or one is damaged and not to be skipped.
    pub fn read(
        &self,
        store: &Store,
        region: Region,
        path: &Path,
        reading: ReadArgs,
        console: &Console,
    ) -> CliResult<(VoxelGrid, Option<String>)> {
        check_count(region.coarser(5).volume())?;
        let materials = store.info().materials.clone();
        let mut grid = VoxelGrid::new(GridOptions { materials, ..GridOptions::default() });
        let chunks: Vec<ChunkPos> = region.blocks::<5>().collect();
        let bar = console.bar("generating", chunks.len());
        let faults = ReadFaults::default();
        let read = |cells: &mut DenseBox| {
            let chunk = cells.region().min.chunk();
            match store.chunk(chunk, cells) {
                Ok(true) => {}
                Ok(false) => self.seeded.fill(cells, 0),
                Err(error) => {
                    faults.add(error);
                    cells.reset(chunk.region());
                }
            }
            bar.step();
        };
        let made = make_chunks(&chunks, read, |cells| {
            if faults.is_fatal(reading) {
                return Err(Failure::of(path, "is damaged"));
            }
            grid.load(cells);
            Ok(())
        });
        // Says which part is, and what to do.
        let note = faults.into_note(path, reading)?;
        made.map(|()| (grid, note))
    }
}

/// Makes whole chunks on all threads, a batch at a time, and passes each on in its order.
///
/// # Errors
/// The first of `each`.
pub fn make_chunks(
    chunks: &[ChunkPos],
    make: impl Fn(&mut DenseBox) + Sync,
    mut each: impl FnMut(&DenseBox) -> CliResult<()>,
) -> CliResult<()> {
    for batch in chunks.chunks(BATCH_CHUNKS) {
        let made = batch.par_iter().map(|chunk| {
            let mut cells = DenseBox::new(chunk.region());
            make(&mut cells);
            cells
        });
        for cells in made.collect::<Vec<_>>() {
            each(&cells)?;
        }
    }
    Ok(())
}

/// Refuses to make too many chunks.
fn check_count(chunks: u64) -> CliResult<()> {
    if chunks <= MAX_CHUNKS {
        return Ok(());
    }
    let [chunks, most] = [chunks, MAX_CHUNKS].map(grouped);
    Err(Failure::new(format!(
        "{chunks} chunks of 32 voxels would have to be generated, at most {most} at once; give a \
         smaller box or operation"
    )))
}

/// Returns the chunks under some regions that a grid does not hold, each once.
fn missing_chunks(grid: &VoxelGrid, regions: &[Region]) -> Vec<ChunkPos> {
    let chunks = regions.iter().flat_map(|region| region.blocks::<5>());
    let missing = chunks.filter(|&chunk| grid.held(chunk) == ChunkState::Unknown);
    missing.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the box between two corners in metres, rounded to voxels.
///
/// # Errors
/// If a corner is beyond all worlds, or the box rounds to no voxel.
pub fn box_region(info: &WorldInfo, [from, to]: [[f64; 3]; 2]) -> CliResult<Region> {
    check_point("--from", from, info)?;
    check_point("--to", to, info)?;
    let [a, b] = [from, to].map(|corner| info.placement().voxel_from_world(corner));
    let low = [0, 1, 2].map(|i| a[i].min(b[i]).round() as i32);
    let high = [0, 1, 2].map(|i| a[i].max(b[i]).round() as i32);
    let region = Region::new(low, high);
    if region.is_empty() {
        let voxel = info.voxel_size_m;
        return Err(Failure::new(format!(
            "the box of --from and --to rounds to no voxel; make it at least one voxel ({voxel} m) \
             thick"
        )));
    }
    Ok(region)
}

/// Returns the region that is written of a world that was opened for it: the box between two
/// corners, or all of it.
///
/// # Errors
/// If the box rounds to no voxel.
pub fn export_region(world: &World, corners: Option<[[f64; 3]; 2]>) -> CliResult<Region> {
    let bounds = world.grid.bounds();
    match corners {
        Some(corners) => Ok(box_region(&world.info, corners)?.intersect(bounds)),
        None => Ok(bounds),
    }
}

/// Returns a note if the box between two corners in metres is not of whole voxels.
pub fn rounding_note(info: &WorldInfo, corners: [[f64; 3]; 2], region: Region) -> Option<String> {
    let rounded = [region.min, region.max]
        .map(|corner| info.placement().world_from_voxel(corner.to_array().map(f64::from)));
    let is_off = |i: usize| {
        let given = [corners[0][i].min(corners[1][i]), corners[0][i].max(corners[1][i])];
        (0..2).any(|end| (given[end] - rounded[end][i]).abs() > 1e-6 * info.voxel_size_m)
    };
    let [low, high] = rounded
        .map(|corner| corner.map(|metres| ((metres * 1e6).round() / 1e6).to_string()).join(","));
    (0..3).any(is_off).then(|| {
        format!("the box is rounded to voxels of {} m: from {low} to {high} m", info.voxel_size_m)
    })
}

/// Makes all cells of a complete world outside of a region air.
pub fn cut(grid: &mut VoxelGrid, region: Region) -> CliResult<()> {
    let (mut part, mut cells) = (DenseBox::default(), DenseBox::default());
    for chunk in grid.chunks() {
        let common = chunk.region().intersect(region);
        if common.is_empty() {
            grid.forget(chunk);
        } else if common != chunk.region() {
            grid.read(common, 0, &mut part).map_err(Failure::new)?;
            cells.reset(chunk.region());
            cells.copy_from(&part);
            grid.write(&cells).map_err(Failure::new)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use terravox::voxel::{Cell, VoxelPos};

    #[test]
    fn a_cut_world_has_the_cells_of_the_box_and_air() {
        let mut grid = VoxelGrid::default();
        let hills: Seeded = "hills:3".parse().expect("a seed");
        let chunks: Vec<ChunkPos> =
            Region::new([-32, -32, -32], [64, 32, 64]).blocks::<5>().collect();
        // As imports do, which leave them unsaved.
        let fill = |grid: &mut VoxelGrid| {
            let each = |cells: &DenseBox| grid.write(cells).map_err(Failure::new);
            make_chunks(&chunks, |cells| hills.fill(cells, 0), each).expect("chunks");
        };
        fill(&mut grid);
        let mut all = VoxelGrid::default();
        fill(&mut all);
        let region = Region::new([-5, -32, 3], [40, 17, 33]);
        cut(&mut grid, region).expect("a complete world");
        for pos in grid.bounds().union(all.bounds()).voxels() {
            let expected = match region.contains(pos) {
                true => all.cell(pos).expect("held"),
                false => Cell::AIR,
            };
            assert_eq!(grid.cell(pos), Ok(expected), "{pos}");
        }
        assert!(!grid.is_listed(VoxelPos::new(-20, 0, -20).chunk()));
    }
}
