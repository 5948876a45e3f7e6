//! Fills blocks from a density on the graphics card, many a batch.
//!
//! A batch takes two trips. On the first, every cell is computed and stays on the device, and the
//! extremes of each block come back: they tell which blocks are uniform. On the second, the cells of
//! the others are copied. Neither is waited for: [`GpuFiller::poll`] takes what has arrived.
//!
//! The slow twin is [`Density::fill_cells`]. It also does the work when there is no device or it is
//! lost.

use std::ops::Range;
use std::sync::Arc;

use terravox::terrain::FillRequest;
use terravox::voxel::{AIR, Cell, DenseBox, MipBlock};

use crate::batch::{BatchId, BatchOptions};
use crate::density::{BlockFrame, DENSITY_WGSL, Density, MAX_GPU_MIP, frame_bytes};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::kernel::{Arrival, Kernel, MAX_GROUPS, Readback, storage};

/// Cells of a block, and bytes: a material and an occupancy each.
const CELLS: usize = 32 * 32 * 32;
const CELL_BYTES: u64 = 2 * CELLS as u64;

/// Bytes of a [`BlockFrame`] on the device, and of a block's extremes.
const FRAME_BYTES: u64 = 16;
const EXTREME_BYTES: u64 = 8;

/// Fills blocks on a device, or on the CPU if there is none.
pub struct GpuFiller {
    density: Density,
    gpu: Option<GpuKernels>,
    failure: Option<GpuError>,
    /// Batches that the CPU fills, until they are taken.
    on_cpu: Vec<FilledBatch>,
    next: u64,
    stats: FillerStats,
}

/// What a filler did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillerStats {
    /// Blocks that came from the device.
    pub gpu_blocks: u64,
    /// Of those, blocks that are uniform, whose cells stayed there.
    pub uniform_blocks: u64,
    /// Blocks that were left to the CPU.
    pub cpu_blocks: u64,
    /// Bytes that came back.
    pub bytes_read: u64,
}

/// What is on the device.
struct GpuKernels {
    device: GpuDevice,
    fill: Kernel,
    blocks: usize,
    slots: Vec<FillSlot>,
}

/// The buffers of a batch.
struct FillSlot {
    frames: wgpu::Buffer,
    cells: wgpu::Buffer,
    extremes: wgpu::Buffer,
    bound: wgpu::BindGroup,
    extremes_back: Readback,
    cells_back: Readback,
    state: FillState,
}

/// What a slot is doing.
enum FillState {
    Free,
    /// Waits for the extremes.
    Classifying {
        id: BatchId,
        blocks: Vec<MipBlock>,
    },
    /// Waits for the cells of the blocks that are not uniform.
    Reading {
        id: BatchId,
        blocks: Vec<(MipBlock, Contents)>,
    },
}

/// What the extremes tell of a block.
#[derive(Clone, Copy, Debug)]
enum Contents {
    Uniform(Cell),
    /// Its number among the blocks that came back.
    Mixed(usize),
}

/// A filled batch.
#[derive(Debug)]
pub struct FilledBatch {
    /// Its number.
    pub id: BatchId,
    /// Its blocks, in the order in which they were submitted.
    pub blocks: Vec<FilledBlock>,
}

/// A filled block. Its cells are as the device wrote them, or the CPU has yet to compute them:
/// [`FilledBlock::fill`] does either, on any thread.
#[derive(Debug)]
pub struct FilledBlock {
    block: MipBlock,
    source: CellSource,
}

#[derive(Debug)]
enum CellSource {
    Uniform(Cell),
    /// The block's number among the cells that came back with it.
    Mixed {
        cells: Arc<[u8]>,
        number: usize,
    },
    Cpu(Density),
}

impl FilledBlock {
    /// Returns the block.
    pub fn block(&self) -> MipBlock {
        self.block
    }

