//! A generator of one's own: a distance and a material in closures.
//!
//! `cargo run --release -p terravox --example own_noise`

use terravox::generate::fill_sdf;
use terravox::voxel::{DenseBox, NotHeld, Region, VoxelGrid};

/// A cheap noise: sines that do not repeat together.
fn noise(p: [f32; 3]) -> f32 {
    let wave = |a: f32, b: f32| (a * 0.13).sin() * (b * 0.17 + 1.3).cos();
    wave(p[0], p[2]) + 0.5 * wave(p[2] * 1.9, p[0] * 2.3)
}

fn main() -> Result<(), NotHeld> {
    let distance = |p: [f32; 3]| 6.0 * noise(p) - p[1];
    let material = |p: [f32; 3]| if p[1] > 3.0 { 10 } else { 2 }; // snow on grass
    let mut grid = VoxelGrid::default();
    let mut cells = DenseBox::default();
    for chunk in Region::new([-128, -32, -128], [128, 32, 128]).blocks::<5>() {
        cells.reset(chunk.region());
        fill_sdf(&mut cells, 0, distance, material);
        grid.write(&cells)?;
    }
    // Far away, the same generator answers coarse cells without making the fine ones.
    let mut far = DenseBox::new(Region::new([0, -1, 0], [32, 1, 32]));
    fill_sdf(&mut far, 5, distance, material);
    let solid = far.materials().iter().filter(|&&material| material != 0).count();
    let memory = grid.memory();
    println!(
        "{} chunks in {} bytes, digest {:032x}",
        memory.chunks,
        memory.total(),
        grid.digest()?
    );
    println!("{solid} of {} cells of mip 5 are solid", far.len());
    Ok(())
}
