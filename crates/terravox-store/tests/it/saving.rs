//! Saving loses nothing, whatever a game does.

use crate::scratch::{Folder, mark_saved};
use crate::session::{self, Kind, Tally};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use terravox::bodies::{LooseOptions, SavedBody};
use terravox::collide::Filter;
use terravox::edit::EditOp;
use terravox::lod::LodOptions;
use terravox::terrain::{Budget, FillRequest, Placement, Terrain, TerrainOptions, Viewer};
use terravox::voxel::{Cell, MipBlock, VoxelGrid, VoxelPos};
use terravox_store::{Generator, Overwrite, Store, StoreError, WorldInfo};

const KINDS: [Kind; 3] = [Kind::Grown, Kind::Streamed, Kind::Whole];

/// Ground below a height of 1, by a closure of the game.
fn generate(request: &mut FillRequest<'_>) {
    request.fill_sdf(8, |p| 1.0 - p[1]);
}

fn growing(folder: &Folder) -> Store {
    let generator = Generator { name: "flat".into(), version: 1, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    Store::create(folder.file("world.tvx"), &info, Overwrite::No).unwrap().finish().unwrap()
}

fn complete(folder: &Folder) -> Store {
    let info = WorldInfo::complete(Placement::default());
    let draft = Store::create(folder.file("world.tvx"), &info, Overwrite::No).unwrap();
    let mut terrain = Terrain::from_grid(VoxelGrid::default(), Placement::default());
    terrain.fill([-64.0; 3], [64.0; 3], generate).unwrap();
    draft.save(&terrain.unsaved(), |_| {}).unwrap();
    draft.finish().unwrap()
}

fn near(store: &Store, terrain: &mut Terrain) {
    terrain.hold([-8.0; 3], [8.0; 3], |request| store.fill(request, generate)).unwrap();
}

fn save(store: &Store, terrain: &mut Terrain) {
    let unsaved = terrain.unsaved();
    store.save(&unsaved, |request| store.fill(request, generate)).unwrap();
    terrain.mark_saved(&unsaved);
    assert!(terrain.is_saved());
}

/// The height that a ray from above meets, in a world opened anew.
fn height(store: &Store) -> f64 {
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(store, &mut terrain);
    assert!(terrain.is_saved(), "what a store gives is saved");
    let hit = terrain.ray([0.5, 7.0, 0.5], [0.0, -1.0, 0.0], 14.0).hit().expect("there is ground");
    hit.point_m[1]
}

#[test]
fn a_dig_without_an_update_is_there_after_a_reopening() {
    type Make = fn(&Folder) -> Store;
    for (name, make) in [("dig-grown", growing as Make), ("dig-complete", complete)] {
        let folder = Folder::new(name);
        let store = make(&folder);
        assert!((height(&store) - 1.0).abs() < 0.1, "{name}");
        // A headless server: it holds and edits, and never updates.
        let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
        near(&store, &mut terrain);
        assert!(terrain.is_saved());
        terrain.edit(&EditOp::dig_ball([0.5, 1.0, 0.5], 5.0)).unwrap();
        save(&store, &mut terrain);
        drop(store);
        let store = Store::open(folder.file("world.tvx")).unwrap();
        assert!((height(&store) + 4.0).abs() < 0.5, "{name}: {}", height(&store));
    }
}

#[test]
fn a_second_dig_during_a_save_on_another_thread_is_in_the_next() {
    let folder = Folder::new("second-dig");
    let store = growing(&folder);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    terrain.edit(&EditOp::dig_ball([0.5, 1.0, 0.5], 3.0)).unwrap();
    let unsaved = terrain.unsaved();
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| store.save(&unsaved, fill).unwrap());
        terrain.edit(&EditOp::dig_ball([0.5, -1.0, 0.5], 3.0)).unwrap();
        let viewers = [Viewer { position_m: [0.0, 4.0, 0.0], distance_m: 100.0 }];
        terrain.update(&viewers, Budget::Blocks(9), fill);
        assert!(saving.join().unwrap().written > 0);
    });
    terrain.mark_saved(&unsaved);
    assert!(!terrain.is_saved(), "the second dig");
    save(&store, &mut terrain);
    assert!(height(&store) < -3.0);
}

#[test]
fn a_failed_save_leaves_all_unsaved_and_the_file_as_it_was() {
    let folder = Folder::new("failed");
    let store = growing(&folder);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    terrain.edit(&EditOp::dig_ball([0.5, 1.0, 0.5], 4.0)).unwrap();
    let unsaved = terrain.unsaved().with_data("player", [1, 2, 3]);
    let error = store.save(&unsaved, |request| request.set_missing()).unwrap_err();
    assert!(matches!(error, StoreError::NotGenerated { .. }), "{error}");
    assert_eq!(store.extra("player").unwrap(), None);
    assert_eq!(store.chunks().unwrap(), []);
    assert!(!terrain.is_saved());
    save(&store, &mut terrain);
    assert!(height(&store) < -2.0);
}

