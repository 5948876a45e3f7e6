//! Rates by batch size: with transfers, until the cells are in the CPU's memory, and without.

use std::sync::Arc;
use std::time::Instant;

use terravox::octree::OctreeBuilder;
use terravox::voxel::{DenseBox, MipBlock};
use terravox_gpu::noise::fixed_ground;
use terravox_gpu::{
    BatchOptions, Density, GpuDevice, GpuError, GpuFiller, GpuSearcher, SearchInput, SearchKind,
    SearchedSurface,
};

use crate::Request;
use crate::rows::Rows;
use crate::work;

const BATCHES: [usize; 7] = [1, 4, 16, 64, 256, 1024, 4096];

/// Measures a device beside the CPU.
pub fn all(device: &GpuDevice, request: &Request, rows: &mut Rows) -> Result<(), GpuError> {
    let density = fixed_ground(work::SEED);
    let world = work::world_blocks();
    let ground = work::with_surface(&density, &world[..2048]);
    let note = format!("{} of {} have a surface", ground.len(), 2048);
    println!("  {note}");
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let is_exact = work::is_quick_exact(&ground[..ground.len().min(40)], &density);
    let boxes = work::padded_cells(&density, &ground[..ground.len().min(64)]);
    let (quick, seconds) = (format!("equal cells: {is_exact}"), request.seconds);
    for threads in if threads > 1 { vec![1, threads] } else { vec![1] } {
        let id = |what: &str| format!("cpu {what}, {threads} threads");
        for (blocks, which) in [(&world, "world"), (&ground, "ground")] {
            let rate = work::fill_all_rate(&density, blocks, threads, seconds);
            rows.rate(&id(&format!("fill point by point, {which}")), rate, "the twin");
            let rate = work::fill_quick_rate(blocks, threads, seconds);
            rows.rate(&id(&format!("fill as a game would, {which}")), rate, &quick);
        }
        let rate = work::octree_rate(&density, &ground, threads, seconds);
        rows.rate(&id("octree of a density, ground"), rate, "sampled, searched and built");
        let rate = work::mesh_rate(&boxes, threads, seconds);
        rows.rate(&id("whole mesh of cells, ground"), rate, "");
    }
    for batch in BATCHES.into_iter().filter(|&batch| batch <= request.max_batch) {
        for (blocks, which) in [(&world, "world"), (&ground, "ground")] {
            fill(
                device,
                &density,
                blocks,
                batch,
                &format!("fill, {which}, batch {batch}"),
                request,
                rows,
            )?;
        }
        density_search(device, &density, &ground, batch, request, rows)?;
        cell_search(device, &boxes, batch, request, rows)?;
    }
    Ok(())
}

/// Takes items in a circle.
fn circle<T: Clone>(items: &[T], from: &mut usize, count: usize) -> Vec<T> {
    let taken = (*from..*from + count).map(|i| items[i % items.len()].clone()).collect();
    *from += count;
    taken
}

fn fill(
    device: &GpuDevice,
    density: &Density,
    blocks: &[MipBlock],
    batch: usize,
    id: &str,
    request: &Request,
    rows: &mut Rows,
) -> Result<(), GpuError> {
    let options = BatchOptions { blocks: batch, batches: 3, max_bytes: u64::MAX };
    let mut filler = GpuFiller::new(device, density, options)?;
    let batch = batch.min(filler.batch_blocks());
    let (mut from, mut cells, mut checksum) = (0, DenseBox::default(), 0u64);
    let mut run = |filler: &mut GpuFiller, seconds: f64| {
        let (start, mut filled) = (Instant::now(), 0);
        while start.elapsed().as_secs_f64() < seconds {
            while filler.failure().is_none()
                && filler.submit(circle(blocks, &mut from, batch)).is_ok()
            {}
            for block in filler.poll().into_iter().flat_map(|batch| batch.blocks) {
                filled += 1;
                if block.uniform().is_none() {
                    block.fill_cells(&mut cells);
                    checksum += u64::from(cells.materials()[500]);
                }
            }
        }
        filled += filler.wait().iter().map(|batch| batch.blocks.len()).sum::<usize>();
        filled as f64 / start.elapsed().as_secs_f64()
    };
    run(&mut filler, 0.2 * request.seconds);
    let before = filler.stats();
    let rate = run(&mut filler, request.seconds);
    let stats = filler.stats();
    let bytes = (stats.bytes_read - before.bytes_read) as f64;
    let blocks_done = (stats.gpu_blocks - before.gpu_blocks) as f64;
    let note =
        format!("{batch} a batch, {:.0} bytes a block, checksum {checksum}", bytes / blocks_done);
    rows.rate(&format!("{id}, with transfers"), rate, &note);
    let start = Instant::now();
    let mut computed = 0;
    while start.elapsed().as_secs_f64() < request.seconds {
        computed += filler.compute_only(&circle(blocks, &mut from, batch), 8);
    }
    let rate = computed as f64 / start.elapsed().as_secs_f64();
    rows.rate(&format!("{id}, without"), rate, "computed and left there");
    Ok(())
}

