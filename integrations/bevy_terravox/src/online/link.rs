//! The connection of a guest: threads connect, since that blocks for up to ten seconds.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bevy::platform::cell::SyncCell;
use terravox_server::{Client, ClientError, ClientOptions, WorldAddress};

/// Delay before reconnecting: initial and maximum (up to half more or less). It doubles with each attempt;
/// the random part keeps players from connecting all at once when a server comes back.
const RETRY: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(15)];

/// The client while there is a connection.
pub(super) type SharedClient = Arc<Mutex<Option<Client>>>;

/// A connection, or an attempt at one.
pub(super) struct GuestLink {
    client: SharedClient,
    /// Threads connect for as long as this is there: jobs of the terrain hold the client for longer.
    alive: Arc<()>,
    /// Whether the process may end soon: then no thread is left to tell the server.
    is_last: bool,
    send: Sender<ClientError>,
    receive: SyncCell<Receiver<ClientError>>,
}

/// What a thread needs to hand a client over.
struct Handover {
    client: Weak<Mutex<Option<Client>>>,
    alive: Weak<()>,
    send: Sender<ClientError>,
}

impl GuestLink {
    /// Begins to connect.
    pub fn connect(address: WorldAddress, options: ClientOptions) -> GuestLink {
        let (send, receive) = channel();
        let (client, alive) = Default::default();
        let receive = SyncCell::new(receive);
        let link = GuestLink { client, alive, is_last: false, send, receive };
        let to = link.handover();
        link.spawn(move || match Client::connect(&address, options) {
            Ok(connected) => to.hand_over(connected),
            Err(error) => drop(to.send.send(error)),
        });
        link
    }

    /// Takes the client away and connects it again, until that works or fails for good, or the
    /// link is dropped. Edits without a reply are not repeated.
    pub fn reconnect(&mut self) {
        let Some(mut gone) = lock(&self.client).take() else { return };
        let to = self.handover();
        self.spawn(move || {
            let mut pause = RETRY[0];
            while to.alive.strong_count() > 0 {
                // Also before the first attempt: a server may take each connection and end it.
                thread::sleep(pause.mul_f64(0.5 + spread()));
                pause = RETRY[1].min(2 * pause);
                match gone.reconnect() {
                    Ok(_) => return to.hand_over(gone),
                    Err(error) if error.is_transient() => {}
                    Err(error) => return drop(to.send.send(error)),
                }
            }
        });
    }

    /// Drops the connection.
    pub fn end(&mut self) {
        if let Some(gone) = lock(&self.client).take() {
            // It waits until the server has been told.
            self.spawn(move || drop(gone));
        }
    }

    /// From now on, dropping the link waits up to a tenth of a second until the server has been told.
    pub fn wait_at_end(&mut self) {
        self.is_last = true;
    }

    /// Returns why a thread ended without a connection.
    pub fn failure(&mut self) -> Option<ClientError> {
        self.receive.get().try_recv().ok()
    }

    pub fn client(&self) -> &SharedClient {
        &self.client
    }

    /// Runs something on a thread of its own. Where there is none to be had, the game is told.
    fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        let spawned = thread::Builder::new().name("terravox-join".into()).spawn(work);
        if let Err(error) = spawned {
            let _ = self.send.send(ClientError::no_thread(&error));
        }
    }

    fn handover(&self) -> Handover {
        let (client, alive) = (Arc::downgrade(&self.client), Arc::downgrade(&self.alive));
        Handover { client, alive, send: self.send.clone() }
    }
}

impl Drop for GuestLink {
    fn drop(&mut self) {
        // Before the client is taken: none is handed over afterwards.
        self.alive = Arc::default();
        if self.is_last {
            let gone = lock(&self.client).take();
            return drop(gone);
        }
        self.end();
    }
}

impl Handover {
    /// Hands a connected client over, unless the link is gone: then it leaves the server.
    fn hand_over(&self, connected: Client) {
        let Some(client) = self.client.upgrade() else { return };
        let mut place = lock(&client);
        if self.alive.strong_count() > 0 {
            *place = Some(connected);
        }
    }
}

/// A number from 0 to 1, another one each time.
fn spread() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    random as f64 / u64::MAX as f64
}

pub(super) fn lock(client: &Mutex<Option<Client>>) -> MutexGuard<'_, Option<Client>> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}
