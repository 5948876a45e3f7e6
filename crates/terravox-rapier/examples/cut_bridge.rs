//! Cuts a bridge at both ends: it falls as one body, comes to rest and is ground again.
//!
//! `cargo run --release -p terravox-rapier --example cut_bridge`

use rapier3d::prelude::*;
use terravox::bodies::LooseOptions;
use terravox::edit::EditOp;
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::UnlistedChunks;
use terravox_rapier::{LooseShapeOptions, TerrainColliders, loose_builders, loose_pose};

const ROCK: u8 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let unlisted = UnlistedChunks::Air; // around what is filled there is air
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    let valley = |p: [f64; 3]| {
        let ground = (p[0].abs() - 24.0).clamp(-16.0, 4.0) - p[1];
        let deck = (1.6 - (p[1] - 6.0 + p[0] * p[0] * 0.003).abs()).min(4.0 - p[2].abs());
        ground.max(deck)
    };
    terrain.fill([-48.0, -32.0, -24.0], [48.0, 16.0, 24.0], |request| {
        request.fill_sdf(ROCK, valley)
    })?;

    let mut world = PhysicsWorld::new();
    let mut ground = TerrainColliders::default();
    let options = LooseOptions::floor(-31); // what is below never falls
    let mut falling = Vec::new();
    for x in [-20.0, 20.0] {
        terrain.edit(&EditOp::dig_ball([x, 5.0, 0.0], 6.0))?;
        let cut = terrain.cut_loose(&options)?;
        println!("digging at {x} m cuts {} bodies loose", cut.bodies.len());
        for body in cut.bodies {
            let shape = LooseShapeOptions::default();
            let (rigid, collider) = loose_builders(&body, terrain.placement(), &shape);
            println!("one of {} cells, {:.0} tonnes", body.cells, body.mass.mass / 1000.0);
            falling.push((body, world.insert(rigid, collider).0));
        }
    }

    for step in 0..1200 {
        ground.sync(&terrain, &mut world.bodies, &mut world.colliders, &mut world.islands);
        world.step();
        for (body, handle) in &falling {
            if step % 60 == 0 {
                let rigid = &world.bodies[*handle];
                println!(
                    "{:>2} s: {} cells at {:.1}",
                    step / 60,
                    body.cells,
                    rigid.center_of_mass()
                );
            }
        }
        // What rests becomes ground.
        let (resting, others): (Vec<_>, Vec<_>) =
            falling.into_iter().partition(|fallen| world.bodies[fallen.1].is_sleeping());
        falling = others;
        for (body, handle) in resting {
            let (position, rotation) = loose_pose(&world.bodies[handle]);
            let how = terrain.write_back(&body, position, rotation)?;
            println!("{} cells rest and are written back: {how:?}", body.cells);
            world.remove_body(handle);
        }
        if falling.is_empty() {
            break;
        }
    }
    Ok(())
}
