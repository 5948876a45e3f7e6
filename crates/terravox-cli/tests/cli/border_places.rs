//! Places at the border of two columns, x = 0, at which operations across it can be counted: a pad on
//! each side, which each operation lets grow upwards. And players who make those operations.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use terravox::edit::{Action, Brush, BrushOp, EditOp, Editor};
use terravox::replicate::{GuestEvent, Interest};
use terravox::terrain::FillRequest;
use terravox::voxel::{DenseBox, Region, VoxelGrid};
use terravox_server::{Client, ClientOptions, WorldAddress};

/// How long anything here may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

const MATERIAL: u8 = 5;

/// What one operation lets the ground grow by, in voxels: two applications of it are not one.
const GROWTH: f64 = 0.25;

/// Operations at one place.
pub const OPERATIONS_A_PLACE: usize = 16;

/// Where the pads of a place lie in the west and in the east: they do not touch the border, so each
/// grows by itself.
const PADS: [[i32; 2]; 2] = [[-12, -6], [5, 11]];

/// The lowest voxel of a place, along y and z.
pub fn corner(place: usize) -> [i32; 2] {
    [300 + 12 * (place % 10) as i32, 40 + 12 * (place / 10) as i32]
}

fn box_op(min: [f64; 3], max: [f64; 3], action: Action) -> EditOp {
    let centre = [0, 1, 2].map(|i| (min[i] + max[i]) / 2.0);
    let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
    BrushOp::new(Brush::Box { centre, half, rotation: Brush::NO_ROTATION }, action).into()
}

/// The pad of a place at one side.
pub fn pad(place: usize, side: usize) -> EditOp {
    let ([low, high], [y, z]) = (PADS[side].map(f64::from), corner(place).map(f64::from));
    box_op([low, y, z], [high, y + 3.0, z + 6.0], Action::Fill { material: MATERIAL })
}

/// Lets both pads of a place grow upwards. Its middle lies in the west or in the east.
pub fn growth(place: usize, side: usize) -> EditOp {
    let ([y, z], shift) = (corner(place).map(f64::from), [-1.0, 1.0][side]);
    let (min, max) = ([-14.0 + shift, y + 2.0, z], [14.0 + shift, y + 9.0, z + 6.0]);
    box_op(min, max, Action::Grow { amount: GROWTH })
}

/// The cells over a pad.
fn region(place: usize, side: usize) -> Region {
    let ([low, high], [y, z]) = (PADS[side], corner(place));
    Region::new([low, y, z], [high, y + 8, z + 6])
}

/// How often the pad of a place has grown at one side; `None` if it is as no number of times makes
/// it.
fn growths(stored: &VoxelGrid, place: usize, side: usize) -> Option<usize> {
    let (mut found, mut cells) = (DenseBox::default(), DenseBox::default());
    stored.read(region(place, side), 0, &mut found).ok()?;
    let (mut grid, mut editor) = (VoxelGrid::default(), Editor::default());
    editor.apply(&mut grid, &pad(place, side), None).expect("a sound edit");
    (0..=2 * OPERATIONS_A_PLACE).find(|_| {
        grid.read(region(place, side), 0, &mut cells).expect("it is held");
        editor.apply(&mut grid, &growth(place, side), None).expect("a sound edit");
        found.occupancies() == cells.occupancies()
    })
}

/// What is known of operations at a place.
#[derive(Clone, Copy, Default)]
pub struct Known {
    pub begun: usize,
    pub refused: usize,
    pub saved: usize,
}

/// A place where what is stored is not what was done.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongPlace {
    pub place: usize,
    /// How often the pads have grown in the west and in the east.
    pub growths: [Option<usize>; 2],
    /// How often at least, and at most.
    pub allowed: [usize; 2],
}

impl WrongPlace {
    /// Operations of which a part is missing or there twice, or that are missing though they were
    /// saved.
    pub fn operations(&self) -> usize {
        let ([Some(west), Some(east)], [least, most]) = (self.growths, self.allowed) else {
            return OPERATIONS_A_PLACE;
        };
        let outside = [west, east].map(|n| least.saturating_sub(n).max(n.saturating_sub(most)));
        west.abs_diff(east).max(outside[0]).max(outside[1])
    }
}

