//! Draws hills to the horizon with wgpu, from the buffers that a game would fill, and checks
//! the picture against one drawn on the CPU.
//!
//!     cargo run --release -- picture.png [--morph]

mod buffers;
mod check;
mod gpu;
mod world;

use buffers::Buffers;
use glam::{Mat4, Vec3, Vec4};
use gpu::{Camera, Gpu, Picture};
use std::time::Instant;
use terravox::lod::ShownMesh;
use terravox::mesh::{PackedSurface, PackedVertex};
use terravox::voxel::VoxelPos;
use world::World;

/// Pixels, twice those of the picture that is written.
const SIZE: [u32; 2] = [1920, 1088];

/// Voxels from the eye to the near plane.
const NEAR: f32 = 0.5;

/// Exit status where there is no device: nothing was checked.
const NO_DEVICE: i32 = 77;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, files): (Vec<_>, Vec<_>) = arguments.iter().partition(|a| a.starts_with("--"));
    let ([path], true) = (files.as_slice(), options.iter().all(|o| *o == "--morph")) else {
        eprintln!("give one file to write and no option but --morph: picture.png [--morph]");
        std::process::exit(2);
    };
    let gpu = Gpu::new().unwrap_or_else(|error| {
        eprintln!("NOT RUN: {error}");
        std::process::exit(NO_DEVICE);
    });
    println!("device: {}", gpu.name);
    match run(&gpu, !options.is_empty(), path) {
        Ok(()) => println!("what the card draws is what the meshes say"),
        Err(error) => {
            eprintln!("FAILED: {error}");
            std::process::exit(1);
        }
    }
}

fn run(gpu: &Gpu, morph: bool, path: &str) -> Result<(), String> {
    let world = World::dug_hills(morph);
    let eye = world.eye_m.to_array();
    // A corner of a chunk, so that places are exact.
    let origin = VoxelPos::from(eye.map(|v| (v / 32.0).floor() as i32 * 32));
    let start = Instant::now();
    let buffers = Buffers::new(&world.shown, origin);
    report(&world.shown, &buffers, start);
    let unpacked = gpu.unpack(&buffers);
    let count = check::vertices(&world.shown, &buffers.places, &unpacked)?;
    println!("{count} vertices: position, place, materials and weights exact, normals near");

    let camera = camera(&world, origin);
    let picture = gpu.draw(&buffers, &camera, world.terrain.grid().materials());
    println!("{} surfaces drawn, {} out of sight", picture.drawn[0], picture.drawn[1]);
    write(path, &picture).map_err(|error| format!("{path}: {error}"))?;
    let expected = check::depths(&world.shown, origin, &camera);
    println!("{}", check::pixels(&picture, &expected, SIZE)?);
    Ok(())
}

fn camera(world: &World, origin: VoxelPos) -> Camera {
    // Voxels are of one metre and lie at the world's origin.
    let origin = origin.to_array().map(f64::from);
    let eye = Vec3::from([0, 1, 2].map(|i| (world.eye_m.to_array()[i] - origin[i]) as f32));
    let aspect = SIZE[0] as f32 / SIZE[1] as f32;
    let cot = 1.0 / (0.5 * 55f32.to_radians()).tan();
    // Without a far plane, and depths from 1 at the near plane to 0: exact far away too.
    let clip_from_view = Mat4::from_cols_array_2d(&[
        [cot / aspect, 0.0, 0.0, 0.0],
        [0.0, cot, 0.0, 0.0],
        [0.0, 0.0, 0.0, -1.0],
        [0.0, 0.0, NEAR, 0.0],
    ]);
    let right = world.forward.cross(Vec3::Y).normalize();
    let [x, y, z] = [right, right.cross(world.forward), -world.forward];
    let turned = Mat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), Vec4::W).transpose();
    let view = turned * Mat4::from_translation(-eye);
    Camera { clip_from_voxel: clip_from_view * view, eye, size: SIZE }
}

/// What was packed, and how large it is.
fn report(shown: &[ShownMesh], buffers: &Buffers, start: Instant) {
    let nanos = start.elapsed().as_nanos() as f64 / buffers.vertices.len().max(1) as f64;
    let by_mip = |mip: u8| shown.iter().filter(|s| s.mip == mip).count();
    let mips: Vec<String> = (0..8).map(|mip| by_mip(mip).to_string()).collect();
    let joined = shown.iter().filter(|s| s.block.mip > s.mip).count();
    println!("{} meshes, by mip {}, {joined} of them joined", shown.len(), mips.join(" "));
    let indices = [buffers.narrow.len(), buffers.wide.len()];
    println!(
        "{} vertices of {} bytes, {} + {} indices of 2 and 4 bytes; packed in {nanos:.0} ns a vertex",
        buffers.vertices.len(),
        size_of::<PackedVertex>(),
        indices[0],
        indices[1],
    );
    let mut packed = PackedSurface::default();
    if let Some(shown) = shown.iter().find(|s| !s.mesh.solid.targets.is_empty()) {
        shown.mesh.solid.pack(&mut packed);
        println!("{} bytes a vertex with targets", packed.bytes_per_vertex());
    }
}

/// Writes a picture of half the size.
fn write(path: &str, picture: &Picture) -> Result<(), Box<dyn std::error::Error>> {
    let [width, height] = SIZE.map(|edge| edge as usize / 2);
    let linear = |v: u8| (f32::from(v) / 255.0).powf(2.2);
    let mut colours = Vec::with_capacity(3 * width * height);
    for row in 0..height {
        for column in 0..width {
            for channel in 0..3 {
                let of = |x: usize, y: usize| {
                    let pixel = (2 * row + y) * 2 * width + 2 * column + x;
                    linear(picture.colours[4 * pixel + channel])
                };
                let mean = 0.25 * (of(0, 0) + of(1, 0) + of(0, 1) + of(1, 1));
                colours.push((mean.powf(1.0 / 2.2) * 255.0 + 0.5) as u8);
            }
        }
    }
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&colours)?;
    Ok(())
}
