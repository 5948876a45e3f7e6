//! Brushes and undo: speed, bytes and volumes.

mod balls;
mod history;
mod volume;

use terravox::voxel::{Kind, Region, VoxelPos};

use crate::report::Report;
use crate::worlds::World;

/// Measures the whole area.
pub fn run(report: &mut Report) {
    balls::run(report);
    history::run(report);
    volume::run(report);
}

/// Places on the ground of a world, spread over it: the highest solid voxel of columns
/// that are `step` apart, where there is one.
fn places(world: &World, step: usize) -> Vec<VoxelPos> {
    let bounds = world.grid.bounds();
    let ground = |x: i32, z: i32| {
        let column = Region::new([x, bounds.min.y, z], [x + 1, bounds.max.y, z + 1]);
        let mut cells = terravox::voxel::DenseBox::default();
        world.read(column, &mut cells);
        let solid = |m: &u8| world.grid.materials().kind(*m) == Kind::Solid;
        let high = cells.materials().iter().rposition(solid)?;
        Some(VoxelPos::new(x, bounds.min.y + high as i32, z))
    };
    let half = step as i32 / 2;
    let along = |min: i32, max: i32| (min + half..max).step_by(step);
    let columns = along(bounds.min.z, bounds.max.z)
        .flat_map(|z| along(bounds.min.x, bounds.max.x).map(move |x| (x, z)));
    columns.filter_map(|(x, z)| ground(x, z)).collect()
}
