//! Balls and crates that guests throw.

use crate::waves::{Folder, Outcome, all_settled, options, quic, serve_air, until};
use std::time::{Duration, Instant};
use terravox::edit::{Action, Brush, BrushOp, EditOp};
use terravox::replicate::SharedBodyKind;
use terravox_server::{AccessList, Client, ClientOptions, Right, ServerOptions};

fn box_op(min: [f64; 3], max: [f64; 3], action: Action) -> EditOp {
    let centre = [0, 1, 2].map(|i| f64::midpoint(min[i], max[i]));
    let half = [0, 1, 2].map(|i| (max[i] - min[i]) / 2.0);
    BrushOp::new(Brush::Box { centre, half, rotation: [0.0, 0.0, 0.0, 1.0] }, action).into()
}

/// Kinds of the game and heights of what was thrown.
fn things(client: &mut Client) -> Vec<(u16, f64)> {
    let thing = |kind| match kind {
        SharedBodyKind::Game(kind) => Some(kind),
        _ => None,
    };
    let bodies = client.guest().bodies();
    bodies.filter_map(|(_, body)| Some((thing(body.kind)?, body.pose.position_voxels[1]))).collect()
}

fn with(token: &str) -> ClientOptions {
    ClientOptions { token: token.into(), ..ClientOptions::default() }
}

#[test]
fn a_thrown_crate_floats_and_falls_when_the_water_is_gone_slow() -> Outcome {
    let folder = Folder::new("thrown");
    let mut access = AccessList::default();
    access.add_named("one", Right::Edit, "ada");
    access.add_named("two", Right::Look, "ben");
    let options = ServerOptions { access, ..options(&folder.0) };
    let server = serve_air(&folder.0, "pool", options)?;
    let mut ada = Client::connect(&quic(&server), with("one"))?;
    let mut ben = Client::connect(&quic(&server), with("two"))?;
    until(&mut [&mut ada, &mut ben], |clients| {
        clients.iter_mut().all(|client| client.guest().grid().is_some())
    })?;
    let water = ([-24.0, 0.0, -24.0], [24.0, 6.0, 24.0]);
    let floor = ([-32.0, -8.0, -32.0], [32.0, 0.0, 32.0]);
    ada.guest().edit(&box_op(floor.0, floor.1, Action::Fill { material: 8 }))?;
    ada.guest().edit(&box_op(water.0, water.1, Action::Flood { material: 1 }))?;
    until(&mut [&mut ada], all_settled)?;

    let crate_ = br#"{"throw":"crate","from_m":[3,9,3],"velocity_m_s":[0,0,0]}"#;
    // One who may only look, and requests that make no sense.
    assert!(ben.guest().send_message(crate_));
    for bad in [
        &b"{}"[..],
        b"\xff\x00",
        br#"{"throw":"anvil","from_m":[0,9,0],"velocity_m_s":[0,0,0]}"#,
        br#"{"throw":"ball","from_m":[0,2e9,0],"velocity_m_s":[0,0,0]}"#,
        br#"{"throw":"ball","from_m":[0,1e999,0],"velocity_m_s":[0,0,0]}"#,
    ] {
        assert!(ada.guest().send_message(bad));
    }
    assert!(ada.guest().send_message(crate_));
    until(&mut [&mut ada, &mut ben], |clients| {
        clients.iter_mut().all(|client| things(client).len() == 1)
    })?;
    // It floats where the water ends, and stays there.
    let mut since = Instant::now();
    until(&mut [&mut ada], |clients| {
        if !(5.5..6.5).contains(&things(clients[0])[0].1) {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_secs(2)
    })?;
    assert_eq!(things(&mut ben).len(), 1, "one who may only look threw nothing");

    ada.guest().edit(&box_op(water.0, water.1, Action::Drain))?;
    until(&mut [&mut ada], |clients| things(clients[0])[0].1 < 0.6)?;

    // Some a second, and the oldest of many vanish.
    let ball = br#"{"throw":"ball","from_m":[9,12,9],"velocity_m_s":[0,900,0]}"#;
    (0..40).for_each(|_| assert!(ada.guest().send_message(ball)));
    until(&mut [&mut ada], |clients| things(clients[0]).len() == 6)?;
    let mut thrown = Instant::now();
    until(&mut [&mut ada], |clients| {
        assert!(things(clients[0]).len() <= 16);
        if thrown.elapsed() > Duration::from_millis(100) {
            thrown = Instant::now();
            clients[0].guest().send_message(ball);
        }
        let all = things(clients[0]);
        all.len() == 16 && all.iter().all(|thing| thing.0 == 1)
    })?;
    Ok(server.stop()?)
}
