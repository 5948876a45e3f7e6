//! Box colliders of blocky terrain: all of them once, then only what an edit changes.
//!
//! `cargo run --release -p terravox --example box_colliders`

use terravox::boxes::{BoxColliders, BoxSink};
use terravox::voxel::{Cell, ChangeCursor, DenseBox, NotHeld, Region, VoxelGrid, VoxelPos};

/// Stands in for a physics engine: prints what it is told to make and to drop.
#[derive(Default)]
struct Printer {
    next: u32,
    /// How many more additions are printed.
    shown: u32,
}

impl BoxSink for Printer {
    type Handle = u32;

    fn add(&mut self, region: Region) -> u32 {
        self.next += 1;
        if self.shown > 0 {
            self.shown -= 1;
            println!("  add {:3}: {region}", self.next);
        }
        self.next
    }

    fn remove(&mut self, handle: u32) {
        println!("  remove {handle}");
    }
}

/// Steps of whole cells, 24³ voxels.
fn steps() -> DenseBox {
    let mut cells = DenseBox::new(Region::new([-12, 0, -12], [12, 24, 12]));
    for at in cells.region().voxels() {
        let height = 12 + at.x.div_euclid(4) - at.z.div_euclid(6);
        cells.set(at, if at.y < height { Cell::full(8) } else { Cell::AIR });
    }
    cells
}

fn main() -> Result<(), NotHeld> {
    let mut grid = VoxelGrid::default();
    grid.write(&steps())?;
    let mut cursor = ChangeCursor::default();
    let mut colliders = BoxColliders::new(5);
    let mut engine = Printer { shown: 8, ..Printer::default() };

    println!("all boxes, the first ones shown:");
    let done = colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut engine);
    let solid: u64 = colliders.iter().map(|(region, _)| region.volume()).sum();
    println!("{} boxes for {solid} solid cells", done.added);

    // Between two steps of the physics: what stays under a body is always covered, since
    // all additions come before any removal.
    let dug = VoxelPos::new(5, 12, -3);
    println!("dig the cell {dug}:");
    grid.write(&DenseBox::new(Region::one(dug)))?;
    engine.shown = 100;
    let edit = colliders.update(grid.as_snapshot(), &grid.changes_since(&mut cursor), &mut engine);
    println!("{} of {} boxes stay as they are", done.added - edit.removed, done.added);
    Ok(())
}
