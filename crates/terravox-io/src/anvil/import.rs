//! Importing a region into a grid.

use super::blocks::BlockTable;
use super::chunk::{BlockReader, ChunkHead};
use super::columns::{Columns, Written};
use super::error::{AnvilError, ChunkFault};
use super::region::{self, REGION_CHUNKS, Region as RegionFile};
use crate::import_budget::ImportBudget;
use std::collections::BTreeSet;
use std::path::Path;
use terravox::voxel::{LIMIT, Region, VoxelGrid, VoxelPos};

/// Chunks of a game along an edge of the grid's.
const PAIR: usize = 2;
/// Most names of blocks that are listed.
const MAX_NAMES: usize = 6;

/// Options of [`import()`].
#[derive(Clone, Debug)]
pub struct AnvilOptions {
    /// What blocks become.
    pub table: BlockTable,
    /// The blocks that are taken, in voxels; chunks outside are not unpacked once it is known where the
    /// region lies.
    pub part: Region,
}

impl AnvilOptions {
    /// All blocks, by this table.
    pub fn new(table: BlockTable) -> AnvilOptions {
        let part = Region { min: VoxelPos::splat(-LIMIT), max: VoxelPos::splat(LIMIT) };
        AnvilOptions { table, part }
    }

    /// Whether a file may hold blocks that are taken, by its name, `r.X.Z.mca`. One with another name
    /// has to be read to know.
    pub fn may_take(&self, file: &Path) -> bool {
        region::named_region(file).is_none_or(|[x, z]| {
            let edge = 16 * REGION_CHUNKS as i64;
            let overlaps = |at: i32, low: i32, high: i32| {
                let first = i64::from(at) * edge;
                first < i64::from(high) && first + edge > i64::from(low)
            };
            let Region { min, max } = self.part;
            overlaps(x, min.x, max.x) && overlaps(z, min.z, max.z)
        })
    }
}

/// What was imported of region files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnvilImport {
    /// Chunks of the files that were taken.
    pub chunks: u64,
    /// Chunks that were written to the grid.
    pub grid_chunks: u64,
    /// Chunks whose ground is not generated yet.
    pub unfinished: u64,
    /// Chunks of versions before 1.13.
    pub old: u64,
    /// Chunks that are in a file of their own, `.mcc`, since they are longer than a megabyte.
    pub elsewhere: u64,
    /// Names of blocks that are not in the table and became rock; at most six.
    pub unknown_blocks: BTreeSet<String>,
}

impl AnvilImport {
    /// Adds what was imported of another file.
    pub fn add(&mut self, other: AnvilImport) {
        self.chunks += other.chunks;
        self.grid_chunks += other.grid_chunks;
        self.unfinished += other.unfinished;
        self.old += other.old;
        self.elsewhere += other.elsewhere;
        other.unknown_blocks.into_iter().for_each(|name| self.add_unknown(name));
    }

    /// Adds a name that is not in the table. The first by name are kept, whatever their order: the
    /// same in every run.
    fn add_unknown(&mut self, name: String) {
        self.unknown_blocks.insert(name);
        if self.unknown_blocks.len() > MAX_NAMES {
            self.unknown_blocks.pop_last();
        }
    }

    /// Returns what a user should know, a line each.
    pub fn notes(&self) -> Vec<String> {
        let counts = [
            (self.unfinished, "are not generated yet, and were left out"),
            (
                self.old,
                "are of versions before 1.13 and were left out; let the game upgrade the world",
            ),
            (self.elsewhere, "are in files of their own (.mcc), and were left out"),
        ];
        let notes = counts.iter().filter(|(count, _)| *count > 0);
        let mut notes: Vec<_> = notes.map(|(n, what)| format!("{n} chunks {what}")).collect();
        if !self.unknown_blocks.is_empty() {
            let names: Vec<&str> = self.unknown_blocks.iter().map(String::as_str).collect();
            let names = names.join(", ");
            notes.push(format!("blocks that are not in the table became rock, such as {names}"));
        }
        notes
    }
}

