//! A client: a guest with a socket.

use crate::address::{DEFAULT_PORT, Transport, WorldAddress};
use crate::certificate::Fingerprint;
use crate::client_error::ClientError;
use crate::journal_query::JournalQuery;
use crate::link::{self, IO_TIMEOUT, Link};
use crate::quic;
use crate::rollback::RolledBack;
use crate::server_reason::may_return;
use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{Method, Request, StatusCode};
use futures_util::StreamExt;
use futures_util::future::select_ok;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use quinn::{Connection, ConnectionError, Endpoint};
use std::collections::VecDeque;
use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use terravox::edit::EditOp;
use terravox::replicate::{Guest, LinkKind};
use terravox::terrain::FillRequest;
use tokio::net::{TcpStream, UdpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

/// How long a client that is dropped waits until the server has been told.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(100);

/// How long the server may take to say why it ended a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of bytes of a response that are read.
const MAX_RESPONSE: usize = 4 << 20;

/// Options of a [`Client`].
#[derive(Clone, Default)]
pub struct ClientOptions {
    /// The access token; empty if none is needed. At most 256 bytes.
    pub token: Vec<u8>,
    /// The fingerprint of the server's certificate. Needed for QUIC, except on loopback, where any
    /// certificate is trusted.
    pub fingerprint: Option<[u8; 32]>,
}

/// Does not show the token.
impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = format_args!("{} bytes", self.token.len());
        let mut shown = f.debug_struct("ClientOptions");
        shown.field("token", &token).field("fingerprint", &self.fingerprint).finish()
    }
}

/// An edit in the journal of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct JournaledEdit {
    /// Its number; later edits have larger ones.
    pub number: u64,
    /// When it was made, Unix time in seconds.
    pub time: u64,
    /// Who made it: the name of the token, else an IP address.
    pub author: String,
    /// The min and max corner of the box that contains all changed cells, in metres; `None` if no
    /// cell changed.
    pub region_m: Option<[[f64; 3]; 2]>,
    /// How many cells changed.
    pub cells: u64,
    /// Bytes that it takes in the journal.
    pub bytes: u64,
    /// Its kind: `edit`, `undo` (an undo or a redo), `piece` (a piece that a dig cut loose),
    /// `rollback`, or `forgotten` (the journal was full and dropped the previous cells).
    pub kind: String,
}

impl JournaledEdit {
    /// Reads a line of a response.
    fn from_text(line: &str) -> Option<JournaledEdit> {
        let [number, time, author, corners, cells, bytes, kind] =
            line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let region_m = match corners {
            "" => None,
            corners => {
                let corners: Result<Vec<f64>, _> = corners.split(',').map(str::parse).collect();
                let [a, b, c, d, e, f] = corners.ok()?.try_into().ok()?;
                Some([[a, b, c], [d, e, f]])
            }
        };
        Some(JournaledEdit {
            number: number.parse().ok()?,
            time: time.parse().ok()?,
            author: author.to_owned(),
            region_m,
            cells: cells.parse().ok()?,
            bytes: bytes.parse().ok()?,
            kind: kind.to_owned(),
        })
    }
}

fn unexpected() -> ClientError {
    ClientError::new("the response is not that of this version's servers; update the older one")
}

/// A link, and the task of its socket.
struct OpenLink {
    link: Arc<Link>,
    socket: JoinHandle<()>,
}

impl Deref for OpenLink {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

/// A [`Guest`] whose packets travel over a socket. All clients of a process share one thread for
/// their sockets; the guest itself runs on the thread of the caller, in [`Client::poll`].
pub struct Client {
    guest: Guest,
    address: WorldAddress,
    options: ClientOptions,
    runtime: &'static Runtime,
    link: OpenLink,
    began: Instant,
    received: u64,
}

impl Client {
    /// Connects to a server. Blocks for up to 10 s: a game calls it on a thread of its own.
    ///
    /// # Errors
    /// If the server cannot be reached or has no such world; if it is on another machine and is
    /// reached over QUIC, and the options have no fingerprint or another one; if a token would go to
    /// another machine over WebSocket, which is not encrypted. [`ClientError::is_transient`] says
    /// whether trying again may help.
    ///
    /// # Panics
    /// If the token has more than 256 bytes, or in an async runtime.
    pub fn connect(address: &WorldAddress, options: ClientOptions) -> Result<Client, ClientError> {
        let runtime = runtime()?;
        let link = open(runtime, address, &options)?;
        let guest = Guest::new(LinkKind::Reliable, &options.token);
        let (address, began) = (address.clone(), Instant::now());
        Ok(Client { guest, address, options, runtime, link, began, received: 0 })
    }

