//! What frames cost: flying, brushing, and how soon an edit is drawn.

use std::time::Instant;

use bevy::prelude::*;
use bevy_terravox::prelude::*;
use bevy_terravox::terravox::generate::Hills;
use bevy_terravox::{TerrainChunks, TerravoxStats};

use crate::threads::ThreadTimes;
use crate::{FRAME, Random, app, frame, is_drawn, print, rest};

/// Frames that are measured while flying: half a minute.
const FLOWN_FRAMES: usize = 1800;

/// Frames in which the first view may stream in before: a minute.
const FIRST_FRAMES: usize = 3600;

const SPEED_M_S: f32 = 50.0;

fn hills(max_mip: u8) -> Terrain {
    let hills = Hills::new(7);
    let mut options = TerrainOptions::default();
    options.lod.max_mip = max_mip;
    Terrain::with_options(options, move |request| {
        let mip = request.block().mip;
        hills.fill(request.cells(), mip);
    })
}

/// Flies over hills with a view of 8 km.
pub fn fly() {
    let mut app = app();
    app.world_mut().spawn(hills(8));
    let at = Transform::from_xyz(0.0, 120.0, 0.0);
    let viewer = app.world_mut().spawn((TerrainViewer::new(8192.0), at)).id();
    let budget = app.world().resource::<TerravoxSettings>().upload_bytes;
    let (mut over, mut first_frames) = (0, 0);
    let mut measure = |app: &mut App| {
        frame(app);
        let stats = app.world().resource::<TerravoxStats>();
        over = over.max(stats.uploaded_bytes.saturating_sub(budget));
        *stats
    };
    let mut is_complete = false;
    while first_frames < FIRST_FRAMES && !is_complete {
        measure(&mut app);
        first_frames += 1;
        is_complete = first_frames > 2 && is_drawn(&mut app);
    }
    let (mut total_ms, mut parts, mut bytes) = (Vec::new(), [0.0f64; 2], 0);
    for _ in 0..FLOWN_FRAMES {
        let step = SPEED_M_S * FRAME.as_secs_f32();
        app.world_mut().get_mut::<Transform>(viewer).unwrap().translation.x += step;
        let stats = measure(&mut app);
        total_ms.push(stats.main_ms());
        parts = [parts[0].max(stats.stream_ms), parts[1].max(stats.draw_ms)];
        bytes += stats.uploaded_bytes;
    }
    total_ms.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| total_ms[(share * (total_ms.len() - 1) as f64) as usize];
    let seconds = FLOWN_FRAMES as f64 * FRAME.as_secs_f64();
    let note = format!(
        "p50 {:.2}, worst {:.2} (planning and jobs {:.2}, meshes {:.2}); {:.1} MiB a second; the first view {} {:.0} s",
        at(0.5),
        at(1.0),
        parts[0],
        parts[1],
        f64::from(bytes as u32) / f64::from(1 << 20) / seconds,
        if is_complete { "took" } else { "was not complete after" },
        first_frames as f64 * FRAME.as_secs_f64(),
    );
    print("bevy_main_ms_p99", at(0.99), &note);
    let note = format!("budget {budget}, of {} frames", first_frames + FLOWN_FRAMES);
    print("bevy_upload_over_budget_bytes", over as f64, &note);
}

/// A view of 300 m from above the ground, all of it drawn.
fn near_view() -> (App, Entity, f64) {
    let mut app = app();
    let terrain = app.world_mut().spawn(hills(4)).id();
    let at = Transform::from_xyz(0.0, 80.0, 0.0);
    app.world_mut().spawn((TerrainViewer::new(300.0), at));
    frame(&mut app);
    frame(&mut app);
    while !is_drawn(&mut app) {
        frame(&mut app);
    }
    let from = [0.5, 300.0, 0.5];
    let voxels = app.world_mut().get_mut::<Terrain>(terrain).unwrap();
    let ground = voxels.ray_shown(
        from,
        [0.0, -1.0, 0.0],
        600.0,
        &bevy_terravox::terravox::collide::Filter::SOLID,
    );
    let height = ground.expect("ground").point_m[1];
    // Near enough to edit.
    let world = app.world_mut();
    let mut viewers = world.query_filtered::<&mut Transform, With<TerrainViewer>>();
    viewers.single_mut(world).unwrap().translation.y = height as f32 + 10.0;
    for _ in 0..60 {
        frame(&mut app);
    }
    while !is_drawn(&mut app) {
        frame(&mut app);
    }
    (app, terrain, height)
}

