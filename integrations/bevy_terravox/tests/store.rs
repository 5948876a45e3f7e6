//! Worlds that are saved and opened again.
#![cfg(feature = "store")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use terravox_store::StoreError;

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, TerravoxPlugin::default()));
    app.finish();
    app.cleanup();
    app
}

fn flat(request: &mut FillRequest<'_>) {
    request.fill_height(2, 0.0..=0.0, |_, _| 0.0);
}

fn spawn(app: &mut App, path: &Path) -> Entity {
    spawn_with(app, path, flat)
}

fn spawn_with(
    app: &mut App,
    path: &Path,
    generate: impl Fn(&mut FillRequest<'_>) + Send + Sync + 'static,
) -> Entity {
    let start = Instant::now();
    let store = loop {
        match TerrainStore::open_or_create(path, "flat", 1, 0) {
            // A job of a terrain that is gone may still run, and read the file.
            Err(StoreError::InUse { .. }) if start.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => break opened.unwrap(),
        }
    };
    let mut options = TerrainOptions::default();
    options.lod.max_mip = 2;
    let terrain = store.terrain(options, generate).unwrap();
    app.world_mut().spawn((TerrainViewer::new(60.0), Transform::from_xyz(0.0, 5.0, 0.0)));
    app.world_mut().spawn((terrain, store)).id()
}

fn run_until(app: &mut App, mut is_done: impl FnMut(&World) -> bool) {
    let start = Instant::now();
    while !is_done(app.world()) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60), "it takes more than a minute");
    }
}

fn depth(app: &App, terrain: Entity) -> f64 {
    let terrain = app.world().get::<Terrain>(terrain).unwrap();
    let hit = terrain.ray([0.5, 10.0, 0.5], [0.0, -1.0, 0.0], 50.0).hit();
    -hit.expect("ground").point_m[1]
}

#[test]
fn a_hole_is_there_after_the_world_was_saved_and_opened_again() {
    let folder = std::env::temp_dir().join(format!("bevy-terravox-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("world.tvx");
    {
        let mut app = app();
        let terrain = spawn(&mut app, &path);
        app.update();
        run_until(&mut app, |world| world.get::<Terrain>(terrain).unwrap().is_settled());
        let hole = EditOp::dig_ball([0.5, 0.0, 0.5], 5.0);
        app.world_mut().write_message(EditTerrain::new(terrain, hole));
        app.world_mut().write_message(SaveTerrain { terrain });
        app.update();
        assert!(app.world().get::<TerrainStore>(terrain).unwrap().is_saving());
        run_until(&mut app, |world| !world.get::<TerrainStore>(terrain).unwrap().is_saving());
        let saved = app.world().resource::<Messages<TerrainSaved>>();
        let saved: Vec<_> = saved.iter_current_update_messages().collect();
        assert!(saved.len() == 1 && saved[0].error.is_none(), "{saved:?}");
        assert!(app.world().get::<Terrain>(terrain).unwrap().is_saved());
    }
    let mut app = app();
    let terrain = spawn(&mut app, &path);
    app.update();
    run_until(&mut app, |world| world.get::<Terrain>(terrain).unwrap().is_settled());
    assert!((depth(&app, terrain) - 5.0).abs() < 0.3, "{}", depth(&app, terrain));
    app.world_mut().write_message(EditTerrain::undo(terrain));
    app.update();
    assert!(depth(&app, terrain).abs() < 0.01, "undo is saved, too");
    assert!(TerrainStore::open_or_create(&path, "other", 1, 0).is_err());
    drop(app);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_save_whose_generator_panics_says_so_and_the_next_one_works() {
    let folder = std::env::temp_dir().join(format!("bevy-panics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut app = app();
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = is_broken.clone();
    let generate = move |request: &mut FillRequest<'_>| {
        assert!(!broken.load(Ordering::Relaxed), "no ground today");
        flat(request);
    };
    let terrain = spawn_with(&mut app, &folder.join("world.tvx"), generate);
    app.update();
    run_until(&mut app, |world| world.get::<Terrain>(terrain).unwrap().is_settled());
    let hole = EditOp::dig_ball([0.5, 0.0, 0.5], 5.0);
    app.world_mut().write_message(EditTerrain::new(terrain, hole));
    app.update();
    run_until(&mut app, |world| world.get::<Terrain>(terrain).unwrap().is_settled());
    for is_broken_now in [true, false] {
        is_broken.store(is_broken_now, Ordering::Relaxed);
        app.world_mut().write_message(SaveTerrain { terrain });
        app.update();
        run_until(&mut app, |world| !world.get::<TerrainStore>(terrain).unwrap().is_saving());
        let saved = app.world().resource::<Messages<TerrainSaved>>();
        let saved: Vec<_> = saved.iter_current_update_messages().collect();
        let says_so = |error: &String| error.contains("panicked");
        // Messages of the frames before may still be there.
        let is_told = saved.last().and_then(|saved| saved.error.as_ref()).map(says_so);
        assert_eq!(is_told, is_broken_now.then_some(true), "{saved:?}");
        assert_eq!(app.world().get::<Terrain>(terrain).unwrap().is_saved(), !is_broken_now);
    }
    drop(app);
    std::fs::remove_dir_all(&folder).unwrap();
}
