//! Why a client has no connection, or a request failed.

use crate::address::WorldAddress;
use crate::server_reason::ServerReason;
use std::fmt;
use terravox::replicate::{LinkEnd, LinkEndCode, printable};

/// Why there is no connection, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    what: String,
    /// What to do about it, for who may start a server; empty if there is nothing to say.
    advice: String,
    is_transient: bool,
    is_undecided: bool,
    link_end: Option<LinkEndCode>,
}

impl ClientError {
    pub(crate) fn new(what: impl fmt::Display) -> ClientError {
        // Parts of it are what a server says.
        let what = printable(&what.to_string());
        let advice = String::new();
        ClientError { what, advice, is_transient: false, is_undecided: false, link_end: None }
    }

    /// The world ended the link, or this side did.
    pub(crate) fn ended(end: LinkEnd) -> ClientError {
        let reason = ServerReason::of_link_end(end.code);
        ClientError {
            is_transient: reason.is_some_and(ServerReason::is_temporary),
            link_end: Some(end.code),
            ..ClientError::new(end)
        }
    }

    pub(crate) fn transient(what: impl fmt::Display) -> ClientError {
        ClientError { is_transient: true, ..ClientError::new(what) }
    }

    /// The link broke after a request was sent.
    pub(crate) fn undecided(why: impl fmt::Display) -> ClientError {
        let what = format!("the link broke before the response came: {why}");
        ClientError { is_undecided: true, ..ClientError::transient(what) }
    }

    /// There is no thread to connect on.
    pub fn no_thread(error: &std::io::Error) -> ClientError {
        ClientError::new(format_args!("no thread for a connection: {error}"))
    }

    pub(crate) fn with_advice(self, advice: String) -> ClientError {
        ClientError { advice, ..self }
    }

    /// The same error, for who was a guest of a server that is gone.
    pub(crate) fn without_advice(self) -> ClientError {
        ClientError { advice: String::new(), ..self }
    }

    /// The same error, with the address of the server.
    pub(crate) fn at(self, address: &WorldAddress) -> ClientError {
        ClientError { what: format!("{address}: {}", self.what), ..self }
    }

    /// Whether the same may work later: the server was not reached, has too many connections, or
    /// ended, or the link broke. False if the server refused this client, has no such world, or is
    /// not the one that was expected.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// Why the link ended, as a code: [`ServerReason::of_link_end`] decodes the server's own.
    /// `None` if it broke, if there was none, or if the server gave its reason outside of the link.
    pub fn link_end(&self) -> Option<LinkEndCode> {
        self.link_end
    }

    /// Whether the server may have carried out the request: the link broke after it was sent.
    pub fn is_undecided(&self) -> bool {
        self.is_undecided
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "; {}", self.advice) }
    }
}

impl std::error::Error for ClientError {}
