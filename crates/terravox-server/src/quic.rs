//! Packets over QUIC: one stream, in which each packet follows its length.

use crate::address::MAX_WORLD_NAME;
use crate::certificate::{Certificate, Fingerprint, PinnedVerifier};
use crate::connections::Pass;
use crate::error::ServerError;
use crate::gate::Gate;
use crate::link::{self, Link, PacketQueue};
use futures_util::{sink, stream};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, IdleTimeout, Incoming, RecvStream, SendStream,
    ServerConfig, TransportConfig, VarInt,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::version::TLS13;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use terravox::replicate::Guest;
use tokio::time::timeout;

/// The application protocol.
const ALPN: &[u8] = b"terravox/1";

/// Connections that were not accepted yet, and bytes that came for each and for all of them: more
/// are dropped, so that a flood takes no memory.
const MAX_INCOMING: usize = 256;
const MAX_INCOMING_BYTES: u64 = 16 << 10;
const MAX_ALL_INCOMING_BYTES: u64 = 1 << 20;

/// How long the peer may take to acknowledge the last packet.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The application's code of a connection that the server ended.
const DISMISSED: VarInt = VarInt::from_u32(1);

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let idle = IdleTimeout::from(VarInt::from_u32(30_000));
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(128 << 10))
        .receive_window(VarInt::from_u32(128 << 10))
        .send_window(256 << 10)
        .max_idle_timeout(Some(idle));
    Arc::new(transport)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

pub(crate) fn server_config(certificate: Certificate) -> Result<ServerConfig, ServerError> {
    let failed = |error: &dyn std::fmt::Display| ServerError::new(format!("certificate: {error}"));
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| failed(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.chain], certificate.key)
        .map_err(|error| failed(&error))?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|error| failed(&error))?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config
        .transport_config(transport())
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(MAX_INCOMING_BYTES)
        .incoming_buffer_size_total(MAX_ALL_INCOMING_BYTES);
    Ok(config)
}

/// A client that trusts a fingerprint, or, without one, any certificate.
pub(crate) fn client_config(expected: Option<Fingerprint>) -> Result<ClientConfig, String> {
    let verifier = Arc::new(PinnedVerifier { expected, provider: provider() });
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport());
    Ok(config)
}

/// Accepts connections until the endpoint is closed.
pub(crate) async fn listen(endpoint: Endpoint, gate: Arc<Gate>) {
    while let Some(incoming) = endpoint.accept().await {
        let peer = incoming.remote_address().ip();
        // A sender who is not at its address must not use up another's connections.
        if !incoming.remote_address_validated() && !peer.is_loopback() {
            let _ = incoming.retry();
            continue;
        }
        match gate.connections.admit(peer) {
            Some(pass) => drop(tokio::spawn(serve(incoming, gate.clone(), Arc::new(pass)))),
            None => incoming.refuse(),
        }
    }
}

async fn serve(incoming: Incoming, gate: Arc<Gate>, pass: Arc<Pass>) {
    let patience = gate.patience;
    let Ok(Ok(connection)) = timeout(patience, incoming).await else { return };
    let greeting = async {
        let (send, mut receive) = connection.accept_bi().await.ok()?;
        let name = read_frame(&mut receive, MAX_WORLD_NAME).await?;
        Some((send, receive, name))
    };
    let Ok(Some((mut send, mut receive, name))) = timeout(patience, greeting).await else {
        return connection.close(DISMISSED, b"the name of a world was expected");
    };
    let Some(world) = gate.world(&name) else {
        return connection.close(DISMISSED, b"there is no world of this name here");
    };
    let link = Arc::new(Link::with_pass(&pass));
    world.join(link.clone());
    let (to_peer, to_world) = (&link.to_peer, &link.to_world);
    let why = carry(to_peer, to_world, &mut send, &mut receive, || world.wake()).await;
    link.close_with_reason(why);
    say_farewell(&connection, send, link.reason()).await;
    link.hang_up();
    world.wake();
}

/// Closes a connection, once the peer has the last packet.
async fn say_farewell(connection: &Connection, mut send: SendStream, reason: &str) {
    if send.finish().is_ok() {
        let _ = timeout(CLOSE_TIMEOUT, send.stopped()).await;
    }
    connection.close(DISMISSED, reason.as_bytes());
}

/// Carries packets over a stream, as [`link::carry`].
pub(crate) async fn carry(
    outgoing: &PacketQueue,
    incoming: &PacketQueue,
    send: &mut SendStream,
    receive: &mut RecvStream,
    wake: impl Fn(),
) -> &'static str {
    let sink = sink::unfold(send, |send: &mut SendStream, packets| async move {
        send.write_all(&framed(&packets)).await.map(|()| send)
    });
    let stream = stream::unfold(receive, |receive: &mut RecvStream| async move {
        let packet = read_frame(receive, Guest::MAX_PACKET_BYTES).await?;
        Some((packet, receive))
    });
    link::carry(outgoing, incoming, sink, stream, wake).await
}

/// Packets with their lengths.
pub(crate) fn framed(packets: &VecDeque<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packets.iter().map(|packet| packet.len() + 2).sum());
    for packet in packets {
        bytes.extend((packet.len() as u16).to_le_bytes());
        bytes.extend(packet);
    }
    bytes
}

/// Reads a frame of at most `most` bytes; `None` at the end, or if it is longer.
async fn read_frame(receive: &mut RecvStream, most: usize) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    receive.read_exact(&mut length).await.ok()?;
    let length = usize::from(u16::from_le_bytes(length));
    if length > most {
        return None;
    }
    let mut bytes = vec![0; length];
    receive.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}
