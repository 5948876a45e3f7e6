//! Why a server ends links and refuses operations: the numbers in its reasons, and some texts.

use terravox::replicate::{LinkEnd, LinkEndCode, Refusal, RefusalCode};

/// What guests are told when the server ends. They may come back.
pub(crate) const SERVER_ENDS: &str = "the server ends";

/// What guests of a world are told that stopped because of a fault.
pub(crate) const STOPPED: &str = "this world has stopped; the server's output says why";

/// What a guest is told that reads too slowly. It may come back.
pub(crate) const TOO_SLOW: &str = "nothing that was sent was taken in time";

/// What a guest is told from which nothing has arrived for seconds, such as after its machine
/// slept. It may come back.
pub(crate) const SILENT: &str = "nothing came from you for 7 s";

/// Whether a guest may come back whose connection ended for this reason; without a reason, the
/// connection broke.
pub(crate) fn may_return(reason: &str) -> bool {
    ["", SERVER_ENDS, TOO_SLOW, SILENT].contains(&reason)
}

/// Why a server ended a link or refused an operation, as
/// [`LinkEndCode::Game`](terravox::replicate::LinkEndCode::Game) and
/// [`RefusalCode::Game`](terravox::replicate::RefusalCode::Game) have it. Numbers below 256 are the
/// server's; the rules of a game, [`ServedWorld::decide`](crate::ServedWorld::decide), take others.
///
/// ```
/// use terravox::replicate::RefusalCode;
/// use terravox_server::ServerReason;
///
/// let refused = RefusalCode::Game(17); // of a `GuestEvent::Refused`
/// assert_eq!(ServerReason::of_refusal(refused), Some(ServerReason::Protected));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerReason {
    /// 1: the server ends. It may start again.
    ServerEnds = 1,
    /// 2: this world has stopped because of a fault.
    WorldStopped = 2,
    /// 3: the client did not read what was sent to it in time. Connect again.
    TooSlow = 3,
    /// 4: a token is needed, or this one is not known.
    UnknownToken = 4,
    /// 5: no greeting arrived in time.
    NoGreeting = 5,
    /// 16: the token is for looking only.
    LookOnly = 16,
    /// 17: only administrators may change this part of the world.
    Protected = 17,
    /// 18: another server has this part of the world, which the reason names, or what waits for it is
    /// too much.
    OtherServer = 18,
    /// 19: this account, or all guests of this server together, edited too many columns of a shared
    /// world within a minute.
    TooManyColumns = 19,
    /// 20: too much of this world is not saved yet, such as while a disk is full.
    TooMuchUnsaved = 20,
    /// 21: no server has this part of a shared world yet. This one claims it now: send the operation
    /// again in a moment.
    NotServedYet = 21,
}

const ALL: [ServerReason; 11] = [
    ServerReason::ServerEnds,
    ServerReason::WorldStopped,
    ServerReason::TooSlow,
    ServerReason::UnknownToken,
    ServerReason::NoGreeting,
    ServerReason::LookOnly,
    ServerReason::Protected,
    ServerReason::OtherServer,
    ServerReason::TooManyColumns,
    ServerReason::TooMuchUnsaved,
    ServerReason::NotServedYet,
];

impl ServerReason {
    fn of(number: u16) -> Option<ServerReason> {
        ALL.into_iter().find(|&reason| reason as u16 == number)
    }

    /// Why the server refused an operation; `None` if it was not the server's own rules.
    pub fn of_refusal(code: RefusalCode) -> Option<ServerReason> {
        match code {
            RefusalCode::Game(number) => ServerReason::of(number),
            _ => None,
        }
    }

    /// Why the server ended a link; `None` if the host did, by the protocol.
    pub fn of_link_end(code: LinkEndCode) -> Option<ServerReason> {
        match code {
            LinkEndCode::Game(number) => ServerReason::of(number),
            _ => None,
        }
    }

    /// Whether the server may take the same client again later.
    pub(crate) fn is_temporary(self) -> bool {
        matches!(self, ServerReason::ServerEnds | ServerReason::TooSlow)
    }

    pub(crate) fn end(self, text: &str) -> LinkEnd {
        LinkEnd::by_game(self as u16, text)
    }

    pub(crate) fn refusal(self, text: &str) -> Refusal {
        Refusal::by_game(self as u16, text)
    }
}
