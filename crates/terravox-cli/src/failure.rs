//! The one line that a user sees when something cannot be done.

use std::fmt;
use std::path::Path;

/// Why a command failed: one line that names the file, says what is wrong and, where it
/// is not plain, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

/// What a command answers.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure that is about a file.
    pub fn of(path: &Path, what: impl fmt::Display) -> Failure {
        Failure::new(format!("{}: {what}", path.display()))
    }

    /// Any other failure.
    pub fn new(what: impl fmt::Display) -> Failure {
        Failure(one_line(&what.to_string()))
    }

    /// For `map_err`: a failure that is about `path`.
    pub fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Failure {
        move |error| Failure::of(path, error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `text` on one line, and nothing in it that a terminal would act on: names of files
/// and text out of damaged files can hold anything.
fn one_line(text: &str) -> String {
    let line = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    line.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_is_in_it() {
        let failure = Failure::of(Path::new("a\nb.tvx"), "odd\u{1b}[2J\r\n  bytes");
        assert_eq!(failure.to_string(), "a b.tvx: odd [2J bytes");
    }
}
