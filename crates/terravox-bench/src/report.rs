//! The results of a run: figures, details and reasons for missing values, as tables and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::figures::{self, Area, Bound, FIGURES, Figure};
use crate::machine::Machine;

/// A measured value.
#[derive(Clone, Debug)]
pub struct ReportRow {
    /// Figure id, or the name of a detail.
    pub id: String,
    /// The measured value.
    pub value: f64,
    /// Unit of `value`.
    pub unit: &'static str,
    /// Value of a peer, or of a definition.
    pub baseline: Option<f64>,
    /// Ours divided by the baseline, both in the baseline's unit.
    pub ratio: Option<f64>,
    /// Remarks.
    pub note: String,
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, bytes, errors.
    Less,
    /// Bandwidths.
    More,
}

/// A part of an area that can be measured by itself.
pub struct AreaPart {
    /// Name on the command line.
    pub name: &'static str,
    /// Measures its figures.
    pub measure: fn(&mut AreaReport),
}

impl AreaPart {
    /// A part of this name.
    pub const fn new(name: &'static str, measure: fn(&mut AreaReport)) -> AreaPart {
        AreaPart { name, measure }
    }
}

/// Cells of a table by lines, headings first.
pub type Table = Vec<Vec<String>>;

/// The results of one area.
pub struct AreaReport {
    /// The area.
    pub area: Area,
    /// Whether failures are counted in as many tries as possible.
    pub is_full: bool,
    rows: Vec<ReportRow>,
    details: Vec<(String, Vec<ReportRow>)>,
    /// Cases in which a peer is better, a line each.
    peer_wins: Vec<String>,
    /// Figures without a value, and the reasons.
    missing: Vec<(&'static str, String)>,
}

impl AreaReport {
    /// Returns an empty report.
    pub fn new(area: Area) -> AreaReport {
        let (rows, details, peer_wins, missing) = Default::default();
        AreaReport { area, is_full: false, rows, details, peer_wins, missing }
    }

    /// Sets the value of a figure without a baseline.
    pub fn set(&mut self, id: &str, value: f64, note: impl Into<String>) {
        self.set_against(id, value, None, None, note);
    }

    /// Sets the value of a figure that is a ratio to `baseline`.
    pub fn set_ratio(&mut self, id: &str, ratio: f64, baseline: f64, note: impl Into<String>) {
        self.set_against(id, ratio, Some(baseline), Some(ratio), note);
    }

    /// Sets the value of a figure and that of a peer in the same unit.
    pub fn set_beside(&mut self, id: &str, value: f64, peer: f64, note: impl Into<String>) {
        self.set_against(id, value, Some(peer), Some(value / peer), note);
    }

    fn set_against(
        &mut self,
        id: &str,
        value: f64,
        baseline: Option<f64>,
        ratio: Option<f64>,
        note: impl Into<String>,
    ) {
        let figure = figures::find(id);
        assert_eq!(figure.area, self.area, "{id} belongs to another area");
        assert!(self.row(id).is_none(), "{id} is measured twice");
        let (id, unit, note) = (id.to_string(), figure.unit, note.into());
        self.rows.push(ReportRow { id, value, unit, baseline, ratio, note });
    }

    /// Records why a figure has no value.
    pub fn not_measured(&mut self, id: &str, why: impl Into<String>) {
        self.missing.push((figures::find(id).id, why.into()));
    }

    /// Adds a table of details.
    pub fn details(&mut self, title: impl Into<String>, rows: Vec<ReportRow>) {
        self.details.push((title.into(), rows));
    }

    /// Compares our value with a peer's; records the case if the peer is better.
    pub fn compare(
        &mut self,
        what: &str,
        unit: &str,
        better: Better,
        ours: f64,
        peer: (&str, f64),
    ) {
        let (name, value) = peer;
        let wins = match better {
            Better::Less => value < ours,
            Better::More => value > ours,
        };
        if wins {
            let (value, ours) = (number(value), number(ours));
            self.peer_wins.push(format!("{what}: {name} {value} {unit}, ours {ours} {unit}"));
        }
    }

    fn row(&self, id: &str) -> Option<&ReportRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    fn figures(&self) -> impl Iterator<Item = &'static Figure> {
        let area = self.area;
        FIGURES.iter().filter(move |figure| figure.area == area)
    }