    /// Whether the device computed its cells. Else [`FilledBlock::fill`] takes as long as the CPU
    /// does.
    pub fn is_from_gpu(&self) -> bool {
        !matches!(self.source, CellSource::Cpu(_))
    }

    /// Returns the cell of which the whole block consists, if the device found that.
    pub fn uniform(&self) -> Option<Cell> {
        match self.source {
            CellSource::Uniform(cell) => Some(cell),
            _ => None,
        }
    }

    /// Fills the block of a world.
    ///
    /// # Panics
    /// If the request is for another block.
    pub fn fill(&self, request: &mut FillRequest<'_>) {
        assert_eq!(request.block(), self.block, "the request is for another block");
        match self.source {
            CellSource::Uniform(cell) if cell == Cell::full(cell.material) => {
                request.fill(cell.material);
            }
            _ => self.fill_cells(request.cells()),
        }
    }

    /// Makes `cells` those of the block.
    pub fn fill_cells(&self, cells: &mut DenseBox) {
        cells.reset(self.block.cells());
        let (materials, occupancies) = cells.arrays_mut();
        match &self.source {
            CellSource::Uniform(cell) => {
                materials.fill(cell.material);
                occupancies.fill(cell.occupancy);
            }
            CellSource::Mixed { cells, number } => {
                let own = &cells[2 * CELLS * number..2 * CELLS * (number + 1)];
                materials.copy_from_slice(&own[..CELLS]);
                occupancies.copy_from_slice(&own[CELLS..]);
            }
            CellSource::Cpu(density) => density.fill_cells(self.block, cells),
        }
    }
}

impl GpuFiller {
    /// A filler on a device. Compiles the density and allocates all buffers.
    ///
    /// # Errors
    /// A density that does not compile, or a device whose memory or limits are too small.
    pub fn new(
        device: &GpuDevice,
        density: &Density,
        options: BatchOptions,
    ) -> Result<GpuFiller, GpuError> {
        let gpu = GpuKernels::new(device, density, options)?;
        Ok(GpuFiller { gpu: Some(gpu), ..GpuFiller::on_cpu(density, GpuError::NoDevice) })
    }

    /// A filler on the best device of this machine, or on the CPU; [`GpuFiller::failure`] says why
    /// there.
    pub fn open(density: &Density, options: BatchOptions) -> GpuFiller {
        let opened = GpuDevice::open().and_then(|gpu| GpuFiller::new(&gpu, density, options));
        opened.unwrap_or_else(|error| GpuFiller::on_cpu(density, error))
    }

    /// A filler that leaves everything to the CPU, because of `reason`.
    pub fn on_cpu(density: &Density, reason: GpuError) -> GpuFiller {
        GpuFiller {
            density: density.clone(),
            gpu: None,
            failure: Some(reason),
            on_cpu: Vec::new(),
            next: 0,
            stats: FillerStats::default(),
        }
    }

    /// Returns why the CPU does the work, if it does.
    pub fn failure(&self) -> Option<&GpuError> {
        if self.gpu.is_some() { None } else { self.failure.as_ref() }
    }

    /// Returns the name of its device.
    pub fn device_name(&self) -> Option<&str> {
        self.gpu.as_ref().map(|gpu| gpu.device.name())
    }

    /// Returns what it did so far.
    pub fn stats(&self) -> FillerStats {
        self.stats
    }

    /// Returns how many blocks fit into a batch.
    pub fn batch_blocks(&self) -> usize {
        self.gpu.as_ref().map_or(MAX_GROUPS, |gpu| gpu.blocks)
    }

