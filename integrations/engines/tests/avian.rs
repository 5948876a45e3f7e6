//! Bodies of avian3d on terravox ground.

mod ground;

use std::time::Duration;

use avian3d::prelude::*;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use ground::{blocks, hills};
use parry_0_27::shape::SharedShape;
use terravox_rapier::parry_0_27::GroundShape;

#[test]
fn bodies_of_avian_rest_on_hills() {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, PhysicsPlugins::default()));
    let step = Duration::from_secs_f64(1.0 / 60.0);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
    app.finish();
    app.cleanup();
    for (corner, ground) in blocks() {
        let shape = SharedShape::new(GroundShape::new(ground).unwrap());
        app.world_mut().spawn((
            RigidBody::Static,
            Collider::from(shape),
            Transform::from_translation(Vec3::from(corner)),
        ));
    }
    let kinds =
        [Collider::sphere(0.5), Collider::cuboid(1.0, 0.8, 1.2), Collider::capsule(0.3, 0.8)];
    let mut bodies = Vec::new();
    for (i, collider) in kinds.into_iter().cycle().take(12).enumerate() {
        let at = Vec3::new((i % 4) as f32 * 5.0 - 8.0, 4.0, (i / 4) as f32 * 5.0 - 6.0);
        let damping = AngularDamping(3.0);
        let body = (RigidBody::Dynamic, collider, Friction::new(1.0), damping);
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