    /// Returns the number of figures outside their bound or without a value.
    pub fn unmet_count(&self) -> usize {
        let holds = |f: &Figure| self.row(f.id).is_some_and(|row| f.bound.holds(row.value));
        self.figures().filter(|figure| !holds(figure)).count()
    }

    /// Returns the figures with their bounds, a line each.
    pub fn figure_table(&self) -> Table {
        let head = ["figure", "value", "unit", "must", "aim", "", "baseline", "ratio", "note"];
        let mut table = vec![head.map(String::from).to_vec()];
        table.extend(self.figures().map(|figure| self.figure_cells(figure)));
        table
    }

    /// Returns the lines of the figures that have a value.
    pub fn measured_lines(&self) -> impl Iterator<Item = Vec<String>> {
        let measured = self.figures().filter(|figure| self.row(figure.id).is_some());
        measured.map(|figure| self.figure_cells(figure))
    }

    /// Returns the tables of details, each with its title as the first heading.
    pub fn detail_tables(&self) -> Vec<Table> {
        let table = |(title, rows): &(String, Vec<ReportRow>)| {
            let head = [title.as_str(), "value", "unit", "baseline", "ratio", "note"];
            let mut table = vec![head.map(String::from).to_vec()];
            table.extend(rows.iter().map(detail_cells));
            table
        };
        self.details.iter().map(table).collect()
    }

    /// Returns the cases in which a peer is better, a line each.
    pub fn peer_wins(&self) -> &[String] {
        &self.peer_wins
    }

    /// Returns the report for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        write_table(&mut text, &self.figure_table());
        for table in self.detail_tables() {
            text.push('\n');
            write_table(&mut text, &table);
        }
        text.push_str("\na peer is better at\n");
        for line in &self.peer_wins {
            let _ = writeln!(text, "  {line}");
        }
        if self.peer_wins.is_empty() {
            text.push_str("  nothing in this run\n");
        }
        text
    }

    fn figure_cells(&self, figure: &Figure) -> Vec<String> {
        let must = match figure.bound {
            Bound::AtMost(limit) => format!("≤ {limit}"),
            Bound::AtLeast(limit) => format!("≥ {limit}"),
        };
        let aim = figure.aim.map_or(String::new(), |aim| aim.to_string());
        let (id, unit) = (figure.id.to_string(), figure.unit.to_string());
        let Some(row) = self.row(figure.id) else {
            let why = self.missing.iter().find(|(id, _)| *id == figure.id);
            let why = why.map_or("not measured", |(_, why)| why).to_string();
            let none = String::new;
            return vec![id, "–".into(), unit, must, aim, "?".into(), none(), none(), why];
        };
        let verdict = if figure.bound.holds(row.value) { "ok" } else { "SHORT" };
        let (baseline, ratio) = (optional(row.baseline), optional(row.ratio));
        let (value, note) = (number(row.value), row.note.clone());
        vec![id, value, unit, must, aim, verdict.into(), baseline, ratio, note]
    }

    fn figure_json(&self, figure: &Figure) -> Value {
        if let Some(row) = self.row(figure.id) {
            return row_json(row);
        }
        let why = self.missing.iter().find(|(id, _)| *id == figure.id);
        let why = why.map_or("not measured", |(_, why)| why);
        json!({"id": figure.id, "value": null, "unit": figure.unit, "baseline": null,
            "ratio": null, "note": why})
    }
}

/// Returns reports as JSON: `rows` has exactly the figures of their areas; those without a value
/// are null, with the reason in `note`.
pub fn json(reports: &[AreaReport], machine: &Machine) -> Value {
    let figures = |report: &AreaReport| -> Vec<Value> {
        report.figures().map(|figure| report.figure_json(figure)).collect()
    };
    let rows: Vec<Value> = reports.iter().flat_map(figures).collect();
    let tables = reports.iter().flat_map(|report| &report.details);
    let details: Vec<Value> = tables
        .map(|(title, rows)| {
            json!({"title": title, "rows": rows.iter().map(row_json).collect::<Vec<_>>()})
        })
        .collect();
    let peer_wins: Vec<&String> = reports.iter().flat_map(|report| &report.peer_wins).collect();
    json!({"machine": machine.json(), "rows": rows, "details": details, "peer_wins": peer_wins})
}

