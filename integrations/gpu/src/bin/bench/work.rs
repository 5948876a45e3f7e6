//! What is measured: blocks of hills with caves, and the CPU's ways to the same cells.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use terravox::mesh::{BlockMesh, Mesher, PAD};
use terravox::octree::OctreeBuilder;
use terravox::voxel::{DenseBox, MaterialTable, MipBlock};
use terravox_gpu::noise::{fixed_noise3, ground_height};
use terravox_gpu::{BlockFrame, Density, sample_units};

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

/// Seed of the ground that is measured.
pub const SEED: u32 = 7;

/// Fills as a game would on the CPU: each column's height once, caves only below ground, a block far
/// from the ground at once. The same cells as [`fixed_ground`](terravox_gpu::noise::fixed_ground).
pub fn fill_quick(block: MipBlock, cells: &mut DenseBox, heights: &mut Vec<i32>) {
    let frame = BlockFrame::of_cells(block);
    let [x, y, z] = frame.first;
    cells.reset(block.cells());
    heights.clear();
    heights.extend((0..1024).map(|i| ground_height(x + 2 * (i % 32), z + 2 * (i / 32), SEED)));
    let (materials, occupancies) = cells.arrays_mut();
    let highest = heights.iter().max().copied().unwrap_or(0);
    for row in 0..32 {
        let y = y + 2 * row;
        if highest - y * 128 < -128 {
            break; // air from here on
        }
        for column in 0..1024 {
            let depth = heights[column as usize] - y * 128;
            if depth < -128 {
                continue;
            }
            let at = [x + 2 * (column % 32), y, z + 2 * (column / 32)];
            let cave = fixed_noise3(at, 6, SEED + 4);
            let distance = depth.min(((cave.abs() - 4096) * 21) >> 8);
            let units = (distance + 128).clamp(0, 256);
            if units > 0 {
                let material = if depth < 256 {
                    2
                } else if depth < 1024 {
                    14
                } else {
                    8
                };
                let cell = (row * 1024 + column) as usize;
                (materials[cell], occupancies[cell]) = (material, (units - 1) as u8);
            }
        }
    }
}

/// Whether the quick fill makes the cells of the density.
pub fn is_quick_exact(blocks: &[MipBlock], density: &Density) -> bool {
    let (mut quick, mut all, mut heights) = (DenseBox::default(), DenseBox::default(), Vec::new());
    blocks.iter().all(|&block| {
        fill_quick(block, &mut quick, &mut heights);
        density.fill_cells(block, &mut all);
        quick == all
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

/// Fills as a game would.
pub fn fill_quick_rate(blocks: &[MipBlock], threads: usize, seconds: f64) -> f64 {
    let scratch = || (DenseBox::default(), Vec::new());
    rate(threads, seconds, scratch, |(cells, heights), i| {
        fill_quick(blocks[i % blocks.len()], cells, heights);
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
            let frame = BlockFrame { first: doubled, mip: 0 };
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
