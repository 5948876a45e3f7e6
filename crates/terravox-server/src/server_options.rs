//! Options of a server.

use crate::access::AccessList;
use crate::address::DEFAULT_PORT;
use crate::link::IO_TIMEOUT;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;
use terravox::replicate::HostOptions;

/// Options of a [`Server`](crate::Server).
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address to listen on, 127.0.0.1 by default.
    pub address: IpAddr,
    /// The port, 4077 by default: UDP for QUIC, TCP for HTTP and WebSocket. With 0, both are any free ports, which
    /// may differ.
    pub port: u16,
    /// Who may do what. Without tokens, `address` must be loopback.
    pub access: AccessList,
    /// What guests may cost. `generator` is ignored: each world has its own.
    pub host: HostOptions,
    /// Maximum number of connections, counted from when they are accepted. 1,024 by default. At
    /// most half of them may be of peers that have not been let in to a world.
    pub max_connections: usize,
    /// Maximum number of connections from one address, 256 by default. Behind a proxy, all have its address.
    pub max_connections_per_address: usize,
    /// How long a handshake, a request or a greeting may take, and how long a guest may leave
    /// unread what is sent to it; 10 s by default. For the latter, values above 10 s count as 10 s.
    pub patience: Duration,
    /// Whether pieces that edits cut loose fall, and become ground where they come to rest. Pieces
    /// of fewer than 3 or more than 32,768 cells, or that span more than five chunks along an axis,
    /// stay.
    pub pieces_fall: bool,
    /// The folder of the certificate. Folder and certificate are made on the first start.
    pub certificate_folder: PathBuf,
    /// The folder of backups, which must exist.
    pub backup_folder: PathBuf,
    /// Maximum size of the journal of each world in bytes, in memory and in the file; 64 MiB by
    /// default. When it is
    /// full, the oldest edits of the author with the most data lose their previous cells first.
    /// With 0, no edits are kept.
    pub journal_bytes: usize,
    /// Chunks of a world that may be unsaved before its guests' operations are refused, until some
    /// are saved; 65,536 by default, of up to 64 KiB each. So many wait only if saves fail, such as
    /// on a full disk.
    pub max_unsaved_chunks: usize,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: DEFAULT_PORT,
            access: AccessList::default(),
            host: HostOptions::default(),
            max_connections: 1024,
            max_connections_per_address: 256,
            patience: IO_TIMEOUT,
            pieces_fall: true,
            certificate_folder: PathBuf::from("."),
            backup_folder: PathBuf::from("."),
            journal_bytes: 64 << 20,
            max_unsaved_chunks: 1 << 16,
        }
    }
}
