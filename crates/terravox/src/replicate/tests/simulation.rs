//! A host, guests and links on one clock.

use super::late_ground::LateGround;
use crate::edit::{Action, Brush, BrushOp, ChangedCells, EditOp};
use crate::replicate::{
    Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind, LinkOptions,
    Verdict, VirtualLink,
};
use crate::terrain::{FillRequest, Placement};
use crate::voxel::{DenseBox, GridOptions, MipBlock, Region, UnlistedChunks, VoxelGrid};

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn between(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Ground that both sides can make.
pub fn hills(request: &mut FillRequest<'_>) {
    let height = |x: f64, z: f64| 4.0 * (x * 0.07).sin() + 3.0 * (z * 0.05).cos();
    request.fill_height(8, -7.0..=7.0, height);
}

/// A world of the kind that was imported: all of it is in the grid.
pub fn imported_grid() -> VoxelGrid {
    let mut grid = VoxelGrid::new(GridOptions::default());
    let mut cells = DenseBox::default();
    for chunk in Region::new([-96, -64, -96], [96, 32, 96]).blocks::<5>() {
        assert!(FillRequest::fill_block(&mut cells, chunk.into(), Placement::default(), hills));
        grid.write(&cells).expect("unlisted chunks are air");
    }
    grid
}

pub struct Player {
    pub guest: Guest,
    pub number: u64,
    pub up: VirtualLink,
    pub down: VirtualLink,
    pub eye: [f64; 3],
    pub refused: u32,
    pub corrected: u32,
    pub kind: LinkKind,
    /// What it was told of its edits, and by the game.
    pub told: Vec<GuestEvent>,
}

pub struct Simulation {
    pub host: Host,
    pub grid: VoxelGrid,
    pub players: Vec<Player>,
    pub now_us: u64,
    pub makes_ground: bool,
    pub interest: Interest,
    /// What the game decides; by default all is accepted.
    pub decide: fn(u64, &EditOp) -> Verdict,
    /// What was edited: by whom, and the cells before.
    pub edited: Vec<(u64, ChangedCells)>,
    /// What guests told the game.
    pub messages: Vec<Vec<u8>>,
    pub ground: LateGround,
}

pub const TICK_US: u64 = 10_000;

impl Simulation {
    /// A world with a generator, or one that was imported.
    pub fn new(has_generator: bool, max_mip: u8) -> Simulation {
        let generator = has_generator.then(Default::default);
        let grid = match has_generator {
            true => VoxelGrid::new(GridOptions {
                unlisted: UnlistedChunks::Unknown,
                ..GridOptions::default()
            }),
            false => imported_grid(),
        };
        let options =
            HostOptions { generator, max_mip, edits_per_s: 1000, ..HostOptions::default() };
        Simulation {
            host: Host::new(options),
            grid,
            players: Vec::new(),
            now_us: 0,
            makes_ground: has_generator,
            interest: Interest {
                view_voxels: 150.0,
                detail: 1.0,
                near_voxels: 24.0,
                ..Interest::default()
            },
            decide: |_, _| Verdict::Accept,
            edited: Vec::new(),
            messages: Vec::new(),
            ground: LateGround::default(),
        }
    }

    pub fn join(&mut self, kind: LinkKind, link: LinkOptions, eye: [f64; 3], seed: u64) {
        let number = self.host.connect(kind);
        self.players.push(Player {
            guest: Guest::new(kind, b"token"),
            number,
            up: VirtualLink::new(link, seed),
            down: VirtualLink::new(link, seed + 1),
            eye,
            refused: 0,
            corrected: 0,
            kind,
            told: Vec::new(),
        });
    }

    /// Pulls a guest's cable, and plugs it in again.
    pub fn reconnect(&mut self, player: usize, link: LinkOptions, seed: u64) -> Vec<EditOp> {
        let entry = &mut self.players[player];
        self.host.disconnect(entry.number, "the cable was pulled");
        entry.number = self.host.connect(entry.kind);
        (entry.up, entry.down) = (VirtualLink::new(link, seed), VirtualLink::new(link, seed + 1));
        entry.guest.reconnect(entry.kind)
    }

    /// Calls a function with the host and its world.
    pub fn with_world<R>(&mut self, work: impl FnOnce(&mut Host, &mut HostWorld<'_>) -> R) -> R {
        let mut decide = self.decide;
        let late = &self.ground;
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: Placement::default(),
            ground: &|request| late.fill(request),
            generated: &hills,
            prefetch: &|blocks| late.prefetch(blocks),
            decide: &mut decide,
        };
        work(&mut self.host, &mut world)
    }

    pub fn step(&mut self) {
        self.step_with(true);
    }

    /// A step in which guests may leave for any reason.
    pub fn step_lenient(&mut self) {
        self.step_with(false);
    }

    fn step_with(&mut self, is_strict: bool) {
        self.now_us += TICK_US;
        self.ground.begin_tick();
        let now = self.now_us;
        for player in &mut self.players {
            while let Some(packet) = player.up.receive(now) {
                self.host.receive(player.number, &packet, now).expect("the guest is honest");
            }
        }
        let mut edited = std::mem::take(&mut self.edited);
        let mut messages = std::mem::take(&mut self.messages);
        self.with_world(|host, world| {
            host.tick(world, now);
            for event in host.events() {
                match event {
                    HostEvent::Joining { guest, token } => {
                        assert!(!is_strict || token == b"token");
                        host.admit(guest, world);
                    }
                    HostEvent::Left { reason, .. } => {
                        assert!(!is_strict || reason == "the cable was pulled", "{reason}");
                    }
                    HostEvent::Edited { guest, region, before, .. } => {
                        assert_eq!(before.region(), region);
                        edited.push((guest, before));
                    }
                    HostEvent::Message { bytes, .. } => messages.push(bytes),
                }
            }
        });
        (self.edited, self.messages) = (edited, messages);
        let mut packet = Vec::new();
        for player in &mut self.players {
            while self.host.transmit(player.number, now, &mut packet) {
                assert!(packet.len() <= Guest::MAX_PACKET_BYTES);
                player.down.send(now, &packet);
            }
            player.step(now, self.makes_ground, &self.interest);
        }
    }

    /// Steps until nothing is on its way and all that is wanted is there.
    pub fn settle(&mut self, max_steps: u32) -> u32 {
        // Comparing all takes longer than a step: first the block that differed last.
        let mut last = None;
        for step in 0..max_steps {
            let ready =
                |player: &Player| player.guest.is_complete() && player.guest.pending_edits() == 0;
            let is_due = step % 8 == 1 && self.players.iter().all(ready);
            if is_due && !last.is_some_and(|(at, block)| self.differs(at, block)) {
                last = self.first_difference();
                if last.is_none() {
                    return step;
                }
            }
            self.step();
        }
        let states: Vec<_> = self
            .players
            .iter()
            .map(|p| (p.guest.is_complete(), p.guest.pending_edits(), p.guest.blocks().count()))
            .collect();
        panic!("not settled after {max_steps} steps: {states:?}, {:?}", self.first_difference());
    }

    /// A player and a block that the guest has, but not as the host has it.
    pub fn first_difference(&mut self) -> Option<(usize, MipBlock)> {
        let held = self.players.iter().enumerate();
        let held: Vec<_> =
            held.flat_map(|(at, p)| p.guest.blocks().map(move |block| (at, block))).collect();
        held.into_iter().find(|&(at, block)| self.differs(at, block))
    }

    fn differs(&mut self, player: usize, block: MipBlock) -> bool {
        let (mut own, mut theirs) = (DenseBox::default(), DenseBox::default());
        let guest = &self.players[player].guest;
        // The guest may have dropped it since.
        guest.has(block)
            && (!guest.read(block, hills, &mut theirs)
                || !self.with_world(|host, world| host.read(world, block, &mut own))
                || own != theirs)
    }
}

impl Player {
    pub fn step(&mut self, now: u64, makes_ground: bool, interest: &Interest) {
        while let Some(packet) = self.down.receive(now) {
            self.guest.receive(&packet, now).expect("the host is honest");
        }
        self.guest.update(hills).expect("the host is honest");
        for event in self.guest.events() {
            match event {
                GuestEvent::Welcome { .. } => self.guest.start(makes_ground),
                GuestEvent::Refused { .. } => self.refused += 1,
                GuestEvent::Confirmed { .. }
                | GuestEvent::Saved { .. }
                | GuestEvent::Message { .. } => self.told.push(event),
                GuestEvent::Corrected => self.corrected += 1,
                _ => {}
            }
        }
        self.guest.watch(&[self.eye], interest);
        let mut packet = Vec::new();
        while self.guest.transmit(now, &mut packet) {
            assert!(packet.len() <= Guest::MAX_PACKET_BYTES);
            self.up.send(now, &packet);
        }
    }
}

/// An operation of a game near a position.
pub fn random_op(random: &mut Random, near: [f64; 3]) -> EditOp {
    let centre = near.map(|v| v + random.between(-20.0, 20.0));
    let radius = random.between(1.0, 6.0);
    match random.below(6) {
        0 => EditOp::fill_ball(8, centre, radius),
        1 => EditOp::smooth_ball(centre, radius, 0.5),
        2 => EditOp::paint_ball(2, centre, radius),
        3 => {
            let half = [radius, random.between(1.0, 4.0), radius];
            let brush = Brush::Box { centre, half, rotation: [0.0, 0.2, 0.0, 1.0] };
            BrushOp::new(brush, Action::Dig).into()
        }
        _ => EditOp::dig_ball(centre, radius),
    }
}
