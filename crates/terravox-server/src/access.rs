//! Who may do what.

use std::fmt;
use terravox::replicate::Guest;

/// What the bearer of a token may do; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// See the world.
    Look,
    /// Change it.
    Edit,
    /// Change it where it is protected, too, and back it up.
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

/// Tokens and their rights. Without any, everyone who reaches the server may do everything: a server
/// then listens on loopback only.
///
/// ```
/// use terravox_server::{AccessList, Right};
///
/// let mut access = AccessList::default();
/// access.add("a long random word", Right::Edit);
/// assert_eq!(access.right(b"a long random word"), Some(Right::Edit));
/// assert_eq!(access.right(b""), None);
/// ```
#[derive(Clone, Default)]
pub struct AccessList(Vec<(Vec<u8>, Right)>);

impl AccessList {
    /// Most bytes of a token.
    pub const MAX_TOKEN: usize = Guest::MAX_TOKEN;

    /// Lets the bearer of a token in.
    ///
    /// # Panics
    /// If the token is empty or has more than 256 bytes.
    pub fn add(&mut self, token: impl Into<Vec<u8>>, right: Right) {
        let token = token.into();
        let is_valid = (1..=AccessList::MAX_TOKEN).contains(&token.len());
        assert!(is_valid, "a token has 1 to 256 bytes");
        self.0.push((token, right));
    }

    /// Whether no token is needed.
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// What the bearer of a token may do; `None`: nothing.
    pub fn right(&self, token: &[u8]) -> Option<Right> {
        if self.is_open() {
            return Some(Right::Administer);
        }
        // Every token is compared whole, so that the time taken tells nothing.
        self.0.iter().filter(|entry| is_same(&entry.0, token)).map(|entry| entry.1).max()
    }
}

/// Shows how many tokens there are, not which.
impl fmt::Debug for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessList({} tokens)", self.0.len())
    }
}

fn is_same(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}
