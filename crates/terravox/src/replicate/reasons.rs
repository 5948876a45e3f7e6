//! Why an operation is refused, and why a link ends: a code for programs, and a line for people.
//!
//! The codes are in messages: `docs/format.md` lists them. Numbers that are given here never
//! change.

use super::PipeError;
use super::wire::{Input, MessageError, put_varint};
use crate::edit::EditError;
use std::fmt;

/// Why a host refused an operation, for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalCode {
    /// The rules of the game, [`Verdict::Refuse`](super::Verdict::Refuse), with a number from 1 on
    /// that the game chose, or 0 if it chose none.
    Game(u16),
    /// The operation is invalid, such as a radius below 0.
    Invalid,
    /// It has more cells, chunks or work than one operation may have.
    TooLarge,
    /// The guest sent more operations than it may.
    TooMany,
    /// The operations of the guest took more work than allowed: the same operation may succeed a
    /// second later.
    TooMuchWork,
    /// A chunk that it needs is not available now: the same operation may succeed later.
    NotAvailable,
    /// The guest has nothing to undo or redo.
    NothingToUndo,
}

/// An operation that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why, for a program.
    pub code: RefusalCode,
    /// Why, for a person, in one line. The other side gets at most 200 bytes, cut between
    /// characters, with spaces for control characters such as newlines.
    pub reason: String,
}

/// Why a link ended, for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkEndCode {
    /// The game ended it by [`Host::disconnect`](super::Host::disconnect), with a number from 1 on
    /// that it chose. With 0 it chose none, or the guest left by itself.
    Game(u16),
    /// Both sides speak different versions of the protocol: the older one needs an update.
    OtherVersion,
    /// One side sent what the protocol does not allow.
    Protocol,
    /// The guest requested more blocks than
    /// [`HostOptions::max_blocks`](super::HostOptions::max_blocks), or more coarsest ones than
    /// [`HostOptions::max_roots`](super::HostOptions::max_roots).
    TooManyBlocks,
}

/// The end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Why, for a program.
    pub code: LinkEndCode,
    /// Why, for a person, in one line. The other side gets at most 200 bytes, cut between
    /// characters, with spaces for control characters such as newlines.
    pub reason: String,
}

impl RefusalCode {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.push(match self {
            RefusalCode::Game(_) => 0,
            RefusalCode::Invalid => 1,
            RefusalCode::TooLarge => 2,
            RefusalCode::TooMany => 3,
            RefusalCode::TooMuchWork => 4,
            RefusalCode::NotAvailable => 5,
            RefusalCode::NothingToUndo => 6,
        });
        if let RefusalCode::Game(number) = self {
            put_varint(number.into(), out);
        }
    }

    pub(super) fn take(input: &mut Input<'_>) -> Result<RefusalCode, MessageError> {
        Ok(match input.byte()? {
            0 => RefusalCode::Game(take_number(input)?),
            1 => RefusalCode::Invalid,
            2 => RefusalCode::TooLarge,
            3 => RefusalCode::TooMany,
            4 => RefusalCode::TooMuchWork,
            5 => RefusalCode::NotAvailable,
            6 => RefusalCode::NothingToUndo,
            _ => return input.wrong("an unknown reason"),
        })
    }
}

impl LinkEndCode {
    /// Appends the code. `OtherVersion` writes no byte; older versions stop reading before it.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        match self {
            LinkEndCode::OtherVersion => {}
            LinkEndCode::Game(number) => {
                out.push(0);
                put_varint(number.into(), out);
            }
            LinkEndCode::Protocol => out.push(1),
            LinkEndCode::TooManyBlocks => out.push(2),
        }
    }

    pub(super) fn take(input: &mut Input<'_>) -> Result<LinkEndCode, MessageError> {
        if input.is_empty() {
            return Ok(LinkEndCode::OtherVersion);
        }
        Ok(match input.byte()? {
            0 => LinkEndCode::Game(take_number(input)?),
            1 => LinkEndCode::Protocol,
            2 => LinkEndCode::TooManyBlocks,
            _ => return input.wrong("an unknown reason"),
        })
    }
}

fn take_number(input: &mut Input<'_>) -> Result<u16, MessageError> {
    let number = input.varint()?;
    u16::try_from(number).or_else(|_| input.wrong("a number has more than 16 bits"))
}

impl Refusal {
    /// A refusal by the rules of a game, with its own `number`, from 1 on; 0 means none.
    pub fn by_game(number: u16, reason: impl Into<String>) -> Refusal {
        Refusal::new(RefusalCode::Game(number), reason)
    }

    pub(super) fn new(code: RefusalCode, reason: impl Into<String>) -> Refusal {
        Refusal { code, reason: reason.into() }
    }
}

impl LinkEnd {
    /// The end of a link by a game, with its own `number`, from 1 on; 0 means none.
    pub fn by_game(number: u16, reason: impl Into<String>) -> LinkEnd {
        LinkEnd::new(LinkEndCode::Game(number), reason)
    }

    pub(super) fn new(code: LinkEndCode, reason: impl Into<String>) -> LinkEnd {
        LinkEnd { code, reason: reason.into() }
    }

    /// The other side did what the protocol does not allow.
    pub(super) fn protocol(what: impl fmt::Display) -> LinkEnd {
        LinkEnd::new(LinkEndCode::Protocol, what.to_string())
    }
}

impl From<&str> for Refusal {
    /// By the rules of a game, without a number.
    fn from(reason: &str) -> Refusal {
        Refusal::by_game(0, reason)
    }
}

impl From<String> for Refusal {
    /// By the rules of a game, without a number.
    fn from(reason: String) -> Refusal {
        Refusal::by_game(0, reason)
    }
}

impl From<EditError> for Refusal {
    fn from(error: EditError) -> Refusal {
        let code = match &error {
            EditError::TooLarge { .. } | EditError::TooCostly { .. } => RefusalCode::TooLarge,
            EditError::NotHeld(_) | EditError::NotFilled(_) => RefusalCode::NotAvailable,
            _ => RefusalCode::Invalid,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<&str> for LinkEnd {
    /// By a game, without a number.
    fn from(reason: &str) -> LinkEnd {
        LinkEnd::by_game(0, reason)
    }
}

impl From<MessageError> for LinkEnd {
    fn from(error: MessageError) -> LinkEnd {
        LinkEnd::protocol(error)
    }
}

impl From<PipeError> for LinkEnd {
    fn from(error: PipeError) -> LinkEnd {
        LinkEnd::protocol(error)
    }
}

impl From<LinkEnd> for String {
    fn from(end: LinkEnd) -> String {
        end.reason
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

impl std::error::Error for LinkEnd {}
