//! Peers that break the rules: it costs them their link, and no other guest a tick.

use super::simulation::{Random, Simulation, TICK_US, hills, random_op};
use crate::bodies::BodyPose;
use crate::edit::{Clip, EditOp, PasteOp, PastePose};
use crate::replicate::family::{Children, Family, FamilyChild};
use crate::replicate::message::{BodyMessage, PROTOCOL_VERSION, ToGuest, ToHost};
use crate::replicate::pipe::{BULK, EDITS, Pipe};
use crate::replicate::pose_wire::WirePose;
use crate::replicate::wire::put_varint;
use crate::replicate::world_info::WorldInfo;
use crate::replicate::{
    Guest, GuestEvent, HostEvent, Interest, LinkEndCode, LinkKind, LinkOptions, PipeError,
    SharedBodyKind,
};
use crate::voxel::{Cell, DenseBox, MaterialTable, MipBlock, Region};
use proptest::prelude::*;

/// A guest that says what it likes.
struct Liar {
    pipe: Pipe,
    number: u64,
    reason: Option<String>,
    code: Option<LinkEndCode>,
}

impl Liar {
    fn new(game: &mut Simulation) -> Liar {
        let number = game.host.connect(LinkKind::Reliable);
        Liar { pipe: Pipe::new(LinkKind::Reliable), number, reason: None, code: None }
    }

    fn say(&mut self, message: &ToHost) {
        let (materials, mut bytes) = (MaterialTable::default(), Vec::new());
        message.encode(materials.kinds(), &mut bytes);
        let stream = match message {
            ToHost::Subscribe(_) | ToHost::Unsubscribe(_) | ToHost::Refresh(_) => BULK,
            _ => EDITS,
        };
        self.pipe.send(stream, &bytes);
    }

    /// Lets a tick pass. `reads`: whether it takes what it is sent.
    fn step(&mut self, game: &mut Simulation, reads: bool) {
        game.now_us += TICK_US;
        let (now, mut packet) = (game.now_us, Vec::new());
        while self.pipe.transmit(now, &mut packet) {
            let _ = game.host.receive(self.number, &packet, now);
        }
        let own = self.number;
        game.with_world(|host, world| {
            host.tick(world, now);
            for event in host.events() {
                match event {
                    HostEvent::Joining { guest, .. } => host.admit(guest, world),
                    HostEvent::Left { guest, code, reason } if guest == own => {
                        (self.code, self.reason) = (Some(code), Some(reason));
                    }
                    HostEvent::Left { reason, .. } => panic!("another guest left: {reason}"),
                    HostEvent::Edited { .. } | HostEvent::Message { .. } => {}
                }
            }
        });
        while reads && game.host.transmit(own, now, &mut packet) {
            self.pipe.arrive(&packet, now).expect("the host is honest");
            for stream in [EDITS, BULK] {
                while self.pipe.receive(stream).expect("the host is honest").is_some() {}
            }
        }
    }
}

/// A game with a liar that was let in and has started.
fn game_with_liar() -> (Simulation, Liar) {
    let mut game = Simulation::new(true, 4);
    let mut liar = Liar::new(&mut game);
    liar.say(&ToHost::Hello { version: PROTOCOL_VERSION, token: vec![] });
    liar.step(&mut game, true);
    liar.say(&ToHost::Start { makes_ground: true, last_number: 0 });
    liar.step(&mut game, true);
    assert_eq!(liar.reason, None);
    (game, liar)
}

fn dig(number: u64) -> ToHost {
    ToHost::Edit { number, op: Box::new(EditOp::dig_ball([0.0, 0.0, 0.0], 3.0)) }
}

#[test]
fn who_sends_much_before_the_welcome_costs_little_and_loses_the_link() {
    let mut game = Simulation::new(true, 4);
    let mut liar = Liar::new(&mut game);
    let block = |x| (MipBlock { mip: 0, pos: [x, 0, 0].into() }, None);
    for x in 0..1000 {
        liar.say(&ToHost::Subscribe(vec![block(x)]));
    }
    liar.step(&mut game, true);
    assert!(liar.reason.is_some_and(|reason| reason.contains("more than it was allowed")));
}

