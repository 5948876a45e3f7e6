//! A world that grows from a generator of one's own: dig, save, open again, undo.
//!
//! `cargo run --release -p terravox-store --example save_and_load`

use std::error::Error;
use terravox::edit::EditOp;
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

/// Rock below waves. Another version of it would make other cells, so it has a number.
fn generate(request: &mut FillRequest<'_>) {
    request.fill_sdf(8, |p| 3.0 * (p[0] * 0.1).sin() + 2.0 - p[1]);
}

/// How deep the ground lies under a point, with the world shown around it.
fn ground_below(store: &Store, terrain: &mut Terrain) -> Option<f64> {
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    let viewers = [Viewer { position_m: [0.0, 8.0, 0.0], distance_m: 60.0 }];
    terrain.update(&viewers, Budget::Unlimited, fill);
    let hit = terrain.ray([0.0, 20.0, 0.0], [0.0, -1.0, 0.0], 60.0).hit()?;
    Some(hit.point_m[1])
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("save_and_load-{}.tvx", std::process::id()));
    let generator = Generator { name: "waves".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let store = Store::create(&path, &info, Overwrite::Yes)?.finish()?;

    // The game: it digs, and saves what it dug together with its own bytes.
    let mut terrain = store.terrain(TerrainOptions::default())?;
    let before = ground_below(&store, &mut terrain);
    terrain.edit(&EditOp::dig_ball([0.0, 2.0, 0.0], 5.0))?;
    let dug = ground_below(&store, &mut terrain);
    let unsaved = terrain.unsaved().with_data("player", *b"in the pit");
    let stats = store.save(&unsaved, |request| store.fill(request, generate))?;
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
    println!("ground {before:?}, dug to {dug:?}; {} chunks saved", stats.written);
    drop((terrain, store));

    // The next day. Only the edited chunks are in the file; the rest is made again.
    let store = Store::open(&path)?;
    store.check_generator("waves", 1, 0)?;
    let mut terrain = store.terrain(TerrainOptions::default())?;
    let again = ground_below(&store, &mut terrain);
    let player = store.extra("player")?.unwrap_or_default();
    println!("after opening: {again:?}; player {:?}", String::from_utf8_lossy(&player));
    assert_eq!(again, dug);
    terrain.undo()?;
    let undone = ground_below(&store, &mut terrain);
    println!("undone: {undone:?}");
    assert_eq!(undone, before);
    drop(store);
    std::fs::remove_file(path)?;
    Ok(())
}