#[cfg(unix)]
#[test]
fn a_save_to_a_file_that_was_deleted_fails_and_all_stays_unsaved() {
    let folder = Folder::new("deleted");
    let store = growing(&folder);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    terrain.edit(&EditOp::dig_ball([0.0, 1.0, 0.0], 3.0)).unwrap();
    std::fs::remove_file(folder.file("world.tvx")).unwrap();
    let unsaved = terrain.unsaved();
    let error = store.save(&unsaved, |request| store.fill(request, generate)).unwrap_err();
    assert!(error.to_string().contains("was deleted or replaced"), "{error}");
    assert!(!terrain.is_saved());
    // Another file in its place is another world.
    std::fs::write(folder.file("world.tvx"), b"").unwrap();
    assert!(store.save(&unsaved, |request| store.fill(request, generate)).is_err());
}

#[test]
fn what_can_be_undone_bodies_and_bytes_go_with_the_cells() {
    let folder = Folder::new("beside");
    let store = growing(&folder);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    terrain.edit(&EditOp::fill_ball(9, [0.5, 5.0, 0.5], 2.0)).unwrap();
    let body = terrain.cut_loose(&LooseOptions::floor(0)).unwrap().bodies.remove(0);
    let mut falling = SavedBody::new(&body, body.first_pose());
    falling.linear_velocity_m_s = [0.0, -3.0, 0.0];
    let unsaved = terrain.unsaved().with_bodies(vec![falling]).with_data("player", *b"at home");
    store.save(&unsaved, |request| store.fill(request, generate)).unwrap();
    terrain.mark_saved(&unsaved);
    drop(store);

    let store = Store::open(folder.file("world.tvx")).unwrap();
    assert_eq!(store.extra("player").unwrap().as_deref(), Some(&b"at home"[..]));
    let bodies = store.bodies().unwrap();
    let again = bodies[0].to_body().unwrap();
    assert_eq!(
        (again.cells, again.mass, again.origin_voxel),
        (body.cells, body.mass, body.origin_voxel)
    );
    assert_eq!(again.grid.digest(), body.grid.digest());
    assert_eq!(bodies[0].linear_velocity_m_s, [0.0, -3.0, 0.0]);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    assert_eq!(terrain.grid().cell(VoxelPos::new(0, 5, 0)), Ok(Cell::AIR));
    terrain.undo().unwrap();
    assert_eq!(terrain.grid().cell(VoxelPos::new(0, 5, 0)), Ok(Cell::full(9)));
    terrain.undo().unwrap();
    assert_eq!(terrain.grid().cell(VoxelPos::new(0, 5, 0)), Ok(Cell::AIR));
    // Bodies are kept until they are given anew, and removed by an empty list.
    save(&store, &mut terrain);
    assert_eq!(store.bodies().unwrap().len(), 1);
    store.save(&terrain.unsaved().with_bodies(Vec::new()), |_| {}).unwrap();
    assert!(store.bodies().unwrap().is_empty());
    let error = store.save(&terrain.unsaved().with_data("undo", [1]), |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

#[test]
fn an_older_state_does_not_overwrite_a_newer_one() {
    let folder = Folder::new("older");
    let store = complete(&folder);
    let mut terrain = store.terrain(TerrainOptions::default()).unwrap();
    near(&store, &mut terrain);
    terrain.edit(&EditOp::dig_ball([0.5, 1.0, 0.5], 3.0)).unwrap();
    let older = terrain.unsaved();
    terrain.edit(&EditOp::dig_ball([0.5, -1.0, 0.5], 3.0)).unwrap();
    save(&store, &mut terrain);
    let error = store.save(&older, |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Outdated { .. }), "{error}");
    terrain.mark_saved(&older);
    assert!(terrain.is_saved() && height(&store) < -3.0);
}

#[test]
fn what_was_loaded_or_generated_is_not_written_again() {
    let folder = Folder::new("clean");
    let store = complete(&folder);
    let (mut terrain, bad) = store.load_terrain(TerrainOptions::default()).unwrap();
    assert!(bad.is_empty() && terrain.is_saved());
    terrain.update(&[], Budget::Blocks(3), |_| {});
    assert!(terrain.is_saved() && terrain.unsaved().is_empty());
    let stats = store.save(&terrain.unsaved(), |_| {}).unwrap();
    assert_eq!((stats.written, stats.removed), (0, 0));
    terrain.edit(&EditOp::dig_ball([0.5, 1.0, 0.5], 3.0)).unwrap();
    let stats = store.save(&terrain.unsaved(), |_| {}).unwrap();
    assert_eq!(stats.written, 8, "the chunks around the edge at the origin");
}

#[test]
fn a_chunk_that_became_air_in_memory_is_air_in_a_world_that_grows() {
    let folder = Folder::new("air");
    let store = growing(&folder);
    let mut grid = VoxelGrid::default();
    crate::scratch::fill(&mut grid, VoxelPos::new(0, -1, 0).chunk().region(), 8);
    mark_saved(&mut grid);
    let gone = VoxelPos::new(0, -1, 0).chunk();
    assert!(grid.forget(gone));
    store.save(&grid.unsaved().into(), |request| store.fill(request, generate)).unwrap();
    let mut cells = terravox::voxel::DenseBox::default();
    assert!(store.chunk(gone, &mut cells).unwrap());
    assert!(cells.materials().iter().all(|&material| material == 0));
}

fn play(sessions: u64) -> Tally {
    let folder = Folder::new(&format!("sessions-{sessions}"));
    let mut all = Tally::default();
    for kind in KINDS {
        let fresh = folder.file("fresh.tvx");
        session::create(&fresh, kind);
        for seed in 0..sessions {
            let path = folder.file("world.tvx");
            std::fs::copy(&fresh, &path).unwrap();
            let tally = session::play(&path, kind, seed, 30);
            assert_eq!(tally.lost, 0, "{kind:?}, seed {seed}: {tally:?}");
            all.edits += tally.edits;
            all.saves += tally.saves;
            all.failures += tally.failures;
            all.crashes += tally.crashes;
            all.left += tally.left;
            all.compared += tally.compared;
        }
    }
    println!("{all:?}");
    all
}

#[test]
fn sessions_at_random_lose_nothing() {
    let all = play(8);
    assert!(all.edits > 150 && all.failures > 5 && all.crashes > 5 && all.left > 0, "{all:?}");
}

const FILE: &str = "TERRAVOX_STORE_SESSION_FILE";
const KIND: &str = "TERRAVOX_STORE_SESSION_KIND";
const SEED: u64 = 4;

#[test]
fn victim_that_plays() {
    let (Ok(file), Ok(kind)) = (std::env::var(FILE), std::env::var(KIND)) else { return };
    let kind = KINDS[kind.parse::<usize>().unwrap()];
    session::play_on(Path::new(&file), kind, SEED, |number| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nsaved {number}").unwrap();
        out.flush().unwrap();
    });
}

