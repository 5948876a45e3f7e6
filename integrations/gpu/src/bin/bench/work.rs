//! What is measured: blocks of hills with caves, and the CPU's ways to the same cells.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use terravox::generate::Deep;
use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::octree::OctreeBuilder;
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, MaterialTable, MipBlock};
use terravox_gpu::{BlockFrame, Density, DensityPoint, sample_units};

/// Blocks of mip 0 around the ground: what a viewer's surroundings need, most of them uniform.
pub fn world_blocks() -> Vec<MipBlock> {
    let columns = (0..32).flat_map(|z| (0..32).map(move |x| (x, z)));
    columns.flat_map(|(x, z)| (-4..4).map(move |y| MipBlock::new(0, [x, y, z]))).collect()
}

/// Of the blocks, those with a surface.
pub fn with_surface(density: &Density, blocks: &[MipBlock]) -> Vec<MipBlock> {
    let mut cells = DenseBox::default();
    let has_surface = |block: &&MipBlock| {
        // Fewer cells than all, for speed: a block of one cell every four.
        let frame = BlockFrame::of_cells(**block);
        let at = |i: u32| [i % 8 * 4 + 1, i / 64 * 4 + 1, i / 8 % 8 * 4 + 1];
        let signs = (0..512).map(|i| density.sample(frame, at(i)).distance > 0.0);
        let mut signs = signs.collect::<Vec<_>>();
        signs.dedup();
        if signs.len() > 1 {
            return true;
        }
        density.fill_cells(**block, &mut cells);
        let first = cells.materials()[0];
        cells.materials().iter().any(|&material| material != first)
    };
    blocks.iter().filter(has_surface).copied().collect()
}

/// Returns the distance and the material of the density at a point in metres.
fn sample(density: &Density, [x, y, z]: [f64; 3]) -> (f64, u8) {
    let doubled = [x, y, z].map(|v| (2.0 * v) as i32);
    let frame = BlockFrame { first: doubled, mip: 0 };
    let found = density.sample(frame, [0; 3]);
    (f64::from(found.distance), found.material)
}

/// Fills as a game would on the CPU: bounded, so that few cells are evaluated.
pub fn fill_bounded(density: &Density, request: &mut FillRequest<'_>) {
    // Slopes of the octaves and of the cave, and the steps of their integers.
    let slope = [1.6, 1.2, 1.6];
    let deep = Some(Deep { depth: 4.1, material: 8 });
    request.fill_sdf_bounded_with(slope, deep, |p| sample(density, p).0, |p| sample(density, p).1);
}

/// Whether the bounded fill makes the cells of the density.
pub fn is_bounded_exact(density: &Density, blocks: &[MipBlock]) -> bool {
    let (mut bounded, mut all) = (DenseBox::default(), DenseBox::default());
    blocks.iter().all(|&block| {
        FillRequest::fill_block(&mut bounded, block, Placement::default(), |request| {
            fill_bounded(density, request);
        });
        density.fill_cells(block, &mut all);
        bounded == all
    })
}

/// Runs work on blocks, in a circle, on some threads, for some time; returns blocks a second.
pub fn rate<S>(
    threads: usize,
    seconds: f64,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) + Sync,
) -> f64 {
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = scratch();
                while start.elapsed() < Duration::from_secs_f64(seconds) {
                    work(&mut scratch, next.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
    });
    next.into_inner() as f64 / start.elapsed().as_secs_f64()
}

/// Evaluates every cell.
pub fn fill_all_rate(density: &Density, blocks: &[MipBlock], threads: usize, seconds: f64) -> f64 {
    rate(threads, seconds, DenseBox::default, |cells, i| {
        density.fill_cells(blocks[i % blocks.len()], cells);
    })
}

/// Evaluates few cells.
pub fn fill_few_rate(density: &Density, blocks: &[MipBlock], threads: usize, seconds: f64) -> f64 {
    rate(threads, seconds, DenseBox::default, |cells, i| {
        let block = blocks[i % blocks.len()];
        FillRequest::fill_block(cells, block, Placement::default(), |request| {
            fill_bounded(density, request);
        });
    })
}

/// Samples, searches and builds octrees.
pub fn octree_rate(density: &Density, blocks: &[MipBlock], threads: usize, seconds: f64) -> f64 {
    rate(threads, seconds, OctreeBuilder::new, |builder, i| {
        let frame = BlockFrame::of_corners(blocks[i % blocks.len()]);
        let octree = builder.densities([0; 3], 5, |at| {
            let found = density.sample(frame, at.to_array().map(|v| v as u32));
            (sample_units(found.distance, frame.mip) as f32, found.material)
        });
        std::hint::black_box(octree);
    })
}

/// Makes whole meshes.
pub fn mesh_rate(boxes: &[Arc<DenseBox>], threads: usize, seconds: f64) -> f64 {
    let table = MaterialTable::default();
    rate(
        threads,
        seconds,
        || (Mesher::new(), BlockMesh::new()),
        |(mesher, mesh), i| {
            mesher.mesh(&boxes[i % boxes.len()], &table, mesh);
            std::hint::black_box(mesh);
        },
    )
}

/// Returns the cells of blocks with those around that a mesh needs.
pub fn padded_cells(density: &Density, blocks: &[MipBlock]) -> Vec<Arc<DenseBox>> {
    let padded = |block: &MipBlock| {
        let mut cells = DenseBox::new(block.cells().grow(PAD));
        for at in cells.region().voxels() {
            let doubled = at.to_array().map(|v| 2 * v + 1);
            let point = DensityPoint { doubled, position: doubled.map(|v| v as f32 * 0.5), mip: 0 };
            let frame = BlockFrame { first: point.doubled, mip: 0 };
            let found = density.sample(frame, [0; 3]);
            let units = (sample_units(found.distance, 0) + 128).clamp(0, 256);
            if units > 0 {
                cells.set(at, terravox::Cell::new(found.material, (units - 1) as u8));
            }
        }
        Arc::new(cells)
    };
    blocks.iter().map(padded).collect()
}
