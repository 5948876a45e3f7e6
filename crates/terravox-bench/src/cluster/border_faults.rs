//! Operations over the border of two servers, each of which reaches its database over a network of its own, while
//! servers are killed or stopped, networks stall or break, and replies to commits are lost: each part of each
//! operation is there once, or none is.

use super::border::ServerProcess;
use super::places::{
    Known, OPERATIONS_A_PLACE, PATIENCE, Player, WrongPlace, corner, growth, pad, wrong_places,
};
use super::proxy::{Accident, Network, Proxy};
use super::server::Server;
use crate::net::killed::{air, world_info};
use crate::report::AreaReport;
use crate::trust::folder::BenchFolder;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use terravox::edit::{EditOp, Editor};
use terravox::terrain::UnsavedChanges;
use terravox::voxel::VoxelGrid;
use terravox_postgres::{Postgres, PostgresOptions};
use terravox_store::StoreError;

/// Operations of a quick run, and of a full run.
const OPERATIONS: [usize; 2] = [4000, 100_000];

/// Operations before each fault, and during it.
const OPERATIONS_A_FAULT: usize = 500;
const OPERATIONS_DURING_FAULT: usize = 80;

/// Operations that a player sends at a time, and those that may wait for a decision.
const AT_ONCE: usize = 2;
const MAX_UNDECIDED: usize = 100;

/// Commits of which the answer is lost, or that are late: one after so many operations.
const OPERATIONS_AN_ACCIDENT: usize = 50;

/// Short, since others wait for the end of it.
const LEASE: Duration = Duration::from_millis(1000);

/// How long a fault lasts: past the lease, and within it.
const LONG: Duration = Duration::from_millis(1500);
const SHORT: Duration = Duration::from_millis(300);

/// Servers that may end by themselves, one after the other, before they can be joined.
const TRIES: usize = 5;

/// What befalls a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Killed,
    Stopped,
    Stalled,
    CutOff,
}

const FAULTS: [Fault; 4] = [Fault::Killed, Fault::Stopped, Fault::Stalled, Fault::CutOff];

/// The sides that a fault befalls.
const SIDES: [&[usize]; 3] = [&[0], &[1], &[0, 1]];

/// The part of the world of one server.
struct Side {
    proxy: Proxy,
    /// The world, through the proxy.
    address: String,
    folder: BenchFolder,
    server: ServerProcess,
    player: Player,
    /// Whether its player has a link.
    is_linked: bool,
}

impl Side {
    /// Waits for `started`, or another server of its side, until one has a player and its column. Returns how
    /// many ended by themselves before.
    fn join(&mut self, side: usize, place: usize, mut started: ServerProcess) -> usize {
        for ended in 0..TRIES {
            if let Some(player) = join(&mut started, side, place) {
                (self.server, self.player, self.is_linked) = (started, player, true);
                return ended;
            }
            started = start(&self.address, side, &self.folder);
        }
        panic!("{TRIES} servers of side {side} end before they can be joined")
    }

    fn frame(&mut self) {
        self.is_linked = self.is_linked && self.player.frame();
    }

    fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => self.server.signal("-KILL"),
            Fault::Stopped => self.server.signal("-STOP"),
            Fault::Stalled => self.proxy.set(Network::Stalled),
            Fault::CutOff => self.proxy.set(Network::Down),
        }
    }

    fn end(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => {}
            Fault::Stopped => self.server.signal("-CONT"),
            Fault::Stalled | Fault::CutOff => self.proxy.set(Network::Up),
        }
    }
}

const WORLD: &str = "border-faults";

fn start(address: &str, side: usize, folder: &BenchFolder) -> ServerProcess {
    ServerProcess::start(address, ["west:1", "east:1"][side], folder, LEASE)
}