    /// Asks the server to save a world and to copy its file while it is served. Returns the path of
    /// the copy, on the machine of the server, which has to be this one. Blocks for as long as the
    /// server saves and writes the copy.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses (for example because the token does not have the
    /// right to [administer](crate::Right::Administer)), or cannot write the copy.
    pub fn back_up(
        address: &WorldAddress,
        options: &ClientOptions,
    ) -> Result<PathBuf, ClientError> {
        let path = path_of("backup", &address.world);
        let asked = runtime()?.block_on(ask(Method::POST, address, path, &options.token));
        asked.map(PathBuf::from).map_err(|error| error.at(address))
    }

    /// Asks the server who changed what in a world: edits, the newest first. The server has to be
    /// on this machine.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses, for example because the token does not have the
    /// right to [administer](crate::Right::Administer).
    pub fn journal(
        address: &WorldAddress,
        options: &ClientOptions,
        query: &JournalQuery,
    ) -> Result<Vec<JournaledEdit>, ClientError> {
        let path = path_of("journal", &address.world) + &query.to_text();
        let asked = runtime()?.block_on(ask(Method::GET, address, path, &options.token));
        let edits = asked.and_then(|text| {
            let edits: Option<_> = text.lines().map(JournaledEdit::from_text).collect();
            edits.ok_or_else(unexpected)
        });
        edits.map_err(|error| error.at(address))
    }

    /// Asks the server to roll edits back: cells become what they were before, unless others
    /// changed them later. At least one field of the query is given, and no limit. Blocks until it
    /// is done, which takes seconds with many edits. The server has to be on this machine.
    ///
    /// # Errors
    /// As [`Client::journal`]; or if another rollback of the world is under way.
    pub fn roll_back(
        address: &WorldAddress,
        options: &ClientOptions,
        query: &JournalQuery,
    ) -> Result<RolledBack, ClientError> {
        let path = path_of("rollback", &address.world) + &query.to_text();
        let asked = runtime()?.block_on(ask(Method::POST, address, path, &options.token));
        let done = asked.and_then(|text| RolledBack::from_text(&text).ok_or_else(unexpected));
        done.map_err(|error| error.at(address))
    }

    /// Asks the server to cancel the running rollback of a world: what it restored so far is
    /// reverted, and what others did meanwhile stays. Returns how many cells were reverted. Blocks
    /// until it is done. The server has to be on this machine.
    ///
    /// # Errors
    /// As [`Client::journal`]; or if none is under way.
    pub fn cancel_rollback(
        address: &WorldAddress,
        options: &ClientOptions,
    ) -> Result<u64, ClientError> {
        let path = path_of("rollback", &address.world);
        let asked = runtime()?.block_on(ask(Method::DELETE, address, path, &options.token));
        let cells = asked.and_then(|text| {
            let cells = text.trim().strip_prefix("cells ").and_then(|cells| cells.parse().ok());
            cells.ok_or_else(unexpected)
        });
        cells.map_err(|error| error.at(address))
    }

    /// The guest: its world, edits and events. [`Client::poll`] calls `receive`, `update` and
    /// `transmit` of it; do not call these here.
    pub fn guest(&mut self) -> &mut Guest {
        &mut self.guest
    }

