//! The best measures so far, one a line: `id value`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Measure;

pub struct Bounds(BTreeMap<String, usize>);

impl Bounds {
    /// Panics if the file is missing or a line is not an id and a number.
    pub fn read(path: &Path) -> Bounds {
        let text = fs::read_to_string(path).expect("bounds.txt is readable");
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        Bounds(
            lines
                .map(|line| {
                    let (id, value) = line.rsplit_once(' ').expect("a line is an id and a number");
                    (id.trim().to_owned(), value.parse().expect("a bound is a number"))
                })
                .collect(),
        )
    }

    pub fn of(&self, id: &str) -> Option<usize> {
        self.0.get(id).copied()
    }

    /// One message for each measure that is worse than its bound, or has none.
    pub fn exceeded(&self, measures: &[Measure]) -> Vec<String> {
        let worse = |measure: &Measure| match self.of(&measure.id) {
            None => Some(format!("{} has no bound; run scripts/house --tighten", measure.id)),
            Some(bound) if measure.value > bound => Some(format!(
                "{} is {}, and at most {bound} is allowed; mend it, or say why in bounds.txt",
                measure.id, measure.value
            )),
            Some(_) => None,
        };
        measures.iter().filter_map(worse).collect()
    }

    /// These bounds with each lowered to its measure; measures without a bound get theirs.
    pub fn tightened(&self, measures: &[Measure]) -> Bounds {
        let tighter = |measure: &Measure| {
            let bound = self.of(&measure.id).unwrap_or(usize::MAX);
            (measure.id.clone(), measure.value.min(bound))
        };
        Bounds(measures.iter().map(tighter).collect())
    }

    pub fn write(&self, path: &Path) {
        let mut text = String::from(
            "# The best measures so far. scripts/house --tighten lowers them; raise one by hand,\n\
             # with the reason in the commit.\n",
        );
        for (id, value) in &self.0 {
            text.push_str(&format!("{id} {value}\n"));
        }
        fs::write(path, text).expect("bounds.txt is writable");
    }
}
