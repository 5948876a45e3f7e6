//! A network that fails: when it hurts most, while a writer's commit is under way, or all of it for
//! a while.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to the next commit of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accident {
    /// The connection breaks before the server has it.
    CutBefore,
    /// The connection breaks when the server has done it, before the answer.
    CutAfter,
    /// It arrives late.
    Delay(Duration),
}

/// What the network does for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Up,
    /// It holds what is sent, in both directions, and passes it on later.
    Stalled,
    /// Connections break, and new ones are not made.
    Down,
}

/// Between two looks at the network while it holds bytes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Time for the server to commit.
const COMMIT_TIME: Duration = Duration::from_millis(40);

/// What the connections share.
struct Shared {
    next: Mutex<Option<Accident>>,
    /// What the request has before which the network stalls.
    trap: Mutex<Vec<Vec<u8>>>,
    network: Mutex<Network>,
    /// Those that are open.
    streams: Mutex<Vec<TcpStream>>,
}

impl Shared {
    /// Waits while the network is stalled; whether it is up then.
    fn passes(&self) -> bool {
        loop {
            match *self.network.lock().unwrap() {
                Network::Up => return true,
                Network::Down => return false,
                Network::Stalled => {}
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Keeps a stream, to break it; `false` if the network is down.
    fn keep(&self, streams: [&TcpStream; 2]) -> bool {
        let mut open = self.streams.lock().unwrap();
        open.retain(|stream| stream.peer_addr().is_ok());
        open.extend(streams.map(|stream| stream.try_clone().unwrap()));
        *self.network.lock().unwrap() != Network::Down
    }
}

/// Passes connections on to a server. It ends with the process.
pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    pub fn start(server_port: u16) -> Proxy {
        Proxy::far(server_port, Duration::ZERO)
    }

    /// A server that is far away: a round trip takes so long.
    pub fn far(server_port: u16, round_trip: Duration) -> Proxy {
        Proxy::with_line(server_port, round_trip, f64::INFINITY)
    }

    /// A server behind a line that carries so many bytes a second, in each direction.
    pub fn slow(server_port: u16, speed: f64) -> Proxy {
        Proxy::with_line(server_port, Duration::ZERO, speed)
    }

    fn with_line(server_port: u16, round_trip: Duration, speed: f64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (next, network, streams) =
            (Mutex::new(None), Mutex::new(Network::Up), Mutex::new(Vec::new()));
        let trap = Mutex::default();
        let shared = Arc::new(Shared { next, trap, network, streams });
        let kept = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server the client sees a connection that closes.
                let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) else { continue };
                if !kept.keep([&client, &server]) {
                    close(&client, &server);
                    continue;
                }
                let (back_from, back_to) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                let shared = kept.clone();
                thread::spawn(move || pass(back_from, back_to, speed, &shared));
                let shared = kept.clone();
                thread::spawn(move || pass_requests(client, server, (round_trip, speed), &shared));
            }
        });
        Proxy { port, shared }
    }

    /// Arranges an accident for the next commit of a writer.
    pub fn arrange(&self, accident: Accident) {
        *self.shared.next.lock().unwrap() = Some(accident);
    }

    /// Whether the accident has not happened yet.
    pub fn is_armed(&self) -> bool {
        self.shared.next.lock().unwrap().is_some()
    }

    /// Lets the network stall when something is sent that has all of these bytes, before the server has
    /// it.
    pub fn stall_before(&self, parts: &[&[u8]]) {
        *self.shared.trap.lock().unwrap() = parts.iter().map(|part| part.to_vec()).collect();
    }

    /// Whether that was not sent yet.
    pub fn is_trap_set(&self) -> bool {
        !self.shared.trap.lock().unwrap().is_empty()
    }

    /// Lets the network fail, or be up again.
    pub fn set(&self, network: Network) {
        // Held, so that no connection is made meanwhile that nothing breaks.
        let mut open = self.shared.streams.lock().unwrap();
        *self.shared.network.lock().unwrap() = network;
        if network == Network::Down {
            for stream in open.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Passes bytes on until one side is closed.
fn pass(mut from: TcpStream, mut to: TcpStream, speed: f64, shared: &Shared) {
    let mut bytes = [0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        thread::sleep(Duration::from_secs_f64(length as f64 / speed));
        if !shared.passes() || to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    close(&from, &to);
}

fn close(a: &TcpStream, b: &TcpStream) {
    for stream in [a, b] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn pass_requests(
    mut client: TcpStream,
    mut server: TcpStream,
    (round_trip, speed): (Duration, f64),
    shared: &Shared,
) {
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    let (mut bytes, mut is_writer) = ([0; 1 << 16], false);
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let sent = &bytes[..length];
        thread::sleep(round_trip + Duration::from_secs_f64(length as f64 / speed));
        let mut trap = shared.trap.lock().unwrap();
        if !trap.is_empty() && trap.iter().all(|part| has(sent, part)) {
            *shared.network.lock().unwrap() = Network::Stalled;
            trap.clear();
        }
        drop(trap);
        // Saves, and claims of columns.
        is_writer |= has(sent, b"insert into terravox_log")
            || has(sent, b"set epoch = terravox_zones.epoch + 1, owner = $3::text");
        let is_commit = is_writer && has(sent, b"commit\0");
        let accident = if is_commit { shared.next.lock().unwrap().take() } else { None };
        match accident {
            Some(Accident::CutBefore) => break,
            Some(Accident::CutAfter) => {
                // The answer is read by the other thread, which finds the client gone.
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.write_all(sent);
                thread::sleep(COMMIT_TIME);
                break;
            }
            Some(Accident::Delay(time)) => thread::sleep(time),
            None => {}
        }
        if !shared.passes() || server.write_all(sent).is_err() {
            break;
        }
    }
    close(&client, &server);
}
