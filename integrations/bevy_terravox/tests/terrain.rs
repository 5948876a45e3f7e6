//! The plugin without a renderer: streaming, edits, queries, despawning.

use std::time::{Duration, Instant};

use bevy::camera::visibility::NoAutoAabb;
use bevy::ecs::system::RunSystemOnce;
use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::edit::EditError;
use bevy_terravox::terravox::voxel::MaterialTable;
use bevy_terravox::{TerrainChunk, TerrainChunks, TerrainEditFailed, TerravoxStats};

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default(), MeshPlugin));
    app.add_plugins(TerravoxPlugin::default());
    app.finish();
    app.cleanup();
    app
}

fn options() -> TerrainOptions {
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 2;
    options
}

/// Ground at height 0 that is grass.
fn plain() -> Terrain {
    Terrain::with_options(options(), |request| request.fill_height(2, 0.0..=0.0, |_, _| 0.0))
}

fn spawn_viewer(app: &mut App, at: Vec3) -> Entity {
    app.world_mut().spawn((TerrainViewer::new(150.0), Transform::from_translation(at))).id()
}

/// Runs frames until `is_done`.
fn run_until(app: &mut App, what: &str, mut is_done: impl FnMut(&mut World) -> bool) {
    let start = Instant::now();
    while !is_done(app.world_mut()) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60), "{what} takes more than a minute");
    }
}

fn settle(app: &mut App) {
    app.update();
    app.update();
    run_until(app, "settling", |world| {
        let mut terrains = world.query::<(&Terrain, &TerrainChunks)>();
        terrains.iter(world).all(|(terrain, chunks)| terrain.is_settled() && chunks.is_complete())
    });
}

fn ray(app: &mut App, origin: Vec3, direction: Dir3) -> Option<TerrainHit> {
    let cast = move |terrains: Terrains| terrains.ray(Ray3d::new(origin, direction), 100.0);
    app.world_mut().run_system_once(cast).unwrap()
}

fn down(app: &mut App, x: f32, z: f32) -> Option<TerrainHit> {
    ray(app, Vec3::new(x, 20.0, z), Dir3::NEG_Y)
}

/// The lowest vertex of all chunks that are shown, in world space.
fn lowest_drawn(app: &mut App) -> f32 {
    app.update(); // transforms of new chunks
    let world = app.world_mut();
    let mut chunks =
        world.query_filtered::<(&Mesh3d, &GlobalTransform, &Visibility), With<TerrainChunk>>();
    let meshes = world.resource::<Assets<Mesh>>();
    let mut lowest = f32::INFINITY;
    for (mesh, at, visibility) in chunks.iter(world) {
        if *visibility == Visibility::Hidden {
            continue;
        }
        let mesh = meshes.get(&mesh.0).unwrap();
        let positions = mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap().as_float3().unwrap();
        let heights = positions.iter().map(|&p| at.transform_point(p.into()).y);
        lowest = heights.fold(lowest, f32::min);
    }
    lowest
}

fn edit(app: &mut App, edit: EditTerrain) {
    app.world_mut().write_message(edit);
    app.update();
}

#[test]
fn terrain_streams_in_and_follows_its_viewer() {
    let mut app = app();
    app.world_mut().spawn(plain());
    let viewer = spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    assert!(down(&mut app, 0.0, 0.0).is_none(), "nothing is there yet");
    settle(&mut app);
    let hit = down(&mut app, 3.0, -2.0).expect("ground");
    assert!(hit.point.distance(Vec3::new(3.0, 0.0, -2.0)) < 0.01 && hit.normal.y > 0.99);
    assert_eq!(hit.in_terrain.material, 2);
    assert!(lowest_drawn(&mut app).abs() < 0.01);
    assert!(down(&mut app, 2000.0, 0.0).is_none());

    app.world_mut().get_mut::<Transform>(viewer).unwrap().translation.x = 2000.0;
    settle(&mut app);
    assert!(down(&mut app, 2000.0, 0.0).is_some());
    let world = app.world_mut();
    let mut chunks = world.query_filtered::<(&Transform, &Visibility), With<TerrainChunk>>();
    let shown = chunks.iter(world).filter(|(_, visibility)| **visibility != Visibility::Hidden);
    let nearest = shown.map(|(at, _)| at.translation.x).fold(f32::INFINITY, f32::min);
    assert!(nearest > 1500.0, "what is out of view is hidden: {nearest}");
}

