//! Finds the surface in blocks on the graphics card, many a batch: active voxels and crossed edges.
//!
//! A batch takes two trips. On the first, points are classified and what they own is counted; the
//! counts come back. On the second, voxels and edges are written where the counts say, as many blocks
//! at once as the buffers hold: so no count of voxels is too large. If that takes several rounds, the
//! second trip is made as often. Neither is waited for: [`GpuSearcher::poll`] takes what has arrived.
//!
//! Source: the search for active voxels as published for dual-contoured chunks (2015), there with
//! OpenCL. The slow twin is `twin.rs`.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{BatchId, BatchOptions};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::kernel::{Arrival, Kernel, MAX_GROUPS, Readback, storage, uniform};
use crate::search_input::{SearchInput, SearchKind};
use crate::surface::{ActiveVoxel, CrossedEdge, SurfaceSearch};

/// Bytes on the device: of a voxel, an edge, and of a pair of counts.
const VOXEL_BYTES: u64 = 16;
const EDGE_BYTES: u64 = 20;
const PAIR_BYTES: u64 = 8;
const SHAPE_BYTES: u64 = 16;

/// Points that a work group takes.
const GROUP: usize = 256;

/// Maximum number of points along an edge of a block.
const MAX_POINTS: u32 = 64;

/// Searches blocks on a device, or on the CPU if there is none.
pub struct GpuSearcher {
    kind: Arc<SearchKind>,
    gpu: Option<SearchKernels>,
    failure: Option<GpuError>,
    /// Batches that the CPU searches, until they are taken.
    on_cpu: Vec<SearchedBatch>,
    next: u64,
}

/// A searched batch.
#[derive(Debug)]
pub struct SearchedBatch {
    /// Its number.
    pub id: BatchId,
    /// Its blocks, in the order in which they were submitted.
    pub blocks: Vec<SearchedBlock>,
}

/// A searched block.
#[derive(Debug)]
pub enum SearchedBlock {
    /// What the device found.
    Found(SurfaceSearch),
    /// Left to the CPU.
    Cpu(CpuSearch),
}

/// A search that the CPU has yet to do.
#[derive(Clone, Debug)]
pub struct CpuSearch {
    kind: Arc<SearchKind>,
    input: SearchInput,
}

impl SearchedBlock {
    /// Returns the surface. Takes as long as the CPU does if that is left to it; on any thread.
    pub fn surface(self) -> SurfaceSearch {
        match self {
            SearchedBlock::Found(surface) => surface,
            SearchedBlock::Cpu(CpuSearch { kind, input }) => kind.search(&input),
        }
    }

    /// Whether the device searched it.
    pub fn is_from_gpu(&self) -> bool {
        matches!(self, SearchedBlock::Found(_))
    }
}

/// What is on the device.
struct SearchKernels {
    device: GpuDevice,
    sample: Kernel,
    count: Kernel,
    scan: Kernel,
    emit: Kernel,
    points: u32,
    blocks: usize,
    /// Maximum number of voxels and edges of a round.
    capacity: [usize; 2],
    slots: Vec<SearchSlot>,
}

/// The buffers of a batch.
struct SearchSlot {
    shape: wgpu::Buffer,
    /// Cells, or frames of blocks.
    input: wgpu::Buffer,
    totals: wgpu::Buffer,
    bases: wgpu::Buffer,
    voxels: wgpu::Buffer,
    edges: wgpu::Buffer,
    /// Of the kernels, in their order.
    bound: [wgpu::BindGroup; 4],
    totals_back: Readback,
    voxels_back: Readback,
    edges_back: Readback,
    state: SearchState,
}

/// What a slot is doing.
enum SearchState {
    Free,
    /// Waits for the counts.
    Counting(SearchTask),
    /// Waits for the voxels and edges of a round.
    Reading {
        task: SearchTask,
        totals: Vec<[u32; 2]>,
        round: Range<usize>,
        done: Vec<SurfaceSearch>,
    },
}

/// A batch in flight.
struct SearchTask {
    id: BatchId,
    inputs: Vec<SearchInput>,
}

