//! Pieces that are cut loose, fall, rest and are written back.

use crate::scene::{ROCK, Scene, flat};
use rapier3d::prelude::*;
use terravox::bodies::{LooseBody, LooseOptions, WriteBackMethod};
use terravox::edit::{Action, Brush, BrushOp, EditOp};
use terravox::terrain::Placement;
use terravox::voxel::{Region, SurfaceShape};
use terravox_rapier::{LooseShapeOptions, loose_builders, loose_pose, loose_shape};

fn block(centre: [f64; 3], half: [f64; 3], action: Action) -> EditOp {
    BrushOp::new(Brush::Box { centre, half, rotation: Brush::NO_ROTATION }, action).into()
}

/// A table on four legs, cut off them; metres.
fn table(scene: &mut Scene) -> LooseBody {
    let rock = || Action::Fill { material: ROCK };
    for (x, z) in [(-6.0, -6.0), (6.0, -6.0), (-6.0, 6.0), (6.0, 6.0)] {
        scene.terrain.edit(&block([x, 4.0, z], [1.0, 5.0, 1.0], rock())).unwrap();
    }
    scene.terrain.edit(&block([0.0, 9.0, 0.0], [8.0, 1.0, 8.0], rock())).unwrap();
    scene.terrain.edit(&block([0.0, 3.0, 0.0], [9.0, 1.0, 9.0], Action::Dig)).unwrap();
    let mut cut = scene.terrain.cut_loose(&LooseOptions::floor(-20)).unwrap();
    assert_eq!(cut.bodies.len(), 1);
    cut.bodies.remove(0)
}

/// Parts of a shape, and the sum of their volumes.
fn parts(shape: &SharedShape) -> (usize, f32) {
    let compound = shape.as_compound().expect("a compound");
    let volume = |part: &(Pose, SharedShape)| part.1.mass_properties(1.0).mass();
    (compound.shapes().len(), compound.shapes().iter().map(volume).sum())
}

#[test]
fn blocky_pieces_are_their_boxes() {
    let mut scene = Scene::new(flat);
    let mut materials = scene.terrain.grid().materials().clone();
    materials.set_shape(ROCK, SurfaceShape::Blocky);
    scene.terrain.grid_mut().set_materials(materials);
    let body = table(&mut scene);
    let (count, volume) = parts(&loose_shape(&body, 0.5, &LooseShapeOptions::default()));
    assert!((volume - body.cells as f32 / 8.0).abs() < 1e-2 * volume, "{volume}");
    assert!((5..40).contains(&count), "{count} boxes");
}

#[test]
fn smooth_pieces_are_few_hulls_that_cover_them() {
    let mut scene = Scene::new(flat);
    let body = table(&mut scene);
    let shape = loose_shape(&body, 1.0, &LooseShapeOptions::default());
    let (count, volume) = parts(&shape);
    let cells = body.cells as f32;
    assert!((2..=24).contains(&count), "{count} parts");
    assert!(volume > 0.85 * cells && volume < 1.15 * cells, "{volume} for {cells}");
    // The outermost points are those of the mesh.
    let aabb = shape.compute_local_aabb();
    let Region { min, max } = body.bounds;
    for (at, end) in [(aabb.mins, min), (aabb.maxs, max)] {
        let off = at - Vector::from(end.to_array().map(|v| v as f32));
        assert!(off.abs().max_element() < 0.3, "{aabb:?} of {:?}", body.bounds);
    }
}

#[test]
fn the_smallest_pieces_have_a_shape_too() {
    let mut scene = Scene::new(flat);
    for size in 1..4u32 {
        let half = [0.5 * f64::from(size), 0.5, 0.5];
        let centre = [half[0], 10.5, 0.5];
        scene.terrain.edit(&block(centre, half, Action::Fill { material: ROCK })).unwrap();
        let mut cut = scene.terrain.cut_loose(&LooseOptions::floor(-20)).unwrap();
        let body = cut.bodies.remove(0);
        assert_eq!(body.cells, u64::from(size));
        let (count, volume) = parts(&loose_shape(&body, 1.0, &LooseShapeOptions::default()));
        assert!(count > 0 && volume > 0.0, "{count} parts, {volume} of {size}");
    }
}

#[test]
fn a_cut_table_falls_rests_and_is_written_back() {
    let placement = Placement { voxel_size_m: 1.0, origin_m: [3.0, 0.0, -2.0] };
    let mut scene = Scene::placed(placement, flat);
    let body = table(&mut scene);
    let (rigid, collider) = loose_builders(&body, placement, &LooseShapeOptions::default());
    let (handle, _) = scene.world.insert(rigid, collider);
    scene.sync();
    scene.world.step();
    let rigid = &scene.world.bodies[handle];
    assert!((rigid.mass() / body.mass.mass as f32 - 1.0).abs() < 1e-4, "{}", rigid.mass());
    let centre = rigid.center_of_mass();
    assert!((centre.y - 8.3).abs() < 1.0, "{centre:?}");
    for _ in 0..1200 {
        scene.step();
        if scene.sleeps(handle) {
            break;
        }
    }
    assert!(scene.sleeps(handle), "it rests: {:?}", scene.world.bodies[handle].linvel());
    let rigid = &scene.world.bodies[handle];
    let fell = centre.y - rigid.center_of_mass().y;
    // It stands on the stumps, or tilted among them.
    assert!(fell > 1.0 && fell < 6.0, "it fell {fell} m");
    let (position, rotation) = loose_pose(rigid);
    let before = scene.terrain.grid().digest().unwrap();
    let how = scene.terrain.write_back(&body, position, rotation).unwrap();
    assert_ne!(scene.terrain.grid().digest().unwrap(), before);
    if let WriteBackMethod::Turned(turn) = how {
        assert_eq!(turn, [0; 3], "it did not tumble");
    }
    // What was written back is ground again.
    let top = rigid_top(&mut scene);
    assert!(top > 4.0 && top < 10.0, "{top}");
    scene.terrain.undo().unwrap();
    assert_eq!(scene.terrain.grid().digest().unwrap(), before);
}

/// Height of the ground in the middle, metres.
fn rigid_top(scene: &mut Scene) -> f32 {
    let hit = scene.terrain.ray([0.1, 30.0, 0.1], [0.0, -1.0, 0.0], 60.0).hit();
    hit.expect("there is ground").point_m[1] as f32
}