#[test]
fn a_viewer_that_is_replaced_leaves_the_view_as_it_is() {
    let mut app = app();
    app.world_mut().spawn(plain());
    let at = Vec3::new(0.0, 10.0, 0.0);
    let viewer = spawn_viewer(&mut app, at);
    settle(&mut app);
    let blocks = |app: &mut App| {
        let world = app.world_mut();
        let mut terrains = world.query::<&Terrain>();
        terrains.single(world).unwrap().lod().blocks()
    };
    let before = blocks(&mut app);
    app.world_mut().despawn(viewer);
    spawn_viewer(&mut app, at);
    for _ in 0..3 {
        app.update();
        assert_eq!(blocks(&mut app), before);
    }
    settle(&mut app);
    assert_eq!(blocks(&mut app), before);
}

#[test]
fn a_dig_changes_what_is_hit_and_drawn_and_undo_restores_both() {
    let mut app = app();
    let terrain = app.world_mut().spawn(plain()).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let hit = down(&mut app, 0.5, 0.5).unwrap();

    edit(&mut app, EditTerrain::dig(&hit, 4.0));
    let dug = down(&mut app, 0.5, 0.5).unwrap();
    assert!((dug.point.y + 4.0).abs() < 0.3, "rays see it in its frame: {}", dug.point);
    let edited = app.world().resource::<Messages<TerrainEdited>>();
    let edited: Vec<_> = edited.iter_current_update_messages().collect();
    assert!(edited[0].removed.voxels(2) > 90.0 && edited[0].min_m[1] < -3.0);
    settle(&mut app);
    assert!((lowest_drawn(&mut app) + 4.0).abs() < 0.3);

    edit(&mut app, EditTerrain::undo(terrain));
    assert!(down(&mut app, 0.5, 0.5).unwrap().point.y.abs() < 0.01);
    settle(&mut app);
    assert!(lowest_drawn(&mut app).abs() < 0.01);
    edit(&mut app, EditTerrain::redo(terrain));
    assert!(down(&mut app, 0.5, 0.5).unwrap().point.y < -3.5);
}

#[test]
fn an_edit_is_drawn_in_the_next_frame_or_the_one_after() {
    let mut app = app();
    app.world_mut().spawn(plain());
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let hit = down(&mut app, 0.5, 0.5).unwrap();
    edit(&mut app, EditTerrain::dig(&hit, 4.0));
    let mut frames = 0;
    while app.world().resource::<TerravoxStats>().uploaded_meshes == 0 {
        // Frames count here: workers are given the time of one on a machine that is busy.
        std::thread::sleep(Duration::from_millis(500));
        app.update();
        frames += 1;
        assert!(frames <= 2, "not drawn after {frames} frames");
    }
}

#[test]
fn refused_edits_say_why() {
    let mut app = app();
    let terrain = app.world_mut().spawn(plain()).id();
    app.update();
    edit(&mut app, EditTerrain::new(terrain, EditOp::dig_ball([0.0; 3], 4.0)));
    let failed = app.world().resource::<Messages<TerrainEditFailed>>();
    let failed: Vec<_> = failed.iter_current_update_messages().collect();
    assert!(matches!(failed[0].error.reason, EditError::NotHeld(_)), "{}", failed[0].error);
}

#[test]
fn terrains_may_be_moved_and_rotated() {
    let mut app = app();
    let turn = Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
    let low = app.world_mut().spawn((plain(), Transform::from_xyz(0.0, -5.0, 0.0))).id();
    // Its ground is a wall at x = 30, which faces −x.
    let place = Transform::from_xyz(30.0, 0.0, 0.0).with_rotation(turn);
    let wall = app.world_mut().spawn((plain(), place)).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let hit = down(&mut app, 2.0, 1.0).unwrap();
    assert!(hit.terrain == low && (hit.point.y + 5.0).abs() < 0.01);
    let hit = ray(&mut app, Vec3::new(0.0, 3.0, 1.0), Dir3::X).unwrap();
    assert_eq!(hit.terrain, wall);
    assert!((hit.point - Vec3::new(30.0, 3.0, 1.0)).length() < 0.01, "{}", hit.point);
    assert!((hit.normal - Vec3::NEG_X).length() < 0.01, "{}", hit.normal);
    edit(&mut app, EditTerrain::dig(&hit, 3.0));
    let dug = ray(&mut app, Vec3::new(0.0, 3.0, 1.0), Dir3::X).unwrap();
    assert!((dug.point.x - 33.0).abs() < 0.3, "{}", dug.point);
}

