//! Puts measured tables into a Markdown document, between marks that stay in it:
//! `<!-- begin NAME -->` and `<!-- end NAME -->`, a line each. The names are
//! `storage-machine`, `storage-figures`, `storage-details`, `storage-peers`, and the
//! same for the other areas. What is not between marks is left as it is.

use crate::machine::Machine;
use crate::report::{Report, Table};

/// `document` with the sections of all `reports` replaced.
///
/// # Errors
/// If a mark is missing.
pub fn update(document: &str, reports: &[Report], machine: &Machine) -> Result<String, String> {
    let mut text = document.to_string();
    for report in reports {
        let area = report.area.name();
        let details: Vec<String> = report.detail_tables().iter().map(table).collect();
        let peers: String = report.peer_wins().iter().map(|line| format!("- {line}\n")).collect();
        for (part, content) in [
            ("machine", format!("{machine}\n")),
            ("figures", table(&report.figure_table())),
            ("details", details.join("\n")),
            ("peers", peers),
        ] {
            text = replace(&text, &format!("{area}-{part}"), &content)?;
        }
    }
    Ok(text)
}

/// `document` with the lines of the figures that `report` has a value of replaced: the rest
/// of the tables stays as another run left it.
///
/// # Errors
/// If the table has no line of such a figure.
pub fn update_measured(document: &str, report: &Report) -> Result<String, String> {
    let mut lines: Vec<String> = document.lines().map(String::from).collect();
    for cells in report.measured_lines() {
        let start = format!("| {} |", cells[0]);
        let place = lines.iter_mut().find(|line| line.starts_with(&start));
        let place = place.ok_or_else(|| format!("it has no line of the figure {}", cells[0]))?;
        *place = table_line(&cells);
    }
    Ok(lines.join("\n") + "\n")
}

/// Replaces what stands between the marks of section `name`.
fn replace(document: &str, name: &str, content: &str) -> Result<String, String> {
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
    use crate::figures::Area;

    fn document() -> String {
        let sections = ["machine", "figures", "details", "peers"];
        let section = |name: &str| {
            format!("# {name}\n<!-- begin mesh-{name} -->\nstale\n<!-- end mesh-{name} -->\n")
        };
        sections.map(section).concat()
    }

    #[test]
    fn only_what_is_between_the_marks_changes_and_again_gives_the_same() {
        let mut report = Report::new(Area::Mesh);
        report.set("mesh_open_edges", 7.0, "a | b");
        let (reports, machine) = ([report], Machine::this());
        let new = update(&document(), &reports, &machine).unwrap();
        assert!(!new.contains("stale") && new.starts_with("# machine\n"));
        let line = new.lines().find(|line| line.starts_with("| mesh_open_edges")).unwrap();
        assert!(line.contains("| 7 |") && line.contains("a \\| b"), "{line}");
        assert_eq!(update(&new, &reports, &machine).unwrap(), new);
    }

    #[test]
    fn measured_lines_change_alone_and_one_that_is_not_there_is_named() {
        let mut report = Report::new(Area::Mesh);
        report.set("mesh_open_edges", 7.0, "a | b");
        let old = "# A\n| mesh_open_edges | 8 | old |\n| mesh_reversed_share | 1 |\nend\n";
        let new = update_measured(old, &report).unwrap();
        let lines: Vec<&str> = new.lines().collect();
        assert!(lines[1].starts_with("| mesh_open_edges | 7 |") && lines[1].contains("a \\| b"));
        assert_eq!((lines[0], lines[2], lines[3]), ("# A", "| mesh_reversed_share | 1 |", "end"));
        assert!(update_measured("nothing", &report).unwrap_err().contains("mesh_open_edges"));
    }

    #[test]
    fn a_missing_section_is_named() {
        let error = update("nothing", &[Report::new(Area::Storage)], &Machine::this());
        assert!(error.unwrap_err().contains("storage-machine"));
    }
}