impl GpuSearcher {
    /// A searcher on a device. Compiles its shaders and allocates all buffers.
    ///
    /// # Errors
    /// A density that does not compile, or a device whose memory or limits are too small.
    ///
    /// # Panics
    /// If boxes of cells have fewer than 2 or more than 64 along an edge.
    pub fn new(
        device: &GpuDevice,
        kind: SearchKind,
        options: BatchOptions,
    ) -> Result<GpuSearcher, GpuError> {
        let kind = Arc::new(kind);
        let gpu = SearchKernels::new(device, &kind, options)?;
        Ok(GpuSearcher { kind, gpu: Some(gpu), failure: None, on_cpu: Vec::new(), next: 0 })
    }

    /// A searcher that leaves everything to the CPU, because of `reason`.
    pub fn on_cpu(kind: SearchKind, reason: GpuError) -> GpuSearcher {
        let (kind, failure) = (Arc::new(kind), Some(reason));
        GpuSearcher { kind, gpu: None, failure, on_cpu: Vec::new(), next: 0 }
    }

    /// Returns why the CPU does the work, if it does.
    pub fn failure(&self) -> Option<&GpuError> {
        self.failure.as_ref()
    }

    /// Returns how many blocks fit into a batch.
    pub fn batch_blocks(&self) -> usize {
        self.gpu.as_ref().map_or(MAX_GROUPS, |gpu| gpu.blocks)
    }

    /// Submits a batch. Without a device the blocks come back to be searched by the CPU.
    ///
    /// # Errors
    /// Returns the blocks if all batches are in flight: try again in the next frame.
    ///
    /// # Panics
    /// If there are more than [`GpuSearcher::batch_blocks`], or they are not what it searches.
    pub fn submit(&mut self, inputs: Vec<SearchInput>) -> Result<BatchId, Vec<SearchInput>> {
        assert!(inputs.len() <= self.batch_blocks(), "{} blocks in a batch", inputs.len());
        self.leave_lost_device();
        let can_gpu = inputs.iter().all(|input| self.kind.takes(input));
        let id = BatchId(self.next);
        let task = SearchTask { id, inputs };
        match &mut self.gpu {
            Some(gpu) if can_gpu && !task.inputs.is_empty() => gpu.submit(task, &self.kind)?,
            _ => self.leave(task),
        }
        self.next += 1;
        Ok(id)
    }

    /// Returns the batches that are finished, without waiting.
    pub fn poll(&mut self) -> Vec<SearchedBatch> {
        let mut done = std::mem::take(&mut self.on_cpu);
        if let Some(gpu) = &mut self.gpu {
            gpu.device.poll();
            done.extend(gpu.advance());
        }
        self.leave_lost_device();
        done.append(&mut self.on_cpu);
        done
    }

    /// Waits for all batches in flight. For tools and tests, not for a frame.
    pub fn wait(&mut self) -> Vec<SearchedBatch> {
        let mut done = self.poll();
        while self.gpu.as_ref().is_some_and(SearchKernels::is_busy) {
            if let Some(gpu) = &self.gpu {
                gpu.device.wait();
            }
            done.extend(self.poll());
        }
        done.sort_by_key(|batch| batch.id);
        done
    }

    /// Uploads blocks, for [`GpuSearcher::compute_only`].
    #[doc(hidden)]
    pub fn upload_only(&mut self, inputs: &[SearchInput]) {
        let Some(gpu) = &self.gpu else { return };
        let slot = &gpu.slots[0];
        gpu.device.queue.write_buffer(&slot.input, 0, &self.kind.input_bytes(inputs));
        gpu.device.queue.write_buffer(&slot.shape, 0, &shape_bytes(gpu.points, 0));
    }

    /// Samples and counts the uploaded blocks several times on the device, for benchmarks. Returns
    /// how many blocks that were.
    #[doc(hidden)]
    pub fn compute_only(&mut self, blocks: usize, times: usize) -> usize {
        let Some(gpu) = &self.gpu else { return 0 };
        let (slot, groups) = (&gpu.slots[0], gpu.groups());
        let mut encoder = gpu.device.device.create_command_encoder(&Default::default());
        for _ in 0..times {
            gpu.sample.run(&mut encoder, &slot.bound[0], [groups, blocks]);
            gpu.count.run(&mut encoder, &slot.bound[1], [groups, blocks]);
            gpu.scan.run(&mut encoder, &slot.bound[2], [1, blocks]);
        }
        gpu.device.queue.submit([encoder.finish()]);
        gpu.device.wait();
        times * blocks
    }

