//! The connection of a guest: threads connect, since that blocks for up to ten seconds.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bevy::platform::cell::SyncCell;
use terravox::edit::EditOp;
use terravox_server::{Client, ClientError, ClientOptions, WorldAddress};

/// Between two attempts to connect again.
const RETRY: Duration = Duration::from_millis(500);

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
        spawn(move || {
            let outcome = Client::connect(&address, options).map(|connected| {
                put(&client, connected);
                Vec::new()
            });
            let _ = send.send(outcome);
        });
        link
    }

    /// Takes the client away and connects it again, until that works or fails for good, or the
    /// link is dropped.
    pub fn reconnect(&mut self) {
        let Some(mut gone) = lock(&self.client).take() else { return };
        let (client, send) = self.for_thread();
        spawn(move || {
            while client.strong_count() > 0 {
                // Also before the first attempt: a server may take each connection and end it.
                thread::sleep(RETRY);
                match gone.reconnect() {
                    Ok(lost) => {
                        put(&client, gone);
                        let _ = send.send(Ok(lost));
                        return;
                    }
                    Err(error) if error.is_transient() => {}
                    Err(error) => {
                        let _ = send.send(Err(error));
                        return;
                    }
                }
            }
        });
    }

    /// Drops the connection.
    pub fn end(&mut self) {
        let gone = lock(&self.client).take();
        // It waits until the server has been told.
        spawn(move || drop(gone));
    }

    /// What a thread said since the last call.
    pub fn news(&mut self) -> Option<Outcome> {
        self.receive.get().try_recv().ok()
    }

    pub fn client(&self) -> &SharedClient {
        &self.client
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

/// Hands a connected client over, unless the link is gone: then it leaves the server.
fn put(link: &Weak<Mutex<Option<Client>>>, connected: Client) {
    if let Some(client) = link.upgrade() {
        *lock(&client) = Some(connected);
    }
}

pub(super) fn lock(client: &Mutex<Option<Client>>) -> MutexGuard<'_, Option<Client>> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    let spawned = thread::Builder::new().name("terravox-join".into()).spawn(work);
    if let Err(error) = spawned {
        bevy::log::error!("no thread for a connection: {error}");
    }
}
