//! What a command did, for people and, as JSON, for machines; from one list of lines.

use serde_json::{Map, Value, json};
use std::time::Duration;

/// Lines of key, label, text and value, in order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    key: String,
    /// Label and text for people; `None` for what only machines want.
    shown: Option<(String, String)>,
    value: Value,
}

impl Report {
    /// A report of a command.
    pub fn new(command: &str) -> Report {
        let mut report = Report::default();
        report.hidden("command", command);
        report
    }

    /// A line as people and machines see it.
    pub fn line(&mut self, key: &str, label: &str, text: impl Into<String>, value: Value) {
        let shown = Some((label.to_owned(), text.into()));
        self.lines.push(Line { key: key.to_owned(), shown, value });
    }

    /// A value for machines only.
    pub fn hidden(&mut self, key: &str, value: impl Into<Value>) {
        self.lines.push(Line { key: key.to_owned(), shown: None, value: value.into() });
    }

    /// Words.
    pub fn text_line(&mut self, key: &str, label: &str, text: impl Into<String>) {
        let text = text.into();
        let value = json!(text);
        self.line(key, label, text, value);
    }

    /// A number of things.
    pub fn count(&mut self, key: &str, label: &str, count: u64) {
        self.line(key, label, grouped(count), json!(count));
    }

    /// A number of bytes.
    pub fn bytes(&mut self, key: &str, label: &str, bytes: u64) {
        self.line(key, label, size(bytes), json!(bytes));
    }

    /// How long a step took. The value is in milliseconds, as the key should say.
    pub fn time(&mut self, key: &str, label: &str, time: Duration) {
        let millis = time.as_secs_f64() * 1e3;
        self.line(key, label, duration(time), json!((millis * 100.0).round() / 100.0));
    }

    /// Lines for people: labels in one column, values in the next.
    pub fn text(&self) -> String {
        let shown = || self.lines.iter().filter_map(|line| line.shown.as_ref());
        let width = shown().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        shown().map(|(label, text)| format!("{label:width$}  {text}\n")).collect()
    }

    /// One JSON object.
    pub fn json(&self) -> Value {
        let fields = self.lines.iter().map(|line| (line.key.clone(), line.value.clone()));
        Value::Object(fields.collect::<Map<_, _>>())
    }
}

/// A count with thin groups of three: 1,234,567.
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

/// Bytes in the unit that suits.
pub fn size(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..10_000 => format!("{} B", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// A time in the unit that suits.
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
    fn people_and_machines_read_the_same_values() {
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