    fn leave(&mut self, SearchTask { id, inputs }: SearchTask) {
        let cpu = |input| SearchedBlock::Cpu(CpuSearch { kind: Arc::clone(&self.kind), input });
        self.on_cpu.push(SearchedBatch { id, blocks: inputs.into_iter().map(cpu).collect() });
    }

    /// Leaves a device that failed, and what is in flight there to the CPU.
    fn leave_lost_device(&mut self) {
        let Some(failure) = self.gpu.as_ref().and_then(|gpu| gpu.device.failure()) else { return };
        self.failure = Some(failure);
        let Some(gpu) = self.gpu.take() else { return };
        for slot in gpu.slots {
            match slot.state {
                SearchState::Free => {}
                SearchState::Counting(task) | SearchState::Reading { task, .. } => self.leave(task),
            }
        }
    }
}

/// Buffer sizes of a searcher, in bytes: input, samples, counts of parts; by block.
fn block_bytes(kind: &SearchKind) -> [u64; 3] {
    let count = u64::from(kind.points()).pow(3);
    [kind.block_bytes(), 4 * count, PAIR_BYTES * count.div_ceil(GROUP as u64)]
}

/// Returns the most voxels and edges that a block may have.
fn most_of_block(points: u32) -> [usize; 2] {
    let (points, cubes) = (points as usize, points as usize - 1);
    [cubes.pow(3), 3 * points * points * cubes]
}

impl SearchKernels {
    fn new(
        device: &GpuDevice,
        kind: &SearchKind,
        options: BatchOptions,
    ) -> Result<SearchKernels, GpuError> {
        let points = kind.points();
        assert!((2..=MAX_POINTS).contains(&points), "boxes of {points} cells along an edge");
        let (allowed, sizes) = (device.largest_buffer(), block_bytes(kind));
        let most = most_of_block(points);
        let needed = sizes[1].max(most[1] as u64 * EDGE_BYTES);
        if allowed < needed {
            let device = device.name().to_owned();
            return Err(GpuError::Limits { device, allowed, needed });
        }
        let blocks = options.blocks.clamp(1, MAX_GROUPS.min((allowed / sizes[1]) as usize));
        // Room for flat ground in every block: some voxels and edges for each column.
        let usual = 2 * (points as usize).pow(2) * blocks;
        let capacity = [(most[0], VOXEL_BYTES), (most[1], EDGE_BYTES)]
            .map(|(most, size)| most.max(usual.min((allowed / size) as usize)));
        let (source, entry) = kind.sampler();
        let sample = Kernel::new(device, &source, entry)?;
        let source =
            [include_str!("shaders/points.wgsl"), include_str!("shaders/search.wgsl")].join("\n");
        let [count, scan, emit] =
            ["count", "scan", "emit"].map(|entry| Kernel::new(device, &source, entry));
        let mut kernels = SearchKernels {
            device: device.clone(),
            sample,
            count: count?,
            scan: scan?,
            emit: emit?,
            points,
            blocks,
            capacity,
            slots: Vec::new(),
        };
        let out = capacity[0] as u64 * VOXEL_BYTES + capacity[1] as u64 * EDGE_BYTES;
        let bytes = blocks as u64 * sizes.iter().sum::<u64>() + 2 * out;
        let made = device.slots(options, bytes, || SearchSlot::new(&kernels, kind))?;
        kernels.slots = made;
        Ok(kernels)
    }

    fn is_busy(&self) -> bool {
        self.slots.iter().any(|slot| !matches!(slot.state, SearchState::Free))
    }

    /// Work groups of a block.
    fn groups(&self) -> usize {
        (self.points as usize).pow(3).div_ceil(GROUP)
    }

