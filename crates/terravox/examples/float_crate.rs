//! A crate that is dropped into a lake: the library says how much of it is under water and
//! what ground it touches, a few lines of physics do the rest.
//!
//! `cargo run --release -p terravox --example float_crate`

use terravox::collide::{Collider, Filter};
use terravox::contacts::{Body, BodyPart, ContactOptions, Contacts, WaterScratch};
use terravox::generate::fill_sdf;
use terravox::geometry::Shape;
use terravox::voxel::{Cell, DenseBox, Kind, NotHeld, Region, VoxelGrid, WATER};

/// Seconds.
const STEP: f32 = 1.0 / 60.0;

fn main() -> Result<(), NotHeld> {
    // A bowl of rock with water up to 0.4 voxels above 0.
    let mut cells = DenseBox::new(Region::new([-32, -16, -32], [32, 16, 32]));
    fill_sdf(&mut cells, 0, |p| 0.4 - p[1], |_| WATER);
    let mut rock = DenseBox::new(cells.region());
    fill_sdf(&mut rock, 0, |[x, y, z]| (x * x + z * z).sqrt() * 0.7 - 14.0 - y, |_| 8);
    for at in cells.region().voxels() {
        let cell: Cell = rock.cell(at);
        if !cell.is_air() {
            cells.set(at, cell);
        }
    }
    let mut grid = VoxelGrid::default();
    grid.write(&cells)?;
    let mut collider = Collider::default();
    collider.update(&grid);
    assert_eq!(grid.materials().kind(WATER), Kind::Liquid);

    for density in [0.2_f32, 0.6, 1.5] {
        let parts = [BodyPart::new(Shape::Box { half: [0.5; 3], rotation: [0.0, 0.0, 0.0, 1.0] })];
        let (mut height, mut speed) = (3.0_f64, 0.0_f32);
        let (mut scratch, mut contacts) = (WaterScratch::default(), Contacts::default());
        let mut share = 0.0;
        for _ in 0..1800 {
            let position = [1.3, height, -0.7];
            let body = Body { parts: &parts, position, rotation: [0.0, 0.0, 0.0, 1.0] };
            let wet = scratch.submersion(&collider, &body).found;
            share = wet.share();
            // Weight, lift, drag; all by the crate's mass.
            let lift = wet.volume / (density * wet.body_volume);
            speed = speed * (1.0 - 4.0 * share * STEP) + 9.81 * (lift - 1.0) * STEP;
            // The ground, should it sink so deep.
            let options = ContactOptions { prediction_voxels: 0.2, filter: Filter::SOLID };
            contacts.find(&collider, &body, &options);
            for point in contacts.manifolds.iter().flat_map(|manifold| manifold.points()) {
                speed = speed.max(-point.distance / STEP);
            }
            height += f64::from(speed * STEP);
        }
        let deep = 0.4 - (height - 0.5);
        let percent = 100.0 * share;
        println!("density {density}: its bottom {deep:.3} m deep, {percent:.0} % of it under");
    }
    Ok(())
}
