//! What an estimate looks at: coarse cells of the grid where an operation is, and what is copied.

use super::cellwise::FACES;
use super::{Blend, EditError};
use crate::voxel::{AIR, Cell, DenseBox, Kind, Region, Snapshot, VoxelPos};

/// Coarse cells that are looked at, unless more chunks are touched.
const MAX_SAMPLES: u64 = 512;

/// Chunks that are looked at. Where an operation touches more, all are taken as full of ground.
pub(super) const MAX_SAMPLED_CHUNKS: u64 = 1 << 16;

/// Parts of rows in a region, each of one chunk.
pub(super) fn row_parts(region: Region) -> f64 {
    let [_, high, deep] = region.size();
    (high * deep) as f64 * region.coarser(5).size()[0] as f64
}

/// What an operation changes at most, and how.
pub(super) struct EditTarget<'a> {
    pub region: Region,
    pub padding: i32,
    pub grid: &'a Snapshot,
    /// Whether it is read whole, not chunk by chunk.
    pub is_one_box: bool,
}

/// A coarse cell, and the part of the region in it.
pub(super) struct CoarseSample {
    pub part: Region,
    /// Share of it that is solid.
    pub solid: f64,
    /// Share of it that is liquid.
    pub liquid: f64,
    pub cell: Cell,
    /// Whether a surface is in it, or beside it.
    pub is_surface: bool,
    /// Whether it is a single voxel.
    pub is_voxel: bool,
}

impl CoarseSample {
    pub fn cells(&self) -> f64 {
        self.part.volume() as f64
    }

    pub fn centre(&self) -> [f64; 3] {
        let [min, max] = [self.part.min, self.part.max].map(VoxelPos::to_array);
        [0, 1, 2].map(|i| (f64::from(min[i]) + f64::from(max[i])) * 0.5)
    }

    /// Mean length of its edges.
    pub fn edge(&self) -> f64 {
        self.part.size().iter().sum::<usize>() as f64 / 3.0
    }

    /// Share of its cells at a surface.
    pub fn surface(&self) -> f64 {
        match self.is_surface {
            // A flat surface through a cube has the cells of three of its `edge` layers: those that
            // it cuts and those on both sides.
            true => (3.0 / self.edge()).min(1.0),
            false => 0.0,
        }
    }
}

/// What is summed over the samples, in cells.
#[derive(Default)]
pub(super) struct SampleSums {
    /// Cells in the brush.
    pub inside: f64,
    /// Cells about the boundary of the brush, falloff included, of which distances are computed.
    pub band: f64,
    /// Cells that change.
    pub changed: f64,
    /// Cells in the brush at a surface of the ground that the mask accepts.
    pub surface: f64,
    /// Cells of liquid.
    pub liquid: f64,
    /// Nodes and segments of a path that cells of the band look at.
    pub path_visits: f64,
    /// The box about all samples that change.
    pub written: Region,
    /// Chunks that are read: neither skipped nor replaced.
    pub chunks: f64,
    /// Cells of them that are read.
    pub cells: f64,
    /// Rows of these cells, each within one chunk.
    pub row_parts: f64,
    /// Chunks of one material that become another without being read.
    pub replaced: f64,
    /// Chunks of a large operation that it does not change and does not read.
    pub skipped: f64,
}