    fn submit(&mut self, task: SearchTask, kind: &SearchKind) -> Result<(), Vec<SearchInput>> {
        let groups = self.groups();
        let SearchKernels { device, sample, count, scan, slots, points, .. } = self;
        let is_free = |slot: &&mut SearchSlot| matches!(slot.state, SearchState::Free);
        let Some(slot) = slots.iter_mut().find(is_free) else { return Err(task.inputs) };
        let blocks = task.inputs.len();
        device.queue.write_buffer(&slot.input, 0, &kind.input_bytes(&task.inputs));
        device.queue.write_buffer(&slot.shape, 0, &shape_bytes(*points, 0));
        let mut encoder = device.device.create_command_encoder(&Default::default());
        sample.run(&mut encoder, &slot.bound[0], [groups, blocks]);
        count.run(&mut encoder, &slot.bound[1], [groups, blocks]);
        scan.run(&mut encoder, &slot.bound[2], [1, blocks]);
        let bytes = blocks as u64 * PAIR_BYTES;
        let back = &slot.totals_back.buffer;
        encoder.copy_buffer_to_buffer(&slot.totals, 0, back, 0, bytes);
        device.queue.submit([encoder.finish()]);
        slot.totals_back.request(bytes);
        slot.state = SearchState::Counting(task);
        Ok(())
    }

    /// Takes what has arrived; returns the batches that are complete.
    fn advance(&mut self) -> Vec<SearchedBatch> {
        let mut slots = std::mem::take(&mut self.slots);
        let done = slots.iter_mut().filter_map(|slot| self.advance_slot(slot)).collect();
        self.slots = slots;
        done
    }

    fn advance_slot(&self, slot: &mut SearchSlot) -> Option<SearchedBatch> {
        let arrival = match &slot.state {
            SearchState::Free => return None,
            SearchState::Counting(_) => slot.totals_back.arrival(&self.device),
            SearchState::Reading { totals, round, .. } => slot.arrival(&self.device, totals, round),
        };
        match arrival {
            Arrival::Waiting => return None,
            Arrival::Lost => {
                self.device.fail(GpuError::Lost("its results did not come back".to_owned()));
                return None;
            }
            Arrival::Here => {}
        }
        match std::mem::replace(&mut slot.state, SearchState::Free) {
            SearchState::Free => None,
            SearchState::Counting(task) => {
                let bytes = task.inputs.len() as u64 * PAIR_BYTES;
                let totals = slot.totals_back.take_words(bytes).as_chunks::<2>().0.to_vec();
                self.next_round(slot, task, totals, Vec::new())
            }
            SearchState::Reading { task, totals, round, mut done } => {
                done.extend(slot.take_round(self.points, &totals[round]));
                self.next_round(slot, task, totals, done)
            }
        }
    }

    /// Writes the voxels and edges of as many blocks as fit, or returns the batch if all are done.
    fn next_round(
        &self,
        slot: &mut SearchSlot,
        task: SearchTask,
        totals: Vec<[u32; 2]>,
        done: Vec<SurfaceSearch>,
    ) -> Option<SearchedBatch> {
        let start = done.len();
        if start == totals.len() {
            let blocks = done.into_iter().map(SearchedBlock::Found).collect();
            return Some(SearchedBatch { id: task.id, blocks });
        }
        let (round, bases) = fitting(&totals, start, self.capacity);
        let sums = sums(&totals[round.clone()]);
        let device = &self.device;
        if sums != [0; 2] {
            device.queue.write_buffer(&slot.bases, 0, &bases);
            let shape = shape_bytes(self.points, round.start as u32);
            device.queue.write_buffer(&slot.shape, 0, &shape);
            let mut encoder = device.device.create_command_encoder(&Default::default());
            self.emit.run(&mut encoder, &slot.bound[3], [self.groups(), round.len()]);
            let SearchSlot { voxels, edges, voxels_back, edges_back, .. } = slot;
            let copies = [
                (voxels, voxels_back, sums[0] as u64 * VOXEL_BYTES),
                (edges, edges_back, sums[1] as u64 * EDGE_BYTES),
            ];
            for (from, to, bytes) in &copies {
                encoder.copy_buffer_to_buffer(from, 0, &to.buffer, 0, *bytes);
            }
            device.queue.submit([encoder.finish()]);
            for (_, to, bytes) in copies {
                to.request(bytes);
            }
        }
        slot.state = SearchState::Reading { task, totals, round, done };
        None
    }
}

