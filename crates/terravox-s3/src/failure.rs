//! Errors of requests, in one line that says what to do.

use object_store::Error;
use std::error::Error as _;
use std::io;
use std::path::Path;
use terravox_store::StoreError;

/// Characters of a service's message that are shown at most.
const SHOWN_CHARS: usize = 300;

/// Whether a request failed because its bucket does not exist.
pub(crate) fn is_no_bucket(error: &Error) -> bool {
    chain(error).contains("NoSuchBucket")
}

/// A failed request as the store reports it.
pub(crate) fn io_error(error: &Error) -> io::Error {
    let all = chain(error);
    if is_no_bucket(error) {
        let what = "there is no such bucket; make it, or check the address";
        return io::Error::new(io::ErrorKind::NotFound, what);
    }
    match error {
        Error::NotFound { path, .. } => {
            io::Error::new(io::ErrorKind::NotFound, format!("{path} does not exist"))
        }
        Error::PermissionDenied { path, .. } | Error::Unauthenticated { path, .. } => {
            let what = format!(
                "access to {path} is denied; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and \
                 what they may do ({})",
                code(&all)
            );
            io::Error::new(io::ErrorKind::PermissionDenied, what)
        }
        Error::NotImplemented { .. } | Error::NotSupported { .. } => {
            io::Error::new(io::ErrorKind::Unsupported, shown(&all))
        }
        _ => io::Error::other(shown(&all)),
    }
}

/// The code in the answer of a service, such as `InvalidAccessKeyId`.
fn code(all: &str) -> String {
    let code = all.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    code.map_or("no reason given".to_owned(), |(code, _)| shown(code))
}

/// The last and most exact of the reasons of an error, and what is not in it.
fn chain(error: &Error) -> String {
    let mut all = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let what = error.to_string();
        if !all.contains(&what) {
            all = format!("{all}: {what}");
        }
        source = error.source();
    }
    all
}

/// A text of a service as a message shows it: in one line, and not too long.
fn shown(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let mut shown: String = line.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
    if line.chars().nth(SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// The error that a world at `path` is refused.
pub(crate) fn refused(path: &Path, what: String) -> StoreError {
    StoreError::Refused { path: path.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Box<dyn std::error::Error + Send + Sync> {
        text.to_owned().into()
    }

    #[test]
    fn failures_say_what_to_do() {
        let path = || "hills/manifest".to_owned();
        let denied = Error::PermissionDenied {
            path: path(),
            source: answer("403: <Error><Code>InvalidAccessKeyId</Code></Error>"),
        };
        let what = io_error(&denied).to_string();
        assert!(what.contains("check AWS_ACCESS_KEY_ID") && what.contains("(InvalidAccessKeyId)"));
        let gone =
            Error::NotFound { path: path(), source: answer("404 <Code>NoSuchBucket</Code>") };
        assert!(io_error(&gone).to_string().contains("no such bucket"));
        let gone = Error::NotFound { path: path(), source: answer("404 <Code>NoSuchKey</Code>") };
        assert_eq!(io_error(&gone).to_string(), "hills/manifest does not exist");
        let long = answer(&"a\n\u{1b}[2J ".repeat(200));
        let what = io_error(&Error::Generic { store: "S3", source: long }).to_string();
        assert!(what.chars().count() <= SHOWN_CHARS + 1 && what.lines().count() == 1);
        assert!(!what.contains('\u{1b}'));
    }
}