#[test]
fn despawning_a_terrain_frees_all_of_it() {
    let mut app = app();
    let terrain = app.world_mut().spawn(plain()).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    assert!(app.world().resource::<Assets<Mesh>>().len() > 4);
    app.world_mut().despawn(terrain);
    app.update();
    app.update();
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 0);
    let world = app.world_mut();
    assert_eq!(world.query::<&TerrainChunk>().iter(world).count(), 0);
    assert!(down(&mut app, 0.0, 0.0).is_none());
}

#[test]
fn a_terrain_that_is_replaced_or_removed_is_not_drawn_any_more() {
    let mut app = app();
    let terrain = app.world_mut().spawn(plain()).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let higher = Terrain::with_options(options(), |r| r.fill_height(2, 5.0..=5.0, |_, _| 5.0));
    app.world_mut().entity_mut(terrain).insert(higher);
    settle(&mut app);
    assert!((lowest_drawn(&mut app) - 5.0).abs() < 0.01, "the old ground is drawn");
    app.world_mut().entity_mut(terrain).remove::<Terrain>();
    app.update();
    app.update();
    assert_eq!(app.world().resource::<Assets<Mesh>>().len(), 0);
    let world = app.world_mut();
    assert_eq!(world.query::<&TerrainChunk>().iter(world).count(), 0);
}

#[test]
fn hidden_entities_are_used_again() {
    let mut app = app();
    let terrain = app.world_mut().spawn(plain()).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let hit = down(&mut app, 0.5, 0.5).unwrap();
    let count = |app: &mut App| {
        let world = app.world_mut();
        world.query::<&TerrainChunk>().iter(world).count()
    };
    edit(&mut app, EditTerrain::dig(&hit, 2.0));
    settle(&mut app);
    let before = count(&mut app);
    for _ in 0..20 {
        edit(&mut app, EditTerrain::dig(&hit, 2.0));
        edit(&mut app, EditTerrain::undo(terrain));
        settle(&mut app);
    }
    assert!(count(&mut app) <= before + 4, "{} of {before}", count(&mut app));
}

#[test]
fn no_frame_exceeds_the_upload_budget() {
    let mut app = app();
    app.world_mut().resource_mut::<TerravoxSettings>().upload_bytes = 0;
    let rough = |x: f64, z: f64| 3.0 * (x * 1.9).sin() * (z * 1.7).cos();
    app.world_mut().spawn(Terrain::with_options(options(), move |request| {
        request.fill_height(2, -3.0..=3.0, rough);
    }));
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    let start = Instant::now();
    let mut total = 0;
    loop {
        app.update();
        let bytes = app.world().resource::<TerravoxStats>().uploaded_bytes;
        assert!(bytes <= TerravoxSettings::MIN_UPLOAD_BYTES, "{bytes}");
        total += bytes;
        let world = app.world_mut();
        let (terrain, chunks) = world.query::<(&Terrain, &TerrainChunks)>().single(world).unwrap();
        if terrain.is_settled() && chunks.is_complete() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(120));
    }
    assert!(total > 10 * TerravoxSettings::MIN_UPLOAD_BYTES);
}

#[derive(Resource, Default)]
struct Ready(Vec<Entity>);

#[test]
fn ground_ready_is_sent_once_it_is_there() {
    let mut app = app();
    app.init_resource::<Ready>();
    app.add_observer(|ready: On<GroundReady>, mut all: ResMut<Ready>| all.0.push(ready.entity));
    let player = app.world_mut().spawn((WaitForGround::default(), Transform::default())).id();
    app.update();
    app.update();
    assert!(app.world().resource::<Ready>().0.is_empty(), "there is no terrain");
    app.world_mut().spawn(plain());
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    run_until(&mut app, "ground", |world| !world.resource::<Ready>().0.is_empty());
    assert_eq!(app.world().resource::<Ready>().0, [player]);
    assert!(down(&mut app, 0.0, 0.0).is_some());
    assert!(!app.world().entity(player).contains::<WaitForGround>());
}

