//! Compares a device with the CPU on random blocks: for tests, and for machines that have a device.

use std::fmt;
use std::sync::Arc;

use terravox::octree::OctreeBuilder;
use terravox::voxel::{Cell, DenseBox, MaterialTable, MipBlock, Region, VoxelPos, WATER};

use crate::batch::BatchOptions;
use crate::density::{BlockFrame, Density, sample_units};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::fill::GpuFiller;
use crate::search::GpuSearcher;
use crate::search_input::{SearchInput, SearchKind};
use crate::surface::SurfaceSearch;
use crate::twin::{BlockSamples, SearchedSurface};

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Blocks.
    pub blocks: u64,
    /// Cells, voxels and edges.
    pub values: u64,
    /// Of those, how many differ.
    pub differences: u64,
    /// Blocks that the device did not compute.
    pub by_cpu: u64,
    /// The first difference.
    pub first: Option<String>,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { blocks, values, differences, by_cpu, first } = self;
        write!(f, "{blocks} blocks, {values} values, {differences} differ, {by_cpu} by the CPU")?;
        first.as_ref().map_or(Ok(()), |first| write!(f, "; the first: {first}"))
    }
}

impl Comparison {
    /// Adds another comparison.
    pub fn add(&mut self, other: Comparison) {
        self.blocks += other.blocks;
        self.values += other.values;
        self.differences += other.differences;
        self.by_cpu += other.by_cpu;
        self.first = self.first.take().or(other.first);
    }

    /// Compares two lists, value by value; a missing value is a difference.
    fn compare<T: PartialEq + fmt::Debug>(&mut self, what: &str, found: &[T], expected: &[T]) {
        self.values += found.len().max(expected.len()) as u64;
        let unequal = found.iter().zip(expected).filter(|(a, b)| a != b).count();
        let differences = (unequal + found.len().abs_diff(expected.len())) as u64;
        if differences > 0 && self.first.is_none() {
            let at = found.iter().zip(expected).position(|(a, b)| a != b);
            let at = at.unwrap_or(found.len().min(expected.len()));
            let [found, expected] = [found.get(at), expected.get(at)];
            self.first = Some(format!("{what} {at}: {found:?} instead of {expected:?}"));
        }
        self.differences += differences;
    }

    fn compare_surface(&mut self, what: &str, found: &SurfaceSearch, expected: &SurfaceSearch) {
        self.compare(&format!("{what}: voxel"), &found.voxels, &expected.voxels);
        self.compare(&format!("{what}: edge"), &found.edges, &expected.edges);
    }
}

/// Random numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice that repeat with their seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        (self.number() % u64::from(end)) as u32
    }
}

/// Kinds of random boxes.
pub const FAMILIES: u64 = 12;

/// Returns a cube of cells of an edge, of the family `seed` modulo [`FAMILIES`]: empty, full, one
/// cell, all but one, a checkerboard, one border, noise, sparse and dense; water, a shore whose ground
/// holds water, any bytes.
pub fn random_cells(seed: u64, edge: u32) -> DenseBox {
    let mut dice = Dice::new(seed);
    let min = [0; 3].map(|_| dice.below(2000) as i32 - 1000);
    let region = Region::new(min, min.map(|at| at + edge as i32));
    let mut cells = DenseBox::new(region);
    let family = seed % FAMILIES;
    let one = VoxelPos::from(min.map(|at| at + dice.below(edge) as i32));
    let [border, level] = [dice.below(6), dice.below(edge)];
    let share = [50, 2, 97][(family as usize + 1) % 3];
    for at in region.voxels() {
        let from_min = (at - region.min).to_array().map(|v| v as u32);
        let axis = border as usize / 2;
        let is_border = from_min[axis] == if border % 2 == 0 { 0 } else { edge - 1 };
        let any = Cell::new(2 + dice.below(5) as u8, dice.below(256) as u8);
        let is_below = from_min[1] < level;
        let cell = match family {
            1 => Cell::full(8),
            2 if at == one => any,
            3 if at != one => any,
            4 if from_min.iter().sum::<u32>() % 2 == 0 => any,
            5 if is_border => any,
            6..=8 if dice.below(100) < share => any,
            9 | 10 if dice.below(100) < 30 => any,
            9 | 10 if is_below => Cell::new(WATER, 255 - dice.below(2) as u8 * 100),
            11 => Cell::new(dice.below(256) as u8, dice.below(256) as u8),
            _ => Cell::AIR,
        };
        cells.set(at, cell);
        if family == 10 && is_below && cell.material > WATER && dice.below(2) == 0 {
            cells.set_water(at, Some(dice.below(256) as u8));
        }
    }
    cells
}

