//! Failures of a server, and whether they are transient.

use std::io;
use std::path::Path;
use terravox_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) struct RequestFailure {
    pub kind: io::ErrorKind,
    /// One line.
    pub what: String,
    /// Whether the same request may succeed later: the server restarts, another one takes over, or
    /// two transactions were in each other's way.
    pub is_transient: bool,
    /// Whether it came from a server that still holds the connection: then nothing was committed.
    pub is_answer: bool,
    /// Whether a table does not exist.
    pub is_no_table: bool,
}

impl RequestFailure {
    pub fn into_io(self) -> io::Error {
        io::Error::new(self.kind, self.what)
    }

    /// No answer in time.
    pub fn silence() -> RequestFailure {
        RequestFailure::lost(io::ErrorKind::TimedOut, "the server does not answer".to_owned())
    }

    /// Other transactions were in the way of this one until the time was over.
    pub fn disturbed() -> RequestFailure {
        let what = "other transactions change the same rows all the time";
        RequestFailure::lost(io::ErrorKind::TimedOut, what.to_owned())
    }

    /// The connection is lost.
    pub fn lost(kind: io::ErrorKind, what: String) -> RequestFailure {
        RequestFailure { kind, what, is_transient: true, is_answer: false, is_no_table: false }
    }

    /// A failure that a retry does not change.
    pub fn permanent(kind: io::ErrorKind, what: String) -> RequestFailure {
        RequestFailure { kind, what, is_transient: false, is_answer: true, is_no_table: false }
    }
}

impl From<Error> for RequestFailure {
    fn from(error: Error) -> RequestFailure {
        if let Some(answer) = error.as_db_error() {
            return of_answer(answer);
        }
        let source = std::error::Error::source(&error);
        let io_error = source.and_then(|e| e.downcast_ref::<io::Error>());
        // Such as a certificate that is not trusted: it is the same the next time.
        let is_tls = io_error.and_then(io::Error::get_ref).is_some_and(|e| e.is::<rustls::Error>());
        let io_kind = io_error.map(io::Error::kind).filter(|_| !is_tls);
        let mut what = source.map_or(error.to_string(), |source| format!("{error}: {source}"));
        if what.ends_with("password missing") {
            what += "; give it in the address, or in PGPASSWORD";
        }
        if io_kind == Some(io::ErrorKind::ConnectionRefused) {
            what += "; is PostgreSQL running there? check host and port";
        }
        match io_kind {
            Some(kind) => RequestFailure::lost(kind, what),
            None if error.is_closed() => RequestFailure::lost(
                io::ErrorKind::ConnectionAborted,
                "the connection is lost".to_owned(),
            ),
            // Such as a handshake of TLS that fails, or a server that speaks another protocol.
            None => RequestFailure {
                is_answer: false,
                ..RequestFailure::permanent(io::ErrorKind::Other, what)
            },
        }
    }
}

fn of_answer(answer: &DbError) -> RequestFailure {
    let code = answer.code();
    let message = answer.message();
    let permanent = |kind, what: String| RequestFailure::permanent(kind, what);
    if [&SqlState::INVALID_PASSWORD, &SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(&code)
    {
        let what = format!(
            "{message}; check user and password in the address, or the password in PGPASSWORD"
        );
        return permanent(io::ErrorKind::PermissionDenied, what);
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return permanent(io::ErrorKind::PermissionDenied, message.to_owned());
    }
    if *code == SqlState::INVALID_CATALOG_NAME {
        return permanent(io::ErrorKind::NotFound, format!("{message}; create it with createdb"));
    }
    if *code == SqlState::DISK_FULL {
        return permanent(
            io::ErrorKind::StorageFull,
            format!("the server's disk is full: {message}"),
        );
    }
    if *code == SqlState::UNDEFINED_TABLE {
        let failure = permanent(io::ErrorKind::NotFound, message.to_owned());
        return RequestFailure { is_no_table: true, ..failure };
    }
    let transient = [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::INSUFFICIENT_RESOURCES,
        &SqlState::OUT_OF_MEMORY,
        // Time limits of the role or the database.
        &SqlState::QUERY_CANCELED,
        &SqlState::LOCK_NOT_AVAILABLE,
        // Of a commit: see `writer`.
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    // The server ends, or is the wrong one by now: what became of the transaction is unknown.
    let ends = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
        // A primary that became a standby: only another connection leads to the new one.
        &SqlState::READ_ONLY_SQL_TRANSACTION,
    ];
    let what = message.to_owned();
    if ends.contains(&code) || code.code().starts_with("08") {
        return RequestFailure::lost(io::ErrorKind::ConnectionAborted, what);
    }
    let is_transient = transient.contains(&code);
    RequestFailure { is_transient, ..permanent(io::ErrorKind::Other, what) }
}

/// The error that a world at `path` is refused.
pub(crate) fn refused(path: &Path, what: String) -> StoreError {
    StoreError::Refused { path: path.to_owned(), what }
}

/// The error that a world cannot be opened.
pub(crate) fn open_error(path: &Path, failure: RequestFailure) -> StoreError {
    StoreError::Io { path: path.to_owned(), doing: "open", source: failure.into_io() }
}
