//! Every device of this machine against the CPU. Without any, these tests say so and check nothing;
//! `scripts/test-gpu` installs two.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use terravox::mesh::{BlockMesh, Mesher};
use terravox::terrain::{
    Budget, FinishedJob, JobScratch, LodOptions, Terrain, TerrainOptions, Viewer,
};
use terravox::voxel::{DenseBox, MaterialTable, MipBlock};
use terravox_gpu::check::{
    Comparison, FAMILIES, compare_cells, compare_fill, compare_search, random_blocks, random_cells,
};
use terravox_gpu::noise::fixed_ground;
use terravox_gpu::{
    BatchOptions, Density, DensitySample, GpuDevice, GpuError, GpuFiller, GpuSearcher, SearchInput,
    SearchKind, SearchedSurface, TerrainFiller,
};

/// Runs a check on every device. `TERRAVOX_GPU_DEVICES` is how many there must be.
fn on_all(check: impl Fn(&GpuDevice)) {
    let devices = GpuDevice::all();
    let wanted = std::env::var("TERRAVOX_GPU_DEVICES").ok().and_then(|text| text.parse().ok());
    if devices.is_empty() {
        eprintln!("SKIPPED: no graphics device, see scripts/test-gpu");
    }
    assert!(devices.len() >= wanted.unwrap_or(0), "only {devices:?}");
    for device in &devices {
        eprintln!("{}", device.name());
        check(device);
        assert_eq!(device.failure(), None);
    }
}

fn assert_equal(comparison: Result<Comparison, GpuError>, blocks: u64) {
    let comparison = comparison.expect("the device computes");
    assert_eq!((comparison.differences, comparison.by_cpu), (0, 0), "{comparison}");
    assert_eq!(comparison.blocks, blocks);
    eprintln!("  {comparison}");
}

#[test]
fn cells_of_every_family_are_searched_as_on_the_cpu() {
    on_all(|device| {
        for surface in [SearchedSurface::Solid, SearchedSurface::Liquid] {
            let seeds = 0..4 * FAMILIES;
            assert_equal(compare_cells(device, seeds.clone(), 36, surface), 4 * FAMILIES);
            assert_equal(compare_cells(device, seeds, 9, surface), 4 * FAMILIES);
        }
    });
}

#[test]
fn boxes_of_every_size_are_searched_as_on_the_cpu() {
    on_all(|device| {
        for edge in [2, 3, 6, 7, 33, 63, 64] {
            let seeds = 1000..1000 + FAMILIES;
            let compared = compare_cells(device, seeds, edge, SearchedSurface::Solid);
            assert_equal(compared, FAMILIES);
        }
    });
}

#[test]
fn densities_in_integers_are_filled_and_searched_as_on_the_cpu_at_every_mip() {
    on_all(|device| {
        let density = fixed_ground(7);
        let mut blocks = random_blocks(1, 150);
        blocks.extend((0..12).map(|mip| MipBlock::new(mip, [0, 0, -1])));
        assert_equal(compare_fill(device, &density, &blocks), 162);
        assert_equal(compare_search(device, &density, &blocks), 162);
    });
}

#[test]
fn densities_in_floats_differ_by_one_step_at_most() {
    let density = Density::new(
        "fn density(at: DensityPoint) -> DensitySample {
             return DensitySample(3.0 * sin(at.position.x * 0.1) + 11.3 - at.position.y, 8u);
         }",
        |at| {
            let [x, y, _] = at.position;
            DensitySample { distance: 3.0 * (x * 0.1).sin() + 11.3 - y, material: 8 }
        },
    );
    on_all(|device| {
        let mut filler = GpuFiller::new(device, &density, BatchOptions::default()).unwrap();
        let blocks: Vec<_> = (-8..8).map(|x| MipBlock::new(0, [x, 0, 0])).collect();
        filler.submit(blocks).unwrap();
        let (mut found, mut expected) = (DenseBox::default(), DenseBox::default());
        let mut differing = 0;
        for block in filler.wait().into_iter().flat_map(|batch| batch.blocks) {
            block.fill_cells(&mut found);
            density.fill_cells(block.block(), &mut expected);
            for pos in found.region().voxels() {
                let [a, b] = [&found, &expected].map(|cells| cells.cell(pos).units());
                assert!(a.abs_diff(b) <= 1, "{pos}: {a} instead of {b}");
                differing += u32::from(a != b);
            }
        }
        eprintln!("  {differing} of {} cells differ by 1/256", 16 * 32 * 32 * 32);
    });
}