    /// Submits a batch. Without a device, or where a block's mip is above [`MAX_GPU_MIP`], the blocks
    /// come back to be filled by the CPU.
    ///
    /// # Errors
    /// Returns the blocks if all batches are in flight: try again in the next frame.
    ///
    /// # Panics
    /// If there are more than [`GpuFiller::batch_blocks`].
    pub fn submit(&mut self, blocks: Vec<MipBlock>) -> Result<BatchId, Vec<MipBlock>> {
        assert!(blocks.len() <= self.batch_blocks(), "{} blocks in a batch", blocks.len());
        let id = BatchId(self.next);
        self.leave_lost_device();
        match &mut self.gpu {
            Some(gpu) if blocks.iter().all(|block| block.mip <= MAX_GPU_MIP) => {
                gpu.submit(id, blocks)?;
            }
            _ => {
                let batch = self.by_cpu(id, blocks);
                self.on_cpu.push(batch);
            }
        }
        self.next += 1;
        Ok(id)
    }

    /// Returns the batches that are finished, without waiting. After a loss of the device those that
    /// were in flight come back to be filled by the CPU.
    pub fn poll(&mut self) -> Vec<FilledBatch> {
        let mut done = std::mem::take(&mut self.on_cpu);
        if let Some(gpu) = &mut self.gpu {
            gpu.device.poll();
            for slot in &mut gpu.slots {
                if let Some(batch) = slot.advance(&gpu.device, &mut self.stats) {
                    done.push(batch);
                }
            }
        }
        self.leave_lost_device();
        done.append(&mut self.on_cpu);
        done
    }

    /// Waits for all batches in flight. For tools and tests, not for a frame.
    pub fn wait(&mut self) -> Vec<FilledBatch> {
        let mut done = self.poll();
        while self.gpu.as_ref().is_some_and(GpuKernels::is_busy) {
            if let Some(gpu) = &self.gpu {
                gpu.device.wait();
            }
            done.extend(self.poll());
        }
        done.extend(self.poll());
        done.sort_by_key(|batch| batch.id);
        done
    }

    /// Computes blocks several times on the device and leaves the cells there, for benchmarks.
    /// Returns how many blocks that were.
    #[doc(hidden)]
    pub fn compute_only(&mut self, blocks: &[MipBlock], times: usize) -> usize {
        let Some(gpu) = &mut self.gpu else { return 0 };
        let slot = &gpu.slots[0];
        let frames = frame_bytes(blocks.iter().map(|&block| BlockFrame::of_cells(block)));
        gpu.device.queue.write_buffer(&slot.frames, 0, &frames);
        let mut encoder = gpu.device.device.create_command_encoder(&Default::default());
        for _ in 0..times {
            gpu.fill.run(&mut encoder, &slot.bound, [CELLS / 256, blocks.len()]);
        }
        gpu.device.queue.submit([encoder.finish()]);
        gpu.device.wait();
        times * blocks.len()
    }

    fn by_cpu(&mut self, id: BatchId, blocks: Vec<MipBlock>) -> FilledBatch {
        self.stats.cpu_blocks += blocks.len() as u64;
        let filled = |block| FilledBlock { block, source: CellSource::Cpu(self.density.clone()) };
        FilledBatch { id, blocks: blocks.into_iter().map(filled).collect() }
    }

    /// Leaves a device that failed, and what is in flight there to the CPU.
    fn leave_lost_device(&mut self) {
        let Some(failure) = self.gpu.as_ref().and_then(|gpu| gpu.device.failure()) else { return };
        self.failure = Some(failure);
        let Some(gpu) = self.gpu.take() else { return };
        for slot in gpu.slots {
            let (id, blocks) = match slot.state {
                FillState::Free => continue,
                FillState::Classifying { id, blocks } => (id, blocks),
                FillState::Reading { id, blocks } => {
                    (id, blocks.into_iter().map(|(block, _)| block).collect())
                }
            };
            let batch = self.by_cpu(id, blocks);
            self.on_cpu.push(batch);
        }
    }
}

