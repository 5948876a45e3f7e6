//! Bodies float as deep as their density says, sink where they are heavy, and stay where
//! it is dry.

use crate::scene::{Scene, kinds};
use rapier3d::prelude::*;
use terravox::voxel::{Cell, WATER};
use terravox_rapier::{Buoyancy, WaterOptions};

/// A lake 6 m deep with its surface at 0, in a bed of rock.
fn lake() -> Scene {
    let mut scene = Scene::new(|p| -6.0 - p[1]);
    let fill = |_, cell: Cell| if cell == Cell::AIR { Cell::full(WATER) } else { cell };
    scene.terrain.edit_cells([-32.0, -8.0, -32.0], [32.0, 0.0, 32.0], fill).unwrap();
    scene
}

fn float(scene: &mut Scene, steps: usize) {
    let mut buoyancy = Buoyancy::default();
    let options = WaterOptions::default();
    for _ in 0..steps {
        scene.sync();
        let PhysicsWorld { bodies, colliders, .. } = &mut scene.world;
        let placement = scene.terrain.placement();
        let ground = scene.terrain.collider();
        buoyancy.apply(ground, placement, bodies, colliders, 1.0 / 60.0, &options);
        scene.world.step();
    }
}

#[test]
fn crates_float_at_the_depth_of_their_density() {
    let mut scene = lake();
    let mut crates = Vec::new();
    for (i, share) in [0.1, 0.3, 0.5, 0.7, 0.9].into_iter().enumerate() {
        let collider = ColliderBuilder::cuboid(0.5, 0.5, 0.5).density(1000.0 * share);
        crates.push((share, scene.drop(collider, [i as f32 * 3.1 - 6.0, 1.0, 0.3])));
    }
    float(&mut scene, 1200);
    for (share, body) in crates {
        let depth = 0.5 - scene.at(body).y;
        assert!((depth - share).abs() < 0.05, "{share}: {depth} at {}", scene.at(body));
    }
}

#[test]
fn all_kinds_rise_when_light_and_sink_when_heavy() {
    for (density, floats) in [(300.0, true), (3000.0, false)] {
        let mut scene = lake();
        let mut bodies = Vec::new();
        for (i, (name, collider)) in kinds().into_iter().enumerate() {
            let at = [i as f32 * 4.0 - 10.0, -3.0, 0.3];
            bodies.push((name, scene.drop(collider.density(density), at)));
        }
        float(&mut scene, 600);
        for (name, body) in bodies {
            let y = scene.at(body).y;
            assert_eq!(y > -0.6, floats, "{name} of {density} kg/m³ at {y}");
            assert!(y > -6.0 && y < 1.0, "{name} at {y}");
        }
    }
}

#[test]
fn a_body_that_is_put_into_water_floats_in_its_first_step() {
    let mut scene = lake();
    let put = scene.drop(ColliderBuilder::ball(0.5).density(300.0), [40.0, 3.0, 0.1]);
    scene.step();
    scene.world.bodies[put].set_translation(Vector::new(0.0, -3.0, 0.0), true);
    scene.sync();
    let PhysicsWorld { bodies, colliders, .. } = &mut scene.world;
    let (ground, placement) = (scene.terrain.collider(), scene.terrain.placement());
    let options = WaterOptions::default();
    let pushed =
        Buoyancy::default().apply(ground, placement, bodies, colliders, 1.0 / 60.0, &options);
    assert_eq!(pushed, 1);
    assert!(bodies[put].linvel().y > 0.0);
}

#[test]
fn dry_bodies_feel_nothing_and_water_that_goes_lets_fall() {
    let mut scene = lake();
    let floater = scene.drop(ColliderBuilder::ball(0.5).density(300.0), [0.2, 0.2, 0.1]);
    let dry = scene.drop(ColliderBuilder::ball(0.5).density(300.0), [40.0, 3.0, 0.1]);
    float(&mut scene, 120);
    assert!((scene.at(dry).y + 5.5).abs() < 0.05, "{}", scene.at(dry));
    float(&mut scene, 1200);
    let dug = |_, cell: Cell| if cell.material == WATER { Cell::AIR } else { cell };
    scene.terrain.edit_cells([-8.0, -7.0, -8.0], [8.0, 0.0, 8.0], dug).unwrap();
    float(&mut scene, 200);
    assert!((scene.at(floater).y + 5.5).abs() < 0.05, "{}", scene.at(floater));
}
