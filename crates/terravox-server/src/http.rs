//! HTTP: WebSockets that carry units, health, counters.

use crate::gate::{Gate, Pass};
use crate::link::{self, Link, PATIENCE};
use crate::world::RunningWorld;
use axum::Router;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{ConnectInfo, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::{SinkExt, StreamExt};
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terravox::replicate::Guest;
use tokio::time::timeout;

pub(crate) fn router(gate: Arc<Gate>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/metrics", get(metrics))
        .route("/link", get(link_to_first))
        .route("/link/{name}", get(link_to))
        .with_state(gate)
}

async fn link_to_first(
    gate: State<Arc<Gate>>,
    peer: ConnectInfo<SocketAddr>,
    upgrade: WebSocketUpgrade,
) -> Response {
    link_to(gate, Path(String::new()), peer, upgrade).await
}

async fn link_to(
    State(gate): State<Arc<Gate>>,
    Path(name): Path<String>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(world) = gate.world(name.as_bytes()).cloned() else {
        return (StatusCode::NOT_FOUND, "there is no world of this name here\n").into_response();
    };
    let Some(pass) = gate.admit(peer.ip()) else {
        return (StatusCode::TOO_MANY_REQUESTS, "too many connections\n").into_response();
    };
    upgrade
        .max_message_size(Guest::MAX_UNIT)
        .max_frame_size(Guest::MAX_UNIT)
        .on_upgrade(move |socket| serve(socket, world, pass))
}

async fn serve(socket: WebSocket, world: Arc<RunningWorld>, pass: Pass) {
    let link = Arc::new(Link::new(pass.peer()));
    world.join(link.clone());
    let (mut send, receive) = socket.split();
    let read = |message| match message {
        Message::Binary(unit) => Some(unit.to_vec()),
        Message::Ping(_) | Message::Pong(_) => Some(Vec::new()),
        _ => None,
    };
    let (queue, own) = (&link.to_peer, &link.to_world);
    link::carry_messages(queue, own, &mut send, receive, read, || world.wake()).await;
    let reason = link.reason();
    // A close frame has at most 123 bytes of text.
    let reason = Utf8Bytes::from(&reason[..reason.floor_char_boundary(120)]);
    let close = CloseFrame { code: close_code::POLICY, reason };
    let _ = timeout(PATIENCE, send.send(Message::Close(Some(close)))).await;
    link.hang_up();
    world.wake();
}

/// Counters in the text format of Prometheus.
async fn metrics(State(gate): State<Arc<Gate>>) -> String {
    let mut text = format!("terravox_connections {}\n", gate.connections());
    for world in &gate.worlds {
        let counters = &world.counters;
        for (name, counter) in [
            ("guests", &counters.guests),
            ("edits_applied_total", &counters.edits_applied),
            ("edits_saved_total", &counters.edits_saved),
            ("ticks_total", &counters.ticks),
            ("tick_microseconds_total", &counters.tick_us),
            ("tick_longest_microseconds", &counters.longest_tick_us),
            ("saves_total", &counters.saves),
            ("failed_saves_total", &counters.failed_saves),
            ("units_received_total", &counters.units_in),
            ("units_sent_total", &counters.units_out),
            ("bytes_sent_total", &counters.bytes_out),
        ] {
            let value = counter.load(Ordering::Acquire);
            // Writing to a string cannot fail. Names are checked at the start.
            let _ = writeln!(text, "terravox_{name}{{world=\"{}\"}} {value}", world.name);
        }
        for share in [0.5, 0.99] {
            let (name, time) = (&world.name, counters.tick_quantile(share));
            let labels = format!("world=\"{name}\",quantile=\"{share}\"");
            let _ = writeln!(text, "terravox_tick_microseconds{{{labels}}} {time}");
        }
    }
    text
}
