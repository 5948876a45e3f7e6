//! Two servers share a world in PostgreSQL: real processes, of which one is killed.

use crate::Folder;
use crate::online::{Served, hills, join, serve_with};
use crate::ports::free_port;
use crate::postgres::Server;
use serde_json::Value;
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::replicate::{GuestEvent, Interest, RefusalCode};
use terravox::terrain::Placement;
use terravox::voxel::VoxelPos;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_server::{Client, ClientOptions, ServerReason, WorldAddress};
use terravox_store::{Generator, WorldInfo};

/// How long anything here may take: a lease, saves, and a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is built of, high in the air.
const MATERIAL: u8 = 5;

pub fn new_world(server: &Server) -> String {
    let address = server.address("shared");
    let (name, version) = (Hills::NAME.to_owned(), Hills::VERSION);
    let generator = Generator { name, version, seed: 7, ..Generator::default() };
    let info = WorldInfo::growing(Placement::default(), generator);
    drop(Postgres::create(&address, &info, &PostgresOptions::default()).expect("a new world"));
    address
}

/// A server that shares the world.
pub fn share(folder: &Folder, address: &str, port: u16) -> Served {
    let own = format!("127.0.0.1:{port}");
    serve_with(folder, address, port, &["--share", &own])
}

/// A player at a place, in voxels.
struct Player {
    client: Client,
    eye: [f64; 3],
    outcomes: Vec<Result<bool, String>>,
    saved: u64,
}

impl Player {
    fn new(port: u16, eye: [i32; 3]) -> Player {
        let address: WorldAddress = format!("127.0.0.1:{port}").parse().expect("an address");
        let client = Client::connect(&address, ClientOptions::default()).expect("a connection");
        let mut player = Player { client, eye: eye.map(f64::from), outcomes: vec![], saved: 0 };
        player.until(|player| player.client.guest().is_complete());
        player
    }

    fn frame(&mut self) {
        self.client.poll(hills).expect("the link holds");
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Confirmed { has_changed, .. } => self.outcomes.push(Ok(has_changed)),
                GuestEvent::Refused { code, reason, .. } => {
                    let is_early = reason.contains("not served yet");
                    let expected = match is_early {
                        true => ServerReason::NotServedYet,
                        false => ServerReason::OtherServer,
                    };
                    assert_eq!(code, RefusalCode::Game(expected as u16), "{reason}");
                    self.outcomes.push(Err(reason));
                }
                GuestEvent::Saved { last, .. } => self.saved = last,
                _ => {}
            }
        }
        let interest = Interest { view_voxels: 64.0, ..Interest::default() };
        guest.watch(&[self.eye], &interest);
        std::thread::sleep(Duration::from_millis(2));
    }

    fn until(&mut self, is_met: impl Fn(&mut Player) -> bool) -> Duration {
        let begin = Instant::now();
        while !is_met(self) {
            assert!(begin.elapsed() < PATIENCE, "waited for too long");
            self.frame();
        }
        begin.elapsed()
    }

    /// Lets some time go by: operations by the second are limited.
    fn rest(&mut self) {
        (0..30).for_each(|_| self.frame());
    }

    /// Builds a ball; whether that changed something, or why it was refused.
    fn build(&mut self, at: [i32; 3]) -> Result<bool, String> {
        let ball = EditOp::fill_ball(MATERIAL, at.map(f64::from), 3.0);
        self.client.guest().edit(&ball).expect("an operation");
        let before = self.outcomes.len();
        self.until(|player| player.outcomes.len() > before);
        self.outcomes[before].clone()
    }

    /// Builds a ball in a column that this server may still have to claim.
    fn build_soon(&mut self, at: [i32; 3]) -> Duration {
        let begin = Instant::now();
        while let Err(reason) = self.build(at) {
            assert!(begin.elapsed() < PATIENCE, "{reason}");
            self.rest();
        }
        begin.elapsed()
    }

    fn sees(&mut self, at: [i32; 3]) -> bool {
        let cell = self.client.guest().cell(VoxelPos::from(at), hills);
        cell.is_some_and(|cell| cell.material == MATERIAL)
    }
}

fn digest(folder: &Folder, port: u16) -> Value {
    let view = ["--camera", "0,300,0", "--distance", "100", "--detail", "1"];
    join(folder, &format!("127.0.0.1:{port}"), &view)["digest"].clone()
}