/// Lets a victim play until it has saved a few times and some time has passed; returns the last
/// state that it acknowledged.
fn play_and_kill(path: &Path, kind: usize, lines: usize, more: Duration) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "saving::victim_that_plays", "--nocapture", "--test-threads=1"]);
    command.env(FILE, path).env(KIND, kind.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child: Child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let number = |line: &str| line.trim().strip_prefix("saved ").and_then(|n| n.parse().ok());
    let (mut seen, mut last) = (0, 0);
    let mut line = String::new();
    while seen < lines {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the game ended by itself");
        if let Some(saved) = number(&line) {
            (seen, last) = (seen + 1, saved);
        }
    }
    std::thread::sleep(more);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    // A line that was cut off by the kill was not acknowledged in full.
    let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().filter_map(number).next_back().unwrap_or(last)
}

#[test]
fn a_game_that_is_killed_loses_nothing_that_was_acknowledged_slow() {
    for (i, kind) in KINDS.into_iter().enumerate() {
        let folder = Folder::new(&format!("killed-{i}"));
        let path = folder.file("world.tvx");
        session::create(&path, kind);
        let mut twin = session::first_state();
        let mut number = 0;
        for kill in 0..6u64 {
            let more = Duration::from_micros(kill * 1700 % 9000);
            let acknowledged = play_and_kill(&path, i, 1 + kill as usize % 2, more);
            number = session::check_killed(&path, SEED, &mut twin, number, acknowledged);
        }
        assert!(number > 6, "{kind:?}");
    }
}

#[test]
fn a_save_before_the_horizon_is_shown_leaves_no_hole_in_it_slow() {
    let folder = Folder::new("save-before-the-horizon");
    let store = growing(&folder);
    let fill = |request: &mut FillRequest<'_>| store.fill(request, generate);
    for frames in [5, 20, 60] {
        let lod = LodOptions { detail: 1.5, ..LodOptions::default() };
        let mut terrain =
            store.terrain(TerrainOptions { lod, ..TerrainOptions::default() }).unwrap();
        let viewer = |x: f64| [Viewer { position_m: [x, 20.0, 0.0], distance_m: 500.0 }];
        let settle = |terrain: &mut Terrain, x: f64| {
            for _ in 0..5000 {
                terrain.update(&viewer(x), Budget::Blocks(16), fill);
                if terrain.is_settled() {
                    return;
                }
            }
            panic!("never at rest");
        };
        for _ in 0..frames {
            terrain.update(&viewer(0.0), Budget::Blocks(16), fill);
        }
        let dig = EditOp::dig_ball([0.0, 1.0, 0.0], 3.0);
        match terrain.edit(&dig) {
            Ok(_) => save(&store, &mut terrain),
            Err(error) => assert!(frames < 20, "{error}"),
        }
        settle(&mut terrain, 0.0);
        for mip in 1..=8 {
            assert!(terrain.grid().has_far(MipBlock::new(0, [0; 3]).over(mip)), "mip {mip}");
        }
        settle(&mut terrain, 300.0);
        for [x, z] in (0..400).map(|i| [f64::from(i % 20), f64::from(i / 20)].map(|v| 20.0 * v)) {
            let from = [x - 200.0 + 3.0, 50.0, z - 200.0 + 3.0];
            let hit = terrain.ray_shown(from, [0.0, -1.0, 0.0], 100.0, &Filter::SOLID);
            assert!(hit.is_some(), "nothing is shown at {from:?} after {frames} frames");
        }
    }
}