#[test]
fn awkward_distances_make_the_cells_that_generators_make() {
    // By number: NaN, infinities, the least and the largest numbers, halves between two fills.
    let table = |x: i32| -> f32 {
        let units = x as f32 / 2.0;
        match x.rem_euclid(8) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => 1e-42,
            4 => f32::MAX,
            5 => -1e-42,
            _ => units / 256.0,
        }
    };
    let density = Density::new(
        "fn density(at: DensityPoint) -> DensitySample {
             let x = (at.doubled.x - 1) / 2;
             var bits = array<u32, 6>(0x7fc00000u, 0x7f800000u, 0xff800000u, 714u, 0x7f7fffffu,
                                      0x800002cau);
             let number = u32(x) & 7u;
             let units = f32(x) * 0.001953125;
             if (number < 6u) {
                 return DensitySample(bitcast<f32>(bits[number]), 3u);
             }
             return DensitySample(units, 3u);
         }",
        move |at| DensitySample { distance: table((at.doubled[0] - 1) / 2), material: 3 },
    );
    on_all(|device| {
        let blocks: Vec<_> = (0..10).map(|x| MipBlock::new(0, [x, 0, 0])).collect();
        assert_equal(compare_fill(device, &density, &blocks), 10);
    });
}

#[test]
fn searched_corners_are_those_of_the_mesh() {
    let (mut mesher, mut mesh) = (Mesher::new(), BlockMesh::new());
    let table: Arc<MaterialTable> = Arc::default();
    on_all(|_| ());
    for seed in 0..3 * FAMILIES {
        let cells = random_cells(seed, 36);
        let min = cells.region().min;
        mesher.mesh_keyed(&cells, &table, &mut mesh);
        for (surface, meshed) in
            [(SearchedSurface::Solid, &mesh.solid), (SearchedSurface::Liquid, &mesh.liquid)]
        {
            let kind = SearchKind::Cells { edge: 36, table: Arc::clone(&table), surface };
            let mut searcher = GpuSearcher::on_cpu(kind, GpuError::NoDevice);
            searcher.submit(vec![SearchInput::Cells(Arc::new(cells.clone()))]).unwrap();
            let block = searcher.poll().pop().unwrap().blocks.pop().unwrap();
            // Voxels lie between eight cells: at the corner above the first.
            let found =
                block.surface().voxels.into_iter().map(|voxel| voxel.min().map(|at| at as i32 + 1));
            let inner = |at: &[i32; 3]| at.iter().all(|at| (3..34).contains(at));
            let found: BTreeSet<[i32; 3]> = found.filter(inner).collect();
            let corners = meshed.keys.iter().filter(|key| key.between == 0);
            let expected = corners.map(|key| (key.corner - min).to_array()).filter(inner);
            assert_eq!(found, expected.collect(), "box {seed}, {surface:?}");
        }
    }
}

#[test]
fn small_buffers_take_several_rounds() {
    on_all(|device| {
        // Checkerboards have many times the voxels that a batch has room for at once.
        let kind =
            SearchKind::Cells { edge: 20, table: Arc::default(), surface: SearchedSurface::Solid };
        let options = BatchOptions { blocks: 40, batches: 1, ..BatchOptions::default() };
        let mut searcher = GpuSearcher::new(device, kind.clone(), options).unwrap();
        let mut twin = GpuSearcher::on_cpu(kind, GpuError::NoDevice);
        let cells = Arc::new(random_cells(4, 20));
        let inputs = vec![SearchInput::Cells(cells); 40];
        searcher.submit(inputs.clone()).unwrap();
        assert!(searcher.submit(inputs.clone()).is_err(), "its only batch is in flight");
        twin.submit(inputs).unwrap();
        let [found, expected] = [searcher.wait(), twin.wait()];
        for (found, expected) in found.into_iter().zip(expected) {
            for (found, expected) in found.blocks.into_iter().zip(expected.blocks) {
                assert!(found.is_from_gpu() && !expected.is_from_gpu());
                assert!(found.surface() == expected.surface());
            }
        }
    });
}

#[test]
fn a_density_that_does_not_compile_is_refused_with_its_error() {
    on_all(|device| {
        let broken = Density::new("fn density(at: DensityPoint) -> f32 { return 1.0; }", |_| {
            DensitySample { distance: 1.0, material: 1 }
        });
        let refused = GpuFiller::new(device, &broken, BatchOptions::default());
        let Err(GpuError::Density(message)) = refused else { panic!("it was taken") };
        assert!(!message.is_empty());
    });
}

#[test]
fn more_memory_than_allowed_is_an_error_and_the_device_goes_on() {
    on_all(|device| {
        // Software drivers promise more memory than there is, so this is about the limit.
        let huge = BatchOptions { batches: 1 << 20, ..BatchOptions::default() };
        let refused = GpuFiller::new(device, &fixed_ground(1), huge).err();
        assert!(matches!(refused, Some(GpuError::OutOfMemory { .. })), "{refused:?}");
        let kind = SearchKind::Density(fixed_ground(1));
        let few = BatchOptions { max_bytes: 1 << 20, ..BatchOptions::default() };
        let refused = GpuSearcher::new(device, kind, few).err();
        assert!(matches!(refused, Some(GpuError::OutOfMemory { .. })), "{refused:?}");
        assert_equal(compare_fill(device, &fixed_ground(1), &random_blocks(5, 10)), 10);
    });
}

