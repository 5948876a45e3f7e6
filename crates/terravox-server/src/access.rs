//! Who may do what.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use terravox::edit::Journal;
use terravox::replicate::Guest;

/// What the bearer of a token may do; each right includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// See the world.
    Look,
    /// Change it.
    Edit,
    /// Also change protected regions, make backups, read the journal, and roll edits back.
    Administer,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Right::Look => "look",
            Right::Edit => "edit",
            Right::Administer => "administer",
        })
    }
}

/// Tokens and their rights. Without tokens, everyone who can reach the server may do everything; a
/// server without tokens only listens on loopback. A server uses the list with which it was
/// started.
///
/// ```
/// use terravox_server::{AccessList, Right};
///
/// let mut access = AccessList::default();
/// access.add("a long random word", Right::Edit);
/// assert_eq!(access.right(b"a long random word"), Some(Right::Edit));
/// assert_eq!(access.right(b""), None);
/// access.add_named("another one", Right::Administer, "ada");
/// assert_eq!(access.name(b"another one"), Some("ada"));
/// ```
#[derive(Clone, Default)]
pub struct AccessList(Vec<Bearer>);

/// Who has a token.
#[derive(Clone)]
struct Bearer {
    token: Vec<u8>,
    right: Right,
    /// The name in the journal of a world.
    name: Option<String>,
}

impl AccessList {
    /// Maximum size of a token in bytes.
    pub const MAX_TOKEN: usize = Guest::MAX_TOKEN;

    /// Adds a token without a name: the journal of a world lists its bearer by IP address.
    ///
    /// # Panics
    /// If the token is empty or has more than 256 bytes.
    pub fn add(&mut self, token: impl Into<Vec<u8>>, right: Right) {
        self.add_bearer(token.into(), right, None);
    }

    /// Adds a token with the name under which the journal of a world lists its bearer. Several
    /// tokens may have the same name.
    ///
    /// # Panics
    /// If the token is empty or has more than 256 bytes, or the name is [invalid](Self::is_name).
    pub fn add_named(&mut self, token: impl Into<Vec<u8>>, right: Right, name: impl Into<String>) {
        let name = name.into();
        assert!(AccessList::is_name(&name), "a name has 1 to 64 bytes without control characters");
        self.add_bearer(token.into(), right, Some(name));
    }

    fn add_bearer(&mut self, token: Vec<u8>, right: Right, name: Option<String>) {
        let is_valid = (1..=AccessList::MAX_TOKEN).contains(&token.len());
        assert!(is_valid, "a token has 1 to 256 bytes");
        self.0.push(Bearer { token, right, name });
    }

    /// Whether a name is valid: 1 to 64 bytes without control characters.
    pub fn is_name(name: &str) -> bool {
        (1..=Journal::MAX_AUTHOR).contains(&name.len()) && !name.chars().any(char::is_control)
    }

    /// Whether no token is needed.
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what the bearer of a token may do; `None` if the token is unknown.
    pub fn right(&self, token: &[u8]) -> Option<Right> {
        if self.is_open() {
            return Some(Right::Administer);
        }
        self.bearers(token).map(|bearer| bearer.right).max()
    }

    /// The refusal of an unknown token.
    pub(crate) fn refusal(token: &[u8]) -> &'static str {
        match token.is_empty() {
            true => "a token is needed here",
            false => "this token is not known here",
        }
    }

    /// Returns the name of the bearer of a token, if it has one.
    pub fn name(&self, token: &[u8]) -> Option<&str> {
        let names = self.bearers(token).filter_map(|bearer| bearer.name.as_deref());
        names.reduce(|_, later| later)
    }

    /// The name of a token's bearer in the journal: its own, else its address.
    pub(crate) fn author(&self, token: &[u8], peer: IpAddr) -> String {
        let name = self.name(token).map(str::to_owned);
        name.unwrap_or_else(|| peer.to_canonical().to_string())
    }

    /// The account whose budget a guest spends: its token, or without tokens its address, as
    /// connections are counted.
    pub(crate) fn account(&self, token: &[u8], peer: IpAddr) -> String {
        match self.is_open() {
            true => counted_as(peer).to_string(),
            false => format!("token {}", token.escape_ascii()),
        }
    }

    /// Compares with every token, each completely: the time taken reveals no more than how long tokens
    /// are.
    fn bearers(&self, token: &[u8]) -> impl Iterator<Item = &Bearer> {
        self.0.iter().filter(move |bearer| is_same(&bearer.token, token))
    }
}

/// Shows how many tokens there are, not which.
impl fmt::Debug for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessList({} tokens)", self.0.len())
    }
}

/// The address by which connections are counted: with IPv6 the network, since one machine has 2⁶⁴
/// addresses in it.
pub(crate) fn counted_as(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_counts_as_one_address_and_ipv4_as_itself() {
        let counted = |text: &str| counted_as(text.parse().expect("an address")).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(counted("2001:db8:1:2:ffff::1"), counted("2001:db8:1:2:3:4:5:6"));
        assert_ne!(counted("2001:db8:1:3::1"), counted("2001:db8:1:2::1"));
        assert_eq!(counted("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(counted("192.0.2.8"), "192.0.2.8");
    }
}
