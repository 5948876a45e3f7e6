//! Streams hills with caves from a density in WGSL around a viewer, then the same world on the CPU
//! alone, compares what is shown and draws it.
//!
//!   cargo run --example stream -- PICTURE.png [DISTANCE_M]

use std::error::Error;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use glam::DVec3;
use terravox::terrain::{
    Budget, JobScratch, LodOptions, ShownMesh, Terrain, TerrainOptions, Viewer,
};
use terravox_gpu::noise::{fixed_ground, ground_height};
use terravox_gpu::{BatchOptions, GpuError, GpuFiller, TerrainFiller};
use terravox_render::{Camera, FOV_DEGREES, PictureOptions, Scene, Viewpoint, render};

const SEED: u32 = 12;

/// 24 m above the ground.
fn eye_m() -> [f64; 3] {
    let (x, z) = (40, 130);
    let height = f64::from(ground_height(2 * x, 2 * z, SEED)) / 256.0;
    [f64::from(x), height + 24.0, f64::from(z)]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or("stream.png".to_owned());
    let distance_m = arguments.next().map_or(Ok(900.0), |text| text.parse())?;
    let density = fixed_ground(SEED);

    let filler = GpuFiller::open(&density, BatchOptions::default());
    match filler.failure() {
        Some(reason) => println!("{reason}"),
        None => println!("device: {}", filler.device_name().unwrap_or_default()),
    }
    let mut by_gpu = new_terrain();
    let mut filler = TerrainFiller::new(filler);
    let stats = stream(&mut by_gpu, &mut filler, distance_m);
    println!("all is shown after {} frames; {:?}", stats.frames, filler.filler().stats());
    println!("the longest call of `advance` took {:?}", stats.longest);

    let mut by_cpu = new_terrain();
    let mut filler = TerrainFiller::new(GpuFiller::on_cpu(&density, GpuError::NoDevice));
    stream(&mut by_cpu, &mut filler, distance_m);
    let digests = [digest(&by_gpu), digest(&by_cpu)];
    println!("digests {:016x} {:016x}", digests[0], digests[1]);
    draw(&by_gpu, distance_m, &file)?;
    if digests[0] != digests[1] {
        return Err("the worlds differ".into());
    }
    Ok(())
}

fn new_terrain() -> Terrain {
    let lod = LodOptions {
        max_mip: 6,
        // What is shown then depends on the viewer alone.
        hysteresis: 0.0,
        max_triangles: usize::MAX,
        ..LodOptions::default()
    };
    Terrain::new(TerrainOptions { lod, ..TerrainOptions::default() })
}

/// Streams a frame after the other until all is shown, and until meshes at rest are joined.
fn stream(terrain: &mut Terrain, filler: &mut TerrainFiller, distance_m: f64) -> StreamStats {
    let mut stats = StreamStats::default();
    let (mut scratch, viewer) = (JobScratch::default(), Viewer { position_m: eye_m(), distance_m });
    let (mut rest, mut count) = (0, 0);
    for frame in 0.. {
        let jobs = terrain.take_jobs(&[viewer], Budget::Unlimited, 64);
        let mut done: Vec<_> = filler
            .take(jobs)
            .into_iter()
            .map(|job| job.run(&mut scratch, |_| ())) // meshes: on your threads, in a game
            .collect();
        let start = Instant::now();
        let filled = filler.advance();
        stats.longest = stats.longest.max(start.elapsed());
        done.extend(filled.into_iter().map(|job| job.run(&mut scratch)));
        done.into_iter().for_each(|done| terrain.finish_job(done));
        let now = terrain.meshed_blocks().len();
        rest = if terrain.is_settled() && now == count { rest + 1 } else { 0 };
        count = now;
        if rest == 1 {
            stats.frames = frame;
        }
        if rest == 100 {
            break;
        }
    }
    stats
}

/// How a stream went.
#[derive(Default)]
struct StreamStats {
    /// Frames until all was shown.
    frames: usize,
    /// The longest call of [`TerrainFiller::advance`].
    longest: Duration,
}

/// A hash of all vertices and triangles that are shown.
fn digest(terrain: &Terrain) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut blocks = terrain.meshed_blocks();
    blocks.sort();
    for &block in &blocks {
        let Some(mesh) = terrain.mesh(block) else { continue };
        block.hash(&mut hash);
        mesh.solid.positions.iter().flatten().for_each(|at| at.to_bits().hash(&mut hash));
        (&mesh.solid.indices, &mesh.solid.materials, &mesh.solid.weights).hash(&mut hash);
    }
    hash.finish()
}

fn draw(terrain: &Terrain, distance: f64, file: &str) -> Result<(), Box<dyn Error>> {
    let shown = |block| {
        let mesh = terrain.mesh(block)?.clone();
        Some(ShownMesh { block, mip: block.mip, mesh })
    };
    let meshes: Vec<_> = terrain.meshed_blocks().into_iter().filter_map(shown).collect();
    let eye = DVec3::from(eye_m());
    let viewpoint = Viewpoint { eye, distance, detail: 3.0 };
    let mut scene = Scene::of_shown_meshes(&terrain.grid().snapshot(), &meshes, viewpoint);
    scene.set_textures(0);
    let options = PictureOptions { width: 960, height: 540, ..PictureOptions::default() };
    let camera = Camera::from_bearing(eye, 35.0, -16.0, FOV_DEGREES);
    let picture = render(&scene, &camera, &options, &|| ());
    picture.image.write_png(File::create(file)?)?;
    println!("{file}: {} meshes", meshes.len());
    Ok(())
}
