//! Friction, restitution and density of the material table reach Rapier.

use crate::scene::Scene;
use rapier3d::prelude::*;
use terravox::bodies::LooseOptions;
use terravox::edit::{Action, Brush, BrushOp};
use terravox::terrain::{FillRequest, Terrain, TerrainOptions};
use terravox::voxel::{Kind, Material, MaterialTable, UnlistedChunks};
use terravox_rapier::{LooseShapeOptions, TerrainColliders, loose_builders};

const ICE: u8 = 2;
const RUBBER: u8 = 3;

/// Air, water, slippery ice that is light, rubber that bounces and is heavy.
fn materials(ice_friction: f32) -> MaterialTable {
    let base = MaterialTable::default().get(8).unwrap().clone();
    let air = MaterialTable::default().get(0).unwrap().clone();
    let water = Material { kind: Kind::Liquid, ..base.clone() };
    let ice = Material { friction: ice_friction, restitution: 0.0, density: 900.0, ..base.clone() };
    let rubber = Material { friction: 1.0, restitution: 0.9, density: 1800.0, ..base };
    MaterialTable::new(vec![air, water, ice, rubber])
}

/// Ground that falls by `slope` along Z: ice where x < 0, rubber where x > 0.
fn scene(slope: f32) -> Scene {
    let (materials, unlisted) = (materials(0.05), UnlistedChunks::Air);
    let mut terrain =
        Terrain::new(TerrainOptions { materials, unlisted, ..TerrainOptions::default() });
    let steep = (1.0 + slope * slope).sqrt();
    let fill = |request: &mut FillRequest<'_>| {
        let material = |p: [f64; 3]| if p[0] < 0.0 { ICE } else { RUBBER };
        let (slope, steep) = (f64::from(slope), f64::from(steep));
        request.fill_sdf_with(|p| (-slope * p[2] - p[1]) / steep, material);
    };
    terrain.fill([-16.0, -32.0, -32.0], [16.0, 32.0, 32.0], fill).unwrap();
    let mut world = PhysicsWorld::new();
    world.gravity = Vector::new(0.0, -9.81, 0.0);
    Scene { terrain, ground: TerrainColliders::default(), world }
}

/// A crate that adds nothing of its own to a contact.
fn bare(scene: &mut Scene, at: [f32; 3], turn: f32) -> RigidBodyHandle {
    let rule = CoefficientCombineRule::Max;
    let collider = ColliderBuilder::cuboid(0.6, 0.3, 0.6)
        .friction(0.0)
        .restitution(0.0)
        .friction_combine_rule(rule)
        .restitution_combine_rule(rule);
    let body =
        RigidBodyBuilder::dynamic().translation(at.into()).rotation(Vector::new(turn, 0.0, 0.0));
    scene.world.insert(body, collider).0
}

#[test]
fn crates_slide_on_what_is_slippery_and_stay_on_what_is_not() {
    let slope: f32 = 0.4;
    let mut scene = scene(slope);
    let [ice, rubber] =
        [-6.0, 6.0].map(|x| bare(&mut scene, [x, 0.4 + 4.0 * slope, -4.0], slope.atan()));
    scene.steps(120);
    let gone = [ice, rubber].map(|body| scene.at(body).z + 4.0);
    // (sin − 0.05 cos) · 9.81 / 2 · 2² along the slope, at 21.8°.
    assert!((gone[0] - 5.9).abs() < 1.2, "{gone:?}");
    assert!(gone[1].abs() < 0.5, "{gone:?}");
    // A table in its place counts from the next sync on.
    let before = scene.at(ice).z;
    scene.terrain.grid_mut().set_materials(materials(2.0));
    assert!(scene.sync().changed > 0);
    scene.steps(120);
    assert!(scene.at(ice).z - before < 4.0, "it was stopped at {}", scene.at(ice));
    assert!(scene.world.bodies[ice].linvel().length() < 0.1);
}

#[test]
fn balls_bounce_by_the_ground_below() {
    let mut scene = scene(0.0);
    let rule = CoefficientCombineRule::Max;
    let ball = || ColliderBuilder::ball(0.5).restitution(0.0).restitution_combine_rule(rule);
    let balls = [-6.0, 6.0].map(|x| scene.drop(ball(), [x, 4.5, 0.0]));
    let mut highest = [0.0f32; 2];
    for step in 0..120 {
        scene.step();
        // Dropped from 4 m above the ground, they hit it after 0.9 s.
        if step > 60 {
            for (highest, &ball) in highest.iter_mut().zip(&balls) {
                *highest = highest.max(scene.at(ball).y - 0.5);
            }
        }
    }
    assert!(highest[0] < 0.1, "{highest:?}");
    assert!((highest[1] - 4.0 * 0.81).abs() < 0.5, "{highest:?}");
}

#[test]
fn loose_pieces_weigh_what_their_materials_do() {
    let mut scene = scene(0.0);
    for (material, x, half) in [(ICE, -1.5, 1.5), (RUBBER, 2.5, 2.5)] {
        let brush = Brush::Box {
            centre: [x, 9.0, 1.0],
            half: [half, 1.0, 1.0],
            rotation: Brush::NO_ROTATION,
        };
        scene.terrain.edit(&BrushOp::new(brush, Action::Fill { material }).into()).unwrap();
    }
    let cut = scene.terrain.cut_loose(&LooseOptions::floor(-20)).unwrap();
    let [body] = &cut.bodies[..] else { panic!("{} pieces", cut.bodies.len()) };
    let placement = scene.terrain.placement();
    let (rigid, collider) = loose_builders(body, placement, &LooseShapeOptions::default());
    let handle = scene.world.insert(rigid, collider).0;
    scene.world.step();
    let expected = 2.0 * 2.0 * (3.0 * 900.0 + 5.0 * 1800.0);
    let mass = scene.world.bodies[handle].mass();
    assert!((mass / expected - 1.0).abs() < 0.01, "{mass} kg, {expected} expected");
    let collider = &scene.world.colliders[scene.world.bodies[handle].colliders()[0]];
    assert_eq!((collider.friction(), collider.restitution()), (1.0, 0.9), "most of it is rubber");
}
