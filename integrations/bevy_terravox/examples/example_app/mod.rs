//! What the examples share: a window, a sun, a camera that flies.
//!
//! `--frames N` runs N frames without a window or renderer and ends; `--click N` clicks into the
//! middle of the window in frame N of them. `--picture FILE` draws one picture off screen
//! (with `--click 1` after a dig) and ends.

#![allow(dead_code, reason = "not every example needs all of it")]

use bevy::prelude::*;

/// In place of Bevy's `DefaultPlugins`.
pub struct ExamplePlugins;

/// The number after a flag of the command line.
pub fn flag(name: &str) -> Option<u32> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}

/// The text after a flag of the command line.
pub fn text_flag(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

/// Gives a body a colour of its own, where there is a renderer.
pub fn colour(body: &mut EntityCommands, number: usize) {
    #[cfg(feature = "render")]
    body.queue(move |mut entity: EntityWorldMut| {
        let colour = Color::hsl(37.0 * number as f32 % 360.0, 0.6, 0.55);
        let materials = entity.world_scope(|world| {
            let materials = world.get_resource_mut::<Assets<StandardMaterial>>();
            materials.map(|mut materials| materials.add(StandardMaterial::from(colour)))
        });
        if let Some(material) = materials {
            entity.insert(MeshMaterial3d(material));
        }
    });
    #[cfg(not(feature = "render"))]
    let _ = (body, number);
}

impl Plugin for ExamplePlugins {
    fn build(&self, app: &mut App) {
        match flag("--frames") {
            Some(frames) => headless(app, frames),
            #[cfg(feature = "window")]
            None => window::build(app),
            #[cfg(not(feature = "window"))]
            None => panic!("built without the feature window: pass --frames N"),
        }
    }
}

/// Frames of 1/60 s, as fast as they go.
fn headless(app: &mut App, frames: u32) {
    use bevy::app::ScheduleRunnerPlugin;
    use bevy::time::TimeUpdateStrategy;
    use std::time::Duration;

    let as_fast = ScheduleRunnerPlugin::run_loop(Duration::ZERO);
    app.add_plugins((MinimalPlugins.set(as_fast), TransformPlugin, AssetPlugin::default()));
    app.add_plugins((bevy::mesh::MeshPlugin, bevy::input::InputPlugin));
    let step = Duration::from_secs_f64(1.0 / 60.0);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
    app.add_message::<AppExit>();
    let mut window = Window::default();
    window.set_cursor_position(Some(window.size() / 2.0));
    app.world_mut().spawn(window);
    app.add_systems(First, move |mut frame: Local<u32>, mut exit: MessageWriter<AppExit>| {
        *frame += 1;
        // Workers get some time, as between two frames of a screen.
        std::thread::sleep(Duration::from_millis(4));
        if *frame >= frames {
            exit.write(AppExit::Success);
        }
    });
    let click = flag("--click");
    app.add_systems(
        PreUpdate,
        (move |mut frame: Local<u32>, mut mouse: ResMut<ButtonInput<MouseButton>>| {
            *frame += 1;
            match () {
                () if Some(*frame) == click => mouse.press(MouseButton::Left),
                () => mouse.release(MouseButton::Left),
            }
        })
        .after(bevy::input::InputSystems),
    );
    app.add_observer(size_camera);
}

/// Gives a camera without a renderer the size of the window, for rays through the cursor.
fn size_camera(added: On<Add, Camera>, mut cameras: Query<&mut Camera>) {
    use bevy::camera::RenderTargetInfo;
    let Ok(mut camera) = cameras.get_mut(added.entity) else { return };
    let target_info = RenderTargetInfo { physical_size: UVec2::new(1280, 720), scale_factor: 1.0 };
    camera.computed.target_info = Some(target_info);
    camera.computed.clip_from_view =
        Mat4::perspective_infinite_reverse_rh(std::f32::consts::FRAC_PI_4, 16.0 / 9.0, 0.1);
}

#[cfg(feature = "window")]
mod window {
    use bevy::camera_controller::free_camera::{FreeCamera, FreeCameraPlugin};
    use bevy::prelude::*;

    pub fn build(app: &mut App) {
        match super::text_flag("--picture") {
            Some(path) => picture::build(app, path),
            None => {
                app.add_plugins((DefaultPlugins, FreeCameraPlugin));
            }
        }
        app.insert_resource(ClearColor(Color::srgb(0.55, 0.7, 0.85)));
        app.add_systems(Startup, light);
        app.add_observer(|camera: On<Add, Camera3d>, mut commands: Commands| {
            let ambient = AmbientLight { brightness: 500.0, ..default() };
            commands.entity(camera.entity).insert((FreeCamera::default(), ambient));
        });
    }

    fn light(mut commands: Commands) {
        let sun = DirectionalLight { illuminance: 9000.0, shadow_maps_enabled: true, ..default() };
        let from = Transform::from_xyz(3.0, 4.0, 2.0).looking_at(Vec3::ZERO, Vec3::Y);
        commands.spawn((sun, from));
    }

    /// `--picture FILE`: draws off screen until all of the terrain is there, and ends.
    mod picture {
        use std::time::Duration;

        use bevy::app::ScheduleRunnerPlugin;
        use bevy::camera::RenderTarget;
        use bevy::prelude::*;
        use bevy::render::RenderPlugin;
        use bevy::render::render_resource::{TextureFormat, TextureUsages};
        use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk};
        use bevy::window::ExitCondition;
        use bevy::winit::WinitPlugin;
        use bevy_terravox::TerrainChunks;
        use bevy_terravox::prelude::*;

        const SIZE: UVec2 = UVec2::new(640, 360);

        #[derive(Resource)]
        struct Target(Handle<Image>, String);

        pub fn build(app: &mut App, path: String) {
            let window = WindowPlugin {
                primary_window: None,
                exit_condition: ExitCondition::DontExit,
                ..default()
            };
            let render = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
            app.add_plugins(DefaultPlugins.set(window).set(render).disable::<WinitPlugin>());
            app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_millis(5)));
            let mut image =
                Image::new_target_texture(SIZE.x, SIZE.y, TextureFormat::Rgba8UnormSrgb, None);
            image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
            let image = app.world_mut().resource_mut::<Assets<Image>>().add(image);
            app.insert_resource(Target(image, path));
            app.add_observer(
                |camera: On<Add, Camera3d>, target: Res<Target>, mut commands: Commands| {
                    // Drawing in software takes much of a second: not before all is there.
                    let hidden = Camera { is_active: false, ..default() };
                    commands.entity(camera.entity).insert(hidden);
                    let to_image = RenderTarget::Image(target.0.clone().into());
                    // Four samples take four times as long in software.
                    commands.entity(camera.entity).insert((to_image, Msaa::Off));
                },
            );
            app.add_systems(Update, take);
        }

        fn take(
            terrains: Query<(&Terrain, &TerrainChunks)>,
            terrain_rays: Terrains,
            mut camera: Single<(&mut Camera, &GlobalTransform)>,
            mut edits: MessageWriter<EditTerrain>,
            target: Res<Target>,
            mut frames: Local<u32>,
            mut commands: Commands,
        ) {
            let is_drawn = |(terrain, chunks): (&Terrain, &TerrainChunks)| {
                terrain.is_settled() && chunks.is_complete()
            };
            if terrains.is_empty() || !terrains.iter().all(is_drawn) {
                return;
            }
            *frames += 1;
            if *frames == 1 && crate::example_app::flag("--click").is_some() {
                let ray = Ray3d::new(camera.1.translation(), camera.1.forward());
                edits.write_batch(
                    terrain_rays.ray(ray, 200.0).map(|hit| EditTerrain::dig(&hit, 3.0)),
                );
                return;
            }
            camera.0.is_active = true;
            if *frames == 4 {
                let picture = Screenshot::image(target.0.clone());
                let leave = |_: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
                    exit.write(AppExit::Success);
                };
                commands.spawn(picture).observe(save_to_disk(target.1.clone())).observe(leave);
            }
        }
    }
}
