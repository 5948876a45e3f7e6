//! A brush of one's own, outside the crate: terraces. It reads a region and writes a
//! region, as the brushes that come with the crate do. Put as `EditOp::write` the result
//! is an operation as any other: undone with the rest, kept, sent and replayed.

use std::error::Error;
use terravox::edit::{Clip, EditOp, Editor, History};
use terravox::voxel::{AIR, Cell, DenseBox, Region, VoxelGrid, VoxelPos};

/// Cuts the ground of a region into steps of `height` voxels.
fn terraces(grid: &VoxelGrid, region: Region, height: i32) -> Result<EditOp, Box<dyn Error>> {
    let mut cells = DenseBox::default();
    grid.read(region, 0, &mut cells)?;
    for pos in region.voxels().filter(|p| p.y.rem_euclid(height) != 0) {
        // Ground stays where the step's lowest cell is full.
        let base = VoxelPos::new(pos.x, pos.y - pos.y.rem_euclid(height), pos.z);
        let step = if region.contains(base) { cells.cell(base) } else { Cell::AIR };
        if step.units() < 256 {
            cells.set(pos, Cell::AIR);
        } else if cells.cell(pos).material == AIR {
            cells.set(pos, step);
        }
    }
    Ok(EditOp::write(Clip::new(cells)?, region.min))
}

fn main() -> Result<(), Box<dyn Error>> {
    let hill = EditOp::fill_ball(8, [0.0, -12.0, 0.0], 24.0);
    let mut grid = VoxelGrid::default();
    let (mut editor, mut history) = (Editor::default(), History::default());
    editor.apply(&mut grid, &hill, &mut history)?;
    let smooth = grid.digest()?;

    let op = terraces(&grid, Region::new([-24, 0, -24], [24, 14, 24]), 4)?;
    let cut = editor.apply(&mut grid, &op, &mut history)?;
    let stepped = grid.digest()?;
    println!("terraces: {} 256ths dug, {} filled", cut.removed.total(), cut.added.total());

    history.undo(&mut grid)?;
    assert_eq!(grid.digest()?, smooth, "undo is exact");
    history.redo(&mut grid)?;
    assert_eq!(grid.digest()?, stepped, "and so is redo");

    // The same operations elsewhere give the same world.
    let mut replay = VoxelGrid::default();
    for op in [&hill, &op] {
        editor.apply(&mut replay, op, None)?;
    }
    assert_eq!(replay.digest()?, stepped);
    println!("undone, redone and replayed: {stepped:032x}");
    Ok(())
}
