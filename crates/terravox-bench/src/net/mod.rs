//! Replication: bytes on the wire, simulated seconds over links, and the time of the host.

pub mod killed;
mod links;
mod load;
mod profile;
mod session;

use crate::report::{AreaPart, AreaReport, detail};
use crate::worlds::random::Rng;
use crate::worlds::{World, generated, ground, places};
use profile::JoinProfile;
use session::{Fill, Session, hills};
use std::time::Instant;
use terravox::codec::{BitRle, Rle};
use terravox::edit::{EditOp, Editor};
use terravox::generate::Hills;
use terravox::replicate::{Interest, LinkOptions};
use terravox::voxel::{DenseBox, GridOptions, Region, UnlistedChunks, VoxelGrid, VoxelPos};

/// Guests of the host that is idle.
const IDLE_GUESTS: usize = 200;

/// The parts of the area, in the order in which they run.
pub const PARTS: &[AreaPart] = &[
    AreaPart::new("session", sessions),
    AreaPart::new("far", far_view),
    AreaPart::new("links", links::run),
    AreaPart::new("killed", killed::run),
    AreaPart::new("load", load::run),
];

/// Bytes, simulated seconds, and the time of a host without sockets.
fn sessions(report: &mut AreaReport) {
    let mut worlds = vec![generated::world()];
    match places::all() {
        Ok(real) => worlds.extend(real),
        Err(why) => eprintln!("real places are left out: {why}"),
    }
    codes(report, &worlds);
    joins(report, &worlds);
    deltas(report, &worlds);
    drop(worlds);
    operations(report);
    generated_join(report);
    idle(report);
}

/// Bytes of `BitRle` beside those of `Rle`.
fn codes(report: &mut AreaReport, worlds: &[World]) {
    let (mut bits, mut bytes, mut worst) = (0, 0, 0.0f64);
    for world in worlds {
        let kinds = world.grid.materials().kinds();
        let (mut own, mut peer) = (Vec::new(), Vec::new());
        for cells in world.chunk_boxes() {
            let mut part = DenseBox::default();
            for at in cells.region().coarser(4).voxels() {
                part.reset(Region::one(at).finer(4));
                part.copy_from(&cells);
                if part.materials().iter().any(|&material| material != 0) {
                    BitRle { kinds }.encode_box(&part, &mut own);
                    Rle::wide(kinds).encode_box(&part, &mut peer);
                }
            }
        }
        worst = worst.max(own.len() as f64 / peer.len() as f64);
        bits += own.len();
        bytes += peer.len();
    }
    let note = format!("16³ blocks of {} worlds; worst world {worst:.2}", worlds.len());
    report.set("bit_rle_vs_rle", bits as f64 / bytes as f64, note);
}

/// The whole world in bits at mip 0, bytes.
fn mip_0_bytes(world: &World) -> usize {
    let kinds = world.grid.materials().kinds();
    let mut code = Vec::new();
    world.chunk_boxes().for_each(|cells| BitRle { kinds }.encode_box(&cells, &mut code));
    code.len()
}

/// A position over the middle of a world's ground.
fn eye(world: &World) -> [f64; 3] {
    let bounds = world.grid.bounds();
    let [x, _, z] = [0, 1, 2].map(|i| {
        i64::midpoint(bounds.min.to_array()[i].into(), bounds.max.to_array()[i].into()) as i32
    });
    let off = |p: &VoxelPos| (p.x - x).abs() + (p.z - z).abs();
    let near = ground(world, 16).into_iter().min_by_key(off).unwrap_or(VoxelPos::new(x, 0, z));
    [f64::from(near.x), f64::from(near.y) + 8.0, f64::from(near.z)]
}

