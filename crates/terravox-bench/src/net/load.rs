//! A server and many clients over loopback, on the cores of one machine.

use super::session::hills;
use crate::report::{AreaReport, detail};
use crate::worlds::random::Rng;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::replicate::{GuestEvent, HostOptions, Interest};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, MipBlock, VoxelPos};
use terravox_server::{Client, ClientOptions, ServedWorld, Server, ServerOptions, WorldAddress};
use terravox_store::{Generator, Overwrite, Store, WorldInfo};

/// Numbers of clients that are tried, until a tick takes too long.
const CLIENTS: [usize; 6] = [50, 100, 200, 400, 700, 1000];

/// How long clients dig and fly, after all are there.
const DURATION: Duration = Duration::from_secs(20);

/// Longest time of 99 % of the ticks, ms.
const MAX_TICK_MS: f64 = 33.0;

/// Metres a second that clients fly.
const SPEED_M_S: f64 = 12.0;

/// Between two strokes of a client.
const STROKE_EVERY: Duration = Duration::from_millis(500);

thread_local! {
    /// Ground that a bot made. Players have a machine each: what all of them would make there must
    /// not keep the server here from its work.
    static MADE: RefCell<HashMap<MipBlock, DenseBox>> = RefCell::default();
}

/// Maximum number of blocks of [`MADE`], 64 KiB each.
const MAX_MADE: usize = 4096;

/// As [`hills`], once for all bots.
fn shared_hills(request: &mut FillRequest<'_>) {
    let block = request.block();
    let made = MADE.with_borrow(|made| made.get(&block).cloned());
    match made {
        Some(made) if made.region() == request.cells().region() => *request.cells() = made,
        _ => {
            hills(request);
            let cells = request.cells().clone();
            MADE.with_borrow_mut(|made| {
                if made.len() >= MAX_MADE {
                    made.clear();
                }
                made.insert(block, cells);
            });
        }
    }
}

/// A client that flies in a circle and digs under itself.
struct Bot {
    client: Client,
    centre: [f64; 2],
    phase: f64,
    next_stroke: Instant,
    sent: u64,
    confirmed: u64,
    is_in: bool,
}

impl Bot {
    /// Connects to a place in the world: clients stand some 60 m apart.
    fn join(address: &WorldAddress, number: usize) -> Bot {
        let client = Client::connect(address, ClientOptions::default());
        let angle = number as f64 * 2.399_963;
        let away = 34.0 * (number as f64).sqrt();
        Bot {
            client: client.unwrap_or_else(|error| panic!("client {number}: {error}")),
            centre: [away * angle.cos(), away * angle.sin()],
            phase: angle,
            next_stroke: Instant::now(),
            sent: 0,
            confirmed: 0,
            is_in: false,
        }
    }

    fn position(&self, time: f64) -> [f64; 3] {
        let radius = 40.0;
        let angle = self.phase + time * SPEED_M_S / radius;
        [self.centre[0] + radius * angle.cos(), 50.0, self.centre[1] + radius * angle.sin()]
    }

    fn frame(&mut self, time: f64, digs: bool, rng: &mut Rng) {
        let polled = self.client.poll(shared_hills);
        assert_eq!(polled, Ok(()), "the server keeps its clients");
        let at = self.position(time);
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => {
                    guest.start(true);
                    self.is_in = true;
                }
                GuestEvent::Confirmed { .. } => self.confirmed += 1,
                GuestEvent::Refused { reason, .. } => panic!("refused: {reason}"),
                _ => {}
            }
        }
        let interest = Interest { view_voxels: 512.0, near_voxels: 48.0, ..Interest::default() };
        guest.watch(&[at], &interest);
        if digs && Instant::now() >= self.next_stroke {
            let centre = [at[0], 20.0 + 30.0 * rng.unit(), at[2]];
            self.sent += u64::from(guest.edit(&EditOp::dig_ball(centre, 4.0)).is_ok());
            self.next_stroke = Instant::now() + STROKE_EVERY;
        }
    }

    fn is_settled(&mut self) -> bool {
        self.client.guest().is_complete() && self.client.guest().pending_edits() == 0
    }
}

/// A server of a new world in a folder that is removed at the end.
struct Loaded {
    folder: PathBuf,
    server: Option<Server>,
}

impl Loaded {
    fn start() -> Loaded {
        let folder = std::env::temp_dir().join(format!("terravox-load-{}", std::process::id()));
        let started = start(&folder);
        let server = started.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        Loaded { folder, server: Some(server) }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap_or_else(|| unreachable!("it runs until this is dropped"))
    }