/// A player for whom a server has claimed its column; `None` if the server ended before.
fn join(server: &mut ServerProcess, side: usize, place: usize) -> Option<Player> {
    let mut player = Player::join(&server.address(), side, place, air)?;
    let [y, z] = corner(place).map(f64::from);
    let x = [-60.0, 60.0][side];
    player.insist(&EditOp::fill_ball(3, [x, y, z], 2.0)).then_some(player)
}

/// Both servers, of a world that is there.
fn start_both(server: &Server) -> [Side; 2] {
    let started = [0, 1].map(|side| {
        let folder = BenchFolder::on_disk(["border-west", "border-east"][side]);
        let folder = folder.unwrap_or_else(|error| panic!("no folder for files: {error}"));
        let proxy = Proxy::start(server.port());
        let address = server.address_at(proxy.port, WORLD);
        let process = start(&address, side, &folder);
        (side, proxy, address, folder, process)
    });
    started.map(|(side, proxy, address, folder, mut server)| {
        let Some(player) = join(&mut server, side, 0) else {
            panic!("the server ends before it can be joined")
        };
        Side { proxy, address, folder, server, player, is_linked: true }
    })
}

impl Done {
    fn refused(&self) -> usize {
        self.known.iter().map(|known| known.refused).sum()
    }
}

/// What was done.
#[derive(Default)]
struct Done {
    made: usize,
    known: Vec<Known>,
    /// Why operations were refused, and how many.
    reasons: BTreeMap<String, usize>,
    faults: [usize; FAULTS.len()],
    accidents: usize,
    /// Servers that ended although nothing befell them but accidents of commits.
    ended: usize,
}

/// Sends operations until there are so many, or some time is over.
fn make(sides: &mut [Side; 2], done: &mut Done, end: usize, time: Duration) {
    let begin = Instant::now();
    while done.made < end && begin.elapsed() < time && sides.iter().any(|side| side.is_linked) {
        for side in 0..2 {
            let Side { player, is_linked, .. } = &mut sides[side];
            for _ in 0..AT_ONCE {
                let place = done.made / OPERATIONS_A_PLACE;
                if !*is_linked || done.made == end || player.undecided() >= MAX_UNDECIDED {
                    break;
                }
                player.look_at(place);
                if player.send(place, &growth(place, side)).is_some() {
                    done.made += 1;
                    if done.made.is_multiple_of(OPERATIONS_AN_ACCIDENT) {
                        arrange(sides, done);
                        break;
                    }
                }
            }
        }
        sides.iter_mut().for_each(Side::frame);
        assert!(begin.elapsed() < PATIENCE, "operations stand still at {}", done.made);
    }
}

/// Arranges that the next commit of a side goes wrong.
fn arrange(sides: &[Side; 2], done: &mut Done) {
    let late = Accident::Delay(Duration::from_millis(150));
    let accidents = [Accident::CutAfter, Accident::CutBefore, late];
    sides[done.accidents % 2].proxy.arrange(accidents[done.accidents / 2 % 3]);
    done.accidents += 1;
}

/// Lets sides fail, for a while, and ends both servers; then both are there again.
fn fail(sides: &mut [Side; 2], done: &mut Done, number: usize) {
    let kind = number % FAULTS.len();
    let (fault, at) = (FAULTS[kind], SIDES[number / FAULTS.len() % SIDES.len()]);
    let time = if (number / 12).is_multiple_of(2) { LONG } else { SHORT };
    // What was sent last is unsaved, saved on one side, or saved on both.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(7 * (number as u64 % 9)) {
        sides.iter_mut().for_each(Side::frame);
    }
    at.iter().for_each(|&side| sides[side].begin(fault));
    // Those that are killed now are among those that are at the end.
    done.faults[kind] += if fault == Fault::Killed { 0 } else { at.len() };
    let begin = Instant::now();
    make(sides, done, done.made + OPERATIONS_DURING_FAULT, time);
    while begin.elapsed() < time {
        sides.iter_mut().for_each(Side::frame);
    }
    at.iter().for_each(|&side| sides[side].end(fault));
    // Those that lost their columns learn it, or do something that they must not do.
    let begin = Instant::now();
    while begin.elapsed() < SHORT {
        sides.iter_mut().for_each(Side::frame);
    }
    for side in sides.iter_mut() {
        side.server.kill();
        side.frame();
        side.player.end(&mut done.known);
        for (reason, count) in &side.player.reasons {
            *done.reasons.entry(reason.clone()).or_default() += count;
        }
    }
    done.faults[0] += sides.len();
    // Both, before one takes the columns of the other.
    let started = [0, 1].map(|side| start(&sides[side].address, side, &sides[side].folder));
    for (side, started) in started.into_iter().enumerate() {
        done.ended += sides[side].join(side, done.made / OPERATIONS_A_PLACE, started);
    }
}