#[test]
fn a_message_in_the_stream_of_others_ends_the_link() {
    let block = MipBlock::new(4, [0; 3]);
    let messages = [
        (BULK, dig(1)),
        (BULK, ToHost::Undo { number: 1, is_redo: false }),
        (BULK, ToHost::Game(b"hello".to_vec())),
        (EDITS, ToHost::Subscribe(vec![(block, None)])),
        (EDITS, ToHost::Unsubscribe(vec![block])),
        (EDITS, ToHost::Refresh(vec![block])),
    ];
    for (stream, message) in messages {
        let (mut game, mut liar) = game_with_liar();
        let mut bytes = Vec::new();
        message.encode(MaterialTable::default().kinds(), &mut bytes);
        liar.pipe.send(stream, &bytes);
        liar.step(&mut game, true);
        assert_eq!(
            liar.reason.as_deref(),
            Some("a message came in the wrong stream"),
            "{message:?}"
        );
        assert_eq!(liar.code, Some(LinkEndCode::Protocol));
    }
}

#[test]
fn a_message_before_the_welcome_ends_the_link() {
    let mut game = Simulation::new(true, 4);
    let mut liar = Liar::new(&mut game);
    liar.say(&ToHost::Start { makes_ground: true, last_number: 0 });
    liar.step(&mut game, true);
    assert_eq!(liar.reason.as_deref(), Some("a message before the welcome"));
    assert_eq!(liar.code, Some(LinkEndCode::Protocol));
}

#[test]
fn an_operation_before_the_welcome_or_the_start_is_not_decoded() {
    for (is_welcome, reason) in
        [(false, "a message before the welcome"), (true, "a message before the start")]
    {
        let mut game = Simulation::new(true, 4);
        let mut liar = Liar::new(&mut game);
        if is_welcome {
            liar.say(&ToHost::Hello { version: PROTOCOL_VERSION, token: vec![] });
            liar.step(&mut game, true);
        }
        // No operation at all: decoded, it would be named as invalid.
        liar.pipe.send(EDITS, &[4, 1, 255, 255]);
        liar.step(&mut game, true);
        assert_eq!(liar.reason.as_deref(), Some(reason));
    }
}

#[test]
fn an_acknowledgement_of_more_ranges_than_are_ever_written_or_of_nothing_is_invalid() {
    let with_ranges = |ranges: &[[u64; 2]]| {
        let mut packet = vec![0, 1, 0, 0];
        put_varint(ranges.len() as u64, &mut packet);
        ranges.iter().flatten().for_each(|&v| put_varint(v, &mut packet));
        let mut pipe = Pipe::new(LinkKind::Datagrams);
        let mut out = Vec::new();
        for _ in 0..200 {
            pipe.send(EDITS, &[7; 1000]);
            pipe.transmit(0, &mut out);
        }
        pipe.arrive(&packet, 1)
    };
    assert_eq!(with_ranges(&[[9, 1], [1, 1]]), Ok(()));
    assert_eq!(with_ranges(&[[9, 0]]), Err(PipeError::Invalid));
    let many = [vec![[40, 1]], vec![[0, 1]; 32]].concat();
    assert_eq!(with_ranges(&many[..32]), Ok(()));
    assert_eq!(with_ranges(&many), Err(PipeError::Invalid));
}

#[test]
fn another_version_is_refused_by_name() {
    let mut game = Simulation::new(true, 4);
    let mut liar = Liar::new(&mut game);
    liar.say(&ToHost::Hello { version: 99, token: vec![] });
    liar.step(&mut game, true);
    assert!(liar.reason.expect("it left").contains("protocol version 99"));
    assert_eq!(liar.code, Some(LinkEndCode::OtherVersion));
}

#[test]
fn an_operation_that_is_sent_again_ends_the_link() {
    let (mut game, mut liar) = game_with_liar();
    liar.say(&dig(1));
    liar.step(&mut game, true);
    assert_eq!(liar.reason, None);
    liar.say(&dig(1));
    liar.step(&mut game, true);
    assert_eq!(liar.reason.as_deref(), Some("operation 1 was sent before"));
}

