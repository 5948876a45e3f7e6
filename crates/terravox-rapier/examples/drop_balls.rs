//! Drops balls on hills, lets them settle, and digs the ground away under one of them.
//!
//! `cargo run --release -p terravox-rapier --example drop_balls`

use rapier3d::prelude::*;
use terravox::terrain::{Terrain, TerrainOptions};
use terravox::voxel::Cell;
use terravox::voxel::UnlistedChunks;
use terravox_rapier::TerrainColliders;

const ROCK: u8 = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let unlisted = UnlistedChunks::Air; // around what is filled there is air
    let mut terrain = Terrain::new(TerrainOptions { unlisted, ..TerrainOptions::default() });
    let hills = |p: [f64; 3]| 2.0 * (p[0] * 0.2).sin() * (p[2] * 0.2).cos() - p[1];
    terrain.fill([-32.0; 3], [32.0; 3], |request| request.fill_sdf(ROCK, hills))?;

    let mut world = PhysicsWorld::new();
    let mut ground = TerrainColliders::default();
    let mut balls = Vec::new();
    for i in 0..100 {
        let at = Vector::new((i % 10) as f32 * 3.0 - 14.0, 6.0, (i / 10) as f32 * 3.0 - 14.0);
        let body = RigidBodyBuilder::dynamic().translation(at).angular_damping(2.0);
        balls.push(world.insert(body, ColliderBuilder::ball(0.4)).0);
    }

    for step in 0..1200 {
        if step == 900 {
            let at = world.bodies[balls[0]].translation();
            let [low, high] = [at - Vector::splat(2.0), at + Vector::splat(2.0)];
            terrain.edit_cells(
                low.to_array().map(f64::from),
                high.to_array().map(f64::from),
                |_, _| Cell::AIR,
            )?;
            println!("digging at {at:.1}");
        }
        let report =
            ground.sync(&terrain, &mut world.bodies, &mut world.colliders, &mut world.islands);
        world.step();
        if step % 150 == 0 || step == 900 {
            let awake = balls.iter().filter(|&&ball| !world.bodies[ball].is_sleeping()).count();
            let blocks = ground.colliders().count();
            println!("step {step}: {awake} awake, {blocks} colliders, {report:?}");
        }
    }

    // What is the first ball lying on?
    let at = world.bodies[balls[0]].translation();
    let ray = Ray::new(at, Vector::new(0.0, -1.0, 0.0));
    let filter = QueryFilter::default().exclude_rigid_body(balls[0]);
    if let Some((hit, met)) = world.cast_ray_and_get_normal(&ray, 5.0, true, filter)
        && let Some(surface) =
            ground.surface(terrain.collider(), &world.colliders, hit, met.subshape)
    {
        let materials = terrain.grid().materials();
        let name = materials.get(surface.material).map_or("?", |material| &material.name);
        println!("it lies on {name}, voxel {:?}", surface.voxel);
    }
    Ok(())
}