/// Stores the pads of all places.
fn build_pads(address: &str, places: usize) -> Result<(), StoreError> {
    let store = Postgres::create(address, &world_info(), &PostgresOptions::default())?;
    let (mut grid, mut editor) = (VoxelGrid::default(), Editor::default());
    for (place, side) in (0..places).flat_map(|place| [(place, 0), (place, 1)]) {
        let built = editor.apply(&mut grid, &pad(place, side), None);
        built.unwrap_or_else(|error| panic!("{error}"));
    }
    store.save(&UnsavedChanges::from(grid.unsaved()), air)?;
    Ok(())
}

fn found(address: &str, known: &[Known]) -> Result<Vec<WrongPlace>, StoreError> {
    let store = Postgres::open_read_only(address, &PostgresOptions::default())?;
    Ok(wrong_places(&store.load()?.grid, known))
}

/// Measures `doubled_or_missing_border_edits`.
pub fn run(report: &mut AreaReport, server: &mut Server) -> Result<(), StoreError> {
    let operations = OPERATIONS[usize::from(report.is_full)];
    // Some are refused, and do not count.
    let places = (operations + operations / 16).div_ceil(OPERATIONS_A_PLACE) + 1;
    let address = server.address(WORLD);
    build_pads(&address, places)?;
    let mut sides = start_both(server);
    let mut done = Done { known: vec![Known::default(); places], ..Done::default() };
    let mut number = 0;
    while done.made - done.refused() < operations {
        let most = (places - 1) * OPERATIONS_A_PLACE;
        let next = done.made + OPERATIONS_A_FAULT;
        assert!(next < most, "too many operations are refused: {:?}", done.reasons);
        make(&mut sides, &mut done, next, PATIENCE * 2);
        done.ended += sides.iter().filter(|side| !side.is_linked).count();
        fail(&mut sides, &mut done, number);
        number += 1;
    }
    let begin = Instant::now();
    let mut wrong = found(&address, &done.known)?;
    while !wrong.is_empty() && begin.elapsed() < PATIENCE {
        sides.iter_mut().for_each(Side::frame);
        wrong = found(&address, &done.known)?;
    }
    wrong.iter().for_each(|place| eprintln!("{place:?}"));
    for (reason, count) in &done.reasons {
        eprintln!("refused {count}: {reason}");
    }
    let sum = |count: fn(&Known) -> usize| done.known.iter().map(count).sum::<usize>();
    let [killed, stopped, stalled, cut] = done.faults;
    let note = format!(
        "{} operations over the border, {} of them known to be saved, {} more were refused; servers killed {killed} times, stopped {stopped}, \
         stalled {stalled}, cut off {cut}, and {} commits cut or late; {} servers ended by themselves; 100,000 operations with --full",
        done.made - done.refused(),
        sum(|known| known.saved),
        done.refused(),
        done.accidents,
        done.ended
    );
    let wrong: usize = wrong.iter().map(WrongPlace::operations).sum();
    report.set("doubled_or_missing_border_edits", wrong as f64, note);
    Ok(())
}