#[test]
fn a_guest_that_wants_the_whole_world_is_dropped() {
    let (mut game, mut liar) = game_with_liar();
    game.host.options.max_roots = usize::MAX;
    for batch in 0..700 {
        let block = |i: i32| (MipBlock::new(4, [batch * 100 + i, 0, 0]), None);
        liar.say(&ToHost::Subscribe((0..100).map(block).collect()));
        liar.step(&mut game, true);
    }
    assert_eq!(
        liar.reason.as_deref(),
        Some("more than 65536 blocks wanted; lower the view distance or the detail")
    );
    assert_eq!(liar.code, Some(LinkEndCode::TooManyBlocks));
}

#[test]
fn a_guest_that_never_reads_costs_a_bounded_number_of_bytes() {
    let (mut game, mut liar) = game_with_liar();
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(400);
    let column = |mip: u8| MipBlock::new(mip, [0, 0, 0]);
    let wanted: Vec<_> = (0..=4).rev().map(|mip| (column(mip), None)).collect();
    liar.say(&ToHost::Subscribe(wanted));
    for i in 0..300 {
        let at = [f64::from(i % 20), 0.0, 3.0];
        game.players[0].guest.edit(&EditOp::fill_ball(8, at, 3.0)).expect("it is started");
        game.step();
        liar.step(&mut game, false);
    }
    let bytes = game.host.guest_memory(liar.number);
    assert!(bytes < 256 << 10, "{bytes} bytes");
    game.settle(400);
    assert_eq!(liar.reason, None, "slow is not wrong");
}

#[test]
fn too_many_operations_are_refused_and_later_ones_are_not() {
    let (mut game, mut liar) = game_with_liar();
    for number in 0..2500 {
        liar.say(&dig(number + 1));
    }
    for _ in 0..30 {
        liar.step(&mut game, true);
    }
    assert_eq!(liar.reason, None);
}

#[test]
fn a_guest_is_told_why_it_was_disconnected() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Datagrams, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let number = game.players[0].number;
    game.host.disconnect(number, "the match is over");
    let mut packet = Vec::new();
    assert!(game.host.transmit(number, game.now_us, &mut packet));
    let guest = &mut game.players[0].guest;
    guest.receive(&packet, game.now_us).expect("the host is honest");
    assert_eq!(guest.update(hills), Err("the match is over".into()));
    assert!(!game.host.transmit(number, game.now_us, &mut packet));
}

#[test]
fn operations_that_are_too_much_work_are_refused() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    for i in 0..40 {
        let at = [f64::from(i) * 90.0, 0.0, 0.0];
        game.players[0].guest.edit(&EditOp::dig_ball(at, 40.0)).expect("it is started");
    }
    game.settle(2000);
    let refused = game.players[0].refused;
    assert!((10..40).contains(&refused), "{refused} of 40 refused");
}

#[test]
fn an_operation_that_fits_no_message_is_refused_before_it_is_sent() {
    let mut game = Simulation::new(true, 4);
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let mut random = Random(1);
    let mut cells = DenseBox::new(Region::new([0; 3], [64; 3]));
    for pos in cells.region().voxels() {
        let material = 1 + random.below(20) as u8;
        cells.set(pos, Cell { material, occupancy: random.next() as u8 });
    }
    let clip = Clip::new(cells).expect("it is small");
    let pose = PastePose::default();
    let refused = game.players[0].guest.edit(&EditOp::Paste(PasteOp { clip, pose }));
    assert!(refused.expect_err("it is long").to_string().contains("128 KiB"));
    game.settle(100);
}

