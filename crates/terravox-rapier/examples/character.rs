//! Walks Rapier's own character controller over hills and reports where its feet are.
//!
//! `cargo run --release -p terravox-rapier --example character`

use rapier3d::control::KinematicCharacterController;
use rapier3d::prelude::*;
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::UnlistedChunks;
use terravox_rapier::TerrainColliders;

const GRASS: u8 = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let unlisted = UnlistedChunks::Air; // around what is filled there is air
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    let hills = |p: [f64; 3]| 2.0 * (p[0] * 0.2).sin() * (p[2] * 0.2).cos() - p[1];
    terrain.fill([-32.0; 3], [32.0; 3], |request| request.fill_sdf(GRASS, hills))?;

    let mut world = PhysicsWorld::new();
    let mut ground = TerrainColliders::default();
    let start = Vector::new(-20.0, 4.0, 0.0);
    let body = RigidBodyBuilder::kinematic_position_based().translation(start);
    let (body, collider) = world.insert(body, ColliderBuilder::capsule_y(0.5, 0.4));
    let controller = KinematicCharacterController::default();
    let dt = world.integration_parameters.dt;

    for step in 0..720 {
        // Ground is kept ready around the character, as around every body.
        ground.sync(&terrain, &mut world.bodies, &mut world.colliders, &mut world.islands);
        world.step();

        let filter = QueryFilter::default().exclude_rigid_body(body);
        let queries = world.query_pipeline_with_filter(filter);
        let shape = world.colliders[collider].shape();
        let wish = Vector::new(3.0, -3.0, 0.0) * dt;
        let at = world.bodies[body].position();
        let moved = controller.move_shape(dt, &queries, shape, at, wish, |_| {});
        let to = world.bodies[body].translation() + moved.translation;
        world.bodies[body].set_next_kinematic_translation(to);
        if step % 60 == 0 {
            let grounded = if moved.grounded { "on the ground" } else { "in the air" };
            println!("{:.1} s: at {to:.2}, {grounded}", step as f32 * dt);
        }
    }
    Ok(())
}
