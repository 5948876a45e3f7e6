//! The address of a world, as a user writes it.

use std::fmt;
use std::str::FromStr;

/// The port of a server that was not given one: UDP for QUIC, TCP for HTTP.
pub const DEFAULT_PORT: u16 = 4077;

/// Maximum size of the name of a world in bytes.
pub const MAX_WORLD_NAME: usize = 64;

/// How packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// QUIC, which is encrypted.
    Quic,
    /// WebSocket, not encrypted: for loopback, and behind a proxy that encrypts.
    WebSocket,
}

/// The address of a world: `HOST[:PORT][/WORLD]`, for QUIC, or after `ws://` for WebSocket.
///
/// ```
/// use terravox_server::{Transport, WorldAddress};
///
/// let address: WorldAddress = "dig.example.org/caves".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("dig.example.org", 4077));
/// assert_eq!((address.transport, address.world.as_str()), (Transport::Quic, "caves"));
/// assert_eq!("ws://[::1]:80".parse::<WorldAddress>()?.to_string(), "ws://[::1]:80");
/// # Ok::<(), terravox_server::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldAddress {
    /// How packets travel.
    pub transport: Transport,
    /// A name, or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The name of the world; empty: the first of the server.
    pub world: String,
}

/// An address that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; give HOST:PORT, HOST:PORT/WORLD or ws://HOST:PORT", self.0)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for WorldAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<WorldAddress, AddressError> {
        let error = |what: &str| AddressError(format!("the address \"{text}\" {what}"));
        let (transport, rest) = match text.split_once("://") {
            None => (Transport::Quic, text),
            Some(("terravox", rest)) => (Transport::Quic, rest),
            Some(("ws", rest)) => (Transport::WebSocket, rest),
            Some((scheme, _)) => return Err(error(&format!("begins with {scheme}://"))),
        };
        let (place, world) = rest.split_once('/').unwrap_or((rest, ""));
        if world.len() > MAX_WORLD_NAME {
            return Err(error("has a name of a world above 64 bytes"));
        }
        let (host, port) = match place.strip_prefix('[') {
            Some(inner) => inner.split_once(']').ok_or_else(|| error("lacks a ]"))?,
            // Without brackets, an address with several colons has no port.
            None if place.matches(':').count() > 1 => (place, ""),
            None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => DEFAULT_PORT,
            Some(digits) => digits.parse().map_err(|_| error("has an invalid port"))?,
            None => return Err(error("has text after the ]")),
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(error("has no host"));
        }
        Ok(WorldAddress { transport, host: host.to_owned(), port, world: world.to_owned() })
    }
}

impl WorldAddress {
    /// Host and port, as HTTP has them.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for WorldAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.transport == Transport::WebSocket {
            f.write_str("ws://")?;
        }
        f.write_str(&self.authority())?;
        match self.world.is_empty() {
            true => Ok(()),
            false => write!(f, "/{}", self.world),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_read_and_written_again() {
        for (given, written) in [
            ("localhost", "localhost:4077"),
            ("localhost:1", "localhost:1"),
            ("terravox://a.b:1/w", "a.b:1/w"),
            ("::1", "[::1]:4077"),
            ("[::1]:5/w", "[::1]:5/w"),
            ("ws://a", "ws://a:4077"),
        ] {
            let address: WorldAddress = given.parse().expect(given);
            assert_eq!(address.to_string(), written);
            assert_eq!(written.parse(), Ok(address));
        }
    }

    #[test]
    fn an_invalid_address_is_named_in_the_error() {
        for bad in ["", ":1", "http://a", "a:70000", "a:x", "[::1", "[::1]x", "a b"] {
            let error = bad.parse::<WorldAddress>().expect_err(bad).to_string();
            assert!(
                error.contains(&format!("\"{bad}\"")) && error.contains("HOST:PORT"),
                "{error}"
            );
        }
        assert!(format!("a/{}", "w".repeat(65)).parse::<WorldAddress>().is_err());
    }
}
