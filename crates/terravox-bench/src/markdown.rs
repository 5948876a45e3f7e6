//! Writes measured tables into a Markdown document, between marks that stay in it:
//! `<!-- begin NAME -->` and `<!-- end NAME -->`, a line each. The names are those of the
//! areas, and `summary` for the table of all areas beside their peers. The rest of the
//! document is left as it is.

use crate::machine::Machine;
use crate::report::{AreaReport, Table};
use crate::summary;

/// Returns `document` with the sections of all `reports`, and the summary, replaced.
///
/// # Errors
/// Names a mark, or a figure of the summary, that the document lacks.
pub fn update(document: &str, reports: &[AreaReport], machine: &Machine) -> Result<String, String> {
    let mut text = document.to_string();
    for report in reports {
        text = replace_section(&text, report.area.name(), &section(report, machine))?;
    }
    update_summary(&text)
}

/// The section of an area: machine, figures, and the cases in which a peer is better.
fn section(report: &AreaReport, machine: &Machine) -> String {
    let mut text = format!("{machine}\n\n{}", table(&report.figure_table()));
    if !report.peer_wins().is_empty() {
        text += "\nA peer is better at:\n\n";
        text.extend(report.peer_wins().iter().map(|line| format!("- {line}\n")));
    }
    text
}

/// Returns `document` with the lines of the figures that `report` has measured, and the
/// summary, replaced. The rest of the tables stays as another run left it.
///
/// # Errors
/// Names a figure that the document lacks.
pub fn update_measured(document: &str, report: &AreaReport) -> Result<String, String> {
    let mut lines: Vec<String> = document.lines().map(String::from).collect();
    for cells in report.measured_lines() {
        let start = format!("| {} |", cells[0]);
        let line = lines.iter_mut().find(|line| line.starts_with(&start));
        let line = line.ok_or_else(|| format!("it has no line of the figure {}", cells[0]))?;
        *line = table_line(&cells);
    }
    update_summary(&(lines.join("\n") + "\n"))
}

fn update_summary(document: &str) -> Result<String, String> {
    replace_section(document, "summary", &summary::table(document)?)
}

/// Returns the detail tables of all `reports`, as a document of their own.
pub fn details(reports: &[AreaReport], machine: &Machine) -> String {
    let mut text = format!("# Details of the benchmarks\n\n{machine}\n");
    for report in reports {
        text += &format!("\n## {}\n", report.area.name());
        for detail in report.detail_tables() {
            text += &format!("\n{}", table(&detail));
        }
    }
    text
}

/// Replaces the content of the section `name`.
fn replace_section(document: &str, name: &str, content: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let parts = document.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else {
        return Err(format!("it has no section {name} between {} and {end}", begin.trim_end()));
    };
    Ok(format!("{before}{begin}\n{content}\n{end}{after}"))
}

fn table(table: &Table) -> String {
    let line = |cells: &Vec<String>| table_line(cells) + "\n";
    let mut text = line(&table[0]);
    text += &format!("|{}\n", "---|".repeat(table[0].len()));
    text.extend(table[1..].iter().map(line));
    text
}

fn table_line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Area, FIGURES};

    const DOCUMENT: &str = include_str!("../../../docs/benchmarks.md");

    #[test]
    fn only_the_sections_change_and_a_second_update_changes_nothing() {
        let mut report = AreaReport::new(Area::Mesh);
        report.set("mesh_open_edges", 7.0, "a | b");
        report.set_ratio("mesh_default_64_vs_fsn", 0.5, 6.0, "");
        let (reports, machine) = ([report], Machine::this());
        let new = update(DOCUMENT, &reports, &machine).unwrap();
        let line = new.lines().find(|line| line.starts_with("| mesh_open_edges")).unwrap();
        assert!(line.contains("| 7 |") && line.contains("a \\| b"), "{line}");
        assert!(new.contains("| 3 ns/voxel | fast-surface-nets 6 ns/voxel | 2.00 |"));
        let outside = |text: &str| -> String {
            let after_begin = |part: &str| part.split_once("<!-- end").map(|p| p.1.to_string());
            let mut parts = text.split("<!-- begin");
            let first = parts.next().map(String::from);
            first.into_iter().chain(parts.filter_map(after_begin)).collect()
        };
        assert_eq!(outside(&new), outside(DOCUMENT));
        assert_eq!(update(&new, &reports, &machine).unwrap(), new);
    }

    #[test]
    fn measured_lines_and_the_summary_change_alone_and_a_missing_line_is_named() {
        let mut report = AreaReport::new(Area::Mesh);
        report.set("mesh_open_edges", 7.0, "a | b");
        let new = update_measured(DOCUMENT, &report).unwrap();
        let differ: Vec<_> =
            DOCUMENT.lines().zip(new.lines()).filter(|(old, new)| old != new).collect();
        let [(_, line)] = differ[..] else { panic!("{differ:?}") };
        assert!(line.starts_with("| mesh_open_edges | 7 |") && line.contains("a \\| b"), "{line}");
        assert!(update_measured("nothing", &report).unwrap_err().contains("mesh_open_edges"));
    }

    #[test]
    fn a_missing_section_is_named() {
        let error = update("nothing", &[AreaReport::new(Area::Storage)], &Machine::this());
        assert!(error.unwrap_err().contains("storage"));
    }

    #[test]
    fn the_document_has_all_figures_and_a_summary_in_step() {
        for figure in FIGURES {
            let start = format!("| {} |", figure.id);
            assert!(DOCUMENT.lines().any(|line| line.starts_with(&start)), "{}", figure.id);
        }
        assert_eq!(update_summary(DOCUMENT).as_deref(), Ok(DOCUMENT));
    }

    #[test]
    fn details_are_a_document_with_a_heading_per_area() {
        let mut report = AreaReport::new(Area::Edit);
        report.details("strokes", vec![crate::report::detail("undo", 2.0, "ms")]);
        let text = details(&[report], &Machine::this());
        assert!(text.contains("\n## edit\n\n| strokes | value |"), "{text}");
        assert!(text.contains("| undo | 2 | ms |"), "{text}");
    }
}
