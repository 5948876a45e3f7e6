//! The connection of a guest: threads connect, since that blocks for up to ten seconds.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bevy::platform::cell::SyncCell;
use terravox::edit::EditOp;
use terravox_server::{Client, ClientError, ClientOptions, WorldAddress};

/// Until a link is tried again that broke: at first, and at most. It doubles with each attempt, and differs
/// by up to a half, so that not all players knock at once when a server comes back.
const RETRY: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(15)];

/// The client while there is a connection.
pub(super) type SharedClient = Arc<Mutex<Option<Client>>>;

/// What a thread says when it is done: the operations that the server did not answer over the last
/// connection, or why there is none.
type Outcome = Result<Vec<EditOp>, ClientError>;

/// A connection, or an attempt at one.
pub(super) struct GuestLink {
    client: SharedClient,
    send: Sender<Outcome>,
    receive: SyncCell<Receiver<Outcome>>,
}

impl GuestLink {
    /// Begins to connect.
    pub fn connect(address: WorldAddress, options: ClientOptions) -> GuestLink {
        let (send, receive) = channel();
        let link =
            GuestLink { client: SharedClient::default(), send, receive: SyncCell::new(receive) };
        let (client, send) = link.for_thread();
        link.spawn(move || match Client::connect(&address, options) {
            Ok(connected) => hand_over(&client, &send, connected, Vec::new()),
            Err(error) => drop(send.send(Err(error))),
        });
        link
    }

    /// Takes the client away and connects it again, until that works or fails for good, or the
    /// link is dropped.
    pub fn reconnect(&mut self) {
        let Some(mut gone) = lock(&self.client).take() else { return };
        let (client, send) = self.for_thread();
        self.spawn(move || {
            let mut pause = RETRY[0];
            while client.strong_count() > 0 {
                // Also before the first attempt: a server may take each connection and end it.
                thread::sleep(pause.mul_f64(0.5 + spread()));
                pause = RETRY[1].min(2 * pause);
                match gone.reconnect() {
                    Ok(lost) => return hand_over(&client, &send, gone, lost),
                    Err(error) if error.is_transient() => {}
                    Err(error) => return drop(send.send(Err(error))),
                }
            }
        });
    }

    /// Drops the connection.
    pub fn end(&mut self) {
        let gone = lock(&self.client).take();
        // It waits until the server has been told.
        self.spawn(move || drop(gone));
    }

    /// What a thread said since the last call.
    pub fn news(&mut self) -> Option<Outcome> {
        self.receive.get().try_recv().ok()
    }

    pub fn client(&self) -> &SharedClient {
        &self.client
    }

    /// Runs something on a thread of its own. Where there is none to be had, the game is told.
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let spawned = thread::Builder::new().name("terravox-join".into()).spawn(work);
        if let Err(error) = spawned {
            let _ = self.send.send(Err(ClientError::no_thread(&error)));
        }
    }

    fn for_thread(&self) -> (Weak<Mutex<Option<Client>>>, Sender<Outcome>) {
        (Arc::downgrade(&self.client), self.send.clone())
    }
}

impl Drop for GuestLink {
    fn drop(&mut self) {
        self.end();
    }
}

/// Hands a connected client over, with the operations that the server did not answer, unless the link is
/// gone: then it leaves the server.
fn hand_over(
    link: &Weak<Mutex<Option<Client>>>,
    send: &Sender<Outcome>,
    connected: Client,
    lost: Vec<EditOp>,
) {
    let Some(client) = link.upgrade() else { return };
    let mut place = lock(&client);
    // Before the client can be seen: what is lost is repeated after its welcome.
    let _ = send.send(Ok(lost));
    *place = Some(connected);
}

/// A number from 0 to 1, another one each time.
fn spread() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    random as f64 / u64::MAX as f64
}

pub(super) fn lock(client: &Mutex<Option<Client>>) -> MutexGuard<'_, Option<Client>> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}