/// Returns the blocks from `start` on that fit into the capacity, and where each begins, as bytes.
/// At least one always fits.
fn fitting(totals: &[[u32; 2]], start: usize, capacity: [usize; 2]) -> (Range<usize>, Vec<u8>) {
    let (mut end, mut base, mut bases) = (start, [0u32; 2], Vec::new());
    for total in &totals[start..] {
        let next = [base[0] + total[0], base[1] + total[1]];
        if next[0] as usize > capacity[0] || next[1] as usize > capacity[1] {
            break;
        }
        bases.extend(base.iter().flat_map(|base| base.to_le_bytes()));
        (base, end) = (next, end + 1);
    }
    (start..end, bases)
}

/// Voxels and edges of some blocks.
fn sums(totals: &[[u32; 2]]) -> [usize; 2] {
    [0, 1].map(|which| totals.iter().map(|total| total[which] as usize).sum())
}

fn shape_bytes(points: u32, first_block: u32) -> Vec<u8> {
    [points, first_block, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl SearchSlot {
    fn new(kernels: &SearchKernels, kind: &SearchKind) -> SearchSlot {
        let device = &kernels.device;
        let blocks = kernels.blocks as u64;
        let [input, samples, parts] =
            block_bytes(kind).map(|bytes| storage(device, blocks * bytes));
        let shape = uniform(device, SHAPE_BYTES);
        let [totals, bases] = [(); 2].map(|()| storage(device, blocks * PAIR_BYTES));
        let [voxel_bytes, edge_bytes] =
            [kernels.capacity[0] as u64 * VOXEL_BYTES, kernels.capacity[1] as u64 * EDGE_BYTES];
        let [voxels, edges] = [voxel_bytes, edge_bytes].map(|bytes| storage(device, bytes));
        let mut sampled = vec![(0, &shape), (1, &input), (2, &samples)];
        let classes = storage(device, 64);
        if let Some(bytes) = kind.class_bytes() {
            device.queue.write_buffer(&classes, 0, &bytes);
            sampled.push((3, &classes));
        }
        let counted = [(0, &shape), (1, &samples), (2, &parts)];
        let summed = [(0, &shape), (2, &parts), (3, &totals)];
        let emitted =
            [(0, &shape), (1, &samples), (2, &parts), (4, &bases), (5, &voxels), (6, &edges)];
        SearchSlot {
            bound: [
                kernels.sample.bind(device, &sampled),
                kernels.count.bind(device, &counted),
                kernels.scan.bind(device, &summed),
                kernels.emit.bind(device, &emitted),
            ],
            totals_back: Readback::new(device, blocks * PAIR_BYTES),
            voxels_back: Readback::new(device, voxel_bytes),
            edges_back: Readback::new(device, edge_bytes),
            state: SearchState::Free,
            shape,
            input,
            totals,
            bases,
            voxels,
            edges,
        }
    }

    fn arrival(&self, device: &GpuDevice, totals: &[[u32; 2]], round: &Range<usize>) -> Arrival {
        if sums(&totals[round.clone()]) == [0; 2] {
            return Arrival::Here;
        }
        match [&self.voxels_back, &self.edges_back].map(|back| back.arrival(device)) {
            [Arrival::Here, Arrival::Here] => Arrival::Here,
            [Arrival::Lost, _] | [_, Arrival::Lost] => Arrival::Lost,
            _ => Arrival::Waiting,
        }
    }

    /// Reads the voxels and edges of a round.
    fn take_round(&self, points: u32, totals: &[[u32; 2]]) -> Vec<SurfaceSearch> {
        let sums = sums(totals);
        let (mut voxels, mut edges) = (Vec::new(), Vec::new());
        if sums != [0; 2] {
            voxels = self.voxels_back.take_words(sums[0] as u64 * VOXEL_BYTES);
            edges = self.edges_back.take_words(sums[1] as u64 * EDGE_BYTES);
        }
        let mut voxels = voxels.as_chunks::<4>().0.iter().map(|&words| ActiveVoxel(words));
        let mut edges = edges.as_chunks::<5>().0.iter().map(|&words| CrossedEdge(words));
        let block = |&[voxel_count, edge_count]: &[u32; 2]| SurfaceSearch {
            points,
            voxels: voxels.by_ref().take(voxel_count as usize).collect(),
            edges: edges.by_ref().take(edge_count as usize).collect(),
        };
        totals.iter().map(block).collect()
    }
}