#[test]
fn corrupted_packets_end_links_and_nothing_else() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut game = Simulation::new(seed % 2 == 0, 3);
        game.join(LinkKind::Datagrams, LinkOptions::default(), [0.0, 10.0, 0.0], seed);
        let mut victim = Guest::new(LinkKind::Datagrams, b"token");
        let number = game.host.connect(LinkKind::Datagrams);
        let mut packet = Vec::new();
        let mut spoil = |packet: &mut Vec<u8>| {
            if random.below(12) == 0 {
                let at = random.below(packet.len() as u64) as usize;
                packet[at] = random.next() as u8;
            }
        };
        for _ in 0..60 {
            let now = game.now_us;
            while victim.transmit(now, &mut packet) {
                spoil(&mut packet);
                let _ = game.host.receive(number, &packet, now);
            }
            game.host.events().for_each(drop);
            game.step_lenient();
            while game.host.transmit(number, now, &mut packet) {
                spoil(&mut packet);
                let _ = victim.receive(&packet, now);
            }
            if victim.update(hills).is_err() {
                break;
            }
            victim.events().for_each(drop);
            victim.start(true);
            victim.watch(&[[0.0, 10.0, 0.0]], &game.interest);
            let _ = victim.edit(&EditOp::dig_ball([2.0, 0.0, 0.0], 3.0));
        }
        game.host.disconnect(number, "done");
        game.host.events().for_each(drop);
        game.settle(800);
    }
}

proptest! {
    #[test]
    fn any_packets_are_taken_or_refused(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..20),
    ) {
        let mut game = Simulation::new(true, 3);
        let number = game.host.connect(LinkKind::Datagrams);
        let mut guest = Guest::new(LinkKind::Datagrams, b"");
        for packet in &packets {
            let _ = game.host.receive(number, packet, 0);
            let _ = guest.receive(packet, 0);
        }
        let _ = guest.update(hills);
        game.with_world(|host, world| host.tick(world, 1));
    }
}

#[test]
fn costly_operations_wait_for_later_ticks_and_cheap_ones_of_others_go_first() {
    let mut game = Simulation::new(false, 3);
    for seed in 0..6 {
        game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], seed);
    }
    game.settle(2000);
    game.edited.clear();
    let large = EditOp::fill_ball(8, [0.0, 40.0, 0.0], 60.0);
    for player in &mut game.players[..5] {
        for _ in 0..3 {
            player.guest.edit(&large).expect("it has started");
        }
    }
    for _ in 0..3 {
        game.step();
    }
    let small = EditOp::fill_ball(17, [0.0, 120.0, 0.0], 3.0);
    game.players[5].guest.edit(&small).expect("it has started");
    let number = game.players[5].number;
    let begun = game.edited.len();
    assert!(begun < 15, "all of them in three ticks");
    let mut steps = 0;
    while !game.edited.iter().any(|(guest, _)| *guest == number) {
        game.step();
        steps += 1;
        // Behind the first ones of those that had not spent anything, at most.
        assert!(steps < 8, "it waits behind all costly ones");
    }
    game.settle(2000);
    let applied =
        game.edited.len() + game.players.iter().map(|p| p.refused as usize).sum::<usize>();
    assert_eq!(applied, 16);
}

/// A message of a host that makes things up, mostly about blocks that a guest near the origin
/// wants.
fn forged(random: &mut Random) -> (usize, ToGuest) {
    let mip = random.below(6) as u8;
    let near = |random: &mut Random| random.below(6) as i32 - 3;
    let mut block = MipBlock::new(mip, [near(random), near(random), near(random)]);
    if random.below(20) == 0 {
        block = MipBlock::new(12, [1 << 13, -5, 0]);
    }
    let mut bytes: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
    let after = if random.below(8) == 0 { random.next() } else { 0 };
    let number = random.below(12);
    let min = block.cells().min;
    let size = [0; 3].map(|_| 1 + random.below(32) as i32);
    let region = Region { min, max: min + size.into() };
    let blocks = vec![block; random.below(300) as usize];
    let pose = BodyPose { position_voxels: [1.0, 2.0, 3.0], rotation: [0.0, 0.0, 0.0, 1.0] };
    let pose = WirePose::of(&pose).expect("it is valid");
    let op = random_op(random, [0.0; 3]);
    let family = |child| ToGuest::Family { after, family: Family::of_one(block, child).into() };
    match random.below(12) {
        0 => (EDITS, ToGuest::Op { author: 9, op, digest: random.next() as u32 }),
        1 => (EDITS, ToGuest::Refuse { number, refusal: "no\nno".into() }),
        2 => (BULK, ToGuest::Done { after, number, has_changed: true }),
        3 => (BULK, ToGuest::Cells { after, block, region, code: vec![0b01, 0] }),
        4 => {
            let marker = bytes.len() as u8;
            (BULK, family(FamilyChild::Made { marker, region, code: vec![0b01, 0] }))
        }
        5..7 => (BULK, family(FamilyChild::Refined { check: 7, code: bytes })),
        7 => {
            let code = |random: &mut Random| vec![random.next() as u8; 40];
            let child = |_| FamilyChild::Refined { check: 7, code: code(random) };
            let family = Family { parent: block.parent(), children: [0; 8].map(child) };
            (BULK, ToGuest::Family { after, family: family.into() })
        }
        8 => (BULK, family(ground_over(block.mip))),
        9 => (BULK, ToGuest::Unchanged { after, blocks }),
        10 => {
            bytes.resize(random.below(60_000) as usize, 7);
            let (number, kind) = (random.next(), SharedBodyKind::Loose);
            (BULK, ToGuest::Body(BodyMessage { after, number, kind, pose, bytes: bytes.into() }))
        }
        _ => (EDITS, ToGuest::Poses(vec![(random.next(), pose); 40])),
    }
}