fn row_json(row: &ReportRow) -> Value {
    json!({"id": row.id, "value": row.value, "unit": row.unit, "baseline": row.baseline,
        "ratio": row.ratio, "note": row.note})
}

fn detail_cells(row: &ReportRow) -> Vec<String> {
    let (baseline, ratio) = (optional(row.baseline), optional(row.ratio));
    vec![row.id.clone(), number(row.value), row.unit.into(), baseline, ratio, row.note.clone()]
}

fn optional(value: Option<f64>) -> String {
    value.map_or(String::new(), number)
}

/// Formats three significant digits; integers in full.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

/// Writes columns padded to their widest cell, except the last.
fn write_table(text: &mut String, table: &[Vec<String>]) {
    let columns = table[0].len();
    let width = |c: usize| table.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (at, row) in table.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let pad = width - cell.chars().count();
            let _ = write!(line, "{cell}{}  ", " ".repeat(pad));
        }
        text.push_str(line.trim_end());
        text.push('\n');
        if at == 0 {
            text.push_str(&"─".repeat(line.trim_end().chars().count()));
            text.push('\n');
        }
    }
}

/// A detail without a baseline.
pub fn detail(id: impl Into<String>, value: f64, unit: &'static str) -> ReportRow {
    ReportRow { id: id.into(), value, unit, baseline: None, ratio: None, note: String::new() }
}

impl ReportRow {
    /// Adds a baseline in the same unit, and the ratio to it.
    pub fn beside(mut self, baseline: f64) -> ReportRow {
        self.baseline = Some(baseline);
        self.ratio = Some(self.value / baseline);
        self
    }

    /// Adds words.
    pub fn note(mut self, note: impl Into<String>) -> ReportRow {
        self.note = note.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_every_figure_of_the_area_and_nulls_what_was_not_measured() {
        let mut report = AreaReport::new(Area::Storage);
        report.set_ratio("row_read_ratio", 1.25, 9.0, "of GB/s");
        report.not_measured("snapshot_us", "no clock");
        assert_eq!(report.unmet_count(), report.figures().count() - 1);
        let reports = [report, AreaReport::new(Area::Mesh)];
        let count: usize = reports.iter().map(|report| report.figures().count()).sum();
        let json = json(&reports, &Machine::this());
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), count);
        assert_eq!(rows[0]["value"], 1.25);
        assert_eq!(rows[0]["baseline"], 9.0);
        assert!(rows[4]["value"].is_null());
        assert_eq!(rows[4]["note"], "no clock");
    }

    #[test]
    fn the_table_says_what_falls_short_and_what_is_missing() {
        let mut report = AreaReport::new(Area::Mesh);
        report.set("mesh_open_edges", 3.0, "");
        report.not_measured("mesh_empty_block", "no real places");
        let text = report.text();
        let line = |id: &str| text.lines().find(|line| line.starts_with(id)).unwrap();
        assert!(line("mesh_open_edges").contains("SHORT"));
        assert!(line("mesh_empty_block").contains("no real places"));
        assert!(!text.contains("snapshot_us"));
    }

    #[test]
    fn a_peer_that_does_better_is_named_and_one_that_does_not_is_not() {
        let mut report = AreaReport::new(Area::Mesh);
        report.compare("time", "ns", Better::Less, 2.0, ("quick", 1.5));
        report.compare("time", "ns", Better::Less, 2.0, ("slow", 2.5));
        report.compare("bandwidth", "GB/s", Better::More, 2.0, ("broad", 3.0));
        report.compare("bandwidth", "GB/s", Better::More, 2.0, ("narrow", 1.0));
        let text = report.text();
        let wins = text.split("a peer is better at\n").nth(1).unwrap();
        assert_eq!(
            wins,
            "  time: quick 1.50 ns, ours 2 ns\n  bandwidth: broad 3 GB/s, ours 2 GB/s\n"
        );
    }

    #[test]
    fn numbers_show_three_digits() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.012345), "0.0123");
        assert_eq!(number(1.8449), "1.84");
        assert_eq!(number(123.456), "123");
        assert_eq!(number(250_000.0), "250000");
    }
}
