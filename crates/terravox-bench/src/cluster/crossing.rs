//! A player who crosses the border of two servers while it digs: how long the longest stroke takes
//! until the server whose column it is in has confirmed it.

use crate::net::killed::air;
use crate::report::AreaReport;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{GuestEvent, Interest};
use terravox_server::{Client, ClientError, ClientOptions, WorldAddress};

/// Crossings of a quick run, and of a full run; and those of a player who joins the other server
/// only at the border.
const CROSSINGS: [u32; 2] = [6, 40];
const LATE_CROSSINGS: [u32; 2] = [2, 10];

/// Voxels from the border to where a crossing begins and ends.
const DISTANCE: f64 = 48.0;

/// Voxels from the border within which a player is at both servers.
const AHEAD: f64 = 32.0;

/// Voxels a second.
const SPEED: f64 = 12.0;

/// Between two strokes.
const PAUSE: Duration = Duration::from_millis(100);

/// Longest wait for a stroke.
const STROKE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the player crosses, along z.
const Z: f64 = 260.0;

/// A stroke that no server has confirmed.
struct Stroke {
    op: EditOp,
    begin: Instant,
    /// Which server it is for, and its number there once it is sent.
    side: usize,
    number: Option<u64>,
}

/// A player, at one server or at both.
struct Traveller<'a> {
    addresses: &'a [WorldAddress; 2],
    clients: [Option<Client>; 2],
    joining: [Option<JoinHandle<Result<Client, ClientError>>>; 2],
    strokes: Vec<Stroke>,
    /// Milliseconds until each stroke was confirmed.
    times: Vec<f64>,
    refused: u32,
    longest_frame: Duration,
}