#[test]
fn a_lost_device_loses_no_block() {
    for device in GpuDevice::all() {
        let density = fixed_ground(3);
        let mut filler = GpuFiller::new(&device, &density, BatchOptions::default()).unwrap();
        let kind = SearchKind::Density(density.clone());
        let mut searcher = GpuSearcher::new(&device, kind, BatchOptions::default()).unwrap();
        let blocks = random_blocks(9, 20);
        filler.submit(blocks.clone()).unwrap();
        let inputs: Vec<_> = blocks.iter().map(|&block| SearchInput::Density(block)).collect();
        searcher.submit(inputs).unwrap();
        device.destroy();
        filler.submit(blocks.clone()).unwrap();
        let batches = filler.wait();
        assert!(matches!(filler.failure(), Some(GpuError::Lost(_))), "{:?}", filler.failure());
        let (mut found, mut expected) = (DenseBox::default(), DenseBox::default());
        assert_eq!(batches.len(), 2);
        for batch in batches {
            assert_eq!(batch.blocks.len(), blocks.len());
            for (filled, &block) in batch.blocks.iter().zip(&blocks) {
                filled.fill_cells(&mut found);
                density.fill_cells(block, &mut expected);
                assert!(filled.block() == block && found == expected, "{block}");
            }
        }
        let searched = searcher.wait();
        assert_eq!(searched[0].blocks.len(), blocks.len());
        assert!(matches!(searcher.failure(), Some(GpuError::Lost(_))));
        let refused = GpuFiller::new(&device, &density, BatchOptions::default()).err();
        assert!(matches!(refused, Some(GpuError::Lost(_))), "{refused:?}");
    }
}

/// Streams a terrain around a viewer until it is settled; returns hashes of the meshes that are shown.
fn streamed(
    mut fill: impl FnMut(Vec<terravox::Job>) -> Vec<FinishedJob>,
) -> BTreeMap<MipBlock, u64> {
    // What is shown then depends on the viewer alone.
    let lod = LodOptions { hysteresis: 0.0, max_triangles: usize::MAX, ..LodOptions::default() };
    let mut terrain = Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() });
    let viewer = Viewer { position_m: [0.0, 40.0, 0.0], distance_m: 110.0 };
    // Meshes at rest are joined, some updates later.
    let (mut rest, mut count) = (0, 0);
    while rest < 100 {
        let jobs = terrain.take_jobs(&[viewer], Budget::Unlimited, 256);
        fill(jobs).into_iter().for_each(|done| terrain.finish_job(done));
        let now = terrain.meshed_blocks().len();
        rest = if terrain.is_settled() && now == count { rest + 1 } else { 0 };
        count = now;
        std::thread::yield_now();
    }
    let hashed = |block: MipBlock| {
        let mesh = terrain.mesh(block).unwrap();
        let mut hash = DefaultHasher::new();
        mesh.solid.positions.iter().flatten().for_each(|at| at.to_bits().hash(&mut hash));
        (&mesh.solid.indices, &mesh.solid.materials).hash(&mut hash);
        (block, hash.finish())
    };
    terrain.meshed_blocks().into_iter().map(hashed).collect()
}

/// Panics unless the same meshes are shown.
fn assert_same(found: &BTreeMap<MipBlock, u64>, expected: &BTreeMap<MipBlock, u64>) {
    let missing: Vec<_> = expected.keys().filter(|block| !found.contains_key(block)).collect();
    let more: Vec<_> = found.keys().filter(|block| !expected.contains_key(block)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, not expected {more:?}");
    assert_eq!(found, expected);
}

#[test]
fn a_streamed_terrain_is_that_of_the_cpu_also_when_the_device_is_lost_midway() {
    let density = fixed_ground(11);
    let mut scratch = JobScratch::default();
    let expected = streamed(|jobs| {
        jobs.into_iter().map(|job| job.run(&mut scratch, |request| density.fill(request))).collect()
    });
    assert!(expected.len() > 100, "{expected:?}");
    let mut by = |filler: GpuFiller, lose: Option<&GpuDevice>| {
        let mut filler = TerrainFiller::new(filler);
        let (mut frame, mut gpu_jobs) = (0, 0);
        let found = streamed(|jobs| {
            frame += 1;
            if let (4, Some(device)) = (frame, lose) {
                device.destroy();
            }
            let others = filler.take(jobs);
            let mut done: Vec<_> =
                others.into_iter().map(|job| job.run(&mut scratch, |_| ())).collect();
            let filled = filler.advance();
            gpu_jobs += filled.iter().filter(|job| job.is_from_gpu()).count();
            done.extend(filled.into_iter().map(|job| job.run(&mut scratch)));
            done
        });
        assert_same(&found, &expected);
        (gpu_jobs, filler.filler().stats())
    };
    by(GpuFiller::on_cpu(&density, GpuError::NoDevice), None);
    for device in GpuDevice::all() {
        let new = || GpuFiller::new(&device, &density, BatchOptions::default()).unwrap();
        let (gpu_jobs, stats) = by(new(), None);
        assert!(gpu_jobs > 50 && stats.cpu_blocks == 0, "{gpu_jobs} {stats:?}");
        let (_, stats) = by(new(), Some(&device));
        assert!(stats.cpu_blocks > 0, "{stats:?}");
        eprintln!("{}: {gpu_jobs} blocks; after a loss {stats:?}", device.name());
    }
}
