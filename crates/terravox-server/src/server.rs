//! The server: sockets, worlds, and their end.

use crate::address::MAX_WORLD_NAME;
use crate::certificate::{Certificate, Fingerprint, fingerprint};
use crate::connections::Connections;
use crate::error::ServerError;
use crate::gate::Gate;
use crate::log::error;
use crate::server_options::ServerOptions;
use crate::ticker;
use crate::world::{RunningWorld, ServedWorld};
use crate::{http, quic};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use terravox::voxel::{MAX_FAR_MIP, MAX_MIP};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// How long connections may take to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server. Dropping it, or [`Server::stop`], saves all worlds.
pub struct Server {
    worlds: Vec<(Arc<RunningWorld>, JoinHandle<bool>)>,
    /// The threads of the sockets, and what these share; gone at the end.
    net: Option<(Runtime, Arc<Gate>)>,
    /// The tasks that accept connections.
    listeners: Vec<AbortHandle>,
    /// Ends [`Server::run`].
    ended: Arc<Notify>,
    quic: SocketAddr,
    http: SocketAddr,
    fingerprint: Fingerprint,
}

impl Server {
    /// Begins to serve worlds; the first is that of addresses without a name.
    ///
    /// # Errors
    /// If there is no world, a name is invalid or there twice, a world grows and has no generator,
    /// the address is not loopback and there are no tokens, there is no folder of backups, a world or
    /// the certificate cannot be read, a world cannot be written before it is repaired, or the port is
    /// taken.
    pub fn start(served: Vec<ServedWorld>, options: ServerOptions) -> Result<Server, ServerError> {
        check(&served, &options)?;
        let certificate = Certificate::in_folder(&options.certificate_folder)?;
        let fingerprint = fingerprint(&certificate.chain);
        let config = quic::server_config(certificate)?;
        let at = SocketAddr::new(options.address, options.port);
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| match error.kind() {
                std::io::ErrorKind::AddrInUse => ServerError::new(format!(
                    "{what} {at} is in use by another program; choose another port, or 0 for any"
                )),
                _ => ServerError::new(format!("{what} {at}: {error}")),
            }
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("terravox-net")
            .enable_all()
            .build()
            .map_err(failed("no threads for"))?;
        // First the ports: a second server on the same one must not start the worlds.
        let listener = runtime.block_on(TcpListener::bind(at)).map_err(failed("TCP"))?;
        let entered = runtime.enter();
        let endpoint = quinn::Endpoint::server(config, at).map_err(failed("UDP"))?;
        drop(entered);
        let mut server = Server {
            worlds: Vec::new(),
            net: None,
            listeners: Vec::new(),
            ended: Arc::default(),
            quic: endpoint.local_addr().map_err(failed("UDP"))?,
            http: listener.local_addr().map_err(failed("TCP"))?,
            fingerprint,
        };
        for world in served {
            // On an error, the worlds that have started end.
            let started = ticker::start(world, &options);
            server.worlds.push(started.map_err(|error| ServerError::new(error.to_string()))?);
        }
        let worlds: Vec<_> = server.worlds.iter().map(|world| world.0.clone()).collect();
        let gate = Arc::new(Gate {
            // Nothing falls in worlds that servers share.
            pieces_fall: options.pieces_fall && worlds.iter().all(|world| world.columns.is_none()),
            worlds,
            access: options.access,
            patience: options.patience,
            backup_folder: options.backup_folder,
            connections: Connections::new(
                options.max_connections,
                options.max_connections_per_address,
            ),
        });
        server.listeners = vec![
            runtime.spawn(quic::listen(endpoint, gate.clone())).abort_handle(),
            runtime.spawn(http::listen(listener, gate.clone())).abort_handle(),
        ];
        server.net = Some((runtime, gate));
        Ok(server)
    }

    /// Where QUIC is spoken.
    pub fn quic_address(&self) -> SocketAddr {
        self.quic
    }

    /// Where HTTP and WebSocket are spoken.
    pub fn http_address(&self) -> SocketAddr {
        self.http
    }

    /// The SHA-256 digest of the certificate, by which clients know the server.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Returns a function that ends [`Server::run`] as a signal does, for programs that handle signals
    /// themselves. Any thread may call it, also before the server runs.
    pub fn ender(&self) -> impl Fn() + Send + use<> {
        let ended = self.ended.clone();
        move || ended.notify_one()
    }

