//! Two servers that share a world: how long until guests of one see an edit that was made at the
//! other, just beyond the border; how long a guest that crosses the border while it digs cannot dig; and
//! how long until the one takes edits in a column of the other that was killed.

use super::crossing;
use super::server::Server;
use crate::net::killed::{address_of, air, serve_store, world_info};
use crate::report::AreaReport;
use crate::trust::child;
use crate::trust::folder::BenchFolder;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{GuestEvent, Interest};
use terravox::voxel::{AIR, VoxelPos};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_server::{Client, ClientOptions, WorldAddress};
use terravox_store::StoreError;

/// Strokes of a quick run and of a full run.
const STROKES: [u32; 2] = [100, 400];

/// What the strokes leave, in turn: a place is built, and dug away.
const MATERIALS: [u8; 2] = [5, AIR];

/// Longest wait for a stroke.
const STROKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the strokes are along z: not at a corner of columns.
const Z: i32 = 100;

/// Between two strokes: operations by the second are limited.
const PAUSE: Duration = Duration::from_millis(60);

/// Serves a share of the world of an address, and prints where. Its lease is so long.
pub fn serve(address: &str, name: &str, folder: &Path, lease: Duration) {
    let options = PostgresOptions { lease, ..PostgresOptions::default() };
    let shared = Postgres::share(address, &options, name);
    let (store, share) = shared.unwrap_or_else(|error| panic!("{error}"));
    serve_store(store, Some(Box::new(share)), folder);
}

/// A server, killed at the end.
pub struct ServerProcess(Child);

impl ServerProcess {
    pub fn start(
        address: &str,
        name: &str,
        folder: &BenchFolder,
        lease: Duration,
    ) -> ServerProcess {
        let (folder, lease) = (folder.file(""), lease.as_millis().to_string());
        let folder = folder.to_string_lossy();
        let started = child::start(&["serve-shared", address, name, &folder, &lease]);
        ServerProcess(started.unwrap_or_else(|error| panic!("the server does not start: {error}")))
    }

    /// Waits until it listens.
    pub fn address(&mut self) -> WorldAddress {
        address_of(&mut self.0)
    }

    pub fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {signal}");
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A guest at one side of the border.
struct Player {
    client: Client,
    /// −1 in the west, 1 in the east.
    side: i32,
    distance: i32,
    confirmed: u32,
    refused: u32,
    /// Why the last operation was refused.
    reason: String,
}

impl Player {
    fn new(address: &WorldAddress, side: i32) -> Player {
        let client = Client::connect(address, ClientOptions::default());
        let client = client.unwrap_or_else(|error| panic!("{error}"));
        // So far away that the other side is not watched: each server claims its own.
        Player { client, side, distance: 200, confirmed: 0, refused: 0, reason: String::new() }
    }

    fn frame(&mut self) {
        self.client.poll(air).unwrap_or_else(|error| panic!("{error}"));
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Confirmed { .. } => self.confirmed += 1,
                GuestEvent::Refused { reason, .. } => {
                    self.refused += 1;
                    self.reason = reason;
                }
                _ => {}
            }
        }
        let at = [f64::from(self.side * self.distance), 0.0, f64::from(Z)];
        let interest = Interest { view_voxels: 80.0, near_voxels: 40.0, ..Interest::default() };
        guest.watch(&[at], &interest);
    }

    /// Builds at a place until the server has claimed its column.
    fn claim(&mut self, x: i32) {
        let (begin, mut pause, before) = (Instant::now(), Instant::now(), self.confirmed);
        while self.confirmed == before {
            let Player { refused, reason, .. } = self;
            assert!(begin.elapsed() < STROKE_TIMEOUT, "never claimed; {refused} refused: {reason}");
            self.frame();
            if self.client.guest().is_complete() && pause.elapsed() > PAUSE {
                let at = [f64::from(x), 40.0, f64::from(Z)];
                // One that is not taken now is tried again.
                let _ = self.client.guest().edit(&EditOp::fill_ball(MATERIALS[0], at, 3.0));
                pause = Instant::now();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Builds until the server has claimed this side, and goes to the border.
    fn settle(&mut self) {
        let begin = Instant::now();
        self.claim(self.side * self.distance);
        self.distance = 10;
        while !self.client.guest().is_complete() || begin.elapsed() < Duration::from_secs(2) {
            self.frame();
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Builds at one side; returns the time until the guest at the other one sees it, milliseconds.
fn stroke(from: &mut Player, to: &mut Player, number: u32) -> f64 {
    let place = number as i32 / 2;
    let [y, z] = [place % 6, place / 6 % 6].map(|v| 7 * v - 18);
    let (at, material) = ([12 * from.side, y, Z + z], MATERIALS[number as usize / 72 % 2]);
    let (begin, refused) = (Instant::now(), from.refused);
    let op = match material {
        AIR => EditOp::dig_ball(at.map(f64::from), 3.0),
        material => EditOp::fill_ball(material, at.map(f64::from), 3.0),
    };
    from.client.guest().edit(&op).unwrap_or_else(|error| panic!("{error}"));
    let is_seen = |to: &mut Player| {
        let cell = to.client.guest().cell(VoxelPos::from(at), air);
        cell.is_some_and(|cell| cell.material == material)
    };
    while !is_seen(to) {
        assert!(
            begin.elapsed() < STROKE_TIMEOUT && from.refused == refused,
            "a stroke is not seen"
        );
        from.frame();
        to.frame();
        thread::sleep(Duration::from_micros(500));
    }
    begin.elapsed().as_secs_f64() * 1000.0
}

/// Measures `border_edit_ms` and `border_takeover_s`.
pub fn run(report: &mut AreaReport, server: &mut Server) -> Result<(), StoreError> {
    let folders = ["border-west", "border-east"].map(|name| {
        BenchFolder::on_disk(name).unwrap_or_else(|error| panic!("no folder for files: {error}"))
    });
    let address = server.address("border");
    drop(Postgres::create(&address, &world_info(), &PostgresOptions::default())?);
    let [west, east] = &folders;
    let lease = PostgresOptions::default().lease;
    let mut west_server = ServerProcess::start(&address, "west:1", west, lease);
    let mut east_server = ServerProcess::start(&address, "east:1", east, lease);
    let addresses = [west_server.address(), east_server.address()];
    let west = &mut Player::new(&addresses[0], -1);
    west.settle();
    let east = &mut Player::new(&addresses[1], 1);
    east.settle();
    let strokes = STROKES[usize::from(report.is_full)];
    let mut times = Vec::new();
    for number in 0..strokes {
        times.push(match number % 2 {
            0 => stroke(west, east, number),
            _ => stroke(east, west, number),
        });
        let pause = Instant::now();
        while pause.elapsed() < PAUSE {
            west.frame();
            east.frame();
            thread::sleep(Duration::from_millis(1));
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let note = format!(
        "p95 of {strokes} strokes, median {:.1}, worst {:.1}; to a guest of the other server, through the database",
        at(0.5),
        at(1.0)
    );
    report.set("border_edit_ms", at(0.95), note);
    crossing::run(report, &addresses, || {
        west.frame();
        east.frame();
    });
    let killed = Instant::now();
    drop(east_server);
    west.claim(20);
    let note = format!("one kill; the lease of the killed is {} s", lease.as_secs_f64());
    report.set("border_takeover_s", killed.elapsed().as_secs_f64(), note);
    Ok(())
}