    /// The clock of the guest, which starts with the client, in microseconds: what
    /// [`Guest::body_pose`] takes.
    pub fn now_us(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    /// Bytes of packets received, over all connections.
    pub fn bytes_received(&self) -> u64 {
        self.received
    }

    /// Handles what arrived, and sends what is to be sent. Call it once a frame. `generate` fills
    /// blocks as the generator of the world makes them; if you do not have the generator, pass
    /// `|request| request.set_missing()`.
    ///
    /// # Errors
    /// If the connection ended; the error says why. [`Client::reconnect`] connects again and keeps
    /// all blocks.
    pub fn poll(&mut self, generate: impl Fn(&mut FillRequest<'_>)) -> Result<(), ClientError> {
        let now_us = self.now_us();
        for packet in self.link.to_peer.take() {
            self.received += packet.len() as u64;
            self.guest.receive(&packet, now_us).map_err(ClientError::new)?;
        }
        self.guest.update(generate).map_err(ClientError::ended)?;
        let mut packet = Vec::new();
        while self.link.to_world.has_room() && self.guest.transmit(now_us, &mut packet) {
            self.link.to_world.push(std::mem::take(&mut packet));
        }
        match (self.link.is_gone() && self.link.to_peer.is_empty(), self.link.reason()) {
            (false, _) => Ok(()),
            (true, "") => Err(ClientError::transient("the connection to the server is gone")),
            (true, reason) if may_return(reason) => Err(ClientError::transient(reason)),
            (true, reason) => Err(ClientError::new(reason)),
        }
    }

    /// Connects again and keeps all blocks. Returns the operations without a reply from the server,
    /// as [`Guest::reconnect`] does.
    /// [`GuestEvent::Welcome`](terravox::replicate::GuestEvent::Welcome) arrives again, and you
    /// have to call [`Guest::start`] again. Blocks for up to 10 s.
    ///
    /// # Errors
    /// As [`Client::connect`]; nothing is then changed.
    ///
    /// # Panics
    /// In an async runtime.
    pub fn reconnect(&mut self) -> Result<Vec<EditOp>, ClientError> {
        let link = open(self.runtime, &self.address, &self.options)
            .map_err(ClientError::without_advice)?;
        self.link.hang_up();
        self.link = link;
        Ok(self.guest.reconnect(LinkKind::Reliable))
    }
}

/// Leaves, and waits up to a tenth of a second until the server has been told, so that the process
/// may end right after.
impl Drop for Client {
    fn drop(&mut self) {
        self.link.hang_up();
        if Handle::try_current().is_err() {
            let told = async { timeout(LEAVE_TIMEOUT, &mut self.link.socket).await };
            let _ = self.runtime.block_on(told);
        }
    }
}

/// The thread of the sockets of all clients of this process.
fn runtime() -> Result<&'static Runtime, ClientError> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("terravox-net")
        .enable_all()
        .build()
        .map_err(|error| ClientError::no_thread(&error))?;
    Ok(RUNTIME.get_or_init(|| made))
}

fn open(
    runtime: &Runtime,
    address: &WorldAddress,
    options: &ClientOptions,
) -> Result<OpenLink, ClientError> {
    let opening = async {
        let found = tokio::net::lookup_host((address.host.as_str(), address.port)).await;
        let found: Vec<SocketAddr> = found.map_err(ClientError::transient)?.collect();
        match address.transport {
            Transport::Quic => open_quic(address, &found, options).await,
            Transport::WebSocket => open_web_socket(address, &found, options).await,
        }
    };
    let opened = runtime.block_on(async { timeout(IO_TIMEOUT, opening).await });
    let opened = opened.unwrap_or_else(|_| Err(ClientError::transient("no answer within 10 s")));
    opened.map_err(|error| error.at(address))
}

/// Connects to all addresses of a name, and keeps the first connection that succeeds.
async fn open_quic(
    address: &WorldAddress,
    found: &[SocketAddr],
    options: &ClientOptions,
) -> Result<OpenLink, ClientError> {
    let is_local = found.iter().all(|at| at.ip().is_loopback());
    if !is_local && options.fingerprint.is_none() {
        let what = "give the fingerprint of the server, which it prints at its start";
        return Err(ClientError::new(what));
    }
    let attempts: Vec<_> =
        found.iter().map(|&at| Box::pin(connect_quic(at, options.fingerprint))).collect();
    if attempts.is_empty() {
        return Err(ClientError::transient("the name has no address"));
    }
    let ((endpoint, connection), _) = select_ok(attempts).await?;
    let (mut send, mut receive) = connection.open_bi().await.map_err(quic_error)?;
    let name = VecDeque::from([address.world.clone().into_bytes()]);
    send.write_all(&quic::framed(&name)).await.map_err(ClientError::transient)?;
    let link = Arc::new(Link::new(connection.remote_address().ip()));
    let carried = link.clone();
    let socket = tokio::spawn(async move {
        quic::carry(&carried.to_world, &carried.to_peer, &mut send, &mut receive, || {}).await;
        if !carried.is_gone()
            && let Ok(ConnectionError::ApplicationClosed(close)) =
                timeout(CLOSE_TIMEOUT, connection.closed()).await
        {
            carried.close_with_reason(&String::from_utf8_lossy(&close.reason));
        }
        carried.hang_up();
        connection.close(0_u32.into(), b"");
        endpoint.wait_idle().await;
    });
    Ok(OpenLink { link, socket })
}

async fn connect_quic(
    at: SocketAddr,
    fingerprint: Option<Fingerprint>,
) -> Result<(Endpoint, Connection), ClientError> {
    let own: IpAddr = match at {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let mut endpoint = Endpoint::client(SocketAddr::new(own, 0)).map_err(ClientError::transient)?;
    let config = quic::client_config(fingerprint).map_err(ClientError::new)?;
    endpoint.set_default_client_config(config);
    let connecting = endpoint.connect(at, "localhost").map_err(ClientError::new)?;
    let connection = tokio::select! {
        connected = connecting => connected.map_err(quic_error)?,
        () = port_refuses(at) => return Err(nothing_listens(at.port())),
    };
    Ok((endpoint, connection))
}

/// Returns once the machine reports that the port is unreachable; never returns if it does not.
/// QUIC itself would notice only the silence, after 10 s.
async fn port_refuses(at: SocketAddr) {
    let probe = async || -> std::io::Result<()> {
        let own: IpAddr = match at {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind(SocketAddr::new(own, 0)).await?;
        socket.connect(at).await?;
        // Not a QUIC packet, so a server drops it.
        socket.send(&[0]).await?;
        socket.recv(&mut [0]).await.map(drop)
    };
    match probe().await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
        _ => std::future::pending().await,
    }
}

fn nothing_listens(port: u16) -> ClientError {
    let port = if port == DEFAULT_PORT { String::new() } else { format!(" --port {port}") };
    let advice = format!("start a server with: terravox serve WORLD{port}");
    ClientError::transient("nothing listens there").with_advice(advice)
}

/// Why there is no connection over TCP to a port.
fn tcp_error(error: std::io::Error, port: u16) -> ClientError {
    match error.kind() {
        ErrorKind::ConnectionRefused => nothing_listens(port),
        _ => ClientError::transient(error),
    }
}

fn quic_error(error: ConnectionError) -> ClientError {
    match error {
        ConnectionError::TransportError(_) | ConnectionError::VersionMismatch => {
            ClientError::new(format!("it is not the expected server: {error}"))
        }
        ConnectionError::ApplicationClosed(close) => {
            ClientError::new(String::from_utf8_lossy(&close.reason))
        }
        ConnectionError::ConnectionClosed(_) => {
            ClientError::transient("the server has too many connections")
        }
        error => ClientError::transient(error),
    }
}

/// A path with the name of a world, if it has one.
fn path_of(what: &str, world: &str) -> String {
    match world.is_empty() {
        true => format!("/{what}"),
        false => format!("/{what}/{}", utf8_percent_encode(world, NON_ALPHANUMERIC)),
    }
}

/// Sends a request to a server on this machine. Returns the text of the response, or why there is
/// none.
async fn ask(
    method: Method,
    address: &WorldAddress,
    path: String,
    token: &[u8],
) -> Result<String, ClientError> {
    let host = (address.host.as_str(), address.port);
    let connected = timeout(IO_TIMEOUT, TcpStream::connect(host)).await;
    let stream = connected
        .map_err(|_| ClientError::transient("no answer within 10 s"))?
        .map_err(|error| tcp_error(error, address.port))?;
    let peer = stream.peer_addr().map_err(ClientError::transient)?;
    if !peer.ip().to_canonical().is_loopback() {
        let what = "ask on the machine of the server: the token would travel unencrypted";
        return Err(ClientError::new(what));
    }
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(ClientError::transient)?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, address.authority())
        .header(AUTHORIZATION, [b"Bearer ", token].concat())
        .body(Body::empty())
        .map_err(ClientError::new)?;
    let response = sender.send_request(request).await.map_err(ClientError::undecided)?;
    let status = response.status();
    let body = to_bytes(Body::new(response.into_body()), MAX_RESPONSE).await;
    let body = body.map_err(ClientError::undecided)?;
    let text = String::from_utf8_lossy(&body).trim_end().to_owned();
    if status.is_success() { Ok(text) } else { Err(refused(status, text)) }
}

/// Returns the error of a response that is not a success.
fn refused(status: StatusCode, line: String) -> ClientError {
    let line = if line.is_empty() { status.to_string() } else { line };
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => ClientError::transient(line),
        _ => ClientError::new(line),
    }
}

async fn open_web_socket(
    address: &WorldAddress,
    found: &[SocketAddr],
    options: &ClientOptions,
) -> Result<OpenLink, ClientError> {
    let is_local = found.iter().all(|at| at.ip().is_loopback());
    if !is_local && !options.token.is_empty() {
        let what = "over ws:// anyone on the way could read the token; use QUIC (without ws://)";
        return Err(ClientError::new(what));
    }
    let at = WorldAddress { world: String::new(), ..address.clone() };
    let path = path_of("link", &address.world);
    let config = WebSocketConfig::default()
        .read_buffer_size(link::READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(link::MAX_WRITE_BUFFER)
        .max_message_size(Some(Guest::MAX_PACKET_BYTES))
        .max_frame_size(Some(Guest::MAX_PACKET_BYTES));
    let url = format!("{at}{path}");
    // To the addresses that were checked above: by now the name may resolve to another machine.
    let stream = TcpStream::connect(found).await.map_err(|error| tcp_error(error, address.port))?;
    // A packet does not wait for the acknowledgement of the one before. Best effort.
    let _ = stream.set_nodelay(true);
    let connected = client_async_with_config(url, stream, Some(config)).await;
    let (stream, _) = connected.map_err(|error| match error {
        tungstenite::Error::Http(response) => {
            let body = response.body().clone().unwrap_or_default();
            refused(response.status(), String::from_utf8_lossy(&body).trim_end().to_owned())
        }
        tungstenite::Error::Io(error) => tcp_error(error, address.port),
        error => ClientError::transient(error),
    })?;
    let link = Arc::new(Link::new(Ipv4Addr::LOCALHOST.into()));
    let carried = link.clone();
    let socket = tokio::spawn(async move {
        let (send, receive) = stream.split();
        let read = |message| match message {
            Message::Binary(packet) => Some(packet.to_vec()),
            Message::Ping(_) | Message::Pong(_) => Some(Vec::new()),
            Message::Close(Some(frame)) => {
                carried.close_with_reason(&frame.reason);
                None
            }
            _ => None,
        };
        let (outgoing, incoming) = (&carried.to_world, &carried.to_peer);
        link::carry_messages(outgoing, incoming, send, receive, read, || {}).await;
        carried.hang_up();
    });
    Ok(OpenLink { link, socket })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_shown_without_the_token() {
        let options = ClientOptions { token: b"shovel".to_vec(), fingerprint: None };
        let shown = format!("{options:?}");
        assert_eq!(shown, "ClientOptions { token: 6 bytes, fingerprint: None }");
    }
}