impl Traveller<'_> {
    /// Begins to join a server, unless it is there, or begins already.
    fn join(&mut self, side: usize) {
        if self.clients[side].is_none() && self.joining[side].is_none() {
            let address = self.addresses[side].clone();
            let join = move || Client::connect(&address, ClientOptions::default());
            self.joining[side] = Some(thread::spawn(join));
        }
    }

    fn finish_join(&mut self, side: usize) {
        let Some(joining) = self.joining[side].take_if(|joining| joining.is_finished()) else {
            return;
        };
        let Ok(Ok(client)) = joining.join() else {
            panic!("the server of side {side} is not there")
        };
        self.clients[side] = Some(client);
    }

    /// A frame at a place along x.
    fn frame(&mut self, x: f64) {
        let begin = Instant::now();
        for side in 0..2 {
            self.finish_join(side);
            let Some(client) = &mut self.clients[side] else { continue };
            client.poll(air).unwrap_or_else(|error| panic!("{error}"));
            let guest = client.guest();
            let strokes = &mut self.strokes;
            for event in guest.events() {
                match event {
                    GuestEvent::Welcome { .. } => guest.start(true),
                    GuestEvent::Confirmed { number, .. } => {
                        let is_this =
                            |stroke: &Stroke| (stroke.side, stroke.number) == (side, Some(number));
                        if let Some(at) = strokes.iter().position(is_this) {
                            let stroke = strokes.remove(at);
                            self.times.push(stroke.begin.elapsed().as_secs_f64() * 1e3);
                        }
                    }
                    GuestEvent::Refused { number, .. } => {
                        self.refused += 1;
                        let is_this = |stroke: &&mut Stroke| {
                            (stroke.side, stroke.number) == (side, Some(number))
                        };
                        // Its middle lies in the other column.
                        if let Some(stroke) = strokes.iter_mut().find(is_this) {
                            (stroke.side, stroke.number) = (1 - side, None);
                        }
                    }
                    _ => {}
                }
            }
            let interest = Interest { view_voxels: 80.0, near_voxels: 40.0, ..Interest::default() };
            guest.watch(&[[x, 0.0, Z]], &interest);
        }
        self.send();
        self.longest_frame = self.longest_frame.max(begin.elapsed());
    }

    /// Sends what is not sent yet; what is not there to be edited waits.
    fn send(&mut self) {
        let unsent = self.strokes.iter_mut().filter(|stroke| stroke.number.is_none());
        let mut wanted = [false; 2];
        for stroke in unsent {
            assert!(stroke.begin.elapsed() < STROKE_TIMEOUT, "a stroke is never confirmed");
            match &mut self.clients[stroke.side] {
                Some(client) => stroke.number = client.guest().edit(&stroke.op).ok(),
                None => wanted[stroke.side] = true,
            }
        }
        (0..2).filter(|&side| wanted[side]).for_each(|side| self.join(side));
    }

    /// Crosses the border to a side. `is_early`: joins its server on the way.
    fn cross(&mut self, to: usize, is_early: bool, number: u32, mut others: impl FnMut()) {
        let sign = [-1.0, 1.0][to];
        self.clients[1 - to].as_ref().unwrap_or_else(|| unreachable!("it is at the first side"));
        let (begin, mut next) = (Instant::now(), Duration::ZERO);
        loop {
            let x = -DISTANCE + SPEED * begin.elapsed().as_secs_f64();
            if x > DISTANCE && self.strokes.is_empty() {
                break;
            }
            if is_early && x > -AHEAD {
                self.join(to);
            }
            if x > AHEAD {
                self.clients[1 - to] = None;
            }
            if begin.elapsed() >= next && x < AHEAD - 4.0 {
                let at = [sign * x, f64::from(number % 12) * 3.0 - 18.0, Z];
                let side = usize::from(at[0] >= 0.0);
                let op = EditOp::fill_ball(2 + (number % 9) as u8, at, 3.0);
                self.strokes.push(Stroke { op, begin: Instant::now(), side, number: None });
                next += PAUSE;
            }
            self.frame(sign * x);
            others();
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Milliseconds of all strokes of some crossings, in order, and the longest frame.
fn crossings(
    addresses: &[WorldAddress; 2],
    count: u32,
    is_early: bool,
    mut others: impl FnMut(),
) -> (Vec<f64>, Duration, u32) {
    let (mut times, mut longest, mut refused) = (Vec::new(), Duration::ZERO, 0);
    for number in 0..count {
        let to = number as usize % 2;
        let mut traveller = Traveller {
            addresses,
            clients: [None, None],
            joining: [None, None],
            strokes: Vec::new(),
            times: Vec::new(),
            refused: 0,
            longest_frame: Duration::ZERO,
        };
        traveller.join(1 - to);
        let start = [DISTANCE, -DISTANCE][to];
        let is_there = |traveller: &mut Traveller<'_>| {
            let client = traveller.clients[1 - to].as_mut();
            client.is_some_and(|client| client.guest().is_complete())
        };
        while !is_there(&mut traveller) {
            traveller.frame(start);
            others();
            thread::sleep(Duration::from_millis(1));
        }
        traveller.longest_frame = Duration::ZERO;
        traveller.cross(to, is_early, number, &mut others);
        times.append(&mut traveller.times);
        longest = longest.max(traveller.longest_frame);
        refused += traveller.refused;
    }
    times.sort_by(f64::total_cmp);
    (times, longest, refused)
}

/// Measures `crossing_stall_ms`. `others`: a frame of players who are at the servers.
pub fn run(report: &mut AreaReport, addresses: &[WorldAddress; 2], mut others: impl FnMut()) {
    let full = usize::from(report.is_full);
    let (times, longest, refused) = crossings(addresses, CROSSINGS[full], true, &mut others);
    let (late, _, _) = crossings(addresses, LATE_CROSSINGS[full], false, &mut others);
    let longest_ms = longest.as_secs_f64() * 1e3;
    let worst = times[times.len() - 1].max(longest_ms);
    let note = format!(
        "the worst of {} strokes in {} crossings until they are confirmed, median {:.1}, {refused} refused and made \
         again; the longest frame {longest_ms:.1}; the player joins the other server {AHEAD} voxels ahead; if it \
         joins at the border, the worst is {:.0}",
        times.len(),
        CROSSINGS[full],
        times[times.len() / 2],
        late[late.len() - 1]
    );
    report.set("crossing_stall_ms", worst, note);
}