/// Joining worlds that are sent whole.
fn joins(report: &mut AreaReport, worlds: &[World]) {
    let (mut sent, mut whole, mut first) = (0, 0, 0.0f64);
    let mut profile = JoinProfile::default();
    for world in worlds {
        let grid = VoxelGrid::from_snapshot(world.grid.as_snapshot());
        let mut session = Session::new(grid, None, 8);
        let link =
            LinkOptions { delay_us: 50_000, bytes_per_s: 2_000_000, ..LinkOptions::default() };
        session.join(link, eye(world), Interest::default());
        let picture = session.until(60.0, |session| {
            let guest = &session.players[0].guest;
            let mut roots = guest.blocks().filter(|block| block.mip == 8).peekable();
            roots.peek().is_some() && roots.all(|block| guest.has(block))
        });
        let complete = session.until(600.0, Session::is_settled);
        let (bytes, all) = (session.players[0].down.bytes() as usize, mip_0_bytes(world));
        assert_eq!(session.first_difference(), None, "{}", world.name);
        profile.add(&session);
        report.details(
            format!("join {}", world.name),
            vec![
                detail("sent", bytes as f64 / 1e3, "kB").beside(all as f64 / 1e3),
                detail("first picture", picture, "s"),
                detail("complete", complete, "s"),
            ],
        );
        sent += bytes;
        whole += all;
        first = first.max(picture);
    }
    let note = format!("{} worlds, view 1,024 voxels; {} kB sent", worlds.len(), sent / 1000);
    report.set("join_bytes_vs_mip0", sent as f64 / whole as f64, note);
    profile.report(report);
    report.set("first_picture_s", first, "2 MB/s, 100 ms there and back; the worst world");
}

/// A generated world, of which nothing is loaded.
fn streamed() -> VoxelGrid {
    let unlisted = UnlistedChunks::Unknown;
    VoxelGrid::new(GridOptions { unlisted, ..GridOptions::default() })
}

fn height_at(x: i32, z: i32) -> f64 {
    let mut cells = DenseBox::new(Region::new([x, -200, z], [x + 1, 400, z + 1]));
    Hills::new(2026).fill(&mut cells, 0);
    let top = cells.materials().iter().rposition(|&material| material > 1).unwrap_or(0);
    f64::from(top as i32 - 200)
}

/// Ticks from one dig to the next.
const TICKS_A_DIG: u32 = 10;

/// Digs among guests that stand together.
fn operations(report: &mut AreaReport) {
    let link = LinkOptions { delay_us: 50_000, loss: 0.05, ..LinkOptions::default() };
    let generate: Fill = hills;
    let mut session = Session::new(streamed(), Some(generate), 8);
    let eye = [5.0, height_at(5, 5) + 4.0, 5.0];
    let near = Interest { view_voxels: 400.0, ..Interest::default() };
    session.join(link, eye, near);
    session.join(LinkOptions::default(), eye, near);
    session.until(60.0, Session::is_settled);
    let before: Vec<u64> = session.players.iter().map(|p| p.down.bytes()).collect();
    let (mut rng, digs) = (Rng::new(5), 40);
    for _ in 0..digs {
        let at = [0, 1].map(|_| eye[0] + 40.0 * (rng.unit() - 0.5));
        let op = EditOp::dig_ball([at[0], eye[1] - 5.0, at[1]], 4.0);
        let sent = session.players[0].guest.edit(&op);
        assert!(sent.is_ok(), "the guest has started");
        for _ in 0..TICKS_A_DIG {
            session.step();
        }
    }
    let waited = f64::from(TICKS_A_DIG) * session::TICK_US as f64 / 1e6;
    let took = waited + session.converge(60.0);
    report.set("converge_s", took, "5 % loss, 100 ms; after the last of 40 digs");
    let spent = (session.players[1].down.bytes() - before[1]) as f64 / f64::from(digs);
    let note = "to a guest that holds all of it: packets, headers and acknowledgements included";
    report.set("op_bytes", spent, note);
}

/// Bytes before the code of a box of cells: frame, length, kind, position, size.
const CELLS_HEADER: usize = 24;

