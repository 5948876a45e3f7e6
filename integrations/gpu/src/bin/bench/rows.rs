//! Rows of results, printed and as JSON.

use std::fmt::Write as _;

/// Results of a run.
#[derive(Default)]
pub struct Rows {
    /// Name of the device that is measured.
    pub device: String,
    lines: Vec<String>,
}

impl Rows {
    /// Adds a figure of `terravox-bench`.
    pub fn figure(&mut self, id: &str, value: f64, unit: &str, note: &str) {
        println!("{id} {value} {unit}: {note}");
        self.push(id, value, unit, note);
    }

    /// Adds a rate of the device.
    pub fn rate(&mut self, id: &str, blocks_per_s: f64, note: &str) {
        println!("  {id:44} {blocks_per_s:>12.0} blocks/s  {note}");
        let note = format!("{}; {note}", self.device);
        self.push(id, blocks_per_s, "blocks/s", &note);
    }

    fn push(&mut self, id: &str, value: f64, unit: &str, note: &str) {
        let [id, unit, note] = [id, unit, note].map(quoted);
        self.lines.push(format!(
            "{{\"id\": {id}, \"value\": {value}, \"unit\": {unit}, \"note\": {note}}}"
        ));
    }

    /// Returns an object a line.
    pub fn json(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
