//! The report of a command, as text and as JSON, from one list of lines.

use crate::secrets::{redact_value, redacted};
use crate::world_store;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lines of key, label, text and value, in order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    lines: Vec<ReportLine>,
    /// Lines at the end of the text, not in the JSON.
    notes: Vec<(String, String)>,
    /// The world that the command changed.
    changed: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct ReportLine {
    key: String,
    /// Label and text; `None` for JSON only.
    shown: Option<(String, String)>,
    value: Value,
}

impl Report {
    /// Returns the report of a command.
    pub fn new(command: &str) -> Report {
        let mut report = Report::default();
        report.hidden("command", command);
        report
    }

    /// Returns the report of a command that changed a world, and names it.
    pub fn of_change(command: &str, world: &Path) -> Report {
        let mut report = Report::new(command);
        report.changed = Some(world_store::shown(world));
        report
    }

    /// Returns the world that the command changed.
    pub fn changed_world(&self) -> Option<&Path> {
        self.changed.as_deref()
    }

    /// Adds a line of text and its JSON value.
    pub fn line(&mut self, key: &str, label: &str, text: impl Into<String>, value: Value) {
        let shown = Some((label.to_owned(), text.into()));
        self.lines.push(ReportLine { key: key.to_owned(), shown, value });
    }

    /// Adds a line to the text only.
    pub fn text_only(&mut self, label: &str, text: &str) {
        self.notes.push((label.to_owned(), text.to_owned()));
    }

    /// Adds a value to the JSON only.
    pub fn hidden(&mut self, key: &str, value: impl Into<Value>) {
        self.lines.push(ReportLine { key: key.to_owned(), shown: None, value: value.into() });
    }

    /// Adds a line whose JSON value is the text.
    pub fn text_line(&mut self, key: &str, label: &str, text: impl Into<String>) {
        let text = text.into();
        let value = json!(text);
        self.line(key, label, text, value);
    }

    /// Adds a count.
    pub fn count(&mut self, key: &str, label: &str, count: u64) {
        self.line(key, label, grouped(count), json!(count));
    }

    /// Adds a number of bytes.
    pub fn bytes(&mut self, key: &str, label: &str, bytes: u64) {
        self.line(key, label, size(bytes), json!(bytes));
    }

    /// Adds the duration of a step. The value is in milliseconds; the key should end in `_ms`.
    pub fn time(&mut self, key: &str, label: &str, time: Duration) {
        let millis = time.as_secs_f64() * 1e3;
        self.line(key, label, duration(time), json!((millis * 100.0).round() / 100.0));
    }

    /// Returns the lines as text: labels in one column, values in the next.
    pub fn text(&self) -> String {
        let lines = || self.lines.iter().filter_map(|line| line.shown.as_ref());
        let shown = || lines().chain(&self.notes);
        let width = shown().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        shown().map(|(label, text)| format!("{label:width$}  {}\n", redacted(text))).collect()
    }

    /// Returns one JSON object.
    pub fn json(&self) -> Value {
        let fields = self.lines.iter().map(|line| (line.key.clone(), line.value.clone()));
        let mut json = Value::Object(fields.collect::<Map<_, _>>());
        redact_value(&mut json);
        json
    }
}

/// Formats a count in groups of three: 1,234,567.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes in a suitable unit.
pub fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..10_000 => format!("{} B", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// Formats a time in a suitable unit.
pub fn duration(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 10.0 {
        format!("{millis:.2} ms")
    } else if millis < 10_000.0 {
        format!("{millis:.0} ms")
    } else {
        format!("{:.1} s", millis / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_have_the_same_values() {
        let mut report = Report::new("test");
        report.count("cells", "cells", 1_234_567);
        report.bytes("disk_bytes", "on disk", 4_500_000);
        report.time("save_ms", "save", Duration::from_micros(1500));
        assert_eq!(report.text(), "cells    1,234,567\non disk  4.5 MB\nsave     1.50 ms\n");
        let json = report.json();
        assert_eq!(json["command"], "test");
        assert_eq!(json["cells"], 1_234_567);
        assert_eq!(json["save_ms"], 1.5);
    }

    #[test]
    fn counts_are_grouped_by_three() {
        let grouped = [0, 12, 999, 1000, 123_456_789].map(grouped);
        assert_eq!(grouped, ["0", "12", "999", "1,000", "123,456,789"]);
    }
}
