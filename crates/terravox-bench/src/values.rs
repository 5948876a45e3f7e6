//! Figures that another program measures: those of the Python package (`scripts/test-python figures`), of the page in
//! a browser (`scripts/web-figures`), of the plugin in Bevy (`scripts/bevy-figures`), and that of the graphics card
//! (`scripts/test-gpu figures`). This reports them as those that are measured here.

use crate::figures::{Area, FIGURES};
use crate::report::AreaReport;
use serde_json::Value;

/// Adds values to the report: a JSON object a line, with `id`, `note` and `value`, null if it was not
/// measured.
///
/// # Errors
/// Names a line that is no such object, or whose figure is not one of `area` or was there before.
pub fn report(area: Area, text: &str, report: &mut AreaReport) -> Result<(), String> {
    let mut seen = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let error = |what: String| format!("line {}: {what}", index + 1);
        let read: Value = serde_json::from_str(line).map_err(|e| error(e.to_string()))?;
        let text = |name: &str| read[name].as_str().unwrap_or_default().to_owned();
        let (id, note) = (text("id"), text("note"));
        let is_of_area = FIGURES.iter().any(|figure| figure.area == area && figure.id == id);
        if !is_of_area || seen.contains(&id) {
            let name = area.name();
            return Err(error(format!("{id:?} is no figure of {name}, or is there twice")));
        }
        match (&read["value"], read["value"].as_f64()) {
            (_, Some(value)) => report.set(&id, value, note),
            (Value::Null, None) => report.not_measured(&id, note),
            (other, None) => return Err(error(format!("the value of {id} is {other}"))),
        }
        seen.push(id);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_browser_are_reported_and_others_refused() {
        let mut read = AreaReport::new(Area::Page);
        let text = "{\"id\": \"page_kib\", \"value\": 800.5, \"note\": \"4 files\"}\n\n\
                    {\"id\": \"page_frame_js_ms\", \"value\": null, \"note\": \"no browser\"}\n";
        report(Area::Page, text, &mut read).unwrap();
        let table = read.text();
        let line = |id: &str| table.lines().find(|line| line.starts_with(id)).unwrap();
        assert!(line("page_kib").contains("ok") && line("page_kib").contains("4 files"));
        assert!(line("page_frame_js_ms").contains("no browser"));
        let refused =
            |text: &str| report(Area::Page, text, &mut AreaReport::new(Area::Page)).unwrap_err();
        assert!(
            refused("{\"id\": \"op_bytes\", \"value\": 1, \"note\": \"\"}").starts_with("line 1")
        );
        assert!(refused("nothing").starts_with("line 1"));
        let twice = text.lines().next().unwrap();
        assert!(refused(&format!("{twice}\n{twice}")).starts_with("line 2"));
    }
}