/// Digs as the cells that they changed, by block.
fn deltas(report: &mut AreaReport, worlds: &[World]) {
    let (mut bytes, mut digs, mut cells) = (0, 0, DenseBox::default());
    for world in worlds {
        let mut grid = VoxelGrid::from_snapshot(world.grid.as_snapshot());
        let (kinds, mut editor, mut code) = (*grid.materials().kinds(), Editor::default(), vec![]);
        for at in ground(world, 24).into_iter().take(200) {
            let op = EditOp::dig_ball(at.to_array().map(f64::from), 4.0);
            let Ok(dug) = editor.apply(&mut grid, &op, None) else { continue };
            for chunk in dug.region.blocks::<5>() {
                let part = dug.region.intersect(chunk.region());
                if grid.read(part, 0, &mut cells).is_ok() {
                    BitRle { kinds: &kinds }.encode_box(&cells, &mut code);
                    bytes += CELLS_HEADER;
                }
            }
            digs += 1;
        }
        bytes += code.len();
    }
    let note = format!("{digs} digs on the ground of {} worlds", worlds.len());
    report.set("delta_r4_bytes", bytes as f64 / f64::from(digs), note);
}

/// Joining a generated world that was edited.
fn generated_join(report: &mut AreaReport) {
    let generate: Fill = hills;
    let mut session = Session::new(streamed(), Some(generate), 11);
    let mut rng = Rng::new(8);
    for _ in 0..1000 {
        let at = [0, 1].map(|_| (400.0 * (rng.unit() - 0.5)) as i32);
        let centre = [f64::from(at[0]), height_at(at[0], at[1]), f64::from(at[1])];
        let op = EditOp::dig_ball(centre, 2.0 + 3.0 * rng.unit());
        let edited = session.with_world(|host, world| host.edit(world, &op));
        assert!(edited.is_ok(), "{edited:?}");
    }
    let interest = Interest { view_voxels: 8000.0, ..Interest::default() };
    session.join(LinkOptions::default(), [0.0, height_at(0, 0) + 4.0, 0.0], interest);
    let took = session.until(120.0, Session::is_settled);
    let kib = session.players[0].down.bytes() as f64 / 1024.0;
    let blocks = session.players[0].guest.blocks().count();
    assert_eq!(session.first_difference(), None);
    let note = format!("1,000 digs within 400 voxels; {blocks} blocks, {took:.1} s");
    report.set("join_generated_kib", kib, note);
    let kib = session.host.guest_memory(session.players[0].number) as f64 / 1024.0;
    report.details("memory of a guest that sees 8 km", vec![detail("host", kib, "KiB")]);
}

/// A view of 4 km of a world of which all cells are sent.
fn far_view(report: &mut AreaReport) {
    let mut session = Session::sent_whole(streamed(), hills, 8);
    let link = LinkOptions { delay_us: 50_000, bytes_per_s: 1_000_000, ..LinkOptions::default() };
    let interest = Interest { view_voxels: 4000.0, ..Interest::default() };
    session.join(link, [0.0, height_at(0, 0) + 4.0, 0.0], interest);
    let took = session.until(300.0, Session::is_settled);
    let megabytes = session.players[0].down.bytes() as f64 / 1e6;
    let blocks = session.players[0].guest.blocks().count();
    assert_eq!(session.first_difference(), None);
    report.set("view_4km_s", took, format!("1 MB/s, 100 ms there and back; {blocks} blocks"));
    report.set("view_4km_mb", megabytes, "hills, no generator on the guest's side");
}

/// A host of many guests, where nothing changes.
fn idle(report: &mut AreaReport) {
    let generate: Fill = hills;
    let mut session = Session::new(streamed(), Some(generate), 8);
    for guest in 0..IDLE_GUESTS {
        let at = [(guest % 20) as f64 * 30.0, 60.0, (guest / 20) as f64 * 30.0];
        session.join(LinkOptions::default(), at, Interest::default());
    }
    session.until(60.0, Session::is_settled);
    let mut times: Vec<f64> = (0..500)
        .map(|_| {
            session.now_us += session::TICK_US;
            let start = Instant::now();
            session.tick();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let note = format!("{IDLE_GUESTS} guests; slowest {:.0} µs", times[times.len() - 1]);
    report.set("idle_tick_us", times[times.len() / 2], note);
    let memory = session.players.iter().map(|p| session.host.guest_memory(p.number));
    let most = memory.max().unwrap_or(0) as f64 / 1024.0;
    report.set("host_kib_per_guest", most, "view 1,024 voxels; the largest of 200");
}
