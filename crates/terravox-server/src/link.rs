//! A connection between a socket and a world: a bounded queue of packets each way.

use crate::connections::Pass;
use crate::server_reason::{SILENT, TOO_SLOW};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Bytes of packets that wait, each way. The socket is not read while more wait for the world, and
/// the world makes no more while more wait for the socket.
pub(crate) const MAX_QUEUED: usize = 64 << 10;

/// Maximum number of bytes that wait in a WebSocket for its socket: some packets, and responses to
/// pings.
pub(crate) const MAX_WRITE_BUFFER: usize = 256 << 10;

/// Bytes that a WebSocket reads at once, which it holds from the start: some packets.
pub(crate) const READ_BUFFER: usize = 4 << 10;

/// Maximum number of pings and empty packets within [`KEEP_ALIVE`]: a flood of them would cost too
/// much work.
const MAX_SIGNS: u32 = 64;

/// Bytes that a waiting packet counts in addition to its own.
const PACKET_OVERHEAD: usize = 64;

/// How long a write may take; by default also a handshake, a request and a greeting.
pub(crate) const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Without anything to send for this long, an empty packet is sent.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// A peer from which nothing arrives for this long, not even an empty packet, is gone.
const MAX_SILENCE: Duration = Duration::from_secs(7);

/// Packets that wait for one side.
#[derive(Default)]
pub(crate) struct PacketQueue {
    state: Mutex<QueuedPackets>,
    /// Wakes the one task that waits: for room, or for packets.
    changed: Notify,
}

#[derive(Default)]
struct QueuedPackets {
    packets: VecDeque<Vec<u8>>,
    bytes: usize,
    is_closed: bool,
}

