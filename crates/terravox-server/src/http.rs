//! HTTP: WebSockets that carry packets, health, counters, backups; see also `journal_requests`.

use crate::connections::Pass;
use crate::gate::Gate;
use crate::journal_requests;
use crate::link::{self, IO_TIMEOUT, Link};
use crate::log::{info, warn};
use crate::metrics;
use crate::page;
use crate::patient_stream::PatientStream;
use crate::request_checks::{Refusal, check_administrator, check_site, refusal, world};
use crate::server_reason::may_return;
use crate::world::RunningWorld;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Path, State};
use axum::http::header::CONNECTION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::{SinkExt, StreamExt};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terravox::replicate::Guest;
use terravox_store::{Column, ColumnOwner, Overwrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Maximum size of the head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;

/// A world whose database has not answered for this time is reported as unhealthy.
const MAX_DATABASE_SILENCE: Duration = Duration::from_secs(10);

/// The header that says whether guests may throw things, and the one by which the page knows a
/// response of a server from one of a proxy before it.
const THROWS: &str = "terravox-throws";
const SERVER: HeaderName = HeaderName::from_static("terravox-server");

/// Sent to connections beyond the limit.
const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n\
    Content-Length: 21\r\n\r\ntoo many connections\n";

/// Accepts connections. Each counts from here on, with or without a request.
pub(crate) async fn listen(listener: TcpListener, gate: Arc<Gate>) {
    let router = router(gate.clone());
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => match gate.connections.admit(peer.ip()) {
                Some(pass) => {
                    tokio::spawn(serve_connection(stream, router.clone(), pass, gate.patience));
                }
                // Best effort: it may be gone.
                None => drop(stream.try_write(TOO_MANY)),
            },
            Err(error) => {
                // Perhaps out of file descriptors: wait for connections to close.
                warn!("no connection accepted: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one request of a connection, which may become a WebSocket.
async fn serve_connection(stream: TcpStream, router: Router, pass: Pass, patience: Duration) {
    let service = TowerToHyperService::new(router.layer(Extension(Arc::new(pass))));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience);
    http.max_buf_size(MAX_HEAD);
    // A packet does not wait for the acknowledgement of the one before. Best effort.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(PatientStream::new(stream, patience));
    let connection = http.serve_connection(stream, service).with_upgrades();
    // Connection errors are the peer's.
    let _ = connection.await;
}

fn router(gate: Arc<Gate>) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .route("/link", get(link_to))
        .route("/link/{name}", get(link_to))
        .route("/columns", get(columns))
        .route("/columns/{name}", get(columns))
        .route("/backup", post(back_up))
        .route("/backup/{name}", post(back_up))
        .merge(journal_requests::routes())
        .merge(page::routes())
        .layer(map_response(end_connection))
        .with_state(gate)
}

/// Marks a response as this server's. A connection is for one request: one that stays idle would
/// keep others out.
async fn end_connection(mut response: Response) -> Response {
    response.headers_mut().insert(SERVER, HeaderValue::from_static("yes"));
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Whether all worlds are served and saved. A header tells the page whether guests may throw
/// things.
async fn health(State(gate): State<Arc<Gate>>) -> impl IntoResponse {
    let throws = [(THROWS, if gate.pieces_fall { "yes" } else { "no" })];
    let now = Instant::now();
    match gate.worlds.iter().find_map(|world| health_problem(world, now)) {
        None => (StatusCode::OK, throws, "ok\n".to_owned()),
        Some(what) => (StatusCode::SERVICE_UNAVAILABLE, throws, what + "\n"),
    }
}

/// What is wrong with a world, if something is.
pub(crate) fn health_problem(world: &RunningWorld, now: Instant) -> Option<String> {
    if world.has_stopped() {
        return Some(format!("the world {} has stopped; the log says why", world.name));
    }
    // Anyone may ask: what a database says of an error can name its address and its users.
    let silence = world.columns.as_ref().and_then(|columns| columns.is_silent_since());
    let silence = silence.map(|since| now.saturating_duration_since(since));
    if let Some(silence) = silence.filter(|silence| *silence > MAX_DATABASE_SILENCE) {
        return Some(format!(
            "the columns of the world {} could not be read for {} s; the log says why once the database is given up",
            world.name,
            silence.as_secs()
        ));
    }
    let failure = world.counters.save_failure()?;
    let seconds = now.saturating_duration_since(failure.since).as_secs();
    let edits = world.counters.unsaved_edits();
    Some(format!(
        "saving the world {} stopped {seconds} s ago, {edits} edits are only in memory; the log says why",
        world.name
    ))
}

async fn link_to(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    check_site(&headers, gate.access.is_open())?;
    // Before the upgrade: browsers hide why an upgrade was refused, so the page asks again without
    // one.
    let world = world(&gate, name)?;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return Ok(rejection.into_response()),
    };
    // Responses to pings wait in that buffer while the peer does not read.
    let upgrade = upgrade.read_buffer_size(link::READ_BUFFER);
    let upgrade = upgrade.write_buffer_size(0).max_write_buffer_size(link::MAX_WRITE_BUFFER);
    let upgrade =
        upgrade.max_message_size(Guest::MAX_PACKET_BYTES).max_frame_size(Guest::MAX_PACKET_BYTES);
    Ok(upgrade.on_upgrade(move |socket| serve(socket, world, pass)))
}

async fn serve(socket: WebSocket, world: Arc<RunningWorld>, pass: Arc<Pass>) {
    let link = Arc::new(Link::with_pass(&pass));
    world.join(link.clone());
    let (mut send, receive) = socket.split();
    let read = |message| match message {
        Message::Binary(packet) => Some(packet.to_vec()),
        Message::Ping(_) | Message::Pong(_) => Some(Vec::new()),
        _ => None,
    };
    let (outgoing, incoming) = (&link.to_peer, &link.to_world);
    let why =
        link::carry_messages(outgoing, incoming, &mut send, receive, read, || world.wake()).await;
    link.close_with_reason(why);
    let reason = link.reason();
    let code = if may_return(reason) { close_code::AGAIN } else { close_code::POLICY };
    // A close frame has at most 123 bytes of text.
    let reason = Utf8Bytes::from(&reason[..reason.floor_char_boundary(123)]);
    let close = CloseFrame { code, reason };
    let _ = timeout(IO_TIMEOUT, send.send(Message::Close(Some(close)))).await;
    link.hang_up();
    world.wake();
}

/// Who has which column of a world that several servers share: a line each, `X Z SERVER`, and
/// `gone` if the lease of that server has ended.
async fn columns(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<String, Refusal> {
    check_site(&headers, gate.access.is_open())?;
    let world = world(&gate, name)?;
    let Some(columns) = &world.columns else {
        return Err(refusal(StatusCode::NOT_FOUND, "one server has all of this world"));
    };
    let mut text = String::new();
    for ColumnOwner { column: Column { x, z }, server, is_alive, .. } in columns.owners().values() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{x} {z} {server}{}", if *is_alive { "" } else { " gone" });
    }
    Ok(text)
}

/// Saves a world and copies its file; returns the path of the copy.
async fn back_up(
    State(gate): State<Arc<Gate>>,
    name: Option<Path<String>>,
    Extension(pass): Extension<Arc<Pass>>,
    headers: HeaderMap,
) -> Result<String, Refusal> {
    check_site(&headers, gate.access.is_open())?;
    check_administrator(&gate, &pass, &headers)?;
    let world = world(&gate, name)?;
    let conflict = |_| refusal(StatusCode::CONFLICT, "a backup of this world is being written");
    let one_at_a_time = world.backup.clone().try_lock_owned().map_err(conflict)?;
    let failed = |why: String| refusal(StatusCode::INTERNAL_SERVER_ERROR, why);
    world.save().await.map_err(|why| failed(format!("not saved: {why}")))?;
    let path = gate.backup_folder.join(format!("{}.{}.tvx", world.name, utc_timestamp()));
    let path = std::path::absolute(path).map_err(|error| failed(error.to_string()))?;
    let stopped = || failed("the world has stopped; the server's output says why".to_owned());
    let (store, target) = (world.store().ok_or_else(stopped)?, path.clone());
    let copy = tokio::task::spawn_blocking(move || {
        // Held to the end of the copy, even if the client has hung up.
        let _one_at_a_time = one_at_a_time;
        store.back_up(target, Overwrite::No)
    });
    let copied = copy.await.map_err(|error| failed(error.to_string()))?;
    copied.map_err(|error| failed(error.to_string()))?;
    info!(world = world.name, path = %path.display(), "backed up");
    Ok(format!("{}\n", path.display()))
}

/// The time in UTC, as `2026-11-25T02-30-00.123Z`: Windows forbids colons in file names.
fn utc_timestamp() -> String {
    let now = time::OffsetDateTime::now_utc();
    let milli = now.millisecond();
    let (month, day) = (u8::from(now.month()), now.day());
    let (hour, minute, second) = now.to_hms();
    format!("{:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}.{milli:03}Z", now.year())
}

/// Counters in the text format of Prometheus.
async fn metrics(State(gate): State<Arc<Gate>>, headers: HeaderMap) -> Result<String, Refusal> {
    check_site(&headers, gate.access.is_open())?;
    Ok(metrics::text(&gate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_fit_for_the_name_of_a_file() {
        let time = utc_timestamp();
        assert!(time.len() == 24 && time.ends_with('Z') && !time.contains(':'), "{time}");
    }
}
