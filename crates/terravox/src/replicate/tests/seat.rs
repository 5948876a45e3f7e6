//! A guest that says what it likes, message by message.

use super::simulation::{Simulation, TICK_US};
use crate::replicate::message::{PROTOCOL_VERSION, ToGuest, ToHost};
use crate::replicate::pipe::{BULK, EDITS, Pipe};
use crate::replicate::{HostEvent, LinkEndCode, LinkKind, RefusalCode};
use crate::voxel::MaterialTable;

/// One guest of an account, by messages.
pub struct Seat {
    pipe: Pipe,
    pub number: u64,
    pub refusals: Vec<RefusalCode>,
    /// Whether it takes the cells that arrive.
    pub takes_cells: bool,
    /// Operations of others that it was sent, and messages about cells.
    pub ops: usize,
    pub cells: usize,
    pub left: Option<LinkEndCode>,
}

impl Seat {
    pub fn new(game: &mut Simulation) -> Seat {
        let number = game.host.connect(LinkKind::Reliable);
        let mut seat = Seat {
            pipe: Pipe::new(LinkKind::Reliable),
            number,
            refusals: Vec::new(),
            takes_cells: true,
            ops: 0,
            cells: 0,
            left: None,
        };
        seat.say(&ToHost::Hello { version: PROTOCOL_VERSION, token: vec![] });
        seat.step(game);
        seat.say(&ToHost::Start { makes_ground: true, last_number: 0 });
        seat.step(game);
        seat
    }

    pub fn say(&mut self, message: &ToHost) {
        let mut bytes = Vec::new();
        message.encode(MaterialTable::default().kinds(), &mut bytes);
        let stream = match message {
            ToHost::Subscribe(_) | ToHost::Unsubscribe(_) | ToHost::Refresh(_) => BULK,
            _ => EDITS,
        };
        self.pipe.send(stream, &bytes);
    }

    /// Bytes of requests for blocks that wait to be sent.
    pub fn waiting(&self) -> u64 {
        self.pipe.unsent(BULK)
    }

    /// Lets a tick pass.
    pub fn step(&mut self, game: &mut Simulation) {
        game.now_us += TICK_US;
        game.ground.begin_tick();
        let (now, own) = (game.now_us, self.number);
        self.send(game);
        game.with_world(|host, world| {
            host.tick(world, now);
            for event in host.events() {
                match event {
                    HostEvent::Joining { guest, .. } => host.admit_as(guest, world, "ada"),
                    HostEvent::Left { guest, code, .. } if guest == own => self.left = Some(code),
                    _ => {}
                }
            }
        });
        self.take(game);
    }

    pub fn send(&mut self, game: &mut Simulation) {
        let mut packet = Vec::new();
        while self.pipe.transmit(game.now_us, &mut packet) {
            let _ = game.host.receive(self.number, &packet, game.now_us);
        }
    }

    /// Takes what it is sent; returns how many bytes that are.
    pub fn take(&mut self, game: &mut Simulation) -> usize {
        let (now, mut packet, mut bytes) = (game.now_us, Vec::new(), 0);
        while self.left.is_none() && game.host.transmit(self.number, now, &mut packet) {
            bytes += packet.len();
            self.pipe.arrive(&packet, now).expect("the host is honest");
            while let Ok(Some(bytes)) = self.pipe.receive(EDITS) {
                let message = ToGuest::decode(&bytes, MaterialTable::default().kinds());
                match message {
                    Ok(ToGuest::Refuse { refusal, .. }) => self.refusals.push(refusal.code),
                    Ok(ToGuest::Op { .. }) => self.ops += 1,
                    _ => {}
                }
            }
        }
        while self.takes_cells && matches!(self.pipe.receive(BULK), Ok(Some(_))) {
            self.cells += 1;
        }
        bytes
    }
}