#[test]
fn two_servers_share_a_world_and_one_goes_on_when_the_other_is_killed_slow() {
    let Some(postgres) = Server::start("cli-shared") else { return };
    let postgres = postgres.run();
    let address = new_world(&postgres);
    let folder = Folder::new();
    let [west_port, east_port] = [free_port(), free_port()];
    let west = share(&folder, &address, west_port);
    let east = share(&folder, &address, east_port);
    // Near the border at x = 0, but beyond what is wanted at mip 0 of the other side.
    let mut ada = Player::new(west_port, [-200, 300, 100]);
    ada.build_soon([-200, 300, 100]);
    let mut ben = Player::new(east_port, [200, 300, 100]);
    ben.build_soon([200, 300, 100]);
    // Each sees the other side, and may not edit it.
    for (player, x, port) in [(&mut ada, -1, east_port), (&mut ben, 1, west_port)] {
        player.eye = [f64::from(x * 20), 300.0, 100.0];
        player.until(|player| player.client.guest().is_complete());
        let begin = Instant::now();
        let names_it = |reason: &str| reason.ends_with(&format!("served by 127.0.0.1:{port}"));
        // Who has it is read twice a second.
        while !names_it(&player.build([-20 * x, 300, 100]).expect_err("it is the other's")) {
            assert!(begin.elapsed() < PATIENCE, "the other server is never named");
            player.rest();
        }
        // Half of it is the other's: its middle says who decides.
        player.build([-2 * x, 330, 100]).expect_err("its middle is the other's");
        assert_eq!(player.build([2 * x, 330, 100 + 20 * x]), Ok(true));
        assert_eq!(player.build([x * 20, 300, 100]), Ok(true));
    }
    for player in [&mut ada, &mut ben] {
        let both = [[-3, 330, 80], [0, 330, 80], [2, 330, 120], [-1, 330, 120]];
        let took = player.until(|player| both.iter().all(|&at| player.sees(at)));
        eprintln!("both halves of operations over the border are seen after {took:?}");
    }
    let mut waits = [Duration::ZERO; 40];
    for (round, wait) in (0..).zip(&mut waits) {
        let [y, z] = [310 + 8 * (round % 8), 100 + 8 * (round / 8)];
        let (a, b) = ([-20, y, z], [20, y, z]);
        assert_eq!((ada.build(a), ben.build(b)), (Ok(true), Ok(true)));
        let begin = Instant::now();
        while !(ada.sees(b) && ben.sees(a)) {
            assert!(begin.elapsed() < PATIENCE, "an edit of the other server is not seen");
            ada.frame();
            ben.frame();
        }
        *wait = begin.elapsed();
    }
    waits.sort_unstable();
    eprintln!("seen over the border: median {:?}, p95 {:?}", waits[19], waits[37]);
    assert_eq!(digest(&folder, west_port), digest(&folder, east_port));
    // The eastern one is killed; what it said is saved is there, and the western one takes over.
    let count = ben.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    drop(east);
    ada.eye = [20.0, 300.0, 100.0];
    let taken = ada.build_soon([20, 400, 100]);
    eprintln!("taken over after {taken:?}; {count} edits of the other server");
    assert!((0..8).all(|i| ada.sees([20, 310 + 8 * i, 100])), "what was saved is there");
    assert_eq!(ada.build([0, 390, 100]), Ok(true), "both sides are its own now");
    // A server that comes again is told what is there, and all are equal.
    let east = share(&folder, &address, east_port);
    ada.until(|player| player.saved >= player.outcomes.len() as u64);
    assert_eq!(digest(&folder, west_port), digest(&folder, east_port));
    let shown = digest(&folder, west_port);
    drop(ada);
    assert!(west.terminate().contains("everything") && east.terminate().contains("everything"));
    // One server alone has the same world.
    let alone = serve_with(&folder, &address, west_port, &[]);
    assert_eq!(digest(&folder, west_port), shown);
    let refused = ["serve", &address, "--share", "localhost:1", "--port", "0"];
    folder.refused(&refused, &["the world is written by"]);
    drop(alone);
    folder.report(&["generate", "a.tvx", "--seed", "1", "--size", "32"]);
    let refused = ["serve", "a.tvx", "--share", "localhost:1"];
    folder.refused(&refused, &["is not in a database; servers share worlds in databases"]);
}

#[test]
fn an_address_that_cannot_be_right_is_shown_as_it_is_with_what_to_do() {
    let folder = Folder::new();
    folder.report(&["generate", "a.tvx", "--seed", "1", "--size", "32"]);
    for (address, what) in [
        ("postgres://me@127.0.0.1:1/worlds#h7c@1", "a name has no @"),
        ("postgres://me@127.0.0.1:1/#h7", "the address names no database"),
        ("postgres://me@127.0.0.1:1/worlds#h7", "is PostgreSQL running there?"),
    ] {
        folder.refused(&["copy", "a.tvx", address], &[&format!("{address}: "), what]);
    }
}
