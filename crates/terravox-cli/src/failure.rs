//! The one line that a user sees when a command fails, and its JSON form.

use crate::secrets::redacted;
use crate::world_store;
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};
use terravox::replicate::printable;

/// Why a command failed: one line that names the file, the problem and, unless obvious, the
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    line: String,
    /// The file that the failure is about.
    file: Option<PathBuf>,
    exit_code: u8,
    /// What was done before, by its name in JSON.
    counts: Vec<(&'static str, u64)>,
}

/// Exit code of failures that leave every world as it was.
const UNCHANGED_CODE: u8 = 2;

/// Exit code of failures after which a world is changed, or may be.
const CHANGED_CODE: u8 = 3;

/// The result of a command or a step of one.
pub type CliResult<T> = Result<T, Failure>;

impl Failure {
    /// Returns a failure about a file.
    pub fn of(path: &Path, what: impl fmt::Display) -> Failure {
        let path = PathBuf::from(redacted(&world_store::shown(path).to_string_lossy()));
        let line = one_line(&format!("{}: {what}", path.display()));
        Failure { line, file: Some(path), exit_code: UNCHANGED_CODE, counts: Vec::new() }
    }

    /// Returns any other failure.
    pub fn new(what: impl fmt::Display) -> Failure {
        let line = one_line(&what.to_string());
        Failure { line, file: None, exit_code: UNCHANGED_CODE, counts: Vec::new() }
    }

    /// The same failure, of a step after which a world is changed, or may be.
    pub fn after_change(self) -> Failure {
        Failure { exit_code: CHANGED_CODE, ..self }
    }

    /// The same failure; its JSON has counts of what was done before.
    #[cfg_attr(not(feature = "server"), allow(dead_code))]
    pub fn with_counts(self, counts: Vec<(&'static str, u64)>) -> Failure {
        Failure { counts, ..self }
    }

    /// Returns the exit code of the process: 2, or 3 if a world is changed, or may be.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Returns one JSON object: `command` (null if none was recognised), `error` (the line), `file`
    /// (null if it is not about one) and `exit_code`, then the counts.
    pub fn json(&self, command: Option<&str>) -> Value {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let mut value = json!({ "command": command, "error": self.line, "file": file,
            "exit_code": self.exit_code });
        for &(name, count) in &self.counts {
            value[name] = json!(count);
        }
        value
    }

    /// For `map_err`: a failure about `path`.
    pub fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Failure {
        move |error| Failure::of(path, error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Returns a number of damaged parts in words: "1 damaged part".
pub fn damaged_parts(count: usize) -> String {
    format!("{count} damaged {}", if count == 1 { "part" } else { "parts" })
}

/// Longest line, in characters.
const MAX_LINE_CHARS: usize = 2000;

/// Returns `text` on one line without passwords and characters that are not to be printed: names of
/// files, text from damaged files and what a server says can hold anything, and be of any length.
fn one_line(text: &str) -> String {
    let text = printable(&redacted(text));
    let line = text.trim().chars().take(MAX_LINE_CHARS);
    let line = line.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_cut = text.trim().chars().nth(MAX_LINE_CHARS).is_some();
    if is_cut { format!("{line} …") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_whatever_is_in_it() {
        let failure = Failure::of(Path::new("a\nb.tvx"), "odd\u{1b}[2J\r\n  \u{202E}bytes");
        assert_eq!(failure.to_string(), "a b.tvx: odd [2J bytes");
        let long = Failure::new("x".repeat(10_000)).to_string();
        assert_eq!(long.chars().count(), MAX_LINE_CHARS + 2);
        let value = failure.json(Some("info"));
        assert_eq!((&value["command"], &value["exit_code"]), (&json!("info"), &json!(2)));
        assert_eq!(
            (&value["error"], &value["file"]),
            (&json!("a b.tvx: odd [2J bytes"), &json!("a\nb.tvx"))
        );
        assert_eq!(failure.after_change().json(None)["exit_code"], json!(3));
        assert_eq!(Failure::new("x").json(None)["file"], Value::Null);
        let counted = Failure::new("x").with_counts(vec![("confirmed", 2)]).json(None);
        assert_eq!((&counted["confirmed"], &counted["exit_code"]), (&json!(2), &json!(2)));
    }
}