impl PacketQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedPackets> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_room(&self) -> bool {
        self.lock().bytes < MAX_QUEUED
    }

    pub fn is_empty(&self) -> bool {
        self.lock().packets.is_empty()
    }

    /// Adds a packet, unless the queue is closed.
    pub fn push(&self, packet: Vec<u8>) {
        let mut state = self.lock();
        if !state.is_closed {
            state.bytes += packet.len() + PACKET_OVERHEAD;
            state.packets.push_back(packet);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Waits until there is room; false if the queue is closed.
    pub async fn room(&self) -> bool {
        loop {
            {
                let state = self.lock();
                if state.is_closed {
                    return false;
                }
                if state.bytes < MAX_QUEUED {
                    return true;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Takes all packets that wait.
    pub fn take(&self) -> VecDeque<Vec<u8>> {
        let mut state = self.lock();
        state.bytes = 0;
        let packets = std::mem::take(&mut state.packets);
        drop(state);
        self.changed.notify_one();
        packets
    }

    /// Waits for packets and takes them; `None` if there will be no more.
    pub async fn wait(&self) -> Option<VecDeque<Vec<u8>>> {
        loop {
            {
                let mut state = self.lock();
                if !state.packets.is_empty() {
                    state.bytes = 0;
                    return Some(std::mem::take(&mut state.packets));
                }
                if state.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Takes no more packets; those that wait can still be taken.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }
}

/// A connection, which a world and the tasks of a socket share.
pub(crate) struct Link {
    pub peer: IpAddr,
    /// Of a server's, while its socket is there.
    pass: Weak<Pass>,
    pub to_world: PacketQueue,
    pub to_peer: PacketQueue,
    /// Whether the socket is gone.
    is_gone: AtomicBool,
    /// Why the world ended the connection.
    reason: OnceLock<String>,
}

impl Link {
    /// A client's.
    pub fn new(peer: IpAddr) -> Link {
        Link {
            peer,
            pass: Weak::new(),
            to_world: PacketQueue::default(),
            to_peer: PacketQueue::default(),
            is_gone: AtomicBool::new(false),
            reason: OnceLock::new(),
        }
    }

    /// A server's. The pass is not kept: it ends with the socket.
    pub fn with_pass(pass: &Arc<Pass>) -> Link {
        Link { pass: Arc::downgrade(pass), ..Link::new(pass.peer()) }
    }

    /// Called by the world when it lets the guest in.
    pub fn note_let_in(&self) {
        self.pass.upgrade().iter().for_each(|pass| pass.let_in());
    }

    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// Called by the tasks of the socket when that ended.
    pub fn hang_up(&self) {
        self.is_gone.store(true, Ordering::Release);
        self.to_world.close();
        self.to_peer.close();
    }

    /// Called by the world: what waits is still sent, then the socket is closed with the reason.
    pub fn close_with_reason(&self, reason: &str) {
        // The first reason is the cause.
        let _ = self.reason.set(reason.to_owned());
        self.to_world.close();
        self.to_peer.close();
    }

    /// Why the connection ended, for the peer.
    pub fn reason(&self) -> &str {
        self.reason.get().map_or("", String::as_str)
    }
}

/// Carries packets between queues and a socket, until there are no more to be sent or the peer is
/// gone. Empty packets are keep-alives, by whose absence a pulled cable is noticed. `wake` is
/// called when there is something new for the owner of the queues. Returns why this side ends the
/// connection; empty if the owner of the queues or the peer ended it.
pub(crate) async fn carry(
    outgoing: &PacketQueue,
    incoming: &PacketQueue,
    sink: impl Sink<VecDeque<Vec<u8>>>,
    stream: impl Stream<Item = Vec<u8>>,
    wake: impl Fn(),
) -> &'static str {
    let (mut sink, mut stream) = (pin!(sink), pin!(stream));
    let reading = async {
        let (mut signs, mut since) = (0, Instant::now());
        while incoming.room().await {
            let packet = match timeout(MAX_SILENCE, stream.next()).await {
                Ok(Some(packet)) => packet,
                Ok(None) => return "",
                Err(_) => return SILENT,
            };
            if !packet.is_empty() {
                incoming.push(packet);
                wake();
                continue;
            }
            if since.elapsed() > KEEP_ALIVE {
                (signs, since) = (0, Instant::now());
            }
            signs += 1;
            if signs > MAX_SIGNS {
                return "too many pings";
            }
        }
        // What is queued is still sent.
        std::future::pending().await
    };
    let writing = async {
        loop {
            let packets = match timeout(KEEP_ALIVE, outgoing.wait()).await {
                Ok(Some(packets)) => {
                    wake();
                    packets
                }
                Ok(None) => return "",
                Err(_) => VecDeque::from([Vec::new()]),
            };
            match timeout(IO_TIMEOUT, sink.send(packets)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return "",
                Err(_) => return TOO_SLOW,
            }
        }
    };
    tokio::select! {
        reason = reading => reason,
        reason = writing => reason,
    }
}

/// Carries packets over a WebSocket, one in each binary message, as [`carry`]. `read` returns the
/// packet of a message, empty if it has none; `None` if it ends the connection.
pub(crate) async fn carry_messages<M: From<Vec<u8>>, S: Sink<M>, E>(
    outgoing: &PacketQueue,
    incoming: &PacketQueue,
    sink: S,
    stream: impl Stream<Item = Result<M, E>>,
    read: impl Fn(M) -> Option<Vec<u8>>,
    wake: impl Fn(),
) -> &'static str {
    let messages = |packets: VecDeque<Vec<u8>>| {
        futures_util::stream::iter(
            packets.into_iter().map(|packet| Ok::<M, S::Error>(M::from(packet))),
        )
    };
    let packets = stream
        .map(|message| message.ok().and_then(&read))
        .take_while(|read| std::future::ready(read.is_some()))
        .filter_map(std::future::ready);
    carry(outgoing, incoming, sink.with_flat_map(messages), packets, wake).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_queue_has_room_again_after_it_was_taken() {
        let queue = PacketQueue::default();
        while queue.has_room() {
            queue.push(vec![0; 1200]);
        }
        let waiting = queue.room();
        let taking = async { queue.take().len() };
        let (has_room, taken) = tokio::join!(waiting, taking);
        assert!(has_room && taken == MAX_QUEUED.div_ceil(1200 + PACKET_OVERHEAD));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_gives_no_sign_of_life_is_gone_and_one_that_does_is_not() {
        let [outgoing, incoming] = [(), ()].map(|()| PacketQueue::default());
        let sink = || futures_util::sink::drain().sink_map_err(drop);
        let start = tokio::time::Instant::now();
        let silent = futures_util::stream::pending();
        assert_eq!(carry(&outgoing, &incoming, sink(), silent, || {}).await, SILENT);
        assert_eq!(start.elapsed(), MAX_SILENCE);
        let living = futures_util::stream::unfold(0, |count| async move {
            tokio::time::sleep(KEEP_ALIVE).await;
            (count < 100).then_some((Vec::new(), count + 1))
        });
        let start = tokio::time::Instant::now();
        assert_eq!(carry(&outgoing, &incoming, sink(), living, || {}).await, "", "it left");
        assert!(start.elapsed() >= 100 * KEEP_ALIVE && incoming.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_signs_of_life_ends_the_link() {
        let [outgoing, incoming] = [(), ()].map(|()| PacketQueue::default());
        let sink = futures_util::sink::drain().sink_map_err(drop);
        let start = tokio::time::Instant::now();
        let flood = futures_util::stream::repeat(Vec::new());
        assert_eq!(carry(&outgoing, &incoming, sink, flood, || {}).await, "too many pings");
        assert!(start.elapsed() < KEEP_ALIVE && incoming.is_empty());
    }

    #[tokio::test]
    async fn what_waits_in_a_closed_queue_is_still_taken_then_it_ends() {
        let queue = PacketQueue::default();
        queue.push(vec![1]);
        queue.close();
        queue.push(vec![2]);
        assert_eq!(queue.wait().await, Some(VecDeque::from([vec![1]])));
        assert_eq!(queue.wait().await, None);
        assert!(!queue.room().await);
    }
}
