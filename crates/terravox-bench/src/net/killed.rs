//! A server that is killed while guests build: edits that it reported as saved must be there.

use crate::report::AreaReport;
use crate::trust::child;
use crate::trust::folder::BenchFolder;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::replicate::{GuestEvent, HostOptions, Interest, RefusalCode};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, VoxelPos};
use terravox_server::{
    Client, ClientError, ClientOptions, ServedWorld, Server, ServerOptions, WorldAddress,
};
use terravox_store::{ColumnLeases, Generator, Overwrite, Store, WorldInfo};

/// Number of kills; of a full run.
const KILLS: [u64; 2] = [10, 50];

/// Guests, and balls that each builds a second.
const GUESTS: u64 = 4;
const BALLS_A_SECOND: f64 = 10.0;

/// The file of the world.
const WORLD: &str = "killed.tvx";

/// What balls are of.
const MATERIAL: u8 = 5;

pub fn air(request: &mut FillRequest<'_>) {
    let region = request.cells().region();
    request.cells().reset(region);
}

/// The description of the world: it grows, and begins as air.
pub fn world_info() -> WorldInfo {
    let (name, version) = (Hills::NAME.to_owned(), Hills::VERSION);
    let generator = Generator { name, version, seed: 1, ..Generator::default() };
    WorldInfo::growing(Placement::default(), generator)
}

/// Serves the world of a folder, and prints where, until it is killed.
pub fn serve(folder: &Path) {
    let path = folder.join(WORLD);
    let store = match path.exists() {
        true => Store::open(&path),
        false => {
            Store::create(&path, &world_info(), Overwrite::No).and_then(|draft| draft.finish())
        }
    };
    serve_store(store.unwrap_or_else(|error| panic!("{error}")), None, folder);
}

/// Serves a world, and prints where, until it is killed. `share`: the columns of it that are
/// written here, if others write the rest. `folder`: for the certificate.
pub fn serve_store(store: Store, share: Option<Box<dyn ColumnLeases>>, folder: &Path) {
    let generate = Some(std::sync::Arc::new(air) as terravox_server::Generate);
    let (name, protected) = ("killed".into(), Vec::new());
    let world = ServedWorld { name, store, generate, protected, decide: None, share };
    let options = ServerOptions {
        port: 0,
        certificate_folder: folder.to_owned(),
        pieces_fall: false,
        // Guests here make as many operations as they can.
        host: HostOptions {
            edits_per_s: 10_000,
            edit_work_per_s: 1 << 50,
            ..HostOptions::default()
        },
        ..ServerOptions::default()
    };
    let server = Server::start(vec![world], options).unwrap_or_else(|error| panic!("{error}"));
    println!("ws://{}", server.http_address());
    // It ends by itself if another one takes the world over.
    if let Err(error) = server.run() {
        eprintln!("{error}");
    }
}

/// Returns the position of a ball by its guest and number.
pub fn place(guest: u64, number: u64) -> [f64; 3] {
    let (x, y, z) = (number % 16, number / 256, number / 16 % 16);
    [(8 * x + 200 * guest) as f64, 8.0 * y as f64, 8.0 * z as f64]
}

/// A guest that builds balls.
pub struct Builder {
    client: Client,
    guest: u64,
    /// The first ball, and how many were begun since.
    first: u64,
    begun: u64,
    /// How many of those the server confirmed, and how many it reported as saved.
    pub confirmed: u64,
    saved: u64,
    /// Numbers of those that it refused, as it does while its database is silent.
    refused: BTreeSet<u64>,
    next: Instant,
}

impl Builder {
    /// Connects a guest, which continues after its first `first` balls.
    ///
    /// # Errors
    /// If nothing listens at the address.
    pub fn new(address: &WorldAddress, guest: u64, first: u64) -> Result<Builder, ClientError> {
        let client = Client::connect(address, ClientOptions::default())?;
        let (begun, confirmed, saved, next) = (0, 0, 0, Instant::now());
        let refused = BTreeSet::new();
        Ok(Builder { client, guest, first, begun, confirmed, saved, refused, next })
    }

    /// The balls that are saved, by guest and number, added to `saved`. Returns the number of the
    /// first that was not begun.
    pub fn end(&self, saved: &mut Vec<(u64, u64)>) -> u64 {
        // Numbers of edits begin at 1.
        let numbers = (1..=self.saved).filter(|number| !self.refused.contains(number));
        saved.extend(numbers.map(|number| (self.guest, self.first + number - 1)));
        self.first + self.begun
    }

