//! Without flags, a game that others can join: it serves `--world FILE` and prints its address.
//! `--join ADDRESS` joins it. Left click digs, Z undoes; each sees the other as a ball.
mod example_app;
mod serving;

use bevy::prelude::*;
use bevy_terravox::online::{OnlineAvatar, OnlineBody, OnlineEvent, OnlineFailed, OnlineTerrain};
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::replicate::{GuestEvent, SharedBodyKind};

fn main() {
    App::new()
        .add_plugins((example_app::ExamplePlugins, TerravoxPlugin::default()))
        .add_systems(Startup, set_up)
        .add_systems(Update, dig)
        .add_observer(show_player)
        .add_observer(tell)
        .add_observer(|failed: On<OnlineFailed>| println!("no connection: {}", failed.error))
        .run();
}

fn set_up(mut commands: Commands) -> Result {
    let address = match example_app::text_flag("--join") {
        Some(address) => address,
        None => {
            let serving = serving::serve_hills(None)?;
            let address = serving.0.quic_address().to_string();
            println!("others join at {address}");
            commands.insert_resource(serving);
            address
        }
    };
    let terrain = commands.spawn(OnlineTerrain::join(address.parse()?, Default::default())).id();
    let eye = Transform::from_xyz(0.0, 30.0, 20.0).looking_at(Vec3::ZERO, Vec3::Y);
    let avatar = OnlineAvatar { terrain, bytes: b"a player".into() };
    commands.spawn((Camera3d::default(), TerrainViewer::new(200.0), avatar, eye));
    Ok(())
}

fn dig(
    terrains: Terrains,
    camera: Single<(&Camera, &GlobalTransform)>,
    window: Single<&Window>,
    mouse: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    terrain: Single<Entity, With<OnlineTerrain>>,
    mut edits: MessageWriter<EditTerrain>,
) {
    let Some(cursor) = window.cursor_position() else { return };
    let Ok(ray) = camera.0.viewport_to_world(camera.1, cursor) else { return };
    let hit = terrains.ray(ray, 100.0).filter(|_| mouse.just_pressed(MouseButton::Left));
    edits.write_batch(hit.map(|hit| EditTerrain::dig(&hit, 3.0)));
    edits.write_batch(keys.just_pressed(KeyCode::KeyZ).then(|| EditTerrain::undo(*terrain)));
}

/// Gives other players a shape.
fn show_player(
    added: On<Add, OnlineBody>,
    bodies: Query<&OnlineBody>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    let Ok(OnlineBody { kind: SharedBodyKind::Avatar(number), .. }) = bodies.get(added.entity)
    else {
        return;
    };
    let mut entity = commands.entity(added.entity);
    entity.insert(Mesh3d(meshes.add(Sphere::new(1.0))));
    example_app::colour(&mut entity, *number as usize);
}

fn tell(said: On<OnlineEvent>) {
    match &said.event {
        GuestEvent::Welcome { guest, .. } => println!("joined as number {guest}"),
        GuestEvent::Confirmed { .. } => println!("dug"),
        GuestEvent::Edited { author, .. } => println!("number {author} dug"),
        GuestEvent::Refused { reason, .. } => println!("not done: {reason}"),
        _ => {}
    }
}
