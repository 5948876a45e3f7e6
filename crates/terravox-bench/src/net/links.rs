//! Guests on bad links who dig, fly, lose their link and come back: in the end all have what the
//! host has.

use super::session::{Fill, Session};
use crate::report::AreaReport;
use crate::worlds::random::Rng;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use terravox::edit::EditOp;
use terravox::replicate::{Interest, LinkOptions};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid};

/// Seeds, and of a full run.
const SEEDS: [u64; 2] = [100, 10_000];

/// What happens in a session, and for how many simulated seconds it may settle then.
const EVENTS: u32 = 60;
const MOST_S: f64 = 60.0;

/// Ground that is cheap to make.
fn waves(request: &mut FillRequest<'_>) {
    let height = |x: f64, z: f64| 4.0 * (x * 0.07).sin() + 3.0 * (z * 0.05).cos();
    request.fill_height(8, -7.0..=7.0, height);
}

/// A world that is complete: some chunks of it.
fn imported() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for chunk in Region::new([-96, -64, -96], [96, 32, 96]).blocks::<5>() {
        let is_made =
            FillRequest::fill_block(&mut cells, chunk.into(), Placement::default(), waves);
        assert!(is_made && grid.write(&cells).is_ok(), "unlisted chunks are air");
    }
    grid
}

fn streamed() -> VoxelGrid {
    let unlisted = UnlistedChunks::Unknown;
    VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() })
}

fn bad_link(rng: &mut Rng) -> LinkOptions {
    LinkOptions {
        loss: 0.2 * rng.unit(),
        duplicates: 0.2 * rng.unit(),
        delay_us: rng.below(100_000).into(),
        jitter_us: rng.below(80_000).into(),
        bytes_per_s: 60_000 + u64::from(rng.below(2_000_000)),
    }
}

fn random_op(rng: &mut Rng, near: [f64; 3]) -> EditOp {
    let centre = near.map(|v| v + 40.0 * (rng.unit() - 0.5));
    let radius = 1.0 + 5.0 * rng.unit();
    match rng.below(5) {
        0 => EditOp::fill_ball(8, centre, radius),
        1 => EditOp::smooth_ball(centre, radius, 0.5),
        2 => EditOp::paint_ball(2, centre, radius),
        _ => EditOp::dig_ball(centre, radius),
    }
}

/// Plays a seed. Panics if guests and host differ in the end, or if one breaks the protocol.
fn play(seed: u64) {
    let mut rng = Rng::new(seed);
    let max_mip = 2 + rng.below(7) as u8;
    let generate: Fill = waves;
    let mut session = match rng.below(3) {
        0 => Session::new(imported(), None, max_mip),
        1 => Session::sent_whole(streamed(), waves, max_mip),
        _ => Session::new(streamed(), Some(generate), max_mip),
    };
    let interest = Interest { view_voxels: 150.0, near_voxels: 40.0, ..Interest::default() };
    let spread = [80.0, 300.0][rng.below(2) as usize];
    for _ in 0..=rng.below(3) {
        let [x, z] = [0, 1].map(|_| spread * (rng.unit() - 0.5));
        session.join(bad_link(&mut rng), [x, 10.0, z], interest);
    }
    for _ in 0..EVENTS {
        for _ in 0..rng.below(12) {
            session.step();
        }
        let at = rng.below(session.players.len() as u32) as usize;
        let eye = session.players[at].eye;
        let ground = [eye[0], 0.0, eye[2]];
        match rng.below(20) {
            0 => session.reconnect(at, bad_link(&mut rng), seed + u64::from(rng.below(1000))),
            1..4 => session.players[at].eye = eye.map(|v| v + 24.0 * (rng.unit() - 0.5)),
            // Refused while there is no world yet, as edits are.
            4 => _ = session.players[at].guest.undo(),
            5 => _ = session.players[at].guest.redo(),
            6 => {
                let op = random_op(&mut rng, ground);
                let edited = session.with_world(|host, world| host.edit(world, &op));
                assert!(edited.is_ok(), "{edited:?}");
            }
            _ => _ = session.players[at].guest.edit(&random_op(&mut rng, ground)),
        }
    }
    let took = session.converge(MOST_S);
    assert!(took.is_finite(), "{:?} differs after {MOST_S} s", session.first_difference());
}

/// Plays many seeds, on all cores.
pub fn run(report: &mut AreaReport) {
    let seeds = SEEDS[usize::from(report.is_full)];
    let (next, diverged) = (AtomicU64::new(0), AtomicU64::new(0));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    if catch_unwind(|| play(seed)).is_err() {
                        eprintln!("seed {seed} of net --only links diverged");
                        diverged.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let note = format!("{seeds} seeds; 10,000 with --full");
    report.set("links_diverged", diverged.into_inner() as f64, note);
}