#[test]
fn a_palette_recolours_and_refuses_other_kinds() {
    let mut app = app();
    let mut table = MaterialTable::default();
    table.set_colour(2, [255, 0, 0]);
    let palette = TerrainPalette { materials: table, ..default() };
    let handle = app.world_mut().resource_mut::<Assets<TerrainPalette>>().add(palette);
    let terrain = app.world_mut().spawn((plain(), PaletteHandle(handle.clone()))).id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    let colours = |app: &mut App| {
        let world = app.world_mut();
        let mut chunks = world.query_filtered::<(&Mesh3d, &Visibility), With<TerrainChunk>>();
        let meshes = world.resource::<Assets<Mesh>>();
        let shown = chunks.iter(world).filter(|(_, v)| **v != Visibility::Hidden);
        let mut all: Vec<[u32; 4]> = Vec::new();
        for (mesh, _) in shown {
            let mesh = meshes.get(&mesh.0).unwrap();
            if let Some(bevy::mesh::VertexAttributeValues::Float32x4(colours)) =
                mesh.attribute(Mesh::ATTRIBUTE_COLOR)
            {
                all.extend(colours.iter().map(|c| c.map(f32::to_bits)));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    let bits = |c: [f32; 4]| c.map(f32::to_bits);
    assert_eq!(colours(&mut app), [bits([1.0, 0.0, 0.0, 1.0])]);

    let mut table = MaterialTable::default();
    table.set_colour(2, [0, 0, 255]);
    let mut palettes = app.world_mut().resource_mut::<Assets<TerrainPalette>>();
    palettes.insert(&handle, TerrainPalette { materials: table, ..default() }).unwrap();
    app.update();
    app.update();
    settle(&mut app);
    assert_eq!(colours(&mut app), [bits([0.0, 0.0, 1.0, 1.0])]);

    let dry = MaterialTable::new(MaterialTable::default().materials()[..1].to_vec());
    let mut palettes = app.world_mut().resource_mut::<Assets<TerrainPalette>>();
    palettes.insert(&handle, TerrainPalette { materials: dry, ..default() }).unwrap();
    app.update();
    app.update();
    let table = app.world().get::<Terrain>(terrain).unwrap().grid().materials().clone();
    assert_eq!(table.colour(2), [0, 0, 255], "water cannot become solid");
}

#[test]
fn a_terrain_that_comes_later_takes_the_palette_over() {
    let mut app = app();
    let mut materials = MaterialTable::default();
    materials.set_colour(2, [255, 0, 0]);
    let palette = TerrainPalette { materials, ..default() };
    let handle = app.world_mut().resource_mut::<Assets<TerrainPalette>>().add(palette);
    let terrain = app.world_mut().spawn(PaletteHandle(handle)).id();
    app.update();
    app.update();
    // The first, and another in its place.
    for _ in 0..2 {
        app.world_mut().entity_mut(terrain).insert(plain());
        app.update();
        let table = app.world().get::<Terrain>(terrain).unwrap().grid().materials();
        assert_eq!(table.colour(2), [255, 0, 0]);
    }
}

#[test]
fn a_generator_that_panics_stops_its_terrain_only() {
    let mut app = app();
    let bad = app.world_mut().spawn(Terrain::new(|_| panic!("no ground today"))).id();
    let place = Transform::from_xyz(0.0, -5.0, 0.0);
    app.world_mut().spawn((plain(), place));
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    run_until(&mut app, "failing", |world| world.get::<Terrain>(bad).unwrap().has_failed());
    app.world_mut().despawn(bad);
    settle(&mut app);
    assert!(down(&mut app, 0.0, 0.0).is_some());
}

#[test]
fn a_bridge_that_is_cut_becomes_a_piece() {
    let mut app = app();
    let bridge = |p: [f64; 3]| {
        let pillar = 2.0 - p[0].abs().max(p[2].abs());
        let deck = (2.0 - (p[1] - 12.0).abs()).min(8.0 - p[0].abs()).min(3.0 - p[2].abs());
        (-p[1]).max(pillar.min(12.0 - p[1])).max(deck)
    };
    let terrain = app
        .world_mut()
        .spawn((
            Terrain::with_options(options(), move |request| request.fill_sdf(8, bridge)),
            LoosePieces::default(),
        ))
        .id();
    spawn_viewer(&mut app, Vec3::new(0.0, 10.0, 0.0));
    settle(&mut app);
    edit(&mut app, EditTerrain::new(terrain, EditOp::dig_ball([0.0, 6.0, 0.0], 4.0)));
    run_until(&mut app, "cutting", |world| {
        world.query::<&bevy_terravox::LoosePiece>().iter(world).count() > 0
    });
    let world = app.world_mut();
    let (piece, children) =
        world.query::<(&bevy_terravox::LoosePiece, &Children)>().single(world).unwrap();
    assert!(piece.terrain == terrain && piece.body.mass.mass > 300_000.0);
    assert!(!children.is_empty());
    // Bevy would replace the bounds of chunks and pieces by ones without what vertices move to.
    let mut others = world.query_filtered::<(), (With<Mesh3d>, Without<NoAutoAabb>)>();
    assert_eq!(others.iter(world).count(), 0);
}
