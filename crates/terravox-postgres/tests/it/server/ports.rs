//! Ports for servers that tests start.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port of this machine that is free for TCP and UDP. Systems give connections that go out ports
/// above all of these, and tests look at different ones: it is free still when a server that takes
/// seconds to start takes it, and when that server is killed and starts again.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number =
            NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id().wrapping_mul(97) % 20_000;
        let port = 10_000 + (number % 20_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok()
            && UdpSocket::bind(("127.0.0.1", port)).is_ok()
        {
            return port;
        }
    }
}