/// Brushes without pause: a ball of 8 m in every frame, in circles that dig and fill in turn, so
/// that every frame changes ground.
pub fn brush() {
    const STEP: f64 = 0.02;
    let circle = (std::f64::consts::TAU / STEP) as u32;
    let (mut app, terrain, height) = near_view();
    let (mut frames, mut unchanged) = (Vec::new(), 0);
    for i in 0..3 * circle {
        let angle = f64::from(i) * STEP;
        let centre = [30.0 * angle.cos(), height, 30.0 * angle.sin()];
        let op = match i / circle % 2 == 1 {
            true => EditOp::fill_ball(8, centre, 8.0),
            false => EditOp::dig_ball(centre, 8.0),
        };
        app.world_mut().write_message(EditTerrain::new(terrain, op));
        let (before, start) = (ThreadTimes::now(), Instant::now());
        app.update();
        let taken = start.elapsed();
        let threads = ThreadTimes::now().since(before);
        rest(taken);
        let edited = app.world().resource::<Messages<TerrainEdited>>();
        unchanged += usize::from(edited.iter_current_update_messages().count() == 0);
        let stats = *app.world().resource::<TerravoxStats>();
        frames.push(BrushFrame { wall_ms: taken.as_secs_f64() * 1e3, threads, stats });
    }
    print_brush(frames, unchanged);
}

/// A frame with an edit.
struct BrushFrame {
    wall_ms: f64,
    threads: ThreadTimes,
    stats: TerravoxStats,
}

fn print_brush(mut frames: Vec<BrushFrame>, unchanged: usize) {
    let at = |share: f64| (share * (frames.len() - 1) as f64) as usize;
    let [half, most, last] = [0.5, 0.99, 1.0].map(at);
    frames.sort_unstable_by(|a, b| a.threads.ran_ms.total_cmp(&b.threads.ran_ms));
    let ran_ms = [half, last].map(|i| frames[i].threads.ran_ms);
    frames.sort_unstable_by(|a, b| a.wall_ms.total_cmp(&b.wall_ms));
    let [median, p99, worst] = [half, most, last].map(|i| frames[i].wall_ms);
    let BrushFrame { threads, stats, .. } = &frames[last];
    let note = format!(
        "median {median:.2} ms, p99 {p99:.2}, worst {worst:.2} of {} frames, whole and without a renderer, \
         {unchanged} of them changed nothing; in the worst edit {:.2}, planning and jobs {:.2}, meshes {:.2}, and \
         its threads waited {:.2} for a core; processor time of a frame: median {:.2}, worst {:.2}, {:.2} times",
        frames.len(),
        stats.edit_ms,
        stats.stream_ms,
        stats.draw_ms,
        threads.waited_ms,
        ran_ms[0],
        ran_ms[1],
        ran_ms[1] / ran_ms[0],
    );
    print("brush_frame_ratio", worst / median, &note);
}

/// Digs now and then; counts the frames after that of the edit until its meshes are shown.
pub fn drawn() {
    let (mut app, terrain, height) = near_view();
    let mut random = Random(7);
    let mut counts = [0u32; 16];
    for _ in 0..200 {
        let [x, z] = [0; 2].map(|_| random.next() * 80.0 - 40.0);
        let voxels = app.world().get::<Terrain>(terrain).expect("it lives");
        let ground = voxels.ray([x, height + 60.0, z], [0.0, -1.0, 0.0], 120.0).hit();
        let at = ground.expect("ground near the viewer").point_m;
        app.world_mut().write_message(EditTerrain::new(terrain, EditOp::dig_ball(at, 6.0)));
        frame(&mut app);
        let mut frames = 0;
        while !shows_edit(&mut app) && frames < 15 {
            frame(&mut app);
            frames += 1;
        }
        counts[frames] += 1;
        for _ in 0..3 {
            frame(&mut app);
        }
    }
    let worst = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    let note = format!("200 digs of 6 m; after 0, 1, 2, 3 frames {:?}", &counts[..4]);
    print("edit_to_drawn_frames", worst as f64, &note);
}

/// Whether no mesh of an edit is missing.
fn shows_edit(app: &mut App) -> bool {
    let world = app.world_mut();
    let mut terrains = world.query::<(&Terrain, &TerrainChunks)>();
    let (terrain, chunks) = terrains.single(world).unwrap();
    chunks.is_complete() && terrain.is_settled()
}
