//! Refusals and the ends of links: a program can tell them apart.

use super::simulation::{Simulation, TICK_US, hills};
use crate::edit::{Action, Brush, BrushOp, EditOp};
use crate::replicate::{
    GeneratorId, Guest, GuestEvent, Host, HostEvent, HostOptions, LinkEnd, LinkEndCode, LinkKind,
    LinkOptions, Refusal, RefusalCode, Verdict,
};

/// Why the host refuses operations, in their order.
fn refusals(game: &mut Simulation, ask: impl Fn(&mut Guest)) -> Vec<RefusalCode> {
    let mut codes = Vec::new();
    ask(&mut game.players[0].guest);
    while game.players[0].guest.pending_edits() > 0 {
        game.now_us += TICK_US;
        let (now, mut packet) = (game.now_us, Vec::new());
        let number = game.players[0].number;
        while game.players[0].guest.transmit(now, &mut packet) {
            game.host.receive(number, &packet, now).expect("the guest is honest");
        }
        game.with_world(|host, world| host.tick(world, now));
        game.host.events().for_each(drop);
        let guest = &mut game.players[0].guest;
        while game.host.transmit(number, now, &mut packet) {
            guest.receive(&packet, now).expect("the host is honest");
        }
        guest.update(hills).expect("the host is honest");
        codes.extend(guest.events().filter_map(|event| match event {
            GuestEvent::Refused { code, .. } => Some(code),
            _ => None,
        }));
    }
    codes
}

#[test]
fn a_guest_learns_why_its_operations_were_refused() {
    let mut game = Simulation::new(true, 3);
    game.decide = |_, op| match op {
        EditOp::Brush(op) if op.falloff > 0.0 => {
            Verdict::Refuse(Refusal::by_game(7, "no soft brushes here"))
        }
        EditOp::Brush(op) if op.strength < 1.0 => Verdict::Refuse("no weak ones".into()),
        _ => Verdict::Accept,
    };
    game.join(LinkKind::Reliable, LinkOptions::default(), [0.0, 10.0, 0.0], 1);
    game.settle(500);
    let soft = |falloff: f64, strength: f64| {
        let ball = Brush::Ball { centre: [0.0; 3], radius: 3.0 };
        EditOp::from(BrushOp { falloff, strength, ..BrushOp::new(ball, Action::Dig) })
    };
    let codes = refusals(&mut game, |guest| {
        guest.redo().expect("it has started");
        for op in [soft(0.5, 1.0), soft(0.0, 0.5), EditOp::dig_ball([0.0, 500.0, 0.0], 60.0)] {
            guest.edit(&op).expect("it is valid");
        }
    });
    use RefusalCode::{Game, NothingToUndo};
    assert_eq!(codes, [NothingToUndo, Game(7), Game(0)]);
    // A host that allows less than this guest knows of.
    game.host.options.edit_limits.max_cells = 10;
    game.host.editor = crate::edit::Editor::new(game.host.options.edit_limits);
    let large = |guest: &mut Guest| {
        guest.edit(&EditOp::dig_ball([0.0; 3], 9.0)).expect("it is valid");
    };
    assert_eq!(refusals(&mut game, large), [RefusalCode::TooLarge]);
    let many = |guest: &mut Guest| {
        for _ in 0..200 {
            guest.edit(&EditOp::dig_ball([0.0; 3], 1.0)).expect("it is valid");
        }
    };
    game.host.options.edits_per_s = 1;
    game.now_us += 60_000_000;
    assert!(refusals(&mut game, many).contains(&RefusalCode::TooMany));
}

/// What a guest learns from the last packet of a host.
fn told(packet: &[u8]) -> LinkEnd {
    let mut guest = Guest::new(LinkKind::Reliable, b"");
    guest.receive(packet, 0).expect("the host is honest");
    guest.update(hills).expect_err("the link has ended")
}

#[test]
fn a_guest_learns_why_its_link_ended() {
    let mut host = Host::new(Default::default());
    let mut packet = Vec::new();
    for end in [LinkEnd::by_game(300, "kicked"), "the match is over".into()] {
        let number = host.connect(LinkKind::Reliable);
        host.disconnect(number, end.clone());
        assert!(host.transmit(number, 0, &mut packet));
        assert_eq!(told(&packet), end);
    }
    let number = host.connect(LinkKind::Reliable);
    assert!(host.receive(number, &[0, 9], 0).is_err());
    assert!(host.transmit(number, 0, &mut packet));
    assert_eq!(told(&packet).code, LinkEndCode::Protocol);
    let last = host.events().last();
    assert!(matches!(last, Some(HostEvent::Left { code: LinkEndCode::Protocol, .. })), "{last:?}");
}

#[test]
fn a_host_refuses_a_generator_that_no_message_can_hold() {
    let host_of = |name: usize, parameters: usize| {
        let (name, parameters) = ("n".repeat(name), vec![0; parameters]);
        let generator = Some(GeneratorId { name, version: 1, parameters });
        let make = || drop(Host::new(HostOptions { generator, ..HostOptions::default() }));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
        panicked.map_err(|what| what.downcast_ref::<String>().cloned().unwrap_or_default())
    };
    assert_eq!(host_of(200, 4096), Ok(()));
    let longer_name = "GeneratorId::name: 201 bytes, at most 200".to_owned();
    assert_eq!(host_of(201, 0), Err(longer_name));
    let more = "GeneratorId::parameters: 4097 bytes, at most 4,096".to_owned();
    assert_eq!(host_of(0, 4097), Err(more));
}

#[test]
fn the_last_packet_of_a_host_of_another_version_is_understood_both_ways() {
    let mut game = Simulation::new(true, 3);
    let number = game.host.connect(LinkKind::Reliable);
    // Packet 0, no acknowledgement, a frame of a hello of version 4 without a token.
    let hello = [0, 0, 0, 0, 4, 3, 0, 4, 0];
    game.host.receive(number, &hello, 0).expect("the packet is valid");
    game.with_world(|host, world| host.tick(world, 1));
    let mut packet = Vec::new();
    assert!(game.host.transmit(number, 1, &mut packet));
    let end = told(&packet);
    assert_eq!(end.code, LinkEndCode::OtherVersion);
    // Version 4 knows a text, up to the end of the packet.
    assert_eq!(packet[..3], [0, 0, 2]);
    assert_eq!(&packet[4..], end.reason.as_bytes());
}
