//! Bodies of bevy_rapier3d on terravox ground.

mod ground;

use bevy::prelude::*;
use bevy_rapier3d::prelude::*;
use ground::{blocks, hills};
use parry_0_30::shape::SharedShape;
use terravox_rapier::parry_0_30::GroundShape;

#[test]
fn bodies_of_bevy_rapier_rest_on_hills() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin));
    app.add_plugins(RapierPhysicsPlugin::<NoUserData>::default());
    app.insert_resource(TimestepMode::Fixed { dt: 1.0 / 60.0, substeps: 1 });
    app.finish();
    app.cleanup();
    for (corner, ground) in blocks() {
        let shape = SharedShape::new(GroundShape::new(ground).unwrap());
        let at = Transform::from_translation(Vec3::from(corner));
        app.world_mut().spawn((RigidBody::Fixed, Collider::from(shape), at));
    }
    let kinds =
        [Collider::ball(0.5), Collider::cuboid(0.5, 0.4, 0.6), Collider::capsule_y(0.4, 0.3)];
    let mut bodies = Vec::new();
    for (i, collider) in kinds.into_iter().cycle().take(12).enumerate() {
        let at = Vec3::new((i % 4) as f32 * 5.0 - 8.0, 4.0, (i / 4) as f32 * 5.0 - 6.0);
        let damping = Damping { linear_damping: 0.0, angular_damping: 3.0 };
        let body = (RigidBody::Dynamic, collider, Friction::coefficient(1.0), damping);
        bodies.push(app.world_mut().spawn((body, Transform::from_translation(at))).id());
    }
    for _ in 0..900 {
        app.update();
    }
    for body in bodies {
        let at = app.world().get::<Transform>(body).unwrap().translation;
        let ground = hills(at.x, at.z);
        assert!(at.y < 3.0 && at.y > ground && at.y < ground + 1.2, "at {at}, ground {ground}");
    }
}