/// Ground over one block of each finer mip.
fn ground_over(mip: u8) -> FamilyChild {
    let mut below = Children::default();
    match mip {
        0 => FamilyChild::Ground,
        _ => {
            below[usize::from(mip) % 8] = ground_over(mip - 1);
            FamilyChild::GroundOver(Box::new(below))
        }
    }
}

/// What a guest takes of a host that makes things up. Returns whether it gave the link up, and its
/// memory.
fn play_forged(seed: u64) -> (bool, usize) {
    let mut random = Random(seed);
    let (mut pipe, mut guest) =
        (Pipe::new(LinkKind::Reliable), Guest::new(LinkKind::Reliable, b""));
    let (materials, mut packet, mut most) = (MaterialTable::default(), Vec::new(), 0);
    let info = WorldInfo { author: 3, max_mip: 4, voxel_size_m: 1.0, ..WorldInfo::default() };
    let info = WorldInfo { materials: materials.clone(), ..info };
    let mut next = Some((EDITS, ToGuest::Welcome { instance: 0, info: Box::new(info) }));
    for tick in 1..200 {
        let now = tick * TICK_US;
        for _ in 0..random.below(12) {
            let (stream, message) = next.take().unwrap_or_else(|| forged(&mut random));
            let mut bytes = Vec::new();
            message.encode(materials.kinds(), &mut bytes);
            if pipe.backlog(stream) < 100_000 {
                pipe.send(stream, &bytes);
            }
            if tick < 3 {
                break;
            }
        }
        while pipe.transmit(now, &mut packet) {
            if guest.receive(&packet, now).is_err() {
                return (true, most);
            }
        }
        if guest.update(hills).is_err() {
            return (true, most);
        }
        let _ = guest.edit(&random_op(&mut random, [0.0; 3]));
        for event in guest.events() {
            if let GuestEvent::Welcome { .. } = event {
                guest.start(seed.is_multiple_of(2));
            }
        }
        let interest = Interest { view_voxels: 150.0, ..Interest::default() };
        guest.watch(&[[0.0; 3]], &interest);
        while guest.transmit(now, &mut packet) {
            // It may say more than this side allows, which does not read it all.
            let _ = pipe.arrive(&packet, now);
            for stream in [EDITS, BULK] {
                while let Ok(Some(_)) = pipe.receive(stream) {}
            }
        }
        most = most.max(guest.memory());
    }
    (false, most)
}

#[test]
fn a_host_that_makes_things_up_costs_a_guest_its_link_or_bounded_memory_slow() {
    let outcomes = Vec::from_iter((0..40).map(play_forged));
    let most = outcomes.iter().map(|outcome| outcome.1).max();
    assert!(most < Some(64 << 20), "{most:?} bytes");
    let given_up = outcomes.iter().filter(|outcome| outcome.0).count();
    assert!(given_up > 0, "some of it breaks the protocol");
}
