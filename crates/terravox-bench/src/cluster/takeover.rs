//! A server of a world in a database that is killed while guests build, and another one that waits
//! for that: how long until it takes edits, and whether all that was saved is there. And whether it
//! is when PostgreSQL itself is killed.

use super::server::Server;
use crate::net::killed::{Builder, address_of, lost, serve_store, world_info};
use crate::report::AreaReport;
use crate::trust::child;
use crate::trust::folder::BenchFolder;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_server::WorldAddress;
use terravox_store::StoreError;

/// Number of kills, in a short and in a full run.
const KILLS: [u64; 2] = [10, 50];

/// Number of guests that build.
const GUESTS: u64 = 4;

/// Interval at which a waiting server tries to open the world.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Serves the world of an address, once no other server does, and prints where.
pub fn serve(address: &str, folder: &Path) {
    let store = loop {
        match Postgres::open(address, &PostgresOptions::default()) {
            Ok(store) => break store,
            Err(StoreError::InUse { .. }) => thread::sleep(RETRY_INTERVAL),
            Err(error) => panic!("{error}"),
        }
    };
    serve_store(store, None, folder);
}

/// A server that runs or waits.
struct Process(Child);

impl Process {
    fn start(address: &str, folder: &BenchFolder) -> Process {
        let folder = folder.file("");
        let started = child::start(&["serve-database", address, &folder.to_string_lossy()]);
        Process(started.unwrap_or_else(|error| panic!("the server does not start: {error}")))
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Guests that build at a server.
fn builders(address: &WorldAddress, begun: &[u64]) -> Vec<Builder> {
    let build = |(guest, &first)| {
        let built = Builder::new(address, guest, first);
        built.unwrap_or_else(|error| panic!("{error}"))
    };
    (0..GUESTS).zip(begun).map(build).collect()
}

/// Kills PostgreSQL while guests build, so many times. Returns the most edits that were missing, of
/// those that were said to be saved.
fn kill_database(
    server: &mut Server,
    address: &str,
    folder: &BenchFolder,
    kills: u64,
    saved: &mut Vec<(u64, u64)>,
    begun: &mut [u64],
) -> Result<u64, StoreError> {
    let mut most = 0;
    for kill in 0..kills {
        let mut serving = Process::start(address, folder);
        let mut guests = builders(&address_of(&mut serving.0), begun);
        let (start, time) = (Instant::now(), Duration::from_millis(1200 + kill * 137 % 1900));
        while start.elapsed() < time {
            assert!(guests.iter_mut().all(Builder::go_on), "the server is there");
            thread::sleep(Duration::from_millis(5));
        }
        server.kill();
        // The server would save again what is missing.
        serving.kill();
        for (guest, begun) in guests.iter_mut().zip(&mut *begun) {
            guest.go_on();
            *begun = guest.end(saved);
        }
        server.restart();
        let store = Postgres::open_read_only(address, &PostgresOptions::default())?;
        most = most.max(lost(&store, saved));
    }
    Ok(most)
}

/// Measures `takeover_s` and `lost_edits`.
pub fn run(report: &mut AreaReport, server: &mut Server) -> Result<(), StoreError> {
    let folder = BenchFolder::on_disk("takeover");
    let folder = folder.unwrap_or_else(|error| panic!("no folder for files: {error}"));
    let address = server.address("takeover");
    drop(Postgres::create(&address, &world_info(), &PostgresOptions::default())?);
    let kills = KILLS[usize::from(report.is_full)];
    let (mut saved, mut begun, mut times) = (Vec::new(), [0; GUESTS as usize], Vec::new());
    let mut serving = Process::start(&address, &folder);
    let mut at = address_of(&mut serving.0);
    let mut guests = builders(&at, &begun);
    for kill in 0..kills {
        let mut waiting = Process::start(&address, &folder);
        // Just before, during and after saves.
        let (start, most) = (Instant::now(), Duration::from_millis(2500 + kill * 137 % 1900));
        while start.elapsed() < most && guests.iter_mut().all(Builder::go_on) {
            thread::sleep(Duration::from_millis(5));
        }
        let killed = Instant::now();
        serving.kill();
        for (guest, begun) in guests.iter_mut().zip(&mut begun) {
            // What the server sent before it was killed.
            guest.go_on();
            *begun = guest.end(&mut saved);
        }
        at = address_of(&mut waiting.0);
        guests = builders(&at, &begun);
        while guests.iter().all(|guest| guest.confirmed == 0) {
            assert!(guests.iter_mut().all(Builder::go_on), "the second server is there");
            thread::sleep(Duration::from_millis(1));
        }
        times.push(killed.elapsed().as_secs_f64());
        serving = waiting;
    }
    drop((serving, guests));
    let store = Postgres::open_read_only(&address, &PostgresOptions::default())?;
    let lost_with_servers = lost(&store, &saved);
    drop(store);
    let lost_with_database =
        kill_database(server, &address, &folder, kills, &mut saved, &mut begun)?;
    let all: u64 = begun.iter().sum();
    times.sort_by(f64::total_cmp);
    let lease = PostgresOptions::default().lease.as_secs_f64();
    let note = format!(
        "the worst of {kills} kills under load, median {:.2} s; the lease of the killed is {lease} s; \
         50 kills with --full",
        times[times.len() / 2]
    );
    report.set("takeover_s", times[times.len() - 1], note);
    let note = format!(
        "{kills} kills of the server, and {kills} of PostgreSQL; {} of {all} edits were said to be saved",
        saved.len()
    );
    report.set("lost_edits", (lost_with_servers + lost_with_database) as f64, note);
    Ok(())
}