    /// Serves until the process is told to end, by SIGINT (Ctrl-C), SIGTERM or [`Server::ender`], or
    /// until no world is left: all were taken over by other servers, or stopped by a fault. Then as
    /// [`Server::stop`].
    ///
    /// # Errors
    /// As [`Server::stop`], if no world is left, or if signals cannot be received.
    pub fn run(self) -> Result<(), ServerError> {
        let Some((runtime, _)) = &self.net else { return self.stop() };
        let none_left = async {
            for (world, _) in &self.worlds {
                world.wait_stopped().await;
            }
        };
        let is_told = runtime.block_on(async {
            tokio::select! {
                told = end_signal() => told.map(|()| true),
                () = self.ended.notified() => Ok(true),
                () = none_left => Ok(false),
            }
        });
        let is_told = is_told.map_err(|error| ServerError::new(format!("no signals: {error}")))?;
        self.stop()?;
        match is_told {
            true => Ok(()),
            false => Err(ServerError::new("no world is left to serve; the log says why")),
        }
    }

    /// Ends all connections and saves all worlds.
    ///
    /// # Errors
    /// If a world could not be saved completely: the log says why.
    pub fn stop(mut self) -> Result<(), ServerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), ServerError> {
        let mut unsaved = Vec::new();
        self.listeners.drain(..).for_each(|listener| listener.abort());
        self.worlds.iter().for_each(|world| world.0.end());
        for (world, thread) in self.worlds.drain(..) {
            if !thread.join().unwrap_or(false) {
                unsaved.push(world.name.clone());
            }
        }
        if let Some((runtime, gate)) = self.net.take() {
            // Guests are still to be told why.
            let told = async {
                while gate.connections.count() > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let _ = runtime.block_on(async { tokio::time::timeout(CLOSE_TIMEOUT, told).await });
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
        match unsaved.is_empty() {
            true => Ok(()),
            false => Err(ServerError::new(format!("not saved: {}", unsaved.join(", ")))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            error!("{error}");
        }
    }
}

/// Waits until the process is told to end.
async fn end_signal() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminated.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// Maximum number of bytes of the name of a generator that guests can be sent: `GeneratorId::name`.
const MAX_GENERATOR_NAME: usize = 200;

fn check(served: &[ServedWorld], options: &ServerOptions) -> Result<(), ServerError> {
    let refused = |what: String| Err(ServerError::new(what));
    if served.is_empty() {
        return refused("there is no world to serve".to_owned());
    }
    for (at, world) in served.iter().enumerate() {
        let name = &world.name;
        let is_valid = name.chars().all(|c| c.is_alphanumeric() || "-_. ".contains(c));
        if name.is_empty() || name.len() > MAX_WORLD_NAME || !is_valid {
            return refused(format!(
                "the world's name \"{name}\" is invalid; give 1 to 64 bytes of letters, digits, spaces, -_."
            ));
        }
        if served[..at].iter().any(|other| other.name == *name) {
            return refused(format!("two worlds are called \"{name}\""));
        }
        let info = world.store.info();
        if info.grows() && world.generate.is_none() {
            return refused(format!("the world \"{name}\" grows, and its generator is missing"));
        }
        let bytes = info.generator.as_ref().map_or(0, |generator| generator.name.len());
        if info.grows() && bytes > MAX_GENERATOR_NAME {
            return refused(format!(
                "the generator of the world \"{name}\" has a name of {bytes} bytes; guests can be sent at \
                 most {MAX_GENERATOR_NAME}"
            ));
        }
    }
    served
        .iter()
        .filter(|world| world.share.is_some())
        .try_for_each(|world| check_shared(world, options))?;
    for world in served {
        let most = if world.store.info().grows() { MAX_FAR_MIP } else { MAX_MIP };
        if options.host.max_mip > most {
            return refused(format!(
                "HostOptions::max_mip is {}; at most {most} in the world \"{}\"",
                options.host.max_mip, world.name
            ));
        }
    }
    if !options.backup_folder.is_dir() {
        return refused(format!(
            "ServerOptions::backup_folder is {}; there is no such folder, make it first",
            options.backup_folder.display()
        ));
    }
    if !options.address.is_loopback() && options.access.is_open() {
        return refused(format!(
            "{} can be reached from other machines: add tokens, or listen on 127.0.0.1",
            options.address
        ));
    }
    Ok(())
}

/// Checks a world that several servers share.
fn check_shared(world: &ServedWorld, options: &ServerOptions) -> Result<(), ServerError> {
    let refused = |what: String| Err(ServerError::new(what));
    if !world.store.info().grows() {
        return refused(format!(
            "the world \"{}\" is complete; servers share worlds that grow from a generator: terravox generate FILE --sparse makes \
             one, and terravox copy puts it into a database",
            world.name
        ));
    }
    if options.host.max_mip > MAX_MIP {
        return refused(format!(
            "HostOptions::max_mip is {}; at most {MAX_MIP} in the world \"{}\", which servers share",
            options.host.max_mip, world.name
        ));
    }
    Ok(())
}
