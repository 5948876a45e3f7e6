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
    /// The address to listen on.
    pub address: IpAddr,
    /// The port: UDP for QUIC, TCP for HTTP. 0: any that are free, which may differ.
    pub port: u16,
    /// Who may do what; must not be open on an address other than loopback.
    pub access: AccessList,
    /// What guests may cost; the generator is that of each world.
    pub host: HostOptions,
    /// Maximum number of connections; each counts from when it is accepted.
    pub max_connections: usize,
    /// Maximum number of connections from one address. Behind a proxy, all have its address.
    pub max_connections_per_address: usize,
    /// How long a handshake, a request and a greeting may take, and how long a guest may take
    /// nothing of what is sent to it; for that, more than 10 s make no difference.
    pub patience: Duration,
    /// Whether pieces that edits cut loose fall, and become ground where they come to rest. Pieces
    /// of fewer than 3 or more than 32,768 cells, or over more than five chunks along an axis,
    /// stay.
    pub pieces_fall: bool,
    /// The folder of the certificate. Both are made on the first start.
    pub certificate_folder: PathBuf,
    /// The folder of backups, which has to be there.
    pub backup_folder: PathBuf,
    /// Bytes of memory, and of the file, for who changed what in each world; beyond, the oldest
    /// edits are dropped. 0: no edit is kept.
    pub journal_bytes: usize,
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
        }
    }
}