/// Searches random cubes of cells on the device and point by point on the CPU.
///
/// # Errors
/// The device cannot do it.
pub fn compare_cells(
    device: &GpuDevice,
    seeds: std::ops::Range<u64>,
    edge: u32,
    surface: SearchedSurface,
) -> Result<Comparison, GpuError> {
    let table = Arc::new(MaterialTable::default());
    let kind = SearchKind::Cells { edge, table: Arc::clone(&table), surface };
    let mut searcher = GpuSearcher::new(
        device,
        kind,
        BatchOptions { blocks: 48, batches: 2, ..BatchOptions::default() },
    )?;
    let boxes: Vec<_> = seeds.map(|seed| Arc::new(random_cells(seed, edge))).collect();
    let mut comparison = Comparison::default();
    for batch in boxes.chunks(searcher.batch_blocks()) {
        let inputs = batch.iter().map(|cells| SearchInput::Cells(Arc::clone(cells))).collect();
        assert!(searcher.submit(inputs).is_ok(), "a batch is free");
        for done in searcher.wait() {
            for (block, cells) in done.blocks.into_iter().zip(batch) {
                comparison.blocks += 1;
                comparison.by_cpu += u64::from(!block.is_from_gpu());
                let expected = BlockSamples::of_cells(cells, &table, surface).search();
                let what = format!("cells at {}", cells.region().min);
                comparison.compare_surface(&what, &block.surface(), &expected);
            }
        }
    }
    Ok(comparison)
}

/// Searches blocks of a density on the device and point by point on the CPU, and compares the octree
/// that is built of what the device found with that of the samples.
///
/// # Errors
/// The device cannot do it.
pub fn compare_search(
    device: &GpuDevice,
    density: &Density,
    blocks: &[MipBlock],
) -> Result<Comparison, GpuError> {
    let kind = SearchKind::Density(density.clone());
    let mut searcher = GpuSearcher::new(
        device,
        kind,
        BatchOptions { blocks: 64, batches: 2, ..BatchOptions::default() },
    )?;
    let (mut comparison, mut builder) = (Comparison::default(), OctreeBuilder::new());
    for batch in blocks.chunks(searcher.batch_blocks()) {
        let inputs = batch.iter().map(|&block| SearchInput::Density(block)).collect();
        assert!(searcher.submit(inputs).is_ok(), "a batch is free");
        for done in searcher.wait() {
            for (searched, &block) in done.blocks.into_iter().zip(batch) {
                comparison.blocks += 1;
                comparison.by_cpu += u64::from(!searched.is_from_gpu());
                let expected = BlockSamples::of_density(density, block).search();
                let found = searched.surface();
                comparison.compare_surface(&block.to_string(), &found, &expected);
                let frame = BlockFrame::of_corners(block);
                let octree = builder.densities([0; 3], 5, |at| {
                    let sample = density.sample(frame, at.to_array().map(|v| v as u32));
                    (sample_units(sample.distance, block.mip) as f32, sample.material)
                });
                let found = found.octree(&mut builder, [0; 3], 5);
                let what = format!("{block}: its octree");
                comparison.compare(&what, &[found == octree], &[true]);
            }
        }
    }
    Ok(comparison)
}

/// Fills blocks of a density on the device and on the CPU, and compares cell by cell.
///
/// # Errors
/// The device cannot do it.
pub fn compare_fill(
    device: &GpuDevice,
    density: &Density,
    blocks: &[MipBlock],
) -> Result<Comparison, GpuError> {
    let mut filler = GpuFiller::new(
        device,
        density,
        BatchOptions { blocks: 128, batches: 2, ..BatchOptions::default() },
    )?;
    let mut comparison = Comparison::default();
    let (mut found, mut expected) = (DenseBox::default(), DenseBox::default());
    for batch in blocks.chunks(filler.batch_blocks()) {
        assert!(filler.submit(batch.to_vec()).is_ok(), "a batch is free");
        for block in filler.wait().into_iter().flat_map(|done| done.blocks) {
            comparison.blocks += 1;
            comparison.by_cpu += u64::from(!block.is_from_gpu());
            block.fill_cells(&mut found);
            density.fill_cells(block.block(), &mut expected);
            let pairs = |cells: &DenseBox| -> Vec<(u8, u8)> {
                cells.materials().iter().copied().zip(cells.occupancies().iter().copied()).collect()
            };
            let what = format!("{}: cell", block.block());
            comparison.compare(&what, &pairs(&found), &pairs(&expected));
        }
    }
    Ok(comparison)
}

/// Returns random blocks of all mips up to 11, near the ground of [`fixed_ground`](crate::noise::fixed_ground)
/// and away from it, near the origin and at the limits of the world.
pub fn random_blocks(seed: u64, count: usize) -> Vec<MipBlock> {
    let mut dice = Dice::new(seed);
    let block = |_| {
        let mip = if dice.below(2) == 0 { 0 } else { dice.below(12) as u8 };
        let reach = match dice.below(8) {
            0 => (1 << 25) >> mip,
            1 => 30_000 >> mip,
            _ => 40,
        };
        let mut at = |reach: i32| dice.below(2 * reach as u32) as i32 - reach;
        let (x, z, y) = (at(reach), at(reach), at(3));
        MipBlock::new(mip, [x, y, z])
    };
    (0..count).map(block).collect()
}
