//! Operations over the border of two servers, of which one or both are killed all the time: each
//! part of each operation is there once, or none is.

use crate::Folder;
use crate::online::{Served, hills};
use crate::ports::free_port;
use crate::postgres::Server;
use crate::shared::{new_world, share};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor};
use terravox::replicate::{GuestEvent, Interest};
use terravox::voxel::{DenseBox, Region, VoxelGrid};
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_server::{Client, ClientOptions, WorldAddress};
use terravox_store::Store;

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Operations; `TERRAVOX_BORDER_OPERATIONS` asks for more.
fn operations() -> usize {
    let more = std::env::var("TERRAVOX_BORDER_OPERATIONS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// Operations between two kills.
const OPERATIONS_A_KILL: usize = 130;

const MATERIAL: u8 = 5;

/// What one operation lets the ground grow by, in voxels: two applications of it are not one.
const GROWTH: f64 = 0.25;

/// Operations at one place.
const OPERATIONS_A_PLACE: usize = 16;

/// Where the pads of a place lie in the west and in the east: they do not touch the border, so each
/// grows by itself.
const PADS: [[i32; 2]; 2] = [[-12, -6], [5, 11]];

/// The lowest voxel of a place, along y and z.
fn corner(place: usize) -> [i32; 2] {
    [300 + 12 * (place % 10) as i32, 40 + 12 * (place / 10) as i32]
}

fn box_op(min: [f64; 3], max: [f64; 3], action: Action) -> EditOp {
    let centre = [0, 1, 2].map(|i| (min[i] + max[i]) / 2.0);
    let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
    BrushOp::new(Brush::Box { centre, half, rotation: Brush::NO_ROTATION }, action).into()
}

/// The pad of a place at one side.
fn pad(place: usize, side: usize) -> EditOp {
    let ([low, high], [y, z]) = (PADS[side].map(f64::from), corner(place).map(f64::from));
    box_op([low, y, z], [high, y + 3.0, z + 6.0], Action::Fill { material: MATERIAL })
}

/// Lets both pads of a place grow upwards. Its middle lies in the west or in the east.
fn growth(place: usize, side: usize) -> EditOp {
    let ([y, z], shift) = (corner(place).map(f64::from), [-1.0, 1.0][side]);
    let (min, max) = ([-14.0 + shift, y + 2.0, z], [14.0 + shift, y + 9.0, z + 6.0]);
    box_op(min, max, Action::Grow { amount: GROWTH })
}

/// The cells over a pad.
fn region(place: usize, side: usize) -> Region {
    let ([low, high], [y, z]) = (PADS[side], corner(place));
    Region::new([low, y, z], [high, y + 8, z + 6])
}

/// What a place looks like at one side after some operations.
fn state(place: usize, side: usize, operations: usize) -> Vec<u8> {
    let (mut grid, mut editor) = (VoxelGrid::default(), Editor::default());
    editor.apply(&mut grid, &pad(place, side), None).expect("a sound edit");
    for _ in 0..operations {
        editor.apply(&mut grid, &growth(place, side), None).expect("a sound edit");
    }
    let mut cells = DenseBox::default();
    grid.read(region(place, side), 0, &mut cells).expect("it is held");
    cells.occupancies().to_vec()
}

/// How often the pad of a place has grown at one side; `None` if it is as no number of times makes
/// it.
fn growths(stored: &VoxelGrid, place: usize, side: usize) -> Option<usize> {
    let mut cells = DenseBox::default();
    stored.read(region(place, side), 0, &mut cells).ok()?;
    (0..=2 * OPERATIONS_A_PLACE).find(|&count| state(place, side, count) == cells.occupancies())
}

/// What is known of operations at a place.
#[derive(Clone, Copy, Default)]
struct Known {
    begun: usize,
    refused: usize,
    saved: usize,
}

/// A player of one side.
struct Player {
    client: Client,
    side: usize,
    /// The places of the operations of this connection, by number, and whether they were refused.
    sent: BTreeMap<u64, (usize, Option<bool>)>,
    saved: u64,
}

impl Player {
    fn new(port: u16, side: usize) -> Player {
        let address: WorldAddress = format!("127.0.0.1:{port}").parse().expect("an address");
        let client = Client::connect(&address, ClientOptions::default()).expect("a connection");
        let mut player = Player { client, side, sent: BTreeMap::new(), saved: 0 };
        let begin = Instant::now();
        while !player.client.guest().is_complete() {
            assert!(begin.elapsed() < PATIENCE && player.frame());
        }
        player
    }

    /// Whether the link holds.
    fn frame(&mut self) -> bool {
        if let Err(error) = self.client.poll(hills) {
            eprintln!("the player of side {} lost the link: {error}", self.side);
            return false;
        }
        let guest = self.client.guest();
        for event in guest.events() {
            match event {
                GuestEvent::Welcome { .. } => guest.start(true),
                GuestEvent::Confirmed { number, .. } => {
                    self.sent.entry(number).and_modify(|sent| sent.1 = Some(true));
                }
                GuestEvent::Refused { number, .. } => {
                    self.sent.entry(number).and_modify(|sent| sent.1 = Some(false));
                }
                GuestEvent::Saved { last, .. } => self.saved = last,
                _ => {}
            }
        }
        let at = [[-20.0, 340.0, 80.0], [20.0, 340.0, 80.0]][self.side];
        guest.watch(&[at], &Interest { view_voxels: 64.0, ..Interest::default() });
        std::thread::sleep(Duration::from_millis(2));
        true
    }

    fn send(&mut self, place: usize, op: &EditOp) -> u64 {
        let number = self.client.guest().edit(op).expect("an operation");
        self.sent.insert(number, (place, None));
        number
    }

    /// Makes an operation until it is taken: the column may have to be claimed first.
    fn insist(&mut self, op: &EditOp) {
        let begin = Instant::now();
        loop {
            let number = self.send(0, op);
            while self.sent[&number].1.is_none() {
                assert!(begin.elapsed() < PATIENCE && self.frame());
            }
            if self.sent[&number].1 == Some(true) {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "it is never taken");
            (0..30).for_each(|_| assert!(self.frame()));
        }
        self.sent.clear();
    }

    /// Adds what is known of the operations of this connection, which is over.
    fn end(&self, known: &mut [Known]) {
        for (&number, &(place, outcome)) in &self.sent {
            known[place].begun += 1;
            known[place].refused += usize::from(outcome == Some(false));
            known[place].saved += usize::from(outcome == Some(true) && number <= self.saved);
        }
    }
}

/// Both servers, each with a player that has claimed its column.
fn start(folder: &Folder, address: &str, ports: [u16; 2]) -> ([Option<Served>; 2], [Player; 2]) {
    let served = ports.map(|port| Some(share(folder, address, port)));
    let mut players = [0, 1].map(|side| Player::new(ports[side], side));
    for (side, player) in players.iter_mut().enumerate() {
        let x = [-100.0, 100.0][side];
        player.insist(&EditOp::dig_ball([x, 400.0, 80.0], 2.0));
    }
    (served, players)
}

fn stored(address: &str) -> VoxelGrid {
    let store: Store =
        Postgres::open_read_only(address, &PostgresOptions::default()).expect("it can be read");
    store.load().expect("it is whole").grid
}

/// Places where what is stored is not what was done.
fn faults(stored: &VoxelGrid, known: &[Known]) -> Vec<String> {
    let fault = |(place, known): (usize, &Known)| {
        let both = [0, 1].map(|side| growths(stored, place, side));
        let most = known.begun - known.refused;
        let is_right =
            both[0].is_some_and(|n| (known.saved..=most).contains(&n)) && both[0] == both[1];
        let Known { saved, .. } = known;
        (!is_right).then(|| format!("place {place}: {both:?}, of {saved} saved and {most} made"))
    };
    known.iter().enumerate().filter_map(fault).collect()
}

#[test]
fn operations_over_a_border_are_applied_once_whatever_is_killed_slow() {
    let Some(postgres) = Server::start("cli-borders") else { return };
    let postgres = postgres.run();
    let (address, folder) = (new_world(&postgres), Folder::new());
    let ports = [free_port(), free_port()];
    let (mut served, mut players) = start(&folder, &address, ports);
    let places = operations().div_ceil(OPERATIONS_A_PLACE) + 8;
    for (place, side) in (0..places).flat_map(|place| [(place, 0), (place, 1)]) {
        players[side].insist(&pad(place, side));
    }
    let mut known = vec![Known::default(); places];
    let (mut made, mut kills) = (0, 0);
    while made < operations() {
        let end = (made + OPERATIONS_A_KILL).min(operations());
        let (begin, mut next) = (Instant::now(), Instant::now());
        while made < end && players.iter_mut().all(Player::frame) {
            assert!(begin.elapsed() < PATIENCE, "operations stand still");
            if next <= Instant::now() {
                // Both sides at each place, in turn.
                let (place, side) = (made / OPERATIONS_A_PLACE, made % 2);
                players[side].send(place, &growth(place, side));
                made += 1;
                next += Duration::from_millis(18);
            }
        }
        // In the middle of it: what was sent last is unsaved, saved on one side, or saved on both.
        let quiet = Instant::now();
        while quiet.elapsed() < Duration::from_millis(7 * (kills % 9)) {
            for player in &mut players {
                player.frame();
            }
        }
        let first = kills as usize % 2;
        served[first] = None;
        if kills % 3 == 0 {
            served[1 - first] = None;
        }
        kills += 1;
        let end = Instant::now();
        // What was sent before, and the survivor does what is left to do.
        let wait = if kills % 3 == 1 { 100 } else { 5000 };
        while end.elapsed() < Duration::from_millis(wait) {
            for player in &mut players {
                player.frame();
            }
        }
        players.iter().for_each(|player| player.end(&mut known));
        for server in served.iter_mut().filter_map(Option::take) {
            assert!(server.terminate().contains("everything"));
        }
        (served, players) = start(&folder, &address, ports);
    }
    let begin = Instant::now();
    let mut found = faults(&stored(&address), &known);
    while !found.is_empty() && begin.elapsed() < PATIENCE {
        players.iter_mut().for_each(|player| assert!(player.frame()));
        found = faults(&stored(&address), &known);
    }
    let saved: usize = known.iter().map(|known| known.saved).sum();
    let refused: usize = known.iter().map(|known| known.refused).sum();
    eprintln!(
        "{made} operations over a border, {saved} known to be saved, {refused} refused; {kills} kills; doubled \
         or missing: {}",
        found.len()
    );
    assert_eq!(found, [""; 0]);
    assert!(saved > made / 2, "they do get through: {saved} of {made}");
    drop((served, players));
}
