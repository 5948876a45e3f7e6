//! Trees and bushes on a grassy hill of rock, seen from above, before and after a dig.
//!
//! `cargo run --release -p terravox --example plants`

use std::sync::Arc;

use terravox::EditOp;
use terravox::edit::Editor;
use terravox::generate::fill_height;
use terravox::scatter::{Scatter, ScatterRule, ScatterRules};
use terravox::voxel::{Cell, ChunkPos, DenseBox, MipBlock, Region, VoxelGrid};

const GRASS: u8 = 2;
const ROCK: u8 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut grid = VoxelGrid::default();
    let land = Region::new([0, -32, 0], [64, 32, 64]);
    for chunk in land.blocks::<5>() {
        let mut cells = DenseBox::new(chunk.region());
        let hill = |x: f64, z: f64| 12.0 - 0.02 * ((x - 32.0).powi(2) + (z - 32.0).powi(2));
        fill_height(&mut cells, 0, ROCK, -32.0..=12.0, hill);
        for at in cells.region().voxels() {
            let cell = cells.cell(at);
            let is_top = f64::from(at.y) > hill(f64::from(at.x), f64::from(at.z)) - 3.0;
            if cell.material == ROCK && is_top {
                cells.set(at, Cell { material: GRASS, ..cell });
            }
        }
        grid.write(&cells)?;
    }

    let bushes = ScatterRule {
        spacing_voxels: 2.0,
        materials: vec![GRASS],
        patches: 0.9,
        ..ScatterRule::default()
    };
    let trees = ScatterRule {
        seed: 1,
        spacing_voxels: 7.0,
        slope_degrees: [0.0, 30.0],
        patches: 0.0,
        ..bushes.clone()
    };
    let mut scatter = Scatter::new(Arc::new(ScatterRules::new(vec![bushes, trees])?));
    let blocks: Vec<MipBlock> = land.blocks::<5>().map(|chunk: ChunkPos| chunk.into()).collect();
    scatter.show(&blocks);
    println!("{} blocks are made.", scatter.update(&grid, usize::MAX).renewed.len());
    print(&scatter);

    Editor::default().apply(&mut grid, &EditOp::dig_ball([20.0, 9.0, 32.0], 9.0), None)?;
    println!("A dig renews {}.", scatter.update(&grid, usize::MAX).renewed.len());
    print(&scatter);
    Ok(())
}

/// Prints the land from above: a character is a voxel wide and two deep.
fn print(scatter: &Scatter) {
    let mut lines = vec![vec![' '; 64]; 32];
    for block in scatter.blocks() {
        let min = block.voxels().min;
        for thing in scatter.instances(block) {
            let x = f64::from(min.x) + f64::from(thing.position[0]);
            let z = f64::from(min.z) + f64::from(thing.position[2]);
            let place = lines.get_mut((z / 2.0) as usize).and_then(|line| line.get_mut(x as usize));
            if let Some(place) = place.filter(|place| **place != 'T') {
                *place = ['.', 'T'][usize::from(thing.rule)];
            }
        }
    }
    for line in lines {
        println!("{}", line.into_iter().collect::<String>().trim_end());
    }
}
