//! A host and its guests on a clock of their own.

use terravox::edit::EditOp;
use terravox::generate::Hills;
use terravox::replicate::{
    GeneratorId, Guest, GuestEvent, Host, HostEvent, HostOptions, HostWorld, Interest, LinkKind,
    LinkOptions, Verdict, VirtualLink,
};
use terravox::terrain::{FillRequest, Placement};
use terravox::voxel::{DenseBox, MipBlock, VoxelGrid};

/// Microseconds of a tick.
pub const TICK_US: u64 = 10_000;

/// Ground that both sides make.
pub fn hills(request: &mut FillRequest<'_>) {
    let mip = request.mip();
    Hills::new(2026).fill(request.cells(), mip);
}

/// Fills a block.
pub type Fill = fn(&mut FillRequest<'_>);

/// A guest and its two links.
pub struct Player {
    pub guest: Guest,
    pub number: u64,
    up: VirtualLink,
    pub down: VirtualLink,
    pub eye: [f64; 3],
    pub interest: Interest,
}

/// A host, its world and its guests.
pub struct Session {
    pub host: Host,
    pub grid: VoxelGrid,
    pub players: Vec<Player>,
    pub now_us: u64,
    ground: Fill,
    has_generator: bool,
}

impl Session {
    /// A world that a generator makes, if there is one, else all that is in the grid.
    pub fn new(grid: VoxelGrid, generator: Option<Fill>, max_mip: u8) -> Session {
        let id = generator.map(|_| GeneratorId { name: "bench".into(), ..GeneratorId::default() });
        let options =
            HostOptions { generator: id, max_mip, edits_per_s: 10_000, ..HostOptions::default() };
        Session {
            host: Host::new(options),
            grid,
            players: Vec::new(),
            now_us: 0,
            ground: generator.unwrap_or(|request| request.set_missing()),
            has_generator: generator.is_some(),
        }
    }

    /// A world whose ground the host alone can make.
    pub fn sent_whole(grid: VoxelGrid, ground: Fill, max_mip: u8) -> Session {
        Session { ground, ..Session::new(grid, None, max_mip) }
    }

    pub fn join(&mut self, link: LinkOptions, eye: [f64; 3], interest: Interest) {
        let seed = 2 * self.players.len() as u64 + 1;
        let number = self.host.connect(LinkKind::Datagrams);
        self.players.push(Player {
            guest: Guest::new(LinkKind::Datagrams, b""),
            number,
            up: VirtualLink::new(link, seed),
            down: VirtualLink::new(link, seed + 1),
            eye,
            interest,
        });
    }

    /// Breaks the link of a player, who comes back over another.
    pub fn reconnect(&mut self, at: usize, link: LinkOptions, seed: u64) {
        let player = &mut self.players[at];
        self.host.disconnect(player.number, "the cable was pulled");
        player.number = self.host.connect(LinkKind::Datagrams);
        // Operations without a reply may be lost.
        player.guest.reconnect(LinkKind::Datagrams);
        player.up = VirtualLink::new(link, 2 * seed + 1);
        player.down = VirtualLink::new(link, 2 * seed + 2);
    }

    /// Calls a function with the host and its world.
    pub fn with_world<R>(&mut self, work: impl FnOnce(&mut Host, &mut HostWorld<'_>) -> R) -> R {
        let (ground, mut decide) = (self.ground, |_: u64, _: &EditOp| Verdict::Accept);
        let mut world = HostWorld {
            grid: &mut self.grid,
            placement: Placement::default(),
            ground: &ground,
            generated: &ground,
            prefetch: &|_| true,
            decide: &mut decide,
        };
        work(&mut self.host, &mut world)
    }

    /// One tick of the host, without links.
    pub fn tick(&mut self) {
        let now = self.now_us;
        self.with_world(|host, world| {
            host.tick(world, now);
            for event in host.events() {
                if let HostEvent::Joining { guest, .. } = event {
                    host.admit(guest, world);
                }
            }
        });
    }

    /// One tick of all.
    pub fn step(&mut self) {
        self.now_us += TICK_US;
        let now = self.now_us;
        for player in &mut self.players {
            while let Some(packet) = player.up.receive(now) {
                let taken = self.host.receive(player.number, &packet, now);
                assert_eq!(taken, Ok(()), "the guest is honest");
            }
        }
        self.tick();
        let (mut packet, ground) = (Vec::new(), self.ground);
        for player in &mut self.players {
            while self.host.transmit(player.number, now, &mut packet) {
                player.down.send(now, &packet);
            }
            player.step(now, ground, self.has_generator);
        }
    }

    /// Steps until a condition holds, at most for some simulated seconds. Returns the simulated
    /// seconds that it took.
    pub fn until(&mut self, seconds: f64, mut is_done: impl FnMut(&mut Session) -> bool) -> f64 {
        let start = self.now_us;
        while (self.now_us - start) as f64 / 1e6 <= seconds {
            self.step();
            if is_done(self) {
                return (self.now_us - start) as f64 / 1e6;
            }
        }
        f64::INFINITY
    }

    /// Whether all guests have all that they want, and no edit is on its way.
    pub fn is_settled(&mut self) -> bool {
        self.players.iter().all(|p| p.guest.is_complete() && p.guest.pending_edits() == 0)
    }

    /// Steps until all guests have all that they want, as the host has it. Arguments and result as
    /// of [`Session::until`].
    pub fn converge(&mut self, seconds: f64) -> f64 {
        // Comparing all takes longer than a step: first the block that differed last.
        let mut last = None;
        self.until(seconds, |session| {
            if !session.is_settled() || last.is_some_and(|(at, block)| session.differs(at, block)) {
                return false;
            }
            last = session.first_difference();
            last.is_none()
        })
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
            && (!guest.read(block, self.ground, &mut theirs)
                || !self.with_world(|host, world| host.read(world, block, &mut own))
                || own != theirs)
    }
}

impl Player {
    fn step(&mut self, now: u64, ground: Fill, makes_ground: bool) {
        while let Some(packet) = self.down.receive(now) {
            assert_eq!(self.guest.receive(&packet, now), Ok(()), "the host is honest");
        }
        assert_eq!(self.guest.update(ground), Ok(()), "the host is honest");
        for event in self.guest.events() {
            if let GuestEvent::Welcome { .. } = event {
                self.guest.start(makes_ground);
            }
        }
        self.guest.watch(&[self.eye], &self.interest);
        let mut packet = Vec::new();
        while self.guest.transmit(now, &mut packet) {
            self.up.send(now, &packet);
        }
    }
}
