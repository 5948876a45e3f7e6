//! Digs a tunnel through a hill along a path, lays a floor, and takes it back.

use terravox::edit::{Action, Brush, BrushOp, EditOp};
use terravox::terrain::{Terrain, TerrainError, TerrainOptions};
use terravox::voxel::UnlistedChunks;

const GRASS: u8 = 2;
const COBBLESTONE: u8 = 17;

fn main() -> Result<(), TerrainError> {
    // A world of which all is known: air around what is built.
    let unlisted = UnlistedChunks::Air;
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    terrain.edit(&EditOp::fill_ball(GRASS, [0.0, -30.0, 0.0], 50.0))?;

    // One stroke: undone as one.
    terrain.history_mut().begin_stroke();
    let points = vec![[-60.0, 4.0, 0.0], [0.0, 2.0, 10.0], [60.0, 4.0, 0.0]];
    let tunnel = Brush::Path { points: points.clone(), radius: 4.0 };
    let dug = terrain.edit(&BrushOp::new(tunnel, Action::Dig).into())?;
    let floor = points.into_iter().map(|[x, y, z]| [x, y - 3.5, z]).collect();
    let floor = Brush::Path { points: floor, radius: 1.5 };
    let laid = terrain.edit(&BrushOp::new(floor, Action::Fill { material: COBBLESTONE }).into())?;
    terrain.history_mut().end_stroke();

    println!("dug {:.1} m³ of grass", dug.removed.voxels(GRASS));
    println!("laid {:.1} m³ of cobblestone", laid.added.voxels(COBBLESTONE));
    let through = |terrain: &mut Terrain| {
        terrain.ray([-60.0, 4.0, 0.0], [60.0, -2.0, 10.0], 40.0).hit().is_none()
    };
    println!("light falls through: {}", through(&mut terrain));
    terrain.undo()?;
    println!("after undo: {}", through(&mut terrain));
    let stats = terrain.history_mut().stats();
    println!("history: {} bytes, {} to redo", stats.bytes, stats.redoable);
    Ok(())
}