impl GpuKernels {
    fn new(
        device: &GpuDevice,
        density: &Density,
        options: BatchOptions,
    ) -> Result<GpuKernels, GpuError> {
        let allowed = device.largest_buffer();
        if allowed < CELL_BYTES {
            let device = device.name().to_owned();
            return Err(GpuError::Limits { device, allowed, needed: CELL_BYTES });
        }
        let most = MAX_GROUPS.min((allowed / CELL_BYTES) as usize);
        let blocks = options.blocks.clamp(1, most);
        let fill = Kernel::new(device, &fill_source(density), "fill")?;
        let bytes = blocks as u64 * slot_bytes();
        let slots = device.slots(options, bytes, || FillSlot::new(device, &fill, blocks))?;
        Ok(GpuKernels { device: device.clone(), fill, blocks, slots })
    }

    fn is_busy(&self) -> bool {
        let waits = |slot: &FillSlot| !matches!(slot.state, FillState::Free);
        self.slots.iter().any(waits)
    }

    fn submit(&mut self, id: BatchId, blocks: Vec<MipBlock>) -> Result<(), Vec<MipBlock>> {
        let is_free = |slot: &&mut FillSlot| matches!(slot.state, FillState::Free);
        let Some(slot) = self.slots.iter_mut().find(is_free) else { return Err(blocks) };
        if blocks.is_empty() {
            slot.state = FillState::Reading { id, blocks: Vec::new() };
            return Ok(());
        }
        let count = blocks.len() as u64;
        let frames = frame_bytes(blocks.iter().map(|&block| BlockFrame::of_cells(block)));
        self.device.queue.write_buffer(&slot.frames, 0, &frames);
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&slot.extremes, 0, Some(count * EXTREME_BYTES));
        self.fill.run(&mut encoder, &slot.bound, [CELLS / 256, blocks.len()]);
        let back = &slot.extremes_back.buffer;
        encoder.copy_buffer_to_buffer(&slot.extremes, 0, back, 0, count * EXTREME_BYTES);
        self.device.queue.submit([encoder.finish()]);
        slot.extremes_back.request(count * EXTREME_BYTES);
        slot.state = FillState::Classifying { id, blocks };
        Ok(())
    }
}

/// Bytes of a slot, by block.
fn slot_bytes() -> u64 {
    FRAME_BYTES + 2 * (CELL_BYTES + EXTREME_BYTES)
}

fn fill_source(density: &Density) -> String {
    [
        DENSITY_WGSL,
        density.wgsl(),
        include_str!("shaders/sample.wgsl"),
        include_str!("shaders/fill.wgsl"),
    ]
    .join("\n")
}

impl FillSlot {
    fn new(device: &GpuDevice, fill: &Kernel, blocks: usize) -> FillSlot {
        let blocks = blocks as u64;
        let frames = storage(device, blocks * FRAME_BYTES);
        let cells = storage(device, blocks * CELL_BYTES);
        let extremes = storage(device, blocks * EXTREME_BYTES);
        FillSlot {
            bound: fill.bind(device, &[(0, &frames), (1, &cells), (2, &extremes)]),
            frames,
            cells,
            extremes,
            extremes_back: Readback::new(device, blocks * EXTREME_BYTES),
            cells_back: Readback::new(device, blocks * CELL_BYTES),
            state: FillState::Free,
        }
    }

    /// Takes what has arrived; returns the batch if that is all of it.
    fn advance(&mut self, device: &GpuDevice, stats: &mut FillerStats) -> Option<FilledBatch> {
        match std::mem::replace(&mut self.state, FillState::Free) {
            FillState::Classifying { id, blocks } => match self.extremes_back.arrival(device) {
                Arrival::Waiting => self.state = FillState::Classifying { id, blocks },
                Arrival::Here => self.read_cells(device, id, blocks, stats),
                Arrival::Lost => {
                    self.state = FillState::Classifying { id, blocks };
                    device.fail(GpuError::Lost("its results did not come back".to_owned()));
                }
            },
            FillState::Reading { id, blocks } => {
                let is_read = blocks.iter().any(|(_, contents)| contents.is_mixed());
                let arrival = if is_read { self.cells_back.arrival(device) } else { Arrival::Here };
                match arrival {
                    Arrival::Waiting => self.state = FillState::Reading { id, blocks },
                    Arrival::Here => return Some(self.finish(id, blocks, stats)),
                    Arrival::Lost => {
                        self.state = FillState::Reading { id, blocks };
                        device.fail(GpuError::Lost("its cells did not come back".to_owned()));
                    }
                }
            }
            state => self.state = state,
        }
        None
    }