    fn addresses(&self) -> [WorldAddress; 2] {
        let server = self.server();
        [server.quic_address().to_string(), format!("ws://{}", server.http_address())]
            .map(|text| text.parse().unwrap_or_else(|error| panic!("{error}")))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.server = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn start(folder: &Path) -> Result<Server, Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    let (name, version) = (Hills::NAME.to_owned(), Hills::VERSION);
    let generator = Generator { name, version, seed: 2026, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    let store = Store::create(folder.join("load.tvx"), &info, Overwrite::Yes)?.finish()?;
    let world = ServedWorld {
        name: "load".into(),
        store,
        generate: Some(Arc::new(hills)),
        protected: Vec::new(),
        decide: None,
        share: None,
    };
    let options = ServerOptions {
        port: 0,
        certificate_folder: folder.to_owned(),
        max_connections_per_address: 4096,
        max_connections: 4096,
        // All clients have one address, so they count as one account.
        host: HostOptions {
            edits_per_s: 1_000_000,
            edit_work_per_s: 1 << 50,
            max_blocks: 1 << 24,
            ..HostOptions::default()
        },
        ..ServerOptions::default()
    };
    Ok(Server::start(vec![world], options)?)
}

/// A value of `/metrics`.
fn metric(address: SocketAddr, name: &str) -> f64 {
    let read = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().unwrap_or_else(|error| panic!("{address}: {error}"));
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// What clients saw.
struct LoadResult {
    tick_p99_ms: f64,
    tick_p50_ms: f64,
    strokes: u64,
    lost: u64,
}

/// Clients dig and fly for a while.
fn load(count: usize) -> LoadResult {
    let loaded = Loaded::start();
    let addresses = loaded.addresses();
    let mut bots: Vec<Bot> = Vec::with_capacity(count);
    let mut rng = Rng::new(count as u64);
    // They come a few at a time, as players do.
    while bots.len() < count {
        for number in bots.len()..count.min(bots.len() + 10) {
            bots.push(Bot::join(&addresses[number % 2], number));
        }
        bots.iter_mut().for_each(|bot| bot.frame(0.0, false, &mut rng));
    }
    let start = Instant::now();
    while start.elapsed() < DURATION {
        let frame = Instant::now();
        let time = start.elapsed().as_secs_f64();
        bots.iter_mut().for_each(|bot| bot.frame(time, true, &mut rng));
        thread::sleep(Duration::from_millis(33).saturating_sub(frame.elapsed()));
    }
    // The last 1,024 ticks: those under load.
    let http = loaded.server().http_address();
    let quantile = |share: &str| {
        let name = format!("terravox_tick_microseconds{{world=\"load\",quantile=\"{share}\"}}");
        metric(http, &name) / 1e3
    };
    let (tick_p50_ms, tick_p99_ms) = (quantile("0.5"), quantile("0.99"));
    let time = start.elapsed().as_secs_f64();
    let end = Instant::now();
    while end.elapsed() < Duration::from_secs(60) && !bots.iter_mut().all(Bot::is_settled) {
        bots.iter_mut().for_each(|bot| bot.frame(time, false, &mut rng));
    }
    let [strokes, confirmed] =
        [bots.iter().map(|bot| bot.sent).sum::<u64>(), bots.iter().map(|bot| bot.confirmed).sum()];
    assert!(bots.iter().all(|bot| bot.is_in), "all were let in");
    LoadResult { tick_p99_ms, tick_p50_ms, strokes, lost: strokes - confirmed }
}

/// The time from a stroke of one client to its arrival at another, ms, sorted.
fn edit_times() -> Vec<f64> {
    let loaded = Loaded::start();
    let addresses = loaded.addresses();
    let mut rng = Rng::new(1);
    let mut pair: Vec<Bot> = addresses.iter().map(|address| Bot::join(address, 0)).collect();
    while !pair.iter_mut().all(|bot| bot.is_in && bot.is_settled()) {
        pair.iter_mut().for_each(|bot| bot.frame(0.0, false, &mut rng));
    }
    let at = pair[0].position(0.0);
    let mut times = Vec::new();
    for stroke in 0..200_u32 {
        let off = [stroke % 16, stroke / 16].map(|v| 5.0 * f64::from(v));
        let place = [at[0] - 40.0 + off[0], 60.0 + off[1], at[2]];
        let centre = VoxelPos::from(place.map(|v| v.floor() as i32));
        let ball = EditOp::fill_ball(5, place, 2.0);
        let start = Instant::now();
        let sent = pair[0].client.guest().edit(&ball);
        assert!(sent.is_ok(), "{sent:?}");
        let mut has_arrived = false;
        while !has_arrived {
            assert!(start.elapsed() < Duration::from_secs(10), "stroke {stroke} did not arrive");
            for bot in &mut pair {
                let polled = bot.client.poll(shared_hills);
                assert_eq!(polled, Ok(()), "the server keeps its clients");
            }
            pair[0].client.guest().events().for_each(drop);
            let guest = pair[1].client.guest();
            guest.events().for_each(drop);
            // As the operation, or as cells.
            let there = guest.grid().and_then(|grid| grid.cell(centre).ok());
            has_arrived = there.is_some_and(|cell| cell.material == 5);
            thread::sleep(Duration::from_micros(200));
        }
        times.push(start.elapsed().as_secs_f64() * 1e3);
        thread::sleep(Duration::from_millis(40));
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Measures the server.
pub fn run(report: &mut AreaReport) {
    let times = edit_times();
    let note = format!("p95 of 200, QUIC to WebSocket; p50 {:.1}", times[times.len() / 2]);
    report.set("edit_to_other_guest_ms", times[times.len() * 95 / 100], note);
    let mut held = 0;
    for count in CLIENTS {
        let LoadResult { tick_p99_ms, tick_p50_ms, strokes, lost } = load(count);
        report.details(
            format!("{count} clients"),
            vec![
                detail("tick p99", tick_p99_ms, "ms"),
                detail("tick p50", tick_p50_ms, "ms"),
                detail("strokes", strokes as f64, "strokes"),
                detail("lost", lost as f64, "strokes"),
            ],
        );
        if count == 200 {
            let note = format!("p50 {tick_p50_ms:.1}; {strokes} strokes, {lost} lost");
            report.set("tick_p99_ms", tick_p99_ms, note);
        }
        if tick_p99_ms > MAX_TICK_MS || lost > 0 {
            break;
        }
        held = count;
    }
    report.set("clients_held", held as f64, "half QUIC, half WebSocket, on the same machine");
}