/// All places where what is stored is not what was done.
pub fn wrong_places(stored: &VoxelGrid, known: &[Known]) -> Vec<WrongPlace> {
    let wrong = |(place, known): (usize, &Known)| {
        let growths = [0, 1].map(|side| growths(stored, place, side));
        let allowed = [known.saved, known.begun - known.refused];
        let wrong = WrongPlace { place, growths, allowed };
        (wrong.operations() > 0).then_some(wrong)
    };
    known.iter().enumerate().filter_map(wrong).collect()
}

/// A player of one side.
pub struct Player {
    client: Client,
    side: usize,
    /// The ground, as the server makes it.
    fill: fn(&mut FillRequest<'_>),
    /// What it looks at, in voxels.
    eye: [f64; 3],
    /// The places of the operations of this connection, by number, and whether they were taken.
    sent: BTreeMap<u64, (usize, Option<bool>)>,
    saved: u64,
    /// Why operations were refused, and how many.
    pub reasons: BTreeMap<String, usize>,
}

impl Player {
    /// Joins a server, and waits until all in view of a place is there; `None` if the link does not
    /// hold for so long.
    pub fn join(
        address: &WorldAddress,
        side: usize,
        place: usize,
        fill: fn(&mut FillRequest<'_>),
    ) -> Option<Player> {
        let client = Client::connect(address, ClientOptions::default()).ok()?;
        let (sent, saved, reasons) = (BTreeMap::new(), 0, BTreeMap::new());
        let mut player = Player { client, side, fill, eye: [0.0; 3], sent, saved, reasons };
        player.look_at(place);
        let begin = Instant::now();
        while !player.client.guest().is_complete() {
            assert!(begin.elapsed() < PATIENCE, "what it sees is never complete");
            if !player.frame() {
                return None;
            }
        }
        Some(player)
    }

    pub fn look_at(&mut self, place: usize) {
        let [_, z] = corner(place);
        self.eye = [[-20.0, 20.0][self.side], 340.0, f64::from(z) + 40.0];
    }

    /// Whether the link holds.
    pub fn frame(&mut self) -> bool {
        if let Err(error) = self.client.poll(self.fill) {
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
                GuestEvent::Refused { number, reason, .. } => {
                    *self.reasons.entry(reason).or_default() += 1;
                    self.sent.entry(number).and_modify(|sent| sent.1 = Some(false));
                }
                GuestEvent::Saved { last, .. } => self.saved = last,
                _ => {}
            }
        }
        guest.watch(&[self.eye], &Interest { view_voxels: 64.0, ..Interest::default() });
        std::thread::sleep(Duration::from_millis(2));
        true
    }

    /// Makes an operation at a place, unless too many wait already.
    pub fn send(&mut self, place: usize, op: &EditOp) -> Option<u64> {
        let number = self.client.guest().edit(op).ok()?;
        self.sent.insert(number, (place, None));
        Some(number)
    }

    /// Operations without a reply from the server.
    pub fn undecided(&self) -> usize {
        self.sent.values().rev().take_while(|(_, outcome)| outcome.is_none()).count()
    }

    /// Makes an operation until it is taken: the column may have to be claimed first. `false` if
    /// the link does not hold for so long.
    #[must_use]
    pub fn insist(&mut self, op: &EditOp) -> bool {
        let begin = Instant::now();
        loop {
            let number = self.send(0, op).expect("an operation");
            while self.sent[&number].1.is_none() {
                assert!(begin.elapsed() < PATIENCE, "it is never decided");
                if !self.frame() {
                    return false;
                }
            }
            if self.sent[&number].1 == Some(true) {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "it is never taken");
            if !(0..30).all(|_| self.frame()) {
                return false;
            }
        }
        self.sent.clear();
        true
    }

    /// Adds what is known of the operations of this connection, which is over.
    pub fn end(&self, known: &mut [Known]) {
        for (&number, &(place, outcome)) in &self.sent {
            known[place].begun += 1;
            known[place].refused += usize::from(outcome == Some(false));
            known[place].saved += usize::from(outcome == Some(true) && number <= self.saved);
        }
    }
}