    /// Builds the next balls; false once the server is gone.
    pub fn go_on(&mut self) -> bool {
        if self.client.poll(air).is_err() {
            return false;
        }
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Confirmed { .. } => self.confirmed += 1,
                GuestEvent::Saved { last, .. } => self.saved = self.saved.max(last),
                GuestEvent::Refused { number, code: RefusalCode::NotAvailable, .. } => {
                    self.refused.insert(number);
                }
                GuestEvent::Refused { reason, .. } => panic!("refused: {reason}"),
                _ => {}
            }
        }
        let at = place(self.guest, self.first + self.begun);
        let interest = Interest { view_voxels: 60.0, near_voxels: 30.0, ..Interest::default() };
        guest.watch(&[at], &interest);
        if Instant::now() >= self.next && guest.edit(&EditOp::fill_ball(MATERIAL, at, 2.5)).is_ok()
        {
            self.begun += 1;
            self.next += Duration::from_secs_f64(1.0 / BALLS_A_SECOND);
        }
        true
    }
}

/// How many of the saved balls are not stored.
pub fn lost(store: &Store, saved: &[(u64, u64)]) -> u64 {
    let (mut cells, mut lost) = (DenseBox::default(), 0);
    for &(guest, number) in saved {
        let voxel = VoxelPos::from(place(guest, number).map(|v| v as i32));
        let is_there = store.block(voxel.chunk().into(), &mut cells);
        let is_there = is_there.is_ok_and(|is_there| is_there);
        lost += u64::from(!is_there || cells.cell(voxel).material != MATERIAL);
    }
    lost
}

/// Starts the server, lets guests build for a while, and kills it.
fn kill_one(folder: &BenchFolder, kill: u64, saved: &mut Vec<(u64, u64)>, begun: &mut [u64]) {
    let path = folder.file("");
    let started = child::start(&["serve", &path.to_string_lossy()]);
    let mut served = started.unwrap_or_else(|error| panic!("the server does not start: {error}"));
    let address = address_of(&mut served);
    let builder = |guest: u64| {
        let built = Builder::new(&address, guest, begun[guest as usize]);
        built.unwrap_or_else(|error| panic!("{error}"))
    };
    let mut builders = Vec::from_iter((0..GUESTS).map(builder));
    // Just before, during and after saves.
    let (start, most) = (Instant::now(), Duration::from_millis(2100 + kill * 137 % 1900));
    while builders.iter_mut().all(Builder::go_on) && start.elapsed() < most {
        thread::sleep(Duration::from_millis(5));
    }
    let _ = served.kill();
    let _ = served.wait();
    // Read what it sent before.
    for builder in &mut builders {
        builder.go_on();
    }
    for (builder, begun) in builders.iter().zip(begun) {
        *begun = builder.end(saved);
    }
}

/// Waits until a server prints its address.
pub fn address_of(served: &mut Child) -> WorldAddress {
    let mut line = String::new();
    let stdout = served.stdout.take().unwrap_or_else(|| unreachable!("it is piped"));
    let read = BufReader::new(stdout).read_line(&mut line);
    match (read, line.trim().parse::<WorldAddress>()) {
        (Ok(_), Ok(address)) => address,
        _ => panic!("the server says: {line}"),
    }
}

/// Measures `killed_lost_edits`.
pub fn run(report: &mut AreaReport) {
    let Ok(folder) = BenchFolder::on_disk("killed") else {
        return report.not_measured("killed_lost_edits", "no folder for files");
    };
    let kills = KILLS[usize::from(report.is_full)];
    let (mut saved, mut begun, mut most) = (Vec::new(), [0; GUESTS as usize], 0);
    for kill in 0..kills {
        kill_one(&folder, kill, &mut saved, &mut begun);
        let store = Store::open(folder.file(WORLD)).unwrap_or_else(|error| panic!("{error}"));
        most = most.max(lost(&store, &saved));
    }
    assert!(!saved.is_empty(), "something is saved");
    let all: u64 = begun.iter().sum();
    let note = format!(
        "{kills} kills, {} of {all} edits were said to be saved; 50 kills with --full",
        saved.len()
    );
    report.set("killed_lost_edits", most as f64, note);
}