impl EditTarget<'_> {
    pub fn is_solid(&self, material: u8) -> bool {
        self.grid.materials().kind(material) == Kind::Solid
    }

    /// The solid material of the lowest id, which stands for ground that is not sampled; air if
    /// none is solid.
    pub fn ground(&self) -> u8 {
        let solid = |id: &u8| self.grid.materials().kind(*id) == Kind::Solid;
        (0..=255).find(solid).unwrap_or(AIR)
    }

    pub fn needed(&self) -> Region {
        self.region.grow(self.padding)
    }

    /// Calls `each` with the coarse cells of the region; with one that is full of ground if more
    /// than [`MAX_SAMPLED_CHUNKS`] are touched.
    ///
    /// # Errors
    /// If a chunk that it needs is not held.
    pub fn sample(&self, mut each: impl FnMut(&CoarseSample)) -> Result<(), EditError> {
        let kinds = self.grid.materials().kinds();
        let units = |cell: Cell, kind: Kind| match kinds[usize::from(cell.material)] == kind {
            true => f64::from(cell.units()) / 256.0,
            false => 0.0,
        };
        let mut look = |part: Region, cell: Cell, is_surface: bool, is_voxel: bool| {
            let [solid, liquid] = [Kind::Solid, Kind::Liquid].map(|kind| units(cell, kind));
            each(&CoarseSample { part, solid, liquid, cell, is_surface, is_voxel });
        };
        if self.needed().coarser(5).volume() > MAX_SAMPLED_CHUNKS {
            look(self.region, Cell::full(self.ground()), true, false);
            return Ok(());
        }
        self.grid.check_held(self.needed())?;
        let count = |mip: u32| self.region.coarser(mip).volume();
        let fine = (0..5).find(|&mip| self.is_one_box && count(mip) <= MAX_SAMPLES);
        let mip = fine.unwrap_or(5);
        let mut cells = DenseBox::default();
        self.grid.read(self.needed().coarser(mip), mip as u8, &mut cells)?;
        let is_solid = |cell: Cell| units(cell, Kind::Solid) > 0.5;
        for pos in self.region.coarser(mip).voxels() {
            let cell = cells.cell(pos);
            let differs = |side: [i32; 3]| {
                let beside = pos + side.into();
                cells.region().contains(beside) && is_solid(cells.cell(beside)) != is_solid(cell)
            };
            let solid = units(cell, Kind::Solid);
            let is_surface = solid > 0.0 && solid < 1.0 || FACES.into_iter().any(differs);
            let part = Region::one(pos).finer(mip).intersect(self.region);
            look(part, cell, is_surface, mip == 0);
        }
        Ok(())
    }
}

/// The properties of copied cells that bound how much a paste changes.
pub(super) struct ClipContent {
    /// Share of cells that are not air.
    pub filled: f64,
    /// The material, if all cells are full of one.
    pub uniform: Option<u8>,
}

impl ClipContent {
    pub fn of_cells(cells: &DenseBox) -> ClipContent {
        let filled = cells.materials().iter().filter(|material| **material != AIR).count();
        let filled = filled as f64 / cells.len().max(1) as f64;
        let first = cells.materials().first().copied().unwrap_or(AIR);
        let is_one = cells.materials().iter().all(|material| *material == first);
        let is_full = first == AIR || cells.occupancies().iter().all(|units| *units == 255);
        ClipContent { filled, uniform: (is_one && is_full).then_some(first) }
    }

    /// The same of cells in a grid, from a mip of which few are read.
    pub fn of_region(region: Region, grid: &Snapshot) -> Result<ClipContent, EditError> {
        let is_few = |mip: &u32| region.coarser(*mip).volume() <= MAX_SAMPLES;
        let mip = (0..5).find(is_few).unwrap_or(5);
        let mut cells = DenseBox::default();
        grid.read(region.coarser(mip), mip as u8, &mut cells)?;
        Ok(ClipContent::of_cells(&cells))
    }

    /// Share of a sample that a paste changes.
    pub fn changed(&self, blend: Blend, sample: &CoarseSample) -> f64 {
        let is_same = sample.cell.units() == 256 || sample.cell.material == AIR;
        if is_same && self.uniform == Some(sample.cell.material) {
            return 0.0;
        }
        match blend {
            Blend::Replace => 1.0,
            Blend::Over => self.filled,
            Blend::Add => self.filled * (1.0 - sample.solid),
        }
    }
}

impl SampleSums {
    /// Counts a chunk that is read.
    pub fn read(&mut self, sample: &CoarseSample, padding: i32) {
        let padded = sample.part.grow(padding);
        self.chunks += padded.coarser(5).volume() as f64;
        self.cells += padded.volume() as f64;
        self.row_parts += row_parts(padded);
    }
}