/// Writes the blocks of a region file into `grid`, which should be empty there, with unlisted chunks
/// as air, and gives it the materials of the table. Where the region lies is said by its chunks. Calls
/// `progress(done, total)`, in chunks of the file. Memory and work are spent from `budget`.
///
/// # Errors
/// If the file is damaged or exceeds the budget, or a chunk lies beyond the limits of a grid. The grid
/// may then hold a part of the region: discard it.
///
/// # Panics
/// If the grid holds data, and a material of the table is of another kind than in it.
pub fn import(
    file: &[u8],
    options: &AnvilOptions,
    budget: &mut ImportBudget,
    grid: &mut VoxelGrid,
    mut progress: impl FnMut(usize, usize),
) -> Result<AnvilImport, AnvilError> {
    let region = RegionFile::read(file, budget)?;
    grid.set_materials(options.table.materials().clone());
    let total = region.chunks.iter().filter(|chunk| !chunk.is_empty()).count();
    let mut importer = RegionImport {
        options,
        blocks: BlockReader::new(&options.table),
        unpacked: Vec::new(),
        region: None,
        done: AnvilImport::default(),
    };
    let (mut columns, mut written) = (Columns::default(), Written::default());
    let mut seen = 0;
    for i in 0..(REGION_CHUNKS / PAIR).pow(2) {
        let corner = [i * PAIR % REGION_CHUNKS, i * PAIR / REGION_CHUNKS * PAIR];
        for (dx, dz) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let at = [corner[0] + dx, corner[1] + dz];
            let chunk = region.chunks[at[0] + REGION_CHUNKS * at[1]];
            if !chunk.is_empty() {
                importer.take(chunk, at, &mut columns, budget)?;
                seen += 1;
            }
        }
        if let Some(region) = importer.region {
            let there = [0, 1].map(|i| (region[i] * REGION_CHUNKS as i32 + corner[i] as i32) / 2);
            columns.write(there, options.part, grid, &mut written, budget)?;
        }
        progress(seen, total);
    }
    let mut done = importer.done;
    done.grid_chunks = written.chunks;
    let unknown = importer.blocks.known.iter().filter(|(_, known)| !known.is_listed);
    unknown.for_each(|(name, _)| done.add_unknown(name.clone()));
    Ok(done)
}

/// A region that is being imported.
struct RegionImport<'t> {
    options: &'t AnvilOptions,
    blocks: BlockReader<'t>,
    unpacked: Vec<u8>,
    /// x and z of the region in regions, as soon as a chunk said so.
    region: Option<[i32; 2]>,
    done: AnvilImport,
}

impl RegionImport<'_> {
    /// Takes the chunk at a place of the region.
    fn take(
        &mut self,
        chunk: &[u8],
        at: [usize; 2],
        columns: &mut Columns,
        budget: &mut ImportBudget,
    ) -> Result<(), AnvilError> {
        let place = at.map(|v| v as u8);
        if self.region.is_some_and(|region| self.is_outside(region, at)) {
            return Ok(());
        }
        if region::is_elsewhere(chunk) {
            self.done.elsewhere += 1;
            return Ok(());
        }
        region::unpack(chunk, &mut self.unpacked, budget).map_err(|fault| fault.at(place))?;
        let head = ChunkHead::read(&self.unpacked, budget).map_err(|fault| fault.at(place))?;
        let edge = REGION_CHUNKS as i32;
        let region = head.position.map(|v| v.div_euclid(edge));
        let is_here = (0..2).all(|i| head.position[i].rem_euclid(edge) == at[i] as i32);
        if !is_here || self.region.is_some_and(|known| known != region) {
            let [x, z] = head.position;
            let what = format!("it says that it is chunk {x}, {z} of its world");
            return Err(ChunkFault::Damaged(what).at(place));
        }
        if head.position.iter().any(|v| i64::from(*v).abs() >= i64::from(LIMIT) / 16) {
            return Err(AnvilError::BeyondLimits { position: head.position });
        }
        self.region = Some(region);
        if self.is_outside(region, at) {
            return Ok(());
        }
        if !head.is_generated {
            self.done.unfinished += 1;
            return Ok(());
        }
        if head.is_old {
            self.done.old += 1;
            return Ok(());
        }
        let within = place.map(|v| v % PAIR as u8);
        let placed = self.blocks.place(&head, within, columns, budget);
        placed.map_err(|fault| fault.at(place))?;
        self.done.chunks += 1;
        Ok(())
    }

    /// Whether no block of a chunk is wanted.
    fn is_outside(&self, region: [i32; 2], at: [usize; 2]) -> bool {
        let corner = [0, 1].map(|i| 16 * (region[i] * REGION_CHUNKS as i32 + at[i] as i32));
        let Region { min, max } = self.options.part;
        let is_beside = |low: i32, from: i32, to: i32| low + 16 <= from || low >= to;
        is_beside(corner[0], min.x, max.x) || is_beside(corner[1], min.z, max.z)
    }
}