    /// Copies the cells of blocks that are not uniform to where the CPU reads them.
    fn read_cells(
        &mut self,
        device: &GpuDevice,
        id: BatchId,
        blocks: Vec<MipBlock>,
        stats: &mut FillerStats,
    ) {
        let bytes = blocks.len() as u64 * EXTREME_BYTES;
        let extremes = self.extremes_back.take_words(bytes);
        let mut mixed = 0;
        let contents = extremes.as_chunks::<2>().0.iter().map(|&extremes| {
            let contents = Contents::of(extremes, mixed);
            mixed += usize::from(contents.is_mixed());
            contents
        });
        let blocks: Vec<_> = blocks.into_iter().zip(contents).collect();
        stats.bytes_read += bytes + mixed as u64 * CELL_BYTES;
        if mixed > 0 {
            let mut encoder = device.device.create_command_encoder(&Default::default());
            for Range { start, end } in mixed_runs(&blocks) {
                let Contents::Mixed(to) = blocks[start].1 else { continue };
                encoder.copy_buffer_to_buffer(
                    &self.cells,
                    start as u64 * CELL_BYTES,
                    &self.cells_back.buffer,
                    to as u64 * CELL_BYTES,
                    (end - start) as u64 * CELL_BYTES,
                );
            }
            device.queue.submit([encoder.finish()]);
            self.cells_back.request(mixed as u64 * CELL_BYTES);
        }
        self.state = FillState::Reading { id, blocks };
    }

    /// Copies the cells that came back.
    fn finish(
        &mut self,
        id: BatchId,
        blocks: Vec<(MipBlock, Contents)>,
        stats: &mut FillerStats,
    ) -> FilledBatch {
        let mixed = blocks.iter().filter(|(_, contents)| contents.is_mixed()).count();
        stats.gpu_blocks += blocks.len() as u64;
        stats.uniform_blocks += (blocks.len() - mixed) as u64;
        let cells: Arc<[u8]> = match mixed {
            0 => Arc::default(),
            _ => self.cells_back.take(mixed as u64 * CELL_BYTES).into(),
        };
        let filled = |(block, contents)| {
            let source = match contents {
                Contents::Uniform(cell) => CellSource::Uniform(cell),
                Contents::Mixed(number) => CellSource::Mixed { cells: Arc::clone(&cells), number },
            };
            FilledBlock { block, source }
        };
        FilledBatch { id, blocks: blocks.into_iter().map(filled).collect() }
    }
}

impl Contents {
    /// What the largest value of a block and the largest complement tell; `mixed` are the blocks
    /// before it that come back.
    fn of([greatest, greatest_complement]: [u32; 2], mixed: usize) -> Contents {
        if greatest + greatest_complement != 0xffff {
            return Contents::Mixed(mixed);
        }
        let [occupancy, material, ..] = greatest.to_le_bytes();
        if material == AIR {
            Contents::Uniform(Cell::AIR)
        } else {
            Contents::Uniform(Cell { material, occupancy })
        }
    }

    fn is_mixed(self) -> bool {
        matches!(self, Contents::Mixed(_))
    }
}

/// Returns the runs of blocks that are not uniform.
fn mixed_runs(blocks: &[(MipBlock, Contents)]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in blocks.iter().enumerate().filter(|(_, (_, contents))| contents.is_mixed()) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}