fn density_search(
    device: &GpuDevice,
    density: &Density,
    blocks: &[MipBlock],
    batch: usize,
    request: &Request,
    rows: &mut Rows,
) -> Result<(), GpuError> {
    let kind = SearchKind::Density(density.clone());
    let inputs: Vec<_> = blocks.iter().map(|&block| SearchInput::Density(block)).collect();
    search(device, kind, &inputs, batch, "search of a density", request, rows)
}

fn cell_search(
    device: &GpuDevice,
    boxes: &[Arc<DenseBox>],
    batch: usize,
    request: &Request,
    rows: &mut Rows,
) -> Result<(), GpuError> {
    let surface = SearchedSurface::Solid;
    let kind = SearchKind::Cells { edge: 36, table: Arc::default(), surface };
    let inputs: Vec<_> = boxes.iter().map(|cells| SearchInput::Cells(Arc::clone(cells))).collect();
    search(device, kind, &inputs, batch, "search of cells", request, rows)
}

fn search(
    device: &GpuDevice,
    kind: SearchKind,
    inputs: &[SearchInput],
    batch: usize,
    what: &str,
    request: &Request,
    rows: &mut Rows,
) -> Result<(), GpuError> {
    let is_density = matches!(kind, SearchKind::Density(_));
    let mut searcher = GpuSearcher::new(
        device,
        kind,
        BatchOptions { blocks: batch, batches: 3, max_bytes: u64::MAX },
    )?;
    let batch = batch.min(searcher.batch_blocks());
    let (mut from, mut builder, mut voxels) = (0, OctreeBuilder::new(), 0usize);
    let mut run = |with_octree: bool| {
        let (start, mut searched) = (Instant::now(), 0);
        while start.elapsed().as_secs_f64() < request.seconds {
            while searcher.failure().is_none()
                && searcher.submit(circle(inputs, &mut from, batch)).is_ok()
            {}
            for block in searcher.poll().into_iter().flat_map(|batch| batch.blocks) {
                let surface = block.surface();
                (searched, voxels) = (searched + 1, voxels + surface.voxels.len());
                if with_octree {
                    std::hint::black_box(surface.octree(&mut builder, [0; 3], 5));
                }
            }
        }
        searched += searcher.wait().iter().map(|batch| batch.blocks.len()).sum::<usize>();
        searched as f64 / start.elapsed().as_secs_f64()
    };
    run(false);
    let rate = run(false);
    let id = format!("{what}, batch {batch}");
    rows.rate(&format!("{id}, with transfers"), rate, "voxels and edges");
    if is_density {
        let rate = run(true);
        rows.rate(&format!("{id}, and octree"), rate, "built on one thread of the CPU");
    }
    let start = Instant::now();
    let mut counted = 0;
    searcher.upload_only(&circle(inputs, &mut from, batch));
    while start.elapsed().as_secs_f64() < request.seconds {
        counted += searcher.compute_only(batch, 8);
    }
    let rate = counted as f64 / start.elapsed().as_secs_f64();
    rows.rate(
        &format!("{id}, without"),
        rate,
        &format!("sampled and counted only; {voxels} voxels"),
    );
    Ok(())
}
